#include "simulations/pde_global_passes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace gridstride::pde {

using equations::Kind;
using equations::StencilProgram;

namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

reduce::FieldOperation<double> operation_of(Grid const& grid, Wraps const& wraps) {
  return {.dims = 2, .points = grid.points, .spacing = grid.spacing, .wraps = wraps};
}

std::size_t values_of_columns(std::array<std::int64_t, 3> const& points) {
  return static_cast<std::size_t>(reduce::parts_of_rows(points[1], points) * points[0]);
}

}  // namespace

GlobalPassPlan::GlobalPassPlan(system::Marched const& what,
                               std::vector<StencilProgram> const& operands)
    : stages_(static_cast<int>(what.stages.size())), operands_(static_cast<int>(operands.size())) {
  programs_.push_back(std::make_unique<StencilProgram>(*what.program));
  for (StencilProgram const& operand : operands)
    programs_.push_back(std::make_unique<StencilProgram>(operand));
  generations_.assign(operands.size(), 0);
  least_.assign(operands.size(), 0);
  greatest_ = least_;
  StencilProgram& rates = *programs_.front();
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    StencilProgram const& program = *programs_[i];
    rates.components = std::max(rates.components, program.components);
    for (std::size_t axis = 0; axis < 3; ++axis)
      rates.reach[axis] = std::max(rates.reach[axis], program.reach[axis]);
    for (auto const& node : program.code) {
      if (node.kind != Kind::found) continue;
      auto const operand = index(node.index / equations::numbers_of_operand);
      Kind const kind = equations::global_kinds[node.index % equations::numbers_of_operand];
      if (kind == Kind::least) least_[operand] = 1;
      if (kind == Kind::greatest) greatest_[operand] = 1;
      if (i > 0) generations_[i - 1] = std::max(generations_[i - 1], generations_[operand] + 1);
    }
  }
  int const generations = operands.empty() ? 0 : 1 + *std::ranges::max_element(generations_);
  auto made = what;
  made.program = &rates;
  made.found = equations::numbers_of_operand * operands_;
  add(made, 0, 0);
  for (int state = 0; state < stages_; ++state) {
    for (int generation = 1; generation < generations; ++generation) add(made, state, generation);
    add(made, state + 1, 0);
  }
}

void GlobalPassPlan::add(system::Marched const& what, int state, int generation) {
  Pass& pass = passes_.emplace_back(Pass{what, {}, state});
  pass.what.stages.resize(index(state));
  pass.what.stores = state == stages_;
  for (int operand = 0; operand < operands_; ++operand) {
    if (generations_[index(operand)] != generation) continue;
    pass.operands.push_back(operand);
    pass.what.summed.push_back({.program = programs_[index(operand) + 1].get(),
                                .least = least_[index(operand)] != 0,
                                .greatest = greatest_[index(operand)] != 0});
  }
}

int GlobalPassPlan::most_found() const {
  std::size_t most = 0;
  for (Pass const& pass : passes_) most = std::max(most, pass.operands.size());
  return static_cast<int>(most);
}

std::string GlobalPassPlan::refusal() const {
  for (Pass const& pass : passes_)
    if (auto why = system::march_refusal(pass.what); !why.empty()) return why;
  return {};
}

double GlobalPassPlan::cost(int value_bytes) const {
  double cost = 0;
  for (Pass const& pass : passes_)
    if (&pass != passes_.data())
      cost += system::march_cost(pass.what, value_bytes) + 2 * system::copy_cost(0);
  return cost;
}

template <class T>
GlobalPasses<T>::GlobalPasses(Stream const& stream, Wraps const& wraps, GlobalPassPlan plan)
    : plan_(std::move(plan)),
      points_(plan_.passes().front().what.grid.points),
      reduction_(stream, operation_of(plan_.passes().front().what.grid, wraps), plan_.most_found()),
      found_(stream, MemorySpace::device, index(plan_.stages() + 1) * index(plan_.operands())) {
  for (auto const& pass : plan_.passes())
    marches_.emplace_back(stream.device(), pass.what,
                          system::march_shapes(pass.what, sizeof(T), 1));
  for (int i = 0; i < 3 * plan_.most_found(); ++i)
    columns_.emplace_back(stream, MemorySpace::device, values_of_columns(points_));
  Stream on = stream;
  zero_async(found_.span(), on);
}

template <class T>
std::size_t GlobalPasses<T>::bytes(Grid const& grid, GlobalPassPlan const& plan) {
  return 3 * index(plan.most_found()) * values_of_columns(grid.points) * sizeof(double);
}

template <class T>
system::SummedRows GlobalPasses<T>::summed_rows(GlobalPassPlan::Pass const& pass, Planes const& own,
                                                std::int64_t first) const {
  bool const is_next = pass.state == plan_.stages();
  auto const& stages = plan_.passes().back().what.stages;
  return {.columns = {},
          .lower = own.lower - first,
          .upper = own.upper - first,
          .rows = reduce::rows_of_part(points_),
          .fraction = stages[is_next ? 0 : index(pass.state)].fraction,
          .steps_ahead = is_next ? 1 : 0};
}

template <class T>
void GlobalPasses<T>::step(Stream& stream, system::PassArrays<T> const& arrays, double dt,
                           evaluate::DeviceClock const* clock, system::MarchPart const& part,
                           std::optional<OwnPlanes> const& own, bool is_first) {
  Planes const planes = own ? own->own : Planes{0, points_[1]};
  for (std::size_t p = is_first ? 0 : 1; p < marches_.size(); ++p) {
    auto const& pass = plan_.passes()[p];
    auto rows = summed_rows(pass, planes, part.first);
    std::array<reduce::FieldColumns, system::most_summed> columns;
    std::array<reduce::FieldNumbers*, system::most_summed> results;
    auto const count = pass.operands.size();
    int const state = pass.state % plan_.stages();
    for (std::size_t i = 0; i < count; ++i) {
      auto const& asked = pass.what.summed[i];
      columns[i] = {columns_[3 * i].data(), asked.least ? columns_[3 * i + 1].data() : nullptr,
                    asked.greatest ? columns_[3 * i + 2].data() : nullptr};
      rows.columns[i] = {columns[i].sums, columns[i].least, columns[i].greatest};
      results[i] = found_.data() + state * plan_.operands() + pass.operands[i];
    }
    auto made = part;
    if (!pass.what.stores) made.rows = {rows.lower, rows.upper};
    marches_[p].queue(stream, arrays, dt, clock, made,
                      {reinterpret_cast<double const*>(found_.data()), rows});
    if (!own || !own->ranks) {
      reduction_.find(stream, std::span(columns).first(count), std::span(results).first(count));
      continue;
    }
    reduction_.find_parts(stream, planes.lower / rows.rows,
                          reduce::parts_of_rows(planes.count(), points_),
                          std::span(columns).first(count));
    auto const cuts = own->ranks->cuts_of([this](std::int64_t plane) {
      return equations::numbers_of_operand * reduction_.sums_before(plane);
    });
    own->ranks->share(stream, reinterpret_cast<double*>(reduction_.sums().data()),
                      static_cast<int>(count), cuts);
    reduction_.finish(stream, std::span(results).first(count));
  }
}

template class GlobalPasses<float>;
template class GlobalPasses<double>;

}  // namespace gridstride::pde
