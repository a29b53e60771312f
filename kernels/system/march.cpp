#include "kernels/system/march.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "equations/source.hpp"
#include "expression/source.hpp"
#include "kernels/system/inner_levels.hpp"
#include "kernels/system/rows.hpp"

namespace gridstride::system {

namespace {

constexpr char const* kernel = "march";
/// Bytes that a thread may spill; more where there are sides, whose text the fewest turns go through.
constexpr std::size_t few_bytes = 32, spilled_at_sides = 128;

std::string table_of(std::vector<std::vector<int>> const& rows) {
  std::string text;
  for (auto const& row : rows) text += fmt::format("{{{}}}, ", fmt::join(row, ", "));
  return text;
}

std::string table_of(std::vector<PassStage> const& stages) {
  std::string text;
  if (stages.empty()) return "{}";
  for (PassStage const& stage : stages) {
    std::array<int, max_addends> addends = {};
    for (std::size_t i = 0; i < stage.addends.size(); ++i) addends[i] = stage.addends[i].first;
    text += fmt::format("{{{}, {}, {}, {{{}}}}}, ", stage.base, stage.in_weight != 0,
                        stage.addends.size(), fmt::join(addends, ", "));
  }
  return text;
}

std::string table_of(std::vector<SideRules> const& sides, Precision precision) {
  std::string text;
  auto const number = [&](double value) { return expression::number_in_cuda(value, precision); };
  for (SideRules const& rules : sides) {
    text += "{";
    for (auto const& ends : rules) {
      text += "{";
      for (SideRule const& side : ends)
        text +=
            fmt::format("{{{}, {}, {}, {}, {}, {}, {}}}, ", side.wraps, side.given,
                        number(side.sign), number(side.own), side.slopes, side.has_g, side.has_a);
      text += "}, ";
    }
    text += "}, ";
  }
  return text;
}

template <class T>
std::string vector_name(int points) {
  std::string const name = sizeof(T) == 4 ? "float" : "double";
  return points == 1 ? name : name + std::to_string(points);
}

/// Whether 32 bits count the bytes of an array.
bool is_short(std::int64_t size, std::size_t value_bytes) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  return size <= most / static_cast<std::int64_t>(value_bytes);
}
/// A type for the bytes of an array; the shortest spares the most.
char const* index_name(std::int64_t size, std::size_t value_bytes) {
  return is_short(size, value_bytes) ? "unsigned" : "unsigned long long";
}

bool depends_on_time(Marched const& what) {
  return what.program->depends_on_time() || std::ranges::any_of(what.summed, [](Summed const& one) {
           return one.program->depends_on_time();
         });
}

/// What march_sums.cuh asks for.
std::string summed_text(Marched const& what, MarchLayout const& layout, std::size_t first,
                        std::vector<bool> divides, std::string const& bodies) {
  std::vector<bool> least, greatest;
  for (Summed const& one : what.summed) {
    least.push_back(one.least);
    greatest.push_back(one.greatest);
  }
  for (auto* const table : {&divides, &least, &greatest})
    if (table->empty()) table->push_back(false);  // as tables of the text have to be
  return fmt::format(
      "constexpr bool stores = {};\n"
      "constexpr int found_numbers = {}, summed = {}, summed_lag = {}, first_summed = {};\n"
      "constexpr bool summed_divides[] = {{{}}}, finds_least[] = {{{}}}, finds_greatest[] = "
      "{{{}}};\n"
      "template <int number, class At>\n"
      "__device__ __forceinline__ void summed_program(At const& at, Real (&result)[1]) {{\n{}}}\n",
      what.stores, what.found, what.summed.size(), layout.summed_lag, first,
      fmt::join(divides, ", "), fmt::join(least, ", "), fmt::join(greatest, ", "), bodies);
}

bool is_aligned(void const* array, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(array) % bytes == 0;
}

[[noreturn]] void refuse(std::string const& why) { throw std::invalid_argument("system: " + why); }

}  // namespace

