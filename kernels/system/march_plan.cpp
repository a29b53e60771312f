#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "equations/source.hpp"
#include "kernels/system/inner_levels.hpp"
#include "kernels/system/march.hpp"

namespace gridstride::system {

namespace {

constexpr int warp_lanes = 32, vector_bytes = 16;
constexpr int most_registers = 240;  // of the 255 that a thread may have
/// Registers for places, counters and the values of a program that is under way.
constexpr int other_registers = 56;
/// Additions, or what takes as long, that a loop is written out to: what the nearest cache of
/// instructions has, or what compiles in good time.
constexpr std::int64_t good_length = 2048, greatest_length = 16'384;
/// What the choice of a shape takes for the machine, an H200: its processors, and in their cycles
/// what a pass takes beside its work, for its launch and its first rows.
constexpr int processors = 132, schedulers_of_processor = 4;
constexpr double bytes_per_cycle = 2080, cycles_beside = 5500;
/// A pass of twice the steps takes as much longer to compile, and leaves more of them over.
constexpr double worth_twice_the_length = 1.1;
/// With so many levels a loop of the first one alone is worth its text, where a system has several components:
/// a turn of one takes little beside the row that it waits for.
constexpr int fewest_levels = 4;
/// Instructions of a turn that are not the program's: for places, loads, stores.
constexpr double instructions_beside = 30;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::int64_t operations_of(StencilProgram const& program) {
  return std::ranges::count(program.code, equations::Kind::operation, &equations::Node::kind);
}

/// Of a point, without what is the same all along a column.
std::int64_t additions_of_point(StencilProgram const& program) {
  using equations::Kind;
  std::int64_t additions = 0;
  std::vector<char> varies;
  for (std::size_t n = 0; n < program.code.size(); ++n) {
    equations::Node const& node = program.code[n];
    bool of_point = node.kind == Kind::unknown || node.kind == Kind::time ||
                    (node.kind == Kind::coordinate && node.index == 1);
    for (int i = 0; i < equations::operand_count(node); ++i)
      of_point = of_point || varies[index(node.operands[index(i)])] != 0;
    varies.push_back(of_point ? 1 : 0);
    if (of_point) additions += additions_of(program, n);
  }
  return additions;
}

bool is_taken(equations::Node const& node, int found) {
  using equations::Kind;
  constexpr std::array taken = {Kind::number, Kind::coordinate, Kind::time, Kind::unknown,
                                Kind::operation};
  return std::ranges::find(taken, node.kind) != taken.end() ||
         (node.kind == Kind::found && node.index < found);
}

/// Whether anything but the same values follows beyond an axis.
bool is_sided(Marched const& what, int axis) {
  return std::ranges::any_of(what.sides, [&](SideRules const& rules) {
    return std::ranges::any_of(rules[index(axis)],
                               [](SideRule const& side) { return !side.wraps || side.sign != 1; });
  });
}

bool wraps(Marched const& what, int axis) { return what.sides.front()[index(axis)][0].wraps; }

/// Whether a side of x never lies between two columns of a thread, whichever part is made. Parts of
/// lines have no sides that wrap with a sign.
bool ends_between_threads(Marched const& what, int lane_points) {
  if (lane_points == 1 || !is_sided(what, 0)) return true;
  std::int64_t const points = what.grid.points[0];
  bool const is_even = points % lane_points == 0;
  if (wraps(what, 0) || (what.least_columns == 0 && is_even)) return is_even;
  return (what.least_columns == 0 ? points : what.least_columns) >= warp_lanes * lane_points;
}

/// What lies beyond a side of y comes of the same columns of other rows. That needs nothing more
/// where only the row itself is looked at beside its column.
void take_from_all_rows(MarchLayout& layout, std::size_t program) {
  auto const ages = index(layout.ages);
  for (auto* const sides : {&layout.left, &layout.right}) {
    auto const rows = std::span(*sides).subspan(program * ages, ages);
    for (std::size_t c = 0; c < sides->front().size(); ++c) {
      int beyond = 0, most = 0;
      for (std::size_t age = 0; age < ages; ++age) {
        most = std::max(most, rows[age][c]);
        if (age != ages / 2) beyond = std::max(beyond, rows[age][c]);
      }
      for (auto& row : rows)
        if (beyond > 0) row[c] = most;
    }
  }
}

/// How many rows of the state that a level takes are kept: `read`, those that its parts take, and
/// those up to the oldest that its own stage or a later one of its step asks for. Of the last state,
/// those that what is found of it takes.
std::vector<int> rows_held_by(Marched const& what, int steps, int read, int summed_read) {
  int const stages = static_cast<int>(what.stages.size()), reach = what.program->reach[1];
  std::vector<int> of_stage(what.stages.size(), std::max(read, reach + 1));
  for (int stage = 0; stage < stages; ++stage) {
    auto const& one = what.stages[index(stage)];
    auto const held = [&](int state) {
      auto& rows = of_stage[index(state)];
      rows = std::max(rows, (stage + 1 - state) * reach + 1);
    };
    held(one.base);
    for (auto const& [state, weight] : one.addends) held(state);
  }
  std::vector<int> rows;
  for (int step = 0; step < steps; ++step)
    rows.insert(rows.end(), of_stage.begin(), of_stage.end());
  if (!what.summed.empty()) rows.push_back(summed_read);
  return rows;
}

/// How far what is found of the last state looks along an axis.
int summed_reach(Marched const& what, std::size_t axis) {
  int reach = 0;
  for (Summed const& one : what.summed) reach = std::max(reach, one.program->reach[axis]);
  return reach;
}

/// How a stage is made: in parts or at once.
struct Plan {
  Marched const& what;
  Parting parting;
  int lane_points;  ///< that parts are for
  std::vector<Part> programs;
  std::size_t parts;         ///< of the programs, all but the one for what is near sides
  std::size_t first_summed;  ///< and but those of what is found of the last state
  std::int64_t operations = 0, summed_additions = 0;
  std::int64_t additions = 0, instructions = 0;  ///< with and without operations that are fused
  int kept = 0;                                  ///< values of a column

