#include "equations/modal_operators.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "core/error.hpp"
#include "equations/differences.hpp"
#include "equations/terms.hpp"
#include "grid/grid.hpp"

namespace gridstride::equations {
namespace {

/// What is left of terms that cancel but for least_left counts as nothing.
constexpr double least_left = 1e-15;

void add_one(Operator& sum, Orders const& orders, double value) {
  double& coefficient = sum[orders];
  double const before = coefficient;
  coefficient += value;
  if (std::abs(coefficient) <= least_left * std::abs(before)) sum.erase(orders);
}

Orders together(Orders const& a, Orders const& b) {
  Orders result = {};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    int const order = a[axis] + b[axis];
    if (order > max_order)
      throw Error(fmt::format("a derivative is of order {} along {} (at most {})", order,
                              axis_names[axis], max_order));
    result[axis] = static_cast<std::int8_t>(order);
  }
  return result;
}

/// `d2_dx2`, `d_dx d_dy`
std::string derivative_text(Orders const& orders, int dims) {
  std::string text;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims); ++axis) {
    if (orders[axis] == 0) continue;
    if (!text.empty()) text += ' ';
    text += orders[axis] == 1 ? fmt::format("d_d{}", axis_names[axis])
                              : fmt::format("d{0}_d{1}{0}", orders[axis], axis_names[axis]);
  }
  return text;
}

}  // namespace

Orders first_along(int axis) {
  Orders orders = {};
  orders[static_cast<std::size_t>(axis)] = 1;
  return orders;
}

void add_to(Operator& sum, Operator const& what, double factor, Orders const& orders) {
  for (auto const& [of, coefficient] : what)
    add_one(sum, together(of, orders), coefficient * factor);
}

Operator multiplied(Operator const& a, Operator const& b) {
  Operator product;
  for (auto const& [orders, coefficient] : a) add_to(product, b, coefficient, orders);
  return product;
}

bool is_one(Operator const& of) { return of == Operator{{Orders{}, 1.0}}; }

std::string to_text(Operator const& of, int dims) {
  std::string text;
  for (auto one = of.rbegin(); one != of.rend(); ++one) {
    auto const& [orders, coefficient] = *one;
    std::string const derivative = derivative_text(orders, dims);
    double const size = text.empty() ? coefficient : std::abs(coefficient);
    if (!text.empty()) text += coefficient < 0 ? " - " : " + ";
    if (derivative.empty())
      text += fmt::format("{:g}", size);
    else if (std::abs(size) == 1)
      text += (size < 0 ? "-" : "") + derivative;
    else
      text += fmt::format("{:g} {}", size, derivative);
  }
  return text.empty() ? "0" : text;
}

std::complex<double> symbol_of(Symbols symbols, int order_of_differences, int order, double angle,
                               bool nyquist, double spacing) {
  if (order == 0) return 1;
  if (symbols == Symbols::exact) {
    if (nyquist && order % 2 != 0) return 0;
    double const size = std::pow(angle / spacing, order);
    std::complex<double> const turns[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return size * turns[order % 4];
  }
  auto const& differences = differences_of(order_of_differences);
  double second = 0, first = 0;
  for (std::size_t k = 0; k < differences.second.weights.size(); ++k) {
    double const half = std::sin(static_cast<double>(k + 1) * angle / 2);
    second -= differences.second.weights[k] / differences.second.divisor * 4 * half * half;
  }
  for (std::size_t k = 0; k < differences.first.weights.size(); ++k)
    first += differences.first.weights[k] / differences.first.divisor * 2 *
             std::sin(static_cast<double>(k + 1) * angle);
  double const even = std::pow(second / (spacing * spacing), order / 2);
  if (order % 2 == 0) return even;
  return nyquist ? 0 : std::complex<double>(0, first / spacing) * even;
}

std::complex<double> symbol_of(Symbols symbols, int order_of_differences, Operator const& of,
                               Mode const& mode, std::array<double, 3> const& spacing) {
  std::complex<double> sum = 0;
  for (auto const& [orders, coefficient] : of) {
    std::complex<double> product = coefficient;
    for (std::size_t axis = 0; axis < 3; ++axis)
      product *= symbol_of(symbols, order_of_differences, orders[axis], mode.angles[axis],
                           mode.nyquist[axis], spacing[axis]);
    sum += product;
  }
  return sum;
}

}  // namespace gridstride::equations
