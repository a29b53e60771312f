#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/stencil/alternating.hpp"
#include "kernels/stencil/alternating_ranks.hpp"
#include "kernels/stencil/alternating_work.hpp"
#include "support/thread_ranks.hpp"
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

struct Case {
  std::array<std::int64_t, 2> points;
  std::array<std::array<SideKind, 2>, 2> sides;
  std::array<double, 2> reach;  ///< dt/2·α/h² along both axes
};

template <class T>
struct Problem {
  explicit Problem(Case const& one) : given(one) {
    step.grid.dims = 2;
    step.grid.points = {given.points[0], given.points[1], 1};
    step.diffusivity = 2;
    step.step = 0.125;
    for (int axis = 0; axis < 2; ++axis)
      step.grid.spacing[axis] = std::sqrt(0.125 / given.reach[axis]);
    std::mt19937 random(7);
    std::uniform_real_distribution<double> value(-1, 1);
    auto const fill = [&](std::vector<T>& values, std::int64_t size) {
      values.resize(static_cast<std::size_t>(size));
      for (T& v : values) v = static_cast<T>(value(random));
    };
    fill(u, given.points[0] * given.points[1]);
    for (int axis = 0; axis < 2; ++axis)
      for (auto& side : values[axis]) fill(side, given.points[1 - axis]);
    for (int axis : {1, 0})  // where Dirichlet sides meet the first axis counts
      for (int side = 0; side < 2; ++side)
        if (given.sides[axis][side] == SideKind::dirichlet) hold(u, axis, side);
  }

  std::size_t place(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(j * given.points[0] + i);
  }

  template <class V>
  void hold(std::vector<V>& field, int axis, int side) const {
    for (std::int64_t i = 0; i < given.points[1 - axis]; ++i) {
      std::int64_t const at = side == 0 ? 0 : given.points[axis] - 1;
      field[axis == 0 ? place(at, i) : place(i, at)] =
          values[axis][side][static_cast<std::size_t>(i)];
    }
  }

  /// Calls body(line, place of its point i) for the lines along an axis.
  template <class Body>
  void each_line(int axis, Body const& body) const {
    for (std::int64_t line = 0; line < given.points[1 - axis]; ++line)
      body(static_cast<std::size_t>(line),
           [&](std::int64_t i) { return axis == 0 ? place(i, line) : place(line, i); });
  }

  /// (1 + L_axis) of a field, and, of what is on the right, the solution of (1 − L_axis) x; `scale`
  /// rises to what they have.
  std::vector<Real> apply(std::vector<Real> const& field, int axis) const {
    auto const& [lower, upper] = given.sides[axis];
    std::int64_t const n = given.points[axis];
    Real const r = given.reach[axis], h = step.grid.spacing[axis];
    std::vector<Real> out = field;
    each_line(axis, [&](std::size_t line, auto const& at) {
      for (std::int64_t i = 0; i < n; ++i) {
        bool const ends = (i == 0 || i == n - 1) && lower != SideKind::periodic;
        Real below = field[at((i + n - 1) % n)], above = field[at((i + 1) % n)],
             here = field[at(i)];
        if (ends && i == 0) below = above + 2 * h * values[axis][0][line];
        if (ends && i == n - 1) above = below + 2 * h * values[axis][1][line];
        if (!ends || (i == 0 ? lower : upper) == SideKind::neumann)
          out[at(i)] = here + r * (below + above - 2 * here);
      }
    });
    return out;
  }
  std::vector<Real> solve(std::vector<Real> const& right, int axis) const {
    auto const& [lower, upper] = given.sides[axis];
    std::int64_t const n = given.points[axis];
    Real const r = given.reach[axis], h = step.grid.spacing[axis];
    std::vector<Real> out = right;
    each_line(axis, [&](std::size_t line, auto const& at) {
      std::vector<Real> d;
      for (std::int64_t i = 0; i < n; ++i) d.push_back(right[at(i)]);
      if (lower == SideKind::neumann) d.front() += 2 * r * h * values[axis][0][line];
      if (upper == SideKind::neumann) d.back() += 2 * r * h * values[axis][1][line];
      if (lower == SideKind::dirichlet) d.front() = values[axis][0][line];
      if (upper == SideKind::dirichlet) d.back() = values[axis][1][line];
      auto const x = solve_line(r, d, lower, upper);
      for (std::int64_t i = 0; i < n; ++i) out[at(i)] = x[static_cast<std::size_t>(i)];
    });
    return out;
  }

