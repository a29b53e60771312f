#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "run_reading.hpp"

// Names that the user chooses, each with a value, and formulas of them.
namespace gridstride::config {
namespace {

struct Count {
  std::int64_t value = required_integer;
  bool operator==(Count const&) const = default;
};

class NamedParameters : public ParameterSet {
 public:
  std::vector<std::pair<std::string, std::vector<double>>> ranges;
  std::vector<std::pair<std::string, Count>> counts;
  Formula formula;

  void fields(Visitor& visitor, RunOptions const&) override {
    visitor.named<std::vector<double>>(
        {.name = "ranges"}, Presence::required, ranges, [&](Spec const& spec, auto& ends) {
          visitor.list({.name = spec.name, .documentation = "A range."},
                       {.minimum = 2, .maximum = 2, .infinite = true}, ends);
        });
    visitor.named<Count>(
        {.name = "counts"}, Presence::optional, counts, [&](Spec const& spec, Count& count) {
          visitor.visit({.name = spec.name, .documentation = "A count.", .minimum = 1},
                        count.value);
        });
    names_.clear();
    for (auto const& [name, ends] : ranges)
      names_.push_back({name, static_cast<int>(names_.size())});
    visitor.variables(names_);
    visitor.axes(expression::max_variables);
    visitor.visit({.name = "formula", .documentation = "Of them.", .variables = all_variables},
                  formula);
  }

 private:
  std::vector<expression::Variable> names_;
};

SimulationInfo names() {
  return {.name = "names",
          .summary = "Names.",
          .fields = {{"f", "1", "A field."}},
          .schemes = {},
          .kernels = {},
          .make_parameters = []() -> std::unique_ptr<ParameterSet> {
            return std::make_unique<NamedParameters>();
          },
          .has_grid = false,
          .has_time = false,
          .variables = {}};
}

class Named : public RunReading {
 protected:
  RunConfig read_names(std::string const& parameters) {
    return read_run_config(write("simulation: names\nparameters: " + parameters), {},
                           std::span(&names_, 1));
  }
  std::string faults_of(std::string const& parameters) {
    std::string all;
    try {
      read_names(parameters);
    } catch (ConfigError const& error) {
      for (Problem problem : error.problems()) {
        problem.file = "run";
        all += problem.text() + "\n";
      }
    }
    return all;
  }
  static NamedParameters const& of(RunConfig const& run) {
    return static_cast<NamedParameters const&>(*run.parameters);
  }

  SimulationInfo names_ = names();
};

TEST_F(Named, KeepTheOrderOfTheFile) {
  auto const run =
      read_names("{ranges: {width: [-inf, 2*pi], alpha: [0, inf]}, formula: width - 2*alpha}");
  auto const& ranges = of(run).ranges;
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].first, "width");
  EXPECT_EQ(ranges[0].second[0], -std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(ranges[0].second[1], 2 * M_PI);
  EXPECT_EQ(ranges[1].first, "alpha");
  double const values[] = {10, 3};
  EXPECT_EQ(of(run).formula.expression.evaluate(values), 4);
}

TEST_F(Named, ResolvedTextReadsBack) {
  auto const run = read_names("{ranges: {b: [0, inf], a: [1, 2]}, counts: {n: 3}, formula: a*b}");
  std::string const text = resolved_yaml(run);
  auto const again = read_run_config(write(text), {}, std::span(&names_, 1));
  EXPECT_EQ(of(again).ranges, of(run).ranges);
  EXPECT_EQ(of(again).counts, of(run).counts);
  EXPECT_EQ(resolved_yaml(again), text);
}

TEST_F(Named, FaultsHaveTheirPlace) {
  EXPECT_EQ(faults_of("{formula: 1}"),
            "run:2:13: parameters.ranges: is missing (it has no default)\n");
  EXPECT_EQ(faults_of("{ranges: {}, formula: 1}"),
            "run:2:22: parameters.ranges: is empty (one name at least)\n");
  EXPECT_EQ(faults_of("{ranges: {x: [0, 1], sin: [0, 1]}, formula: x}"),
            "run:2:34: parameters.ranges.sin: the name 'sin' is taken (it is a function)\n");
  EXPECT_EQ(faults_of("{ranges: {2x: [0, 1]}, formula: 1}"),
            "run:2:23: parameters.ranges.2x: '2x' cannot be a name (letters, digits and _, at "
            "most 40, no digit first)\n");
  EXPECT_EQ(faults_of("{ranges: {x: [0, int]}, formula: x}"),
            "run:2:30: parameters.ranges.x.1: 'int' is not a number or 'inf' (and 'constants' has "
            "no such name); did you mean 'inf'?\n");
  EXPECT_EQ(faults_of("{ranges: {x: [0, 1]}, counts: {n: 0}, formula: y}"),
            "run:2:47: parameters.counts.n: '0' is out of range (must be >= 1)\n"
            "run:2:60: parameters.formula: unknown name 'y' (a formula knows x, pi, e, "
            "functions and names defined for it)\n");
}

TEST_F(Named, ConstantsKeepTheirNames) {
  std::string const text =
      "simulation: names\nconstants: {c: 2}\nparameters: {ranges: {c: [0, 1]}, formula: 1}\n";
  try {
    read_run_config(write(text), {}, std::span(&names_, 1));
    FAIL();
  } catch (ConfigError const& error) {
    EXPECT_NE(std::string(error.what()).find("the name 'c' is taken (it is a constant)"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Named, AreDescribed) {
  std::string const text = describe_text(names_);
  EXPECT_NE(
      text.find(
          "  parameters.ranges: names with a list of 2 numbers, inf or -inf each; required\n"),
      std::string::npos)
      << text;
  auto const schema = nlohmann::json::parse(describe_schema(names_));
  auto const& ranges = schema["properties"]["parameters"]["properties"]["ranges"];
  EXPECT_EQ(ranges["type"], "object");
  EXPECT_EQ(ranges["additionalProperties"]["maxItems"], 2);
  EXPECT_EQ(schema["properties"]["parameters"]["required"], nlohmann::json({"ranges", "formula"}));
}

}  // namespace
}  // namespace gridstride::config
