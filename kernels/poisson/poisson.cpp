#include "kernels/poisson/poisson.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/poisson/line.hpp"
#include "kernels/poisson/point.hpp"
#include "kernels/poisson/shared.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::poisson {

namespace {

Rule rule_of(SideKind kind) {
  switch (kind) {
    case SideKind::periodic:
      return Rule::periodic;
    case SideKind::dirichlet:
      return Rule::dirichlet;
    case SideKind::neumann:
      return Rule::neumann;
    default:
      throw std::invalid_argument("poisson: a side is periodic, dirichlet or neumann");
  }
}

/// Places stay those of the whole grid. What is beside a periodic axis' first plane lies before it.
template <class T>
void take_part(Equation<T> const& equation, Operator<T>& a) {
  RankPlanes const& ranks = *equation.ranks;
  if (a.dims == 1 || ranks.all() != a.points[a.dims - 1])
    throw std::invalid_argument("poisson: ranks share the planes of another grid");
  int const slowest = a.dims - 1;
  a.planes[0] = ranks.lower();
  a.planes[1] = ranks.upper();
  std::int64_t const end = std::min(a.first[slowest] + a.count[slowest], a.planes[1]);
  a.first[slowest] = std::max(a.first[slowest], a.planes[0]);
  a.count[slowest] = std::max<std::int64_t>(end - a.first[slowest], 0);
  a.around[slowest] = -a.stride[slowest];
  a.diffusivities = at_places(equation, a.diffusivities);
  a.reactions = at_places(equation, a.reactions);
}

}  // namespace

template <class T>
Operator<T> operator_of(Equation<T> const& equation) {
  Grid const& grid = equation.grid;
  Operator<T> a{};
  a.dims = grid.dims;
  a.volume = 1;
  std::int64_t stride = 1;
  for (int axis = 0; axis < 3; ++axis) {
    a.points[axis] = grid.points[axis];
    a.stride[axis] = stride;
    a.around[axis] = (grid.points[axis] - 1) * stride;
    stride *= grid.points[axis];
    a.count[axis] = 1;
    if (axis >= grid.dims) continue;
    auto const [first, count] = unknowns(grid, equation.sides, axis);
    a.first[axis] = first;
    a.count[axis] = count;
    double const h = grid.spacing[axis];
    a.volume *= h;
    a.weight[axis] = (equation.diffusivities ? 0.5 : equation.diffusivity) / (h * h);
    for (int side = 0; side < 2; ++side) {
      Rule const rule = rule_of(equation.sides[axis][side]);
      a.side[axis][side] = rule;
      a.side_weight[axis][side] = a.weight[axis] * (rule == Rule::neumann ? 2 * h : 1);
    }
  }
  a.diffusivity = equation.diffusivity;
  a.reaction = equation.reaction;
  a.diffusivities = equation.diffusivities;
  a.reactions = equation.reactions;
  a.planes[1] = grid.points[grid.dims - 1];
  if (equation.ranks != nullptr) take_part(equation, a);
  return a;
}

namespace {

template <class T>
void require_points(Equation<T> const& equation, NamedBytes const& array) {
  require_size("poisson", array, static_cast<std::size_t>(points_held(equation)));
}

}  // namespace

Unknowns unknowns(Grid const& grid, Sides const& sides, int axis) {
  auto const [lower, upper] = sides[axis];
  std::int64_t const points = grid.points[axis];
  if (points < 3)
    throw std::invalid_argument(
        fmt::format("poisson: an axis has {} points (three at least are needed)", points));
  if ((lower == SideKind::periodic) != (upper == SideKind::periodic))
    throw std::invalid_argument("poisson: an axis is periodic as a whole");
  bool const at_lower = lower == SideKind::dirichlet, at_upper = upper == SideKind::dirichlet;
  return {at_lower ? 1 : 0, points - (at_lower ? 1 : 0) - (at_upper ? 1 : 0)};
}

template <class T>
void add_sides(Stream& stream, Equation<T> const& equation, SideValues<T> const& values,
               std::span<T> right) {
  require_points(equation, named("right", right));
  auto const a = operator_of(equation);
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_add_sides(stream, a, values, at_places(equation, right.data()));
#endif
  host_add_sides(stream, a, values, at_places(equation, right.data()));
}

namespace {

template <class T>
std::vector<Sums> of_all_parts(Equation<T> const& equation, Operator<T> const& a,
                               std::vector<Sums> const& own) {
  if (equation.ranks == nullptr) return own;
  auto const parts = Parts::of(a);
  std::vector<Sums> all(static_cast<std::size_t>(parts.count));
  std::ranges::copy(own, all.begin() + parts.first);
  auto const cuts =
      equation.ranks->cuts_of([&](std::int64_t planes) { return parts.of_first(planes); });
  share_parts(equation.ranks->ranks(), std::span(all), cuts);
  return all;
}

}  // namespace

