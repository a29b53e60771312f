#include "simulations/pde_implicit_steps.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/poisson/poisson.hpp"
#include "simulations/pde_schemes.hpp"

namespace gridstride::pde {

template <class T>
struct ImplicitSteps<T>::Group {
  ImplicitGroup what;
  poisson::Equation<T> equation;
  Array<T>* decay = nullptr;
  Buffer<T> reactions;  // 1/τ + κ at the points, where that differs from point to point
  double made_for = 0;  // 1/τ
  std::optional<multigrid::Solver<T>> solver;
};

template <class T>
ImplicitSteps<T>::ImplicitSteps(Stream const& stream, config::RunConfig const& run, State<T>& state,
                                std::vector<Array<T>*> evolved,
                                std::vector<system::Input<T>> const& inputs)
    : stream_(stream),
      run_(run),
      state_(state),
      evolved_(std::move(evolved)),
      inputs_(inputs),
      buffers_(multigrid_scheme(run.time.scheme).buffers) {
  std::vector<char> has_group(evolved_.size());
  for (ImplicitGroup& what : implicit_groups(run)) {
    auto& group = *groups_.emplace_back(std::make_unique<Group>());
    group.what = std::move(what);
    Array<T>& diffusivity = state_[group.what.name + ".diffusivity"];
    group.decay = &state_[group.what.name + ".decay"];
    group.equation = {.grid = run.grid,
                      .sides = group.what.kinds,
                      .diffusivity = diffusivity.constant(),
                      .diffusivities = diffusivity.data()};
    if (group.what.has_factors || group.decay->data() != nullptr) {
      group.reactions =
          Buffer<T>(stream_, MemorySpace::device, static_cast<std::size_t>(run.grid.size()));
      group.equation.reactions = group.reactions.data();
    }
    for (int const c : group.what.components) has_group[static_cast<std::size_t>(c)] = 1;
  }
  for (std::size_t c = 0; c < has_group.size(); ++c) {
    if (!has_group[c]) alone_.push_back(c);
    for (int number = 2; number < buffers_; ++number) zero_async(buffer(c, number), stream_);
  }
}

template <class T>
ImplicitSteps<T>::~ImplicitSteps() = default;

template <class T>
std::span<T> ImplicitSteps<T>::buffer(std::size_t component, int number) {
  return {evolved_[component]->buffer(number), static_cast<std::size_t>(run_.grid.size())};
}

/// Weights of u are multiples of a unit that the precision of the arrays has exactly, so that they add
/// up: a constant stays what it is, however many steps there are.
template <class T>
typename ImplicitSteps<T>::Weights ImplicitSteps<T>::weights_of(double step) const {
  constexpr double longest_ratio =
      2;  // backward differences of second order stay stable up to 1 + √2
  double w = step_before_ > 0 ? step / step_before_ : 0;
  if (!keeps_steps() || w > longest_ratio) w = 0;
  double const unit =
      std::ldexp(1.0, std::ilogb((1 + w) / step) - (std::numeric_limits<T>::digits - 3));
  auto const rounded = [&](double weight) { return std::round(weight / unit) * unit; };
  double const next = rounded((1 + 2 * w) / (1 + w) / step);
  double const before = rounded(w * w / (1 + w) / step);
  return {next, next + before, -before, 1 + w, -w};
}

/// The right-hand side of a component; of one that is alone, what changes it.
template <class T>
void ImplicitSteps<T>::make_right(std::size_t component, Weights const& weights, bool is_alone) {
  std::span<T> const u = buffer(component, 0), rate = buffer(component, 1),
                     right = right_of(component);
  auto const add = [&](double weight, std::span<T const> from) {
    elementwise::axpy<T>(stream_, static_cast<T>(weight), from, right);
  };
  double const now = is_alone ? -weights.before : weights.now;
  if (keeps_steps() && weights.rate_before == 0) {
    copy_async(right, std::span<T const>(rate), stream_);
  } else if (keeps_steps()) {
    elementwise::scale<T>(stream_, static_cast<T>(weights.rate_before), right);
    add(weights.rate, rate);
  }
  if (now != 0) add(now, u);
  if (!keeps_steps()) return;
  auto const before = buffer(component, 2);
  if (weights.before != 0) add(weights.before, before);
  copy_async(before, std::span<T const>(u), stream_);
}

template <class T>
void ImplicitSteps<T>::advance(double step, double time) {
  auto const weights = weights_of(step);
  for (auto const& group : groups_) {
    for (int const c : group->what.components)
      make_right(static_cast<std::size_t>(c), weights, false);
    solve(*group, weights.next, time);
  }
  for (std::size_t const c : alone_) {
    make_right(c, weights, true);
    auto const u = buffer(c, 0);
    elementwise::axpy<T>(stream_, static_cast<T>(1 / weights.next), std::span<T const>(right_of(c)),
                         u);
    system::impose_sides<T>(stream_, run_.grid, inputs_[c].sides, u.data());
  }
  if (!keeps_steps()) return;
  for (std::size_t c = 0; c < evolved_.size(); ++c)
    copy_async(right_of(c), std::span<T const>(buffer(c, 1)), stream_);
  step_before_ = step;
}

/// What is given on sides for a component: g, or a of ∂u/∂n + a·u = g.
template <class T>
poisson::SideValues<T> ImplicitSteps<T>::side_values(int component, bool factors) {
  auto const& name = evolved_[static_cast<std::size_t>(component)]->row().name;
  poisson::SideValues<T> values{};
  for (int axis = 0; axis < run_.grid.dims; ++axis)
    for (int end = 0; end < 2; ++end)
      values[static_cast<std::size_t>(axis)][static_cast<std::size_t>(end)] =
          factors ? state_.side_factor(name, axis, end) : state_.side(name, axis, end);
  return values;
}

/// A solver for another 1/τ. On a side with ∂u/∂n + a·u = g half a cell gives 2/h·D·(g − a·u), the
/// latter of which is a reaction.
template <class T>
void ImplicitSteps<T>::prepare(Group& group, double weight) {
  if (group.made_for == weight) return;
  group.solver.reset();
  auto const reactions = group.reactions.span();
  if (reactions.empty()) {
    group.equation.reaction = weight + group.decay->constant();
  } else {
    if (group.decay->data() != nullptr)
      copy_async(reactions, std::as_const(*group.decay).span(), stream_);
    else
      elementwise::fill<T>(stream_, static_cast<T>(group.decay->constant()), reactions);
    if (group.what.has_factors)
      poisson::add_sides(stream_, group.equation, side_values(group.what.components.front(), true),
                         reactions);
    poisson::shift<T>(stream_, weight, reactions);
  }
  group.solver.emplace(stream_, group.equation, false, implicit_options(run_, group.what),
                       run_.kernels.at("multigrid"));
  group.made_for = weight;
}

template <class T>
void ImplicitSteps<T>::solve(Group& group, double weight, double time) {
  prepare(group, weight);
  for (int const component : group.what.components) {
    auto const c = static_cast<std::size_t>(component);
    auto const u = buffer(c, 0), right = right_of(c);
    system::impose_sides<T>(stream_, run_.grid, inputs_[c].sides, u.data());
    poisson::add_sides(stream_, group.equation, side_values(component, false), right);
    auto const outcome = group.solver->solve(stream_, right, u, true);
    if (outcome.converged) continue;
    auto const& name = evolved_[c]->row().name;
    if (outcome.residuals.empty() || !std::isfinite(outcome.residuals.back()))
      throw NumericalError(fmt::format(
          "in the step to t = {} s {} is beyond all numbers (is what is explicit growing?)", time,
          name));
    throw NumericalError(fmt::format(
        "in the step to t = {} s, after {} cycles of multigrid the error to be expected in {} is "
        "{:.2g} of it, where {:g} is asked for (implicit.tolerance)",
        time, outcome.cycles, name, outcome.error, implicit_options(run_, group.what).tolerance));
  }
}

template <class T>
void ImplicitSteps<T>::save(CheckpointSink& sink) const {
  if (!keeps_steps()) return;
  sink.put_real("implicit/step_before", step_before_);
  auto const size = static_cast<std::size_t>(run_.grid.size());
  for (Array<T>* const array : evolved_)
    for (int const number : {2, 3})
      sink.put_array(fmt::format("implicit/{}.{}", array->row().name, number),
                     std::span<T const>(array->buffer(number), size), stream_);
}

template <class T>
void ImplicitSteps<T>::load(CheckpointSource const& source) {
  if (!keeps_steps()) return;
  step_before_ = source.get_real("implicit/step_before");
  auto const size = static_cast<std::size_t>(run_.grid.size());
  for (Array<T>* const array : evolved_)
    for (int const number : {2, 3})
      source.get_array(fmt::format("implicit/{}.{}", array->row().name, number),
                       std::span<T>(array->buffer(number), size), stream_);
}

template class ImplicitSteps<float>;
template class ImplicitSteps<double>;

}  // namespace gridstride::pde
