#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "kernels/system/march_layout.hpp"

namespace gridstride::system {

namespace {

constexpr int vector_bytes = 16;
constexpr int most_registers = 240;  // of the 255 that a thread may have
/// Additions, or what takes as long, that a loop is written out to: what the nearest cache of
/// instructions has, or what compiles in good time.
constexpr std::int64_t good_length = 2048, greatest_length = 16'384;
/// What the choice of a shape takes for the machine, an H200: its processors, and in their cycles
/// what a pass takes beside its work, for its launch and its first rows.
constexpr int processors = 132, schedulers_of_processor = 4;
constexpr double bytes_per_cycle = 2080, cycles_beside = 5500;
/// A pass of twice the steps takes as much longer to compile, and leaves more of them over.
constexpr double worth_twice_the_length = 1.1;
/// Instructions of a turn that are not the program's: for places, loads, stores.
constexpr double instructions_beside = 30;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

bool is_taken(equations::Node const& node, int found) {
  using equations::Kind;
  constexpr std::array taken = {Kind::number, Kind::coordinate, Kind::time, Kind::unknown,
                                Kind::operation};
  return std::ranges::find(taken, node.kind) != taken.end() ||
         (node.kind == Kind::found && node.index < found);
}

/// Whether a side of x never lies between two columns of a thread, whichever part is made. Parts of
/// lines have no sides that wrap with a sign.
bool ends_between_threads(Marched const& what, int lane_points) {
  if (lane_points == 1 || !is_sided(what, 0)) return true;
  std::int64_t const points = what.grid.points[0];
  bool const is_even = points % lane_points == 0;
  if (wraps(what, 0) || (what.least_columns == 0 && is_even)) return is_even;
  return (what.least_columns == 0 ? points : what.least_columns) >= warp_lanes * lane_points;
}

std::int64_t additions_of_turn(MarchPlan const& plan, MarchShape const& shape) {
  return shape.lane_points *
         (static_cast<std::int64_t>(plan.what.stages.size()) * shape.steps * plan.additions +
          plan.summed_additions);
}

MarchShape shape_of(MarchPlan const& plan, int value_bytes, int steps) {
  MarchShape shape{.steps = steps, .lane_points = plan.lane_points, .parting = plan.parting};
  shape.vector_points = std::min(plan.lane_points, vector_bytes / value_bytes);
  while (plan.what.grid.points[0] % shape.vector_points != 0) shape.vector_points /= 2;
  auto const layout = layout_of(plan, value_bytes, shape);
  // With as many turns as rows are carried over none has to move to other registers, and more turns
  // share more with each other.
  int const wanted = std::max(4, std::ranges::max(layout.rows_held) - 1);
  bool const is_line = plan.what.grid.points[1] == 1;
  shape.turns = is_line ? 1 : 2;  // a multiple of the rows that are loaded ahead
  while (!is_line && shape.turns < wanted &&
         (shape.turns + 2) * additions_of_turn(plan, shape) <= good_length)
    shape.turns += 2;
  // 65536 registers for blocks of two warps: 128, 168 or 255 a thread.
  shape.blocks = layout.registers <= 112 ? 8 : layout.registers <= 152 ? 6 : march_blocks;
  return shape;
}

/// Whether a thread can hold it, strips are not mostly overlap, and it compiles in good time.
bool is_fit(MarchPlan const& plan, int value_bytes, MarchShape const& shape) {
  auto const layout = layout_of(plan, value_bytes, shape);
  return ends_between_threads(plan.what, shape.lane_points) && layout.registers <= most_registers &&
         shape.turns * additions_of_turn(plan, shape) <= greatest_length &&
         2 * layout.stored >= warp_lanes * shape.lane_points;
}

/// What one has to issue in a turn.
double instructions_of_turn(MarchPlan const& plan, int value_bytes, MarchShape const& shape,
                            MarchLayout const& layout) {
  auto const components = static_cast<double>(plan.what.program->results.size());
  int const words = value_bytes / 4;
  int const shuffles = values_beside(layout, 0, plan.first_summed);
  double const of_point = words * (static_cast<double>(plan.instructions) + 2 * components);
  double const summed =
      shape.lane_points * (words * static_cast<double>(plan.summed_additions) + 2) +
      words * values_beside(layout, plan.first_summed, plan.programs.size());
  return layout.levels * (shape.lane_points * of_point + words * shuffles) + instructions_beside +
         (plan.what.summed.empty() ? 0 : summed);
}

MarchMachine machine_of(MarchShape const& shape) {
  return {processors * schedulers_of_processor,
          shape.blocks * march_warps / schedulers_of_processor};
}

/// What a step takes, in cycles: what is issued and what memory moves, which hide each other in part,
/// and its share of what a pass takes beside. For passes over 8192² points of seven systems that is
/// within 15 % of what was measured.
double cost_of(MarchPlan const& plan, int value_bytes, MarchShape const& shape) {
  auto const layout = layout_of(plan, value_bytes, shape);
  Grid const& grid = plan.what.grid;
  auto const machine = machine_of(shape);
  auto const tiling = cut_for_march(grid, shape, layout, machine);
  double const issued = turns_of_march(tiling, shape, layout, machine) *
                        instructions_of_turn(plan, value_bytes, shape, layout);
  double const overlap = static_cast<double>(warp_lanes * shape.lane_points) / layout.stored;
  auto const components = static_cast<double>(plan.what.program->results.size());
  double const bytes =
      ((plan.what.stores ? 1 : 0) * components + overlap * (components + lasting_of(plan.what))) *
      value_bytes * static_cast<double>(grid.size());
  return (std::hypot(issued, bytes / bytes_per_cycle) + cycles_beside) / shape.steps;
}

/// The ways to make a stage by threads of up to `columns` columns, those in parts first, and last those in
/// which more than operators are parts.
std::vector<MarchPlan> plans_of(Marched const& what, int columns) {
  std::vector<MarchPlan> plans;
  for (int lane_points = columns; lane_points >= 1 && !what.stages.empty(); lane_points /= 2)
    if (MarchPlan plan(what, Parting::operators, lane_points); plan.parts > 1)
      plans.push_back(std::move(plan));
  std::size_t const first_whole = plans.size();
  for (int lane_points = columns; lane_points >= 1; lane_points /= 2)
    plans.emplace_back(what, Parting::none, lane_points);
  for (int lane_points = columns; lane_points >= 1 && !what.stages.empty(); lane_points /= 2) {
    MarchPlan plan(what, Parting::also_rows, lane_points);
    bool const is_new =
        std::ranges::none_of(std::span(plans).first(first_whole), [&](auto const& of) {
          return of.lane_points == lane_points && of.part_of.size() == plan.part_of.size();
        });
    if (plan.parts > 1 && is_new) plans.push_back(std::move(plan));
  }
  return plans;
}

/// Whether a pass is faster where what two rows have in common is kept in the place of a row: as was measured,
/// in float32, where two warps share a scheduler and march far, and next to no more values have to be kept.
/// With more warps, or in float64, each waits longer for the part before than its turns are shorter; of 38
/// rows, beside the 16 that a chunk of eight levels repeats, there was no gain.
bool keeps_rows_well(std::vector<MarchPlan> const& plans, MarchPlan const& plan, int value_bytes,
                     MarchShape const& shape) {
  constexpr double most_growth = 1.1;
  constexpr long long least_times = 16;  // of the rows that a chunk repeats
  auto const whole = std::ranges::find_if(plans, [&](MarchPlan const& other) {
    return other.parting == Parting::none && other.lane_points == plan.lane_points;
  });
  auto const of_whole = shape_of(*whole, value_bytes, shape.steps);
  auto const layout = layout_of(plan, value_bytes, shape);
  auto const tiling = cut_for_march(plan.what.grid, shape, layout, machine_of(shape));
  return value_bytes == 4 && shape.blocks == march_blocks && of_whole.blocks == march_blocks &&
         layout.registers <= most_growth * layout_of(*whole, value_bytes, of_whole).registers &&
         tiling.rows >= least_times * 2 * layout.lag;
}

/// The shape of a pass of so many steps that should be fastest, with its cost.
std::optional<std::pair<double, MarchShape>> best_shape(std::vector<MarchPlan> const& plans,
                                                        int value_bytes, int steps) {
  std::optional<std::pair<double, MarchShape>> best;
  for (MarchPlan const& plan : plans) {
    auto const shape = shape_of(plan, value_bytes, steps);
    if (!is_fit(plan, value_bytes, shape)) continue;
    if (plan.parting == Parting::also_rows && !keeps_rows_well(plans, plan, value_bytes, shape))
      continue;
    double const cost = cost_of(plan, value_bytes, shape);
    if (!best || cost < best->first) best = {cost, shape};
  }
  return best;
}

}  // namespace

std::string march_refusal(Marched const& what) {
  auto const no = [](std::string const& why) { return fmt::format("'march' takes {}", why); };
  if (what.grid.dims > 2) return no("grids in 1D and 2D, not in 3D");
  auto const& program = *what.program;
  if (what.sides.size() != program.results.size() || lasting_of(what) > what.lasting)
    return no("a rate for each field");
  for (int axis = 0; axis < 2; ++axis) {
    auto const a = index(axis);
    if (what.grid.points[a] > std::numeric_limits<int>::max())
      return no("axes of less than 2^31 points");
    int const fewest = fewest_points(program.reach[a], wraps(what, axis));
    if (is_sided(what, axis) && what.grid.points[a] < fewest)
      return no(fmt::format("{} points or more along {}", fewest, axis_names[a]));
  }
  if (what.sides_change) return no("sides whose values do not follow the time");
  auto const takes = [&](StencilProgram const& one) {
    return std::ranges::all_of(
        one.code, [&](equations::Node const& node) { return is_taken(node, what.found); });
  };
  if (!takes(program) ||
      !std::ranges::all_of(what.summed, [&](Summed const& one) { return takes(*one.program); }))
    return no("equations of fields, coordinates and the time alone");
  if (std::ssize(what.summed) > most_summed || (!what.summed.empty() && what.grid.dims != 2))
    return no(fmt::format("values over the grid of {} expressions at most, in 2D", most_summed));
  if (std::ssize(what.stages) > most_stages) return no("schemes of at most four stages");
  // In float64 everything takes the most registers.
  if (!best_shape(plans_of(what, vector_bytes / 8), 8, 1))
    return fmt::format(
        "'march' keeps some rows of {} stages of {} fields in registers, which these equations are "
        "too many or reach too far for",
        what.stages.size(), program.results.size());
  return {};
}

bool marches_by_default(Marched const& what) {
  constexpr std::int64_t long_program = 512;  // operations
  return march_refusal(what).empty() &&
         plans_of(what, vector_bytes / 4).front().operations <= long_program;
}

std::vector<MarchShape> march_shapes(Marched const& what, int value_bytes, int most_steps) {
  auto const plans = plans_of(what, vector_bytes / value_bytes);
  std::vector<std::pair<double, MarchShape>> found;
  double handicap = 1;
  for (int steps = 1; steps <= std::min(most_steps, most_march_steps); steps *= 2) {
    if (auto const best = best_shape(plans, value_bytes, steps))
      found.emplace_back(handicap * best->first, best->second);
    handicap *= worth_twice_the_length;
  }
  std::ranges::stable_sort(found, {}, &std::pair<double, MarchShape>::first);
  std::vector<MarchShape> shapes;
  for (auto const& [cost, shape] : found) shapes.push_back(shape);
  return shapes;
}

double march_cost(Marched const& what, int value_bytes) {
  auto const best = best_shape(plans_of(what, vector_bytes / value_bytes), value_bytes, 1);
  return best ? best->first : std::numeric_limits<double>::infinity();
}

double copy_cost(double bytes) { return bytes / bytes_per_cycle + cycles_beside; }

}  // namespace gridstride::system
