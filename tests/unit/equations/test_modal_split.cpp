#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "equations/language.hpp"
#include "equations/modal_split.hpp"
#include "equations/text.hpp"
#include "unit/equations/modal_reference.hpp"

namespace gridstride::equations {
namespace {

using test::Values;
using Texts = std::vector<std::pair<std::string, std::vector<std::string>>>;

constexpr Beyond periodic = Beyond::periodic, odd = Beyond::odd, even = Beyond::even;

/// A system that is read and split.
struct Case {
  SystemText text;
  System system;
  ModalSplit split;
  Grid grid{.dims = 2, .points = {16, 16, 1}, .origin = {}, .spacing = {0.1, 0.07, 1}};
  std::vector<BeyondSides> sides;

  Case(int dims, Texts const& equations, std::vector<std::string> const& constraints = {},
       std::vector<BeyondSides> of_fields = {}) {
    grid.dims = dims;
    if (dims == 1) grid.points[1] = 1;
    if (dims == 3) grid.points[2] = 16;
    text.dims = dims;
    text.constants = {{"F", 0.04}, {"b", 0.7}};
    for (auto const& [name, texts] : equations)
      text.equations.push_back({{name, texts, texts.size() > 1}, texts.size() > 1});
    for (std::string const& constraint : constraints)
      text.constraints.push_back({"0", {constraint}});
    text.held = held_names(text);
    std::vector<SystemFault> faults;
    auto read = read_system(text, faults);
    EXPECT_TRUE(read) << (faults.empty() ? "" : faults.front().error.what());
    system = *read;
    sides = of_fields.empty() ? std::vector<BeyondSides>(static_cast<std::size_t>(
                                    system.component_count() + system.name_count()))
                              : std::move(of_fields);
    split = split_into_modes(system, grid, {}, sides);
  }

  int transforms() const { return transforms_of(split.system); }
};

/// The largest difference between rates in modes and those of the equations, over the largest rate:
/// the fields that constraints hold are random, and `solved` of the unknowns what makes that so.
double error_of(Case const& c, std::vector<int> const& solved = {}) {
  std::array<double, 3> units = {};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    bool const wraps = c.sides.front()[axis][0] == periodic;
    double const length = c.grid.spacing[axis] * static_cast<double>(c.grid.points[axis]);
    units[axis] = (wraps ? 2 : 0.5) * std::numbers::pi / length;
  }
  bool const all_wrap =
      std::ranges::all_of(c.sides.front(), [](auto const& ends) { return ends[0] == periodic; });
  test::Period const period(c.grid.dims, c.grid.dims == 3 ? 14 : all_wrap ? 18 : 40, units);
  std::mt19937 numbers(7);
  std::vector<Values> unknowns, names;
  auto const count = static_cast<std::size_t>(c.system.component_count());
  for (std::size_t f = 0; f < c.sides.size(); ++f) {
    Values values = period.random(numbers, c.grid.dims, c.sides[f]);
    if (f >= count) {  // without a mean, which constraints may leave open
      double mean = 0;
      for (double const one : values) mean += one / static_cast<double>(values.size());
      for (double& one : values) one -= mean;
    }
    (f < count ? unknowns : names).push_back(std::move(values));
  }
  double const time = 0.3;
  auto const value = [&](Term term) {
    return test::evaluated(c.system.terms, term, period, unknowns, names, time);
  };
  for (std::size_t j = solved.size(); j-- > 0;) {  // each of those after it
    auto& unknown = unknowns[static_cast<std::size_t>(solved[j])];
    std::ranges::fill(unknown, 0);
    Values const other = value(c.system.constraints[j]);
    for (std::size_t i = 0; i < other.size(); ++i) unknown[i] = -other[i];
  }
  auto const modal = test::evaluated(c.split.system, period, unknowns, time);
  double error = 0, largest = 0;
  auto const compare = [&](Values const& a, Values const& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      error = std::max(error, std::abs(a[i] - b[i]));
      largest = std::max(largest, std::abs(b[i]));
    }
  };
  for (std::size_t r = 0; r < count; ++r) compare(modal.rates[r], value(c.system.rates[r]));
  for (std::size_t k = 0; k < names.size(); ++k) compare(modal.held[k], names[k]);
  return largest == 0 ? error : error / largest;
}

/// Rounding of sums over a few hundred points, of derivatives up to the fourth.
constexpr double rounding = 1e-11;

TEST(ModalSplit, ScalarsInOneDimension) {
  for (char const* rate :
       {"d2_dx2(u)", "-u*d_dx(u) - d2_dx2(u) - d2_dx2(d2_dx2(u))", "-6*u*d_dx(u) - d_dx(d2_dx2(u))",
        "d_dx(u^2/2) + 0.1*laplace(u)", "laplace(u^3 - u - 0.5*laplace(u))", "u - u^3 + F",
        "b*(u - 1)*(u + 2)/4 - d_dx(u)/3", "-2*d_dx(u) + 0.5*d_dx(d_dx(u))",
        "d_dx(u*d_dx(u)) + u*d2_dx2(u^2)", "d_dx(d_dx(u^2)*u)*u + t*u", "F", "u", "0*u"}) {
    Case const c(1, {{"u", {rate}}});
    EXPECT_LT(error_of(c), rounding) << rate;
  }
}

