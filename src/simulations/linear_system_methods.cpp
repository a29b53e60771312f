// What becomes of right-hand sides of a sparse system: the methods, what `auto` goes on to where one does
// not do, and what is solution enough.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "simulations/linear_system_filled.hpp"
#include "simulations/linear_system_sparse_system.hpp"

namespace gridstride::linear_system {

using krylov::Method;
using krylov::Outcome;

template <class T>
krylov::Operator<T> SparseSystem<T>::products() const {
  return {.size = extents_.rows,
          .apply = [matrix = matrix_](Stream& stream, std::span<T const> from, std::span<T> to) {
            auto const vectors = static_cast<std::int64_t>(from.size()) / matrix->rows();
            matrix->multiply(stream, from, to, vectors);
          }};
}

template <class T>
krylov::Result SparseSystem<T>::solve_by(Method method, std::span<T const> b, std::span<T> x,
                                         krylov::Options const& options) {
  return krylov::solve<T>(stream_, method, products(), preconditioner_, b, x, options);
}

/// The factors need no iterations but to make up for rounding.
template <class T>
krylov::Options SparseSystem<T>::options() const {
  constexpr std::int64_t of_factors = 10;
  auto options = options_;
  if (is_filled_) options.iterations = of_factors;
  return options;
}

/// A hierarchy costs as much as some hundred iterations: it comes after those, where they do not do.
template <class T>
krylov::Options SparseSystem<T>::first_options() const {
  auto options = this->options();
  if (may_aggregate_)
    options.iterations = std::min<std::int64_t>(options.iterations, worth_a_hierarchy);
  return options;
}

/// From x = 0, as far as the first method goes.
template <class T>
void SparseSystem<T>::solve_all(Group<T>& group) {
  zero_async(group.x.span(), stream_);
  auto const count = static_cast<std::int64_t>(group.size());
  auto const b = std::as_const(group.b).span();
  if (count > 1)
    group.results = krylov::solve_together<T>(stream_, method_, products(), preconditioner_, b,
                                              group.x.span(), count, first_options());
  else
    group.results = {solve_by(method_, b, group.x.span(), first_options())};
}

/// What `auto` took may turn out not to suit; of a singular matrix minres tells.
template <class T>
krylov::Result SparseSystem<T>::choose_again(krylov::Result result, std::span<T const> b,
                                             std::span<T> x) {
  if (may_aggregate_) result = aggregate(std::move(result), b, x);
  bool const suits =
      result.converged() || (method_ == Method::cg && (result.outcome == Outcome::iterations ||
                                                       result.outcome == Outcome::incompatible));
  Method const instead = suits                         ? method_
                         : method_ == Method::cg       ? Method::minres
                         : method_ == Method::bicgstab ? Method::gmres
                                                       : method_;
  if (!automatic_ || instead == method_) return result;
  fallbacks_.push_back(
      fmt::format("method: {} gave way to {} ({})", method_name_, name_of(instead), result.advice));
  leave_aggregation();
  gave_way_ = true;
  method_ = instead;
  method_name_ = name_of(method_);
  zero_async(x, stream_);
  return solve_by(method_, b, x, options_);
}

/// Goes on with a hierarchy, which stays for the columns that follow, where `first_options` had too few
/// iterations.
template <class T>
krylov::Result SparseSystem<T>::aggregate(krylov::Result result, std::span<T const> b,
                                          std::span<T> x) {
  if (result.outcome != Outcome::iterations || options_.iterations <= worth_a_hierarchy)
    return result;
  fallbacks_.push_back(fmt::format("method: cg gave way to amg_cg ({})", result.advice));
  auto found = by_aggregation(stream_, system_, together_);
  preconditioner_ = std::move(found.apply);
  preconditioner_name_ = found.name;
  gave_way_ = true;
  aggregates_ = true;
  may_aggregate_ = false;
  method_name_ = "amg_cg";
  auto options = options_;
  options.iterations -= result.iterations;
  auto next = solve_by(method_, b, x, options);
  next.iterations += result.iterations;
  next.history.insert(next.history.begin(), result.history.begin(), result.history.end() - 1);
  return next;
}

/// What follows conjugate gradients has the diagonal.
template <class T>
void SparseSystem<T>::leave_aggregation() {
  if (!std::exchange(aggregates_, false)) return;
  auto found = by_diagonal(stream_, system_, Method::minres, true);
  preconditioner_ = std::move(found.apply);
  preconditioner_name_ = found.name;
}

/// What x, as a method has left it on the device, is worth; it goes on where that is not enough yet.
template <class T>
void SparseSystem<T>::weigh(Solved<T>& solved, Group<T>& group, std::size_t k) {
  copy_async(std::span(solved.x), std::span<T const>(group.x_of(k)), stream_);
  stream_.synchronize();
  solved.left = system_.template residual<T>(solved.x, group.rights[k], group.exponents[k]);
  go_on(solved, group, k);
}

template <class T>
void SparseSystem<T>::take(Way const& way) {
  method_ = way.method;
  method_name_ = way.name;
  preconditioner_ = way.preconditioner;
  preconditioner_name_ = way.preconditioner_name;
  aggregates_ = way.aggregates;
}

/// The last resort of `auto`: LU factors of the filled matrix, as the preconditioner of iterations that
/// have nothing to do but to make up for rounding. Where there are none, or they do not do either, what
/// was before stays.
template <class T>
Solved<T> SparseSystem<T>::fill_up(Solved<T> before, Group<T>& group, std::size_t k) {
  if (extents_.rows > most_filled_rows) return before;
  if (!factors_) factors_ = by_filled_factors(stream_, system_);
  if (!factors_->apply) return before;
  iterations_ = way();
  take({Method::bicgstab, "lu", factors_->apply, "none", false});
  is_filled_ = true;
  auto const told = static_cast<std::ptrdiff_t>(fallbacks_.size());
  zero_async(group.x_of(k), stream_);
  Solved<T> now{solve_by(method_, std::as_const(group).b_of(k), group.x_of(k), options()),
                Values<T>(before.x.size()),
                {}};
  weigh(now, group, k);
  if (!now.result.converged()) {
    take(iterations_);
    is_filled_ = false;
    return before;
  }
  fallbacks_.insert(fallbacks_.begin() + told, fmt::format("method: {} gave way to lu ({})",
                                                           iterations_.name, before.result.advice));
  gave_way_ = true;
  now.result.iterations += before.result.iterations;
  now.result.history.erase(now.result.history.begin());
  now.result.history.insert(now.result.history.begin(), before.result.history.begin(),
                            before.result.history.end());
  return now;
}

/// Of a right-hand side that the factors do not do for; those after it begin by iteration, too.
template <class T>
Solved<T> SparseSystem<T>::leave_filling(Solved<T> const& by_factors, Group<T>& group,
                                         std::size_t k) {
  fallbacks_.push_back(
      fmt::format("method: lu gave way to {} ({})", iterations_.name, by_factors.result.advice));
  take(iterations_);
  is_filled_ = false;
  gave_way_ = true;
  auto const b = std::as_const(group).b_of(k);
  auto const x = group.x_of(k);
  zero_async(x, stream_);
  Solved<T> solved{choose_again(solve_by(method_, b, x, first_options()), b, x),
                   Values<T>(by_factors.x.size()),
                   {}};
  weigh(solved, group, k);
  return solved;
}

/// What the first method has come to, and what follows of it. Where nothing reaches the tolerance, what
/// rounding has kept above it is taken: of the last method, or of the first.
template <class T>
Solved<T> SparseSystem<T>::finish_column(Group<T>& group, std::size_t k) {
  Solved<T> solved{std::move(group.results[k]), std::move(group.found[k]), group.left[k]};
  auto const b = std::as_const(group).b_of(k);
  auto const x = group.x_of(k);
  auto const first_way = way();
  auto const first =
      automatic_ && !is_filled_ && is_near(solved) ? std::optional(solved) : std::nullopt;
  if (!is_filled_) solved.result = choose_again(std::move(solved.result), b, x);
  if (gave_way_)
    weigh(solved, group, k);
  else
    go_on(solved, group, k);
  if (!solved.result.converged() && automatic_)
    solved = is_filled_ ? leave_filling(solved, group, k) : fill_up(std::move(solved), group, k);
  accept_rounding(solved, group, k);
  return solved.result.converged() || !first ? solved
                                             : go_back(*first, first_way, solved, group, k);
}

template <class T>
bool SparseSystem<T>::is_near(Solved<T> const& solved) const {
  return rounding_limit_.is_reached(solved.result, solved.left, system_.rounding());
}

template <class T>
void SparseSystem<T>::accept_rounding(Solved<T>& solved, Group<T>& group, std::size_t k) {
  if (!is_near(solved) || !is_at_rounding(solved, group, k) ||
      !gives_what_is_left(solved, group, k))
    return;
  solved.result.outcome = Outcome::converged;
  fallbacks_.push_back(told_of(solved.left));
}

/// To what `auto` began by, if that is solution enough; else what is there stays.
template <class T>
Solved<T> SparseSystem<T>::go_back(Solved<T> first, Way const& first_way, Solved<T> const& last,
                                   Group<T>& group, std::size_t k) {
  auto const last_way = way();
  take(first_way);
  auto const told = static_cast<std::ptrdiff_t>(fallbacks_.size());
  accept_rounding(first, group, k);
  if (!first.result.converged()) {
    take(last_way);
    return last;
  }
  fallbacks_.insert(fallbacks_.begin() + told,
                    fmt::format("method: {} gave way to {} ({})", last_way.name, first_way.name,
                                last.result.advice));
  return first;
}

/// Whether x leaves nothing but what products with A have, as they have what rounding leaves.
template <class T>
bool SparseSystem<T>::gives_what_is_left(Solved<T> const& solved, Group<T>& group, std::size_t k) {
  auto const left = system_.left_over(solved.x, group.rights[k], 0);
  return solve_left(left.unit, most_not_given, options_.iterations, group, k).converged();
}

/// A'·x' = `left` in the place of a right-hand side, which comes back to its own.
template <class T>
krylov::Result SparseSystem<T>::solve_left(std::span<T const> left, double tolerance,
                                           std::int64_t iterations, Group<T>& group,
                                           std::size_t k) {
  copy_async(group.b_of(k), left, stream_);
  zero_async(group.x_of(k), stream_);
  auto options = options_;
  options.tolerance = tolerance;
  options.iterations = iterations;
  auto result = solve_by(method_, std::as_const(group).b_of(k), group.x_of(k), options);
  copy_async(group.b_of(k), std::span<T const>(group.rights[k]), stream_);
  return result;
}

template <class T>
bool SparseSystem<T>::is_small(Residual const& left) const {
  return std::max(left.relative, left.scaled_relative) <= options_.tolerance;
}

/// The residual is small where all equations count alike, but not yet as they were given.
template <class T>
void SparseSystem<T>::go_on(Solved<T>& solved, Group<T>& group, std::size_t k) {
  auto& [result, best, left] = solved;
  // The sums in float64 tell more of x than those in T, by which iterations end, and of factors all.
  if ((is_filled_ || result.outcome == Outcome::stagnated) &&
      left.scaled_relative <= options_.tolerance)
    result.outcome = Outcome::converged;
  if (!result.converged() || is_small(left)) return;
  iterate_on(solved, group, k);
  if (!is_small(left)) refine(solved, group, k);
  if (is_small(left)) return;
  std::string const what = fmt::format(
      "the residual is {:.2e} of the right-hand side as it was given, and {:.2e} where all "
      "equations are in units of their own",
      left.relative, left.scaled_relative);
  bool const is_rounding = is_at_rounding(solved, group, k);
  if (is_rounding &&
      rounding_limit_.is_reached_there(left, options_.tolerance, system_.rounding())) {
    fallbacks_.push_back(what + ": rounding allows no less");
    return;
  }
  result.outcome = Outcome::stagnated;
  result.advice = what;
  if (is_rounding)
    result.advice += fmt::format(" (rounding allows no less: {}a larger tolerance)",
                                 std::is_same_v<T, float> ? "float64, or " : "");
}

/// By the same method to a smaller residual in the units of the system.
template <class T>
void SparseSystem<T>::iterate_on(Solved<T>& solved, Group<T>& group, std::size_t k) {
  auto& [result, best, left] = solved;
  Residual last = left;
  for (int again = 0; again < 4 && !is_small(left); ++again) {
    auto options = this->options();
    options.tolerance = std::max(std::numeric_limits<double>::min(),
                                 last.scaled_relative * options_.tolerance /
                                     std::max(last.relative, last.scaled_relative) / 2);
    options.iterations -= result.iterations;
    if (options.iterations < 1 || !(options.tolerance < 1)) break;
    auto const next = solve_by(method_, std::as_const(group).b_of(k), group.x_of(k), options);
    Values<T> found(best.size());
    copy_async(std::span(found), std::span<T const>(group.x_of(k)), stream_);
    stream_.synchronize();
    auto const now = system_.template residual<T>(found, group.rights[k], group.exponents[k]);
    result.iterations += next.iterations;
    result.history.insert(result.history.end(), next.history.begin() + 1, next.history.end());
    if (is_better(now, left)) {
      best = found;
      left = now;
    }
    // As it was given a residual may grow for once while it shrinks in the system's units.
    if (!(now.scaled_relative < std::exchange(last, now).scaled_relative)) break;
  }
}

template <class T>
bool SparseSystem<T>::is_better(Residual const& now, Residual const& before) const {
  if (before.scaled_relative > options_.tolerance)
    return now.scaled_relative < before.scaled_relative;
  return now.relative < before.relative && now.scaled_relative <= options_.tolerance;
}

/// Rows whose b' is small beside rounding of others have no part in norms in the units of the system.
/// So what rows have left beyond their own rounding is solved for, time and again: what is next to nothing
/// in one pass is all there is in another.
template <class T>
void SparseSystem<T>::refine(Solved<T>& solved, Group<T>& group, std::size_t k) {
  auto& [result, best, left] = solved;
  Values<T> x = best;
  Residual now = left;
  double size = std::numeric_limits<double>::infinity();
  while (!is_small(left)) {
    auto const rest = system_.left_over(x, group.rights[k], system_.rounding());
    bool const is_done = rest.is_zero && now.scaled_relative <= options_.tolerance;
    if (is_done || is_better(now, left)) {
      best = x;
      left = now;
    }
    if (rest.is_zero || !(std::ldexp(1.0, rest.exponent) < size)) return;
    size = std::ldexp(1.0, rest.exponent);
    if (!correct(x, result, rest, group, k)) return;
    now = system_.template residual<T>(x, group.rights[k], group.exponents[k]);
  }
}

/// Adds to x what solves for the rest; whether there is any such.
template <class T>
bool SparseSystem<T>::correct(Values<T>& x, krylov::Result& result, LeftOver const& rest,
                              Group<T>& group, std::size_t k) {
  std::int64_t const iterations = options().iterations - (is_filled_ ? 0 : result.iterations);
  if (iterations < 1) return false;
  auto const next = solve_left(rest.unit, tolerance_of(precision_of<T>()), iterations, group, k);
  result.iterations += next.iterations;
  double const unit = std::ldexp(next.right_norm, rest.exponent) / result.right_norm;
  for (double const norm : next.history | std::views::drop(1))
    result.history.push_back(norm * unit);
  if (!next.converged() && next.outcome != Outcome::stagnated) return false;
  Values<T> change(x.size());
  copy_async(std::span(change), std::span<T const>(group.x_of(k)), stream_);
  stream_.synchronize();
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += std::ldexp(change[i], rest.exponent);
  return true;
}

/// Whether roundings of the terms of sums explain what x leaves of the equations as given.
template <class T>
bool SparseSystem<T>::is_at_rounding(Solved<T> const& solved, Group<T> const& group,
                                     std::size_t k) const {
  return system_.share_of_terms(solved.x, group.rights[k], group.exponents[k]) <=
         system_.rounding();
}

#define GRIDSTRIDE_INSTANTIATE(T)                                 \
  template krylov::Operator<T> SparseSystem<T>::products() const; \
  template void SparseSystem<T>::solve_all(Group<T>&);            \
  template Solved<T> SparseSystem<T>::finish_column(Group<T>&, std::size_t);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::linear_system