int lasting_of(Marched const& what) {
  return std::max(what.program->components - static_cast<int>(what.program->results.size()), 0);
}

std::vector<Part> march_programs(Marched const& what, Parting parting, int lane_points) {
  auto programs = parting == Parting::none
                      ? std::vector{whole(*what.program)}
                      : parts_of(*what.program, lane_points, parting == Parting::also_rows);
  if (programs.size() > 1 && has_sides(what)) programs.push_back(whole(*what.program));
  for (Summed const& one : what.summed) programs.push_back(whole(*one.program));
  return programs;
}

std::size_t parts_among(Marched const& what, std::vector<Part> const& programs) {
  std::size_t const of_stage = programs.size() - what.summed.size();
  return of_stage > 1 && has_sides(what) ? of_stage - 1 : of_stage;
}

template <class T>
std::vector<SideRules> side_rules(std::span<Input<T> const> inputs) {
  std::vector<SideRules> all;
  for (Input<T> const& input : inputs) {
    SideRules& rules = all.emplace_back();
    for (int axis = 0; axis < 2; ++axis)
      for (int end = 0; end < 2; ++end) {
        Side<T> const& side = input.sides[axis][end];
        rules[static_cast<std::size_t>(axis)][static_cast<std::size_t>(end)] = {
            .wraps = side.wraps,
            .given = side.given,
            .sign = side.sign,
            .own = side.own,
            .slopes = side.slope != 0,
            .has_g = side.g != nullptr,
            .has_a = side.a != nullptr};
      }
  }
  return all;
}

template std::vector<SideRules> side_rules(std::span<Input<float> const>);
template std::vector<SideRules> side_rules(std::span<Input<double> const>);