TEST(ModalSplit, CoupledFields) {
  EXPECT_LT(error_of(Case(2, {{"u", {"2e-5*laplace(u) - u*v^2 + F*(1 - u)"}},
                              {"v", {"1e-5*laplace(v) + u*v^2 - b*v"}}})),
            rounding);
  EXPECT_LT(error_of(Case(2, {{"u", {"-laplace(v) + (u^2 + v^2)*v"}},
                              {"v", {"laplace(u) - (u^2 + v^2)*u"}}})),
            rounding);
  EXPECT_LT(
      error_of(Case(2, {{"h", {"-div(q)"}},
                        {"q", {"-d_dx(h^2) - advect(q, q.x)", "-h*d_dy(h) + d2_dxdy(q.x)"}}})),
      rounding);
  EXPECT_LT(error_of(Case(
                3, {{"u", {"-v*d_dz(u) + laplace(v)"}}, {"v", {"d2_dxdz(u*v) - div(u*grad(v))"}}})),
            rounding);
}

std::string const streaming = "-advect([d_dy(psi), -d_dx(psi)], w)";

TEST(ModalSplit, ConstraintsAreSolved) {
  EXPECT_LT(
      error_of(Case(2, {{"w", {streaming + " + 0.01*laplace(w)"}}}, {"laplace(psi) + w"}), {0}),
      rounding);
  // Hasegawa-Mima, in terms of q = ∇²ψ − ψ.
  EXPECT_LT(error_of(Case(2, {{"w", {streaming + " - b*d_dy(psi) - laplace(laplace(psi))"}}},
                          {"w - laplace(psi) + psi"}),
                     {0}),
            rounding);
  // Two layers, which need each other.
  EXPECT_LT(error_of(Case(2,
                          {{"q", {"-advect([-d_dy(a), d_dx(a)], q) - b*d_dx(a)"}},
                           {"r", {"-advect([-d_dy(c), d_dx(c)], r) - laplace(c)"}}},
                          {"q - laplace(a) - F*(c - a)", "r - laplace(c) - b*(a - c)"}),
                     {0, 1}),
            rounding);
  // One after the other, and what is held by products.
  EXPECT_LT(error_of(Case(2, {{"u", {"u*d_dx(p) + p*s"}}, {"v", {"p^2"}}},
                          {"v - laplace(s) + s + u*d_dx(p)", "u - laplace(p) + 2*p"}),
                     {1, 0}),
            rounding);
}

TEST(ModalSplit, PressureKeepsAFlowFreeOfSources) {
  Case const c(2,
               {{"u",
                 {"-advect(u, u.x) - d_dx(p) + 0.1*laplace(u.x)",
                  "-advect(u, u.y) - d_dy(p) + 0.1*laplace(u.y)"}}},
               {"laplace(p) + div([advect(u, u.x), advect(u, u.y)])"});
  EXPECT_EQ(c.split.system.levels.size(), 1u);  // p needs no arrays of its own
  EXPECT_EQ(c.transforms(), 6 + 2);
  EXPECT_EQ(c.split.balances.size(), 1u);
}

TEST(ModalSplit, AsFewTransformsAsAreIndependent) {
  auto const count = [](int dims, Texts const& equations,
                        std::vector<std::string> const& constraints = {}) {
    return Case(dims, equations, constraints).transforms();
  };
  EXPECT_EQ(count(1, {{"u", {"laplace(u)"}}}), 0);
  EXPECT_EQ(count(1, {{"u", {"-u*d_dx(u)"}}}), 2 + 1);
  EXPECT_EQ(count(1, {{"u", {"-d_dx(u^2)/2"}}}), 1 + 1);
  EXPECT_EQ(count(2, {{"c", {"5*laplace(c^3 - c - 2*laplace(c)) + 3*laplace(c^2)"}}}), 1 + 1);
  EXPECT_EQ(count(2, {{"u", {"-u*v^2 + F*(1 - u)"}}, {"v", {"u*v^2 - b*v"}}}), 2 + 1);
  EXPECT_EQ(count(2, {{"w", {streaming}}}, {"laplace(psi) + w"}), 4 + 1);
  // ∇ψ and its squares: (∂²x − ∂²y)(uv) + ∂x∂y(v² − u²).
  EXPECT_EQ(count(2,
                  {{"w",
                    {"d2_dx2(d_dx(psi)*d_dy(psi)) - d2_dy2(d_dx(psi)*d_dy(psi)) + "
                     "d2_dxdy(d_dy(psi)^2 - d_dx(psi)^2)"}}},
                  {"laplace(psi) + w"}),
            2 + 2);
  EXPECT_EQ(count(2, {{"u", {"-laplace(laplace(u)) - laplace(u) - 0.5*norm2(grad(u))"}}}), 2 + 1);
  // u + v, u − v and u are sums of two arrays, u·v and its multiples one product.
  EXPECT_EQ(count(2, {{"u", {"(u + v)*(u - v)*u"}}, {"v", {"2*(u*v - v*u*3) + d_dx(0*u)"}}}),
            2 + 2);
}

