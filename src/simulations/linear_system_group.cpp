#include "simulations/linear_system_group.hpp"

#include "simulations/linear_system_report.hpp"
#include "simulations/linear_system_rounding.hpp"

namespace gridstride::linear_system {

template <class T>
void require_held(ScaledSystem<T> const& system, double tolerance, Solved<T>& solved,
                  std::span<T const> right, int exponent, std::span<T const> x) {
  auto const place = system.first_lost(solved.x, exponent);
  if (!place) return;
  auto const kept = system.back(x, exponent);
  auto const left = system.template residual<double>(kept, right, exponent);
  if (!is_held(left.relative, solved.left.relative, tolerance) ||
      !is_held(left.scaled_relative, solved.left.scaled_relative, tolerance))
    throw no_place(precision_of<T>(), *place,
                   system.magnitude_of(solved.x[*place], *place, exponent));
  solved.left = left;
}

template <class T>
Group<T> begin_group(Stream& stream, ScaledSystem<T> const& system, double tolerance,
                     std::span<std::span<double const> const> rights, std::int64_t first) {
  Group<T> group{.first = first};
  auto const n = static_cast<std::size_t>(system.rows().rows), count = rights.size();
  group.exponents.resize(count);
  group.b = {stream, MemorySpace::device, count * n};
  group.x = {stream, MemorySpace::device, count * n};
  for (std::size_t k = 0; k < count; ++k) {
    group.rights.push_back(system.scaled_right(rights[k], group.exponents[k]));
    if (auto const row =
            system.lost_of_right(rights[k], group.rights[k], group.exponents[k], tolerance))
      throw no_place_of_right(precision_of<T>(), *row, rights[k][*row]);
    copy_async(group.b_of(k), std::span<T const>(group.rights[k]), stream);
  }
  return group;
}

template Group<float> begin_group(Stream&, ScaledSystem<float> const&, double,
                                  std::span<std::span<double const> const>, std::int64_t);
template Group<double> begin_group(Stream&, ScaledSystem<double> const&, double,
                                   std::span<std::span<double const> const>, std::int64_t);
template void require_held(ScaledSystem<float> const&, double, Solved<float>&,
                           std::span<float const>, int, std::span<float const>);
template void require_held(ScaledSystem<double> const&, double, Solved<double>&,
                           std::span<double const>, int, std::span<double const>);

}  // namespace gridstride::linear_system
