#include "simulations/linear_system_group.hpp"

#include <algorithm>

#include "simulations/linear_system_report.hpp"

namespace gridstride::linear_system {

template <class T>
void require_held(ScaledSystem<T> const& system, double tolerance, Solved<T>& solved,
                  std::span<T const> right, int exponent, std::span<T const> x) {
  auto const place = system.first_lost(solved.x, exponent);
  if (!place) return;
  auto const kept = system.back(x, exponent);
  auto const left = system.template residual<double>(kept, right, exponent);
  auto const holds = [&](double now, double before) {
    return now <= 2 * std::max(before, tolerance);
  };
  if (!holds(left.relative, solved.left.relative) ||
      !holds(left.scaled_relative, solved.left.scaled_relative))
    throw no_place(precision_of<T>(), *place,
                   system.magnitude_of(solved.x[*place], *place, exponent));
  solved.left = left;
}

template void require_held(ScaledSystem<float> const&, double, Solved<float>&,
                           std::span<float const>, int, std::span<float const>);
template void require_held(ScaledSystem<double> const&, double, Solved<double>&,
                           std::span<double const>, int, std::span<double const>);

}  // namespace gridstride::linear_system
