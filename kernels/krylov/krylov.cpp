#include "kernels/krylov/krylov.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/krylov/methods.hpp"
#include "kernels/krylov/ritz.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::krylov {

namespace {

template <class T>
std::unique_ptr<Iteration<T>> make(Method method, Problem<T> const& problem) {
  switch (method) {
    case Method::cg:
      return make_cg(problem);
    case Method::bicgstab:
      return make_bicgstab(problem);
    case Method::gmres:
      return make_gmres(problem);
    case Method::minres:
      return make_minres(problem);
  }
  throw std::invalid_argument("krylov: no such method");
}

/// What an end of the iterations means unless the residual, computed anew, is small enough; nothing
/// where the method may go on from there.
struct End {
  std::optional<Outcome> outcome;
  /// What the residual has to be below, of that before the iterations, for another beginning.
  double progress = 0.5;
  Outcome without_progress = Outcome::stagnated;
  bool seemed_reached = false;
};

End end_of(Stop stop) {
  switch (stop) {
    case Stop::running:  // a cycle of GMRES, or all iterations that there are
      return {std::nullopt, 1 - 1e-6, Outcome::stagnated};
    case Stop::reached:
      return {std::nullopt, 0.5, Outcome::stagnated, true};
    case Stop::indefinite:  // which has turned out to be rounding
      return {};
    case Stop::exhausted:
      return {std::nullopt, 0.5, Outcome::incompatible};
    case Stop::breakdown:
      return {std::nullopt, 0.5, Outcome::breakdown};
    case Stop::negative:
      return {Outcome::preconditioner, 0.5, Outcome::preconditioner};
    case Stop::singular:
      return {Outcome::incompatible, 0.5, Outcome::incompatible};
    case Stop::not_finite:
      return {Outcome::not_finite, 0.5, Outcome::not_finite};
  }
  return {};
}

template <class T>
Scratch scratch_of(Stream& stream, Operator<T> const& a) {
  if (a.plane == 0) return {stream, a.size};
  std::int64_t const size = a.ranks ? a.ranks->all() * a.plane : a.size;
  return {stream, Tiles::of_planes(size, a.plane), a.ranks, a.plane};
}

template <class T>
class Solver {
 public:
  Solver(Stream& stream, Method method, Operator<T> const& a,
         Preconditioner<T> const& preconditioner, std::span<T const> b, std::span<T> x,
         Options const& options)
      : stream_(stream),
        options_(options),
        scratch_(scratch_of(stream, a)),
        r_(stream, MemorySpace::device, x.size()),
        problem_{scratch_, a, preconditioner, b, x, r_.span(), options},
        method_(make(method, problem_)),
        minimises_(method == Method::gmres || method == Method::minres),
        has_short_memory_(method == Method::minres) {
    state_.epsilon = std::numeric_limits<T>::epsilon();
  }

  Result solve() {
    double before = measure();
    result_.right_norm = state_.gamma;
    if (state_.delta == 0) {
      zero_async(problem_.x, stream_);
      stream_.synchronize();
      result_.history = {0};
      result_.residual_norm = 0;
      return finish(Outcome::converged);
    }
    if (!(state_.gamma > 1e-140) || !(before <= std::numeric_limits<double>::max()))
      return finish(Outcome::not_finite);
    state_.target = options_.tolerance * state_.gamma;
    result_.history = {before / result_.right_norm};
    while (before > state_.target) {
      if (result_.iterations >= options_.iterations) return finish(Outcome::iterations);
      End end = iterate(before);
      double const after = measure();
      if (after <= state_.target) break;
      if (end.outcome) return finish(*end.outcome);
      if (!(after <= std::numeric_limits<double>::max())) return finish(Outcome::not_finite);
      if (minimises_ && (after > 2 * before || (end.seemed_reached && after > large(before))))
        return finish(Outcome::incompatible);
      if (result_.iterations >= options_.iterations) return finish(Outcome::iterations);
      if (!(after < end.progress * before)) return finish(end.without_progress);
      before = after;
    }
    return finish(Outcome::converged);
  }

 private:
  /// ‖b − A·x‖, computed anew; ‖b‖ and Σ|b| are in the state.
  double measure() {
    state_.stop = Stop::running;
    scratch_.write(state_);
    problem_.find_residual(method_->spare());
    state_ = scratch_.read();
    if (result_.right_norm > 0) result_.residual_norm = state_.norm / result_.right_norm;
    return state_.norm;
  }

