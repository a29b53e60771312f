// Systems of linear equations:
//
//   A·x = b        A: n × n; b and x: n rows, and a column for each right-hand side
//
// by `lu` (P·A = L·U with partial pivoting), `cholesky` (A = L·Lᵀ, symmetric positive definite A)
// or `lu_mixed` (LU in float32, refined to the accuracy of float64). A and b are formulas of the
// row i, the column j and the size n, or come from files. What tells how good x is, and how good
// it can be, is computed with it. Sparse systems that go by iteration are in
// linear_system_sparse.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/factorize/factorize.hpp"
#include "kernels/factorize/measures/measures.hpp"
#include "kernels/factorize/measures/symmetry.hpp"
#include "kernels/factorize/solve/mixed_solve.hpp"
#include "kernels/families.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"
#include "simulations/linear_system_filled.hpp"
#include "simulations/linear_system_parameters.hpp"
#include "simulations/linear_system_right.hpp"
#include "simulations/linear_system_sparse.hpp"

namespace gridstride {

namespace {

using config::FieldSource;
using linear_system::Extents;
using linear_system::extents_of;
using linear_system::parameters_of;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// The row of `factorize` that works.
std::string factorize_variant(config::RunConfig const& run, Backend backend) {
  if (parameters_of(run).vendor) return backend == Backend::cuda ? "cusolver" : "lapack";
  std::string const& asked = run.kernels.at("factorize");
  return asked == "auto" ? std::string(factorize::default_variant(backend)) : asked;
}

/// Refuses a variant of `matmul` where none is called.
void require_products(config::RunConfig const& run, std::string_view variant) {
  bool const has_products = variant == "blocked" || variant == "look_ahead";
  if (run.kernels.at("matmul") == "auto" || has_products) return;
  throw ConfigError({run.problem(
      run.location("kernels.matmul"),
      fmt::format("is for factorizations by blocks on a GPU, 'blocked' and 'look_ahead', which "
                  "multiply by it (here {} factorizes)",
                  variant))});
}

/// A and its factors; b, x and their residual; the vendors' LU goes through a copy.
MemoryForecast linear_system_memory(config::RunConfig const& run, Inputs const& inputs,
                                    Backend backend) {
  if (linear_system::iterates(run, inputs))
    return linear_system::sparse_memory(run, inputs, backend);
  auto const extents = extents_of(run, inputs);
  auto const n = static_cast<std::size_t>(extents.rows);
  MemoryForecast forecast{.array_bytes = n * n * size_of(run.precision),
                          .arrays = 2,
                          .array_name = "A",
                          .key = "parameters.matrix"};
  forecast.field_bytes = static_cast<std::size_t>(extents.size()) * size_of(run.precision);
  forecast.other_bytes = 3 * forecast.field_bytes;
  if (linear_system::sparse_extents(run, inputs))
    forecast.host_bytes += n * n * size_of(run.precision);
  else
    note_reading(forecast, parameters_of(run).matrix, n * n);
  linear_system::note_right(forecast, run, inputs);
  forecast.other_bytes += factorize::factor_bytes(backend, extents.rows, size_of(run.precision));
  auto const variant = factorize_variant(run, backend);
  require_products(run, variant);
  std::string const& method = parameters_of(run).method;
  if (variant == "cusolver" || (variant == "lapack" && method != "cholesky")) ++forecast.arrays;
  if (method != "lu_mixed") return forecast;
  // The mixed solve comes before the factors in float64, which are needed only when it fails.
  auto const mixed = factorize::mixed_solve_bytes(extents.rows);
  auto const factors = static_cast<std::size_t>(forecast.arrays - 1) * forecast.array_bytes;
  forecast.other_bytes += mixed > factors ? mixed - factors : 0;
  return forecast;
}

template <class T>
class LinearSystem final : public OneShot {
 public:
  LinearSystem(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override {
    return {{"x", "1", extents_.field_grid(), precision_of<T>(), x_.data()}};
  }
  Grid formula_grid(Field const&) const override { return extents_.formula_grid(); }
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override {
    std::vector<NamedText> texts = {{"method", method_}, {"factorize", factorize_}};
    if (!rows_.empty()) texts.push_back({"rows", rows_});
    return texts;
  }
  std::vector<std::string> fallbacks() const override { return fallbacks_; }

 private:
  void compute() override;
  Matrix<T> matrix(Buffer<T>& buffer) const {
    return {buffer.data(), extents_.rows, static_cast<std::int64_t>(buffer.size()) / extents_.rows};
  }
  Matrix<T const> matrix(Buffer<T> const& buffer) const {
    return matrix(const_cast<Buffer<T>&>(buffer));
  }
  factorize::Variants variants() const { return {factorize_, matmul_}; }

  Buffer<T> load_right(config::RunConfig const& run, Inputs const& inputs);
  Buffer<T> load_matrix(config::RunConfig const& run, Inputs const& inputs);
  void require_finite(config::RunConfig const& run, config::Location const& location,
                      Buffer<T> const& values);
  void require_digits(config::RunConfig const& run, Inputs const& inputs);
  void require_held();
  bool suits_cholesky(config::RunConfig const& run);
  bool solve_mixed();
  bool solve_cholesky();
  void solve_lu();
  template <class Factorize>
  std::int32_t factor_copy(Factorize const& work);
  void check();
  T element(Buffer<T> const& buffer, std::int64_t index);

  std::string asked_, method_;
  std::string factorize_, matmul_;  // variants
  std::string rows_;                // what became of them in a mixed solve
  Extents extents_;
  Buffer<T> a_, b_, x_, factors_;
  Buffer<std::int32_t> pivots_, status_;
  std::vector<std::string> fallbacks_;
  factorize::SolutionErrors errors_{unknown, unknown};
  double condition_ = unknown;
  double growth_ = unknown;
  double iterations_ = unknown;
  double gflops_ = unknown;
};

template <class T>
LinearSystem<T>::LinearSystem(config::RunConfig const& run, Stream const& stream,
                              Inputs const& inputs)
    : OneShot(stream, {"read", "transfer", "factorize", "solve", "check"}),
      asked_(parameters_of(run).method),
      factorize_(factorize_variant(run, stream.backend())),
      matmul_(run.kernels.at("matmul")),
      extents_(extents_of(run, inputs)),
      a_(load_matrix(run, inputs)),
      b_(load_right(run, inputs)),
      x_(stream_, MemorySpace::device, b_.size()),
      pivots_(stream_, MemorySpace::device, static_cast<std::size_t>(extents_.rows)),
      status_(stream_, MemorySpace::device, 1) {
  zero_async(x_.span(), stream_);
  require_digits(run, inputs);
  method_ = asked_;
  bool const looks = asked_ == "auto" || asked_ == "cholesky";
  if (looks) method_ = suits_cholesky(run) ? "cholesky" : "lu";
}

template <class T>
Buffer<T> LinearSystem<T>::load_right(config::RunConfig const& run, Inputs const& inputs) {
  Buffer<T> target(stream_, MemorySpace::device, static_cast<std::size_t>(extents_.size()));
  linear_system::fill_right(stream_, run, inputs, target.span(), &times_);
  times_.measure("read", [&] {
    auto const at =
        first_non_finite<T>(stream_, std::as_const(target).span(), run.kernels.at("reduce"));
    if (at < 0) return;
    require_finite(run, linear_system::location_of_right(run, inputs, at % extents_.columns),
                   target);
  });
  return target;
}

/// A sparse one is filled up with zeros.
template <class T>
Buffer<T> LinearSystem<T>::load_matrix(config::RunConfig const& run, Inputs const& inputs) {
  auto const& source = parameters_of(run).matrix;
  if (!linear_system::sparse_extents(run, inputs)) {
    Extents const extents{extents_.rows, extents_.rows};
    Buffer<T> target(stream_, MemorySpace::device, static_cast<std::size_t>(extents.size()));
    fill(stream_, source, extents.formula_grid(), inputs, target.span(), &times_);
    times_.measure("read", [&] { require_finite(run, source.location, target); });
    return target;
  }
  Buffer<T> target;
  times_.measure("read", [&] {
    target = linear_system::filled_up<T>(stream_, linear_system::read_sparse(run, inputs));
    require_finite(run, source.location, target);
  });
  return target;
}

template <class T>
void LinearSystem<T>::require_finite(config::RunConfig const& run, config::Location const& location,
                                     Buffer<T> const& values) {
  std::int64_t const index = first_non_finite(stream_, values.span(), run.kernels.at("reduce"));
  if (index < 0) return;
  auto const columns = matrix(values).columns;
  throw ConfigError({run.problem(
      location, fmt::format("is {} in {} at i = {}, j = {} (all values have to be finite)",
                            element(values, index), name_of(precision_of<T>()), index / columns,
                            index % columns))});
}

namespace {

/// Below this values lose digits: where the largest one does, so does all that counts.
template <class T>
constexpr double least = std::numeric_limits<T>::min();

/// The largest magnitude in each column of n rows.
template <class Value>
std::vector<double> largest_of_columns(std::vector<Value> const& values, std::size_t columns) {
  std::vector<double> largest(columns);
  for (std::size_t i = 0; i < values.size(); ++i)
    largest[i % columns] = std::max(largest[i % columns], std::abs(static_cast<double>(values[i])));
  return largest;
}

template <class T>
std::vector<T> on_host(Stream& stream, Buffer<T> const& buffer) {
  std::vector<T> values(buffer.size());
  copy_async(std::span(values), buffer.span(), stream);
  stream.synchronize();
  return values;
}

}  // namespace

/// Refuses values so small that they are 0 in T, or nearly.
template <class T>
void LinearSystem<T>::require_digits(config::RunConfig const& run, Inputs const& inputs) {
  auto const refuse = [&](config::Location const& location, double largest) {
    throw ConfigError({run.problem(
        location,
        fmt::format("has no element larger than {:.3g}, which {} does not hold with its digits "
                    "(another unit{})",
                    largest, name_of(precision_of<T>()),
                    std::is_same_v<T, float> ? ", or precision: float64" : ""))});
  };
  double const of_a = factorize::matrix_norms<T>(stream_, matrix(std::as_const(a_))).maximum;
  if (of_a > 0 && of_a < least<T>) refuse(parameters_of(run).matrix.location, of_a);
  Buffer<double> exact(stream_, MemorySpace::device, b_.size());
  linear_system::fill_right(stream_, run, inputs, exact.span());
  auto const columns = static_cast<std::size_t>(extents_.columns);
  auto const of_b = largest_of_columns(on_host(stream_, exact), columns);
  for (std::size_t j = 0; j < columns; ++j)
    if (of_b[j] > 0 && of_b[j] < least<T>)
      refuse(linear_system::location_of_right(run, inputs, static_cast<std::int64_t>(j)), of_b[j]);
}

/// The same of x: where b is not 0, neither is x, and it is finite.
template <class T>
void LinearSystem<T>::require_held() {
  auto const refuse = [](std::string const& what) {
    throw NumericalError(
        fmt::format("linear_system: x has no place in {}: {} ({}another unit of the matrix or the "
                    "right-hand side)",
                    name_of(precision_of<T>()), what,
                    std::is_same_v<T, float> ? "precision: float64, or " : ""));
  };
  auto const columns = static_cast<std::size_t>(extents_.columns);
  auto const x = on_host(stream_, x_);
  auto const bad = std::ranges::find_if_not(x, [](T value) { return std::isfinite(value); });
  if (bad != x.end())
    refuse(fmt::format("row {}, counted from 0, is infinite or not a number",
                       static_cast<std::size_t>(bad - x.begin()) / columns));
  auto const of_b = largest_of_columns(on_host(stream_, b_), columns);
  auto const of_x = largest_of_columns(x, columns);
  for (std::size_t j = 0; j < columns; ++j)
    if (of_b[j] > 0 && of_x[j] < least<T>)
      refuse(fmt::format("its largest element is {:.3g}", of_x[j]));
}

/// Throws `ConfigError` where the config asks for Cholesky's method and A is not symmetric.
template <class T>
bool LinearSystem<T>::suits_cholesky(config::RunConfig const& run) {
  auto const found = factorize::symmetry<T>(stream_, matrix(std::as_const(a_)));
  if (asked_ == "auto") return found.symmetric() && found.diagonal < 0;
  if (found.symmetric()) return true;
  auto const [i, j] = std::pair(found.row, found.column);
  throw ConfigError({run.problem(
      run.location("parameters.method"),
      fmt::format("cholesky needs a symmetric matrix (here A({}, {}) = {} and A({}, {}) = {})", i,
                  j, element(a_, i * extents_.rows + j), j, i,
                  element(a_, j * extents_.rows + i)))});
}

template <class T>
void LinearSystem<T>::compute() {
  iterations_ = 0;
  if (method_ == "lu_mixed" && !solve_mixed()) method_ = "lu";
  if (method_ == "cholesky" && !solve_cholesky()) method_ = "lu";
  if (method_ == "lu") solve_lu();
  times_.measure("check", [this] {
    require_held();
    check();
  });
}

template <class T>
bool LinearSystem<T>::solve_mixed() {
  if constexpr (std::is_same_v<T, double>) {
    factorize::MixedSolve solve;
    times_.measure("factorize", [&] {
      solve = factorize::mixed_solve(stream_, matrix(std::as_const(a_)), matrix(std::as_const(b_)),
                                     matrix(x_), variants());
    });
    if (solve.converged) {
      iterations_ = solve.iterations;
      rows_ = solve.exchanged_rows ? "exchanged" : "in place";
      return true;
    }
    fallbacks_.push_back(fmt::format("method: lu_mixed gave way to lu ({})", solve.reason));
    matmul_ = "auto";  // what the config names multiplies in float32
  }
  return false;
}

template <class T>
bool LinearSystem<T>::solve_cholesky() {
  auto const status = factor_copy(
      [this] { factorize::cholesky<T>(stream_, matrix(factors_), status_.span(), variants()); });
  if (status > 0) {
    std::string const pivot = fmt::format("pivot {} of {} is not positive", status, extents_.rows);
    if (asked_ == "cholesky")
      throw NumericalError(
          fmt::format("linear_system: {}: the matrix is not positive definite "
                      "(method: lu solves other systems)",
                      pivot));
    fallbacks_.push_back(fmt::format("method: cholesky gave way to lu ({})", pivot));
    return false;
  }
  times_.measure("solve", [this] {
    copy_async(x_.span(), std::as_const(b_).span(), stream_);
    factorize::cholesky_solve<T>(stream_, matrix(factors_), matrix(x_), variants());
  });
  return true;
}

template <class T>
void LinearSystem<T>::solve_lu() {
  auto const status = factor_copy([this] {
    factorize::lu<T>(stream_, matrix(factors_), pivots_.span(), status_.span(), variants());
  });
  if (status > 0) {
    bool const zero = element(factors_, (status - 1) * (extents_.rows + 1)) == 0;
    std::string const why =
        zero ? fmt::format("exactly zero: the matrix is singular in {}", name_of(precision_of<T>()))
             : fmt::format(
                   "not a number: the factors overflow in {}, as they may do where a pivot "
                   "before it is below {:.2g} (in larger units it is not)",
                   name_of(precision_of<T>()), std::numeric_limits<T>::min());
    throw NumericalError(
        fmt::format("linear_system: pivot {} of {} is {}", status, extents_.rows, why));
  }
  times_.measure("solve", [this] {
    copy_async(x_.span(), std::as_const(b_).span(), stream_);
    factorize::lu_solve<T>(stream_, Op::none, matrix(factors_), pivots_.span(), matrix(x_),
                           variants());
  });
}

/// Factorizes a copy of A. Returns the status.
template <class T>
template <class Factorize>
std::int32_t LinearSystem<T>::factor_copy(Factorize const& work) {
  if (factors_.size() == 0) factors_ = {stream_, MemorySpace::device, a_.size()};
  times_.measure("transfer",
                 [this] { copy_async(factors_.span(), std::as_const(a_).span(), stream_); });
  times_.measure("factorize", work);
  std::array<std::int32_t, 1> status = {};
  copy_async(std::span<std::int32_t>(status), std::as_const(status_).span(), stream_);
  stream_.synchronize();
  return status[0];
}

template <class T>
void LinearSystem<T>::check() {
  auto const a = matrix(std::as_const(a_));
  auto const factors = matrix(std::as_const(factors_));
  auto const norms = factorize::matrix_norms<T>(stream_, a);
  errors_ = factorize::solution_errors<T>(stream_, a, norms.infinity, matrix(std::as_const(x_)),
                                          matrix(std::as_const(b_)));
  if (method_ == "lu") {
    growth_ = factorize::upper_triangle_maximum<T>(stream_, factors) / norms.maximum;
    condition_ = factorize::lu_condition_estimate<T>(stream_, factors, pivots_.span(), norms.one,
                                                     variants());
  } else if (method_ == "cholesky") {
    condition_ = factorize::cholesky_condition_estimate<T>(stream_, factors, norms.one, variants());
  }
  auto const n = static_cast<double>(extents_.rows);
  double const operations = n * n * n * (method_ == "cholesky" ? 1 : 2) / 3 +
                            2 * n * n * static_cast<double>(extents_.columns);
  gflops_ = operations / (times_.seconds("factorize") + times_.seconds("solve")) * 1e-9;
}

template <class T>
T LinearSystem<T>::element(Buffer<T> const& buffer, std::int64_t index) {
  T value = 0;
  copy_async(std::span(&value, 1), buffer.span().subspan(static_cast<std::size_t>(index), 1),
             stream_);
  stream_.synchronize();
  return value;
}

template <class T>
std::vector<NamedValue> LinearSystem<T>::diagnostics() const {
  std::vector<NamedValue> values = {{"residual_norm", errors_.residual_norm},
                                    {"backward_error", errors_.backward_error},
                                    {"condition_estimate", condition_},
                                    {"growth_factor", growth_},
                                    {"iterations", iterations_},
                                    {"gflops", gflops_}};
  auto const times = OneShot::diagnostics();
  values.insert(values.end(), times.begin(), times.end());
  return values;
}

/// By iteration or by factorization.
std::unique_ptr<Simulation> make_system(config::RunConfig const& run, Stream const& stream,
                                        Inputs const& inputs) {
  if (linear_system::iterates(run, inputs)) return linear_system::make_sparse(run, stream, inputs);
  return make_simulation<LinearSystem>(run, stream, inputs);
}

}  // namespace

SimulationEntry linear_system_entry() {
  config::SimulationInfo info;
  info.name = "linear_system";
  info.summary =
      "systems of linear equations, A x = b, dense by factorization, sparse by iteration";
  info.fields = {{"x", "1", "the solution: n values, or n for each right-hand side"}};
  info.kernels = {{"factorize", variant_names("factorize")},
                  {"matmul", variant_names("matmul")},
                  {"sparse", variant_names("sparse")},
                  {"lattice", variant_names("lattice")}};
  info.has_grid = false;
  info.has_time = false;
  info.variables = matrix_variables();
  auto row = entry<LinearSystem, linear_system::Parameters>(
      {.info = info, .memory = linear_system_memory, .problems = linear_system::problems});
  row.make = make_system;
  return row;
}

}  // namespace gridstride
