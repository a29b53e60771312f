// (1 − τ·L) v = g is Helmholtz' equation −∇·(α∇v) + κv = κg with κ = 1/τ, in the same differences: cycles
// solve it as it is, with all axes at once and any field of α, in a few passes, from the v of the step
// before. A solver is made for a τ, and another one where a step is shorter.

#include "simulations/heat_multigrid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/poisson/poisson.hpp"
#include "simulations/heat_implicit.hpp"
#include "simulations/heat_parameters.hpp"
#include "simulations/heat_schemes.hpp"

namespace gridstride::heat {

namespace {

poisson::Sides kinds_of(config::RunConfig const& run) {
  poisson::Sides kinds{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t side = 0; side < 2; ++side)
      kinds[axis][side] = run.sides_of("u")[axis][side].kind;
  return kinds;
}

}  // namespace

bool takes_multigrid(config::RunConfig const& run) {
  auto const& solver = parameters_as<Parameters>(run).solver;
  if (solver == "auto") return is_implicit(run) && is_bounded(run);
  return solver == "multigrid";
}

template <class T>
WholeSystem<T>::WholeSystem(config::RunConfig const& run, RankPlanes* ranks)
    : ranks_(ranks), variant_(run.kernels.at("multigrid")) {
  options_.cycle = multigrid::Cycle::v;
  options_.conjugates = has_field(run);
  double const plain = run.precision == Precision::float32 ? 1e-7 : 1e-12;
  double const of_steps =
      run.time.adaptive ? std::max(step_tolerance(run).relative / 100, 1e-14) : 1;
  options_.tolerance = parameters_as<Parameters>(run).tolerance.value_or(std::min(plain, of_steps));
}

template <class T>
poisson::Equation<T> WholeSystem<T>::equation_of(stencil::Diffusion<T> const& diffusion,
                                                 double step) const {
  poisson::Equation<T> equation{.grid = diffusion.grid,
                                .diffusivity = diffusion.diffusivity,
                                .diffusivities = diffusion.diffusivity_field,
                                .reaction = 1 / step,
                                .ranks = ranks_};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(diffusion.grid.dims); ++axis)
    for (std::size_t side = 0; side < 2; ++side)
      equation.sides[axis][side] = diffusion.sides[axis][side].kind;
  return equation;
}

template <class T>
void WholeSystem<T>::solve(Stream& stream, stencil::Diffusion<T> const& diffusion, double step,
                           std::span<T> given, std::span<T> v) {
  auto const equation = equation_of(diffusion, step);
  poisson::SideValues<T> held{};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(diffusion.grid.dims); ++axis)
    for (std::size_t side = 0; side < 2; ++side)
      if (auto const& [kind, values] = diffusion.sides[axis][side]; kind == SideKind::dirichlet)
        held[axis][side] = values;
  elementwise::scale<T>(stream, static_cast<T>(1 / step), given);
  poisson::add_sides(stream, equation, held, given);
  go(stream, equation, given, v, true);
}

template <class T>
void WholeSystem<T>::solve_error(Stream& stream, stencil::Diffusion<T> const& diffusion,
                                 double step, std::span<T> given, std::span<T> v) {
  elementwise::scale<T>(stream, static_cast<T>(1 / step), given);
  zero_async(v, stream);
  go(stream, equation_of(diffusion, step), given, v, false);
}

template <class T>
void WholeSystem<T>::go(Stream& stream, poisson::Equation<T> const& equation,
                        std::span<T const> right, std::span<T> v, bool from_v) {
  if (equation.reaction != reaction_) {
    solver_.reset();
    solver_.emplace(stream, equation, false, options_, variant_);
    reaction_ = equation.reaction;
  }
  auto const outcome = solver_->solve(stream, right, v, from_v);
  if (outcome.converged) return;
  std::string const reached =
      std::isfinite(outcome.error)
          ? fmt::format("the error to be expected in u is {:.2g} of it", outcome.error)
          : "the error to be expected in u does not become smaller";
  throw NumericalError(fmt::format(
      "heat: after {} cycles for a step {}, where {:g} is asked for "
      "(parameters.tolerance may be larger{})",
      outcome.cycles, reached, options_.tolerance,
      options_.conjugates && equation.grid.dims == 3 ? "; shorter steps help"
                                                     : "; solver: splitting needs no cycles"));
}

template <class T>
std::size_t WholeSystem<T>::bytes(config::RunConfig const& run, Backend backend,
                                  RankCuts const& cuts) {
  return multigrid::solver_bytes(backend, run.grid, kinds_of(run), has_field(run), run.precision,
                                 {.conjugates = has_field(run)}, cuts);
}

template <class T>
std::int64_t WholeSystem<T>::planes_together(config::RunConfig const& run, Backend backend) {
  if (!has_field(run)) return 1;
  return multigrid::planes_together(backend, run.grid, kinds_of(run), true);
}

template class WholeSystem<float>;
template class WholeSystem<double>;

}  // namespace gridstride::heat
