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

/// Beginnings with smaller and smaller targets for the norm that is carried along, where the residual is
/// a little larger than that.
constexpr int most_tries = 5;

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
    case Stop::resting:
      return {std::nullopt, 1 - 1e-6, Outcome::stagnated};
    case Stop::reached:
      return {std::nullopt, 0.5, Outcome::stagnated, true};
    case Stop::indefinite:  // which has turned out to be rounding
      return {};
    case Stop::exhausted:
      return {std::nullopt, 0.5, Outcome::incompatible};
    case Stop::breakdown:
    case Stop::diverged:
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
Scratch scratch_of(Stream& stream, Operator<T> const& a, std::int64_t columns) {
  if (a.plane == 0) return {stream, a.size, columns};
  std::int64_t const size = a.ranks ? a.ranks->all() * a.plane : a.size;
  return {stream, Tiles::of_planes(size, a.plane), a.ranks, a.plane};
}

/// Several right-hand sides go side by side: each begins, stops and begins again by its own state, and
/// waits for the others in between.
template <class T>
class Solver {
 public:
  Solver(Stream& stream, Method method, Operator<T> const& a,
         Preconditioner<T> const& preconditioner, std::span<T const> b, std::span<T> x,
         std::int64_t columns, Options const& options)
      : stream_(stream),
        options_(options),
        scratch_(scratch_of(stream, a, columns)),
        r_(stream, MemorySpace::device, x.size()),
        problem_{scratch_, a, preconditioner, b, x, r_.span(), options},
        method_(make(method, problem_)),
        minimises_(method == Method::gmres || method == Method::minres),
        has_short_memory_(method == Method::minres),
        may_diverge_(method == Method::bicgstab),
        columns_(static_cast<std::size_t>(columns)) {
    for (Column& column : columns_) column.state.epsilon = std::numeric_limits<T>::epsilon();
  }

  std::vector<Result> solve() {
    measure(&Column::is_open);
    for (std::size_t k = 0; k < columns_.size(); ++k) begin(k);
    while (any(&Column::is_open)) {
      iterate();
      measure(&Column::is_open);
      for (Column& column : columns_)
        if (column.is_open) look(column);
    }
    std::vector<Result> results;
    for (Column& column : columns_) results.push_back(std::move(column.result));
    return results;
  }

 private:
  /// One right-hand side.
  struct Column {
    State state;
    Result result;
    std::vector<double> alphas, betas;  // of Lanczos' method
    double before = 0;                  // the norm of the residual at the last beginning
    End end;
    int tries = 0;         // to come from just above what is asked for to below it
    bool is_open = true;   // its outcome is not known
    bool is_busy = false;  // iterations go on
  };

  bool any(bool Column::*which) const {
    return std::ranges::any_of(columns_, [which](Column const& column) { return column.*which; });
  }

  void write(bool Column::*which) {
    std::vector<State> states;
    for (Column const& column : columns_) {
      states.push_back(column.state);
      states.back().stop = column.*which ? Stop::running : Stop::resting;
    }
    scratch_.write(states);
  }

