#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/diagnostic.hpp"
#include "config/field_info.hpp"
#include "config/limits.hpp"
#include "config/output_format.hpp"
#include "config/parameters.hpp"
#include "core/device.hpp"
#include "core/file_stamp.hpp"
#include "core/named_value.hpp"
#include "core/precision.hpp"
#include "expression/expression.hpp"
#include "grid/grid.hpp"

namespace gridstride {
struct SimulationEntry;  // model/entry.hpp
}

/// One run as its YAML file describes it: complete, checked, defaults filled in.
namespace gridstride::config {

/// What the config layer has to know of a simulation in order to read a file for it. The
/// simulations' table (simulations/registry.hpp) holds one for each.
struct SimulationInfo {
  struct KernelFamily {
    std::string_view name;
    std::vector<std::string_view> variants;  // every name that some backend has
    bool for_diagnostics = false;            // alone: the fields do not depend on the variant
  };
  std::string_view name;
  std::string_view summary;
  /// Those of every run, or what stands for them where the parameters give them
  /// (`ParameterSet::fields_of`).
  std::vector<FieldInfo> fields;
  std::vector<std::string_view> schemes;  // the default first
  /// Whether `time.step` may be `adaptive`.
  bool adapts_steps = false;
  std::vector<KernelFamily> kernels;  // the families that a run works with
  std::unique_ptr<ParameterSet> (*make_parameters)() = nullptr;
  /// Whether the fields lie on the grid that the file describes: sections `grid` and `boundary`.
  bool has_grid = true;
  /// A key of which a file may say in place of both what its fields lie on: then there is no grid.
  std::string_view in_place_of_grid = {};
  /// Whether the fields go through time: sections `initial`, `time` and `checkpoint`, and
  /// `output.every`. Without time the simulation is finished after one step, at time 0.
  bool has_time = true;
  /// Whether its parameters are sections of their own at the top of the file, in place of
  /// `parameters`.
  bool has_own_sections = false;
  /// Whether the points and the numbers that it finds are among these too, in place of `boundary`
  /// and `diagnostics`.
  bool has_own_results = false;
  /// The section `limits`: whether data from files may go through it in chunks, or its grid may be
  /// larger than the device.
  enum class LimitsOf { nothing, data, grid };
  LimitsOf limits = LimitsOf::nothing;
  /// Whether several ranks may share its steps: the key `ranks`.
  bool takes_ranks = false;
  /// Whether values of its fields may be missing: NaN is then no reason to stop.
  bool has_gaps = false;
  /// What the sides of its grid may be for fields that do not say it, the default first. Where no
  /// field has sides there is no section `boundary`.
  std::vector<SideKind> sides = {SideKind::dirichlet, SideKind::neumann, SideKind::periodic};
  /// What the formulas of its file may depend on.
  std::span<expression::Variable const> variables = expression::space_and_time;
  /// The same where `in_place_of_grid` is given.
  std::span<expression::Variable const> variables_without_grid = {};
  /// The most time steps that its kernels make in one pass over memory: `kernels.fused_steps`; 0:
  /// it has no such key.
  int most_fused_steps = 0;
  /// What `diagnostics` may ask for; the first kind is the default.
  std::span<DiagnosticKind const> diagnostics = {};
  /// What `output.formats` may name.
  std::span<OutputFormat const> formats = {};
  /// The row of the table of simulations that it is of, for those who run it.
  SimulationEntry const* entry = nullptr;
};

/// `auto`, `cpu`, `cuda` or `cuda:1`.
struct DeviceChoice {
  std::optional<Backend> backend;  // empty: a GPU if there is one, else the host
  int ordinal = 0;
  bool has_ordinal = false;  ///< it was given, as in `cuda:0`; else each rank has a GPU of its own
};

/// A moment of another run; without a time and a step its last one.
struct Moment {
  std::optional<double> time;
  std::optional<double> step;  // a whole number
};

/// What a file of bare numbers holds.
struct RawOptions {
  std::string type = {};  // a name of core/number_type.hpp; empty: the file is none
  std::vector<std::int64_t> shape = {};
  std::string byte_order = "little";
  std::int64_t offset = 0;  // bytes before them
  std::int64_t rest = 0;    // and after them
};

enum class FileFormat { hdf5, result, matrix_market, npy, raw };

/// Values of an array: a formula, or a file's.
struct FieldSource {
  Formula formula;
  std::filesystem::path file;  // empty when formulas count; absolute or relative to the cwd
  std::string dataset;         // of HDF5; of a result the field's name
  Location location;
  std::optional<Moment> moment = {};     // of another run's result
  std::string unit = "1";                // what is needed
  std::vector<Formula> components = {};  // of a vector, in place of the formula
  int numbers = 1;                       // at each point; of a vector as many as components
  RawOptions raw = {};
  bool squares = false;  // what is meant are the squares of a file's values
  /// The file as it was when it was first looked into; copies share it.
  std::shared_ptr<std::optional<FileStamp>> seen = std::make_shared<std::optional<FileStamp>>();

