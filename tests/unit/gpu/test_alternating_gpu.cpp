#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/stencil/alternating.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using Real = long double;

/// (1 + 2r)·x_i − r·(x_(i−1) + x_(i+1)) = d_i by Thomas's elimination, with the rows of the ends; a
/// periodic line is two open ones (Sherman and Morrison).
std::vector<Real> solve_line(Real r, std::vector<Real> d, SideKind lower, SideKind upper) {
  auto const n = d.size();
  bool const periodic = lower == SideKind::periodic;
  std::vector<Real> a(n, -r), b(n, 1 + 2 * r), c(n, -r), e(n, 0);
  if (periodic) {  // b_0 + r and b_(n−1) + r, less −r·(e_0 + e_(n−1))(x_0 + x_(n−1))ᵀ
    b.front() += r;
    b.back() += r;
    e.front() = e.back() = -r;
  } else {
    if (lower == SideKind::dirichlet) b.front() = 1, c.front() = 0;
    if (lower == SideKind::neumann) c.front() = -2 * r;
    if (upper == SideKind::dirichlet) b.back() = 1, a.back() = 0;
    if (upper == SideKind::neumann) a.back() = -2 * r;
  }
  for (std::size_t i = 1; i < n; ++i) {
    Real const factor = a[i] / b[i - 1];
    b[i] -= factor * c[i - 1];
    d[i] -= factor * d[i - 1];
    e[i] -= factor * e[i - 1];
  }
  d[n - 1] /= b[n - 1];
  e[n - 1] /= b[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) {
    d[i] = (d[i] - c[i] * d[i + 1]) / b[i];
    e[i] = (e[i] - c[i] * e[i + 1]) / b[i];
  }
  if (!periodic) return d;
  Real const factor = (d.front() + d.back()) / (1 + e.front() + e.back());
  for (std::size_t i = 0; i < n; ++i) d[i] -= factor * e[i];
  return d;
}

struct HalfStepCase {
  std::int64_t length, lines;
  int along;
  SideKind ends[2], sides[2];
  double r, s;
};

template <class T>
struct HalfStepProblem {
  explicit HalfStepProblem(HalfStepCase const& one) : given(one) {
    int const along = given.along, across = 1 - along;
    grid.dims = 2;
    grid.points = {1, 1, 1};
    grid.points[along] = given.length;
    grid.points[across] = given.lines;
    grid.spacing = {1, 1, 1};
    grid.spacing[along] = 0.25;
    grid.spacing[across] = 0.25 * std::sqrt(given.r / given.s);
    std::mt19937 random(7);
    std::uniform_real_distribution<double> value(-1, 1);
    auto const fill = [&](std::vector<T>& values, std::int64_t size) {
      values.resize(static_cast<std::size_t>(size));
      for (T& v : values) v = static_cast<T>(value(random));
    };
    fill(in, given.length * given.lines);
    for (int side = 0; side < 2; ++side) {
      fill(end_values[side], given.lines);
      fill(side_values[side], given.length);
    }
  }

  std::size_t place(std::int64_t i, std::int64_t line) const {
    return static_cast<std::size_t>(given.along == 0 ? line * given.length + i
                                                     : i * given.lines + line);
  }

  /// In extended precision.
  std::vector<Real> expected() const {
    std::int64_t const n = given.length, m = given.lines;
    Real const r = given.r, s = given.s;
    Real const h = grid.spacing[given.along], g = grid.spacing[1 - given.along];
    std::vector<Real> out(in.size());
    for (std::int64_t line = 0; line < m; ++line) {
      int const side = line == 0 ? 0 : line == m - 1 ? 1 : -1;
      bool const at_side = side >= 0 && given.sides[side] != SideKind::periodic;
      std::vector<Real> d(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) {
        Real const here = in[place(i, line)];
        Real change = 0;
        if (at_side)
          change = 2 * (Real{in[place(i, side == 0 ? 1 : m - 2)]} - here) +
                   2 * g * Real{side_values[side][static_cast<std::size_t>(i)]};
        else
          change = Real{in[place(i, (line + 1) % m)]} + in[place(i, (line + m - 1) % m)] - 2 * here;
        d[static_cast<std::size_t>(i)] = here + s * change;
      }
      for (int end = 0; end < 2; ++end) {
        Real const value = end_values[end][static_cast<std::size_t>(line)];
        Real& at = end == 0 ? d.front() : d.back();
        if (given.ends[end] == SideKind::dirichlet) at = value;
        if (given.ends[end] == SideKind::neumann) at += 2 * r * h * value;
      }
      auto const x = solve_line(r, d, given.ends[0], given.ends[1]);
      bool const held = at_side && given.sides[side] == SideKind::dirichlet;
      for (std::int64_t i = 0; i < n; ++i) {
        bool const at_end = (i == 0 && given.ends[0] == SideKind::dirichlet) ||
                            (i == n - 1 && given.ends[1] == SideKind::dirichlet);
        out[place(i, line)] = held && !(at_end && given.along == 0)
                                  ? Real{side_values[side][static_cast<std::size_t>(i)]}
                                  : x[static_cast<std::size_t>(i)];
      }
    }
    return out;
  }

