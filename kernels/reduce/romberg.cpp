#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <stdexcept>

#include "kernels/reduce/running_operations.hpp"

namespace gridstride::reduce {

namespace {

/// What the results of the trapezoidal rule with steps h, 2h, …, 2^k·h are taken times in the last
/// entry of Romberg's table: its entries are carried along as sums of those results.
std::vector<double> extrapolation(int k) {
  auto const count = static_cast<std::size_t>(k) + 1;
  std::vector<std::vector<double>> rows(count, std::vector<double>(count));
  for (std::size_t j = 0; j < count; ++j) rows[j][j] = 1;
  for (std::size_t m = 1; m < count; ++m) {
    double const factor = 1 / (std::ldexp(1.0, 2 * static_cast<int>(m)) - 1);
    for (std::size_t j = 0; j + m < count; ++j)
      for (std::size_t i = 0; i < count; ++i) rows[j][i] += (rows[j][i] - rows[j + 1][i]) * factor;
  }
  return rows.front();
}

}  // namespace

std::vector<double> romberg_weights(std::int64_t points, bool of_half) {
  if (points < 3 || !std::has_single_bit(static_cast<std::uint64_t>(points - 1)))
    throw std::invalid_argument(
        fmt::format("romberg: {} points are not 2^k + 1, 3 at least", points));
  int const skipped = of_half ? 1 : 0;
  int const k = std::countr_zero(static_cast<std::uint64_t>(points - 1)) - skipped;
  auto const factors = extrapolation(k);
  std::vector<double> table(romberg_places);
  double weight = 0;
  for (int j = 0; j <= k; ++j) {
    weight += 12 * std::ldexp(factors[static_cast<std::size_t>(j)], j + skipped);
    // Points of a larger index than k are both ends, which each step has a half of.
    table[static_cast<std::size_t>(j < k ? j + skipped : romberg_places - 1)] =
        j < k ? weight : weight / 2;
  }
  return table;
}

}  // namespace gridstride::reduce
