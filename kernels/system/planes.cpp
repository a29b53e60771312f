#include "kernels/system/planes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "equations/source.hpp"
#include "kernels/system/rows.hpp"

namespace gridstride::system {

namespace {

/// Whether every side of an axis wraps around to the value itself, for all inputs.
template <class T>
std::array<bool, 3> plain_wraps(Grid const& grid, std::span<Input<T> const> inputs) {
  std::array<bool, 3> wraps = {true, true, true};
  for (Input<T> const& input : inputs)
    for (int axis = 0; axis < grid.dims; ++axis)
      for (auto const& side : input.sides[axis])
        if (!side.wraps || side.sign != 1) wraps[static_cast<std::size_t>(axis)] = false;
  return wraps;
}

constexpr int vector_bytes = 16;
/// Registers for places, counters and the values of a program that is under way.
constexpr int other_registers = 24;
/// So many, as they are estimated, leave room for four blocks, for three and for two.
constexpr int registers_of_four = 80, registers_of_three = 96, registers_of_two = 128;
/// Operations that a loop is written out to.
constexpr std::int64_t good_length = 4096;
constexpr long long longest_chunk = 16;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Components whose planes are kept: those that are read along the march, and those that a stage
/// changes.
std::vector<int> queued(StencilProgram const& program, int components) {
  std::vector<int> is_queued(index(std::max(components, 1)), 0);
  for (PlanesLine const& line : lines_read(program))
    if (line.dy == 0) is_queued[index(line.component)] = 1;
  if (std::ssize(program.results) <= components)
    std::fill_n(is_queued.begin(), program.results.size(), 1);
  return is_queued;
}

/// The length of what a program becomes, in operations.
std::int64_t length_of(StencilProgram const& program) {
  constexpr std::int64_t of_random = 256, of_function = 32;
  std::int64_t length = 0;
  for (equations::Node const& node : program.code) {
    if (equations::is_random(node.kind)) length += of_random;
    if (node.kind != equations::Kind::operation) continue;
    bool const is_function = node.operation == expression::Operation::power ||
                             node.operation >= expression::Operation::exp;
    length += is_function ? of_function : 1;
  }
  return length;
}

/// An estimate.
std::int64_t registers_of(StencilProgram const& program, int components, int value_bytes,
                          int width) {
  auto const is_queued = queued(program, components);
  std::int64_t const planes = 2 * program.reach[2] + 2;  // with that on its way
  std::int64_t values = planes * width * std::ranges::count(is_queued, 1);
  for (PlanesLine const& line : lines_read(program))
    values += line.left + line.right + (line.dy != 0 ? width : 0);
  return values * value_bytes / 4 + other_registers;
}

/// As many points as a vector may have: lines and arrays begin at multiples of it.
template <class T>
int width_of(Step<T> const& step) {
  std::uintptr_t places = static_cast<std::uintptr_t>(step.grid.points[0]) * sizeof(T);
  auto const add = [&](void const* array) { places |= reinterpret_cast<std::uintptr_t>(array); };
  for (Input<T> const& input : step.inputs) add(input.values);
  for (Output<T> const& output : step.outputs) {
    add(output.values);
    add(output.base);
    for (T const* const addend : output.addends) add(addend);
  }
  std::size_t bytes = vector_bytes;
  while (bytes > sizeof(T) && places % bytes != 0) bytes /= 2;
  return static_cast<int>(bytes / sizeof(T));
}
template <class T>
int width_of(Grid const& grid) {
  return width_of<T>(Step<T>{.grid = grid, .inputs = {}, .outputs = {}});
}

/// Whether a stage goes on from its input.
template <class T>
bool base_is_in(Step<T> const& step) {
  bool same = true;
  for (std::size_t c = 0; c < step.outputs.size() && step.is_stage; ++c)
    same = same && step.outputs[c].base == step.inputs[c].values;
  return same;
}

/// The kernel's name tells what else is compiled into it, so that no other step is made by it.
template <class T>
std::string kernel_of(Step<T> const& step) {
  std::string name = fmt::format("planes_{}", width_of(step));
  for (bool const goes_around : plain_wraps<T>(step.grid, step.inputs))
    name += goes_around ? 'p' : 's';
  if (!step.is_stage) return name + "_rates";
  return name + fmt::format("_{}{}{}", base_is_in(step) ? "in" : "base",
                            step.in_weight != 0 ? "_mixed" : "", step.addend_weights.size());
}

std::string table_of(std::vector<PlanesLine> const& lines) {
  std::string text;
  for (auto const& [component, dy, dz, left, right] : lines)
    text += fmt::format("{{{}, {}, {}, {}, {}}}, ", component, dy, dz, left, right);
  return text;
}

/// The number of each line in the table; 0 where there is none.
std::string numbers_of(std::vector<PlanesLine> const& lines, StencilProgram const& program,
                       int components) {
  int const y = 2 * program.reach[1] + 1, z = 2 * program.reach[2] + 1;
  std::vector<std::size_t> numbers(index(components * y * z), 0);
  for (std::size_t n = 0; n < lines.size(); ++n)
    numbers[index((lines[n].component * y + lines[n].dy + program.reach[1]) * z + lines[n].dz +
                  program.reach[2])] = n;
  return fmt::format("{}", fmt::join(numbers, ", "));
}

/// The points at each end of an axis for which `planes` has no vectors: those that read beyond a
/// side, and a side's own, where a value may be given.
template <class T>
std::array<long long, 3> margins_of(Step<T> const& step) {
  auto const around = plain_wraps<T>(step.grid, step.inputs);
  std::array<long long, 3> margin = {};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (!around[axis]) margin[axis] = std::max(step.program->reach[axis], 1);
  return margin;
}

}  // namespace

std::string planes_refusal(Grid const& grid) {
  if (grid.dims == 3) return {};
  return fmt::format("'planes' takes grids in 3D, not in {}D", grid.dims);
}

std::vector<PlanesLine> lines_read(StencilProgram const& program) {
  std::vector<PlanesLine> lines;
  for (equations::Node const& node : program.code) {
    if (node.kind != equations::Kind::unknown) continue;
    PlanesLine const read = {node.index, node.orders[1], node.orders[2]};
    auto line = std::ranges::find_if(lines, [&](PlanesLine const& one) {
      return one.component == read.component && one.dy == read.dy && one.dz == read.dz;
    });
    if (line == lines.end()) line = lines.insert(line, read);
    line->left = std::max(line->left, -int{node.orders[0]});
    line->right = std::max(line->right, int{node.orders[0]});
  }
  return lines;
}

PlanesShape planes_shape(StencilProgram const& program, int components, int value_bytes,
                         int most_width, bool has_shell) {
  std::int64_t const length = length_of(program);
  PlanesShape shape{.width = most_width};
  auto const registers = [&] {
    return registers_of(program, components, value_bytes, shape.width);
  };
  while (shape.width > 1 && (registers() > registers_of_two || shape.width * length > good_length))
    shape.width /= 2;
  shape.blocks = registers() <= registers_of_four    ? 4
                 : registers() <= registers_of_three ? 3
                 : registers() <= registers_of_two   ? 2
                                                     : 1;
  if (has_shell) shape.blocks = std::min(shape.blocks, 3);  // its points take some registers
  // After as many turns as planes are held each is back in its registers.
  shape.turns = 2 * program.reach[2] + 2;
  if (shape.turns * shape.width * length > good_length) shape.turns = 1;
  return shape;
}

template <class T>
RuntimeSource planes_source(Step<T> const& step) {
  if (auto const why = planes_refusal(step.grid); !why.empty())
    throw std::invalid_argument("system: " + why);
  StencilProgram const& program = *step.program;
  int const inputs = static_cast<int>(step.inputs.size()), components = std::max(inputs, 1);
  auto const around = plain_wraps<T>(step.grid, step.inputs);
  int const most_width = width_of(step);
  auto const shape =
      planes_shape(program, inputs, sizeof(T), most_width, std::ranges::count(around, false) > 0);
  auto lines = lines_read(program);
  if (lines.empty()) lines.push_back({});  // there are no empty tables
  bool const is_large = step.grid.points[0] * step.grid.points[1] > std::numeric_limits<int>::max();
  std::string const value = sizeof(T) == 4 ? "float" : "double";
  std::string text = program_text(program, wraps_of(step), components, precision_of<T>(),
                                  equations::to_cuda(program, precision_of<T>()));
  text += fmt::format(
      "#define PLANES {}\n#define PLANES_THREADS {}\n#define PLANES_BLOCKS {}\n"
      "namespace gridstride::system {{\n"
      "constexpr int width = {}, parts = {}, turns = {};\n"
      "constexpr bool goes_around[3] = {{{}}};\n"
      "using Vector = {};\nusing Index = {};\n"
      "struct Line {{\n  int component, dy, dz, left, right;\n}};\n"
      "constexpr Line lines[] = {{{}}};\n"
      "constexpr int line_number[components][{}][{}] = {{{}}};\n"
      "constexpr bool is_queued[components] = {{{}}};\n"
      "struct StageShape {{\n  bool is_stage, base_is_in, mixes_in;\n  int addends;\n}};\n"
      "constexpr StageShape stage_shape = {{{}, {}, {}, {}}};\n}}\n"
      "#include \"kernels/system/planes.cuh\"\n",
      kernel_of(step), planes_threads, shape.blocks, shape.width, most_width / shape.width,
      shape.turns, fmt::join(around, ", "),
      shape.width == 1 ? value : fmt::format("{}{}", value, shape.width),
      is_large ? "long long" : "int", table_of(lines), 2 * program.reach[1] + 1,
      2 * program.reach[2] + 1, numbers_of(lines, program, components),
      fmt::join(queued(program, inputs), ", "), step.is_stage, base_is_in(step),
      step.in_weight != 0, step.addend_weights.size());
  return {.name = "a system of equations in 3D", .text = text, .options = {"--fmad=false"}};
}

PlanesTiling tile_planes(Grid const& grid, std::array<long long, 3> const& margin, int width,
                         int processors) {
  std::array<long long, 3> core;
  long long in_core = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    core[axis] = std::max<long long>(grid.points[axis] - 2 * margin[axis], 0);
    in_core *= core[axis];
  }
  PlanesTiling tiling{.shell = grid.size() - in_core};
  if (in_core == 0) return tiling;
  auto const parts = [](long long all, long long of) { return (all + of - 1) / of; };
  long long const vectors = grid.points[0] / width;
  tiling.x_tiles = parts(vectors, 32);
  tiling.lanes = static_cast<unsigned>(parts(vectors, tiling.x_tiles));
  tiling.lines = planes_threads / tiling.lanes;
  tiling.y_tiles = parts(core[1], tiling.lines);
  long long const tiles = tiling.x_tiles * tiling.y_tiles;
  tiling.planes = longest_chunk;
  while (tiling.planes > 1 && tiles * parts(core[2], tiling.planes) < 4LL * processors)
    tiling.planes /= 2;
  tiling.chunks = parts(core[2], tiling.planes);
  return tiling;
}

