// Sparse systems of linear equations, by iteration:
//
//   A·x = b        ‖b − A·x‖₂ ≤ tolerance·‖b‖₂ for each right-hand side
//
// by Krylov methods (kernels/krylov) with products by the rows of `sparse`. Rows, columns and each b
// are scaled by powers of two first (linear_system_scaled), and the residual has to be that small in
// those units too: then equations in small units are solved like all others. What x is worth is found
// by the host at the end, in the units that were given.

#include "simulations/linear_system_sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/krylov/krylov.hpp"
#include "kernels/sparse/sparse.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"
#include "simulations/linear_system_iterations.hpp"
#include "simulations/linear_system_parameters.hpp"
#include "simulations/linear_system_preconditioning.hpp"
#include "simulations/linear_system_report.hpp"
#include "simulations/linear_system_right.hpp"
#include "simulations/linear_system_scaled.hpp"
#include "simulations/linear_system_stencil.hpp"

namespace gridstride::linear_system {

namespace {

using krylov::Method;
using krylov::Outcome;

bool needs_symmetry(Method method) { return method == Method::cg || method == Method::minres; }

/// A column of the solution in the units of the system, and what it is worth.
template <class T>
struct Solved {
  krylov::Result result;
  std::vector<T> x;
  Residual left;
};

template <class T>
class SparseSystem final : public OneShot {
 public:
  SparseSystem(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override {
    return {{"x", "1", extents_.field_grid(), precision_of<T>(), x_.data()}};
  }
  std::vector<Table> tables() const override { return report_.tables(); }
  Grid formula_grid(Field const&) const override { return extents_.formula_grid(); }
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override {
    return {
        {"method", method_name_}, {"preconditioner", preconditioner_name_}, {"sparse", variant_}};
  }
  std::vector<std::string> fallbacks() const override { return fallbacks_; }
  std::string shortfall() const override { return report_.shortfall(); }

 private:
  void compute() override;
  void read_matrix(config::RunConfig const& run, Inputs const& inputs);
  std::vector<double> read_right(config::RunConfig const& run, Inputs const& inputs);
  void choose_method(config::RunConfig const& run, Csr<double> const& read);
  void require_solvable_rows() const;
  void precondition(config::RunConfig const& run);
  krylov::Operator<T> products() const;
  void solve_column(std::int64_t column, std::vector<T>& x);
  krylov::Result solve_by(Method method, std::span<T const> b, std::span<T> x,
                          krylov::Options const& options);
  krylov::Result solve_in_two(std::span<T const> b, std::span<T> x);
  void leave_aggregation();
  krylov::Result solve_by_choice(std::span<T const> b, std::span<T> x);
  Solved<T> solve_scaled(std::span<T const> right, int exponent);
  void go_on(Solved<T>& solved, std::span<T const> right, int exponent, Buffer<T> const& b,
             Buffer<T>& x);
  void require_held(Solved<T>& solved, std::span<T const> right, int exponent,
                    std::span<T const> x) const;

  Extents extents_;
  krylov::Options options_;
  bool automatic_;
  bool aggregates_ = false;     ///< amg_cg
  bool may_aggregate_ = false;  ///< `auto`, once cg has shown that it takes long
  CsrFindings found_;
  ScaledSystem<T> system_;
  std::vector<double> right_;
  std::shared_ptr<sparse::Matrix<T> const> matrix_;
  krylov::Preconditioner<T> preconditioner_;
  Method method_ = Method::cg;
  std::string method_name_, preconditioner_name_ = "none", variant_;
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
      automatic_(parameters_of(run).method == "auto"),
      x_(stream_, MemorySpace::device, static_cast<std::size_t>(extents_.size())),
      report_(extents_.columns) {
  zero_async(x_.span(), stream_);
  times_.measure("read", [&] { read_matrix(run, inputs); });
  right_ = read_right(run, inputs);
  times_.measure("prepare", [&] {
    require_solvable_rows();
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
std::vector<double> SparseSystem<T>::read_right(config::RunConfig const& run,
                                                Inputs const& inputs) {
  Buffer<double> there(stream_, MemorySpace::device, x_.size());
  fill_right(stream_, run, inputs, there.span(), &times_);
  if (auto const place = first_non_finite<double>(stream_, std::as_const(there).span(), "auto");
      place >= 0)
    throw ConfigError({not_finite(run, inputs, place)});
  std::vector<double> values(there.size());
  copy_async(std::span(values), std::as_const(there).span(), stream_);
  stream_.synchronize();
  return values;
}

template <class T>
void SparseSystem<T>::choose_method(config::RunConfig const& run, Csr<double> const& read) {
  if (automatic_) {
    bool const general = !found_.symmetric() || parameters_of(run).preconditioner == "ilu0";
    method_ = general ? Method::bicgstab : found_.not_positive < 0 ? Method::cg : Method::minres;
    may_aggregate_ = method_ == Method::cg && parameters_of(run).preconditioner == "auto" &&
                     suits_aggregation(read);
  } else {
    method_ = method_called(parameters_of(run).method);
    std::string const& asked = parameters_of(run).method;
    aggregates_ = asked == "amg_cg";
    if (needs_symmetry(method_) && !found_.symmetric()) {
      auto const i = found_.row, j = found_.column;
      throw ConfigError({run.problem(
          run.location("parameters.method"),
          fmt::format("{} needs a symmetric matrix (here A({}, {}) = {} and A({}, {}) = {}; gmres "
                      "and bicgstab take any)",
                      asked, i, j, element(read, i, j), j, i, element(read, j, i)))});
    }
    if (aggregates_ && found_.not_positive >= 0)
      throw ConfigError({run.problem(
          run.location("parameters.method"),
          fmt::format("amg_cg needs a positive diagonal (here A({0}, {0}) = {1}; method: minres "
                      "takes any symmetric matrix)",
                      found_.not_positive,
                      element(read, found_.not_positive, found_.not_positive)))});
  }
  method_name_ = aggregates_ ? "amg_cg" : name_of(method_);
}

/// A row of zeros asks for b = 0.
template <class T>
void SparseSystem<T>::require_solvable_rows() const {
  if (found_.empty < 0) return;
  auto const& rows = system_.rows();
  for (std::int64_t i = found_.empty; i < rows.rows; ++i) {
    auto const row = static_cast<std::size_t>(i);
    auto const begin = rows.values.begin() + rows.offsets[row];
    auto const end = rows.values.begin() + rows.offsets[row + 1];
    if (std::any_of(begin, end, [](T value) { return value != T{0}; })) continue;
    for (std::int64_t j = 0; j < extents_.columns; ++j)
      if (double const value = right_[static_cast<std::size_t>(i * extents_.columns + j)];
          value != 0)
        throw NumericalError(fmt::format(
            "linear_system: row {} of the matrix, counted from 0, has no element but 0, "
            "and the right-hand side is {} there: no x solves it",
            i, value));
  }
}

template <class T>
void SparseSystem<T>::precondition(config::RunConfig const& run) {
  bool const positive = found_.not_positive < 0;
  std::string const& asked = parameters_of(run).preconditioner;
  auto const refuse = [&](std::string const& message) {
    throw ConfigError({run.problem(run.location("parameters.preconditioner"), message)});
  };
  if (asked == "chebyshev" && !(found_.symmetric() && positive))
    refuse(
        "chebyshev needs a symmetric matrix with a positive diagonal (jacobi and none take "
        "others)");
  if (asked == "ic0" && !(found_.symmetric() && positive))
    refuse(fmt::format(
        "ic0 needs a symmetric matrix with a positive diagonal{} (ilu0 takes others, for bicgstab "
        "and gmres)",
        found_.symmetric()
            ? fmt::format(" (here row {}, counted from 0, has none)", found_.not_positive)
            : ""));
  if (asked == "ilu0" && needs_symmetry(method_))
    refuse(
        fmt::format("ilu0 is not symmetric, as {} needs it (ic0 is; bicgstab and gmres take ilu0)",
                    method_name_));
  if (asked == "ilu0" && found_.empty >= 0)
    refuse(
        fmt::format("ilu0 needs an element other than 0 in each row (here row {}, counted from 0, "
                    "has none)",
                    found_.empty));
  auto found =
      asked == "none"        ? Preconditioning<T>{}
      : asked == "chebyshev" ? by_polynomial(stream_, system_, products())
      : asked == "block_jacobi"
          ? by_blocks(stream_, system_, parameters_of(run).block_size,
                      needs_symmetry(method_) ? sparse::Blocks::definite : sparse::Blocks::any)
      : asked == "ic0"  ? by_factors(stream_, system_, sparse::Incomplete::cholesky)
      : asked == "ilu0" ? by_factors(stream_, system_, sparse::Incomplete::lu)
      : aggregates_     ? by_aggregation(stream_, system_)
                        : by_diagonal(stream_, system_, method_, method_ != Method::cg || positive);
  if (asked == "jacobi" && found.name == "none")
    refuse(method_ == Method::cg
               ? "jacobi needs a positive diagonal for cg (preconditioner: none, or another method)"
               : "jacobi needs a diagonal without zeros (preconditioner: none)");
  if (asked == "block_jacobi" && !found.apply) refuse(found.note);
  preconditioner_ = std::move(found.apply);
  preconditioner_name_ = found.name;
  if (!found.note.empty()) fallbacks_.push_back(found.note);
}

template <class T>
krylov::Operator<T> SparseSystem<T>::products() const {
  return {.size = extents_.rows,
          .apply = [matrix = matrix_](Stream& stream, std::span<T const> from, std::span<T> to) {
            matrix->multiply(stream, from, to);
          }};
}

template <class T>
krylov::Result SparseSystem<T>::solve_by(Method method, std::span<T const> b, std::span<T> x,
                                         krylov::Options const& options) {
  return krylov::solve<T>(stream_, method, products(), preconditioner_, b, x, options);
}

/// From x = 0. What `auto` took may turn out not to suit; of a singular matrix minres tells.
template <class T>
krylov::Result SparseSystem<T>::solve_by_choice(std::span<T const> b, std::span<T> x) {
  zero_async(x, stream_);
  auto result = may_aggregate_ ? solve_in_two(b, x) : solve_by(method_, b, x, options_);
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
  method_ = instead;
  method_name_ = name_of(method_);
  zero_async(x, stream_);
  return solve_by(method_, b, x, options_);
}

/// A hierarchy costs as much as some hundred iterations: it comes after those, where they do not do, and
/// stays for the columns that follow.
template <class T>
krylov::Result SparseSystem<T>::solve_in_two(std::span<T const> b, std::span<T> x) {
  auto options = options_;
  options.iterations = std::min<std::int64_t>(options.iterations, worth_a_hierarchy);
  auto result = solve_by(method_, b, x, options);
  if (result.outcome != Outcome::iterations || options_.iterations == options.iterations)
    return result;
  fallbacks_.push_back(fmt::format("method: cg gave way to amg_cg ({})", result.advice));
  auto found = by_aggregation(stream_, system_);
  preconditioner_ = std::move(found.apply);
  preconditioner_name_ = found.name;
  aggregates_ = true;
  may_aggregate_ = false;
  method_name_ = "amg_cg";
  options.iterations = options_.iterations - result.iterations;
  auto next = solve_by(method_, b, x, options);
  next.iterations += result.iterations;
  next.history.insert(next.history.begin(), result.history.begin(), result.history.end() - 1);
  return next;
}

/// What follows conjugate gradients has the diagonal.
template <class T>
void SparseSystem<T>::leave_aggregation() {
  if (!aggregates_) return;
  aggregates_ = false;
  auto found = by_diagonal(stream_, system_, Method::minres, true);
  preconditioner_ = std::move(found.apply);
  preconditioner_name_ = found.name;
}

template <class T>
Solved<T> SparseSystem<T>::solve_scaled(std::span<T const> right, int exponent) {
  Buffer<T> b(stream_, MemorySpace::device, right.size());
  Buffer<T> x(stream_, MemorySpace::device, right.size());
  copy_async(b.span(), right, stream_);
  Solved<T> solved{
      solve_by_choice(std::as_const(b).span(), x.span()), std::vector<T>(right.size()), {}};
  copy_async(std::span(solved.x), std::as_const(x).span(), stream_);
  stream_.synchronize();
  solved.left = system_.template residual<T>(solved.x, right, exponent);
  if (solved.result.converged() && solved.left.relative > options_.tolerance)
    go_on(solved, right, exponent, b, x);
  return solved;
}

/// The residual is small where all equations count alike, but not yet as they were given.
template <class T>
void SparseSystem<T>::go_on(Solved<T>& solved, std::span<T const> right, int exponent,
                            Buffer<T> const& b, Buffer<T>& x) {
  auto& [result, best, left] = solved;
  constexpr int most = 4;
  for (int again = 0; again < most && left.relative > options_.tolerance; ++again) {
    auto options = options_;
    options.tolerance = std::max(std::numeric_limits<double>::min(),
                                 left.scaled_relative * options_.tolerance / left.relative / 2);
    options.iterations -= result.iterations;
    if (options.iterations < 1 || !(options.tolerance < 1)) break;
    auto const next = solve_by(method_, b.span(), x.span(), options);
    std::vector<T> found(best.size());
    copy_async(std::span(found), std::as_const(x).span(), stream_);
    stream_.synchronize();
    auto const now = system_.template residual<T>(found, right, exponent);
    result.iterations += next.iterations;
    result.history.insert(result.history.end(), next.history.begin() + 1, next.history.end());
    if (!(now.relative < left.relative && now.scaled_relative <= options_.tolerance)) break;
    best = found;
    left = now;
  }
  if (left.relative <= options_.tolerance) return;
  std::string const what = fmt::format(
      "the residual is {:.2e} of the right-hand side as it was given, and {:.2e} where all "
      "equations "
      "are in units of their own",
      left.relative, left.scaled_relative);
  if (left.scaled_backward_error <= system_.rounding()) {
    fallbacks_.push_back(what + ": rounding allows no less");
    return;
  }
  result.outcome = Outcome::stagnated;
  result.advice = what;
}

/// Refuses x where rounding to T has taken from it what solves the equations.
template <class T>
void SparseSystem<T>::require_held(Solved<T>& solved, std::span<T const> right, int exponent,
                                   std::span<T const> x) const {
  auto const place = system_.first_lost(solved.x, exponent);
  if (!place) return;
  auto const kept = system_.back(x, exponent);
  auto const left = system_.template residual<double>(kept, right, exponent);
  auto const holds = [&](double now, double before) {
    return now <= 2 * std::max(before, options_.tolerance);
  };
  if (!holds(left.relative, solved.left.relative) ||
      !holds(left.scaled_relative, solved.left.scaled_relative))
    throw no_place(precision_of<T>(), *place,
                   system_.magnitude_of(solved.x[*place], *place, exponent));
  solved.left = left;
}

template <class T>
void SparseSystem<T>::solve_column(std::int64_t column, std::vector<T>& x) {
  auto const stride = static_cast<std::size_t>(extents_.columns);
  auto const first = static_cast<std::size_t>(column);
  std::vector<double> gathered;
  std::span<double const> b = right_;
  if (stride > 1) {
    for (std::size_t i = first; i < right_.size(); i += stride) gathered.push_back(right_[i]);
    b = gathered;
  }
  int exponent = 0;
  auto const told = fallbacks_.size();
  Solved<T> solved;
  std::vector<T> right;
  times_.measure("solve", [&] {
    right = system_.scaled_right(b, exponent);
    solved = solve_scaled(right, exponent);
  });
  times_.measure("check", [&] {
    auto held = system_.solution(solved.x, exponent);
    require_held(solved, right, exponent, held);
    if (stride == 1)
      x = std::move(held);
    else
      for (std::size_t i = 0; i < held.size(); ++i) x[i * stride + first] = held[i];
  });
  for (std::size_t k = told; k < fallbacks_.size(); ++k)
    fallbacks_[k] = report_.label(column) + fallbacks_[k];
  report_.add(column, method_name_, solved.result, solved.left);
}

template <class T>
void SparseSystem<T>::compute() {
  std::vector<T> x(right_.size());
  for (std::int64_t column = 0; column < extents_.columns; ++column) solve_column(column, x);
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
