// Systems with the matrices of stencils, of which nothing is stored: products are those of family
// `lattice`, and all that is done with vectors stays on the device. The matrix is near 1 in any unit
// that it could have, so that b alone is scaled, by a power of two:
//
//   A·x' = 2^−e·b,   x = 2^e·x',   max |2^−e·b| in [1, 2)

#include "simulations/linear_system_stencil.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/convert/convert.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/lattice/cycle.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"
#include "simulations/linear_system_iterations.hpp"
#include "simulations/linear_system_parameters.hpp"
#include "simulations/linear_system_report.hpp"
#include "simulations/linear_system_right.hpp"
#include "simulations/linear_system_rounding.hpp"

namespace gridstride::linear_system {

namespace {

using krylov::Method;

/// Queues to = from, rounded.
template <class From, class To>
void round(Stream& stream, std::span<From const> from, std::span<To> to) {
  if constexpr (std::is_same_v<From, To>) return copy_async(to, from, stream);
  Buffer<std::int64_t> ignored(stream, MemorySpace::device, 1);
  zero_async(ignored.span(), stream);
  convert::convert<To>(stream, {std::as_bytes(from), number_type_of<From>()}, to, ignored.span());
}

/// Values as another type has them; where it is no other, those themselves.
template <class To>
class Rounded {
 public:
  template <class From>
  Rounded(Stream& stream, Buffer<From> const& from) {
    if constexpr (std::is_same_v<From, To>) {
      values_ = from.span();
    } else {
      own_ = {stream, MemorySpace::device, from.size()};
      round(stream, from.span(), own_.span());
      values_ = own_.span();
    }
  }
  std::span<To const> span() const { return values_; }

