// Sparse systems of linear equations, by iteration:
//
//   A·x = b        ‖b − A·x‖₂ ≤ tolerance·‖b‖₂ for each right-hand side
//
// by Krylov methods (kernels/krylov) with products by the rows of `sparse`. A and each b are scaled by
// powers of two first, so that their largest elements are about 1 and no square is out of range. What
// x is worth is found by the host at the end, from the rows as they were read.

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
#include "kernels/support/parallel_for.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"
#include "simulations/linear_system_parameters.hpp"

namespace gridstride::linear_system {

namespace {

using krylov::Method;
using krylov::Outcome;

constexpr Method iterative[] = {Method::cg, Method::minres, Method::bicgstab, Method::gmres};

Method method_called(std::string const& name) {
  return *std::ranges::find_if(iterative, [&](Method method) { return name_of(method) == name; });
}

krylov::Options options_of(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  return {.tolerance = parameters.tolerance,
          .iterations = parameters.iterations,
          .restart = static_cast<int>(parameters.restart)};
}

/// The power of two that makes the largest magnitude about 1; 0 where there is none.
template <class Values>
int exponent_of(Values const& values) {
  double largest = 0;
  for (auto const value : values) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest > 0 ? std::ilogb(largest) : 0;
}

/// How well a column of x solves its equations, without the scale of either.
struct Judged {
  double residual_norm = 0, backward_error = 0;
};

template <class T>
class SparseSystem final : public OneShot {
 public:
  SparseSystem(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override;
  std::vector<Table> tables() const override { return {history_}; }
  Grid formula_grid(Field const&) const override { return array_grid(); }
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override {
    return {
        {"method", method_name_}, {"preconditioner", preconditioner_name_}, {"sparse", variant_}};
  }
  std::vector<std::string> fallbacks() const override { return fallbacks_; }
  std::string shortfall() const override { return shortfall_; }

 private:
  void compute() override;
  Grid array_grid() const {
    return {2,
            {extents_.columns, extents_.rows, 1},
            {0, 0, static_cast<double>(extents_.rows)},
            {1, 1, 1}};
  }
  void read_matrix(config::RunConfig const& run, Inputs const& inputs);
  std::vector<T> read_right(config::RunConfig const& run, Inputs const& inputs);
  void choose_method(config::RunConfig const& run);
  void require_solvable_rows() const;
  void precondition(config::RunConfig const& run);
  void solve_column(std::int64_t column, std::vector<T>& x);
  krylov::Result solve_by(Method method, std::span<T const> b, std::span<T> x);
  void note(std::int64_t column, krylov::Result const& result);
  Judged judge(std::span<T const> x, std::span<T const> b) const;

  Extents extents_;
  krylov::Options options_;
  bool automatic_;
  Csr<T> rows_;  ///< scaled by 2^−exponent
  int exponent_ = 0;
  CsrFindings found_;
  std::vector<T> right_;
  std::unique_ptr<sparse::Matrix<T>> matrix_;
  krylov::Preconditioner<T> preconditioner_;
  Method method_ = Method::cg;
  std::string method_name_, preconditioner_name_ = "none", variant_;
  Buffer<T> x_;
  Table history_;
  std::vector<std::string> fallbacks_;
  std::string shortfall_;
  double residual_norm_ = std::numeric_limits<double>::quiet_NaN();
  double relative_residual_ = residual_norm_, backward_error_ = residual_norm_,
         iterations_ = residual_norm_;
};

template <class T>
SparseSystem<T>::SparseSystem(config::RunConfig const& run, Stream const& stream,
                              Inputs const& inputs)
    : OneShot(stream, {"read", "transfer", "prepare", "solve", "check"}),
      extents_(extents_of(run, inputs)),
      options_(options_of(run)),
      automatic_(parameters_of(run).method == "auto"),
      x_(stream_, MemorySpace::device, static_cast<std::size_t>(extents_.size())),
      history_{"history",
               {{"right_hand_side", "1", std::vector<std::int64_t>()},
                {"iteration", "1", std::vector<std::int64_t>()},
                {"relative_residual", "1", std::vector<double>()}}} {
  zero_async(x_.span(), stream_);
  times_.measure("read", [&] { read_matrix(run, inputs); });
  right_ = read_right(run, inputs);
  times_.measure("prepare", [&] {
    found_ = examine(rows_);
    choose_method(run);
    require_solvable_rows();
    precondition(run);
    matrix_ = std::make_unique<sparse::Matrix<T>>(stream_, rows_, run.kernels.at("sparse"));
    variant_ = matrix_->variant();
  });
}

/// Rounded to T once they are scaled: of float32, too, no element of a matrix in other units is lost.
template <class T>
void SparseSystem<T>::read_matrix(config::RunConfig const& run, Inputs const& inputs) {
  auto const read = read_sparse(run, inputs);
  exponent_ = exponent_of(read.values);
  rows_.rows = read.rows;
  rows_.columns = read.columns;
  rows_.offsets = read.offsets;
  rows_.column_indices = read.column_indices;
  rows_.values.resize(read.values.size());
  std::ranges::transform(read.values, rows_.values.begin(), [this](double value) {
    return static_cast<T>(std::ldexp(value, -exponent_));
  });
}

template <class T>
std::vector<T> SparseSystem<T>::read_right(config::RunConfig const& run, Inputs const& inputs) {
  auto const& source = parameters_of(run).rhs;
  fill(stream_, source, array_grid(), inputs, x_.span(), &times_);
  if (auto const place = first_non_finite<T>(stream_, std::as_const(x_).span(), "auto"); place >= 0)
    throw ConfigError({run.problem(
        source.location, fmt::format("is not finite in {} at i = {}, j = {} (all values have to be "
                                     "finite)",
                                     name_of(precision_of<T>()), place / extents_.columns,
                                     place % extents_.columns))});
  std::vector<T> values(x_.size());
  copy_async(std::span(values), std::as_const(x_).span(), stream_);
  zero_async(x_.span(), stream_);
  stream_.synchronize();
  return values;
}

template <class T>
void SparseSystem<T>::choose_method(config::RunConfig const& run) {
  if (automatic_) {
    method_ = !found_.symmetric()       ? Method::bicgstab
              : found_.not_positive < 0 ? Method::cg
                                        : Method::minres;
  } else {
    method_ = method_called(parameters_of(run).method);
    bool const needs_symmetry = method_ == Method::cg || method_ == Method::minres;
    if (needs_symmetry && !found_.symmetric()) {
      auto const i = found_.row, j = found_.column;
      throw ConfigError({run.problem(
          run.location("parameters.method"),
          fmt::format("{} needs a symmetric matrix (here A({}, {}) = {} and A({}, {}) = {}; gmres "
                      "and bicgstab take any)",
                      name_of(method_), i, j, std::ldexp(element(rows_, i, j), exponent_), j, i,
                      std::ldexp(element(rows_, j, i), exponent_)))});
    }
  }
  method_name_ = name_of(method_);
}

/// A row of zeros asks for b = 0.
template <class T>
void SparseSystem<T>::require_solvable_rows() const {
  if (found_.empty < 0) return;
  for (std::int64_t i = found_.empty; i < rows_.rows; ++i) {
    auto const row = static_cast<std::size_t>(i);
    auto const begin = rows_.values.begin() + rows_.offsets[row];
    auto const end = rows_.values.begin() + rows_.offsets[row + 1];
    if (std::any_of(begin, end, [](T value) { return value != T{0}; })) continue;
    for (std::int64_t j = 0; j < extents_.columns; ++j)
      if (T const value = right_[static_cast<std::size_t>(i * extents_.columns + j)]; value != T{0})
        throw NumericalError(fmt::format(
            "linear_system: row {} of the matrix, counted from 0, has no element but 0, "
            "and the right-hand side is {} there: no x solves it",
            i, value));
  }
}

template <class T>
void SparseSystem<T>::precondition(config::RunConfig const& run) {
  std::string const& asked = parameters_of(run).preconditioner;
  if (asked == "none") return;
  std::vector<T> diagonal(static_cast<std::size_t>(rows_.rows));
  T const least = std::numeric_limits<T>::min();
  bool usable = method_ != Method::cg || found_.not_positive < 0;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    T const value = element(rows_, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i));
    diagonal[i] = method_ == Method::minres ? std::abs(value) : value;
    usable = usable && std::abs(value) > least;
  }
  if (usable) {
    preconditioner_ = krylov::jacobi<T>(stream_, diagonal);
    preconditioner_name_ = "jacobi";
  } else if (asked == "jacobi") {
    throw ConfigError({run.problem(
        run.location("parameters.preconditioner"),
        method_ == Method::cg
            ? "jacobi needs a positive diagonal for cg (preconditioner: none, or another method)"
            : "jacobi needs a diagonal without zeros (preconditioner: none)")});
  }
}

template <class T>
krylov::Result SparseSystem<T>::solve_by(Method method, std::span<T const> b, std::span<T> x) {
  krylov::Operator<T> const a = {
      .size = rows_.rows,
      .apply = [this](Stream& stream, std::span<T const> from, std::span<T> to) {
        matrix_->multiply(stream, from, to);
      }};
  zero_async(x, stream_);
  return krylov::solve<T>(stream_, method, a, preconditioner_, b, x, options_);
}

template <class T>
void SparseSystem<T>::solve_column(std::int64_t column, std::vector<T>& x) {
  auto const n = static_cast<std::size_t>(extents_.rows);
  auto const stride = static_cast<std::size_t>(extents_.columns);
  auto const first = static_cast<std::size_t>(column);
  std::vector<T> b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = right_[i * stride + first];
  int const exponent = exponent_of(b);
  for (T& value : b) value = static_cast<T>(std::ldexp(value, -exponent));
  auto const there = on_device<T>(stream_, b);
  Buffer<T> solution(stream_, MemorySpace::device, n);
  auto result = solve_by(method_, there.span(), solution.span());
  // What `auto` took may have turned out not to suit; of a singular matrix minres tells.
  bool const suits =
      result.converged() || (method_ == Method::cg && (result.outcome == Outcome::iterations ||
                                                       result.outcome == Outcome::incompatible));
  Method const instead = suits                         ? method_
                         : method_ == Method::cg       ? Method::minres
                         : method_ == Method::bicgstab ? Method::gmres
                                                       : method_;
  if (automatic_ && instead != method_) {
    fallbacks_.push_back(fmt::format("method: {} gave way to {} ({})", name_of(method_),
                                     name_of(instead), result.advice));
    method_ = instead;
    method_name_ = name_of(method_);
    result = solve_by(method_, there.span(), solution.span());
  }
  note(column, result);
  copy_async(std::span(b), std::as_const(solution).span(), stream_);
  stream_.synchronize();
  for (std::size_t i = 0; i < n; ++i)
    x[i * stride + first] = static_cast<T>(std::ldexp(b[i], exponent - exponent_));
}

template <class T>
void SparseSystem<T>::note(std::int64_t column, krylov::Result const& result) {
  std::string const which =
      extents_.columns > 1 ? fmt::format("right-hand side {}: ", column) : std::string();
  if (result.outcome == Outcome::not_finite)
    throw NumericalError(fmt::format("linear_system: {}{}", which, result.advice));
  if (!result.converged() && shortfall_.empty())
    shortfall_ = fmt::format("{}{} did not converge: {}", which, method_name_, result.advice);
  iterations_ =
      std::max(std::isnan(iterations_) ? 0 : iterations_, static_cast<double>(result.iterations));
  relative_residual_ =
      std::max(std::isnan(relative_residual_) ? 0 : relative_residual_, result.residual_norm);
  auto& sides = std::get<0>(history_.columns[0].numbers);
  auto& numbers = std::get<0>(history_.columns[1].numbers);
  auto& norms = std::get<1>(history_.columns[2].numbers);
  for (std::size_t k = 0; k < result.history.size(); ++k) {
    sides.push_back(column);
    numbers.push_back(static_cast<std::int64_t>(k));
    norms.push_back(result.history[k]);
  }
}

template <class T>
void SparseSystem<T>::compute() {
  std::vector<T> x(right_.size());
  times_.measure("solve", [&] {
    for (std::int64_t column = 0; column < extents_.columns; ++column) solve_column(column, x);
  });
  times_.measure("transfer", [&] {
    copy_async(x_.span(), std::span<T const>(x), stream_);
    stream_.synchronize();
  });
  times_.measure("check", [&] {
    auto const found = judge(x, right_);
    residual_norm_ = found.residual_norm;
    backward_error_ = found.backward_error;
  });
}

/// The largest of any column; products in float64.
template <class T>
Judged SparseSystem<T>::judge(std::span<T const> x, std::span<T const> b) const {
  auto const stride = static_cast<std::size_t>(extents_.columns);
  std::vector<double> residual(static_cast<std::size_t>(rows_.rows)), sizes(residual.size());
  Judged worst;
  for (std::size_t column = 0; column < stride; ++column) {
    parallel_for(rows_.rows, 64, [&](std::int64_t row) {
      auto const i = static_cast<std::size_t>(row);
      double sum = 0, size = 0;
      for (auto k = static_cast<std::size_t>(rows_.offsets[i]);
           k < static_cast<std::size_t>(rows_.offsets[i + 1]); ++k) {
        double const a = std::ldexp(static_cast<double>(rows_.values[k]), exponent_);
        sum += a * static_cast<double>(
                       x[static_cast<std::size_t>(rows_.column_indices[k]) * stride + column]);
        size += std::abs(a);
      }
      residual[i] = static_cast<double>(b[i * stride + column]) - sum;
      sizes[i] = size;
    });
    double norm = 0, largest = 0, of_a = 0, of_x = 0, of_b = 0;
    for (std::size_t i = 0; i < residual.size(); ++i) {
      norm = std::hypot(norm, residual[i]);
      largest = std::max(largest, std::abs(residual[i]));
      of_a = std::max(of_a, sizes[i]);
      of_x = std::max(of_x, std::abs(static_cast<double>(x[i * stride + column])));
      of_b = std::max(of_b, std::abs(static_cast<double>(b[i * stride + column])));
    }
    worst.residual_norm = std::max(worst.residual_norm, norm);
    double const size = of_a * of_x + of_b;
    if (size > 0) worst.backward_error = std::max(worst.backward_error, largest / size);
  }
  return worst;
}

/// One right-hand side gives a line of n points, several an image of [columns, n] of them.
template <class T>
std::vector<Field> SparseSystem<T>::fields() const {
  Grid grid;
  if (extents_.columns == 1)
    grid.points[0] = extents_.rows;
  else
    grid = {2, {extents_.columns, extents_.rows, 1}, {0, 0, 0}, {1, 1, 1}};
  return {{"x", "1", grid, precision_of<T>(), x_.data()}};
}

template <class T>
std::vector<NamedValue> SparseSystem<T>::diagnostics() const {
  std::vector<NamedValue> values = {{"residual_norm", residual_norm_},
                                    {"relative_residual", relative_residual_},
                                    {"backward_error", backward_error_},
                                    {"iterations", iterations_},
                                    {"nonzeros", static_cast<double>(rows_.nonzeros())}};
  auto const times = OneShot::diagnostics();
  values.insert(values.end(), times.begin(), times.end());
  return values;
}

}  // namespace

