#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "support/pde_cases.hpp"

/// Systems that go by the modes of their grid.
namespace gridstride::test {

/// Two-dimensional flow of vorticity w and stream function psi on [0, 2π]².
inline std::string vorticity_pde(int points, double viscosity, std::string_view vorticity,
                                 std::string_view scheme, double end, int steps) {
  return fmt::format(
      "simulation: pde\n"
      "grid: {{points: [{0}, {0}], upper: [2*pi, 2*pi]}}\n"
      "boundary: {{x: periodic, y: periodic}}\n"
      "space: {{derivatives: spectral}}\n"
      "equations:\n"
      "  w: \"{1}*laplace(w) - advect([d_dy(psi), -d_dx(psi)], w)\"\n"
      "  0: \"laplace(psi) + w\"\n"
      "initial: {{w: \"{2}\"}}\n"
      "time: {{scheme: {3}, end: {4}, step: {5}}}\n",
      points, viscosity, vorticity, scheme, end, end / steps);
}

/// Kuramoto and Sivashinsky's equation as Trefethen and Kassam take it, on [0, 32π].
inline std::string kuramoto_sivashinsky_pde(std::string_view scheme, double end, int steps) {
  return fmt::format(
      "simulation: pde\n"
      "grid: {{points: 128, upper: 32*pi}}\n"
      "boundary: {{x: periodic}}\n"
      "space: {{derivatives: spectral}}\n"
      "equations: {{u: \"-d_dx(u^2/2) - d2_dx2(u) - d2_dx2(d2_dx2(u))\"}}\n"
      "initial: {{u: \"cos(x/16)*(1 + sin(x/16))\"}}\n"
      "time: {{scheme: {}, end: {}, step: {}}}\n",
      scheme, end, end / steps);
}

inline double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// The order that differences from a fine solution fall with, between `steps` and twice as many.
template <class Make>
double order_of(Make const& make, std::string_view scheme, std::vector<double> const& exact,
                int steps) {
  auto const error = [&](int n) {
    return largest_difference(run_pde(make(scheme, n)).fields[0], exact);
  };
  return std::log2(error(steps) / error(2 * steps));
}

}  // namespace gridstride::test