  /// Of the file. Its name's ending tells that of `.mtx` and `.npy`.
  FileFormat format() const;
};

struct SideCondition {
  SideKind kind = SideKind::dirichlet;
  Formula value = {};                    // of x, y, z, t
  std::vector<Formula> components = {};  // of a vector, in place of the value
  /// a of ∂u/∂n + a·u = g, for the value or for each of the components; else none.
  std::vector<Formula> factors = {};
};

/// What holds at the lower and the upper end of each axis.
using Sides = std::array<std::array<SideCondition, 2>, 3>;

/// What the error of a step may be at a point: absolute + relative·|u|.
struct StepTolerance {
  double relative = 1e-6;
  double absolute = 1e-6;
};

struct TimeOptions {
  std::string scheme;
  double end = 0;
  std::optional<double> step;  // empty: auto, or adaptive
  bool adaptive = false;       // steps that the error of each decides on
  std::optional<StepTolerance> tolerance;
  double safety = 0.9;
  Location step_location;
};

/// How often something happens. Empty means only at the start and the end.
struct Cadence {
  std::optional<double> time;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> count;  // evenly spaced in time
};

struct OutputOptions {
  std::filesystem::path directory;
  std::vector<std::string> formats = {};  // in the order of their table
  Cadence every;
  std::vector<std::pair<std::string, SourceText>> derived = {};  // fields that follow from others
  std::vector<std::string> fields;                               // in the simulation's order
  std::optional<Precision> precision = {};         // of written values; empty: the run's
  std::vector<std::int64_t> every_nth_point = {};  // of each axis of the grid; empty: all points
  std::int64_t compression = 0;                    // deflate's level; 0: none

