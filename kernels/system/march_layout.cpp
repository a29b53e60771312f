#include "kernels/system/march_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

#include "equations/source.hpp"

namespace gridstride::system {

namespace {

/// Registers for places, counters and the values of a program that is under way.
constexpr int other_registers = 56;
/// With so many levels a loop of the first one alone is worth its text, where a system has several components:
/// a turn of one takes little beside the row that it waits for.
constexpr int fewest_levels = 4;
/// With so many, another one of half of them.
constexpr int levels_worth_half = 8;

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

/// For each program how far the newest row that it makes is below that of its stage; those of rates
/// lie as far below as the stage reaches, and all that is found of the last state at the same place.
std::vector<int> lags_of(MarchPlan const& plan) {
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
int add_part(MarchLayout& layout, MarchPlan const& plan, int part) {
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

}  // namespace

bool is_sided(Marched const& what, int axis) {
  return std::ranges::any_of(what.sides, [&](SideRules const& rules) {
    return std::ranges::any_of(rules[index(axis)],
                               [](SideRule const& side) { return !side.wraps || side.sign != 1; });
  });
}

bool wraps(Marched const& what, int axis) { return what.sides.front()[index(axis)][0].wraps; }

bool has_sides(Marched const& what) { return is_sided(what, 0) || is_sided(what, 1); }

int MarchPlan::found_values(int levels) const {
  auto const count = [](StencilProgram const& program) {
    return static_cast<int>(
        std::ranges::count(program.code, equations::Kind::found, &equations::Node::kind));
  };
  int values = levels * count(*what.program);
  for (Summed const& one : what.summed) values += count(*one.program);
  return values;
}

MarchPlan::MarchPlan(Marched const& marched, Parting parted, int columns)
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

int values_beside(MarchLayout const& layout, std::size_t first, std::size_t last) {
  int values = 0;
  for (auto const* sides : {&layout.left, &layout.right})
    for (std::size_t row = first * index(layout.ages); row < last * index(layout.ages); ++row)
      values += std::reduce((*sides)[row].begin(), (*sides)[row].end());
  return values;
}

MarchLayout layout_of(MarchPlan const& plan, int value_bytes, MarchShape const& shape) {
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
    layout.early_levels = {1, layout.levels >= levels_worth_half ? layout.levels / 2 : 0};
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

MarchLayout layout_of(Marched const& what, int value_bytes, MarchShape const& shape) {
  return layout_of(MarchPlan(what, shape.parting, shape.lane_points), value_bytes, shape);
}

}  // namespace gridstride::system