  /// In extended precision; the largest number on the way is the scale of rounding.
  std::vector<Real> expected(Real& scale) const {
    std::vector<Real> field(u.begin(), u.end());
    for (int axis = 0; axis < 2; ++axis) {
      field = apply(field, 1 - axis);
      for (Real const v : field) scale = std::max(scale, std::fabs(v));
      field = solve(field, axis);
      for (int side : {0, 1})  // nothing changes there
        if (given.sides[1 - axis][side] == SideKind::dirichlet) hold(field, 1 - axis, side);
      for (int side : {0, 1})
        if (given.sides[axis][side] == SideKind::dirichlet) hold(field, axis, side);
      for (Real const v : field) scale = std::max(scale, std::fabs(v));
    }
    for (int side : {0, 1})
      if (given.sides[0][side] == SideKind::dirichlet) hold(field, 0, side);
    return field;
  }

  /// Gives the step arrays on the device, of values as at the beginning, and its sides.
  void place(Stream& stream) {
    field = test::to_device(std::span<T const>(u), stream);
    work = Buffer<T>(stream, MemorySpace::device, u.size());
    step.u = field.data();
    step.work = work.data();
    sides.clear();
    for (int axis = 0; axis < 2; ++axis)
      for (int side = 0; side < 2; ++side) {
        sides.push_back(test::to_device(std::span<T const>(values[axis][side]), stream));
        step.sides[axis][side] = {given.sides[axis][side], sides.back().data()};
      }
  }

  std::vector<T> run(Stream& stream, int steps = 1) {
    place(stream);
    for (int i = 0; i < steps; ++i) stencil::step_alternating(stream, step);
    return test::to_host(std::span<T const>(field.span()), stream);
  }

  std::string text() const {
    std::string text = std::to_string(given.points[0]) + " x " + std::to_string(given.points[1]);
    for (int axis = 0; axis < 2; ++axis)
      text += ", sides " + std::to_string(static_cast<int>(given.sides[axis][0])) + " " +
              std::to_string(static_cast<int>(given.sides[axis][1])) + ", reach " +
              std::to_string(given.reach[axis]);
    return text;
  }

  Case given;
  stencil::AlternatingStep<T> step;
  std::vector<T> u;
  std::array<std::array<std::vector<T>, 2>, 2> values;
  Buffer<T> field, work;
  std::vector<Buffer<T>> sides;
};

std::vector<Case> cases() {
  using enum SideKind;
  std::vector<std::array<SideKind, 2>> const pairs = {{periodic, periodic},
                                                      {dirichlet, dirichlet},
                                                      {neumann, neumann},
                                                      {dirichlet, neumann},
                                                      {neumann, dirichlet}};
  std::vector<Case> cases;
  std::size_t turn = 0;
  for (std::int64_t const length :
       {3,   4,   5,   15,   16,   17,   31,   32,   33,   64,   65,  100,
        511, 512, 513, 1000, 1024, 1025, 1031, 2048, 4099, 8191, 8192})
    for (int axis : {0, 1})
      for (std::size_t pair = 0; pair < pairs.size(); ++pair, ++turn) {
        Case one;
        one.points[axis] = length;
        one.points[1 - axis] = std::array{3, 16, 37, 141}[turn % 4];
        one.sides[axis] = pairs[pair];
        one.sides[1 - axis] = pairs[(turn + turn / 5) % 5];
        for (int a : {0, 1}) {
          auto const most = static_cast<double>(one.points[a] - 1);
          one.reach[a] =
              std::min(std::array{0.4, 1e-3, 30., 5e3, 1e6}[(turn + a) % 5], 40 * most * most);
        }
        cases.push_back(one);
      }
  return cases;
}