  std::vector<int> part_of;  ///< that makes it, of each inner value

  /// The inner value that an unknown is; negative: a component, or an array that lasts.
  int inner_of(equations::Node const& node) const {
    return node.index - static_cast<int>(what.program->results.size()) - lasting_of(what);
  }

  /// Values that are found beforehand and looked at, by so many levels and in their last state.
  int found_values(int levels) const {
    auto const count = [](StencilProgram const& program) {
      return static_cast<int>(
          std::ranges::count(program.code, equations::Kind::found, &equations::Node::kind));
    };
    int values = levels * count(*what.program);
    for (Summed const& one : what.summed) values += count(*one.program);
    return values;
  }

  Plan(Marched const& marched, Parting parted, int columns)
      : what(marched), parting(parted), lane_points(columns) {
    auto const is_fused = [](int which) { return which >= 0; };
    programs = march_programs(what, parting, columns);
    parts = parts_among(what, programs);
    first_summed = programs.size() - what.summed.size();
    for (auto const& [program, fused] : std::span(programs).subspan(first_summed))
      summed_additions += additions_of_point(program) + 1;
    for (auto const& [program, fused] : std::span(programs).first(parts)) {
      operations += operations_of(program);
      additions += additions_of_point(program);
      instructions -= std::ranges::count_if(fused, is_fused);
    }
    for (std::size_t part = 0; part + 1 < parts; ++part)
      part_of.insert(part_of.end(), programs[part].program.results.size(), static_cast<int>(part));
    for (auto const& [program, fused] : programs)
      kept += equations::to_cuda_along_columns(program, fused, Precision::float64).kept;
    instructions += additions;
  }
};

/// For each program how far the newest row that it makes is below that of its stage; those of rates
/// lie as far below as the stage reaches, and all that is found of the last state at the same place.
std::vector<int> lags_of(Plan const& plan) {
  std::vector<int> lags;
  for (Part const& part : plan.programs) {
    int lag = 0;
    for (equations::Node const& node : part.program.code)
      if (node.kind == equations::Kind::unknown) {
        int const inner = plan.inner_of(node);
        lag = std::max(lag,
                       node.orders[1] + (inner < 0 ? 0 : lags[index(plan.part_of[index(inner)])]));
      }
    lags.push_back(lag);
  }
  std::fill(lags.begin() + std::ssize(lags) - std::ssize(plan.what.summed), lags.end(),
            summed_reach(plan.what, 1));
  lags[plan.parts - 1] = lags[plan.first_summed - 1] = plan.what.program->reach[1];
  return lags;
}

/// Adds what a part takes of columns beside and of rows of parts before. Returns how many rows it
/// takes of the state.
int add_part(MarchLayout& layout, Plan const& plan, int part) {
  int const components = static_cast<int>(plan.what.program->results.size());
  int const lasting = lasting_of(plan.what);
  int read = 1;
  auto const widen = [](int& left, int& right, equations::Node const& node) {
    left = std::max(left, -int{node.orders[0]});
    right = std::max(right, int{node.orders[0]});
  };
  for (equations::Node const& node : plan.programs[index(part)].program.code) {
    if (node.kind != equations::Kind::unknown) continue;
    int const inner = plan.inner_of(node);
    if (inner < 0 && node.index >= components) {
      auto const array = index(node.index - components);
      widen(layout.lasting_left[array], layout.lasting_right[array], node);
      continue;
    }
    int const lag = inner < 0 ? 0 : layout.lags[index(plan.part_of[index(inner)])];
    int const age = layout.lags[index(part)] - lag - node.orders[1];
    int& rows = inner < 0 ? read : layout.inner_held[index(inner)];
    rows = std::max(rows, age + 1);
    auto const source = index(inner < 0 ? node.index : node.index - lasting);
    widen(layout.left[index(part * layout.ages + age)][source],
          layout.right[index(part * layout.ages + age)][source], node);
  }
  return read;
}

/// Values beside a thread's columns that these programs take.
int values_beside(MarchLayout const& layout, std::size_t first, std::size_t last) {
  int values = 0;
  for (auto const* sides : {&layout.left, &layout.right})
    for (std::size_t row = first * index(layout.ages); row < last * index(layout.ages); ++row)
      values += std::reduce((*sides)[row].begin(), (*sides)[row].end());
  return values;
}

MarchLayout layout_of(Plan const& plan, int value_bytes, MarchShape const& shape) {
  StencilProgram const& program = *plan.what.program;
  int const programs = static_cast<int>(plan.programs.size());
  auto const components = program.results.size();
  MarchLayout layout;
  layout.levels = shape.steps * static_cast<int>(plan.what.stages.size());
  int const wrong = layout.levels * program.reach[0] + summed_reach(plan.what, 0);
  layout.halo = (wrong + shape.lane_points - 1) / shape.lane_points * shape.lane_points;
  layout.stored = warp_lanes * shape.lane_points - 2 * layout.halo;
  layout.ages = 2 * program.reach[1] + 1;
  layout.summed_lag = summed_reach(plan.what, 1);
  layout.lag = layout.levels * program.reach[1] + layout.summed_lag;
  if (layout.levels >= fewest_levels && components > 1 && !has_sides(plan.what))
    layout.early_turns = 4 * program.reach[1];
  layout.inner_held.assign(plan.part_of.size(), 1);
  layout.lags = lags_of(plan);
  layout.left.assign(index(programs * layout.ages),
                     std::vector<int>(components + plan.part_of.size(), 0));
  layout.right = layout.left;
  auto const lasting = index(lasting_of(plan.what));
  layout.lasting_left.assign(lasting, 0);
  layout.lasting_right.assign(lasting, 0);
  layout.has_ends = !wraps(plan.what, 0);
  if (layout.has_ends)
    layout.ghosts =
        (program.reach[0] + shape.lane_points - 1) / shape.lane_points * shape.lane_points;
  int read = 1, summed_read = 1;
  for (int part = 0; part < programs; ++part) {
    int& most = index(part) < plan.first_summed ? read : summed_read;
    most = std::max(most, add_part(layout, plan, part));
  }
  if (!wraps(plan.what, 1)) {
    for (auto knowing = plan.first_summed - 1; knowing < plan.programs.size(); ++knowing)
      take_from_all_rows(layout, knowing);
    read = layout.ages;
    summed_read = 2 * layout.summed_lag + 1;
  }
  layout.rows_held = rows_held_by(plan.what, shape.steps, read, summed_read);
  // What is carried over from turn to turn, two rows loaded ahead, and the row on its way; what is
  // kept of columns; and what is beside a part's.
  int rows = 3, inner_rows = 0, beside = 0;
  for (int const held : layout.rows_held) rows += held - 1;
  for (int const held : layout.inner_held) inner_rows += layout.levels * (held - 1) + 1;
  for (std::size_t part = 0; part < plan.programs.size(); ++part)
    if (part < plan.parts || part >= plan.first_summed)
      beside = std::max(beside, values_beside(layout, part, part + 1));
  // Of what lasts, the rows from the newest to the last level's oldest, and two loaded ahead.
  int columns = static_cast<int>(lasting) * shape.lane_points;
  for (auto const* sides : {&layout.lasting_left, &layout.lasting_right})
    columns += std::reduce(sides->begin(), sides->end());
  int const values =
      (rows * static_cast<int>(components) + inner_rows + plan.kept) * shape.lane_points + beside +
      columns * (layout.lag + program.reach[1] + 3) + plan.found_values(layout.levels);
  int sums = 0;  // in float64
  for (Summed const& one : plan.what.summed) sums += 1 + one.least + one.greatest;
  layout.registers = values * value_bytes / 4 + 2 * sums * shape.lane_points + other_registers;
  // What takes as long as many additions is a chain of them, each of which waits for the one before.
  layout.waiting +=
      static_cast<double>(std::max<std::int64_t>(plan.additions - plan.operations, 0)) /
      static_cast<double>(std::max<std::int64_t>(plan.additions, 1));
  return layout;
}

std::int64_t additions_of_turn(Plan const& plan, MarchShape const& shape) {
  return shape.lane_points *
         (static_cast<std::int64_t>(plan.what.stages.size()) * shape.steps * plan.additions +
          plan.summed_additions);
}

MarchShape shape_of(Plan const& plan, int value_bytes, int steps) {
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
bool is_fit(Plan const& plan, int value_bytes, MarchShape const& shape) {
  auto const layout = layout_of(plan, value_bytes, shape);
  return ends_between_threads(plan.what, shape.lane_points) && layout.registers <= most_registers &&
         shape.turns * additions_of_turn(plan, shape) <= greatest_length &&
         2 * layout.stored >= warp_lanes * shape.lane_points;
}

/// What one has to issue in a turn.
double instructions_of_turn(Plan const& plan, int value_bytes, MarchShape const& shape,
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
double cost_of(Plan const& plan, int value_bytes, MarchShape const& shape) {
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
std::vector<Plan> plans_of(Marched const& what, int columns) {
  std::vector<Plan> plans;
  for (int lane_points = columns; lane_points >= 1 && !what.stages.empty(); lane_points /= 2)
    if (Plan plan(what, Parting::operators, lane_points); plan.parts > 1)
      plans.push_back(std::move(plan));
  std::size_t const first_whole = plans.size();
  for (int lane_points = columns; lane_points >= 1; lane_points /= 2)
    plans.emplace_back(what, Parting::none, lane_points);
  for (int lane_points = columns; lane_points >= 1 && !what.stages.empty(); lane_points /= 2) {
    Plan plan(what, Parting::also_rows, lane_points);
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
bool keeps_rows_well(std::vector<Plan> const& plans, Plan const& plan, int value_bytes,
                     MarchShape const& shape) {
  constexpr double most_growth = 1.1;
  constexpr long long least_times = 16;  // of the rows that a chunk repeats
  auto const whole = std::ranges::find_if(plans, [&](Plan const& other) {
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
std::optional<std::pair<double, MarchShape>> best_shape(std::vector<Plan> const& plans,
                                                        int value_bytes, int steps) {
  std::optional<std::pair<double, MarchShape>> best;
  for (Plan const& plan : plans) {
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

bool has_sides(Marched const& what) { return is_sided(what, 0) || is_sided(what, 1); }

MarchLayout layout_of(Marched const& what, int value_bytes, MarchShape const& shape) {
  return layout_of(Plan(what, shape.parting, shape.lane_points), value_bytes, shape);
}

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
