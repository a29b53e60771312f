#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "equations/discretise.hpp"
#include "unit/equations/discretised.hpp"

namespace gridstride::equations {
namespace {

using expression::Operation;
using test::Discretised;
using test::Function;

double cube(double a) { return a * a * a; }

TEST(Discretise, IsExactOnPolynomials) {
  Discretised d;
  auto const of = [&](std::array<std::int8_t, 3> orders, Function const& u) {
    return d.rate(d.terms.derivative(d.u, orders), u);
  };
  auto const [x, y, z] = d.place;
  EXPECT_DOUBLE_EQ(of({1, 0, 0}, [](double a, double, double) { return a * a; }), 2 * x);
  EXPECT_DOUBLE_EQ(of({0, 2, 0}, [](double, double b, double) { return cube(b); }), 6 * y);
  EXPECT_NEAR(of({0, 0, 3}, [](double, double, double c) { return cube(c); }), 6, 1e-10);
  EXPECT_NEAR(of({4, 0, 0}, [](double a, double, double) { return cube(a) * a; }), 24, 1e-10);
  EXPECT_NEAR(of({1, 1, 0}, [](double a, double b, double) { return a * a * b; }), 2 * x, 1e-12);
  EXPECT_NEAR(of({2, 0, 2}, [](double a, double, double c) { return a * a * c * c; }), 4, 1e-10);
  EXPECT_NEAR(of({1, 1, 1}, [](double a, double b, double c) { return a * b * c * c; }), 2 * z,
              1e-12);
}

TEST(Discretise, AConstantFieldHasNoDerivativesAtAll) {
  Discretised d;
  auto const constant = [](double, double, double) { return 0.1; };
  for (int axis = 0; axis < 3; ++axis) {
    std::array<std::int8_t, 3> two = {0, 0, 0};
    two[static_cast<std::size_t>(axis)] = 2;
    EXPECT_EQ(d.rate(d.terms.derivative(d.u, two), constant), 0);
    Term const square = d.terms.multiply(d.u, d.u);
    EXPECT_EQ(d.rate(d.terms.flux(square, axis), constant), 0);
  }
}

/// How the error falls when the spacings are halved, as a power of two, divided by the order.
double observed_order(Term (*make)(Discretised&), Function const& u, Function const& v,
                      double exact, int order) {
  std::array<double, 2> errors;
  for (std::size_t i = 0; i < 2; ++i) {
    Discretised d;
    d.space.order = order;
    double const h = 0.01 * order / (i == 0 ? 1 : 2);
    d.grid.spacing = {h, 1.5 * h, h};
    errors[i] = std::abs(d.rate(make(d), u, v) - exact);
  }
  return std::log2(errors[0] / errors[1]) / order;
}

double wave(double x, double y, double z) { return std::sin(x + 2 * y - z) + 2; }
double hill(double x, double y, double z) { return std::exp(0.3 * x * y) + 0.5 * z; }

class DiscretiseOrder : public testing::TestWithParam<int> {};

TEST_P(DiscretiseOrder, IsWhatIsAskedFor) {
  double const x = 0.75, y = 0.5, z = 1.25;
  double const s = std::sin(x + 2 * y - z), c = std::cos(x + 2 * y - z);
  double const e = std::exp(0.3 * x * y), v = e + 0.5 * z;
  constexpr double near_one = 0.025;
  int const order = GetParam();
  EXPECT_NEAR(observed_order(
                  [](Discretised& d) {
                    return d.terms.derivative(d.u, {1, 0, 0});
                  },
                  wave, hill, c, order),
              1, near_one);
  EXPECT_NEAR(observed_order(
                  [](Discretised& d) {
                    return d.terms.derivative(d.u, {0, 1, 2});
                  },
                  wave, hill, -2 * c, order),
              1, near_one);
  // ∂/∂x (v·∂u/∂x)
  EXPECT_NEAR(
      observed_order(
          [](Discretised& d) {
            return d.terms.flux(d.terms.multiply(d.v, d.terms.derivative(d.u, {1, 0, 0})), 0);
          },
          wave, hill, 0.3 * y * e * c - v * s, order),
      1, near_one);
  // ∂/∂y (v·∂u/∂x): across the flux
  EXPECT_NEAR(
      observed_order(
          [](Discretised& d) {
            return d.terms.flux(d.terms.multiply(d.v, d.terms.derivative(d.u, {1, 0, 0})), 1);
          },
          wave, hill, 0.3 * x * e * c - v * 2 * s, order),
      1, near_one);
  // ∂/∂x (u·v)
  EXPECT_NEAR(
      observed_order([](Discretised& d) { return d.terms.flux(d.terms.multiply(d.u, d.v), 0); },
                     wave, hill, c * v + (s + 2) * 0.3 * y * e, order),
      1, near_one);
  // ∂/∂x √(u_x² + u_y²) = √5·∂/∂x |cos|
  EXPECT_NEAR(observed_order(
                  [](Discretised& d) {
                    Term const a = d.terms.derivative(d.u, {1, 0, 0});
                    Term const b = d.terms.derivative(d.u, {0, 1, 0});
                    Term const sum = d.terms.add(d.terms.multiply(a, a), d.terms.multiply(b, b));
                    return d.terms.flux(d.terms.operation(Operation::sqrt, sum), 0);
                  },
                  wave, hill, -std::sqrt(5.0) * s, order),
              1, near_one);
  // v·∂u/∂z
  EXPECT_NEAR(observed_order([](Discretised& d) { return d.terms.transport(d.v, d.u, 2); }, wave,
                             hill, -v * c, order),
              1, near_one);
  // ∂²/∂x² of a formula of u and of space
  EXPECT_NEAR(observed_order(
                  [](Discretised& d) {
                    Term const product =
                        d.terms.multiply(d.terms.coordinate(0), d.terms.multiply(d.u, d.u));
                    return d.terms.derivative(product, {2, 0, 0});
                  },
                  wave, hill, 4 * (s + 2) * c + x * (2 * c * c - 2 * (s + 2) * s), order),
              1, near_one);
}
INSTANTIATE_TEST_SUITE_P(Discretise, DiscretiseOrder, testing::Values(2, 4, 6));

TEST(Discretise, ReachesNoFurtherThanItHasTo) {
  Discretised d;
  Term const slope = d.terms.derivative(d.u, {1, 0, 0});
  EXPECT_EQ(d.program(d.terms.flux(slope, 0)).reach, (std::array{1, 0, 0}));
  EXPECT_EQ(d.program(d.terms.flux(d.terms.multiply(d.v, slope), 0)).reach, (std::array{1, 0, 0}));
  EXPECT_EQ(d.program(d.terms.flux(slope, 1)).reach, (std::array{1, 1, 0}));
  EXPECT_EQ(d.program(d.terms.derivative(d.u, {0, 0, 4})).reach, (std::array{0, 0, 2}));
  EXPECT_EQ(d.program(d.terms.flux(d.terms.derivative(d.u, {3, 0, 0}), 0)).reach,
            (std::array{2, 0, 0}));
  EXPECT_EQ(d.program(d.terms.number(3)).components, 0);
  EXPECT_EQ(d.program(d.v).components, 2);
}

TEST(Discretise, WholePowersAreProducts) {
  Discretised d;
  for (double const exponent : {2., 3., 7., 8., -1., -4.}) {
    Term const power = d.terms.operation(Operation::power, d.u, d.terms.number(exponent));
    auto const code = d.program(power).code;
    EXPECT_TRUE(std::ranges::none_of(
        code, [](Node const& node) { return node.operation == Operation::power; }));
    EXPECT_DOUBLE_EQ(d.rate(power, [](double, double, double) { return 1.5; }),
                     std::pow(1.5, exponent));
  }
  auto const left = d.program(d.terms.operation(Operation::power, d.u, d.terms.number(0.5))).code;
  EXPECT_EQ(left.back().operation, Operation::power);
}

TEST(Discretise, RefusesStencilsThatAreTooWide) {
  Discretised d;
  auto const message = [&](Term rate) {
    try {
      d.program(rate);
    } catch (Error const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Term wide = d.u;
  for (int i = 0; i < 34; ++i) wide = d.terms.flux(wide, 1);  // two reach one point further
  EXPECT_EQ(message(wide), "an equation reaches over more than 16 points along y");
}

TEST(Discretise, TakesOperationsNestedAsDeepAsThereAreTerms) {
  Discretised d;
  Term sum = d.u;
  for (int i = 1; i < 20'000; ++i)
    sum = d.terms.add(d.terms.multiply(sum, d.terms.number(0.5)), d.v);
  Term const rate = d.terms.flux(d.terms.add(sum, d.terms.derivative(d.u, {1, 0, 0})), 1);
  EXPECT_THROW(d.program(rate), Error);  // more terms than a system may have
  EXPECT_EQ(d.program(sum).reach, (std::array{0, 0, 0}));
}

}  // namespace
}  // namespace gridstride::equations
