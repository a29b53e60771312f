#include "kernels/fft/block_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

namespace gridstride::fft {

namespace {

/// What blocks.cuh finds before it.
std::string step_text(std::string_view name_space, BlockKind const& what, BlockPlan const& plan) {
  return fmt::format(
      "namespace {} {{\n"
      "constexpr Task task = static_cast<Task>({});\n"
      "constexpr LineKind kind = static_cast<LineKind>({});\n"
      "constexpr long long line_points = {};\n"
      "constexpr int points = {}, passes = {}, line_threads = {}, block_lines = {};\n"
      "constexpr int radices[] = {{{}}};\n"
      "constexpr int padding = {}, short_points = {}, twist_axis = {}, slab_axis = {};\n"
      "constexpr bool neighbours = {}, convolves = {}, reorders = {}, pairs_in = {}, pairs_out = "
      "{}, twists = {};\n"
      "constexpr ConvolutionStep convolution_step = static_cast<ConvolutionStep>({});\n"
      "}}\n",
      name_space, static_cast<int>(what.task), static_cast<int>(what.kind), what.points,
      plan.points, plan.radices.size(), plan.line_threads, plan.block_lines,
      fmt::join(plan.radices, ", "), plan.padding, complex_length(what.kind, what.points),
      what.twist_axis, what.slab_axis, what.neighbours, plan.convolves, plan.reorders,
      what.pairs_in, what.pairs_out, what.twists, static_cast<int>(what.convolution_step));
}

/// One of several steps.
std::string part_text(std::string const& name, BlockKind const& what, BlockPlan const& plan) {
  std::string const name_space = "gridstride::fft::" + name;
  return step_text(name_space, what, plan) + "#define GRIDSTRIDE_FFT_NAMESPACE " + name_space +
         "\n#include \"kernels/fft/blocks/blocks.cuh\"\n#undef GRIDSTRIDE_FFT_NAMESPACE\n";
}

template <class T>
RuntimeSource source_of(std::string const& steps, std::string_view kernel) {
  return {.name = "transforms of lines",
          .text = fmt::format("#include \"kernels/fft/lines.hpp\"\n"
                              "using Real = {};\n{}"
                              "#include \"kernels/fft/blocks/{}.cuh\"\n",
                              sizeof(T) == 4 ? "float" : "double", steps, kernel),
          .options = {"-default-device", "--fmad=false"}};
}

}  // namespace

template <class T>
RuntimeSource block_source(BlockKind const& what, BlockPlan const& plan) {
  return source_of<T>(step_text("gridstride::fft", what, plan), "single");
}

template <class T>
RuntimeSource pair_source(BlockKind const& first, BlockPlan const& first_plan,
                          BlockKind const& second, BlockPlan const& second_plan) {
  return source_of<T>(
      part_text("first", first, first_plan) + part_text("second", second, second_plan), "pair");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                             \
  template RuntimeSource block_source<T>(BlockKind const&, BlockPlan const&);                 \
  template RuntimeSource pair_source<T>(BlockKind const&, BlockPlan const&, BlockKind const&, \
                                        BlockPlan const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::fft
