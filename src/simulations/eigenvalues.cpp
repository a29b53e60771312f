// Eigenvalues and modes of symmetric operators:
//
//   A·u = λ·u      the k smallest or largest λ, with orthonormal u
//
// of −∇·(a∇u) + κu on a grid in 1 to 3 dimensions, whose sides have u = 0 or no derivative or are
// periodic, or of a matrix, sparse or dense. `lobpcg` and `lanczos` go by products with blocks of
// vectors, the former for the smallest ones with a preconditioner; `dense` transforms all of the
// matrix. On a grid modes are orthonormal as functions: ∫u·v is a sum over points, each with its share
// of a cell. Of u and −u the one is taken that is positive where it is largest.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "kernels/eigen/eigen.hpp"
#include "kernels/families.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"
#include "simulations/eigenvalues_operator.hpp"
#include "simulations/eigenvalues_parameters.hpp"

namespace gridstride {

namespace {

using eigenvalues::OperatorOf;
using eigenvalues::parameters_of;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Rows of float64 in device memory that a method makes its modes in.
std::int64_t rows_of_modes(std::string const& method, std::int64_t modes, std::int64_t unknowns) {
  if (method == "dense") return modes;
  auto const count = static_cast<int>(modes);
  return method == "lanczos" ? eigen::lanczos_rows(count, unknowns)
                             : eigen::block_size(count, unknowns);
}

MemoryForecast eigenvalues_memory(config::RunConfig const& run, Inputs const& inputs,
                                  Backend backend) {
  auto const& parameters = parameters_of(run);
  auto const size = static_cast<std::size_t>(eigenvalues::size_of_vectors(run, inputs));
  auto const n = static_cast<std::size_t>(eigenvalues::unknowns_of(run, inputs));
  auto const modes = static_cast<std::size_t>(parameters.modes);
  std::string const method = eigenvalues::method_of(run, inputs);
  MemoryForecast result;
  if (run.has_grid) result = forecast(run, eigenvalues::grid_rows(run));
  result.key = run.has_grid ? "grid.points" : "parameters.matrix";
  result.field_bytes = size * size_of(run.precision) * (run.has_grid ? 1 : modes);
  std::size_t of_method = 0;
  if (method == "dense" || eigenvalues::work_before_dense(run, inputs)) {
    // The matrix, and as much for who transforms it; unit vectors and products with them.
    of_method = (2 * n * n + 128 * size) * sizeof(double);
    result.host_bytes += (2 * n * n + 64 * size) * sizeof(double);
  }
  if (method == "lobpcg")
    of_method = std::max(
        of_method, eigen::lobpcg_bytes(static_cast<int>(modes), static_cast<std::int64_t>(size),
                                       static_cast<std::int64_t>(n)));
  result.other_bytes += of_method;
  result.other_bytes += static_cast<std::size_t>(
                            rows_of_modes(method, parameters.modes, static_cast<std::int64_t>(n))) *
                        size * sizeof(double);
  if (!run.has_grid || run.precision == Precision::float32)
    result.other_bytes += modes * size * size_of(run.precision);
  if (run.has_grid) {
    result.other_bytes += size * sizeof(double);
    if (eigenvalues::has_preconditioner(run, inputs))
      result.other_bytes += multigrid::solver_bytes(backend, run.grid, eigenvalues::sides_of(run),
                                                    !is_constant(parameters.diffusivity) ||
                                                        !is_constant(parameters.reaction),
                                                    run.precision, multigrid::Options()) +
                            size * size_of(run.precision);
  } else if (auto const sparse = sparse_extents(parameters, inputs)) {
    auto const elements = static_cast<std::size_t>(sparse->elements);
    result.other_bytes += elements * 12 + (n + 1) * 8 + n * sizeof(double);
    result.host_bytes +=
        2 * (elements * 12 + (n + 1) * 8) + static_cast<std::size_t>(sparse->entries) * 16;
    if (eigenvalues::has_preconditioner(run, inputs)) {
      // Levels, if there are any, and the vectors of cycles.
      result.other_bytes +=
          3 * (elements * 12 + n * 20) + (4 * eigenvalues::cycles_at_once + 8) * n * sizeof(double);
      result.host_bytes += elements * 12 + n * 20;
    }
  } else {
    result.other_bytes += 20 * n * n;
    result.host_bytes += 20 * n * n;
    note_reading(result, parameters.matrix, n * n);
  }
  return result;
}

template <class T>
class Eigenvalues final : public OneShot {
 public:
  Eigenvalues(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override;
  Grid formula_grid(Field const& field) const override;
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override;
  std::vector<Table> tables() const override { return {eigenvalues_, history_}; }
  std::string shortfall() const override { return shortfall_; }
  std::vector<std::string> fallbacks() const override;

 private:
  void compute() override;
  void iterate();
  void transform();
  void deliver();
  std::string lack_of(std::int64_t found) const;
  void tell(eigen::Judged const& judged, std::optional<double> next);
  void require_place(std::size_t i, double value, double bound) const;
  void require_place(std::size_t i, eigen::Peak const& peak);
  /// The array that is written: `modes_` itself, or its values in another order or type.
  T* written() {
    if constexpr (std::is_same_v<T, double>)
      if (has_grid_) return modes_.data();
    return rounded_.data();
  }
  std::int64_t modes() const { return options_.modes; }

  bool has_grid_;
  Grid grid_;  ///< of the fields
  std::string method_, dense_variant_;
  eigen::Options options_;
  bool may_transform_;  ///< where iterations do not come to an end
  std::optional<OperatorOf<T>> operator_;
  Buffer<double> modes_;  ///< rows
  Buffer<T> rounded_;
  Table eigenvalues_, history_;
  std::string shortfall_, gave_way_;
  double iterations_ = unknown, products_ = unknown, residual_ = unknown, bound_ = unknown;
};

eigen::Options options_of(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  return {.modes = static_cast<int>(parameters.modes),
          .largest = parameters.wants_largest(),
          .tolerance = parameters.tolerance,
          .iterations = parameters.iterations,
          .most_work = eigenvalues::work_before_dense(run, inputs)
                           .value_or(std::numeric_limits<double>::infinity())};
}

template <class T>
Eigenvalues<T>::Eigenvalues(config::RunConfig const& run, Stream const& stream,
                            Inputs const& inputs)
    : OneShot(stream, {"read", "transfer", "solve", "check"}),
      has_grid_(run.has_grid),
      grid_(run.grid),
      method_(eigenvalues::method_of(run, inputs)),
      dense_variant_(run.kernels.at("eigen")),
      options_(options_of(run, inputs)),
      may_transform_(std::isfinite(options_.most_work)),
      eigenvalues_{"eigenvalues",
                   {{"mode", "1", std::vector<std::int64_t>()},
                    {"eigenvalue", has_grid_ ? "1/m^2" : "1", std::vector<double>()},
                    {"residual_norm", has_grid_ ? "1/m^2" : "1", std::vector<double>()},
                    {"error_bound", has_grid_ ? "1/m^2" : "1", std::vector<double>()}}},
      history_{"history",
               {{"iteration", "1", std::vector<std::int64_t>()},
                {"found", "1", std::vector<std::int64_t>()},
                {"residual_norm", has_grid_ ? "1/m^2" : "1", std::vector<double>()}}} {
  if (dense_variant_ == "auto") dense_variant_ = eigen::default_variant(stream.backend());
  times_.measure("read", [&] { operator_.emplace(run, stream_, inputs); });
  auto const& a = operator_->get();
  std::int64_t const rows = rows_of_modes(method_, modes(), a.unknowns);
  modes_ = {stream_, MemorySpace::device, static_cast<std::size_t>(rows * a.space.size)};
  zero_async(modes_.span(), stream_);
  if (!has_grid_ || !std::is_same_v<T, double>) {
    rounded_ = {stream_, MemorySpace::device, static_cast<std::size_t>(modes() * a.space.size)};
    zero_async(rounded_.span(), stream_);
  }
  if (!has_grid_ && modes() == 1) {
    grid_ = Grid();
    grid_.points[0] = a.space.size;
  } else if (!has_grid_) {
    grid_ = {2, {modes(), a.space.size, 1}, {0, 0, 0}, {1, 1, 1}};
  }
}

template <class T>
void Eigenvalues<T>::compute() {
  if (method_ == "dense")
    transform();
  else
    iterate();
  if (!shortfall_.empty() && may_transform_) {
    gave_way_ =
        fmt::format("method: {} gave way to dense ({} of {} modes after {} iterations)", method_,
                    std::get<0>(history_.columns[1].numbers).back(), modes(), iterations_);
    shortfall_.clear();
    transform();
    method_ = "dense";
  }
  deliver();
}

template <class T>
void Eigenvalues<T>::iterate() {
  auto const& a = operator_->get();
  eigen::Result result;
  auto const solve = method_ == "lanczos" ? eigen::lanczos : eigen::lobpcg;
  times_.measure("solve", [&] { result = solve(stream_, a, options_, modes_.span()); });
  iterations_ = static_cast<double>(result.history.size() - 1);
  products_ = static_cast<double>(result.products);
  for (std::size_t i = 0; i < result.history.size(); ++i) {
    auto const& step = result.history[i];
    std::get<0>(history_.columns[0].numbers).push_back(static_cast<std::int64_t>(i));
    std::get<0>(history_.columns[1].numbers).push_back(step.found);
    std::get<1>(history_.columns[2].numbers)
        .push_back(std::ldexp(step.residual, operator_->exponent()));
  }
  tell({result.values, result.residuals}, result.next);
  if (!result.converged) shortfall_ = lack_of(result.history.back().found);
}

/// What is said of a run that has not found all modes.
template <class T>
std::string Eigenvalues<T>::lack_of(std::int64_t found) const {
  if (found == modes())
    return fmt::format(
        "eigenvalues: {} has found {} modes, but not shown after {} iterations that no other "
        "eigenvalue belongs among them (parameters.iterations may be more)",
        method_, found, iterations_);
  std::string_view help;
  if (options_.largest)
    help = method_ == "lobpcg" ? ", method: lanczos takes fewer products for the largest" : "";
  else if (method_ == "lanczos")
    help = ", method: lobpcg has a preconditioner for the smallest";
  else if (operator_->preconditioner() == "none")
    help = ", preconditioner: auto may help";
  else
    help = ", more modes may come sooner where eigenvalues lie close together";
  return fmt::format(
      "eigenvalues: {} has found {} of {} modes after {} iterations; the largest residual is "
      "{:.2e} "
      "(parameters.iterations may be more{}, or parameters.tolerance, {:g}, larger; method: dense "
      "finds all of fewer unknowns)",
      method_, found, modes(), iterations_, residual_, help, options_.tolerance);
}

/// Unknowns are where points have a weight; the matrix of w^½·A·w^−½ is symmetric.
template <class T>
void Eigenvalues<T>::transform() {
  auto const& a = operator_->get();
  auto const size = static_cast<std::size_t>(a.space.size);
  std::vector<double> weights(size, 1.0);
  if (a.space.weights != nullptr)
    copy_async(std::span(weights), std::span<double const>(a.space.weights, size), stream_);
  stream_.synchronize();
  std::vector<std::int64_t> places;
  std::vector<double> roots;
  for (std::size_t p = 0; p < size; ++p) {
    if (weights[p] == 0) continue;
    places.push_back(static_cast<std::int64_t>(p));
    roots.push_back(std::sqrt(weights[p]));
  }
  std::size_t const n = places.size();
  Buffer<double> matrix, values(stream_, MemorySpace::device, n);
  times_.measure("transfer", [&] {
    matrix = on_device<double>(stream_, operator_->matrix(stream_, places, roots));
  });
  times_.measure("solve", [&] {
    eigen::decompose(stream_, static_cast<std::int64_t>(n), matrix.span(), values.span(),
                     dense_variant_);
  });
  times_.measure("transfer", [&] {
    std::vector<double> rows(static_cast<std::size_t>(modes()) * size, 0.0), row(n);
    for (std::size_t k = 0; k < static_cast<std::size_t>(modes()); ++k) {
      std::size_t const from = options_.largest ? n - 1 - k : k;
      copy_async(std::span(row), std::as_const(matrix).span().subspan(from * n, n), stream_);
      stream_.synchronize();
      for (std::size_t i = 0; i < n; ++i)
        rows[k * size + static_cast<std::size_t>(places[i])] = row[i] / roots[i];
    }
    copy_async(modes_.span().first(rows.size()), std::span<double const>(rows), stream_);
    stream_.synchronize();
  });
  times_.measure("check", [&] {
    tell(eigen::judge(stream_, a, static_cast<int>(modes()), modes_.data()), std::nullopt);
  });
}

/// In the operator's own units.
template <class T>
void Eigenvalues<T>::tell(eigen::Judged const& judged, std::optional<double> next) {
  // Of products, some operations for each element of a row, and of the elements themselves.
  double const shift = operator_->shift();
  double const rounding =
      std::numeric_limits<double>::epsilon() *
      (16 * operator_->get().norm + std::ldexp(std::abs(shift), -operator_->exponent()));
  auto const bounds = eigen::error_bounds(judged.values, judged.residuals, next, rounding);
  auto const add = [&](std::size_t column, double value) {
    std::get<1>(eigenvalues_.columns[column].numbers)
        .push_back(std::ldexp(value, operator_->exponent()));
  };
  for (auto& column : eigenvalues_.columns)
    std::visit([](auto& numbers) { numbers.clear(); }, column.numbers);
  for (std::size_t i = 0; i < judged.values.size(); ++i) {
    require_place(i, judged.values[i], bounds[i]);
    std::get<0>(eigenvalues_.columns[0].numbers).push_back(static_cast<std::int64_t>(i) + 1);
    add(1, judged.values[i]);
    std::get<1>(eigenvalues_.columns[1].numbers).back() += shift;
    add(2, judged.residuals[i]);
    add(3, bounds[i]);
  }
  residual_ = std::ldexp(*std::ranges::max_element(judged.residuals), operator_->exponent());
  bound_ = std::ldexp(*std::ranges::max_element(bounds), operator_->exponent());
}

/// Refuses an eigenvalue that is too large in its own units, or has lost digits as it is too small.
template <class T>
void Eigenvalues<T>::require_place(std::size_t i, double value, double bound) const {
  int const exponent = operator_->exponent();
  double const given = std::ldexp(value, exponent);
  double const lost = std::abs(std::ldexp(given, -exponent) - value);
  bool const is_held = operator_->shift() != 0 || lost <= std::max(bound, 1e-8 * std::abs(value));
  if (std::isfinite(given + operator_->shift()) && is_held) return;
  throw NumericalError(fmt::format(
      "eigenvalues: eigenvalue {} has no place in float64: its size is about 10^{:.1f} ({})", i + 1,
      std::log10(std::abs(value)) + exponent * std::log10(2.0),
      has_grid_ ? "another unit of length, or of parameters.diffusivity and parameters.reaction"
                : "another unit of parameters.matrix"));
}

/// Refuses a mode whose largest value, nearly, is infinite or less than normal numbers in T.
template <class T>
void Eigenvalues<T>::require_place(std::size_t i, eigen::Peak const& peak) {
  auto const size = static_cast<std::size_t>(operator_->get().space.size);
  double value = 0;
  copy_async(
      std::span(&value, 1),
      std::as_const(modes_).span().subspan(i * size + static_cast<std::size_t>(peak.place), 1),
      stream_);
  stream_.synchronize();
  double const largest = std::abs(value * operator_->unit_of_modes());
  if (largest >= std::numeric_limits<T>::min() && largest <= std::numeric_limits<T>::max() / 2)
    return;
  throw NumericalError(fmt::format(
      "eigenvalues: mode {} has no place in {}: the norm 1 over all of the grid makes its largest "
      "value about 10^{:.1f} ({}another unit of length)",
      i + 1, name_of(precision_of<T>()),
      std::log10(std::abs(value)) + std::log10(operator_->unit_of_modes()),
      std::is_same_v<T, float> ? "precision: float64, or " : ""));
}

/// Modes of the norm 1, and of the sign that they are to have.
template <class T>
void Eigenvalues<T>::deliver() {
  times_.measure("check", [&] {
    auto const& space = operator_->get().space;
    eigen::Rows const rows{{{modes_.data(), static_cast<int>(modes())}, {}, {}}};
    std::vector<double> factors;
    for (auto const& peak : eigen::peaks(stream_, space, rows)) {
      if (has_grid_) require_place(factors.size(), peak);
      factors.push_back((peak.negative ? -1 : 1) * operator_->unit_of_modes());
    }
    bool const by_modes = has_grid_;
    eigen::deliver<T>(stream_, space, rows, factors, written(), by_modes ? 1 : modes(),
                      by_modes ? space.size : 1);
  });
}

/// Of a grid a field for each mode; of a matrix all modes side by side, of one a line.
template <class T>
std::vector<Field> Eigenvalues<T>::fields() const {
  T const* const values = const_cast<Eigenvalues*>(this)->written();
  if (!has_grid_) return {{"modes", "1", grid_, precision_of<T>(), values}};
  std::vector<Field> all;
  for (std::int64_t mode = 0; mode < modes(); ++mode)
    all.push_back({eigenvalues::mode_name(mode), "1", grid_, precision_of<T>(),
                   values + mode * grid_.size()});
  return all;
}

template <class T>
std::vector<std::string> Eigenvalues<T>::fallbacks() const {
  auto all = operator_->fallbacks();
  if (!gave_way_.empty()) all.push_back(gave_way_);
  return all;
}

template <class T>
Grid Eigenvalues<T>::formula_grid(Field const& field) const {
  if (has_grid_) return field.grid;
  std::int64_t const rows = operator_->get().space.size;
  return {2, {modes(), rows, 1}, {0, 0, static_cast<double>(rows)}, {1, 1, 1}};
}

template <class T>
std::vector<NamedValue> Eigenvalues<T>::diagnostics() const {
  auto const& found = std::get<1>(eigenvalues_.columns[1].numbers);
  std::vector<NamedValue> values = {{"first", found.empty() ? unknown : found.front()},
                                    {"last", found.empty() ? unknown : found.back()},
                                    {"residual_norm", residual_},
                                    {"error_bound", bound_},
                                    {"iterations", iterations_},
                                    {"products", products_}};
  auto const times = OneShot::diagnostics();
  values.insert(values.end(), times.begin(), times.end());
  return values;
}

template <class T>
std::vector<NamedText> Eigenvalues<T>::chosen() const {
  std::vector<NamedText> texts = {{"method", method_}};
  if (method_ == "dense") texts.push_back({"eigen", dense_variant_});
  if (method_ == "lobpcg")
    texts.push_back({"preconditioner", std::string(operator_->preconditioner())});
  if (!has_grid_) texts.push_back({"sparse", std::string(operator_->sparse_variant())});
  return texts;
}

}  // namespace

SimulationEntry eigenvalues_entry() {
  config::SimulationInfo info;
  info.name = "eigenvalues";
  info.summary =
      "eigenvalues and modes of -div(diffusivity grad u) + reaction u on a grid, or of a "
      "symmetric matrix";
  info.fields = {{.name = "mode_1",
                  .documentation =
                      "the mode of the first eigenvalue, mode_2 that of the second and "
                      "so on; of a matrix `modes`, a column for each",
                  .sides = std::vector<SideKind>(),
                  .any_name = true}};
  info.kernels = {{"eigen", variant_names("eigen")},
                  {"evaluate", variant_names("evaluate")},
                  {"multigrid", variant_names("multigrid")},
                  {"sparse", variant_names("sparse")}};
  info.in_place_of_grid = "parameters.matrix";
  info.has_time = false;
  info.variables = std::span(expression::space_and_time).first(3);
  info.variables_without_grid = matrix_variables();
  return entry<Eigenvalues, eigenvalues::Parameters>(
      {.info = info, .memory = eigenvalues_memory, .problems = eigenvalues::problems});
}

}  // namespace gridstride
