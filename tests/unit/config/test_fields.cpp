#include <nlohmann/json.hpp>
#include <stdexcept>

#include "config/document.hpp"
#include "config/reader.hpp"
#include "config/run_fields.hpp"
#include "run_reading.hpp"

// Several fields: names that the parameters give, sides for each, and vectors.
namespace gridstride::config {
namespace {

std::string const minimal_species =
    "simulation: species\n"
    "grid: {points: [8, 8]}\n"
    "parameters: {species: {a: 1, b: 2}}\n"
    "initial: {a: 0, b: x}\n"
    "time: {end: 1}\n";

std::string const minimal_flow =
    "simulation: flow\n"
    "grid: {points: [8, 8]}\n"
    "initial: {velocity: {x: -y, y: x}, p: 1 bar, depth: 2}\n"
    "time: {end: 1}\n";

class Fields : public RunReading {
 protected:
  /// What holds at the lower end of an axis.
  static SideCondition const& lower(RunConfig const& run, std::string_view field, int axis) {
    return run.sides_of(field)[static_cast<std::size_t>(axis)][0];
  }
  static SideCondition const& upper(RunConfig const& run, std::string_view field, int axis) {
    return run.sides_of(field)[static_cast<std::size_t>(axis)][1];
  }
  void expect_reads_back(RunConfig const& run) {
    std::string const text = resolved_yaml(run);
    auto const again = read_run_config(write(text, "again.yaml"), {}, fake_simulations());
    EXPECT_EQ(again.fields, run.fields);
    for (FieldInfo const& field : run.fields)
      for (int axis = 0; axis < run.grid.dims; ++axis)
        for (auto end : {lower, upper}) {
          EXPECT_EQ(end(again, field.name, axis).kind, end(run, field.name, axis).kind);
          EXPECT_EQ(end(again, field.name, axis).value.expression,
                    end(run, field.name, axis).value.expression);
        }
    EXPECT_EQ(again.grid, run.grid);
    EXPECT_EQ(resolved_yaml(again), text);
  }
};

TEST_F(Fields, ComeFromTheParametersWhereverTheseStand) {
  RunConfig const run = read(
      "initial: {b: x, a: 0}\nboundary: {b: {x: {neumann: 3}}}\noutput: {fields: [b]}\n"
      "verify: {exact: {b: x}}\ndiagnostics: [{probe: {at: [0, 0], field: a}}]\n"
      "parameters: {species: {a: 1, b: 2}}\ngrid: {points: [8, 8]}\nsimulation: species\n"
      "time: {end: 1}\n");
  ASSERT_EQ(run.fields.size(), 2u);
  EXPECT_EQ(run.fields[0].name, "a");
  EXPECT_EQ(run.fields[1].unit, "mol/m^3");
  EXPECT_EQ(run.initial.at("b").formula.expression.evaluate(3), 3);
  EXPECT_EQ(run.output.fields, std::vector<std::string>{"b"});
  EXPECT_EQ(run.verify.exact.at(0).first, "b");
  EXPECT_EQ(run.diagnostics.at(0).options->gives(), std::vector<std::string>{"a(0, 0)"});
  EXPECT_EQ(lower(run, "b", 0).kind, SideKind::neumann);
  EXPECT_EQ(lower(run, "a", 0).kind, SideKind::dirichlet);
  EXPECT_THROW(run.sides_of("c"), std::invalid_argument);
  expect_reads_back(run);
}

TEST_F(Fields, OfTheirOwnAreAllWritten) {
  EXPECT_EQ(read(minimal_species).output.fields, (std::vector<std::string>{"a", "b"}));
}

TEST_F(Fields, UnknownNamesAreFaults) {
  EXPECT_EQ(faults(minimal_species + "boundary: {c: {x: {dirichlet: 0}}}\n"),
            "run:6:12: boundary.c: unknown key ('x', 'y', 'a' or 'b' expected)\n");
  EXPECT_EQ(faults(minimal_species + "boundary: {a: {z: periodic, u: 0}, SPECIES: {}}\n"),
            "run:6:16: boundary.a.z: the grid has no axis z (grid.points has 2 entries)\n"
            "run:6:29: boundary.a.u: unknown key ('x' or 'y' expected)\n"
            "run:6:36: boundary.SPECIES: unknown key ('x', 'y', 'a' or 'b' expected)\n");
  EXPECT_EQ(faults(minimal_species + "output: {fields: [a, SPECIES]}\n"),
            "run:6:22: output.fields.1: unknown value 'SPECIES' ('a' or 'b' expected)\n");
}

/// What depends on fields that are not known is not spoken of.
TEST_F(Fields, WithoutParametersOneFaultIsAll) {
  EXPECT_EQ(faults("simulation: species\ngrid: {points: [8, 8]}\nparameters: {specis: {a: 1}}\n"
                   "initial: {a: 0}\nboundary: {a: {x: periodic}, y: periodic}\n"
                   "output: {fields: [a]}\nverify: {exact: {a: 0}}\ntime: {end: 1}\n"
                   "diagnostics: [{probe: {at: [0, 0], field: a}}]\n"),
            "run:3:13: parameters.species: is missing (it has no default)\n"
            "run:3:14: parameters.specis: unknown key; did you mean 'species'?\n");
}

TEST_F(Fields, CannotBeCalledAsAnAxis) {
  EXPECT_EQ(faults("simulation: species\ngrid: {points: 8}\nparameters: {species: {x: 1, a: 1}}\n"
                   "initial: {a: 0}\ntime: {end: 1}\n"),
            "run:3:24: parameters.species.x: the name 'x' is taken (it is a variable)\n");
  // Where y is no variable, the formulas have no objection.
  static constexpr expression::Variable variables[] = {{"x", 0}, {"t", 3}};
  SimulationInfo line = fake_simulations()[2];
  line.variables = variables;
  try {
    read_run_config(write("simulation: species\ngrid: {points: 8}\ninitial: {y: 0}\n"
                          "parameters: {species: {y: 1}}\ntime: {end: 1}\n"),
                    {}, {&line, 1});
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_NE(std::string(error.what())
                  .find("4:13: parameters: a field cannot be called 'y' (it is an axis: "
                        "'boundary.y' would have two meanings)"),
              std::string::npos)
        << error.what();
  }
}

class TwinParameters : public FakeSpeciesParameters {
 public:
  std::vector<FieldInfo> fields_of(RunOptions const& run) const override {
    auto fields = FakeSpeciesParameters::fields_of(run);
    fields.push_back({.name = "solvent"});
    return fields;
  }
};

TEST_F(Fields, HaveNamesOfTheirOwn) {
  SimulationInfo twins = fake_simulations()[2];
  twins.make_parameters = []() -> std::unique_ptr<ParameterSet> {
    return std::make_unique<TwinParameters>();
  };
  try {
    read_run_config(write("simulation: species\ngrid: {points: 8}\ninitial: {solvent: 0}\n"
                          "parameters: {species: {solvent: 1}}\ntime: {end: 1}\n"),
                    {}, {&twins, 1});
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_NE(std::string(error.what()).find("parameters: two fields are called 'solvent'"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Fields, TheEntryOfAFieldWinsOverThatOfAll) {
  RunConfig const run = read(minimal_species +
                             "boundary: {a: {x: {lower: {dirichlet: 1}, upper: {neumann: 2}}}, "
                             "x: {neumann: 3}, y: {lower: {neumann: 4}, upper: {dirichlet: 5}}, "
                             "b: {y: {dirichlet: 6}}}\n");
  EXPECT_EQ(lower(run, "a", 0).kind, SideKind::dirichlet);
  EXPECT_EQ(upper(run, "a", 0).value.expression.evaluate(0), 2);
  EXPECT_EQ(upper(run, "b", 0).value.expression.evaluate(0), 3);
  EXPECT_EQ(lower(run, "a", 1).kind, SideKind::neumann);
  EXPECT_EQ(upper(run, "a", 1).value.expression.evaluate(0), 5);
  EXPECT_EQ(lower(run, "b", 1).value.expression.evaluate(0), 6);
  EXPECT_EQ(upper(run, "b", 1).kind, SideKind::dirichlet);
  EXPECT_EQ(upper(run, "b", 1).value.expression.evaluate(0), 6);
  expect_reads_back(run);
}

/// It says all of its axis: a side that is missing does not come from the entry of all.
TEST_F(Fields, TheEntryOfAFieldIsComplete) {
  EXPECT_EQ(faults(minimal_species + "boundary: {x: {lower: {neumann: 1}, upper: {dirichlet: 0}}, "
                                     "a: {x: {lower: {dirichlet: 1}}}}\n"),
            "run:6:68: boundary.a.x.upper: is missing (it has no default)\n");
}

TEST_F(Fields, AlsoWhereThereIsOnlyOne) {
  RunConfig const run =
      read(minimal_heat + "boundary: {y: {neumann: 1}, u: {x: periodic, y: {neumann: 2}}}\n");
  EXPECT_EQ(run.sides_of("u")[0][0].kind, SideKind::periodic);
  EXPECT_EQ(run.sides_of("u")[1][0].value.text, "2");
  EXPECT_EQ(run.grid.spacing[0], 1.0 / 8);
  std::string const alike = minimal_heat + "boundary: {x: periodic, y: {neumann: 2}}\n";
  EXPECT_EQ(resolved_yaml(run), resolved_yaml(read(alike)));
}

TEST_F(Fields, AnAxisIsPeriodicForAllOrNone) {
  std::string const end =
      "a is periodic along x and b is not (an axis is periodic for all fields or for none)\n";
  EXPECT_EQ(faults(minimal_species + "boundary: {a: {x: periodic}}\n"),
            "run:6:19: boundary.a.x: " + end);
  EXPECT_EQ(faults(minimal_species + "boundary: {x: periodic, b: {x: {dirichlet: 0}}}\n"),
            "run:6:32: boundary.b.x: " + end);
  EXPECT_EQ(faults(minimal_species + "boundary: {a: {x: periodic}, b: {x: peridic}}\n"),
            "run:6:37: boundary.b.x: 'periodic', {dirichlet: ...}, {neumann: ...} or {lower: ..., "
            "upper: ...} expected, not 'peridic'; did you mean 'periodic'?\n");
  RunConfig const run = read(minimal_species + "boundary: {a: {x: periodic}, b: {x: periodic}}\n");
  EXPECT_EQ(run.grid.spacing[0], 1.0 / 8);
  expect_reads_back(run);
}

TEST_F(Fields, SidesHaveTheUnitOfTheirField) {
  RunConfig const run = read(minimal_everything +
                             "boundary: {p: {x: {lower: {dirichlet: 1 kPa}, upper: {neumann: 1 "
                             "Pa/mm}}}, v: {x: {neumann: 2 1/s}}}\n");
  EXPECT_EQ(lower(run, "p", 0).value.expression.evaluate(0), 1000);
  EXPECT_EQ(upper(run, "p", 0).value.expression.evaluate(0), 1000);
  EXPECT_EQ(lower(run, "v", 0).value.expression.evaluate(0), 2);
  expect_reads_back(run);
  EXPECT_NE(faults(minimal_everything + "boundary: {v: {x: {dirichlet: 1 Pa}}}\n"), "");
}

/// One number for a pressure and a velocity counts in the unit of each; a unit would be wrong for
/// one of them.
TEST_F(Fields, WithDifferentUnitsShareNumbersWithoutOne) {
  RunConfig const run = read(minimal_everything + "boundary: {x: {neumann: 2}}\n");
  EXPECT_EQ(lower(run, "p", 0).value.expression.evaluate(0), 2);
  EXPECT_EQ(lower(run, "v", 0).value.expression.evaluate(0), 2);
  expect_reads_back(run);
  for (std::string const value : {"{dirichlet: 1 Pa}", "{dirichlet: 1 m/s}", "{neumann: 1 1/m}"})
    EXPECT_NE(faults(minimal_everything + "boundary: {x: " + value + "}\n"), "") << value;
}

TEST_F(Fields, WithOtherKindsOfSidesAreNamedByThemselves) {
  EXPECT_EQ(faults(minimal_flow + "boundary: {x: outflow, y: {dirichlet: 0}}\n"),
            "run:5:15: boundary.x: 'outflow' cannot stand here (velocity does not take it; say it "
            "by field, as velocity: {...})\n"
            "run:5:28: boundary.y.dirichlet: cannot stand here (velocity and p have different "
            "components; say it by field, as velocity: {...})\n");
  EXPECT_EQ(faults(minimal_flow + "boundary: {depth: {x: periodic}}\n"),
            "run:5:12: boundary.depth: unknown key here; did you mean 'initial: {depth: ...}'?\n");
}

TEST_F(Fields, MayBeVectors) {
  RunConfig const run = read(minimal_flow +
                             "boundary: {velocity: {x: {dirichlet: {x: 1 km/s, y: t}}}, "
                             "p: {x: outflow}, y: periodic}\n"
                             "verify: {exact: {velocity: {y: x*t}, depth: 2}}\n"
                             "output: {fields: [velocity]}\n"
                             "diagnostics: [{probe: {at: [0, 0], field: velocity.y}}, "
                             "{histogram: {field: p}}]\n");
  auto const& source = run.initial.at("velocity");
  ASSERT_EQ(source.components.size(), 2u);
  EXPECT_EQ(source.components[0].expression.evaluate(0, 3), -3);
  EXPECT_EQ(source.components[1].expression.evaluate(4), 4);
  EXPECT_EQ(source.components[1].location.path, "initial.velocity.y");
  auto const& side = lower(run, "velocity", 0);
  ASSERT_EQ(side.components.size(), 2u);
  EXPECT_EQ(side.components[0].expression.evaluate(0), 1000);
  EXPECT_EQ(side.components[1].expression.evaluate(0, 0, 0, 7), 7);
  EXPECT_EQ(lower(run, "depth", 0).kind, SideKind::free);
  EXPECT_EQ(run.grid.spacing[0], 1.0 / 7);
  EXPECT_EQ(run.grid.spacing[1], 1.0 / 8);
  ASSERT_EQ(run.verify.exact.size(), 2u);
  EXPECT_EQ(run.verify.exact[0].first, "velocity.y");
  EXPECT_EQ(run.verify.exact[1].first, "depth");
  EXPECT_EQ(run.output.fields, std::vector<std::string>{"velocity"});
  EXPECT_EQ(run.diagnostics.at(0).options->gives(), std::vector<std::string>{"velocity.y(0, 0)"});
  expect_reads_back(run);
}

TEST_F(Fields, ResolvedTextOfVectors) {
  std::string const text = resolved_yaml(read(minimal_flow));
  for (std::string const part :
       {"  velocity:\n    x:\n      dirichlet: {x: 0, y: 0}\n    y:\n      dirichlet: {x: 0, y: "
        "0}\n",
        "  p:\n    x: {neumann: 0}\n    y: {neumann: 0}\n",
        "initial:\n  velocity: {x: \"-y\", y: x}\n  p: \"1 bar\"\n  depth: 2\n"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(Fields, VectorsMayBeListedAtTheStart) {
  auto const listed = read(
      "simulation: flow\ngrid: {points: [8, 8]}\n"
      "initial: {velocity: [-y, x], p: 1 bar, depth: 2}\ntime: {end: 1}\n");
  EXPECT_EQ(resolved_yaml(listed), resolved_yaml(read(minimal_flow)));
  EXPECT_EQ(faults("simulation: flow\ngrid: {points: [8, 8]}\n"
                   "initial: {velocity: [0, z, 0], p: 0, depth: 0}\ntime: {end: 1}\n"),
            "run:3:21: initial.velocity: 2 values expected, here are 3\n");
  EXPECT_EQ(
      faults("simulation: flow\ngrid: {points: [8, 8]}\n"
             "initial: {velocity: [0, z], p: 0, depth: 0}\ntime: {end: 1}\n"),
      "run:3:25: initial.velocity.1: the formula depends on 'z', but the grid has 2 axes (see "
      "grid.points)\n");
}

TEST_F(Fields, FaultsOfVectorsHaveTheirPlace) {
  EXPECT_EQ(faults("simulation: flow\ngrid: {points: [8, 8]}\n"
                   "initial: {velocity: 0, p: {x: 0}, depth: z}\ntime: {end: 1}\n"),
            "run:3:21: initial.velocity: {x: ..., y: ...}, {file: ..., dataset: ..., time: ..., "
            "step: ..., type: ..., shape: ..., byte_order: ..., offset: ..., rest: ...} or a list "
            "expected, not '0'\n"
            "run:3:28: initial.p.x: unknown key here; did you mean 'boundary: {x: ...}'?\n"
            "run:3:42: initial.depth: the formula depends on 'z', but the grid has 2 axes (see "
            "grid.points)\n");
  EXPECT_EQ(
      faults("simulation: flow\ngrid: {points: [8, 8]}\n"
             "initial: {velocity: {x: 0}, p: 0, depth: 0}\ntime: {end: 1}\n"
             "boundary: {velocity: {x: {dirichlet: 0}}}\n"
             "diagnostics: [{probe: {at: [0, 0], field: velocity}}]\n"),
      "run:3:21: initial.velocity.y: is missing (it has no default)\n"
      "run:5:38: boundary.velocity.x.dirichlet: a mapping of keys expected, not a single value\n"
      "run:6:43: diagnostics.0.probe.field: unknown value 'velocity' ('velocity.x', "
      "'velocity.y', 'velocity.magnitude', 'p' or 'depth' expected); did you mean 'velocity.x'?\n");
}

/// Formulas of diagnostics call component x of velocity so.
TEST_F(Fields, ThatAreCalledAsAComponentAreRefused) {
  RunOptions run;
  run.simulation = &fake_simulations()[3];
  take_fields(run, {{.name = "velocity", .components = {"x", "y"}}, {.name = "velocity_x"}});
  Faults problems("run");
  auto const root = parse_document("parameters: {}", 0, "", problems);
  Reader reader(*root, {}, problems);
  declare_fields(reader, run, FakeFlowParameters());
  try {
    problems.throw_if_any();
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_NE(std::string(error.what())
                  .find("a field cannot be called 'velocity_x' (so formulas call component x of "
                        "velocity)"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Fields, AreDescribed) {
  std::string const flow = describe_text(fake_simulations()[3]);
  for (std::string const part :
       {"  velocity [m/s]: Velocity. Components: x, y.\n",
        "  boundary.velocity.{x,y,z}.dirichlet.{x,y}: formula of x, y, z, t [m/s]",
        "  boundary.p.{x,y,z}.neumann: formula of x, y, z, t [Pa/m]",
        "  boundary.{x,y,z}: 'periodic'", "  initial.velocity.{x,y}: formula of x, y, z [m/s]"})
    EXPECT_NE(flow.find(part), std::string::npos) << part << flow;
  EXPECT_EQ(flow.find("boundary.depth"), std::string::npos);
  std::string const species = describe_text(fake_simulations()[2]);
  for (std::string const part :
       {"  SPECIES [mol/m^3]: A concentration.\n", "  boundary.SPECIES: {x: ..., y: ..., z: ...}\n",
        "  initial.SPECIES: formula of x, y, z or {file: ..."})
    EXPECT_NE(species.find(part), std::string::npos) << part << species;
}

TEST_F(Fields, HaveASchema) {
  auto const schema = nlohmann::json::parse(describe_schema(fake_simulations()[2]));
  auto const& keys = schema["properties"];
  auto const& initial = keys["initial"];
  EXPECT_EQ(initial["properties"], nlohmann::json::object());
  EXPECT_EQ(initial["additionalProperties"]["anyOf"][0]["type"],
            nlohmann::json({"number", "string"}));
  EXPECT_FALSE(initial.contains("required"));
  auto const& boundary = keys["boundary"];
  EXPECT_EQ(boundary["properties"].size(), 3u);
  EXPECT_EQ(boundary["additionalProperties"]["properties"]["x"]["anyOf"][0]["const"], "periodic");
  EXPECT_EQ(boundary["additionalProperties"]["additionalProperties"], false);
  EXPECT_EQ(keys["output"]["properties"]["fields"]["anyOf"][0]["items"]["type"], "string");

  auto const heat = nlohmann::json::parse(describe_schema(fake_simulations()[0]));
  auto const& sides = heat["properties"]["boundary"];
  EXPECT_EQ(sides["additionalProperties"], false);
  auto const& own = sides["properties"]["u"]["properties"]["x"];
  EXPECT_EQ(own["anyOf"][3], sides["properties"]["x"]["anyOf"][3]);
  EXPECT_FALSE(own.contains("default"));
}

}  // namespace
}  // namespace gridstride::config
