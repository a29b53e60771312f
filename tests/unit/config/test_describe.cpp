#include <nlohmann/json.hpp>

#include "run_reading.hpp"

namespace gridstride::config {
namespace {

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

TEST(Describe, TellsEachParameter) {
  std::string const text = describe_text(fake_simulations()[1]);
  EXPECT_TRUE(contains(text, "everything: Two fields and a parameter of every type.\n"));
  EXPECT_TRUE(contains(text, "  p [Pa]: Pressure.\n"));
  EXPECT_TRUE(
      contains(text, "  parameters.speed: number, <= 100 [m/s]; default 2\n      Speed.\n"));
  EXPECT_TRUE(contains(text, "  parameters.width: number, >= 0 [m]; required\n"));
  EXPECT_TRUE(contains(text, "  parameters.order: whole number, >= 1 and <= 8; default 4\n"));
  EXPECT_TRUE(contains(text, "  parameters.modes: whole number, >= 1; required\n"));
  EXPECT_TRUE(contains(text, "  parameters.limited: true or false; default true\n"));
  EXPECT_TRUE(contains(text, "  parameters.shape: formula of x; default x\n"));
  EXPECT_TRUE(contains(text, "  time.scheme: 'leapfrog'; default leapfrog\n"));
  EXPECT_TRUE(contains(text, "  time.step: number, > 0 [s] or 'auto'; default auto\n"));
  EXPECT_TRUE(contains(text, "  boundary.{x,y,z}.neumann: formula of x, y, z, t\n"));
  EXPECT_TRUE(contains(text, "  boundary.p.{x,y,z}.neumann: formula of x, y, z, t [Pa/m]\n"));
  EXPECT_TRUE(contains(text, "default {count: 10}"));
  EXPECT_TRUE(
      contains(text, "  diagnostics.histogram.bins: whole number, >= 1 and <= 8192; default 64"));
  EXPECT_TRUE(contains(text, "  diagnostics.histogram.range: list of 2 numbers\n"));
  EXPECT_TRUE(contains(
      text, "  diagnostics.quantiles.at: list of 1 to 100 numbers, >= 0 and <= 1; required\n"));
}

TEST(Describe, ReferenceHasEverySimulation) {
  std::string const text = input_reference(fake_simulations());
  for (std::string const part :
       {"# Input reference\n", "## `heat`\n", "## `everything`\n", "| `parameters.diffusivity` |",
        "| `grid.points` |", "| `kernels.evaluate` |", "| `verify.rtol` |"})
    EXPECT_TRUE(contains(text, part)) << part;
  EXPECT_TRUE(text.ends_with("|\n"));
}

TEST(Describe, SchemaIsStrict) {
  auto const schema = nlohmann::json::parse(describe_schema(fake_simulations()[0]));
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"],
            nlohmann::json({"simulation", "grid", "initial", "parameters", "time"}));
  auto const& keys = schema["properties"];
  EXPECT_EQ(keys["simulation"]["enum"], nlohmann::json({"heat"}));
  auto const& diffusivity = keys["parameters"]["properties"]["diffusivity"];
  EXPECT_EQ(diffusivity["type"], nlohmann::json({"number", "string"}));
  EXPECT_EQ(diffusivity["exclusiveMinimum"], 0);
  EXPECT_EQ(diffusivity["description"], "Thermal diffusivity. Unit: m^2/s.");
  EXPECT_FALSE(diffusivity.contains("default"));
  EXPECT_EQ(keys["parameters"]["additionalProperties"], false);
  EXPECT_EQ(keys["output"]["properties"]["every"]["default"], nlohmann::json({{"count", 10}}));
  EXPECT_EQ(keys["grid"]["properties"]["points"]["anyOf"][0]["items"]["minimum"], 3);
  EXPECT_EQ(keys["boundary"]["properties"]["x"]["anyOf"][0]["const"], "periodic");
}

/// Every object of the schema that lists properties must refuse others, or say what those are whose
/// names the parameters give.
void expect_strict(nlohmann::json const& schema, bool names_fields) {
  if (schema.is_object() && schema.contains("properties") && schema.contains("type")) {
    auto const& others = schema["additionalProperties"];
    EXPECT_TRUE(others == false || (names_fields && others.is_object())) << others;
  }
  if (schema.is_structured())
    for (auto const& child : schema) expect_strict(child, names_fields);
}

TEST(Describe, SchemaIsStrictAtEveryLevel) {
  for (auto const& simulation : fake_simulations()) {
    auto schema = nlohmann::json::parse(describe_schema(simulation));
    // Its keys are constants, which the file gives.
    if (schema["properties"].contains("sweep")) {
      auto const& sweep = schema["properties"]["sweep"];
      EXPECT_TRUE(sweep["properties"].empty());
      expect_strict(sweep["additionalProperties"], false);
      schema["properties"].erase("sweep");
    }
    expect_strict(schema, simulation.fields.front().any_name);
  }
}

}  // namespace
}  // namespace gridstride::config
