#include "kernels/stencil/implicit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/stencil/implicit_rows.hpp"

namespace gridstride::stencil {

namespace {

constexpr char axis_letters[] = "xyz";
constexpr std::string_view lines_variant = "lines";

SideRule rule_of(SideKind kind) {
  return kind == SideKind::dirichlet ? SideRule::dirichlet
         : kind == SideKind::neumann ? SideRule::neumann
                                     : SideRule::periodic;
}

template <class T>
ImplicitArguments<T> arguments_of(Diffusion<T> const& diffusion) {
  ImplicitArguments<T> w{};
  auto& a = w.given;
  bool const variable = diffusion.diffusivity_field != nullptr;
  a.diffusivity = diffusion.diffusivity_field;
  a.source = diffusion.source;
  w.step = diffusion.step;
  for (int axis = 0; axis < 3; ++axis) {
    a.points[axis] = diffusion.grid.points[axis];
    double const h = diffusion.grid.spacing[axis];
    w.rate[axis] = variable ? 0.5 / (h * h) : diffusion.diffusivity / (h * h);
    w.side_rate[axis] = (variable ? 2 : 2 * diffusion.diffusivity) / h;
    for (int side = 0; side < 2; ++side) {
      auto const& [kind, values] = diffusion.sides[axis][side];
      a.side[axis][side] = rule_of(kind);
      a.side_value[axis][side] = values;
    }
  }
  for (std::size_t side = 0; side < 2; ++side)
    w.goes_on[diffusion.grid.dims - 1][side] = diffusion.goes_on[side];
  return w;
}

bool is_held(SideKind kind) { return kind == SideKind::dirichlet; }

template <class T>
bool has_held(Diffusion<T> const& diffusion, int axis) {
  return is_held(diffusion.sides[axis][0].kind) || is_held(diffusion.sides[axis][1].kind);
}

template <class T>
void hold(Stream& stream, int dims, ImplicitArguments<T> const& w) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_hold(stream, dims, w);
#endif
  host_hold(stream, dims, w);
}

template <class T>
void find_rows(Stream& stream, ImplicitArguments<T> const& w) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_rows_of_axis(stream, w);
#endif
  host_rows_of_axis(stream, w);
}

/// The lines along an axis that do not lie on a Dirichlet side of another one.
struct Lines {
  tridiagonal::Shape shape;
  std::int64_t first = 0;
};

template <class T>
Lines lines_along(Diffusion<T> const& diffusion, int axis) {
  auto const& points = diffusion.grid.points;
  std::int64_t const strides[] = {1, points[0], points[0] * points[1]};
  auto const& sides = diffusion.sides;
  Lines lines;
  lines.shape.size = points[axis];
  lines.shape.values.element = strides[axis];
  lines.shape.periodic = sides[axis][0].kind == SideKind::periodic;
  std::size_t place = 0;
  for (int other = 0; other < 3; ++other) {
    if (other == axis) continue;
    bool const split = other < diffusion.grid.dims;
    int const lower = split && is_held(sides[other][0].kind) ? 1 : 0;
    int const upper = split && is_held(sides[other][1].kind) ? 1 : 0;
    lines.shape.systems[place] = points[other] - lower - upper;
    lines.shape.values.of[place] = strides[other];
    lines.first += lower * strides[other];
    ++place;
  }
  lines.shape.coefficients.element = 1;
  if (diffusion.diffusivity_field != nullptr) lines.shape.coefficients = lines.shape.values;
  return lines;
}

/// The longest axis: as many rows there are where all lines have the same.
std::int64_t longest(Grid const& grid) {
  return *std::max_element(grid.points.begin(), grid.points.end());
}

}  // namespace

template <class T>
LineSolve<T> line_solve(Diffusion<T> const& diffusion, double theta, int axis) {
  double const h = diffusion.grid.spacing[axis];
  return {.grid = diffusion.grid,
          .axis = axis,
          .reach = theta * diffusion.known_step * diffusion.diffusivity / (h * h),
          .ends = {diffusion.sides[axis][0].kind, diffusion.sides[axis][1].kind}};
}

template <class T>
void find_residual(Stream& stream, Diffusion<T> const& diffusion, Residual<T> const& residual) {
  if (residual.out == nullptr || residual.out == residual.in || diffusion.step == nullptr)
    throw std::invalid_argument("stencil: a residual needs a step and an array of its own");
  auto w = arguments_of(diffusion);
  auto& a = w.given;
  w.factor = residual.factor;
  a.in = residual.in;
  a.out = residual.out;
  for (auto const& [values, weight] : residual.terms) {
    if (values == nullptr) continue;
    a.term[a.term_count] = values;
    a.term_weight[a.term_count++] = static_cast<T>(weight);
  }
  if (!residual.forced) {
    a.source = nullptr;
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side)
        if (a.side[axis][side] == SideRule::neumann) a.side_value[axis][side] = nullptr;
  }
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_residual(stream, diffusion.grid.dims, w);
#endif
  host_residual(stream, diffusion.grid.dims, w);
}