/// Geometric sums lose some ε of the largest number; where a line is short beside the reach of
/// diffusion its solution is a difference of such sums, of a square of that. And q, whose distance
/// from 1 is about 1/√r, knows r to √r·ε.
template <class T>
void compare_with_elimination() {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  if (stream.device().compute_capability() < 90) GTEST_SKIP() << "needs compute capability 9.0";
  for (auto const& one : cases()) {
    Problem<T> problem(one);
    Real scale = 0;
    auto const expected = problem.expected(scale);
    std::vector<T> found;
    ASSERT_NO_THROW(found = problem.run(stream)) << problem.text();
    Real worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      Real const off = std::fabs(Real{found[i]} - expected[i]);
      if (!(off <= worst)) worst = off, at = i;
    }
    Real reach = 1;
    for (int axis : {0, 1}) {
      auto const most = static_cast<Real>(one.points[axis] - 1);
      reach += 16 * one.reach[axis] / (most * most) + std::sqrt(Real{one.reach[axis]});
    }
    EXPECT_LE(worst, 16 * reach * scale * std::numeric_limits<T>::epsilon())
        << problem.text() << " at " << at << ": " << found[at] << " for " << expected[at];
    EXPECT_EQ(found, problem.run(stream)) << problem.text() << " repeats";
  }
}

TEST(AlternatingGpu, EqualsEliminationInFloat32) { compare_with_elimination<float>(); }

TEST(AlternatingGpu, EqualsEliminationInFloat64) { compare_with_elimination<double>(); }

TEST(AlternatingGpu, RefusesWhatItDoesNotMake) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Buffer<double> u(stream, MemorySpace::device, 64), work(stream, MemorySpace::device, 64);
  stencil::AlternatingStep<double> step;
  step.grid.dims = 2;
  step.grid.points = {8, 8, 1};
  step.grid.spacing = {1, 1, 1};
  step.diffusivity = 1;
  step.step = 1;
  step.u = step.work = u.data();
  EXPECT_THROW(stencil::step_alternating(stream, step), std::invalid_argument) << "in place";
  step.work = work.data();
  auto const takes = [&] { return stencil::takes_alternating(stream.device(), step); };
  if (stream.device().compute_capability() >= 90) {
    EXPECT_TRUE(takes());
  }
  step.step = 128.0 * 49 * 1.1;
  EXPECT_FALSE(takes()) << "beyond the line";
  EXPECT_THROW(stencil::step_alternating(stream, step), std::invalid_argument);
  step.step = 1;
  step.grid.points = {8193, 8, 1};
  EXPECT_FALSE(takes()) << "too long";
  step.grid.points = {8, 8, 8};
  step.grid.dims = 3;
  EXPECT_FALSE(takes()) << "a volume";
}

/// Lines of several parts, the last of which is whole, a row, or neither.
std::vector<Case> shared_cases() {
  using enum SideKind;
  return {{{37, 1025}, {{{dirichlet, neumann}, {periodic, periodic}}}, {0.4, 30}},
          {{130, 1536}, {{{periodic, periodic}, {dirichlet, dirichlet}}}, {5, 1e4}},
          {{16, 1601}, {{{neumann, neumann}, {dirichlet, neumann}}}, {30, 0.7}},
          {{35, 2560}, {{{dirichlet, dirichlet}, {neumann, dirichlet}}}, {1e-3, 1e5}}};
}

bool makes_shared_steps() {
  Device const device = Device::open(Backend::cuda);
  return device.compute_capability() >= 90;
}

