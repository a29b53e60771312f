#pragma once

#include <cstddef>
#include <cstdint>

#include "core/stream.hpp"
#include "kernels/fft/block_plan.hpp"
#include "kernels/fft/lines.hpp"

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

  bool complex_in() const { return kind == LineKind::complex || task == Task::complete; }
  bool complex_out() const { return kind == LineKind::complex || task == Task::halve; }
};

/// What a plan for it needs.
template <class T>
BlockNeeds needs_of(Stream& stream, Launch const& how);

/// Compiles the kernel at its first use, and queues it. False where no block can hold a line.
template <class T>
bool launch(Stream& stream, LineWork<T> work, Launch const& how);

/// The bytes that lines of a block have side by side; 0 where no block can hold one.
template <class T>
std::size_t width_of(Stream& stream, Launch const& how);

/// Complex lines that no block can hold, by several kernels; false where these cannot either.
template <class T>
bool launch_long(Stream& stream, LineWork<T> const& work, Launch const& how);

}  // namespace gridstride::fft