TEST(ModalSplit, SinesAndCosinesBetweenSides) {
  BeyondSides const sines = {{{odd, odd}, {periodic, periodic}, {periodic, periodic}}};
  BeyondSides const cosines = {{{even, even}, {even, even}, {periodic, periodic}}};
  BeyondSides const box = {{{odd, odd}, {odd, odd}, {periodic, periodic}}};
  BeyondSides const mixed = {{{odd, even}, {even, even}, {periodic, periodic}}};
  EXPECT_LT(error_of(Case(1, {{"u", {"laplace(u) - u^3 + u*d_dx(u) + d_dx(u^2)"}}}, {}, {sines})),
            rounding);
  EXPECT_LT(error_of(Case(2, {{"u", {"laplace(u^3 - u - laplace(u)) + 1 - norm2(grad(u))"}}}, {},
                          {cosines})),
            rounding);
  EXPECT_LT(
      error_of(Case(2, {{"w", {streaming + " + laplace(w)"}}}, {"laplace(psi) + w"}, {box, box}),
               {0}),
      rounding);
  EXPECT_LT(error_of(Case(2, {{"u", {"laplace(u) - u^3*cos(t)"}}}, {}, {mixed})), rounding);
}

std::string fault_of(int dims, Texts const& equations,
                     std::vector<std::string> const& constraints = {},
                     std::vector<BeyondSides> sides = {}) {
  try {
    Case const c(dims, equations, constraints, std::move(sides));
  } catch (ModalError const& error) {
    return (error.in == ModalError::In::equation ? "equation " : "constraint ") +
           std::to_string(error.index) + ": " + error.what();
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

TEST(ModalSplit, RefusesWhatHasNoModes) {
  auto const begins = [](std::string const& text, std::string const& with) {
    EXPECT_EQ(text.substr(0, with.size()), with);
  };
  BeyondSides const sines = {{{odd, odd}, {periodic, periodic}, {periodic, periodic}}};
  begins(fault_of(1, {{"u", {"mean(u)"}}}), "equation 0: a value over the whole grid");
  begins(fault_of(1, {{"u", {"u"}}, {"v", {"noise(1)"}}}), "equation 1: noise");
  begins(fault_of(1, {{"u", {"d_dx(u)"}}}, {}, {sines}), "equation 0: it has parts that are odd");
  begins(fault_of(1, {{"u", {"u^2"}}}, {}, {sines}), "equation 0: it has parts that are odd");
  begins(fault_of(1, {{"u", {"exp(u)"}}}, {}, {sines}),
         "equation 0: in exp(u), at the lower side of x what is even");
  begins(fault_of(1, {{"u", {"u*(1 - u)"}}}, {}, {sines}),
         "equation 0: in u*(1 - u), at the lower");
  begins(fault_of(2, {{"w", {"psi"}}}, {"d_dx(psi) + w"}),
         "constraint 0: a derivative of odd order");
  begins(fault_of(2, {{"w", {"psi"}}}, {"psi^2 + w"}), "constraint 0: it determines none");
  begins(fault_of(2, {{"w", {"psi"}}}, {"laplace(psi) + psi^2 + w"}),
         "constraint 0: 'psi' is not linear");
  begins(fault_of(2, {{"w", {"psi"}}}, {"d2_dx2(psi) + w"}),
         "constraint 0: it leaves a mode of 'psi' open, the one with 0 waves along x, 1 wave");
  begins(
      fault_of(2, {{"w", {"a"}}}, {"laplace(a) + laplace(c) + w", "2*laplace(a) + 2*laplace(c)"}),
      "constraint 0: the constraints of these fields say the same");
}

TEST(ModalSplit, ResonanceIsFoundAtItsMode) {
  Grid const grid{.dims = 1, .points = {16, 1, 1}, .origin = {}, .spacing = {1.0 / 16, 1, 1}};
  double const k = 6 * std::numbers::pi;
  Operator const resonant = {{{2, 0, 0}, 1.0}, {{0, 0, 0}, k * k}};
  Operator const other = {{{2, 0, 0}, 1.0}, {{0, 0, 0}, k * k * 1.01}};
  EXPECT_EQ(resonance_of(resonant, grid, {}, {}), "3 waves along x");
  EXPECT_EQ(resonance_of(other, grid, {}, {}), "");
}

}  // namespace
}  // namespace gridstride::equations
