#include "equations/parity.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "equations/language.hpp"

namespace gridstride {
namespace {

/// What a rate of u, v and w does where u and w have the other sign, and v has not.
std::string parity_of(std::string const& rate, equations::Convection convection = {}) {
  auto const equation = [](std::string const& name, std::string const& text) {
    equations::Equation one;
    one.name = name;
    one.texts = {text};
    return one;
  };
  std::vector<equations::SystemFault> faults;
  auto const system = equations::read_system(
      {.dims = 2,
       .constants = {},
       .lets = {},
       .equations = {equation("u", rate), equation("v", "u"), equation("w", "u")}},
      faults);
  if (!system) return faults.front().error.what();
  Grid const grid{.dims = 2, .points = {16, 16, 1}, .origin = {}, .spacing = {0.1, 0.1, 1}};
  auto const stencil = equations::discretise(*system, grid, {.convection = convection});
  auto const program = equations::program_of(stencil.terms, std::vector{stencil.rates.front()}, 2);
  auto const found = equations::parities_of(program, {1, 0, 1}).front();
  return std::string(found.same ? "same" : "") + (found.opposite ? "opposite" : "");
}

TEST(Parity, OfOperations) {
  for (char const* rate :
       {"u", "laplace(u) - u^3", "v*u", "sin(u)*x + w/(1 + u^2)", "d_dx(u)*d_dy(v)^2", "u*w*u",
        "if(v > t, u, w)", "if(u*w > 0.3, u, 0)", "u*abs(w)", "u*max(v, u^2)",
        "sign(w)*sqrt(u^2 + v^2)", "mean(u)*u", "div((1 + u^2)*grad(u))", "tanh(3*u)", "w^(-1)",
        "u*uniform(3)", "cos(u)*w", "sinh(u - 2*w)"})
    EXPECT_EQ(parity_of(rate), "opposite") << rate;
  for (char const* rate : {"v", "u*w", "u^2", "abs(u)", "cos(w)", "v*exp(u^2)", "t + x", "max(u)",
                           "if(v > 0, 1, u^4)", "d_dx(u)^2", "atan2(v, 2)", "floor(v)"})
    EXPECT_EQ(parity_of(rate), "same") << rate;
  for (char const* rate :
       {"u + v", "u + 1", "exp(u)", "if(u > 0, u, w)", "u*d_dx(u) - u", "max(u, w)", "floor(u)",
        "abs(u + v)", "u^1.5", "mean(u) + u", "atan2(v, u)", "atan2(u, v)", "uniform(3) + u",
        "mod(u, 2)", "u - min(u, v)"})
    EXPECT_EQ(parity_of(rate), "") << rate;
}

/// Upwind differences of a flux ask how fast waves are, which does not change.
TEST(Parity, OfUpwindDifferences) {
  using equations::Convection;
  for (Convection const way : {Convection::upwind, Convection::weno5}) {
    EXPECT_EQ(parity_of("-div([v*u, 0])", way), "opposite");
    EXPECT_EQ(parity_of("-div([u^3, u])", way), "opposite");
    EXPECT_EQ(parity_of("-div([u^2, 0])", way), "");
  }
}

}  // namespace
}  // namespace gridstride
