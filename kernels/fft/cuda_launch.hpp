#pragma once

#include <cstddef>
#include <cstdint>

#include "core/stream.hpp"
#include "kernels/fft/block_plan.hpp"
#include "kernels/fft/lines.hpp"
#include "kernels/fft/passes.hpp"

/// Kernels of blocks.cuh, for the family's own files only.
namespace gridstride::fft {

/// How a pass is launched.
struct Launch {
  Task task;
  LineKind kind;
  std::int64_t points;
  bool neighbours;
  bool crosses = false;  ///< see BlockNeeds
  bool twists = false;
  ConvolutionStep convolution_step = ConvolutionStep::none;
  int twist_axis = 0, slab_axis = 0;  ///< of the axes across

  bool complex_in() const { return kind == LineKind::complex || task == Task::complete; }
  bool complex_out() const { return kind == LineKind::complex || task == Task::halve; }
};

template <class T>
Launch launch_of(Pass<T> const& pass, LineWork<T> const& work) {
  return {.task = pass.task,
          .kind = line_kind(pass.kind),
          .points = pass.points,
          .neighbours = work.in_stride > (work.counts[0] > 1 ? work.in_strides[0] : 1)};
}

/// What a plan for it needs.
template <class T>
BlockNeeds needs_of(Stream& stream, Launch const& how);

/// Compiles the kernel at its first use, and queues it. False where no block can hold a line.
template <class T>
bool launch(Stream& stream, LineWork<T> work, Launch const& how);

/// One of two passes, of which the second goes on from where the first has written: its lines in one
/// slab, and how it is launched.
template <class T>
struct Paired {
  LineWork<T> work;
  Launch how;
};

/// Queues both as one kernel, by slabs of which sizes, strides and the ring are given. False where no
/// kernel can.
template <class T>
bool launch_pair(Stream& stream, Paired<T> first, Paired<T> second, Slabs slabs);

/// The bytes that lines of a block have side by side; 0 where no block can hold one.
template <class T>
std::size_t width_of(Stream& stream, Launch const& how);

/// Both passes in one kernel, the second of which goes on in place; false where they have to be two.
template <class T>
bool launch_planes(Stream& stream, Pass<T> first, Pass<T> second);

/// Complex lines side by side of which a block holds but few; false where there are others.
template <class T>
bool launch_columns(Stream& stream, LineWork<T> const& work, Launch const& how);

/// Complex lines that no block can hold, by several kernels; false where these cannot either.
template <class T>
bool launch_long(Stream& stream, LineWork<T> const& work, Launch const& how);

}  // namespace gridstride::fft