/// Cut behind the first part, and in the middle.
std::vector<RankCuts> cuts_of(std::int64_t rows) {
  std::int64_t const parts = (rows + 511) / 512;
  std::vector<RankCuts> all = {{0, 512, rows}};
  if (parts > 2) all.push_back({0, 512, (parts - 1) * 512, rows});
  return all;
}

template <class T>
void compare_ranks() {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  if (!makes_shared_steps()) GTEST_SKIP() << "needs compute capability 9.0";
  constexpr int steps = 3;
  for (auto const& one : shared_cases()) {
    Stream stream(Device::open(Backend::cuda));
    auto const expected = Problem<T>(one).run(stream, steps);
    std::int64_t const line = one.points[0];
    bool const around = one.sides[1][0] == SideKind::periodic;
    for (auto const& cuts : cuts_of(one.points[1]))
      EXPECT_TRUE(test::on_ranks(static_cast<int>(cuts.size()) - 1, [&](Ranks& ranks) {
        Stream own(Device::open(Backend::cuda));
        Problem<T> problem(one);
        problem.place(own);
        RankPlanes planes(ranks, own, cuts, around, static_cast<std::size_t>(line) * sizeof(T), 8);
        stencil::SharedLines<T> shared(planes, own, problem.step.grid);
        auto const held = static_cast<std::size_t>(planes.held() * line);
        auto const first = static_cast<std::size_t>(planes.lower() * line);
        std::size_t const rows = held - 2 * static_cast<std::size_t>(line);
        Buffer<T> u(own, MemorySpace::device, held), next(own, MemorySpace::device, held);
        auto const inner = [&](Buffer<T>& of) {
          return of.span().subspan(static_cast<std::size_t>(line), rows);
        };
        copy_async(inner(u), std::span<T const>(problem.field.span()).subspan(first, rows), own);
        for (int i = 0; i < steps; ++i) {
          planes.exchange(own, u.span());
          problem.step.u = inner(u).data();
          shared.step(own, problem.step, inner(next).data());
          std::swap(u, next);
        }
        auto const found = test::to_host(std::span<T const>(inner(u)), own);
        for (std::size_t i = 0; i < rows; ++i)
          ASSERT_EQ(found[i], expected[first + i])
              << problem.text() << ", rank " << ranks.rank() << " of " << ranks.count();
      })) << one.points[1];
  }
}

TEST(AlternatingGpu, HasTheSameBitsOnRanksInFloat32) { compare_ranks<float>(); }

TEST(AlternatingGpu, HasTheSameBitsOnRanksInFloat64) { compare_ranks<double>(); }

