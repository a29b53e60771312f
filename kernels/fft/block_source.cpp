#include "kernels/fft/block_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

namespace gridstride::fft {

template <class T>
RuntimeSource block_source(BlockKind const& what, BlockPlan const& plan) {
  std::string const text = fmt::format(
      "#include \"kernels/fft/lines.hpp\"\n"
      "using Real = {};\n"
      "namespace gridstride::fft {{\n"
      "constexpr Task task = static_cast<Task>({});\n"
      "constexpr LineKind kind = static_cast<LineKind>({});\n"
      "constexpr long long line_points = {};\n"
      "constexpr int points = {}, passes = {}, line_threads = {}, block_lines = {};\n"
      "constexpr int radices[] = {{{}}};\n"
      "constexpr int padding = {}, short_points = {};\n"
      "constexpr bool neighbours = {}, convolves = {}, reorders = {}, pairs_in = {}, pairs_out = "
      "{}, twists = "
      "{};\n"
      "constexpr ConvolutionStep convolution_step = static_cast<ConvolutionStep>({});\n"
      "}}\n"
      "#include \"kernels/fft/blocks/blocks.cuh\"\n",
      sizeof(T) == 4 ? "float" : "double", static_cast<int>(what.task), static_cast<int>(what.kind),
      what.points, plan.points, plan.radices.size(), plan.line_threads, plan.block_lines,
      fmt::join(plan.radices, ", "), plan.padding, complex_length(what.kind, what.points),
      what.neighbours, plan.convolves, plan.reorders, what.pairs_in, what.pairs_out, what.twists,
      static_cast<int>(what.convolution_step));
  return {
      .name = "transforms of lines", .text = text, .options = {"-default-device", "--fmad=false"}};
}

template RuntimeSource block_source<float>(BlockKind const&, BlockPlan const&);
template RuntimeSource block_source<double>(BlockKind const&, BlockPlan const&);

}  // namespace gridstride::fft
