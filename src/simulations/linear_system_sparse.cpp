// Sparse systems of linear equations, by iteration:
//
//   A·x = b        ‖b − A·x‖₂ ≤ tolerance·‖b‖₂ for each right-hand side
//
// by Krylov methods (kernels/krylov) with products by the rows of `sparse`. Rows, columns and each b
// are scaled by powers of two first (linear_system_scaled), and the residual has to be that small in
// those units too: then equations in small units are solved like all others. What x is worth is found
// by the host at the end, in the units that were given. Where nothing that `auto` goes by converges, small
// ones are filled up (linear_system_filled).

#include "simulations/linear_system_sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/krylov/krylov.hpp"
#include "kernels/sparse/sparse.hpp"
#include "kernels/support/parallel_for.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "simulations/linear_system_filled.hpp"
#include "simulations/linear_system_group.hpp"
#include "simulations/linear_system_iterations.hpp"
#include "simulations/linear_system_parameters.hpp"
#include "simulations/linear_system_preconditioning.hpp"
#include "simulations/linear_system_report.hpp"
#include "simulations/linear_system_right.hpp"
#include "simulations/linear_system_rounding.hpp"
#include "simulations/linear_system_scaled.hpp"
#include "simulations/linear_system_stencil.hpp"

namespace gridstride::linear_system {

namespace {

using krylov::Method;
using krylov::Outcome;

template <class T>
class SparseSystem final : public OneShot {
  template <class U>
  using Values = typename ScaledSystem<T>::template Values<U>;
  /// A method and its preconditioner, with their names.
  struct Way {
    Method method = Method::cg;
    std::string name;
    krylov::Preconditioner<T> preconditioner;
    std::string preconditioner_name;
    bool aggregates;
  };

