#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "equations/source.hpp"
#include "kernels/system/arguments.cuh"
#include "kernels/system/planes.hpp"
#include "kernels/system/rows.hpp"

namespace gridstride::system {

static_assert(most_components == equations::max_components && most_addends == max_addends);

namespace {

constexpr int points_x = 64, points_y = 4;  // threads of a block of the row `points`

/// Points of a thread where there is more than one axis: for long programs one, since four would
/// need too many registers and take too long to compile.
int rows_of(StencilProgram const& program) { return program.code.size() > 512 ? 1 : 4; }

/// What a program reads, as points.cuh asks for it.
std::string loads_text(StencilProgram const& program) {
  std::string list;
  int count = 0;
  for (auto const& node : program.code)
    if (node.kind == equations::Kind::unknown) {
      list += fmt::format("{{{}, {}, {}, {}}}, ", node.index, node.orders[0], node.orders[1],
                          node.orders[2]);
      ++count;
    }
  return fmt::format(
      "namespace gridstride::system {{\n"
      "constexpr int load_count = {}, most_loads = {};\n"
      "constexpr int loads[most_loads][4] = {{{}}};\n}}\n",
      count, std::max(count, 1), list);
}

std::string list_of(std::array<int, 3> const& numbers) {
  return fmt::format("{{{}, {}, {}}}", numbers[0], numbers[1], numbers[2]);
}

}  // namespace

template <class T>
std::array<bool, 3> wraps_of(Step<T> const& step) {
  std::array<bool, 3> wraps = {true, true, true};
  for (int axis = 0; axis < step.grid.dims; ++axis)
    wraps[static_cast<std::size_t>(axis)] =
        step.inputs.empty() || step.inputs.front().sides[axis][0].wraps;
  return wraps;
}

template std::array<bool, 3> wraps_of(Step<float> const&);
template std::array<bool, 3> wraps_of(Step<double> const&);

Place place_of(Grid const& grid, evaluate::DeviceClock const* clock, double const* found) {
  Place place;
  std::ranges::copy(grid.points, place.points);
  std::ranges::fill(place.first, 0);
  std::ranges::copy(grid.points, place.whole);
  std::ranges::copy(grid.origin, place.origin);
  std::ranges::copy(grid.spacing, place.spacing);
  place.clock = clock;
  place.found = found;
  return place;
}

std::string program_text(StencilProgram const& program, std::array<bool, 3> const& wraps,
                         int components, Precision precision, std::string const& body) {
  return fmt::format(
      "#include \"expression/operations.hpp\"\n"
      "#include \"kernels/system/quotient.cuh\"\n"
      "using Real = {};\n"
      "namespace gridstride::system {{\n"
      "constexpr int dims = {}, components = {}, results = {}, reach[3] = {};\n"
      "constexpr bool wraps[3] = {{{}, {}, {}}};\n"
      "template <class At>\n"
      "__device__ __forceinline__ void program(At const& at, Real (&result)[results]) {{\n"
      "{}}}\n}}\n",
      precision == Precision::float32 ? "float" : "double", program.dims, components,
      program.results.size(), list_of(program.reach), wraps[0], wraps[1], wraps[2], body);
}

template <class T>
RuntimeSource source_of(StencilProgram const& program, std::array<bool, 3> const& wraps,
                        int components) {
  std::string text = program_text(program, wraps, components, precision_of<T>(),
                                  equations::to_cuda(program, precision_of<T>()));
  text += fmt::format("#define POINTS_X {}\n#define POINTS_Y {}\n#define ROWS {}\n", points_x,
                      points_y, rows_of(program));
  if (rows_of(program) == 1) text += loads_text(program);
  text += "#include \"kernels/system/points.cuh\"\n";
  // What is fused stands in the text, so that all kernels round alike.
  return {.name = "a system of equations", .text = std::move(text), .options = {"--fmad=false"}};
}

template RuntimeSource source_of<float>(StencilProgram const&, std::array<bool, 3> const&, int);
template RuntimeSource source_of<double>(StencilProgram const&, std::array<bool, 3> const&, int);

template <class T>
std::shared_ptr<RuntimeModule const> module_of(Device const& device, Step<T> const& step,
                                               std::string_view row) {
  return compile(device, row == "planes" ? planes_source(step)
                                         : source_of<T>(*step.program, wraps_of(step),
                                                        static_cast<int>(step.inputs.size())));
}

template std::shared_ptr<RuntimeModule const> module_of(Device const&, Step<float> const&,
                                                        std::string_view);
template std::shared_ptr<RuntimeModule const> module_of(Device const&, Step<double> const&,
                                                        std::string_view);

template <class T>
StageArguments<T> arguments_of(Step<T> const& step) {
  StageArguments<T> a{};
  a.place = place_of(step.grid, step.clock, step.found);
  if (step.piece) {
    std::ranges::copy(step.piece->first, a.place.first);
    std::ranges::copy(step.piece->whole, a.place.whole);
  }
  a.weights.factor = static_cast<T>(step.factor);
  a.weights.in_weight = static_cast<T>(step.in_weight);
  a.weights.addends = static_cast<int>(step.addend_weights.size());
  a.weights.fraction = step.fraction;
  for (std::size_t n = 0; n < step.addend_weights.size(); ++n)
    a.weights.addend_weight[n] = static_cast<T>(step.addend_weights[n]);
  a.is_stage = step.is_stage;
  a.needs_step = step.needs_step;
  std::ranges::copy(step.inputs, a.inputs);
  for (std::size_t c = 0; c < step.outputs.size(); ++c) {
    a.out[c] = step.outputs[c].values;
    a.base[c] = step.outputs[c].base;
    std::ranges::copy(step.outputs[c].addends, a.addends[c]);
  }
  return a;
}

template StageArguments<float> arguments_of(Step<float> const&);
template StageArguments<double> arguments_of(Step<double> const&);

template <class T>
void cuda_points(Stream& stream, Step<T> const& step) {
  auto const& points = step.grid.points;
  constexpr std::int64_t most_blocks = 65'535;
  std::int64_t const block_rows = points_y * rows_of(*step.program);
  Extent const blocks(
      static_cast<unsigned>((points[0] + points_x - 1) / points_x),
      static_cast<unsigned>(std::min((points[1] + block_rows - 1) / block_rows, most_blocks)),
      static_cast<unsigned>(std::min(points[2], most_blocks)));
  step.prepared->module->launch(stream, "points", {.grid = blocks, .block = {points_x, points_y}},
                                arguments_of(step));
}

template void cuda_points(Stream&, Step<float> const&);
template void cuda_points(Stream&, Step<double> const&);

}  // namespace gridstride::system