template <class T>
PlanesLaunch<T> planes_launch(Step<T> const& step, int processors) {
  auto const margin = margins_of(step);
  auto const tiling = tile_planes(step.grid, margin, width_of(step), processors);
  long long const threads = static_cast<long long>(tiling.lanes) * tiling.lines;
  long long const shell_blocks = (tiling.shell + threads - 1) / threads;
  long long const blocks = shell_blocks + tiling.x_tiles * tiling.y_tiles * tiling.chunks;
  if (blocks > std::numeric_limits<int>::max())
    throw std::invalid_argument("system: the grid needs too many blocks");
  PlanesLaunch<T> launch = {};
  launch.shape = {.grid = static_cast<unsigned>(blocks), .block = {tiling.lanes, tiling.lines}};
  auto& a = launch.arguments;
  a.stage = arguments_of(step);
  std::ranges::copy(margin, a.margin);
  a.planes = tiling.planes;
  a.x_tiles = static_cast<unsigned>(tiling.x_tiles);
  a.y_tiles = static_cast<unsigned>(tiling.y_tiles);
  a.shell_blocks = static_cast<unsigned>(shell_blocks);
  return launch;
}

template <class T>
void cuda_planes(Stream& stream, Step<T> const& step) {
  bool const is_aligned = width_of(step) == width_of<T>(step.grid);
  auto const module =
      is_aligned ? step.prepared->module : module_of(stream.device(), step, "planes");
  auto const launch = planes_launch(step, stream.device().processors());
  module->launch(stream, kernel_of(step).c_str(), launch.shape, launch.arguments);
}

#define GRIDSTRIDE_INSTANTIATE(T)                              \
  template RuntimeSource planes_source<T>(Step<T> const&);     \
  template PlanesLaunch<T> planes_launch(Step<T> const&, int); \
  template void cuda_planes(Stream&, Step<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::system