/// Lines across planes of a volume, in place.
TEST(AlternatingGpu, HasTheSameBitsOfLinesOnRanks) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  if (!makes_shared_steps()) GTEST_SKIP() << "needs compute capability 9.0";
  Stream stream(Device::open(Backend::cuda));
  stencil::LineSolve<double> lines;
  lines.grid.dims = 3;
  lines.grid.points = {7, 5, 1100};
  lines.axis = 2;
  lines.reach = 90;
  lines.ends = {SideKind::dirichlet, SideKind::neumann};
  std::vector<double> values(static_cast<std::size_t>(lines.grid.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(0.37 * static_cast<double>(i));
  auto whole = test::to_device(std::span<double const>(values), stream);
  lines.in = lines.out = whole.data();
  stencil::solve_lines(stream, lines);
  auto const expected = test::to_host(std::span<double const>(whole.span()), stream);
  EXPECT_TRUE(test::on_ranks(3, [&](Ranks& ranks) {
    Stream own(Device::open(Backend::cuda));
    RankPlanes planes(ranks, own, {0, 512, 1024, 1100}, false, 35 * sizeof(double), 8);
    stencil::SharedLines<double> shared(planes, own, lines.grid);
    std::size_t const first = static_cast<std::size_t>(planes.lower()) * 35;
    auto const count = static_cast<std::size_t>(planes.upper()) * 35 - first;
    auto part = test::to_device(std::span<double const>(values).subspan(first, count), own);
    auto solve = lines;
    solve.in = solve.out = part.data();
    shared.solve(own, solve);
    auto const found = test::to_host(std::span<double const>(part.span()), own);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(found[i], expected[first + i]) << i;
  }));
}

/// What is told in 16 bytes each, as kernels of other ranks write it.
template <class T>
std::vector<stencil::ToldLine> lines_of(std::vector<stencil::Told<T>> const& told,
                                        unsigned number) {
  std::vector<stencil::ToldLine> lines;
  for (auto const& one : told) {
    std::array<unsigned, sizeof(one) / sizeof(unsigned)> words;
    std::memcpy(words.data(), &one, sizeof(one));
    for (std::size_t i = 0; i < words.size(); i += 2)
      lines.push_back({words[i], number, words[i + 1], number});
  }
  return lines;
}

/// A kernel that waits for other ranks has the same bits, where all that they tell is there before;
/// and what it tells them is what another kernel makes.
template <class T>
void compare_joined() {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  if (!makes_shared_steps()) GTEST_SKIP() << "needs compute capability 9.0";
  Stream stream(Device::open(Backend::cuda));
  constexpr unsigned number = 7;
  for (auto const& one : shared_cases()) {
    Problem<T> problem(one);
    auto const expected = problem.run(stream);
    problem.place(stream);
    stencil::cuda_alternating_rows(stream, stencil::sweep_of(problem.step, 0));
    auto const sweep = stencil::sweep_of(problem.step, 1);
    auto const count = static_cast<std::size_t>(stencil::told_of_line(sweep.parts) * one.points[0]);
    std::vector<stencil::Told<T>> const nothing(count);
    auto all = test::to_device(std::span(nothing), stream);
    std::vector<stencil::ColumnShare<T>> shares;
    for (int part = 0; part < sweep.parts; part += 2) {
      stencil::ColumnShare<T> share;
      share.first_part = part;
      share.parts = std::min(2, sweep.parts - part);
      share.rank = part / 2;
      share.ranks = (sweep.parts + 1) / 2;
      share.told = all.data();
      share.number = number;
      stencil::cuda_tell_columns(stream, sweep, share);
      shares.push_back(share);
    }
    auto const told = test::to_host(std::span<stencil::Told<T> const>(all.span()), stream);
    auto const lines = lines_of(told, number);
    std::vector<stencil::ToldLine> const empty(lines.size());
    for (auto& share : shares) {
      auto own = test::to_device(std::span(lines), stream);
      auto others = test::to_device(std::span(empty), stream);
      share.told = nullptr;
      for (int rank = 0; rank < share.ranks; ++rank)
        share.boxes[rank] = rank == share.rank ? own.data() : others.data();
      stencil::cuda_alternating_columns(stream, sweep, share);
      auto const sent = test::to_host(std::span<stencil::ToldLine const>(others.span()), stream);
      std::size_t const of_part = lines.size() / static_cast<std::size_t>(sweep.parts + 2);
      auto const first = static_cast<std::size_t>(share.first_part) * of_part;
      for (std::size_t i = 0; share.ranks > 1 && i < share.parts * of_part; ++i) {
        auto const &line = sent[first + i], &given = lines[first + i];
        ASSERT_EQ(std::memcmp(&line, &given, sizeof(line)), 0) << problem.text() << " told " << i;
      }
    }
    auto const found = test::to_host(std::span<T const>(problem.field.span()), stream);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], expected[i]) << problem.text() << " at " << i;
  }
}

TEST(AlternatingGpu, WaitsForWhatOtherRanksTell) {
  compare_joined<float>();
  compare_joined<double>();
}

}  // namespace
}  // namespace gridstride
