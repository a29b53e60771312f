// How good modes are that have been found.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/error.hpp"
#include "kernels/eigen/rows.hpp"

namespace gridstride::eigen {

Small modes_of(Small const& products, bool largest, std::vector<double>& values) {
  int const n = products.rows;
  double const sign = largest ? -1 : 1;
  Small symmetric(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      symmetric(i, j) = sign * (products(i, j) + products(j, i)) / 2;
      if (!std::isfinite(symmetric(i, j)))
        throw NumericalError("eigen: products with the operator are not finite");
    }
  values = decompose_small(symmetric);
  for (double& value : values) value *= sign;
  return symmetric;
}

void require_modes(std::string_view method, Operator const& a, Options const& options) {
  if (options.modes < 1 || options.modes > a.unknowns || options.modes > most_modes)
    throw std::invalid_argument(fmt::format("{}: {} modes of {} unknowns (1 to {} are possible)",
                                            method, options.modes, a.unknowns,
                                            std::min<std::int64_t>(a.unknowns, most_modes)));
}

double largest_residual(Options const& options, double norm, std::span<double const> values,
                        int mode) {
  double largest = 0;
  for (double const value : values) largest = std::max(largest, std::abs(value));
  auto const [low, high] = std::minmax_element(values.begin(), values.end());
  double const spread = *high - *low;
  double scale = std::max(std::abs(values[static_cast<std::size_t>(mode)]), 1e-3 * largest);
  if (spread > 1e-8 * norm) scale = std::min(scale, spread);  // else they count as one
  return std::max(options.tolerance * scale, roundings(norm));
}

int count_found(Options const& options, double norm, std::span<double const> values,
                std::span<double const> residuals) {
  int count = 0;
  while (count < options.modes && residuals[static_cast<std::size_t>(count)] <=
                                      largest_residual(options, norm, values, count))
    ++count;
  return count;
}

Judged judge(Stream& stream, Operator const& a, int rows, double const* x) {
  constexpr int at_once = 16;
  std::int64_t const size = a.space.size;
  auto const values = static_cast<std::size_t>(size * std::min(rows, at_once));
  Buffer<double> images(stream, MemorySpace::device, values),
      rest(stream, MemorySpace::device, values);
  zero_async(images.span(), stream);
  Judged all;
  for (int first = 0; first < rows; first += at_once) {
    int const count = std::min(at_once, rows - first);
    Rows const some{{{const_cast<double*>(x) + first * size, count}, {}, {}}};
    Rows const mapped{{{images.data(), count}, {}, {}}};
    a.apply(stream, count, x + first * size, images.data());
    Small const products = gram(stream, a.space, some, mapped);
    Small const squares = gram(stream, a.space, some, some);
    std::vector<double> quotients;
    for (int i = 0; i < count; ++i) quotients.push_back(products(i, i) / squares(i, i));
    auto const norms =
        residuals(stream, a.space, some, mapped, quotients, {{{rest.data(), count}, {}, {}}});
    for (int i = 0; i < count; ++i) {
      all.values.push_back(quotients[static_cast<std::size_t>(i)]);
      all.residuals.push_back(norms[static_cast<std::size_t>(i)] / std::sqrt(squares(i, i)));
    }
  }
  return all;
}

std::vector<double> error_bounds(std::span<double const> values, std::span<double const> residuals,
                                 std::optional<double> next, double rounding) {
  std::vector<double> bounds;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double squares = 0, distance = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < values.size(); ++j) {
      double const apart = std::abs(values[i] - values[j]);
      if (apart > 10 * (residuals[i] + residuals[j] + rounding))
        distance = std::min(distance, apart - residuals[j]);
      else
        squares += residuals[j] * residuals[j];
    }
    bool const is_apart = next && std::abs(*next - values[i]) > 10 * (residuals[i] + rounding);
    if (next) distance = is_apart ? std::min(distance, std::abs(*next - values[i])) : 0;
    bool const is_known = next || values.size() > 1;
    double const sharp = is_known && distance > 0 ? squares / distance : residuals[i];
    bounds.push_back(std::min(residuals[i], sharp) + rounding);
  }
  return bounds;
}

}  // namespace gridstride::eigen
