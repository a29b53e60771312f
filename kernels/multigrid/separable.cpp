#include "kernels/multigrid/separable.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/support/symmetric.hpp"

namespace gridstride::multigrid {

int level_solved(Levels const& plan, int along) {
  auto const is_small = [&](std::array<Axis, 3> const& axes) {
    return std::ranges::all_of(axes, [&](Axis const& axis) { return axis.unknowns() <= along; });
  };
  return static_cast<int>(std::ranges::find_if(plan.axes, is_small) - plan.axes.begin());
}

AxisModes modes_of(Axis const& axis, double diffusivity) {
  constexpr auto row = static_cast<std::size_t>(AxisModes::most_along);
  int const count = axis.unknowns();
  auto const n = static_cast<std::size_t>(count);
  // W·A_axis·W⁻¹ is symmetric: its elements are −a/(interval·√(width·width)). Of W ratios count.
  std::vector<double> root(n), matrix(n * n, 0);
  double const widest = *std::ranges::max_element(axis.widths);
  for (std::size_t i = 0; i < n; ++i)
    root[i] = std::sqrt(axis.widths[i + static_cast<std::size_t>(axis.first())] / widest);
  for (std::size_t i = 0; i < n; ++i) {
    auto const [below, above] = axis.couplings(static_cast<int>(i));
    matrix[i * n + i] += diffusivity * (below + above);
    auto const couple = [&](std::size_t other, double coupling) {
      matrix[i * n + other] -= diffusivity * coupling * root[i] / root[other];
    };
    if (i > 0 || axis.periodic) couple(i > 0 ? i - 1 : n - 1, below);
    if (i + 1 < n || axis.periodic) couple(i + 1 < n ? i + 1 : 0, above);
  }
  AxisModes modes;
  modes.eigenvalues.resize(n);
  diagonalise(count, matrix.data(), modes.eigenvalues.data());
  if (!axis.given[0] && !axis.given[1]) modes.eigenvalues[0] = 0;
  modes.forward.assign(n * row, 0);
  modes.backward.assign(n * row, 0);
  for (std::size_t mode = 0; mode < n; ++mode)
    for (std::size_t i = 0; i < n; ++i) {
      modes.forward[i * row + mode] = matrix[mode * n + i] * root[i];
      modes.backward[mode * row + i] = matrix[mode * n + i] / root[i];
    }
  return modes;
}

}  // namespace gridstride::multigrid
