#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>

#include "simulations/pde_schemes.hpp"
#include "simulations/pde_stability.hpp"
#include "support/pde_lasting_cases.hpp"
#include "support/replaced.hpp"

/// Formulas of space that become arrays.
namespace gridstride {
namespace {

using test::replaced;
using test::run_pde;

std::size_t arrays_of(std::string const& yaml) {
  return pde::stencil_of(test::config_of(yaml)).lasting.size();
}

TEST(PdeLasting, HasTheBitsOfFormulas) {
  std::mt19937 random(5);
  std::size_t arrays = 0;
  for (int n = 0; n < 60; ++n) {
    auto const one = test::random_lasting_case(random);
    auto const text = test::lasting_text(one, true), formulas = test::lasting_text(one, false);
    if (one.rate.find('R') == std::string::npos) {
      ASSERT_EQ(arrays_of(formulas), 0) << formulas;
    }
    arrays += arrays_of(text);
    auto const expected = run_pde(formulas + "kernels: {system: reference}\n").fields;
    ASSERT_EQ(run_pde(text + "kernels: {system: reference}\n").fields, expected) << text;
    ASSERT_EQ(run_pde(text + "kernels: {system: threads}\n").fields, expected) << text;
  }
  EXPECT_GT(arrays, 60);
}

std::string box(std::string const& equations, std::string const& time,
                std::string const& more = "") {
  return "simulation: pde\ngrid: {points: [17, 13], upper: [2, 1.5]}\n"
         "boundary: {x: {neumann: 0.1}, y: periodic}\n" +
         equations + "\ntime: " + time + "\n" + more;
}

/// Formulas that ask for the field stay formulas, and have the same values.
std::string without_arrays(std::string text) {
  text = replaced(text, "X", "if(u < -99, 0, x)");
  return replaced(text, "Y", "if(u < -99, 0, y)");
}
std::string with_arrays(std::string text) {
  text = replaced(text, "X", "x");
  return replaced(text, "Y", "y");
}

TEST(PdeLasting, IsReadByAllThatIsFoundForAStage) {
  std::string const S = "(1 + 0.3*sin(2*X)*exp(-Y))";
  for (std::string const& text : {
           // Values over the grid.
           box("equations: {u: \"mean(" + S + "*u) - u*max(" + S + ")\"}\ninitial: {u: cos(x)}",
               "{scheme: rk4, end: 1e-3, step: 1e-4}"),
           // Steps that follow their error, and those of equations of order 2.
           box("equations: {u: \"div(" + S + "*grad(u))\"}\ninitial: {u: cos(x)}",
               "{scheme: rk45, end: 0.01, step: adaptive}"),
           box("fields: {u: {order: 2}}\nequations: {u: \"div(" + S +
                   "*grad(u))\"}\ninitial: {u: cos(x), u_t: 0}",
               "{scheme: leapfrog, end: 0.01, step: 1e-3}", "stop: {steady: 1e-12}\n"),
           // Events and derived quantities are found beside.
           box("equations: {u: \"div(" + S + "*grad(u))\"}\ninitial: {u: cos(x)}",
               "{scheme: ssprk3, end: 0.01, step: 1e-3}",
               "events: [{at: 0.005, set: {u: \"u + " + S +
                   "\"}}]\n"
                   "output: {derived: {d: \"" +
                   S + "*u\"}}\n"),
       }) {
    auto const arrays = with_arrays(text);
    EXPECT_GT(arrays_of(arrays), 0) << arrays;
    EXPECT_EQ(run_pde(arrays).fields, run_pde(without_arrays(text)).fields) << arrays;
  }
}

TEST(PdeLasting, NamesWithSidesReadIt) {
  std::string const text =
      "simulation: pde\ngrid: {points: [17, 13]}\n"
      "boundary: {u: {x: {neumann: 0}, y: periodic}, m: {x: {dirichlet: 0.1}, y: periodic}}\n"
      "let: {m: \"(1 + sin(X)*cos(Y))*laplace(u) + u\"}\n"
      "equations: {u: \"-1e-4*laplace(m) + m*exp(-X*Y)\"}\ninitial: {u: cos(3*x)}\n"
      "time: {scheme: rk4, end: 1e-3, step: 1e-4}\n";
  EXPECT_EQ(arrays_of(with_arrays(text)), 2);
  EXPECT_EQ(run_pde(with_arrays(text)).fields, run_pde(without_arrays(text)).fields);
}

/// A step of the scheme's limit, which the largest diffusivity sets: 2 at (0.5, 0.5).
TEST(PdeLasting, StabilitySeesItsExtremes) {
  auto const step = [](std::string const& D) {
    return test::step_of(
        "simulation: pde\ngrid: {points: [20, 20]}\nboundary: {x: periodic, y: periodic}\n"
        "equations: {u: \"(" +
        D +
        ")*laplace(u)\"}\ninitial: {u: x}\n"
        "time: {scheme: euler, end: 1}\n");
  };
  double const at_most_two = step("2*exp(-(x - 0.5)^2 - (y - 0.5)^2)");
  EXPECT_LE(at_most_two, step("2"));
  EXPECT_GE(at_most_two, 0.9 * step("2"));  // powers of 2^(1/8)
}

/// The second time there are no fields: nothing may look at them where space alone decides.
TEST(PdeLasting, LimitsThatFollowFromSpaceAreFoundOnce) {
  auto const finds_again = [](std::string const& D) {
    auto const run = test::config_of(
        "simulation: pde\ngrid: {points: [20, 20]}\nboundary: {x: periodic, y: periodic}\n"
        "equations: {u: \"(" +
        D + ")*laplace(u)\"}\ninitial: {u: x}\ntime: {scheme: euler, end: 1}\n");
    Stream stream(Device::open(Backend::cpu));
    pde::StabilityFinder<double> finder(stream, run.grid, pde::wraps_of(run),
                                        pde::linearisation_of(run), pde::degree_of(run), false, {0},
                                        "auto");
    std::vector<double> const values(400, 0.5);
    evaluate::DeviceClock const clock{0.25, 1, 0};
    auto const find = [&](std::vector<system::Input<double>> const& inputs) {
      return finder.find(inputs, {}, {}, finder.look_at(inputs, &clock)).step;
    };
    double const step = find({{.values = values.data()}});
    try {
      EXPECT_EQ(find({{}}), step);
    } catch (std::invalid_argument const&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(finds_again("2 + sin(x)*cos(y)"));
  EXPECT_FALSE(finds_again("2 + x"));
  EXPECT_TRUE(finds_again("2 + x*t"));
  EXPECT_TRUE(finds_again("2 + u*x"));
  EXPECT_TRUE(finds_again("2 + x*mean(u^2)"));
}

TEST(PdeLasting, IsTold) {
  auto const config = test::config_of(
      "simulation: pde\nprecision: float32\ngrid: {points: [16, 16]}\n"
      "boundary: {x: periodic, y: periodic}\nlet: {D: \"1 + 0.5*sin(x)*cos(y)\"}\n"
      "equations: {u: div(D*grad(u))}\ninitial: {u: 1}\ntime: {scheme: euler, end: 1}\n");
  auto const lines = entry_of(config).report(config, {}, Device::open(Backend::cpu));
  ASSERT_EQ(lines.size(), 7);
  EXPECT_EQ(lines[5], "made once, and read from an array: 1 + 0.5*sin(x)*cos(y)");
  EXPECT_NE(lines[6].find("1 stage, 12 bytes (2 loads and 1 store of float32)"), std::string::npos)
      << lines[6];
}

}  // namespace
}  // namespace gridstride
