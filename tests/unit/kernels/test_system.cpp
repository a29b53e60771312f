#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/processors.hpp"
#include "support/system_cases.hpp"

namespace gridstride {
namespace {

using equations::Term;
using equations::Terms;

/// One component on a small grid, with a step of 1.
struct OneField {
  Stream stream{Device::open(Backend::cpu)};
  equations::System equations{.dims = 1, .terms = {}, .unknowns = {{"u", 1, 0}}, .rates = {}};
  Terms& terms = equations.terms;
  Term u = terms.unknown(0);
  Grid grid;
  std::vector<double> in, out;
  std::array<std::array<SideKind, 2>, 3> kinds = {};
  std::array<std::array<std::vector<double>, 2>, 3> values;
  double factor = 1;

  OneField(std::vector<std::int64_t> const& points, SideKind kind) {
    grid.dims = static_cast<int>(points.size());
    std::ranges::copy(points, grid.points.begin());
    in.assign(static_cast<std::size_t>(grid.size()), 0);
    for (auto& sides : kinds) sides = {kind, kind};
  }
  void set(double (*function)(double, double, double)) {
    for (std::size_t p = 0; p < in.size(); ++p) {
      auto const at = grid.indices(static_cast<std::int64_t>(p));
      in[p] =
          function(grid.coordinate(0, at[0]), grid.coordinate(1, at[1]), grid.coordinate(2, at[2]));
    }
  }
  system::Step<double> step(Term rate) {
    equations.dims = grid.dims;
    equations.rates = {rate};
    auto const stencil = equations::discretise(equations, grid);
    program = equations::program_of(stencil.terms, stencil.rates, grid.dims);
    system::Input<double> input{.values = in.data()};
    for (int axis = 0; axis < grid.dims; ++axis)
      for (int side = 0; side < 2; ++side) {
        auto const a = static_cast<std::size_t>(axis), s = static_cast<std::size_t>(side);
        auto const& g = values[a][s];
        input.sides[axis][side] =
            system::side_of(kinds[a][s], grid.spacing[a], g.empty() ? nullptr : g.data());
      }
    out.assign(in.size(), -77);
    system::Step<double> result;
    result.program = &program;
    result.grid = grid;
    result.inputs = {input};
    result.outputs = {{.values = out.data(), .base = in.data()}};
    result.factor = factor;
    return result;
  }
  std::vector<double> run(Term rate, bool is_stage = true) {
    auto one = step(rate);
    one.is_stage = is_stage;
    system::advance(stream, one, "reference");
    return out;
  }
  equations::StencilProgram program;
};

TEST(SystemPrepared, IsKeptForAVariant) {
  OneField line({5}, SideKind::periodic);
  line.in = {0, 1, 4, 9, 16};
  auto step = line.step(line.terms.derivative(line.u, {2, 0, 0}));
  system::Prepared prepared;
  step.prepared = &prepared;
  system::advance(line.stream, step);
  EXPECT_EQ(prepared.asked_for, "auto");
  EXPECT_EQ(prepared.variant, "threads");
  system::advance(line.stream, step, "reference");
  EXPECT_EQ(prepared.variant, "reference");
  EXPECT_TRUE(prepared.fallback.empty());
  EXPECT_THROW(system::advance(line.stream, step, "interpreter"), std::invalid_argument);
}

TEST(SystemReference, SidesByHand) {
  auto const diffuse = [](SideKind kind, double lower, double upper) {
    OneField line({5}, kind);
    line.grid.spacing = {0.5, 1, 1};
    line.in = {0, 1, 4, 9, 16};
    line.values[0] = {{{lower}, {upper}}};
    line.factor = 1.0 / 16;  // over h²: 1/4
    return line.run(line.terms.derivative(line.u, {2, 0, 0}));
  };
  EXPECT_EQ(diffuse(SideKind::dirichlet, -3, 20), (std::vector<double>{-3, 1.5, 4.5, 9.5, 20}));
  EXPECT_EQ(diffuse(SideKind::periodic, 0, 0), (std::vector<double>{4.25, 1.5, 4.5, 9.5, 10.25}));
  EXPECT_EQ(diffuse(SideKind::neumann, 2, -4), (std::vector<double>{1, 1.5, 4.5, 9.5, 11.5}));
  EXPECT_EQ(diffuse(SideKind::outflow, 9, 9), (std::vector<double>{0, 1.5, 4.5, 9.5, 16}));
  EXPECT_EQ(diffuse(SideKind::antiperiodic, 9, 9),
            (std::vector<double>{-3.75, 1.5, 4.5, 9.5, 10.25}));
  EXPECT_EQ(diffuse(SideKind::wall, 9, 9), (std::vector<double>{0.5, 1.5, 4.5, 9.5, 12.5}));
}

/// u(−j) = u(j) + 2jh(g − a·u(0)), here with h = 0.5.
TEST(SystemReference, RobinByHand) {
  OneField line({5}, SideKind::robin);
  line.grid.spacing = {0.5, 1, 1};
  line.in = {1, 2, 4, 8, 16};
  std::vector<double> const g = {3, -2}, a = {5, 0.25};
  auto step = line.step(line.terms.derivative(line.u, {4, 0, 0}));
  for (std::size_t side = 0; side < 2; ++side)
    step.inputs[0].sides[0][side] = system::side_of(SideKind::robin, 0.5, &g[side], &a[side]);
  step.is_stage = false;
  system::advance(line.stream, step, "reference");
  // slopes 3 − 5·1 = −2 and −2 − 16/4 = −6
  std::vector<double> const u = {4 - 2 * 2, 2 - 2, 1, 2, 4, 8, 16, 8 - 6, 4 - 2 * 6};
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(line.out[i], 16 * (u[i] - 4 * u[i + 1] + 6 * u[i + 2] - 4 * u[i + 3] + u[i + 4]))
        << i;
  // Without g: 0.
  step.inputs[0].sides[0][0] = system::side_of<double>(SideKind::robin, 0.5, nullptr, &a[0]);
  system::advance(line.stream, step, "reference");
  EXPECT_EQ(line.out[0], 16 * ((4 - 10) - 4 * (2 - 5) + 6 - 4 * 2 + 4));
}

/// Around an antiperiodic axis g changes its sign as u does, and a does not.
TEST(SystemReference, FactorsGoAroundAnAntiperiodicAxisWithTheirSign) {
  OneField plane({4, 3}, SideKind::antiperiodic);
  plane.kinds[1] = {SideKind::robin, SideKind::neumann};
  plane.in.assign(12, 1);
  std::vector<double> const g = {1, 2, 3, 4}, a = {5, 6, 7, 8};
  auto step = plane.step(plane.terms.derivative(plane.u, {1, 1, 0}));
  step.inputs[0].sides[1][0] = system::side_of(SideKind::robin, 1.0, g.data(), a.data());
  step.is_stage = false;
  system::advance(plane.stream, step, "reference");
  // u(−1, 1) = −1 and u(−1, 0) = −1: u(−1, −1) = −1 + 2(−4 + 8) = 7; u(1, −1) = 1 + 2(2 − 6) = −7.
  EXPECT_EQ(plane.out[0], ((1 - -7) - (-1 - 7)) / 4);
}

TEST(SystemReference, TwoPointsBeyondASide) {
  auto const fourth = [](SideKind kind) {
    OneField line({4}, kind);
    line.in = {1, 2, 4, 8};
    line.values[0] = {{{1}, {10}}};
    return line.run(line.terms.derivative(line.u, {4, 0, 0}), false);
  };
  // u(−2), u(−1), ..., u(5) and their fourth differences.
  auto const differences = [](std::vector<double> const& u) {
    std::vector<double> found;
    for (std::size_t i = 2; i + 2 < u.size(); ++i)
      found.push_back(u[i - 2] - 4 * u[i - 1] + 6 * u[i] - 4 * u[i + 1] + u[i + 2]);
    return found;
  };
  EXPECT_EQ(fourth(SideKind::periodic), differences({4, 8, 1, 2, 4, 8, 1, 2}));
  EXPECT_EQ(fourth(SideKind::dirichlet),
            differences({-2, 0, 1, 2, 4, 8, 12, 14}));  // as it is there
  EXPECT_EQ(fourth(SideKind::neumann), differences({8, 4, 1, 2, 4, 8, 24, 42}));
  EXPECT_EQ(fourth(SideKind::outflow), differences({-2, 0, 1, 2, 4, 8, 12, 14}));
}

/// u = 1 + 2x + 3y + 4xy + 5z − xz has mixed derivatives of 4 and −1, which differences find
/// exactly, at corners too, where its normal derivatives are given.
TEST(SystemReference, CornersWithMixedDerivatives) {
  OneField box({4, 3, 3}, SideKind::neumann);
  box.grid.spacing = {0.5, 0.25, 1};
  box.set(
      [](double x, double y, double z) { return 1 + 2 * x + 3 * y + 4 * x * y + 5 * z - x * z; });
  for (int axis = 0; axis < 3; ++axis)
    for (int side = 0; side < 2; ++side) {
      auto& g = box.values[static_cast<std::size_t>(axis)][static_cast<std::size_t>(side)];
      Grid const face = face_of(box.grid, axis, side);
      for (std::int64_t p = 0; p < face.size(); ++p) {
        auto const at = face.indices(p);
        double const x = face.coordinate(0, at[0]), y = face.coordinate(1, at[1]),
                     z = face.coordinate(2, at[2]);
        double const slope = axis == 0 ? 2 + 4 * y - z : axis == 1 ? 3 + 4 * x : 5 - x;
        g.push_back(side == 0 ? -slope : slope);
      }
    }
  for (double const found : box.run(box.terms.derivative(box.u, {1, 1, 0}), false))
    EXPECT_NEAR(found, 4, 1e-12);
  for (double const found : box.run(box.terms.derivative(box.u, {1, 0, 1}), false))
    EXPECT_NEAR(found, -1, 1e-12);
  // Beyond two sides and two points off: the same for the derivative of a Laplacian, which is 0.
  for (double const found : box.run(box.terms.derivative(box.u, {2, 2, 0}), false))
    EXPECT_NEAR(found, 0, 1e-10);
}

TEST(SystemReference, ADerivativeGoesOnAroundAPeriodicAxisAlongTheOtherSides) {
  OneField plane({4, 3}, SideKind::periodic);
  plane.kinds[1] = {SideKind::neumann, SideKind::neumann};
  plane.values[1] = {{{1, 2, 3, 4}, {}}};  // g at y = 0, for each x
  // u = 0: u(·, −1) = 2h·g, and ∂²/∂x∂y = (−(2g(1)) + 2g(−1))/4 at the lower side.
  auto const found = plane.run(plane.terms.derivative(plane.u, {1, 1, 0}), false);
  EXPECT_EQ((std::vector<double>(found.begin(), found.begin() + 4)),
            (std::vector<double>{1, -1, -1, 1}));
}

TEST(SystemReference, CoordinatesCountAroundWhatWrapsAndBeyondOtherSides) {
  OneField line({4}, SideKind::periodic);
  line.grid.origin = {10, 0, 0};
  Term const slope = line.terms.derivative(line.terms.coordinate(0), {1, 0, 0});
  EXPECT_EQ(line.run(slope, false), (std::vector<double>{-1, 1, 1, -1}));
  line.kinds[0] = {SideKind::neumann, SideKind::outflow};
  EXPECT_EQ(line.run(slope, false), (std::vector<double>{1, 1, 1, 1}));
}

TEST(SystemReference, TheSumOfFluxesOverPeriodicAxesIsZero) {
  OneField plane({37, 23}, SideKind::periodic);
  plane.set([](double x, double y, double) { return std::sin(x * x) + std::cos(3 * y + x); });
  Term rate = plane.terms.number(0);
  for (int axis = 0; axis < 2; ++axis) {
    std::array<std::int8_t, 3> one = {0, 0, 0};
    one[static_cast<std::size_t>(axis)] = 1;
    Term const flux =
        plane.terms.multiply(plane.terms.operation(expression::Operation::exp, plane.u),
                             plane.terms.derivative(plane.u, one));
    rate = plane.terms.add(rate, plane.terms.flux(flux, axis));
  }
  auto const found = plane.run(rate, false);
  double magnitudes = 0;
  for (double const value : found) magnitudes += std::abs(value);
  EXPECT_GT(magnitudes, 100);
  EXPECT_LT(std::abs(std::accumulate(found.begin(), found.end(), 0.0)), 1e-14 * magnitudes);
}

template <class T>
void expect_same_bits() {
  Stream stream{Device::open(Backend::cpu)};
  int const before = host_threads();
  for (auto const& one : test::system_cases()) {
    auto const expected = test::run_system<T>(stream, one, "reference");
    for (int const threads : {1, 3, 8}) {
      set_host_threads(threads);
      auto const found = test::run_system<T>(stream, one, "threads");
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)), 0)
          << one.text() << ", " << threads << " threads";
    }
  }
  set_host_threads(before);
}

