#include <nlohmann/json.hpp>

#include "config/file_source.hpp"
#include "run_reading.hpp"

// Simulations that have no grid, no time, and variables of their own.
namespace gridstride::config {
namespace {

constexpr expression::Variable row_and_column[] = {{"i", 1}, {"j", 0}};

class TableParameters : public ParameterSet {
 public:
  Formula entry;
  FieldSource data;

  void fields(Visitor& visitor, RunOptions const& run) override {
    visitor.visit({.name = "entry", .documentation = "An entry.", .variables = "ij"}, entry);
    auto const file = [&](Visitor& v) {
      declare_dataset(v, run.file.parent_path(), "of any shape", data);
    };
    Form const forms[] = {{.kind = Form::Kind::mapping, .body = file}};
    int chosen = data.file.empty() ? -1 : 0;
    visitor.forms({.name = "data", .documentation = "Data."}, Presence::optional, forms, chosen);
    visitor.locate("data", data.location);
  }
};

SimulationInfo table() {
  return {.name = "table",
          .summary = "A table.",
          .fields = {{"f", "m", "The table."}},
          .schemes = {},
          .kernels = {{"fill", {"slow", "fast"}}},
          .make_parameters = []() -> std::unique_ptr<ParameterSet> {
            return std::make_unique<TableParameters>();
          },
          .has_grid = false,
          .has_time = false,
          .variables = row_and_column,
          .diagnostics = diagnostic_kinds(),
          .formats = output_formats()};
}

class Sections : public RunReading {
 protected:
  RunConfig read_table(std::string const& text) {
    return read_run_config(write("simulation: table\n" + text), {}, std::span(&table_, 1));
  }
  std::string faults_of(std::string const& text) {
    try {
      read_table(text);
    } catch (ConfigError const& error) {
      std::string all = error.what();
      std::string const file = (folder_ / "run.yaml").string();
      for (auto at = all.find(file); at != std::string::npos; at = all.find(file))
        all.replace(at, file.size(), "run");
      return all;
    }
    return "";
  }

  SimulationInfo table_ = table();
};

TEST_F(Sections, AreAsManyAsTheSimulationHas) {
  RunConfig const run = read_table("parameters: {entry: 10*i + j}\n");
  auto const& parameters = dynamic_cast<TableParameters const&>(*run.parameters);
  EXPECT_EQ(parameters.entry.expression.evaluate(2, 3), 32);
  EXPECT_EQ(run.time.end, 0);
  EXPECT_FALSE(run.output.every.count);
  EXPECT_EQ(resolved_yaml(run), R"(simulation: table
device: auto
precision: float64
parameters: {entry: "10*i + j"}
output: {directory: outputs/run, formats: [vti, hdf5], fields: [f], precision: auto, compression: 0}
diagnostics: [norms]
verify: {rtol: 1e-10, atol: 1e-12}
kernels: {fill: auto}
)");
}

TEST_F(Sections, OthersAreRefused) {
  EXPECT_EQ(faults_of("grid: {points: 3}\nboundary: {x: periodic}\ninitial: {f: 0}\n"
                      "parameters: {entry: 1}\ntime: {end: 1}\noutput: {every: {count: 2}}\n"
                      "checkpoint: {keep: 1}\ndiagnostics: [{probe: {at: 1}}]\n"),
            "run:2:1: grid: table has no grid: its parameters tell its size\n"
            "run:3:1: boundary: table has no grid: its parameters tell its size\n"
            "run:4:1: initial: table has no time: there are no initial fields\n"
            "run:6:1: time: table has no time: it is computed in one go\n"
            "run:7:10: output.every: table has no time: its result is written once\n"
            "run:8:1: checkpoint: table has no time: it is computed in one go, and leaves no "
            "state to go on from\n"
            "run:9:16: diagnostics.0.probe: cannot stand here (table has no grid)");
}

TEST_F(Sections, FormulasKnowTheirOwnVariables) {
  EXPECT_EQ(faults_of("parameters: {entry: x}\n"),
            "run:2:21: parameters.entry: unknown name 'x' (a formula knows i, j, pi, e, functions "
            "and names defined for it)");
  EXPECT_EQ(faults_of("parameters: {entry: i(2)}\n"),
            "run:2:21: parameters.entry: 'i' is a variable, not a function (multiplication is "
            "written out); did you mean 'i*('?");
  EXPECT_EQ(faults_of("constants: {j: 1}\nparameters: {entry: j}\n"),
            "run:2:13: constants.j: the name 'j' is taken (it is a variable)");
  RunConfig const run = read_table(
      "constants: {x: 2, t: x^2}\nparameters: {entry: t}\n"
      "verify: {exact: {f: i - j}, tolerance: {max: 1}}\n");
  EXPECT_EQ(run.constants.at("t"), 4);
  EXPECT_EQ(run.verify.exact.at(0).second.expression.evaluate(1, 5), 4);
}

TEST_F(Sections, NumbersComeFromSeveralKindsOfFiles) {
  write("", "a.h5");
  write("", "a.mtx");
  write("", "a.npy");
  auto const source = [&](std::string const& data) {
    RunConfig const run = read_table("parameters: {entry: 1, data: " + data + "}\n");
    RunConfig const again =
        read_run_config(write(resolved_yaml(run), "again.yaml"), {}, std::span(&table_, 1));
    EXPECT_EQ(resolved_yaml(run), resolved_yaml(again));
    return dynamic_cast<TableParameters const&>(*again.parameters).data;
  };
  EXPECT_EQ(source("{file: a.h5, dataset: /A}").dataset, "/A");
  EXPECT_EQ(source("{file: a.mtx}").file, folder_ / "a.mtx");
  EXPECT_EQ(source("{file: a.mtx}").location.path, "parameters.data");
  auto const fault = [&](std::string const& data) {
    return faults_of("parameters: {entry: 1, data: " + data + "}\n");
  };
  EXPECT_EQ(fault("{file: a.h5}"),
            "run:2:30: parameters.data.dataset: is missing (it has no default)");
  EXPECT_EQ(fault("{file: a.mtx, dataset: /A}"),
            "run:2:44: parameters.data.dataset: a Matrix Market file holds one matrix (datasets "
            "are HDF5's)");
  EXPECT_EQ(fault("{dataset: /A}"),
            "run:2:30: parameters.data.file: is missing (it has no default)");
  EXPECT_TRUE(fault("{file: b.mtx}").starts_with("run:2:37: parameters.data.file: no such file"));
  EXPECT_EQ(source("{file: a.npy}").format(), FileFormat::npy);
  EXPECT_EQ(fault("{file: a.npy, dataset: /A}"),
            "run:2:44: parameters.data.dataset: a .npy file holds one array (datasets are HDF5's)");
  EXPECT_EQ(fault("{file: a.npy, type: float32}"),
            "run:2:44: parameters.data.type: a .npy file holds one array and says what it is");
}

TEST_F(Sections, BareNumbersAreTold) {
  write("", "a.bin");
  auto const source = [&](std::string const& data) {
    RunConfig const run = read_table("parameters: {entry: 1, data: " + data + "}\n");
    RunConfig const again =
        read_run_config(write(resolved_yaml(run), "again.yaml"), {}, std::span(&table_, 1));
    EXPECT_EQ(resolved_yaml(run), resolved_yaml(again));
    return dynamic_cast<TableParameters const&>(*again.parameters).data;
  };
  auto const least = source("{file: a.bin, type: int16, shape: [3, 4]}");
  EXPECT_EQ(least.format(), FileFormat::raw);
  EXPECT_EQ(least.raw.shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(least.raw.byte_order, "little");
  EXPECT_EQ(least.raw.offset + least.raw.rest, 0);
  auto const all =
      source("{file: a.bin, type: float64, shape: 5, byte_order: big, offset: 4, rest: 8}");
  EXPECT_EQ(all.raw.type, "float64");
  EXPECT_EQ(all.raw.shape, std::vector<std::int64_t>{5});
  EXPECT_EQ(all.raw.byte_order, "big");
  EXPECT_EQ(all.raw.offset, 4);
  EXPECT_EQ(all.raw.rest, 8);
  auto const fault = [&](std::string const& data) {
    return faults_of("parameters: {entry: 1, data: " + data + "}\n");
  };
  EXPECT_EQ(fault("{file: a.bin, type: int16}"),
            "run:2:30: parameters.data.shape: is missing (it has no default)");
  EXPECT_EQ(fault("{file: a.bin, type: float23, shape: 5}"),
            "run:2:50: parameters.data.type: 'float23' is not accepted (int8 to int64, uint8 to "
            "uint64, or float16 to float64 expected); did you mean 'float32'?");
  EXPECT_EQ(fault("{file: a.bin, type: int8, shape: 5, dataset: /A}"),
            "run:2:66: parameters.data.dataset: a file of bare numbers, as 'type' says, holds one "
            "array (datasets are HDF5's)");
  EXPECT_EQ(fault("{file: a.bin, dataset: /A, offset: 3}"),
            "run:2:57: parameters.data.offset: is for files of bare numbers (which 'type' makes a "
            "file)");
  EXPECT_TRUE(fault("{file: a.bin, type: int8, shape: [2, 0]}")
                  .starts_with("run:2:67: parameters.data.shape.1: "));
  EXPECT_TRUE(fault("{file: a.bin, type: int8, shape: 5, offset: -1}")
                  .starts_with("run:2:74: parameters.data.offset: "));
}

TEST_F(Sections, DescriptionsLeaveOthersOut) {
  std::string const text = describe_text(table_);
  for (std::string const part : {"grid", "boundary", "initial", "time", "checkpoint"})
    EXPECT_EQ(text.find("\n" + part + ": "), std::string::npos) << part;
  EXPECT_EQ(text.find("output.every"), std::string::npos);
  EXPECT_EQ(text.find("probe"), std::string::npos);
  EXPECT_NE(text.find("verify.exact.f: formula of i, j [m]"), std::string::npos);
  std::string const reference = input_reference(std::span(&table_, 1));
  EXPECT_NE(reference.find(
                "It has no `sweep`, `grid`, `boundary`, `initial`, `time`, `checkpoint`, and no "
                "`output.every`.\n"),
            std::string::npos);
  auto const schema = nlohmann::json::parse(describe_schema(table_));
  EXPECT_EQ(schema["required"], nlohmann::json({"simulation", "parameters"}));
  EXPECT_FALSE(schema["properties"].contains("grid"));
  auto const& data = schema["properties"]["parameters"]["properties"]["data"]["anyOf"][0];
  EXPECT_EQ(data["required"], nlohmann::json({"file"}));
}

}  // namespace
}  // namespace gridstride::config