template <class T>
RuntimeSource march_source(Marched const& what, MarchShape const& shape) {
  auto const layout = layout_of(what, sizeof(T), shape);
  auto const components = static_cast<int>(what.program->results.size());
  auto const programs = march_programs(what, shape.parting, shape.lane_points);
  std::size_t const parts = parts_among(what, programs);
  std::size_t const first_summed = programs.size() - what.summed.size();
  std::string inner, columns, body, near_sides, summed;
  std::vector<int> first_kept, first_inner = {0}, part_of;
  std::vector<bool> divides, summed_divides;
  int kept = 0;
  for (std::size_t part = 0; part < programs.size(); ++part) {
    auto const text = equations::to_cuda_along_columns(programs[part].program, programs[part].fused,
                                                       precision_of<T>());
    first_kept.push_back(kept);
    columns += fmt::format("{{\nReal* const kept = all + {};\n{}}}\n", kept, text.columns);
    kept += text.kept;
    if (part < parts) divides.push_back(text.divides);
    if (part + 1 == parts) body = text.body;
    if (part == parts && part < first_summed) near_sides = text.body;
    if (part >= first_summed) {
      summed +=
          fmt::format("if constexpr (number == {}) {{\n{}}}\n", part - first_summed, text.body);
      summed_divides.push_back(text.divides);
    }
    if (part + 1 < parts) {
      inner += fmt::format("if constexpr (part == {}) {{\n{}}}\n", part, text.body);
      part_of.insert(part_of.end(), programs[part].program.results.size(), static_cast<int>(part));
      first_inner.push_back(static_cast<int>(part_of.size()));
    }
  }
  auto const never_empty = [](std::vector<int> counts) {  // as tables of the text have to be
    if (counts.empty()) counts.push_back(0);
    return counts;
  };
  auto const inner_held = never_empty(layout.inner_held);
  int inner_results = 1;
  for (std::size_t part = 0; part + 1 < parts; ++part)
    inner_results = std::max(inner_results, first_inner[part + 1] - first_inner[part]);
  auto const& sides = what.sides.front();
  std::string text = program_text(*what.program, {sides[0][0].wraps, sides[1][0].wraps, true},
                                  components, precision_of<T>(), body);
  text += fmt::format(
      "#define MARCH_WARPS {}\n#define MARCH_BLOCKS {}\n"
      "namespace gridstride::system {{\n"
      "constexpr int steps = {}, stages = {}, lane_points = {}, vector_points = {}, turns = {};\n"
      "constexpr int halo = {}, ghosts = {}, stored = {}, most_rows = {}, kept_values = {};\n"
      "constexpr int parts = {}, inner_results = {};\n"
      "constexpr int lasting = {}, lasting_left[] = {{{}}}, lasting_right[] = {{{}}};\n"
      "constexpr int early_levels[] = {{{}}};\n"
      "constexpr bool has_time = {};\n"
      "using Vector = {};\nusing Index = {};\n",
      march_warps, shape.blocks, shape.steps, what.stages.size(), shape.lane_points,
      shape.vector_points, shape.turns, layout.halo, layout.ghosts, layout.stored,
      std::max(std::ranges::max(layout.rows_held), std::ranges::max(inner_held)), std::max(kept, 1),
      parts, inner_results, lasting_of(what), fmt::join(never_empty(layout.lasting_left), ", "),
      fmt::join(never_empty(layout.lasting_right), ", "), fmt::join(layout.early_levels, ", "),
      depends_on_time(what), vector_name<T>(shape.vector_points),
      index_name(what.grid.size(), sizeof(T)));
  text += summed_text(what, layout, first_summed, std::move(summed_divides), summed);
  auto const sources = layout.left.front().size();
  text += fmt::format(
      "struct StageShape {{\n  int base;\n  bool mixes_in;\n  int addends, addend[{}];\n}};\n"
      "constexpr StageShape stage_shapes[] = {{{}}};\n"
      "constexpr int rows_held[] = {{{}}}, inner_held[] = {{{}}};\n"
      "constexpr int lags[] = {{{}}}, first_kept[] = {{{}}};\n"
      "constexpr int first_inner[] = {{{}}}, part_of_inner[] = {{{}}};\n"
      "constexpr bool divides[] = {{{}}};\n"
      "constexpr int left[][{}] = {{{}}};\n"
      "constexpr int right[][{}] = {{{}}};\n",
      max_addends, table_of(what.stages), fmt::join(layout.rows_held, ", "),
      fmt::join(inner_held, ", "), fmt::join(layout.lags, ", "), fmt::join(first_kept, ", "),
      fmt::join(first_inner, ", "), fmt::join(never_empty(part_of), ", "), fmt::join(divides, ", "),
      sources, table_of(layout.left), sources, table_of(layout.right));
  text += fmt::format(
      "struct SideRule {{\n  bool wraps, given;\n  Real sign, own;\n  bool slopes, has_g, "
      "has_a;\n}};\n"
      "constexpr SideRule side_rules[][2][2] = {{{}}};\n"
      "constexpr int side_pieces = {};\n",
      table_of(what.sides, precision_of<T>()), march_side_pieces);
  text += fmt::format(
      "template <int part, class At>\n"
      "__device__ __forceinline__ void inner_program(At const& at, Real (&result)[inner_results]) "
      "{{\n{}}}\n"
      "template <class At>\n"
      "__device__ __forceinline__ void program_near_sides(At const& at, Real (&result)[results]) "
      "{{\n{}}}\n"
      "template <class At>\n"
      "__device__ __forceinline__ void find_columns(At const& at, Real (&all)[kept_values]) {{\n"
      "{}}}\n}}\n",
      inner, near_sides, columns);
  text += "#include \"kernels/system/march.cuh\"\n";
  return {.name = "passes of a system of equations", .text = text, .options = {"--fmad=false"}};
}

