#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "equations/language.hpp"
#include "equations/linear_part.hpp"
#include "equations/text.hpp"
#include "unit/equations/discretised.hpp"

namespace gridstride::equations {
namespace {

System read(std::vector<std::pair<std::string, std::string>> const& equations, int dims = 2) {
  SystemText text;
  text.dims = dims;
  text.constants = {{"F", 0.04}, {"k", 0.06}};
  text.lets.push_back({"f", {"5*(u - 0.3)^2*(0.7 - u)^2"}});
  for (auto const& [name, rate] : equations) text.equations.push_back({{name, {rate}}, false});
  std::vector<SystemFault> faults;
  auto system = read_system(text, faults);
  EXPECT_TRUE(system) << (faults.empty() ? "" : faults.front().error.what());
  return system ? *system : System{};
}

/// `linear | rest` of the first rate.
std::string split_of(std::vector<std::pair<std::string, std::string>> const& equations,
                     int dims = 2) {
  System system = read(equations, dims);
  auto const split = split_linear(system.terms, system.rates[0]);
  return to_text(system, linear_part(system.terms, split)) + " | " + to_text(system, split.rest);
}
std::string split_of(std::string const& rate) { return split_of({{"u", rate}, {"v", "u"}}); }

TEST(LinearPart, OfWellKnownEquations) {
  EXPECT_EQ(split_of("2e-5*laplace(u) - u*v^2 + F*(1 - u)"),
            "2e-05*laplace(u) - 0.04*u | -(u*v^2) + 0.04");
  EXPECT_EQ(split_of({{"u", "-u*d_dx(u) - d2_dx2(u) - d2_dx2(d2_dx2(u))"}}, 1),
            "-d2_dx2(d2_dx2(u)) - d2_dx2(u) | -u*d_dx(u)");
  EXPECT_EQ(split_of("div(0.5*grad(u)) - advect([2, 3], u)"),
            "0.5*laplace(u) - 2*d_dx(u) - 3*d_dy(u) | 0");
  EXPECT_EQ(split_of("laplace(v)/2"), "0.5*laplace(v) | 0");
  // −10∇⁴u, whose mixed derivative counts twice.
  System system = read({{"u", "5*laplace(diff(f, u) - 2*laplace(u))"}});
  EXPECT_EQ(split_linear(system.terms, system.rates[0]).linear,
            (std::map<Derived, double>{
                {{0, {4, 0, 0}}, -10}, {{0, {2, 2, 0}}, -20}, {{0, {0, 4, 0}}, -10}}));
}

TEST(LinearPart, WhatStaysWhole) {
  EXPECT_EQ(split_of("u*v"), "0 | u*v");
  EXPECT_EQ(split_of("x*u"), "0 | x*u");
  EXPECT_EQ(split_of("t*laplace(u)"), "0 | t*laplace(u)");
  EXPECT_EQ(split_of("sin(u)"), "0 | sin(u)");
  EXPECT_EQ(split_of("div(u*grad(v))"), "0 | div([u*d_dx(v), u*d_dy(v)])");
  EXPECT_EQ(split_of("mean(u)"), "0 | mean(u)");
  EXPECT_EQ(split_of("(u - 1)*(u + 2)"), "0 | (u - 1)*(u + 2)");
}

TEST(LinearPart, WhatCancelsIsNoPart) {
  EXPECT_EQ(split_of("u + v - u"), "v | 0");
  EXPECT_EQ(split_of("laplace(u) - u^2 - laplace(u)"), "0 | -u^2");
}

/// Both together are the rate: as differences of order 2, which are linear themselves.
TEST(LinearPart, TogetherTheyAreTheRate) {
  auto const of_u = [](double x, double y, double z) {
    return 0.3 + x * x * y - y * z + x * y * y;
  };
  auto const of_v = [](double x, double y, double z) {
    return x - 0.5 * z * z * y + 0.1 * x * x * x;
  };
  for (char const* rate : {"2*laplace(u - 3*v + u*v) + 0.25*(d_dx(u)/4 - v)",
                           "-laplace(u/2 + laplace(2*u - v^2)) + x*u - (u - v)/3",
                           "div(0.5*grad(u + v^2)) - advect([1, -2, 0.5], u*v - 2*v) - -u",
                           "d2_dxdy(u) - d_dz(d_dz(3*v - sin(u)))*2 + F*(k*u - 1)*5"}) {
    System system = read({{"u", rate}, {"v", "u"}}, 3);
    auto const split = split_linear(system.terms, system.rates[0]);
    Term const sum = system.terms.add(linear_part(system.terms, split), split.rest);
    test::Discretised whole, parts;
    whole.system = parts.system = system;
    EXPECT_FALSE(split.linear.empty());
    EXPECT_NE(sum, system.rates[0]);
    double const expected = whole.rate(system.rates[0], of_u, of_v);
    EXPECT_NEAR(parts.rate(sum, of_u, of_v), expected, 1e-11 * (1 + std::abs(expected))) << rate;
  }
}

/// What is left of a derivative of a sum may not be put together beyond what a term may have.
TEST(LinearPart, DerivativesThatDoNotFitStayWhole) {
  Terms terms;
  Term const u = terms.unknown(0);
  Term const squared = terms.derivative(terms.multiply(u, u), {6, 0, 0});
  Term const rate = terms.derivative(terms.add(u, squared), {4, 0, 0});
  auto const split = split_linear(terms, rate);
  EXPECT_TRUE(split.linear.empty());
  EXPECT_EQ(split.rest, rate);
  auto const fits = split_linear(terms, terms.derivative(terms.add(u, squared), {2, 0, 0}));
  EXPECT_EQ(fits.linear, (std::map<Derived, double>{{{0, {2, 0, 0}}, 1.0}}));
}

/// Chains of sums are as long as systems may be, and take no stack.
TEST(LinearPart, OfLongSums) {
  Terms terms;
  Term sum = terms.unknown(0);
  for (int n = 0; n < 20000; ++n)
    sum = terms.add(sum, terms.multiply(terms.number(n + 0.5), terms.unknown(n % 7)));
  auto const split = split_linear(terms, sum);
  EXPECT_EQ(split.linear.size(), 7u);
  EXPECT_EQ(split.rest, terms.number(0));
}

}  // namespace
}  // namespace gridstride::equations
