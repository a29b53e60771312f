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

StencilProgram program_of(config::RunConfig const& run, std::vector<Term> values) {
  auto const stencil = side_stencil(run, std::move(values));
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

equations::Stencil side_stencil(config::RunConfig const& run, std::vector<Term> values) {
  System system = system_of(run);
  system.rates = std::move(values);
  return equations::discretise(system, run.grid, space_of_values(run));
}

namespace {

/// A program for values on one side, of several components at once where they have to be known
/// before a stage.
struct SideTask {
  int axis, end;
  bool of_factors = false;
  std::vector<int> targets = {};  // the components whose values they are
  StencilProgram program = {};
  std::set<int> components = {};  // that it reads
};
/// Of a component that holds its values.
struct HeldTasks {
  int component;
  std::vector<SideTask> tasks = {};
};
struct SideTasks {
  std::vector<SideTask> filled = {};
  std::vector<HeldTasks> held = {};
};

SideTask side_task(config::RunConfig const& run, std::span<SideValue const> sides,
                   bool of_factors) {
  SideTask task = {sides.front().axis, sides.front().end, of_factors};
  std::vector<Term> values;
  for (SideValue const& side : sides)
    if (Term const value = of_factors ? side.factor : side.value; value >= 0) {
      values.push_back(value);
      task.targets.push_back(side.component);
    }
  if (!values.empty()) task.program = program_of(run, std::move(values));
  task.components = components_of(task.program);
  return task;
}

SideTasks side_tasks(config::RunConfig const& run) {
  System const& system = system_of(run);
  SideTasks all;
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (int end = 0; end < 2; ++end) {
      std::vector<SideValue> here;
      std::ranges::copy_if(system.sides, std::back_inserter(here), [&](SideValue const& side) {
        return side.axis == axis && side.end == end && side.kind != SideKind::dirichlet;
      });
      for (bool const of_factors : {false, true})
        if (!here.empty())
          if (auto task = side_task(run, here, of_factors); !task.targets.empty())
            all.filled.push_back(std::move(task));
    }
  for (int const component : equations::order_of_held(system).order) {
    HeldTasks held = {component};
    for (SideValue const& side : system.sides)
      if (side.component == component && side.kind == SideKind::dirichlet)
        held.tasks.push_back(side_task(run, std::span(&side, 1), false));
    all.held.push_back(std::move(held));
  }
  return all;
}

/// The arrays that all tasks share: as many as one reads components, each for the largest face.
struct Shared {
  int arrays = 0;
  Grid face = {};

  Shared(config::RunConfig const& run, SideTasks const& tasks) {
    auto const count = [&](SideTask const& task) {
      Grid const here = face_of(run.grid, task.axis, task.end);
      if (here.size() > face.size()) face = here;
      arrays = std::max(arrays, static_cast<int>(task.components.size()));
    };
    std::ranges::for_each(tasks.filled, count);
    for (auto const& held : tasks.held) std::ranges::for_each(held.tasks, count);
  }
};

}  // namespace

void add_side_values(std::vector<Row>& rows, config::RunConfig const& run) {
  Shared const shared(run, side_tasks(run));
  if (shared.arrays == 0) return;
  Row row = scratch(run, "fields at a side", shared.arrays);
  row.grid = shared.face;
  rows.push_back(std::move(row));
}

template <class T>
SideValues<T>::SideValues(Stream const& stream, config::RunConfig const& run, State<T>& state)
    : stream_(stream) {
  auto const names = all_names(run);
  auto tasks = side_tasks(run);
  Shared const shared(run, tasks);
  auto const with_targets = [&](SideTask& task) {
    Task made = {task.axis, task.end, std::move(task.program), std::move(task.components)};
    for (int const component : task.targets) {
      auto const& name = names[static_cast<std::size_t>(component)];
      made.targets.push_back(task.of_factors ? state.side_factor(name, task.axis, task.end)
                                             : state.side(name, task.axis, task.end));
    }
    return made;
  };
  for (SideTask& task : tasks.filled) tasks_.push_back(with_targets(task));
  for (auto& [component, of_component] : tasks.held) {
    Held& held = held_.emplace_back(Held{component, {}});
    for (SideTask& task : of_component) held.tasks.push_back(with_targets(task));
  }
  for (int i = 0; i < shared.arrays; ++i)
    at_side_.emplace_back(stream_, MemorySpace::device,
                          static_cast<std::size_t>(shared.face.size()));
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