TEST(SystemThreads, HasTheReferencesBits) {
  expect_same_bits<float>();
  expect_same_bits<double>();
}

TEST(SystemReference, Float32IsFloat64Rounded) {
  Stream stream{Device::open(Backend::cpu)};
  for (auto const& one : test::system_cases()) {
    auto const exact = test::run_system<double>(stream, one, "reference");
    auto const found = test::run_system<float>(stream, one, "reference");
    double largest = 1;
    for (double const value : exact) largest = std::max(largest, std::abs(value));
    // Differences of coordinates, over h and times a coordinate, and some 60 operations on values
    // up to those of fourth differences.
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double const end = one.grid.coordinate(static_cast<int>(axis), one.grid.points[axis]);
      largest = std::max(largest, end * end / one.grid.spacing[axis]);
    }
    double const tolerance = 100 * std::numeric_limits<float>::epsilon() * largest;
    for (std::size_t i = 0; i < exact.size(); ++i)
      ASSERT_NEAR(found[i], exact[i], tolerance) << one.text() << " at " << i;
  }
}

TEST(System, ImposesWhatIsGiven) {
  OneField plane({3, 3}, SideKind::dirichlet);
  plane.kinds[1] = {SideKind::dirichlet, SideKind::neumann};
  plane.values[0] = {{{1, 2, 3}, {4, 5, 6}}};
  plane.values[1] = {{{7, 8, 9}, {}}};
  auto const step = plane.step(plane.terms.derivative(plane.u, {2, 0, 0}));
  system::impose_sides<double>(plane.stream, plane.grid, step.inputs[0].sides, plane.out.data());
  EXPECT_EQ(plane.out, (std::vector<double>{1, 8, 4, 2, -77, 5, 3, -77, 6}));
}

