#include "simulations/pde_side_values.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "equations/sides.hpp"
#include "simulations/pde_parameters.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

using equations::Kind;
using equations::Node;
using equations::SideValue;
using equations::StencilProgram;
using equations::System;
using equations::Term;

namespace {

std::set<int> components_of(StencilProgram const& program) {
  std::set<int> components;
  for (Node const& node : program.code)
    if (node.kind == Kind::unknown) components.insert(node.index);
  return components;
}

StencilProgram program_of(config::RunConfig const& run, std::vector<Term> const& values) {
  System system = system_of(run);
  system.rates = values;
  auto const stencil = equations::discretise(system, run.grid, space_of_values(run));
  return equations::program_of(stencil.terms, stencil.rates, run.grid.dims);
}

/// The names of all components.
std::vector<std::string> all_names(config::RunConfig const& run) {
  std::vector<std::string> all;
  for (auto const& unknown : system_of(run).unknowns)
    for (auto const& name : names_of(run, unknown)) all.push_back(name);
  return all;
}

}  // namespace

bool field_sides_depend_on_time(config::RunConfig const& run) {
  System const& system = system_of(run);
  return std::ranges::any_of(system.sides, [&](SideValue const& side) {
    auto const depends = [&](Term term) {
      return term >= 0 && system.terms.contains(term, Kind::time);
    };
    return depends(side.value) || depends(side.factor);
  });
}

void add_side_values(std::vector<Row>& rows, config::RunConfig const& run) {
  for (SideValue const& side : system_of(run).sides) {
    Row row = scratch(run, "fields at a side", system_of(run).component_count());
    row.grid = face_of(run.grid, side.axis, side.end);
    rows.push_back(std::move(row));
  }
}

template <class T>
SideValues<T>::SideValues(Stream const& stream, config::RunConfig const& run, State<T>& state)
    : stream_(stream) {
  System const& system = system_of(run);
  auto const names = all_names(run);
  auto const task_of = [&](std::span<SideValue const> sides, bool of_factors) {
    Task task = {sides.front().axis, sides.front().end};
    std::vector<Term> values;
    for (SideValue const& side : sides) {
      Term const value = of_factors ? side.factor : side.value;
      if (value < 0) continue;
      values.push_back(value);
      auto const& name = names[static_cast<std::size_t>(side.component)];
      task.targets.push_back(of_factors ? state.side_factor(name, side.axis, side.end)
                                        : state.side(name, side.axis, side.end));
    }
    if (!values.empty()) task.program = program_of(run, values);
    task.components = components_of(task.program);
    return task;
  };
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (int end = 0; end < 2; ++end) {
      std::vector<SideValue> here;
      std::ranges::copy_if(system.sides, std::back_inserter(here), [&](SideValue const& side) {
        return side.axis == axis && side.end == end && side.kind != SideKind::dirichlet;
      });
      for (bool const of_factors : {false, true})
        if (!here.empty())
          if (Task task = task_of(here, of_factors); !task.targets.empty())
            tasks_.push_back(std::move(task));
    }
  for (int const component : equations::order_of_held(system).order) {
    Held held = {component, {}};
    for (SideValue const& side : system.sides)
      if (side.component == component && side.kind == SideKind::dirichlet)
        held.tasks.push_back(task_of(std::span(&side, 1), false));
    held_.push_back(std::move(held));
  }
  std::size_t arrays = 0;
  std::int64_t size = 0;
  auto const count = [&](Task const& task) {
    arrays = std::max(arrays, task.components.size());
    size = std::max(size, face_of(run.grid, task.axis, task.end).size());
  };
  std::ranges::for_each(tasks_, count);
  for (Held const& held : held_) std::ranges::for_each(held.tasks, count);
  for (std::size_t i = 0; i < arrays; ++i)
    at_side_.emplace_back(stream_, MemorySpace::device, static_cast<std::size_t>(size));
}

template <class T>
void SideValues<T>::fill(system::Step<T> const& step, std::string_view variant) {
  for (Task& task : tasks_) run(task, step, variant);
}

template <class T>
void SideValues<T>::hold(system::Step<T> const& step, std::span<T* const> state,
                         std::string_view variant) {
  for (auto& [component, tasks] : held_) {
    for (Task& task : tasks) run(task, step, variant);
    auto const c = static_cast<std::size_t>(component);
    system::impose_sides<T>(stream_, step.grid, step.inputs[c].sides, state[c]);
  }
}

template <class T>
void SideValues<T>::run(Task& task, system::Step<T> const& step, std::string_view variant) {
  system::Step<T> face;
  face.program = &task.program;
  face.grid = face_of(step.grid, task.axis, task.end);
  face.is_stage = false;
  face.clock = step.clock;
  face.fraction = step.fraction;
  face.inputs.resize(static_cast<std::size_t>(task.program.components));
  // All have to be there, those as well that the program does not read.
  for (auto& input : face.inputs) input.values = at_side_.front().data();
  std::size_t next = 0;
  for (int const component : task.components) {
    T* const target = at_side_[next++].data();
    system::copy_face<T>(stream_, step.grid, task.axis, task.end,
                         step.inputs[static_cast<std::size_t>(component)].values, target);
    face.inputs[static_cast<std::size_t>(component)].values = target;
  }
  for (T* const target : task.targets) face.outputs.push_back({.values = target});
  face.prepared = &task.prepared;
  system::advance(stream_, face, variant);
}

template class SideValues<float>;
template class SideValues<double>;

}  // namespace gridstride::pde