template <class T>
Integral integrate(Stream& stream, Equation<T> const& equation,
                   std::type_identity_t<std::span<T const>> values,
                   std::type_identity_t<T const*> factors) {
  require_points(equation, named("values", values));
  auto const a = operator_of(equation);
  T const *const first = at_places(equation, values.data()), *const by =
                                                                 at_places(equation, factors);
  std::vector<Sums> own;
  if (stream.backend() == Backend::cpu) own = host_integrate(stream, a, first, by);
#ifdef GRIDSTRIDE_WITH_CUDA
  else
    own = cuda_integrate(stream, a, first, by);
#endif
  Sums sums;
  for (Sums const& part : of_all_parts(equation, a, own)) {
    sums.sum += part.sum;
    sums.magnitude += part.magnitude;
  }
  double volume = a.volume;
  for (int axis = 0; axis < a.dims; ++axis) {
    int const halved = (a.side[axis][0] == Rule::neumann) + (a.side[axis][1] == Rule::neumann);
    auto const count = unknowns(equation.grid, equation.sides, axis).count;
    volume *= static_cast<double>(count) - 0.5 * halved;
  }
  return {a.volume * sums.sum, a.volume * sums.magnitude, volume};
}

template <class T>
void shift(Stream& stream, double c, std::span<T> values) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_shift(stream, static_cast<T>(c), values);
#endif
  host_shift(stream, static_cast<T>(c), values);
}

template <class T>
Residual measure(Stream& stream, Equation<T> const& equation,
                 std::type_identity_t<std::span<T const>> u,
                 std::type_identity_t<std::span<T const>> right) {
  require_points(equation, named("u", u));
  require_points(equation, named("right", right));
  auto const a = operator_of(equation);
  T const *const of_u = at_places(equation, u.data()), *const of_right =
                                                           at_places(equation, right.data());
  Largest largest;
  if (stream.backend() == Backend::cpu) largest = host_measure(stream, a, of_u, of_right);
#ifdef GRIDSTRIDE_WITH_CUDA
  else
    largest = cuda_measure(stream, a, of_u, of_right);
#endif
  largest = of_all_ranks(equation, largest);
  auto const number = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
  Residual residual{number(largest.residual), 0};
  if (residual.largest != 0)
    residual.backward_error = number(largest.relative) / number(largest.value);
  if (!(residual.backward_error < std::numeric_limits<double>::infinity()))
    residual.backward_error = std::numeric_limits<double>::infinity();
  return residual;
}

template <class T>
void subtract_product(Stream& stream, Equation<T> const& equation,
                      std::type_identity_t<std::span<T const>> u, std::span<T> right) {
  require_points(equation, named("u", u));
  require_points(equation, named("right", right));
  require_disjoint("poisson", named("u", u), named("right", right));
  auto const a = operator_of(equation);
  T const* const of_u = at_places(equation, u.data());
  T* const of_right = at_places(equation, right.data());
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_subtract_product(stream, a, of_u, of_right);
#endif
  host_subtract_product(stream, a, of_u, of_right);
}

namespace {

template <class T>
Operator<T> line_of(Equation<T> const& equation) {
  if (equation.grid.dims != 1)
    throw std::invalid_argument("poisson: a line's equations are those of a grid of one axis");
  return operator_of(equation);
}

}  // namespace

template <class T>
void fill_coefficients(Stream& stream, Equation<T> const& equation, std::span<double> lower,
                       std::span<double> diagonal, std::span<double> upper) {
  auto const a = line_of(equation);
  for (auto const& array :
       {named("lower", lower), named("diagonal", diagonal), named("upper", upper)})
    require_points(equation, array);
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_fill_coefficients(stream, a, lower.data(), diagonal.data(), upper.data());
#endif
  host_fill_coefficients(stream, a, lower.data(), diagonal.data(), upper.data());
}

template <class T>
void line_residual(Stream& stream, Equation<T> const& equation, std::span<double const> u,
                   std::type_identity_t<std::span<T const>> right, std::span<double> residual) {
  auto const a = line_of(equation);
  require_points(equation, named("u", u));
  require_points(equation, named("right", right));
  require_points(equation, named("residual", residual));
  require_disjoint("poisson", named("u", u), named("residual", residual));
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_line_residual(stream, a, u.data(), right.data(), residual.data());
#endif
  host_line_residual(stream, a, u.data(), right.data(), residual.data());
}

template <class T>
void correct(Stream& stream, std::span<double const> correction, std::span<double> u,
             std::span<T> rounded) {
  require_same_size("poisson", named("correction", correction), named("u", u));
  require_same_size("poisson", named("rounded", rounded), named("u", u));
  require_disjoint("poisson", named("rounded", rounded), named("u", u));
  auto const size = static_cast<std::int64_t>(u.size());
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_correct(stream, size, correction.data(), u.data(), rounded.data());
#endif
  host_correct(stream, size, correction.data(), u.data(), rounded.data());
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template Operator<T> operator_of(Equation<T> const&);                                           \
  template void add_sides(Stream&, Equation<T> const&, SideValues<T> const&, std::span<T>);       \
  template Integral integrate(Stream&, Equation<T> const&, std::span<T const>, T const*);         \
  template void shift(Stream&, double, std::span<T>);                                             \
  template Residual measure(Stream&, Equation<T> const&, std::span<T const>, std::span<T const>); \
  template void subtract_product(Stream&, Equation<T> const&, std::span<T const>, std::span<T>);  \
  template void fill_coefficients(Stream&, Equation<T> const&, std::span<double>,                 \
                                  std::span<double>, std::span<double>);                          \
  template void line_residual(Stream&, Equation<T> const&, std::span<double const>,               \
                              std::span<T const>, std::span<double>);                             \
  template void correct(Stream&, std::span<double const>, std::span<double>, std::span<T>);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::poisson
