#include "simulations/pde_implicit_solves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/poisson/poisson.hpp"
#include "model/values.hpp"

namespace gridstride::pde {

template <class T>
struct ImplicitSolves<T>::Group {
  ImplicitGroup what;
  poisson::Equation<T> equation;
  Array<T>*diffusivity = nullptr, *decay = nullptr;
  Buffer<T> reactions;        // weight + κ at the points, where that differs from point to point
  double reactions_for = -1;  // their weight
  double made_for = 0;        // that of the solver
  std::optional<multigrid::Solver<T>> solver;

  bool changes() const { return diffusivity->changes() || decay->changes(); }
};

template <class T>
ImplicitSolves<T>::ImplicitSolves(Stream const& stream, config::RunConfig const& run,
                                  State<T>& state, std::vector<Array<T>*> const& evolved,
                                  StepPlace<T>& place)
    : stream_(stream),
      run_(run),
      state_(state),
      evolved_(evolved),
      place_(place),
      group_of_(evolved.size()) {
  std::vector<char> has_group(evolved_.size());
  for (ImplicitGroup& what : implicit_groups(run)) {
    auto& group = *groups_.emplace_back(std::make_unique<Group>());
    group.what = std::move(what);
    group.diffusivity = &state_[group.what.name + ".diffusivity"];
    group.decay = &state_[group.what.name + ".decay"];
    group.equation = {.grid = run.grid,
                      .sides = group.what.kinds,
                      .diffusivity = group.diffusivity->constant(),
                      .diffusivities = group.diffusivity->data(),
                      .ranks = place_.ranks()};
    if (group.what.has_factors || group.decay->data() != nullptr) {
      auto const& grid = run.grid;
      std::int64_t const points =
          place_.ranks() ? place_.ranks()->held() * grid.face_size(grid.dims - 1) : grid.size();
      group.reactions = Buffer<T>(stream_, MemorySpace::device, static_cast<std::size_t>(points));
      group.equation.reactions = group.reactions.data();
    }
    for (int const component : group.what.components) {
      auto const c = static_cast<std::size_t>(component);
      has_group[c] = 1;
      group_of_[c] = groups_.size() - 1;
      solved_.push_back(c);
    }
  }
  for (std::size_t c = 0; c < has_group.size(); ++c)
    if (!has_group[c]) alone_.push_back(c);
}

template <class T>
ImplicitSolves<T>::~ImplicitSolves() = default;

template <class T>
void ImplicitSolves<T>::renew(double time) {
  for (auto const& group : groups_) {
    if (!group->changes()) continue;
    group->reactions_for = -1;
    group->made_for = 0;
    require_fit(*group, *group->diffusivity, "D of div(D*grad(u))", true, time);
    require_fit(*group, *group->decay, "what decays", false, time);
  }
}

/// Values that have changed are finite, and maybe positive; of several ranks those of all.
template <class T>
void ImplicitSolves<T>::require_fit(Group const& group, Array<T> const& array, char const* what,
                                    bool positive, double time) {
  if (!array.changes()) return;
  auto values = array.span();
  auto* const planes = place_.ranks();
  auto const line = static_cast<std::size_t>(run_.grid.face_size(run_.grid.dims - 1));
  if (planes != nullptr) values = values.subspan(line, values.size() - 2 * line);
  auto found = moments_of<T>(stream_, values, run_.kernels.at("reduce"));
  if (planes != nullptr) {
    if (found.first_non_finite >= 0)
      found.first_non_finite += planes->lower() * static_cast<std::int64_t>(line);
    for (auto const& other : of_all_ranks(planes->ranks(), found)) {
      found.minimum = std::min(found.minimum, other.minimum);
      if (found.first_non_finite < 0) found.first_non_finite = other.first_non_finite;
    }
  }
  bool const is_finite = found.first_non_finite < 0;
  if (is_finite && (!positive || found.minimum > 0)) return;
  throw NumericalError(fmt::format(
      "at t = {} s {} of {} is {} for an implicit step", time, what,
      evolved_[static_cast<std::size_t>(group.what.components.front())]->row().name,
      is_finite ? fmt::format("{} somewhere, and has to be positive everywhere", found.minimum)
                : fmt::format("not finite at {}, as it has to be",
                              format_place(run_.grid, found.first_non_finite))));
}

/// What is given on sides for a component: g, or a of ∂u/∂n + a·u = g.
template <class T>
poisson::SideValues<T> ImplicitSolves<T>::side_values(std::size_t component, bool factors) {
  auto const& name = evolved_[component]->row().name;
  poisson::SideValues<T> values{};
  for (int axis = 0; axis < run_.grid.dims; ++axis)
    for (int end = 0; end < 2; ++end)
      values[static_cast<std::size_t>(axis)][static_cast<std::size_t>(end)] =
          factors ? state_.side_factor(name, axis, end) : state_.side(name, axis, end);
  return values;
}

/// On a side with ∂u/∂n + a·u = g half a cell gives 2/h·D·(g − a·u), the latter of which is a reaction.
template <class T>
void ImplicitSolves<T>::fill_reactions(Group& group, double weight) {
  auto const reactions = group.reactions.span();
  group.equation.reaction = weight + group.decay->constant();
  if (reactions.empty() || group.reactions_for == weight) return;
  if (group.decay->data() != nullptr)
    copy_async(reactions, std::as_const(*group.decay).span(), stream_);
  else
    elementwise::fill<T>(stream_, static_cast<T>(group.decay->constant()), reactions);
  if (group.what.has_factors)
    poisson::add_sides(stream_, group.equation,
                       side_values(static_cast<std::size_t>(group.what.components.front()), true),
                       reactions);
  poisson::shift<T>(stream_, weight, reactions);
  group.reactions_for = weight;
}

/// A solver for another weight.
template <class T>
void ImplicitSolves<T>::prepare(Group& group, double weight) {
  fill_reactions(group, weight);
  if (group.made_for == weight) return;
  group.solver.reset();
  group.solver.emplace(stream_, group.equation, false, implicit_options(run_, group.what),
                       run_.kernels.at("multigrid"));
  group.made_for = weight;
}

template <class T>
bool ImplicitSolves<T>::solve(std::size_t component, double weight, T* right, T* u, double time) {
  Group& group = group_of(component);
  prepare(group, weight);
  auto const given = place_.to_solve(right);
  poisson::add_sides(stream_, group.equation, side_values(component, false), given);
  auto const outcome = group.solver->solve(stream_, given, place_.to_solve(u), true);
  return is_solved(group, component, outcome, time);
}

template <class T>
bool ImplicitSolves<T>::solve_error(std::size_t component, double weight, T* right, T* v,
                                    double time) {
  Group& group = group_of(component);
  prepare(group, weight);
  auto const error = place_.to_solve(v);
  zero_async(error, stream_);
  auto const outcome = group.solver->solve(stream_, place_.to_solve(right), error, false);
  return is_solved(group, component, outcome, time);
}

template <class T>
bool ImplicitSolves<T>::is_solved(Group const& group, std::size_t component,
                                  multigrid::Outcome const& outcome, double time) const {
  if (outcome.converged) return true;
  if (outcome.residuals.empty() || !std::isfinite(outcome.residuals.back())) return false;
  throw NumericalError(fmt::format(
      "in the step to t = {} s, after {} cycles of multigrid the error to be expected in {} is "
      "{:.2g} of it, where {:g} is asked for (implicit.tolerance)",
      time, outcome.cycles, evolved_[component]->row().name, outcome.error,
      implicit_options(run_, group.what).tolerance));
}

template <class T>
void ImplicitSolves<T>::find_rate(std::size_t component, T* u, T* rate) {
  Group& group = group_of(component);
  fill_reactions(group, 0);
  auto const changes = place_.to_solve(rate);
  zero_async(changes, stream_);
  poisson::add_sides(stream_, group.equation, side_values(component, false), changes);
  poisson::subtract_product(stream_, group.equation, place_.to_solve(u), changes);
}

template class ImplicitSolves<float>;
template class ImplicitSolves<double>;

}  // namespace gridstride::pde