TEST(System, PutsComponentsSideBySideAndApart) {
  Stream stream{Device::open(Backend::cpu)};
  for (std::size_t const points : {1, 5, 10'007}) {
    std::vector<double> a(points), b(points), both(2 * points), c(points), d(points);
    std::iota(a.begin(), a.end(), 0);
    std::iota(b.begin(), b.end(), 0.5);
    double const* const parts[] = {a.data(), b.data()};
    system::interleave<double>(stream, parts, both);
    for (std::size_t i = 0; i < 2 * points; ++i) ASSERT_EQ(both[i], 0.5 * static_cast<double>(i));
    double* const apart[] = {c.data(), d.data()};
    system::separate<double>(stream, both, apart);
    EXPECT_EQ(c, a);
    EXPECT_EQ(d, b);
  }
}

template <class Change>
std::string refusal_of(Change const& change) {
  OneField line({3}, SideKind::neumann);
  auto step = line.step(line.terms.derivative(line.u, {4, 0, 0}));
  change(line, step);
  try {
    system::advance(line.stream, step, "reference");
  } catch (std::invalid_argument const& refusal) {
    return refusal.what();
  }
  return "";
}

TEST(System, RefusesWhatItCannotDo) {
  EXPECT_EQ(refusal_of([](auto&, auto&) {}), "");
  EXPECT_EQ(refusal_of([](auto&, auto& step) { step.grid.points[0] = 2; }),
            "system: axis x has 2 points, and the equations reach 2 points beyond each "
            "(3 are the least)");
  EXPECT_EQ(refusal_of([](auto&, auto& step) {
              step.inputs[0].sides[0][0] = step.inputs[0].sides[0][1] = {};
              step.grid.points[0] = 1;
            }),
            "system: axis x has 1 points, and the equations reach 2 points beyond each "
            "(2 are the least)");
  EXPECT_EQ(refusal_of([](auto&, auto& step) { step.inputs[0].sides[0][0] = {}; }),
            "system: axis x wraps around on some of its sides only");
  EXPECT_EQ(refusal_of([](auto& line, auto& step) { step.outputs[0].values = line.in.data(); }),
            "system: an output is the same array as an input");
  EXPECT_EQ(refusal_of([](auto&, auto& step) { step.inputs.clear(); }),
            "system: 0 inputs and 1 outputs for a program of 1 components and 1 results");
  EXPECT_EQ(refusal_of([](auto&, auto& step) { step.inputs[0].values = nullptr; }),
            "system: an input is missing");
  EXPECT_EQ(refusal_of([](auto&, auto& step) { step.outputs[0].base = nullptr; }),
            "system: an output is missing");
  EXPECT_EQ(refusal_of([](auto&, auto& step) { step.addend_weights = {1}; }),
            "system: an addend is missing");
  EXPECT_EQ(refusal_of([](auto& line, auto& step) {
              auto const program = line.step(line.terms.time()).program;
              step.program = program;
            }),
            "system: the program needs a clock");
  EXPECT_THROW(system::side_of<double>(SideKind::absorbing, 1, nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride
