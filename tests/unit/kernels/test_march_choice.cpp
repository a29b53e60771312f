#include <gtest/gtest.h>

#include <string>

#include "kernels/support/runtime_compiler.hpp"
#include "simulations/pde_set_up.hpp"
#include "support/heat_cases.hpp"

namespace gridstride {
namespace {

/// The variant that steps of a system with this text go by on a GPU.
std::string variant_of(std::string const& text, std::string const& kernels = "") {
  auto const config = test::config_of("simulation: pde\n" + text + kernels);
  return std::string(pde::variant_of(config, Backend::cuda));
}

constexpr char const* heat =
    "grid: {points: [40, 30]}\n"
    "boundary: {x: periodic, y: periodic}\n"
    "equations: {u: laplace(u)}\n"
    "initial: {u: x}\n";

TEST(MarchChoice, AutoMarchesWhereMarchTakesTheRun) {
  std::string const expected = has_runtime_compiler() ? "march" : "points";
  for (std::string const scheme : {"euler", "ssprk2", "ssprk3", "rk4"})
    for (std::string const& text :
         {std::string(heat), std::string("grid: {points: 40}\nboundary: {x: {dirichlet: 1}}\n"
                                         "equations: {u: laplace(u)}\ninitial: {u: x}\n")})
      EXPECT_EQ(variant_of(text + "time: {scheme: " + scheme + ", end: 1}\n"), expected);
  EXPECT_EQ(variant_of(std::string(heat) + "time: {scheme: rk4, end: 1}\n",
                       "kernels: {system: points}\n"),
            "points");
}

TEST(MarchChoice, AutoIsAnotherElsewhere) {
  std::string const time = "time: {scheme: rk4, end: 1}\n";
  for (std::string const& text :
       {std::string(heat) + "time: {scheme: rk45, end: 1}\n",
        "grid: {points: [9, 9, 9]}\nboundary: {x: periodic, y: periodic, z: periodic}\n"
        "equations: {u: laplace(u)}\ninitial: {u: x}\n" +
            time,
        "grid: {points: [40, 30]}\nboundary: {x: periodic, y: periodic}\n"
        "equations: {u: laplace(u) - mean(u)}\ninitial: {u: x}\n" +
            time})
    EXPECT_NE(variant_of(text), "march") << text;
  auto const config = test::config_of("simulation: pde\n" + std::string(heat) + time);
  EXPECT_EQ(pde::variant_of(config, Backend::cpu), "threads");
}

/// What is not a step of a run is evaluated by itself.
TEST(MarchChoice, EvaluationsDoNotMarch) {
  auto const text = "simulation: pde\n" + std::string(heat) + "time: {scheme: rk4, end: 1}\n";
  EXPECT_EQ(pde::evaluating_variant(test::config_of(text)), "auto");
  EXPECT_EQ(pde::evaluating_variant(test::config_of(text + "kernels: {system: march}\n")),
            "points");
  EXPECT_EQ(pde::evaluating_variant(test::config_of(text + "kernels: {system: reference}\n")),
            "reference");
}

}  // namespace
}  // namespace gridstride
