#include "kernels/poisson/transform.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/poisson/shared_transforms.hpp"

namespace gridstride::poisson {

namespace {

fft::Kind kind_of(std::array<SideKind, 2> const& sides) {
  if (sides[0] == SideKind::periodic) return fft::Kind::periodic;
  constexpr fft::Kind kinds[2][2] = {
      {fft::Kind::neumann_neumann, fft::Kind::neumann_dirichlet},
      {fft::Kind::dirichlet_neumann, fft::Kind::dirichlet_dirichlet}};
  return kinds[sides[0] == SideKind::dirichlet][sides[1] == SideKind::dirichlet];
}

}  // namespace

TransformShape transform_shape(Grid const& grid, Sides const& sides) {
  TransformShape result;
  fft::Strides strides{{0, 0, 0}, 0};
  std::int64_t stride = 1;
  for (int axis = 0; axis < grid.dims; ++axis) {
    auto const i = static_cast<std::size_t>(axis);
    auto const [first, count] = unknowns(grid, sides, axis);
    result.shape.points[i] = count;
    result.shape.kinds[i] = kind_of(sides[i]);
    strides.axes[i] = stride;
    result.first += first * stride;
    stride *= grid.points[i];
  }
  result.shape.in = result.shape.out = strides;
  return result;
}

std::size_t transform_bytes(Backend backend, fft::Shape const& shape, std::size_t value_bytes) {
  constexpr std::int64_t held = 2048, most = std::int64_t{1} << 24;
  std::int64_t numbers = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t const points = shape.points[axis];
    if (shape.kinds[axis] == fft::Kind::none || points <= held) continue;
    // A convolution of a line that goes on to a period: twice the points, and what makes it smooth.
    std::int64_t const line = 2 * points + points / 4 + 8;
    numbers = std::max(numbers, std::max(line, std::min(most, shape.size() / points * line)));
  }
  return backend == Backend::cpu ? 0 : static_cast<std::size_t>(2 * 2 * numbers) * value_bytes;
}

std::vector<double> eigenvalues(Grid const& grid, Sides const& sides, int axis) {
  auto const i = static_cast<std::size_t>(axis);
  auto values = fft::angles(kind_of(sides[i]), unknowns(grid, sides, axis).count);
  for (double& value : values) {
    double const root = 2 / grid.spacing[i] * std::sin(value / 2);
    value = root * root;
  }
  return values;
}

double nearest_eigenvalue(Grid const& grid, Sides const& sides, double diffusivity,
                          double reaction) {
  std::array<std::vector<double>, 3> of_axis = {{{0}, {0}, {0}}};
  for (int axis = 0; axis < grid.dims; ++axis)
    of_axis[static_cast<std::size_t>(axis)] = eigenvalues(grid, sides, axis);
  auto& [x, y, z] = of_axis;
  std::ranges::sort(x);
  double nearest = std::numeric_limits<double>::infinity();
  auto const look = [&](double value) {
    if (std::abs(value) < std::abs(nearest)) nearest = value;
  };
  for (double const of_z : z)
    for (double const of_y : y) {
      double const rest = diffusivity * (of_y + of_z) + reaction;
      auto const above = std::ranges::lower_bound(x, -rest / diffusivity);
      if (above != x.end()) look(diffusivity * *above + rest);
      if (above != x.begin()) look(diffusivity * *std::prev(above) + rest);
    }
  return nearest;
}

template <class T>
TransformSolver<T>::TransformSolver(Stream& stream, Equation<T> const& equation)
    : dims_(equation.grid.dims),
      unknowns_(transform_shape(equation.grid, equation.sides)),
      reaction_(equation.reaction) {
  if (equation.diffusivities != nullptr || equation.reactions != nullptr)
    throw std::invalid_argument("poisson: transforms need the same coefficients everywhere");
  for (int axis = 0; axis < equation.grid.dims; ++axis) {
    std::vector<T> scaled;
    for (double const value : eigenvalues(equation.grid, equation.sides, axis))
      scaled.push_back(static_cast<T>(equation.diffusivity * value));
    auto& table = eigenvalues_[static_cast<std::size_t>(axis)];
    table = {stream, MemorySpace::device, scaled.size()};
    copy_async(table.span(), std::span<T const>(scaled), stream);
    stream.synchronize();
  }
  if (equation.ranks != nullptr) shared_ = std::make_shared<SharedTransforms<T>>(stream, equation);
}

template <class T>
void TransformSolver<T>::solve(Stream& stream, std::span<T const> right, std::span<T> u,
                               std::string_view variant) const {
  if (shared_) return solve_shared(stream, right, u, variant);
  fft::Eigenvalues<T> values{static_cast<T>(reaction_), {}};
  for (std::size_t axis = 0; axis < 3; ++axis) values.axes[axis] = eigenvalues_[axis].span();
  auto const first = static_cast<std::size_t>(unknowns_.first);
  fft::solve<T>(stream, unknowns_.shape, values, right.subspan(first), u.subspan(first), variant);
}

template <class T>
void TransformSolver<T>::solve_shared(Stream& stream, std::span<T const> right, std::span<T> u,
                                      std::string_view variant) const {
  auto const slowest = static_cast<std::size_t>(dims_ - 1);
  fft::Shape within = unknowns_.shape;
  within.kinds[slowest] = fft::Kind::none;
  fft::Eigenvalues<T> values{static_cast<T>(reaction_), {}, fft::round_trip(within)};
  shared_->through_columns(stream, right, u, variant, [&](Stream& on, SharedPart const& part) {
    fft::Shape shape = part.shape;
    shape.kinds[slowest] = unknowns_.shape.kinds[slowest];
    for (std::size_t axis = 0; axis <= slowest; ++axis)
      values.axes[axis] = eigenvalues_[axis].span().subspan(
          static_cast<std::size_t>(part.begin[axis]), static_cast<std::size_t>(shape.points[axis]));
    auto const columns = shared_->columns().subspan(static_cast<std::size_t>(part.first));
    fft::solve<T>(on, shape, values, columns, columns, variant);
  });
}

template <class T>
std::string_view TransformSolver<T>::transport() const {
  return shared_->transport();
}

template class TransformSolver<float>;
template class TransformSolver<double>;

}  // namespace gridstride::poisson
