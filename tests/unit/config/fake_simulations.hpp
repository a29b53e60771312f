#pragma once

#include <memory>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "driver/diagnostics.hpp"
#include "driver/formats/format.hpp"

/// A table of simulations for the tests of the config layer.
namespace gridstride::config {

/// What the real `heat` takes, which the faulty files of tests/data/bad are written for.
class FakeHeatParameters : public ParameterSet {
 public:
  Formula diffusivity;
  Formula source = {"0", expression::Expression(0.0), {}};

  void fields(Visitor& v, RunOptions const&) override {
    v.visit({.name = "diffusivity",
             .unit = "m^2/s",
             .documentation = "Thermal diffusivity.",
             .minimum = 0,
             .exclusive_minimum = true,
             .variables = "xyz"},
            diffusivity);
    v.visit({.name = "source", .unit = "1/s", .documentation = "Heat source.", .variables = "xyzt"},
            source);
  }
};

/// A parameter of every type, with and without a default.
class FakeEverythingParameters : public ParameterSet {
 public:
  double speed = 2;
  double width = required_number;
  std::int64_t order = 4;
  std::int64_t modes = required_integer;
  bool limited = true;
  Formula shape = {"x", expression::Expression::parse("x"), {}};

  void fields(Visitor& v, RunOptions const&) override {
    v.visit({.name = "speed", .unit = "m/s", .documentation = "Speed.", .maximum = 100}, speed);
    v.visit({.name = "width", .unit = "m", .documentation = "Width.", .minimum = 0}, width);
    v.visit({.name = "order", .documentation = "Order.", .minimum = 1, .maximum = 8}, order);
    v.visit({.name = "modes", .documentation = "Modes.", .minimum = 1}, modes);
    v.visit({.name = "limited", .documentation = "Whether limited."}, limited);
    v.visit({.name = "shape", .documentation = "Shape.", .variables = "x"}, shape);
  }
};

/// Gives a field for each species that the file names.
class FakeSpeciesParameters : public ParameterSet {
 public:
  std::vector<std::pair<std::string, double>> species;

  void fields(Visitor& v, RunOptions const&) override {
    v.named<double>({.name = "species", .documentation = "Diffusivity of each species."},
                    Presence::required, species, [&](Spec const& spec, double& diffusivity) {
                      v.visit({.name = spec.name, .unit = "m^2/s", .minimum = 0}, diffusivity);
                    });
  }
  std::vector<FieldInfo> fields_of(RunOptions const&) const override {
    std::vector<FieldInfo> fields;
    for (auto const& [name, diffusivity] : species)
      fields.push_back({.name = name, .unit = "mol/m^3", .documentation = "A concentration."});
    return fields;
  }
};

class FakeFlowParameters : public ParameterSet {
 public:
  void fields(Visitor&, RunOptions const&) override {}
};

inline std::vector<SimulationInfo> const& fake_simulations() {
  static std::vector<SimulationInfo> const simulations = {
      {.name = "heat",
       .summary = "Heat conduction.",
       .fields = {{"u", "1", "Temperature."}},
       .schemes = {"ftcs", "rk4", "backward_euler", "crank_nicolson", "tr_bdf2"},
       .adapts_steps = true,
       .kernels = {{"stencil",
                    {"reference", "threads", "naive", "shared", "register_queue", "temporal",
                     "resident"}},
                   {"evaluate", {"reference", "threads", "interpreter"}},
                   {"reduce", {"reference", "threads", "vectorized"}, true}},
       .make_parameters = []() -> std::unique_ptr<ParameterSet> {
         return std::make_unique<FakeHeatParameters>();
       },
       .most_fused_steps = 32,
       .diagnostics = diagnostic_kinds(),
       .formats = output_formats()},
      {.name = "everything",
       .summary = "Two fields and a parameter of every type.",
       .fields = {{"p", "Pa", "Pressure."}, {"v", "m/s", "Velocity."}},
       .schemes = {"leapfrog"},
       .kernels = {},
       .make_parameters = []() -> std::unique_ptr<ParameterSet> {
         return std::make_unique<FakeEverythingParameters>();
       },
       .diagnostics = diagnostic_kinds(),
       .formats = output_formats()},
      {.name = "species",
       .summary = "Fields that the parameters name.",
       .fields = {{.name = "SPECIES",
                   .unit = "mol/m^3",
                   .documentation = "A concentration.",
                   .any_name = true}},
       .schemes = {},
       .kernels = {},
       .make_parameters = []() -> std::unique_ptr<ParameterSet> {
         return std::make_unique<FakeSpeciesParameters>();
       },
       .diagnostics = diagnostic_kinds(),
       .formats = output_formats()},
      {.name = "flow",
       .summary = "A vector field, one with other sides, and one without.",
       .fields = {{.name = "velocity",
                   .unit = "m/s",
                   .documentation = "Velocity.",
                   .components = {"x", "y"}},
                  {.name = "p",
                   .unit = "Pa",
                   .documentation = "Pressure.",
                   .sides = {{SideKind::neumann, SideKind::dirichlet, SideKind::periodic,
                              SideKind::outflow}}},
                  {.name = "depth", .unit = "m", .documentation = "Depth.", .sides = {{}}}},
       .schemes = {},
       .kernels = {},
       .make_parameters = []() -> std::unique_ptr<ParameterSet> {
         return std::make_unique<FakeFlowParameters>();
       },
       .diagnostics = diagnostic_kinds(),
       .formats = output_formats()},
  };
  return simulations;
}

}  // namespace gridstride::config
