#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "equations/text.hpp"
#include "simulations/pde_parameters.hpp"
#include "unit/config/run_reading.hpp"

namespace gridstride::pde {
namespace {

/// A simulation with these parameters and nothing else.
std::vector<config::SimulationInfo> const& simulations() {
  static std::vector<config::SimulationInfo> const infos = [] {
    config::SimulationInfo info;
    info.name = "pde";
    info.fields = {{.name = "NAME", .documentation = "a field", .any_name = true}};
    info.schemes = {"euler", "rk4"};
    info.has_own_sections = true;
    info.make_parameters = []() -> std::unique_ptr<config::ParameterSet> {
      return std::make_unique<Parameters>();
    };
    return std::vector{info};
  }();
  return infos;
}

class PdeParameters : public config::RunReading {
 protected:
  config::RunConfig read(std::string const& text, std::vector<config::Override> changes = {}) {
    return config::read_run_config(write(text), changes, simulations());
  }
  std::string faults(std::string const& text, std::vector<config::Override> changes = {}) {
    std::string all;
    try {
      read(text, changes);
    } catch (ConfigError const& error) {
      for (Problem problem : error.problems()) {
        if (problem.file == (folder_ / "run.yaml").string()) problem.file = "run";
        all += (all.empty() ? "" : "\n") + problem.text();
      }
    }
    return all;
  }
};

std::string const head = "simulation: pde\ngrid: {points: [8, 8]}\ntime: {end: 1}\n";
std::string const initial = "initial: {u: 0, v: 0}\n";

TEST_F(PdeParameters, BecomeASystem) {
  auto const run = read(head + initial +
                        "constants: {F: 0.04, D: 2 mm^2/s}\n"
                        "let: {r: u*v^2}\n"
                        "equations:\n"
                        "  u: D*laplace(u) - r + F*(1 - u)\n"
                        "  v: |\n"
                        "    laplace(v)\n"
                        "    + r\n");
  auto const& system = parameters_of(run).system;
  ASSERT_TRUE(system);
  EXPECT_EQ(equations::to_text(*system),
            (std::vector<std::string>{"dt(u) = 2e-06*laplace(u) - u*v^2 + 0.04*(1 - u)",
                                      "dt(v) = laplace(v) + u*v^2"}));
  ASSERT_EQ(run.fields.size(), 2u);
  EXPECT_EQ(run.fields[1].name, "v");
}

TEST_F(PdeParameters, GiveVectors) {
  std::string const text = head +
                           "initial: {h: 1, q: {x: 0, y: 0}}\n"
                           "fields: {q: vector, h: scalar}\n"
                           "let: {g: [0, -9.81]}\n"
                           "equations:\n"
                           "  h: -div(q)\n"
                           "  q: [-d_dx(h), 0]\n";
  auto const run = read(text);
  EXPECT_EQ(run.fields[1].components, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(parameters_of(run).system->unknowns[1].first, 1);
  auto const again = read(config::resolved_yaml(run));
  EXPECT_EQ(equations::to_text(*parameters_of(again).system),
            equations::to_text(*parameters_of(run).system));
  EXPECT_EQ(config::resolved_yaml(again), config::resolved_yaml(run));
  auto const changed = read(text, {{"equations.q.1", "d_dy(h)"}});
  EXPECT_EQ(equations::to_text(*parameters_of(changed).system)[2], "dt(q.y) = d_dy(h)");
}

TEST_F(PdeParameters, TellFaultsAtTheirCharacter) {
  EXPECT_EQ(faults(head + initial +
                   "let: {a: 2*w, b: \"u +\"}\n"
                   "equations:\n"
                   "  u: laplace(u) + q\n"
                   "  v: \"div(u)\"\n"),
            "run:5:12: let.a: unknown name 'w' (an equation knows x, y, t, pi, e, fields, names "
            "under 'let', constants, functions and operators)\n"
            "run:5:22: let.b: the formula ends after '+' (a value is expected)\n"
            "run:7:19: equations.u: unknown name 'q' (an equation knows x, y, t, pi, e, fields, "
            "names under 'let', constants, functions and operators)\n"
            "run:8:11: equations.v: 'div' takes a vector or a tensor, here is a scalar (it is "
            "called as div(v))");
  EXPECT_EQ(faults(head + "initial: {q: {x: 0, y: 0}}\nfields: {q: vector}\n"
                          "equations: {q: [\"q.x\", \"-q.y + q\"]}\n"),
            "run:6:30: equations.q.1: a scalar '+' a vector (both sides must be of one kind)");
  EXPECT_EQ(faults(head + initial + "equations: {u: 0, v: 0}\n", {{"equations.u", "1 + w"}}),
            "--set equations.u=1 + w: equations.u: unknown name 'w' (an equation knows x, y, t, "
            "pi, e, fields, names under 'let', constants, functions and operators) [at character "
            "5]");
}

TEST_F(PdeParameters, TellFaultsOfSections) {
  EXPECT_EQ(faults(head + "initial: {}\n"), "run:1:1: equations: is missing (it has no default)");
  EXPECT_EQ(faults(head + "equations: {}\n"), "run:4:12: equations: is empty (one name at least)");
  EXPECT_EQ(faults(head + initial + "equations: {u: [], v: {a: 1}}\n"),
            "run:5:16: equations.u: is empty (a formula is expected)\n"
            "run:5:23: equations.v: a formula, or a list of them for the components of a vector, "
            "expected, not a mapping");
  EXPECT_EQ(faults(head + initial + "equations: {u: [[1]], v: }\n"),
            "run:5:17: equations.u.0: a formula expected, not a list\n"
            "run:5:26: equations.v: has no value");
  EXPECT_EQ(faults(head + initial + "equations: {u: '', v: 0}\n"),
            "run:5:17: equations.u: the formula is empty (0 is written '0')");
  EXPECT_EQ(
      faults(head + initial +
             "constants: {curl: 1}\nlet: {u: 1, div: 2, x: 3}\n"
             "fields: {w: vector, u: tensor}\n"
             "equations: {u: 0, v: 0}\nparameters: {a: 1}\n"),
      "run:5:19: constants.curl: the name 'curl' is taken (it is an operator)\n"
      "run:6:10: let.u: the name 'u' is taken (it is a field)\n"
      "run:6:18: let.div: the name 'div' is taken (it is an operator)\n"
      "run:6:21: let.x: the name 'x' is taken (it is a variable)\n"
      "run:7:13: fields.w: there is no field 'w' (a field has an equation, 'equations: {w: "
      "...}')\n"
      "run:7:24: fields.u: 'scalar', 'vector' or {kind: ..., order: ...} expected, not 'tensor'\n"
      "run:9:1: parameters: pde has sections of its own in place of it (`gridstride describe "
      "pde` tells them)");
  std::string many = "equations: {u: 0, v: 0}\nlet:\n";
  for (int k = 0; k < 257; ++k) many += "  l" + std::to_string(k) + ": u\n";
  EXPECT_EQ(faults(head + initial + many),
            "run:7:3: let: 257 names are more than the 256 that there may be");
  many = "fields: {u: vector}\nequations:\n  u: u\n";
  for (int k = 0; k < 23; ++k) many += "  f" + std::to_string(k) + ": u.x\n";
  EXPECT_NE(faults(head + many).find("equations: the fields have 25 components (at most 24)"),
            std::string::npos);
}

TEST_F(PdeParameters, AreDescribed) {
  std::string const text = config::describe_text(simulations()[0]);
  for (auto const* line : {"equations", "let", "fields"})
    EXPECT_NE(text.find(std::string("\n  ") + line), std::string::npos) << text;
  EXPECT_NE(config::describe_schema(simulations()[0]).find("\"equations\""), std::string::npos);
}

}  // namespace
}  // namespace gridstride::pde