MemoryForecast sparse_memory(config::RunConfig const& run, Inputs const& inputs) {
  auto const extents = extents_of(run, inputs);
  auto const sparse = *sparse_extents(run, inputs);
  std::size_t const element = size_of(run.precision);
  auto const n = static_cast<std::size_t>(extents.rows);
  auto const elements = static_cast<std::size_t>(sparse.elements);
  std::size_t const rows_bytes = elements * (element + 4) + (n + 1) * 8;
  MemoryForecast forecast{.array_bytes = rows_bytes,
                          .arrays = 1,
                          .array_name = "the rows of A",
                          .key = "parameters.matrix"};
  forecast.field_bytes = static_cast<std::size_t>(extents.size()) * element;
  // The method's vectors, the diagonal, b and x of a column, and all of x. What `auto` takes is known
  // when A is; gmres, which it may end with, asks for its vectors then.
  std::string const& asked = parameters_of(run).method;
  auto const vectors = krylov::work_bytes(asked == "auto" ? Method::bicgstab : method_called(asked),
                                          extents.rows, element, options_of(run), true);
  forecast.other_bytes = vectors + 3 * n * element + forecast.field_bytes;
  // What is read, in float64, and entries as they are parsed; then the rows that stay there.
  std::size_t const reading =
      elements * 12 + (n + 1) * 8 + static_cast<std::size_t>(sparse.entries) * 16;
  forecast.host_bytes = rows_bytes + reading + 2 * forecast.field_bytes + 4 * n * 8;
  note_reading(forecast, parameters_of(run).rhs, static_cast<std::size_t>(extents.size()));
  return forecast;
}

std::unique_ptr<Simulation> make_sparse(config::RunConfig const& run, Stream const& stream,
                                        Inputs const& inputs) {
  return make_simulation<SparseSystem>(run, stream, inputs);
}

}  // namespace gridstride::linear_system