  bool has_format(std::string_view name) const {
    return std::ranges::find(formats, name) != formats.end();
  }
};

struct CheckpointOptions {
  Cadence every;  // empty: only when a signal stops the run
  std::int64_t keep = 2;
};

struct VerifyOptions {
  /// Fields with texts in the simulation's language; `exact`, where it is said nowhere else, is this.
  std::vector<std::pair<std::string, SourceText>> manufactured = {};
  /// Fields, or components of vectors as `velocity.x`, with formulas of x, y, z, t.
  std::vector<std::pair<std::string, Formula>> exact;
  std::optional<double> l2_tolerance;   // root of the mean squared error at the end
  std::optional<double> max_tolerance;  // largest absolute error at the end
  std::filesystem::path reference;      // a stored NAME.h5; empty: none
  double rtol = 1e-10;
  double atol = 1e-12;
};

/// The grid as the file names it; `RunConfig::grid` follows from it.
struct GridOptions {
  std::vector<std::int64_t> points;
  std::vector<double> lower;
  std::vector<double> upper;
};

/// All of a run but the simulation's own parameters.
struct RunOptions {
  std::filesystem::path file;
  std::string text;  // of the file
  std::string name;  // the file's stem: what the outputs are called
  SimulationInfo const* simulation = nullptr;
  DeviceChoice device;
  Precision precision = Precision::float64;
  expression::Symbols constants;
  /// Constants that take several values, in a run for each; empty: this is one run.
  std::vector<std::pair<std::string, std::vector<double>>> sweep;
  std::vector<NamedValue> swept;  // of a run of a sweep: these constants, in the sweep's order
  bool has_grid = true;           ///< its file has one
  std::span<expression::Variable const> variables = expression::space_and_time;  ///< of formulas
  GridOptions grid_options;
  Grid grid;
  std::vector<FieldInfo> fields;  // their `sides` are known; those that are `derived` come last
  std::vector<FieldInfo> names;   // what has sides beside the fields
  std::vector<Sides> boundary;    // of each field that is not derived, then of each of the names
  Language* language = nullptr;   // of the parameters; null: they have none
  std::map<std::string, FieldSource, std::less<>> initial;
  TimeOptions time;
  OutputOptions output;
  CheckpointOptions checkpoint;
  std::vector<DiagnosticEntry> diagnostics;  // in the order of the table of kinds
  VerifyOptions verify;
  Limits limits;
  std::map<std::string, std::string, std::less<>> kernels;  // family -> variant, or "auto"
  std::optional<double> fused_steps;                        // a whole number; empty: auto
  /// How many processes there are to be, or parts along each axis; empty: as many as there are.
  std::vector<std::int64_t> parts;
  Location initial_location;
  std::map<std::string, Location, std::less<>> locations;  // of every key that is given

  /// What holds on the sides for one of the fields or names. Throws `std::invalid_argument` for others.
  Sides const& sides_of(std::string_view field) const;
  /// How many processes `parts` ask for.
  std::optional<std::int64_t> wanted_ranks() const;
  /// What has the sides of that place in `boundary`.
  FieldInfo const& sided(std::size_t place) const {
    return is_name(place) ? names[place + names.size() - boundary.size()] : fields[place];
  }
  bool is_name(std::size_t place) const { return place + names.size() >= boundary.size(); }
};

struct RunConfig : RunOptions {
  std::unique_ptr<ParameterSet> parameters;
  int ranks = 1;  ///< processes that share its steps

  /// Where a key stands, or else the nearest one around it that is given.
  Location location(std::string_view path) const;

  /// A problem at a place of this file, for faults found after reading (a dataset's shape, a step
  /// over the stability limit).
  Problem problem(Location const& location, std::string message) const;
};

/// `--set a.b=c`, in the order given.
struct Override {
  std::string path;
  std::string value;
};

/// Reads and checks a file; `-` is standard input, whose run is called `stdin`. Throws
/// `ConfigError` with every fault it finds.
RunConfig read_run_config(std::filesystem::path const& file, std::span<Override const> overrides,
                          std::span<SimulationInfo const> simulations);
/// The same of a file's text.
RunConfig parse_run_config(std::filesystem::path const& file, std::string const& text,
                           std::span<Override const> overrides,
                           std::span<SimulationInfo const> simulations);

/// The run as a YAML document with every default filled in; reads back to the same run.
std::string resolved_yaml(RunConfig const& config);

/// The part of it that decides the state at a given time: not the device, when the run ends, nor
/// what is written. Runs with the same text can go on from each other's checkpoints.
std::string problem_yaml(RunConfig const& config);

/// What `gridstride describe` prints: parameters with units, defaults, ranges, documentation.
std::string describe_text(SimulationInfo const& simulation);
/// The same as JSON Schema (draft 2020-12), for editors.
std::string describe_schema(SimulationInfo const& simulation);
/// The same for all simulations as docs/input_reference.md.
std::string input_reference(std::span<SimulationInfo const> simulations);

}  // namespace gridstride::config