template <class T>
void hold_sides(Stream& stream, Diffusion<T> const& diffusion, T* values) {
  auto w = arguments_of(diffusion);
  w.given.out = values;
  w.whole = true;
  for (w.axis = 0; w.axis < diffusion.grid.dims; ++w.axis)
    if (has_held(diffusion, w.axis)) hold(stream, diffusion.grid.dims, w);
}

template <class T>
AxisSystems<T>::AxisSystems(Stream& stream, Grid const& grid, bool variable, std::int64_t points)
    : findings_(stream, MemorySpace::device, 3), grid_(grid) {
  auto const rows = static_cast<std::size_t>(variable ? points : longest(grid));
  for (auto* const buffer : {&lower_, &diagonal_, &upper_})
    *buffer = Buffer<T>(stream, MemorySpace::device, rows);
  zero_async(findings_.span(), stream);
}

template <class T>
std::size_t AxisSystems<T>::bytes(Grid const& grid, bool variable) {
  auto const rows = static_cast<std::size_t>(variable ? 0 : 3 * longest(grid));
  return rows * sizeof(T) + 3 * sizeof(tridiagonal::Findings);
}

template <class T>
void AxisSystems<T>::solve(Stream& stream, Diffusion<T> const& diffusion, double theta,
                           T const* start, T* right, T* x) {
  for (int axis = 0; axis < diffusion.grid.dims; ++axis) {
    hold_axis(stream, diffusion, theta, start, right, axis);
    solve_axis(stream, diffusion, theta, right, x, axis);
    right = x;
  }
}

template <class T>
void AxisSystems<T>::hold_axis(Stream& stream, Diffusion<T> const& diffusion, double theta,
                               T const* start, T* right, int axis) {
  if (!has_held(diffusion, axis)) return;
  auto w = arguments_of(diffusion);
  w.theta = theta;
  w.start = start;
  w.axis = axis;
  w.given.out = right;
  hold(stream, diffusion.grid.dims, w);
}

template <class T>
void AxisSystems<T>::solve_axis(Stream& stream, Diffusion<T> const& diffusion, double theta,
                                T const* right, T* x, int axis) {
  auto const by = variant(stream.device(), diffusion, theta, axis);
  if (by == lines_variant) {
    auto lines = line_solve(diffusion, theta, axis);
    lines.in = right;
    lines.out = x;
    return solve_lines(stream, lines);
  }
  auto w = arguments_of(diffusion);
  w.theta = theta;
  w.axis = axis;
  w.lower = lower_.data();
  w.diagonal = diagonal_.data();
  w.upper = upper_.data();
  find_rows(stream, w);
  auto const size = static_cast<std::size_t>(diffusion.grid.size());
  auto const [shape, first] = lines_along(diffusion, axis);
  auto const from = static_cast<std::size_t>(first);
  std::size_t const skipped = diffusion.diffusivity_field != nullptr ? from : 0;
  tridiagonal::Coefficients<T> const coefficients{
      std::span<T const>(lower_.span()).subspan(skipped),
      std::span<T const>(diagonal_.span()).subspan(skipped),
      std::span<T const>(upper_.span()).subspan(skipped)};
  tridiagonal::solve<T>(stream, shape, coefficients, std::span<T const>(right, size).subspan(from),
                        std::span<T>(x, size).subspan(from),
                        findings_.span().subspan(static_cast<std::size_t>(axis), 1), by);
}

template <class T>
std::string AxisSystems<T>::fault(Stream& stream) const {
  for (int axis = 0; axis < grid_.dims; ++axis) {
    tridiagonal::Shape shape;
    shape.size = grid_.points[axis];
    auto const report = tridiagonal::read(
        stream, shape, findings_.span().subspan(static_cast<std::size_t>(axis), 1));
    if (auto const text = report.template fault<T>(); !text.empty())
      return fmt::format("the equations along {}: {}", axis_letters[axis], text);
  }
  return {};
}

/// On a GPU lines that share coefficients keep what becomes of these on the chip, where they fit.
template <class T>
std::string_view AxisSystems<T>::variant(Device const& device, Diffusion<T> const& diffusion,
                                         double theta, int axis) {
  constexpr std::int64_t most_constant = 3456;
  bool const periodic = diffusion.sides[axis][0].kind == SideKind::periodic;
  bool const alike = diffusion.diffusivity_field == nullptr;
  if (alike && diffusion.known_step > 0 && takes_lines(device, line_solve(diffusion, theta, axis)))
    return lines_variant;
  if (device.backend() == Backend::cuda && alike && !periodic &&
      diffusion.grid.points[axis] <= most_constant)
    return "constant";
  return tridiagonal::default_variant(device.backend());
}

template void find_residual(Stream&, Diffusion<float> const&, Residual<float> const&);
template void find_residual(Stream&, Diffusion<double> const&, Residual<double> const&);
template LineSolve<float> line_solve(Diffusion<float> const&, double, int);
template LineSolve<double> line_solve(Diffusion<double> const&, double, int);
template void hold_sides(Stream&, Diffusion<float> const&, float*);
template void hold_sides(Stream&, Diffusion<double> const&, double*);
template class AxisSystems<float>;
template class AxisSystems<double>;

}  // namespace gridstride::stencil
