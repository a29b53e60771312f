#pragma once

#include <cstdint>

#include "kernels/fft/block_plan.hpp"
#include "kernels/fft/lines.hpp"
#include "kernels/support/runtime_compiler.hpp"

namespace gridstride::fft {

/// What a kernel does with each line.
struct BlockKind {
  Task task;
  LineKind kind;
  std::int64_t points;  ///< of a line
  bool neighbours = false, pairs_in = false, pairs_out = false, twists = false;
  ConvolutionStep convolution_step = ConvolutionStep::none;
  int twist_axis = 0, slab_axis = 0;  ///< of the axes across
};

/// The kernel `lines`, which takes a `LineWork<T>`.
template <class T>
RuntimeSource block_source(BlockKind const& what, BlockPlan const& plan);

/// The kernel `pair`, which takes a `LineWork<T>` for each of both and `Slabs`. Plans have as many
/// threads.
template <class T>
RuntimeSource pair_source(BlockKind const& first, BlockPlan const& first_plan,
                          BlockKind const& second, BlockPlan const& second_plan);

}  // namespace gridstride::fft