template <class T>
March<T>::March(Device const& device, Marched const& what, std::span<MarchShape const> shapes)
    : what_(what) {
  if (std::string const refusal = march_refusal(what); !refusal.empty()) refuse(refusal);
  if (device.backend() != Backend::cuda) refuse("'march' is a row of GPUs");
  if (shapes.empty()) refuse("there is no shape");
  std::size_t const spilled = has_sides(what) ? spilled_at_sides : few_bytes;
  auto const take = [&](MarchShape const& shape) {
    shape_ = shape;
    module_ = compile(device, march_source<T>(what, shape));
    return module_->local_bytes(kernel) <= spilled;
  };
  auto const fits = [&](MarchShape shape) {
    if (take(shape)) return true;
    for (int const blocks : {6, march_blocks}) {  // with more registers each
      if (blocks >= shape.blocks) continue;
      shape.blocks = blocks;
      if (take(shape)) return true;
    }
    return false;
  };
  if (std::ranges::none_of(shapes, fits)) take(shapes.front());
  layout_ = layout_of(what_, sizeof(T), shape_);
  int const blocks = std::max(module_->resident_blocks(kernel, 32 * march_warps), 1);
  constexpr int schedulers = 4;  // of a processor
  machine_ = {static_cast<long long>(device.processors()) * schedulers,
              std::max(blocks * march_warps / schedulers, 1)};
  if (what.summed.empty()) tiling_of(what.grid, 1);
}

template <class T>
MarchTiling March<T>::tiling_of(Grid const& grid, long long together) const {
  std::array const key = {grid.points[0], grid.points[1], std::int64_t{together}};
  auto const found = tilings_.find(key);
  if (found != tilings_.end()) return found->second;
  auto const tiling = cut_for_march(grid, shape_, layout_, machine_, together);
  if (tiling.strips * tiling.chunks > 2147483647) refuse("the grid needs too many blocks");
  return tilings_.emplace(key, tiling).first->second;
}

template <class T>
void March<T>::queue(Stream& stream, PassArrays<T> const& arrays, double dt,
                     evaluate::DeviceClock const* clock) const {
  queue(stream, arrays, dt, clock, {what_.grid, 0, {0, what_.grid.points[1]}});
}

template <class T>
void March<T>::take_arrays(MarchArguments<T>& a, PassArrays<T> const& arrays) const {
  auto const components = what_.program->results.size();
  auto const read = components + static_cast<std::size_t>(lasting_of(what_));
  std::size_t const written = what_.stores ? components : 0;
  if (arrays.in.size() < read || arrays.out.size() < written)
    refuse(fmt::format("{} inputs and {} outputs for {} components and {} arrays that last",
                       arrays.in.size(), arrays.out.size(), components, read - components));
  if (side_rules(std::span(arrays.in).first(components)) != what_.sides)
    refuse("'march' was made for other sides");
  auto const take = [&](T const* array) {
    if (array == nullptr) refuse("an array is missing");
  };
  for (std::size_t c = 0; c < read; ++c) {
    take(arrays.in[c].values);
    a.inputs[c] = arrays.in[c];
  }
  for (std::size_t c = 0; c < written; ++c) {
    take(arrays.out[c]);
    if (std::ranges::count(arrays.in, arrays.out[c], &Input<T>::values) > 0)
      refuse("an output is the same array as an input");
    a.out[c] = arrays.out[c];
  }
}

/// Whether lines and arrays begin at multiples of a vector.
template <class T>
bool March<T>::has_vectors(MarchArguments<T> const& a) const {
  if (a.place.points[0] % shape_.vector_points != 0) return false;
  std::size_t const bytes = static_cast<std::size_t>(shape_.vector_points) * sizeof(T);
  auto const components = what_.program->results.size();
  auto const read = components + static_cast<std::size_t>(lasting_of(what_));
  return std::all_of(a.inputs, a.inputs + read,
                     [&](Input<T> const& input) { return is_aligned(input.values, bytes); }) &&
         (!what_.stores || std::all_of(a.out, a.out + components,
                                       [&](T const* out) { return is_aligned(out, bytes); }));
}

template <class T>
RuntimeModule const& March<T>::of_single_values(Device const& device) const {
  if (!of_single_values_) {
    auto shape = shape_;
    shape.vector_points = 1;
    of_single_values_ = compile(device, march_source<T>(what_, shape));
  }
  return *of_single_values_;
}