  /// ‖b − A·x‖ of these, computed anew; ‖b‖ and Σ|b| are in their states.
  void measure(bool Column::*which) {
    write(which);
    problem_.find_residual(method_->spare());
    auto const states = scratch_.read();
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      Column& column = columns_[k];
      if (!(column.*which)) continue;
      column.state = states[k];
      if (column.result.right_norm > 0)
        column.result.residual_norm = column.state.norm / column.result.right_norm;
    }
  }

  /// What the first residual tells.
  void begin(std::size_t k) {
    Column& column = columns_[k];
    double const norm = column.before = column.state.norm;
    column.result.right_norm = column.state.gamma;
    if (column.state.delta == 0) {
      auto const n = problem_.size() / columns_.size();
      zero_async(problem_.x.subspan(k * n, n), stream_);
      stream_.synchronize();
      column.result.history = {0};
      column.result.residual_norm = 0;
      return finish(column, Outcome::converged);
    }
    if (!(column.result.right_norm > 1e-140) || !(norm <= std::numeric_limits<double>::max()))
      return finish(column, Outcome::not_finite);
    column.state.target = target_of(column);
    // Beyond this no digit of b is left in the residual.
    if (may_diverge_) column.state.most = column.result.right_norm / column.state.epsilon;
    column.result.residual_norm = norm / column.result.right_norm;
    column.result.history = {column.result.residual_norm};
    if (norm <= column.state.target) finish(column, Outcome::converged);
  }

  double target_of(Column const& column) const {
    return options_.tolerance * column.result.right_norm;
  }

  /// What the residual tells where iterations have stopped.
  void look(Column& column) {
    double const before = column.before, after = column.state.norm;
    auto const [outcome, progress, without_progress, seemed_reached] = column.end;
    double const target = target_of(column);
    if (after <= target) return finish(column, Outcome::converged);
    if (outcome) return finish(column, *outcome);
    if (!(after <= std::numeric_limits<double>::max())) return finish(column, Outcome::not_finite);
    bool const is_near = seemed_reached && after <= 1.1 * target;
    if (minimises_ && (after > 2 * before || (seemed_reached && !is_near && after > large(column))))
      return finish(column, Outcome::incompatible);
    if (column.result.iterations >= options_.iterations) return finish(column, Outcome::iterations);
    if (is_near && !(after < progress * before) && column.tries < most_tries) {
      ++column.tries;
      column.state.target *= 0.5 * target / after;
      column.before = after;
      return;
    }
    if (!(after < progress * before)) return finish(column, without_progress);
    column.before = after;
  }

  /// Of methods that make the residual ever smaller: what it is only where x has gone off along
  /// what A takes to 0. Roundings of the iterations may come to some hundredths in float32.
  double large(Column const& column) const {
    double const roundings = 8 + std::sqrt(static_cast<double>(column.result.iterations));
    return std::max(0.5 * column.before,
                    roundings * std::sqrt(column.state.epsilon) * column.result.right_norm);
  }

  /// Stops those whose residual has become larger, as far as MINRES is now, which does not notice.
  void stop_gone_off() {
    std::vector<State> kept;
    for (Column const& column : columns_) kept.push_back(column.state);
    measure(&Column::is_busy);
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      double const now = columns_[k].state.norm;
      columns_[k].state = kept[k];
      if (!columns_[k].is_busy || !(now > 2 * columns_[k].before)) continue;
      columns_[k].state.stop = Stop::singular;
      columns_[k].is_busy = false;
    }
  }

  /// From one beginning to where the method stops for all that have not come to an outcome.
  void iterate() {
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (Column& column : columns_) {
      column.is_busy = column.is_open;
      column.state.first = 1;
    }
    write(&Column::is_busy);
    method_->begin();
    method_->heed(columns_[0].state);
    std::vector<std::int64_t> longest;
    for (Column const& column : columns_)
      longest.push_back(
          std::min(method_->longest(), options_.iterations - column.result.iterations));
    std::int64_t next_look = has_short_memory_ ? 256 : most;
    for (std::int64_t index = 0; any(&Column::is_busy);) {
      std::int64_t last = std::min(index + batch(), next_look);
      for (std::size_t k = 0; k < columns_.size(); ++k)
        if (columns_[k].is_busy) last = std::min(last, longest[k]);
      for (; index < last; ++index) method_->iterate(index);
      take(scratch_.read());
      method_->heed(columns_[0].state);
      bool const looks = index == next_look && any(&Column::is_busy);
      if (looks) {
        next_look *= 2;
        stop_gone_off();
      }
      bool rests = false;
      for (std::size_t k = 0; k < columns_.size(); ++k) {
        if (!columns_[k].is_busy || index < longest[k]) continue;
        columns_[k].is_busy = false;
        rests = true;
      }
      if ((looks || rests) && any(&Column::is_busy)) write(&Column::is_busy);
    }
    for (std::size_t k = 0; k < columns_.size(); ++k)
      if (columns_[k].is_open) end(k);
  }

  void end(std::size_t k) {
    Column& column = columns_[k];
    if (column.state.stop == Stop::indefinite)
      if (auto const outcome = method_->judge(static_cast<std::int64_t>(k), column.state)) {
        column.end = {outcome, 0.5, *outcome};
        return;
      }
    column.end = end_of(column.state.stop);
    method_->end(column.state);
  }

  /// Iterations that are queued at once: those after the last one that counts are in vain.
  std::int64_t batch() const {
    if (stream_.backend() == Backend::cpu) return 1;
    constexpr std::int64_t enough = std::int64_t{1} << 24;  // elements, as work for the device
    std::int64_t done = 0;
    for (Column const& column : columns_) done = std::max(done, column.result.iterations);
    auto const size = static_cast<std::int64_t>(std::max<std::size_t>(problem_.size(), 1));
    std::int64_t const few = std::max<std::int64_t>(4, enough / size);
    return std::min({few, std::max<std::int64_t>(4, done / 8), std::int64_t{32}});
  }

  /// What iterations have left in the states.
  void take(std::span<State const> states) {
    Column const* told = nullptr;
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      Column& column = columns_[k];
      if (!column.is_busy) continue;
      column.state = states[k];
      column.is_busy = column.state.stop == Stop::running;
      take_norms(column);
      if (told == nullptr || column.result.history.back() > told->result.history.back())
        told = &column;
    }
    if (options_.progress && told != nullptr)
      options_.progress({told->result.iterations, told->result.history.back()});
  }

  void take_norms(Column& column) {
    State const& state = column.state;
    Result& result = column.result;
    while (result.iterations < state.iteration) {
      auto const at = ++result.iterations % most_kept_norms;
      result.history.push_back(state.norms[at] / result.right_norm);
      if (!method_->is_lanczos()) continue;
      column.alphas.push_back(state.alphas[at]);
      column.betas.push_back(state.betas[at]);
    }
  }

  /// Where no product with A sees it, as where a column has no elements, x may have grown beyond all
  /// numbers: 0 does as well there.
  void leave_out_infinite(Column const& column) {
    std::size_t const n = problem_.size() / columns_.size();
    auto const x = problem_.x.subspan(static_cast<std::size_t>(&column - columns_.data()) * n, n);
    std::vector<T> values(n);
    copy_async(std::span(values), std::span<T const>(x), stream_);
    stream_.synchronize();
    auto const is_infinite = [](T value) { return !std::isfinite(value); };
    if (std::ranges::none_of(values, is_infinite)) return;
    std::ranges::replace_if(values, is_infinite, T{0});
    copy_async(x, std::span<T const>(values), stream_);
    stream_.synchronize();
  }

  void finish(Column& column, Outcome outcome) {
    // What has come so near is no limit of a singular matrix.
    if (outcome == Outcome::incompatible && column.tries > 0) outcome = Outcome::stagnated;
    column.is_open = false;
    column.result.outcome = outcome;
    if (may_diverge_ && outcome != Outcome::converged && outcome != Outcome::not_finite)
      leave_out_infinite(column);
    if (method_->is_lanczos())
      column.result.condition = ritz_condition(column.alphas, column.betas);
  }

  Stream& stream_;
  Options const& options_;
  Scratch scratch_;
  Buffer<T> r_;
  Problem<T> problem_;
  std::unique_ptr<Iteration<T>> method_;
  bool minimises_, has_short_memory_, may_diverge_;
  std::vector<Column> columns_;
};

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

