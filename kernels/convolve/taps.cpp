#include "kernels/convolve/taps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "kernels/convolve/convolve.hpp"

namespace gridstride::convolve {

namespace {

template <class... Numbers>
void require(bool condition, std::string_view message, Numbers const&... numbers) {
  if (!condition) throw std::invalid_argument(fmt::format(fmt::runtime(message), numbers...));
}

}  // namespace

std::int64_t gaussian_radius(double sigma, double truncate) {
  double const radius = std::floor(truncate * sigma + 0.5);
  require(sigma > 0 && truncate > 0 && 2 * radius + 1 <= most_taps,
          "gaussian: sigma {} and truncate {} give no filter of 1 to {} taps", sigma, truncate,
          most_taps);
  return static_cast<std::int64_t>(radius);
}

Taps gaussian(double sigma, int order, double truncate) {
  require(order >= 0, "gaussian: there is no derivative of order {}", order);
  std::int64_t const radius = gaussian_radius(sigma, truncate);
  // d/dx (q(x)·g(x)) = (q'(x) − x/σ²·q(x))·g(x)
  std::vector<double> q(static_cast<std::size_t>(order) + 1);
  q[0] = 1;
  for (int m = 0; m < order; ++m) {
    std::vector<double> next(q.size());
    for (std::size_t i = 0; i < q.size(); ++i) {
      if (i > 0) next[i - 1] += static_cast<double>(i) * q[i];
      if (i + 1 < q.size()) next[i + 1] -= q[i] / (sigma * sigma);
    }
    q = next;
  }
  Taps taps{{}, radius};
  double sum = 0;
  for (std::int64_t k = -radius; k <= radius; ++k) {
    auto const x = static_cast<double>(k);
    double const value = std::exp(-0.5 / (sigma * sigma) * x * x);
    double polynomial = 0;
    for (auto factor = q.rbegin(); factor != q.rend(); ++factor)
      polynomial = polynomial * x + *factor;
    sum += value;
    taps.values.push_back(polynomial * value);
  }
  for (double& value : taps.values) value /= sum;
  return taps;
}

Taps box(std::int64_t size, std::int64_t origin) {
  require(size >= 1 && size <= most_taps, "box: {} is no size (1 to {})", size, most_taps);
  require(-(size / 2) <= origin && origin <= (size - 1) / 2,
          "box: origin {} is outside of {} to {} for {} points", origin, -(size / 2),
          (size - 1) / 2, size);
  return {std::vector<double>(static_cast<std::size_t>(size), 1.0 / static_cast<double>(size)),
          size - 1 - size / 2 - origin};
}

/// Fornberg's recurrence: the weights of all derivatives up to `order` at 0, for one more point at
/// a time. The points are taken from the middle outwards.
Taps central_difference(int order, int accuracy) {
  require(order >= 1 && order <= most_derivatives, "central_difference: order {} is not 1 to {}",
          order, most_derivatives);
  require(accuracy >= 2 && accuracy <= most_accuracy && accuracy % 2 == 0,
          "central_difference: accuracy {} is not even or not 2 to {}", accuracy, most_accuracy);
  int const radius = (order + 1) / 2 - 1 + accuracy / 2;
  std::vector<double> points = {0};
  for (int i = 1; i <= radius; ++i) points.insert(points.end(), {double(i), double(-i)});
  using Weights = std::array<double, most_derivatives + 1>;  // of each derivative
  std::vector<Weights> weights(points.size(), Weights{});
  weights[0][0] = 1;
  double last_product = 1;
  for (std::size_t n = 1; n < points.size(); ++n) {
    double product = 1;
    Weights const before = weights[n - 1];
    for (std::size_t j = 0; j < n; ++j) {
      double const gap = points[n] - points[j];
      product *= gap;
      for (std::size_t m = static_cast<std::size_t>(order) + 1; m-- > 0;) {
        double const below = m == 0 ? 0 : static_cast<double>(m) * weights[j][m - 1];
        weights[j][m] = (points[n] * weights[j][m] - below) / gap;
      }
    }
    for (std::size_t m = 0; m <= static_cast<std::size_t>(order); ++m) {
      double const below = m == 0 ? 0 : static_cast<double>(m) * before[m - 1];
      weights[n][m] = last_product / product * (below - points[n - 1] * before[m]);
    }
    last_product = product;
  }
  Taps taps{std::vector<double>(points.size()), radius};
  for (std::size_t n = 0; n < points.size(); ++n)
    taps.values[static_cast<std::size_t>(radius - static_cast<int>(points[n]))] =
        weights[n][static_cast<std::size_t>(order)];
  return taps;
}

namespace {

/// The derivatives 0 … `highest` at x of Gram's polynomials of degree 0 … `degree` on the points
/// −m … m: result[k][s].
std::vector<std::vector<double>> gram_polynomials(double m, int degree, int highest, double x) {
  std::vector<std::vector<double>> p(static_cast<std::size_t>(degree) + 1,
                                     std::vector<double>(static_cast<std::size_t>(highest) + 1));
  p[0][0] = 1;
  for (std::size_t k = 1; k < p.size(); ++k) {
    auto const n = static_cast<double>(k);
    double const scale = n * (2 * m - n + 1);
    for (std::size_t s = 0; s < p[k].size(); ++s) {
      double const lower = s == 0 ? 0 : static_cast<double>(s) * p[k - 1][s - 1];
      p[k][s] = 2 * (2 * n - 1) / scale * (x * p[k - 1][s] + lower);
      if (k > 1) p[k][s] -= (n - 1) * (2 * m + n) / scale * p[k - 2][s];
    }
  }
  return p;
}

}  // namespace

Taps savitzky_golay(std::int64_t window, int degree, int derivative) {
  require(window >= 1 && window <= most_taps && window % 2 == 1,
          "savitzky_golay: a window of {} points is not odd or not 1 to {}", window, most_taps);
  require(degree >= 0 && degree <= most_degree && degree < window,
          "savitzky_golay: degree {} is not 0 to {}, or not below the window of {} points", degree,
          most_degree, window);
  require(derivative >= 0 && derivative <= degree,
          "savitzky_golay: derivative {} is not 0 to {}, the degree", derivative, degree);
  std::int64_t const half = window / 2;
  auto const m = static_cast<double>(half);
  auto const middle = gram_polynomials(m, degree, derivative, 0);
  Taps taps{{}, half};
  for (std::int64_t i = half; i >= -half; --i) {
    auto const here = gram_polynomials(m, degree, 0, static_cast<double>(i));
    double sum = 0, weight = 1 / (2 * m + 1);
    for (std::size_t k = 0; k < here.size(); ++k) {
      auto const n = static_cast<double>(k);
      if (k > 0) weight *= (2 * m - n + 1) / (2 * m + n + 1);
      sum += (2 * n + 1) * weight * here[k][0] * middle[k][static_cast<std::size_t>(derivative)];
    }
    taps.values.push_back(sum);
  }
  return taps;
}

}  // namespace gridstride::convolve