 private:
  Buffer<To> own_;
  std::span<To const> values_;
};

double largest_of(reduce::Moments<double> const& found) {
  return std::max(std::abs(found.minimum), std::abs(found.maximum));
}

template <class T>
class StencilSystem final : public OneShot {
 public:
  StencilSystem(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override {
    return {{"x", "1", extents_.field_grid(), precision_of<T>(), x_.data()}};
  }
  std::vector<Table> tables() const override { return report_.tables(); }
  Grid formula_grid(Field const&) const override { return extents_.formula_grid(); }
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override {
    return {{"method", std::string(name_of(method_))},
            {"preconditioner", preconditioner_name_},
            {"lattice", std::string(a_->variant())}};
  }
  std::vector<std::string> fallbacks() const override { return fallbacks_; }
  std::string shortfall() const override { return report_.shortfall(); }

 private:
  void compute() override;
  void require_finite(config::RunConfig const& run, Inputs const& inputs);
  void precondition(std::string const& asked);
  Buffer<double> take_right(std::int64_t column, int& exponent);
  krylov::Result iterate(std::span<T const> b, std::span<T> x, krylov::Options const& options);
  Residual measure(Buffer<double> const& b, std::span<double const> x, int exponent);
  Residual solve(Buffer<double> const& b, Buffer<T>& x, int exponent, krylov::Result& result);
  void give_solution(std::int64_t column, Buffer<double> const& b, Buffer<T>& x, int exponent,
                     Residual& left);
  [[noreturn]] void refuse_lost(Buffer<T> const& x, int exponent);
  void solve_column(std::int64_t column);

  Stencil stencil_;
  Extents extents_;
  krylov::Options options_;
  RoundingLimit rounding_limit_;
  Method method_;
  Buffer<double> right_;
  std::shared_ptr<lattice::Matrix<T> const> a_;
  std::unique_ptr<lattice::Matrix<double>> precise_;  // for residuals
  krylov::Preconditioner<T> preconditioner_;
  std::string preconditioner_name_;
  Buffer<T> x_;
  Report report_;
  std::vector<std::string> fallbacks_;
};

template <class T>
StencilSystem<T>::StencilSystem(config::RunConfig const& run, Stream const& stream,
                                Inputs const& inputs)
    : OneShot(stream, {"read", "transfer", "prepare", "solve", "check"}),
      stencil_(*stencil_of(parameters_of(run))),
      extents_(extents_of(run, inputs)),
      options_(options_of(run)),
      rounding_limit_(run),
      method_(method_without_rows(run)),
      right_(stream_, MemorySpace::device, static_cast<std::size_t>(extents_.size())),
      x_(stream_, MemorySpace::device, right_.size()),
      report_(extents_.columns) {
  zero_async(x_.span(), stream_);
  fill_right(stream_, run, inputs, right_.span(), &times_);
  times_.measure("read", [&] { require_finite(run, inputs); });
  times_.measure("prepare", [&] {
    auto const& [neighbours, points, dims] = stencil_;
    std::string const& variant = run.kernels.at("lattice");
    a_ = std::make_shared<lattice::Matrix<T>>(stream_, neighbours, points, variant, dims);
    precise_ =
        std::make_unique<lattice::Matrix<double>>(stream_, neighbours, points, variant, dims);
    precondition(parameters_of(run).preconditioner);
  });
}

template <class T>
void StencilSystem<T>::require_finite(config::RunConfig const& run, Inputs const& inputs) {
  auto const place = first_non_finite<double>(stream_, std::as_const(right_).span(), "auto");
  if (place >= 0) throw ConfigError({not_finite(run, inputs, place)});
}

/// Of a diagonal of equal elements `jacobi` makes a number.
template <class T>
void StencilSystem<T>::precondition(std::string const& asked) {
  bool const suits = method_ != Method::minres && lattice::has_cycle(stencil_.points);
  preconditioner_name_ = asked != "auto" ? asked : suits ? "multigrid" : "jacobi";
  if (preconditioner_name_ != "multigrid") return;
  preconditioner_ = lattice::cycle<T>(stream_, stencil_.points, stencil_.dims);
  options_.flexible = true;
}

/// A right-hand side in float64 and in units of its own.
template <class T>
Buffer<double> StencilSystem<T>::take_right(std::int64_t column, int& exponent) {
  Buffer<double> b;
  if (extents_.columns == 1) {
    b = std::move(right_);
  } else {
    b = {stream_, MemorySpace::device, static_cast<std::size_t>(extents_.rows)};
    elementwise::component<double>(stream_, std::as_const(right_).span(),
                                   static_cast<int>(extents_.columns), static_cast<int>(column),
                                   b.span());
  }
  double const largest = largest_of(moments_of<double>(stream_, std::as_const(b).span(), "auto"));
  // A power of two that has an inverse; what is smaller is still within reach of squares.
  constexpr int most = 1000;
  exponent = largest > 0 ? std::clamp(std::ilogb(largest), -most, most) : 0;
  if (exponent != 0) elementwise::scale<double>(stream_, std::ldexp(1.0, -exponent), b.span());
  return b;
}

template <class T>
krylov::Result StencilSystem<T>::iterate(std::span<T const> b, std::span<T> x,
                                         krylov::Options const& options) {
  krylov::Operator<T> const a = {
      .size = extents_.rows,
      .apply = [a = a_](Stream& stream, std::span<T const> from, std::span<T> to) {
        a->multiply(stream, from, to);
      }};
  return krylov::solve<T>(stream_, method_, a, preconditioner_, b, x, options);
}

/// What x' leaves of its equations, in float64.
template <class T>
Residual StencilSystem<T>::measure(Buffer<double> const& b, std::span<double const> x,
                                   int exponent) {
  Buffer<double> left(stream_, MemorySpace::device, b.size());
  precise_->multiply(stream_, x, left.span());
  elementwise::scale<double>(stream_, -1, left.span());
  elementwise::add<double>(stream_, b.span(), std::as_const(left).span(), left.span());
  auto const of_left = moments_of<double>(stream_, std::as_const(left).span(), "auto");
  auto const of_right = moments_of<double>(stream_, b.span(), "auto");
  double const largest_x = largest_of(moments_of<double>(stream_, x, "auto"));
  double const norm = std::sqrt(of_left.sum_of_squares);
  Residual found;
  found.norm = std::ldexp(norm, exponent);
  found.relative = found.scaled_relative = ratio(norm, std::sqrt(of_right.sum_of_squares));
  found.backward_error = found.scaled_backward_error =
      ratio(largest_of(of_left), precise_->norm() * largest_x + largest_of(of_right));
  return found;
}

/// x' from 0. Where products in T have made a residual look small that is not, it goes on from there; one
/// that they have made look large is as small as it is.
template <class T>
Residual StencilSystem<T>::solve(Buffer<double> const& b, Buffer<T>& x, int exponent,
                                 krylov::Result& result) {
  Rounded<T> const right(stream_, b);
  zero_async(x.span(), stream_);
  result = iterate(right.span(), x.span(), options_);
  auto const measured = [&] { return measure(b, Rounded<double>(stream_, x).span(), exponent); };
  auto left = measured();
  constexpr int most = 4;
  auto options = options_;
  for (int again = 0; again < most && result.converged() && left.relative > options_.tolerance;
       ++again) {
    options.tolerance /= 2;
    options.iterations = options_.iterations - result.iterations;
    if (options.iterations < 1) break;
    auto next = iterate(right.span(), x.span(), options);
    next.iterations += result.iterations;
    next.history.insert(next.history.begin(), result.history.begin(), result.history.end() - 1);
    result = std::move(next);
    left = measured();
  }
  if (result.outcome == krylov::Outcome::stagnated && left.relative <= options_.tolerance)
    result.outcome = krylov::Outcome::converged;
  if (result.converged() && left.relative > options_.tolerance) {
    result.outcome = krylov::Outcome::stagnated;
    result.advice = fmt::format(
        "the residual is {:.2e} of the right-hand side, and 0 as far as {} tells ({}a larger "
        "tolerance)",
        left.relative, name_of(precision_of<T>()),
        sizeof(T) == sizeof(float) ? "precision: float64, or " : "");
  }
  return left;
}

/// x = 2^e·x', rounded to T. Refuses it where that has taken from it what solves the equations.
template <class T>
void StencilSystem<T>::give_solution(std::int64_t column, Buffer<double> const& b, Buffer<T>& x,
                                     int exponent, Residual& left) {
  if (exponent != 0) {
    Buffer<double> kept(stream_, MemorySpace::device, x.size());
    round(stream_, std::as_const(x).span(), kept.span());
    elementwise::scale<double>(stream_, std::ldexp(1.0, exponent), kept.span());
    Buffer<T> held(stream_, MemorySpace::device, x.size());
    round(stream_, std::as_const(kept).span(), held.span());
    round(stream_, std::as_const(held).span(), kept.span());
    elementwise::scale<double>(stream_, std::ldexp(1.0, -exponent), kept.span());
    auto const now = measure(b, std::as_const(kept).span(), exponent);
    if (!is_held(now.relative, left.relative, options_.tolerance)) refuse_lost(x, exponent);
    left = now;
    std::swap(x, held);
  }
  if (extents_.columns == 1) return copy_async(x_.span(), std::as_const(x).span(), stream_);
  elementwise::Matrix<T> const target{x_.data() + column, extents_.rows, 1, extents_.columns};
  elementwise::matrix_add<T>(stream_, {x.data(), extents_.rows, 1, 1},
                             {target.data, target.rows, target.columns, target.stride}, target);
}

/// Names the first element of x' that T cannot hold in the units of x.
template <class T>
void StencilSystem<T>::refuse_lost(Buffer<T> const& x, int exponent) {
  std::vector<T> scaled(x.size());
  copy_async(std::span(scaled), x.span(), stream_);
  stream_.synchronize();
  auto const first = std::ranges::find_if(scaled, [&](T value) {
    int const size = value == T{0} ? 0 : std::ilogb(value) + exponent;
    return size < std::numeric_limits<T>::min_exponent - 1 ||
           size > std::numeric_limits<T>::max_exponent - 1;
  });
  auto const row = static_cast<std::size_t>(first - scaled.begin()) % scaled.size();
  throw no_place(
      precision_of<T>(), row,
      std::log10(std::abs(static_cast<double>(scaled[row]))) + exponent * std::log10(2.0));
}

template <class T>
void StencilSystem<T>::solve_column(std::int64_t column) {
  int exponent = 0;
  Buffer<double> b;
  Buffer<T> x(stream_, MemorySpace::device, static_cast<std::size_t>(extents_.rows));
  krylov::Result result;
  Residual left;
  times_.measure("solve", [&] {
    b = take_right(column, exponent);
    left = solve(b, x, exponent, result);
  });
  times_.measure("check", [&] { give_solution(column, b, x, exponent, left); });
  constexpr int longest_row = 27;
  if (rounding_limit_.is_reached(result, left, roundings<T>(longest_row))) {
    result.outcome = krylov::Outcome::converged;
    fallbacks_.push_back(report_.label(column) + told_of(left));
  }
  report_.add(column, name_of(method_), result, left);
}

template <class T>
void StencilSystem<T>::compute() {
  for (std::int64_t column = 0; column < extents_.columns; ++column) solve_column(column);
}

template <class T>
std::vector<NamedValue> StencilSystem<T>::diagnostics() const {
  auto values = report_.values();
  auto const& [neighbours, points, dims] = stencil_;
  values.push_back({"nonzeros", static_cast<double>(sparse::stencil_elements(neighbours, points))});
  auto const times = OneShot::diagnostics();
  values.insert(values.end(), times.begin(), times.end());
  return values;
}

}  // namespace

MemoryForecast stencil_memory(config::RunConfig const& run, Inputs const& inputs, Backend backend) {
  auto const extents = extents_of(run, inputs);
  auto const [neighbours, points, dims] = *stencil_of(parameters_of(run));
  std::size_t const element = size_of(run.precision);
  bool const is_double = run.precision == Precision::float64;
  auto const n = static_cast<std::size_t>(extents.rows);
  auto const size = static_cast<std::size_t>(extents.size());
  MemoryForecast forecast{
      .array_bytes = size * element, .arrays = 1, .array_name = "x", .key = "parameters.matrix"};
  forecast.field_bytes = forecast.array_bytes;
  auto const method = method_without_rows(run);
  std::string const& asked = parameters_of(run).preconditioner;
  bool const has_cycle = (asked == "multigrid" || (asked == "auto" && method != Method::minres)) &&
                         lattice::has_cycle(points);
  // All of b, and a column where there are several; x of that, b in float32; then either the method's
  // vectors, or what x leaves of its equations, and x in float64.
  std::size_t const columns =
      size * sizeof(double) + (extents.columns > 1 ? n * sizeof(double) : 0);
  std::size_t const vectors =
      std::max(krylov::work_bytes(method, extents.rows, element, options_of(run), has_cycle),
               n * sizeof(double) * (is_double ? 1 : 2));
  forecast.other_bytes = columns + n * element * (is_double ? 1 : 2) + vectors;
  if (has_cycle) forecast.other_bytes += lattice::cycle_bytes(backend, points, run.precision, dims);
  note_right(forecast, run, inputs);
  return forecast;
}

std::unique_ptr<Simulation> make_stencil(config::RunConfig const& run, Stream const& stream,
                                         Inputs const& inputs) {
  return make_simulation<StencilSystem>(run, stream, inputs);
}

}  // namespace gridstride::linear_system
