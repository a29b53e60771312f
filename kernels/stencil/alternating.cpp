#include "kernels/stencil/alternating.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "kernels/stencil/alternating_work.hpp"

namespace gridstride::stencil {

#ifdef GRIDSTRIDE_WITH_CUDA
namespace {

/// r = dt/2·α/h² along an axis.
template <class T>
double reach(AlternatingStep<T> const& step, int axis) {
  double const h = step.grid.spacing[axis];
  return step.step / 2 * step.diffusivity / (h * h);
}

/// 1 − q, without cancellation.
double gap(double r) {
  double const root = std::sqrt(1 + 4 * r);
  return (1 + root) / (1 + 2 * r + root);
}

double log_of_q(double r) {
  double const less = gap(r);
  return less < 0.5 ? std::log1p(-less) : std::log(2 * r / (1 + 2 * r + std::sqrt(1 + 4 * r)));
}

/// Rows of a part of a line: a warp's, or a block's.
template <class T>
std::int64_t rows_of_part(int along) {
  return along == 0 ? rows_of_warp<T> : rows_of_block;
}

/// Of lines with r that go along rows (0) or across them (1).
template <class T>
LineMatrix<T> matrix_of(double r, std::int64_t points, int along, std::array<SideKind, 2> ends,
                        double end_weight, int parts, int last_row) {
  double const root = std::sqrt(1 + 4 * r);
  double const log_q = log_of_q(r);
  auto const size = static_cast<double>(points);
  auto const rows = static_cast<double>(rows_of_part<T>(along));
  auto const power = [&](double n) { return static_cast<T>(std::exp(log_q * n)); };
  LineMatrix<T> m{};
  m.log_q = log_q;
  m.q = power(1);
  m.less_square = static_cast<T>(-std::expm1(2 * log_q));
  m.root = static_cast<T>(root);
  for (int i = 0; i < 5; ++i) {
    m.chunk_powers[i] = power(rows_of_thread<T>(along) << i);
    m.part_powers[i] = power(rows * (1 << i));
  }
  m.last_chunk = power(static_cast<double>(last_row + 1));
  m.last_part = power(size - rows * (parts - 1));
  m.end_weight = static_cast<T>(2 * r / root * end_weight);
  if (ends[0] == SideKind::periodic) {
    m.wrap = static_cast<T>(std::exp(log_q) / -std::expm1(log_q * size));
    return m;
  }
  // x is given at a Dirichlet end. At a Neumann end the row (1 + 2r)·x_0 − 2r·x_1 = d_0, divided by
  // √(1 + 4r), makes α − q^(n−1)·β of both, and −z of the rest.
  for (int end = 0; end < 2; ++end)
    m.sign[end] = ends[static_cast<std::size_t>(end)] == SideKind::dirichlet ? 1 : -1;
  double const both = static_cast<double>(m.sign[0] * m.sign[1]);
  double const exponent = log_q * (size - 1);
  double const inverse = 1 / (both > 0 ? -std::expm1(2 * exponent) : 1 + std::exp(2 * exponent));
  for (int end = 0; end < 2; ++end) {
    m.own[end] = static_cast<T>(inverse);
    m.other[end] = static_cast<T>(-m.sign[end] * std::exp(exponent) * inverse);
  }
  return m;
}

SideRule rule_of(SideKind kind) {
  return kind == SideKind::dirichlet ? SideRule::dirichlet
         : kind == SideKind::neumann ? SideRule::neumann
                                     : SideRule::periodic;
}

template <class T>
bool is_aligned(T const* array) {
  return reinterpret_cast<std::uintptr_t>(array) % 16 == 0;
}

}  // namespace

template <class T>
LineSweep<T> sweep_of(AlternatingStep<T> const& step, int along) {
  int const across = 1 - along;
  LineSweep<T> sweep{};
  sweep.in = along == 0 ? step.u : step.work;
  sweep.out = along == 0 ? step.work : step.u;
  sweep.size = step.grid.points[along];
  sweep.lines = step.grid.points[across];
  for (int side = 0; side < 2; ++side) {
    sweep.ends[side] = rule_of(step.sides[along][side].kind);
    sweep.end_values[side] = step.sides[along][side].values;
    sweep.sides[side] = rule_of(step.sides[across][side].kind);
    sweep.side_values[side] = step.sides[across][side].values;
  }
  std::int64_t const part = rows_of_part<T>(along);
  sweep.parts = static_cast<int>((sweep.size + part - 1) / part);
  sweep.last_row = static_cast<int>((sweep.size - 1) % rows_of_thread<T>(along));
  constexpr std::int64_t width = 16 / sizeof(T);
  sweep.vectors = step.grid.points[0] % width == 0 && is_aligned(step.u) && is_aligned(step.work);
  sweep.matrix = matrix_of<T>(reach(step, along), sweep.size, along,
                              {step.sides[along][0].kind, step.sides[along][1].kind},
                              step.grid.spacing[along], sweep.parts, sweep.last_row);
  double const scale = 1 / std::sqrt(1 + 4 * reach(step, along));
  double const beside = along == 0 ? reach(step, across) : 0;
  sweep.center = static_cast<T>(scale * (1 - 2 * beside));
  sweep.beside = static_cast<T>(scale * beside);
  sweep.side_weight = static_cast<T>(2 * step.grid.spacing[across]);
  return sweep;
}

template LineSweep<float> sweep_of(AlternatingStep<float> const&, int);
template LineSweep<double> sweep_of(AlternatingStep<double> const&, int);

namespace {

/// Where lines of an axis lie: 0 along rows of memory, 1 across all of them, −1 neither.
template <class T>
int place_of(LineSolve<T> const& lines) {
  return lines.axis == 0 ? 0 : lines.axis == lines.grid.dims - 1 ? 1 : -1;
}

}  // namespace

template <class T>
LineSweep<T> sweep_of(LineSolve<T> const& lines) {
  int const along = place_of(lines);
  LineSweep<T> sweep{};
  sweep.in = lines.in;
  sweep.out = lines.out;
  sweep.size = lines.grid.points[lines.axis];
  sweep.lines = lines.grid.size() / sweep.size;
  for (int side = 0; side < 2; ++side) {
    sweep.ends[side] = rule_of(lines.ends[static_cast<std::size_t>(side)]);
    sweep.end_values[side] = lines.in + (side == 0 ? 0 : (sweep.size - 1) * sweep.lines);
    sweep.sides[side] = SideRule::periodic;
  }
  std::int64_t const part = rows_of_part<T>(along);
  sweep.parts = static_cast<int>((sweep.size + part - 1) / part);
  sweep.last_row = static_cast<int>((sweep.size - 1) % rows_of_thread<T>(along));
  constexpr std::int64_t width = 16 / sizeof(T);
  sweep.vectors = (along == 0 ? sweep.size : sweep.lines) % width == 0 && is_aligned(lines.in) &&
                  is_aligned(lines.out);
  sweep.matrix =
      matrix_of<T>(lines.reach, sweep.size, along, lines.ends, 0, sweep.parts, sweep.last_row);
  sweep.center = static_cast<T>(1 / std::sqrt(1 + 4 * lines.reach));
  return sweep;
}

template LineSweep<float> sweep_of(LineSolve<float> const&);
template LineSweep<double> sweep_of(LineSolve<double> const&);

namespace {

/// Whether a device has what kernels need.
bool has_kernels(Device const& device) {
  return device.backend() == Backend::cuda && device.compute_capability() >= 90 &&
         device.capabilities().shared_bytes >= shared_bytes_of_block;
}

bool takes_line(std::int64_t points, double r) {
  return points >= 3 && points <= rows_of_block * most_parts && r > 0 &&
         gap(r) * static_cast<double>(points - 1) >= 0.125;
}

}  // namespace
#endif

template <class T>
bool takes_lines(Device const& device, LineSolve<T> const& lines) {
#ifdef GRIDSTRIDE_WITH_CUDA
  return has_kernels(device) && place_of(lines) >= 0 &&
         takes_line(lines.grid.points[lines.axis], lines.reach);
#else
  static_cast<void>(device), static_cast<void>(lines);
  return false;
#endif
}

template <class T>
void solve_lines(Stream& stream, LineSolve<T> const& lines) {
  if (lines.in == nullptr || lines.out == nullptr || !takes_lines(stream.device(), lines))
    throw std::invalid_argument("stencil: lines of this kind are not solved here");
#ifdef GRIDSTRIDE_WITH_CUDA
  auto const sweep = sweep_of(lines);
  if (place_of(lines) == 0)
    cuda_solve_rows(stream, sweep);
  else
    cuda_alternating_columns(stream, sweep);
#endif
}

template <class T>
bool takes_alternating(Device const& device, AlternatingStep<T> const& step) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (!has_kernels(device) || step.grid.dims != 2) return false;
  for (int axis = 0; axis < 2; ++axis) {
    for (auto const& [kind, values] : step.sides[axis])
      if (kind != SideKind::periodic && kind != SideKind::dirichlet && kind != SideKind::neumann)
        return false;
    if (!takes_line(step.grid.points[axis], reach(step, axis))) return false;
  }
  return true;
#else
  static_cast<void>(device), static_cast<void>(step);
  return false;
#endif
}

template <class T>
void step_alternating(Stream& stream, AlternatingStep<T> const& step) {
  if (step.u == nullptr || step.work == nullptr || step.u == step.work)
    throw std::invalid_argument("stencil: an alternating step needs two arrays");
  if (!takes_alternating(stream.device(), step))
    throw std::invalid_argument("stencil: alternating steps of this kind are not made here");
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_alternating_rows(stream, sweep_of(step, 0));
  cuda_alternating_columns(stream, sweep_of(step, 1));
#endif
}

template bool takes_lines(Device const&, LineSolve<float> const&);
template bool takes_lines(Device const&, LineSolve<double> const&);
template void solve_lines(Stream&, LineSolve<float> const&);
template void solve_lines(Stream&, LineSolve<double> const&);
template bool takes_alternating(Device const&, AlternatingStep<float> const&);
template bool takes_alternating(Device const&, AlternatingStep<double> const&);
template void step_alternating(Stream&, AlternatingStep<float> const&);
template void step_alternating(Stream&, AlternatingStep<double> const&);

}  // namespace gridstride::stencil
