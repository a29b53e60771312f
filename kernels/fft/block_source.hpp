#pragma once

#include <cstdint>

#include "kernels/fft/block_plan.hpp"
#include "kernels/fft/lines.hpp"
#include "kernels/support/runtime_compiler.hpp"

namespace gridstride::fft {

/// What a kernel of blocks.cuh does.
struct BlockKind {
  Task task;
  LineKind kind;
  std::int64_t points;  ///< of a line
  bool neighbours = false, pairs_in = false, pairs_out = false, twists = false;
  ConvolutionStep convolution_step = ConvolutionStep::none;
};

/// The kernel `lines`, which takes a `LineWork<T>`.
template <class T>
RuntimeSource block_source(BlockKind const& what, BlockPlan const& plan);

}  // namespace gridstride::fft
