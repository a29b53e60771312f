#include "kernels/multigrid/multigrid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/multigrid/corrected.hpp"
#include "kernels/multigrid/inner_precision.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::multigrid {

namespace {

constexpr std::string_view reference_idea = "step after step, point after point: the textbook's";
constexpr std::string_view threads_idea =
    "lines of points shared among threads; relaxation and residuals by vectors";
constexpr std::string_view steps_idea = "a kernel for each step of the textbook's";
constexpr std::string_view fused_idea =
    "large levels by columns of points, small ones by modes, or of fields by one block";

template <class S>
constexpr Variant<Function<S>> rows[] = {
    {"reference", Backend::cpu, host_reference<S>, reference_idea},
    {"threads", Backend::cpu, host_threads<S>, threads_idea},
    {"steps", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_steps<S>), steps_idea},
    {"fused", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_fused<S>), fused_idea}};

}  // namespace

double Outcome::factor() const {
  std::size_t const last = residuals.size();
  if (last < 2) return 0;
  std::size_t const first = last < 3 ? 0 : last > 5 ? last - 4 : 1;
  if (residuals[first] == 0) return 0;
  return std::pow(residuals[last - 1] / residuals[first],
                  1 / static_cast<double>(at[last - 1] - at[first]));
}

namespace {

template <class T, class S>
std::unique_ptr<SolverBody<T>> corrected(Stream& stream, poisson::Equation<T> const& equation,
                                         Levels const& plan, bool singular, Options const& options,
                                         std::string_view variant, double diagonal) {
  auto const& row = find_variant<Function<S>>("multigrid", variants<S>(), stream.device(), variant);
  // Coefficients of at most about 1, by a power of 2.
  double const scale = diagonal < none ? std::ldexp(1.0, -std::ilogb(diagonal)) : 1;
  return std::make_unique<Corrected<T, S>>(stream, equation, plan, scale, singular, options,
                                           row.run);
}

}  // namespace

template <class T>
Solver<T>::Solver(Stream& stream, poisson::Equation<T> const& equation, bool singular,
                  Options options, std::string_view variant) {
  bool const may_do_less = options.conjugates && options.after == -1 && has_fields(equation);
  options = complete(options, has_fields(equation));
  if (options.before < 1 || options.after < 0)
    throw std::invalid_argument("multigrid: a level is relaxed at least once on the way down");
  if (!(options.factor > 0 && options.factor < 2))
    throw std::invalid_argument(
        "multigrid: relaxation goes more than 0 and less than 2 times as "
        "far as equations have it");
  if (options.direct > most_direct)
    throw std::invalid_argument(
        fmt::format("multigrid: modes are for at most {} unknowns along an axis", most_direct));
  (void)poisson::operator_of(equation);  // looks at the sides
  if (equation.ranks != nullptr && options.relaxation != Relaxation::none)
    throw std::invalid_argument("multigrid: ranks share cycles");
  if (std::ranges::max(equation.grid.points) > most_points_of_axis)
    throw std::invalid_argument("multigrid: an axis has 2^24 points at most");
  bool const relaxes = options.relaxation != Relaxation::none;
  auto const plan =
      relaxes ? finest_of(equation.grid, equation.sides)
              : levels_of(equation.grid, equation.sides,
                          most_inverted(options, has_fields(equation), equation.grid.dims));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const a = range_of(stream, equation, equation.diffusivities, equation.diffusivity);
  auto const reaction = range_of(stream, equation, equation.reactions, equation.reaction);
  if (may_do_less && !has_jump(stream, equation)) options.after = 1;
  if (options.least_left == -1)
    options.least_left = options.conjugates && a.most >= 100 * a.least ? 2.0 / 3 : 0;
  double const diagonal = diagonal_bound(plan, a.most, reaction.most);
  auto* const does =
      options.conjugates && has_fields(equation) ? float32_does_in_directions : float32_does;
  auto* const make =
      !relaxes && does(plan, a, reaction) ? corrected<T, float> : corrected<T, double>;
  body_ = make(stream, equation, plan, singular, options, variant, diagonal);
}

template <class T>
int Solver<T>::levels() const {
  return body_->levels();
}

template <class T>
Precision Solver<T>::inner() const {
  return body_->inner();
}

template <class T>
double Solver<T>::scale() const {
  return body_->scale();
}

template <class T>
Outcome Solver<T>::solve(Stream& stream, std::type_identity_t<std::span<T const>> right,
                         std::span<T> u, bool from_u) {
  require_size("multigrid", named("right", right), body_->size(false));
  require_size("multigrid", named("u", u), body_->size(false));
  require_disjoint("multigrid", named("right", right), named("u", u));
  return body_->solve(stream, right, u, from_u);
}

template <class T>
void Solver<T>::precondition(Stream& stream, std::span<double const> right, double magnitude,
                             std::span<double> u, bool alone) {
  require_size("multigrid", named("right", right), body_->size(alone));
  require_size("multigrid", named("u", u), body_->size(alone));
  require_disjoint_or_same("multigrid", named("right", right),
                           named("u", std::span<double const>(u)));
  body_->precondition(stream, right.data(), magnitude, u.data(), alone);
}

template <class T>
Solver<T>::~Solver() = default;
template <class T>
Solver<T>::Solver(Solver&&) noexcept = default;
template <class T>
Solver<T>& Solver<T>::operator=(Solver&&) noexcept = default;

template <class S>
std::span<Variant<Function<S>> const> variants() {
  return rows<S>;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "fused";
}

template class Solver<float>;
template class Solver<double>;
template std::span<Variant<Function<float>> const> variants<float>();
template std::span<Variant<Function<double>> const> variants<double>();

}  // namespace gridstride::multigrid