template <class T>
void March<T>::queue(Stream& stream, PassArrays<T> const& arrays, double dt,
                     evaluate::DeviceClock const* clock, MarchPart const& part,
                     PassNumbers const& numbers) const {
  if (is_short(what_.grid.size(), sizeof(T)) && !is_short(part.grid.size(), sizeof(T)))
    refuse("'march' was made for smaller grids");
  if (depends_on_time(what_) && clock == nullptr) refuse("the program needs a clock");
  if (what_.found > 0 && numbers.found == nullptr) refuse("what is found beforehand is missing");
  MarchArguments<T> a{};
  a.place = place_of(part.grid, clock, numbers.found);
  auto const last = static_cast<std::size_t>(what_.grid.dims - 1);
  a.place.first[last] = part.first;
  if (last > 0) a.place.first[last - 1] = part.first_column;
  std::ranges::copy(what_.grid.points, a.place.whole);
  for (std::size_t s = 0; s < what_.stages.size(); ++s) {
    PassStage const& stage = what_.stages[s];
    auto& weights = a.weights[s];
    weights.factor = static_cast<T>(stage.factor * dt);
    weights.in_weight = static_cast<T>(stage.in_weight);
    weights.addends = static_cast<int>(stage.addends.size());
    for (std::size_t i = 0; i < stage.addends.size(); ++i)
      weights.addend_weight[i] = static_cast<T>(stage.addends[i].second);
    weights.fraction = stage.fraction;
  }
  take_arrays(a, arrays);
  a.summed = numbers.summed;
  a.lower = what_.grid.dims == 1 ? 0 : part.rows[0];
  a.upper = what_.grid.dims == 1 ? 1 : part.rows[1];
  a.base = a.lower;
  long long together = 1;
  if (!what_.summed.empty()) {  // no chunk cuts a part
    together = a.summed.rows;
    a.base = a.summed.lower - (a.summed.lower - a.lower + together - 1) / together * together;
  }
  auto made = part.grid;
  made.points[1] = a.upper - a.base;
  auto const tiling = tiling_of(made, together);
  a.strips = tiling.strips;
  a.chunks = tiling.chunks;
  a.rows = tiling.rows;
  auto const blocks = (tiling.strips * tiling.chunks + march_warps - 1) / march_warps;
  auto const& module = has_vectors(a) ? *module_ : of_single_values(stream.device());
  module.launch(stream, kernel, {.grid = static_cast<unsigned>(blocks), .block = 32 * march_warps},
                a);
}

namespace {

/// Whether what lies beyond its sides is known, or the same as around them.
template <class T>
bool is_lasting(Input<T> const& input) {
  for (auto const& ends : input.sides)
    for (Side<T> const& side : ends)
      if (!input.beyond && (!side.wraps || side.sign != 1)) return false;
  return true;
}

}  // namespace

/// A stage of a scheme of one stage: a pass of one step.
template <class T>
void cuda_march(Stream& stream, Step<T> const& step) {
  auto const components = std::min(step.inputs.size(), step.outputs.size());
  auto const inputs = std::span(step.inputs).first(components);
  auto const others = std::span(step.inputs).subspan(components);
  Marched const what = {
      .program = step.program,
      .grid = step.grid,
      .sides = side_rules<T>(inputs),
      .stages = {{.fraction = step.fraction}},
      .lasting = std::ranges::all_of(others, is_lasting<T>) ? static_cast<int>(others.size()) : 0};
  PassArrays<T> arrays = {.in = step.inputs, .out = {}};
  for (std::size_t c = 0; c < step.outputs.size(); ++c) {
    if (!step.is_stage || step.outputs[c].base != step.inputs[c].values ||
        !step.addend_weights.empty() || step.in_weight != 0)
      refuse("'march' takes single stages of forward Euler");
    arrays.out.push_back(step.outputs[c].values);
  }
  March<T>(stream.device(), what, march_shapes(what, sizeof(T), 1))
      .queue(stream, arrays, step.factor, step.clock);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                            \
  template RuntimeSource march_source<T>(Marched const&, MarchShape const&); \
  template class March<T>;                                                   \
  template void cuda_march(Stream&, Step<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::system