  /// Of methods that make the residual ever smaller: what it is only where x has gone off along
  /// what A takes to 0.
  double large(double before) const {
    return std::max(0.5 * before, std::sqrt(state_.epsilon) * result_.right_norm);
  }

  /// Whether it has become larger, as far as MINRES is now, which does not notice.
  bool has_gone_off(double before) {
    State const kept = state_;
    double const now = measure();
    state_ = kept;
    scratch_.write(state_);
    return now > 2 * before;
  }

  /// From one beginning, with a residual of the norm `before`, to where the method stops.
  End iterate(double before) {
    state_.first = 1;
    scratch_.write(state_);
    method_->begin();
    method_->heed(state_);
    std::int64_t const most =
        std::min(method_->longest(), options_.iterations - result_.iterations);
    std::int64_t next_look = 256;
    for (std::int64_t index = 0; index < most && state_.stop == Stop::running;) {
      for (std::int64_t const last = std::min(most, index + batch()); index < last; ++index)
        method_->iterate(index);
      take_norms(scratch_.read());
      method_->heed(state_);
      if (has_short_memory_ && state_.stop == Stop::running && index >= next_look) {
        next_look = 2 * index;
        if (has_gone_off(before)) state_.stop = Stop::singular;
      }
    }
    if (state_.stop == Stop::indefinite)
      if (auto const outcome = method_->judge(state_)) return {outcome, 0.5, *outcome};
    End const end = end_of(state_.stop);
    method_->end(state_);
    return end;
  }

  /// Iterations that are queued at once: those after the last one that counts are in vain.
  std::int64_t batch() const {
    if (stream_.backend() == Backend::cpu) return 1;
    constexpr std::int64_t enough = std::int64_t{1} << 24;  // elements, as work for the device
    std::int64_t const few =
        std::max<std::int64_t>(4, enough / std::max<std::int64_t>(scratch_.tiles().size, 1));
    return std::min({few, std::max<std::int64_t>(4, result_.iterations / 8), std::int64_t{32}});
  }

  void take_norms(State const& state) {
    state_ = state;
    for (std::int64_t i = result_.iterations + 1; i <= state.iteration; ++i)
      result_.history.push_back(state.norms[i % most_kept_norms] / result_.right_norm);
    for (std::int64_t i = result_.iterations + 1; method_->is_lanczos() && i <= state.iteration;
         ++i) {
      alphas_.push_back(state.alphas[i % most_kept_norms]);
      betas_.push_back(state.betas[i % most_kept_norms]);
    }
    result_.iterations = state.iteration;
    if (options_.progress) options_.progress({state.iteration, result_.history.back()});
  }

  Result finish(Outcome outcome) {
    result_.outcome = outcome;
    if (method_->is_lanczos()) result_.condition = ritz_condition(alphas_, betas_);
    return std::move(result_);
  }

  Stream& stream_;
  Options const& options_;
  Scratch scratch_;
  Buffer<T> r_;
  Problem<T> problem_;
  std::unique_ptr<Iteration<T>> method_;
  bool minimises_, has_short_memory_;
  State state_;
  std::vector<double> alphas_, betas_;  // of Lanczos' method
  Result result_;
};

/// What would do in a method's place, or beside it.
std::string advice_of(Method method, Outcome outcome, Result const& result) {
  std::string const residual =
      fmt::format("the residual is {:.2e} of the right-hand side after {} iteration{}",
                  result.residual_norm, result.iterations, result.iterations == 1 ? "" : "s");
  switch (outcome) {
    case Outcome::converged:
      return {};
    case Outcome::iterations:
      return fmt::format("{} ({})", residual,
                         method == Method::gmres
                             ? "more of them, a longer restart or a preconditioner may do"
                             : "more of them or a preconditioner may do");
    case Outcome::stagnated:
      return fmt::format(
          "{} and does not become smaller ({})", residual,
          method == Method::gmres ? "a longer restart may do; or rounding allows no "
                                    "less: float64, or a larger tolerance"
          : result.residual_norm > 1e-3
              ? "the matrix may be singular, which method: minres or gmres would tell"
              : "rounding allows no less: float64, or a larger tolerance");
    case Outcome::breakdown:
      return fmt::format("bicgstab has broken down: {} (method: gmres does not)", residual);
    case Outcome::indefinite:
      return fmt::format(
          "p·A·p <= 0 after {} iterations: the matrix is not positive definite (method: minres "
          "takes "
          "symmetric matrices that are not, gmres and bicgstab any)",
          result.iterations);
    case Outcome::preconditioner:
      return fmt::format(
          "r·z <= 0 after {} iterations: the preconditioner is not positive definite (cg and "
          "minres "
          "need one that is; gmres and bicgstab take any)",
          result.iterations);
    case Outcome::incompatible:
      return fmt::format(
          "the matrix is singular as far as rounding tells, and no x has a smaller residual: {}",
          residual);
    case Outcome::not_finite:
      return fmt::format(
          "sums are not finite after {} iterations (values so large or small that their squares "
          "have "
          "no place, or a method that diverges: gmres does not)",
          result.iterations);
  }
  return {};
}

void require_options(Options const& options) {
  if (!(options.tolerance > 0 && options.tolerance < 1))
    throw std::invalid_argument(
        fmt::format("krylov: a tolerance of {} (it lies between 0 and 1)", options.tolerance));
  if (options.iterations < 1)
    throw std::invalid_argument("krylov: there has to be one iteration at least");
  if (options.restart < 1 || options.restart > 1000)
    throw std::invalid_argument(
        fmt::format("krylov: a restart of {} (it lies between 1 and 1000)", options.restart));
  if (options.replace_every < 1)
    throw std::invalid_argument("krylov: the residual is computed anew after 1 iteration at least");
}

}  // namespace