 public:
  SparseSystem(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override {
    return {{"x", "1", extents_.field_grid(), precision_of<T>(), x_.data()}};
  }
  std::vector<Table> tables() const override { return report_.tables(); }
  Grid formula_grid(Field const&) const override { return extents_.formula_grid(); }
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override {
    std::vector<NamedText> texts = {
        {"method", method_name_}, {"preconditioner", preconditioner_name_}, {"sparse", variant_}};
    if (extents_.columns > 1) texts.push_back({"together", std::to_string(at_once())});
    return texts;
  }
  std::vector<std::string> fallbacks() const override { return fallbacks_; }
  std::string shortfall() const override { return report_.shortfall(); }

 private:
  void compute() override;
  void read_matrix(config::RunConfig const& run, Inputs const& inputs);
  void choose_method(config::RunConfig const& run, Csr<double> const& read);
  void precondition(config::RunConfig const& run);
  krylov::Operator<T> products() const;
  std::int64_t at_once() const {
    return method_ == Method::gmres || variant_ == "cusparse" ? 1 : together_;
  }
  /// Whether `auto` may find out after many iterations that it has to give way: by one column alone.
  bool tries() const { return automatic_ && (may_aggregate_ || method_ == Method::bicgstab); }
  std::span<double const> right_of(std::int64_t column) const {
    auto const n = static_cast<std::size_t>(extents_.rows);
    return std::span(right_).subspan(static_cast<std::size_t>(column) * n, n);
  }
  Group<T> begin_group(std::int64_t first);
  std::int64_t solve_group(std::int64_t first, Values<T>& x);
  void settle(Group<T>& group, std::size_t k, Values<T>& x);
  krylov::Options options() const;
  krylov::Options first_options() const;
  void solve_all(Group<T>& group);
  krylov::Result solve_by(Method method, std::span<T const> b, std::span<T> x,
                          krylov::Options const& options);
  krylov::Result choose_again(krylov::Result result, std::span<T const> b, std::span<T> x);
  krylov::Result aggregate(krylov::Result result, std::span<T const> b, std::span<T> x);
  void leave_aggregation();
  void weigh(Solved<T>& solved, Group<T>& group, std::size_t k);
  Solved<T> fill_up(Solved<T> before, Group<T>& group, std::size_t k);
  Solved<T> leave_filling(Solved<T> const& before, Group<T>& group, std::size_t k);
  Way way() const {
    return {method_, method_name_, preconditioner_, preconditioner_name_, aggregates_};
  }
  void take(Way const& way);
  Solved<T> finish_column(Group<T>& group, std::size_t k);
  bool is_near(Solved<T> const& solved) const;
  bool gives_what_is_left(Solved<T> const& solved, Group<T>& group, std::size_t k);
  void accept_rounding(Solved<T>& solved, Group<T>& group, std::size_t k);
  Solved<T> go_back(Solved<T> first, Way const& first_way, Solved<T> const& last, Group<T>& group,
                    std::size_t k);
  void go_on(Solved<T>& solved, std::span<T const> right, int exponent, std::span<T const> b,
             std::span<T> x);

  Extents extents_;
  krylov::Options options_;
  RoundingLimit rounding_limit_;
  bool automatic_;
  bool aggregates_ = false;     ///< amg_cg
  bool may_aggregate_ = false;  ///< `auto`, once cg has shown that it takes long
  bool gave_way_ = false;       ///< `auto` has taken another method or preconditioner
  bool is_filled_ = false;      ///< by the factors of the filled matrix
  std::int64_t together_;       ///< right-hand sides that are solved at once, unless by gmres
  CsrFindings found_;
  ScaledSystem<T> system_;
  Csr<double>::Array<double> right_;  // columns one after the other
  std::shared_ptr<sparse::Matrix<T> const> matrix_;
  krylov::Preconditioner<T> preconditioner_;
  Method method_ = Method::cg;
  std::string method_name_, preconditioner_name_ = "none", variant_;
  Way iterations_;  ///< what `auto` goes by where the factors do not do
  std::optional<Preconditioning<T>> factors_;
  Buffer<T> x_;
  Report report_;
  std::vector<std::string> fallbacks_;
};

template <class T>
SparseSystem<T>::SparseSystem(config::RunConfig const& run, Stream const& stream,
                              Inputs const& inputs)
    : OneShot(stream, {"read", "transfer", "prepare", "solve", "check"}),
      extents_(extents_of(run, inputs)),
      options_(options_of(run)),
      rounding_limit_(run),
      automatic_(parameters_of(run).method == "auto"),
      together_(columns_together(run, inputs, stream.backend())),
      x_(stream_, MemorySpace::device, static_cast<std::size_t>(extents_.size())),
      report_(extents_.columns, hint_of_filling(run, extents_.rows)) {
  zero_async(x_.span(), stream_);
  times_.measure("read", [&] { read_matrix(run, inputs); });
  right_ = columns_of_right(stream_, run, inputs, &times_);
  times_.measure("prepare", [&] {
    require_solvable_rows(system_.rows(), found_.empty, right_);
    matrix_ =
        std::make_shared<sparse::Matrix<T>>(stream_, system_.rows(), run.kernels.at("sparse"));
    variant_ = matrix_->variant();
    precondition(run);
  });
}

/// Rounded to T once they are scaled: of float32, too, no element of a matrix in other units is lost.
template <class T>
void SparseSystem<T>::read_matrix(config::RunConfig const& run, Inputs const& inputs) {
  auto read = read_sparse(run, inputs);
  found_ = examine(read);
  choose_method(run, read);
  system_ = ScaledSystem<T>(std::move(read), found_.symmetric());
}

template <class T>
void SparseSystem<T>::choose_method(config::RunConfig const& run, Csr<double> const& read) {
  auto const chosen = first_method(run, read, found_);
  method_ = chosen.method;
  aggregates_ = chosen.aggregates;
  may_aggregate_ = chosen.may_aggregate;
  method_name_ = aggregates_ ? "amg_cg" : name_of(method_);
}

template <class T>
void SparseSystem<T>::precondition(config::RunConfig const& run) {
  auto found = as_asked(run, stream_, system_, found_, products(), method_, together_);
  preconditioner_ = std::move(found.apply);
  preconditioner_name_ = found.name;
  if (!found.note.empty()) fallbacks_.push_back(found.note);
}

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
  go_on(solved, group.rights[k], group.exponents[k], std::as_const(group).b_of(k), group.x_of(k));
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
    go_on(solved, group.rights[k], group.exponents[k], b, x);
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
  if (!is_near(solved) || !gives_what_is_left(solved, group, k)) return;
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
  auto const left = system_.left_over(solved.x, group.rights[k]);
  copy_async(group.b_of(k), std::span<T const>(left), stream_);
  zero_async(group.x_of(k), stream_);
  auto options = options_;
  options.tolerance = most_not_given;
  return solve_by(method_, std::as_const(group).b_of(k), group.x_of(k), options).converged();
}

/// The residual is small where all equations count alike, but not yet as they were given.
template <class T>
void SparseSystem<T>::go_on(Solved<T>& solved, std::span<T const> right, int exponent,
                            std::span<T const> b, std::span<T> x) {
  auto& [result, best, left] = solved;
  // The sums in float64 tell more of x than those in T, by which iterations end, and of factors all.
  if ((is_filled_ || result.outcome == Outcome::stagnated) &&
      left.scaled_relative <= options_.tolerance)
    result.outcome = Outcome::converged;
  if (!result.converged() || left.relative <= options_.tolerance) return;
  Residual last = left;
  for (int again = 0; again < 4 && left.relative > options_.tolerance; ++again) {
    auto options = this->options();
    options.tolerance = std::max(std::numeric_limits<double>::min(),
                                 last.scaled_relative * options_.tolerance / last.relative / 2);
    options.iterations -= result.iterations;
    if (options.iterations < 1 || !(options.tolerance < 1)) break;
    auto const next = solve_by(method_, b, x, options);
    Values<T> found(best.size());
    copy_async(std::span(found), std::span<T const>(x), stream_);
    stream_.synchronize();
    auto const now = system_.template residual<T>(found, right, exponent);
    result.iterations += next.iterations;
    result.history.insert(result.history.end(), next.history.begin() + 1, next.history.end());
    if (now.relative < left.relative && now.scaled_relative <= options_.tolerance) {
      best = found;
      left = now;
    }
    // As it was given a residual may grow for once while it shrinks in the system's units.
    if (!(now.scaled_relative < std::exchange(last, now).scaled_relative)) break;
  }
  if (left.relative <= options_.tolerance) return;
  std::string const what = fmt::format(
      "the residual is {:.2e} of the right-hand side as it was given, and {:.2e} where all "
      "equations are in units of their own",
      left.relative, left.scaled_relative);
  if (left.scaled_backward_error <= system_.rounding()) {
    fallbacks_.push_back(what + ": rounding allows no less");
    return;
  }
  result.outcome = Outcome::stagnated;
  result.advice = what;
}

template <class T>
Group<T> SparseSystem<T>::begin_group(std::int64_t first) {
  std::int64_t const most = first == 0 && tries() ? 1 : at_once();
  std::vector<std::span<double const>> rights;
  for (std::int64_t k = first; k < std::min(first + most, extents_.columns); ++k)
    rights.push_back(right_of(k));
  return linear_system::begin_group(stream_, system_, rights, first);
}

/// What becomes of a column of a group, in the units that were given.
template <class T>
void SparseSystem<T>::settle(Group<T>& group, std::size_t k, Values<T>& x) {
  auto const column = group.first + static_cast<std::int64_t>(k);
  auto const told = fallbacks_.size();
  Solved<T> solved;
  times_.measure("solve", [&] { solved = finish_column(group, k); });
  times_.measure("check", [&] {
    auto const held = system_.solution(solved.x, group.exponents[k]);
    require_held<T>(system_, options_.tolerance, solved, group.rights[k], group.exponents[k], held);
    parallel_for(extents_.rows, 2, [&](std::int64_t i) {
      x[static_cast<std::size_t>(i * extents_.columns + column)] =
          held[static_cast<std::size_t>(i)];
    });
  });
  for (std::size_t i = told; i < fallbacks_.size(); ++i)
    fallbacks_[i] = report_.label(column) + fallbacks_[i];
  report_.add(column, method_name_, solved.result, solved.left);
}

/// Returns how many columns are done: those up to the first for which `auto` gave way, for what it took
/// then is what those that follow are solved by.
template <class T>
std::int64_t SparseSystem<T>::solve_group(std::int64_t first, Values<T>& x) {
  Group<T> group;
  times_.measure("solve", [&] {
    group = begin_group(first);
    solve_all(group);
    for (std::size_t k = 0; k < group.size(); ++k) {
      group.found.emplace_back(group.rights[k].size());
      copy_async(std::span(group.found[k]), std::span<T const>(group.x_of(k)), stream_);
    }
    stream_.synchronize();
    group.left = system_.residuals(group.found, group.rights, group.exponents);
  });
  gave_way_ = false;
  std::int64_t done = 0;
  while (done < static_cast<std::int64_t>(group.size()) && !gave_way_)
    settle(group, static_cast<std::size_t>(done++), x);
  return done;
}

template <class T>
void SparseSystem<T>::compute() {
  Values<T> x(right_.size());
  for (std::int64_t done = 0; done < extents_.columns;) done += solve_group(done, x);
  times_.measure("transfer", [&] {
    copy_async(x_.span(), std::span<T const>(x), stream_);
    stream_.synchronize();
  });
}

template <class T>
std::vector<NamedValue> SparseSystem<T>::diagnostics() const {
  auto values = report_.values();
  values.push_back({"nonzeros", static_cast<double>(system_.rows().nonzeros())});
  auto const times = OneShot::diagnostics();
  values.insert(values.end(), times.begin(), times.end());
  return values;
}

}  // namespace

std::unique_ptr<Simulation> make_sparse(config::RunConfig const& run, Stream const& stream,
                                        Inputs const& inputs) {
  if (goes_without_rows(run)) return make_stencil(run, stream, inputs);
  return make_simulation<SparseSystem>(run, stream, inputs);
}

}  // namespace gridstride::linear_system