template <class T>
void require_vectors(Operator<T> const& a, std::span<T const> right, std::span<T> solution,
                     std::int64_t count) {
  auto const size = static_cast<std::size_t>(a.size * count);
  require_size("krylov", named("right", right), size);
  require_size("krylov", named("solution", solution), size);
  require_disjoint("krylov", named("right", right), named("solution", solution));
}

template <class T>
std::vector<Result> solve_columns(Stream& stream, Method method, Operator<T> const& a,
                                  Preconditioner<T> const& preconditioner, std::span<T const> b,
                                  std::span<T> x, std::int64_t columns, Options const& options) {
  auto results = Solver<T>(stream, method, a, preconditioner, b, x, columns, options).solve();
  for (Result& result : results)
    result.advice = advice_of(method, result.outcome, result, preconditioner != nullptr);
  return results;
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
    run(kept->scratch, Multiply<T>{kept->factors.data(), r.data(), z.data()},
        static_cast<std::int64_t>(r.size() / kept->factors.size()));
  };
}

template <class T>
Result solve(Stream& stream, Method method, Operator<T> const& a,
             std::type_identity_t<Preconditioner<T>> const& preconditioner,
             std::type_identity_t<std::span<T const>> right, std::span<T> solution,
             Options const& options) {
  require_options(options);
  require_vectors<T>(a, right, solution, 1);
  if (a.size == 0) return {.outcome = Outcome::converged, .history = {0}, .advice = {}};
  return std::move(
      solve_columns<T>(stream, method, a, preconditioner, right, solution, 1, options)[0]);
}

template <class T>
std::vector<Result> solve_together(Stream& stream, Method method, Operator<T> const& a,
                                   std::type_identity_t<Preconditioner<T>> const& preconditioner,
                                   std::type_identity_t<std::span<T const>> rights,
                                   std::span<T> solutions, std::int64_t count,
                                   Options const& options) {
  require_options(options);
  if (count < 1 || count > most_together)
    throw std::invalid_argument(
        fmt::format("krylov: {} right-hand sides (1 to {} go together)", count, most_together));
  bool const is_plain = !a.fused.direct && !a.rounded && a.plane == 0 && a.ranks == nullptr;
  if (method == Method::gmres || !is_plain)
    throw std::invalid_argument(
        "krylov: right-hand sides go together by products alone, and not by gmres");
  require_vectors<T>(a, rights, solutions, count);
  if (a.size == 0)
    return std::vector<Result>(static_cast<std::size_t>(count),
                               {.outcome = Outcome::converged, .history = {0}, .advice = {}});
  return solve_columns<T>(stream, method, a, preconditioner, rights, solutions, count, options);
}

std::int64_t planes_together(std::int64_t planes) { return Tiles::planes_together(planes); }
std::int64_t sums_kept(std::int64_t size, std::int64_t plane) {
  return most_sums * Tiles::of_planes(size, plane).count;
}

std::size_t work_bytes(Method method, std::int64_t size, std::size_t element,
                       Options const& options, bool preconditioned, std::int64_t together) {
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
  auto const one = static_cast<std::size_t>(vectors * size) * element +
                   static_cast<std::size_t>(most_sums * Tiles::of(size).count) * sizeof(double);
  return one * static_cast<std::size_t>(together);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                           \
  template Preconditioner<T> jacobi(Stream&, std::span<T const>);                           \
  template Result solve(Stream&, Method, Operator<T> const&, Preconditioner<T> const&,      \
                        std::span<T const>, std::span<T>, Options const&);                  \
  template std::vector<Result> solve_together(Stream&, Method, Operator<T> const&,          \
                                              Preconditioner<T> const&, std::span<T const>, \
                                              std::span<T>, std::int64_t, Options const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::krylov