std::string_view name_of(Method method) {
  switch (method) {
    case Method::cg:
      return "cg";
    case Method::bicgstab:
      return "bicgstab";
    case Method::gmres:
      return "gmres";
    case Method::minres:
      return "minres";
  }
  return "";
}

template <class T>
Preconditioner<T> jacobi(Stream& stream, std::span<T const> diagonal_on_host) {
  std::vector<T> inverse(diagonal_on_host.begin(), diagonal_on_host.end());
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    inverse[i] = T{1} / inverse[i];
    if (!std::isfinite(inverse[i]) || inverse[i] == T{0})
      throw std::invalid_argument(fmt::format(
          "krylov: element {} of the diagonal is {} (Jacobi's preconditioner divides by "
          "it)",
          i, diagonal_on_host[i]));
  }
  struct Kept {
    Kept(Stream& stream, std::size_t size)
        : scratch(stream, static_cast<std::int64_t>(size)),
          factors(stream, MemorySpace::device, size) {}
    Scratch scratch;
    Buffer<T> factors;
  };
  auto const kept = std::make_shared<Kept>(stream, inverse.size());
  copy_async(kept->factors.span(), std::span(inverse), stream);
  kept->scratch.write(State{});
  stream.synchronize();
  return [kept](Stream&, std::span<T const> r, std::span<T> z) {
    run(kept->scratch, Multiply<T>{kept->factors.data(), r.data(), z.data()});
  };
}

template <class T>
Result solve(Stream& stream, Method method, Operator<T> const& a,
             std::type_identity_t<Preconditioner<T>> const& preconditioner,
             std::type_identity_t<std::span<T const>> right, std::span<T> solution,
             Options const& options) {
  require_options(options);
  auto const size = static_cast<std::size_t>(a.size);
  require_size("krylov", named("right", right), size);
  require_size("krylov", named("solution", solution), size);
  require_disjoint("krylov", named("right", right), named("solution", solution));
  if (size == 0) return {.outcome = Outcome::converged, .history = {0}, .advice = {}};
  Result result = Solver<T>(stream, method, a, preconditioner, right, solution, options).solve();
  result.advice = advice_of(method, result.outcome, result);
  return result;
}

std::int64_t planes_together(std::int64_t planes) { return Tiles::planes_together(planes); }
std::int64_t sums_kept(std::int64_t size, std::int64_t plane) {
  return most_sums * Tiles::of_planes(size, plane).count;
}

std::size_t work_bytes(Method method, std::int64_t size, std::size_t element,
                       Options const& options, bool preconditioned) {
  int const with = preconditioned ? 1 : 0;
  std::int64_t vectors = 1;  // r
  switch (method) {
    case Method::cg:
      vectors += 3 + with;
      break;
    case Method::bicgstab:
      vectors += 4 + 2 * with;
      break;
    case Method::gmres:
      vectors += options.restart + 2;
      break;
    case Method::minres:
      vectors += 5 + 2 * with;
      break;
  }
  return static_cast<std::size_t>(vectors * size) * element +
         static_cast<std::size_t>(most_sums * Tiles::of(size).count) * sizeof(double);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                      \
  template Preconditioner<T> jacobi(Stream&, std::span<T const>);                      \
  template Result solve(Stream&, Method, Operator<T> const&, Preconditioner<T> const&, \
                        std::span<T const>, std::span<T>, Options const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::krylov
