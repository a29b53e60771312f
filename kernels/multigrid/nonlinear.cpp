#include "kernels/multigrid/nonlinear.hpp"

#include <array>
#include <bit>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/multigrid/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::multigrid {

namespace {

poisson::Operator<double> operator_at(NonlinearEquation const& equation) {
  return poisson::operator_of<double>(
      {.grid = equation.grid, .sides = equation.sides, .diffusivities = equation.a});
}

Extent unknowns_of(poisson::Operator<double> const& a) {
  return {static_cast<int>(a.count[0]), static_cast<int>(a.count[1]), static_cast<int>(a.count[2])};
}

/// The largest of what a step finds.
template <class Step>
std::array<double, 2> largest_of(Stream& stream, Step const& step) {
  Buffer<Found> found(stream, MemorySpace::device, 1);
  zero_async(found.span(), stream);
  find(stream, step, found.data());
  Found largest;
  copy_async(std::span(&largest, 1), std::as_const(found).span(), stream);
  stream.synchronize();
  return {std::bit_cast<double>(largest.first), std::bit_cast<double>(largest.second)};
}

}  // namespace

Defect find_defect(Stream& stream, NonlinearEquation const& equation, std::span<double> defect) {
  require_size("multigrid", named("defect", defect),
               static_cast<std::size_t>(equation.grid.size()));
  auto const a = operator_at(equation);
  zero_async(defect, stream);
  auto const [largest, magnitude] =
      largest_of(stream, TakeDefect{a, unknowns_of(a), equation.u, equation.r, defect.data()});
  return {largest, magnitude};
}

void apply(Stream& stream, Linearised const& equation, std::span<double const> v,
           std::span<double> y) {
  auto const size = static_cast<std::size_t>(equation.at.grid.size());
  require_size("multigrid", named("v", v), size);
  require_size("multigrid", named("y", y), size);
  require_disjoint("multigrid", named("v", v), named("y", y));
  auto const a = operator_at(equation.at);
  zero_async(y, stream);
  each(stream, ApplyLinearised{a, unknowns_of(a), equation.at.u, equation.slope_of_a,
                               equation.slope_of_r, v.data(), y.data()});
}

Change advance(Stream& stream, NonlinearEquation const& equation, double factor,
               std::span<double const> direction, std::span<double> u) {
  auto const size = static_cast<std::size_t>(equation.grid.size());
  require_size("multigrid", named("direction", direction), size);
  require_size("multigrid", named("u", u), size);
  auto const a = operator_at(equation);
  Places places{0, {a.stride[0], a.stride[1], a.stride[2]}};
  for (int axis = 0; axis < 3; ++axis) places.first += a.first[axis] * a.stride[axis];
  auto const [largest, value] =
      largest_of(stream, GoAlong{unknowns_of(a), places, direction.data(), u.data(), factor});
  return {largest, value};
}

}  // namespace gridstride::multigrid