  std::vector<T> run(Stream& stream) const {
    auto const source = test::to_device(std::span<T const>(in), stream);
    Buffer<T> target(stream, MemorySpace::device, in.size());
    stencil::HalfStep<T> step;
    step.grid = grid;
    step.along = given.along;
    step.diffusivity = 2;
    step.factor = given.r * grid.spacing[given.along] * grid.spacing[given.along] / 2;
    step.in = source.data();
    step.out = target.data();
    std::vector<Buffer<T>> values;
    for (int side = 0; side < 2; ++side) {
      values.push_back(test::to_device(std::span<T const>(end_values[side]), stream));
      step.sides[given.along][side] = {given.ends[side], values.back().data()};
      values.push_back(test::to_device(std::span<T const>(side_values[side]), stream));
      step.sides[1 - given.along][side] = {given.sides[side], values.back().data()};
    }
    stencil::half_step(stream, step);
    return test::to_host(std::span<T const>(target.span()), stream);
  }

  std::string text() const {
    return std::to_string(given.length) + " x " + std::to_string(given.lines) + " along " +
           std::to_string(given.along) + ", sides " + std::to_string(int(given.ends[0])) +
           std::to_string(int(given.ends[1])) + std::to_string(int(given.sides[0])) +
           std::to_string(int(given.sides[1])) + ", r " + std::to_string(given.r) + ", s " +
           std::to_string(given.s);
  }

  HalfStepCase given;
  Grid grid;
  std::vector<T> in, end_values[2], side_values[2];
};

std::vector<HalfStepCase> half_step_cases() {
  using enum SideKind;
  constexpr SideKind pairs[][2] = {{periodic, periodic},
                                   {dirichlet, dirichlet},
                                   {neumann, neumann},
                                   {dirichlet, neumann},
                                   {neumann, dirichlet}};
  std::vector<HalfStepCase> cases;
  std::size_t turn = 0;
  for (std::int64_t const length :
       {3,   4,   5,   15,   16,   17,   31,   32,   33,   64,   65,  100,
        511, 512, 513, 1000, 1024, 1025, 1031, 2048, 4099, 8191, 8192})
    for (int along : {0, 1})
      for (auto const& ends : pairs) {
        std::int64_t const lines = std::vector<std::int64_t>{3, 16, 37, 141}[turn % 4];
        auto const& sides = pairs[turn % 5 == 0 ? (turn / 5) % 5 : (turn * 3) % 5];
        double const longest =
            40.0 * static_cast<double>(length - 1) * static_cast<double>(length - 1);
        double const r = std::min(std::vector<double>{0.4, 1e-3, 30, 5e3, 1e6}[turn % 5], longest);
        cases.push_back({length,
                         lines,
                         along,
                         {ends[0], ends[1]},
                         {sides[0], sides[1]},
                         r,
                         std::vector<double>{0.25, r, 2}[turn % 3]});
        ++turn;
      }
  return cases;
}

/// Sums of n terms lose some ε of the largest; of a line that is short beside the reach of diffusion
/// it is a difference of such sums.
template <class T>
void compare_half_steps() {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  if (stream.device().compute_capability() < 90) GTEST_SKIP() << "needs compute capability 9.0";
  for (auto const& one : half_step_cases()) {
    HalfStepProblem<T> const problem(one);
    auto const expected = problem.expected();
    std::vector<T> found;
    EXPECT_NO_THROW(found = problem.run(stream)) << problem.text();
    Real worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      Real const off = std::fabs(Real{found[i]} - expected[i]);
      if (!(off <= worst)) worst = off, at = i;
    }
    Real const reach = std::sqrt(Real{one.r}) / static_cast<Real>(one.length - 1);
    Real const bound =
        16 * (1 + 4 * Real{one.s}) * (1 + 16 * reach * reach) * std::numeric_limits<T>::epsilon();
    EXPECT_LE(worst, bound) << problem.text() << " at " << at << ": " << found[at] << " for "
                            << expected[at];
    EXPECT_EQ(found, problem.run(stream)) << problem.text() << " repeats";
  }
}

TEST(AlternatingGpu, HalfStepsEqualEliminationInFloat32) { compare_half_steps<float>(); }

TEST(AlternatingGpu, HalfStepsEqualEliminationInFloat64) { compare_half_steps<double>(); }

TEST(AlternatingGpu, RefusesWhatItDoesNotMake) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Buffer<double> buffer(stream, MemorySpace::device, 64);
  stencil::HalfStep<double> step;
  step.grid.dims = 2;
  step.grid.points = {8, 8, 1};
  step.grid.spacing = {1, 1, 1};
  step.diffusivity = 1;
  step.factor = 1;
  step.in = buffer.data();
  step.out = buffer.data();
  EXPECT_THROW(stencil::half_step(stream, step), std::invalid_argument) << "in place";
  step.factor = 64.0 * 49 * 1.1;
  EXPECT_FALSE(stencil::makes_half_steps(stream.device(), step)) << "beyond the line";
  step.factor = 1;
  step.grid.points = {8193, 8, 1};
  EXPECT_FALSE(stencil::makes_half_steps(stream.device(), step)) << "too long";
  step.grid.points = {8, 8, 8};
  step.grid.dims = 3;
  EXPECT_FALSE(stencil::makes_half_steps(stream.device(), step)) << "a volume";
}

}  // namespace
}  // namespace gridstride
