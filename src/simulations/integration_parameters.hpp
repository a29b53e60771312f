#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "model/simulation.hpp"

/// What a config says of an integral, for the simulation's own files.
namespace gridstride::integration {

/// How a rule comes to its result.
enum class RuleKind {
  fixed,     ///< samples at places that depend on the number of points alone
  adaptive,  ///< samples where the error is large, until the tolerance is met
  sampling,  ///< random or quasi-random samples
};

/// What a rule takes.
enum class RuleInput { formulas, samples, both };

/// A row of the table of rules.
struct RuleInfo {
  std::string_view name;
  RuleKind kind;
  std::string_view family;  ///< of kernels
  int least_dimensions;
  int most_dimensions;
  std::string_view documentation;
  RuleInput input = RuleInput::formulas;
};

/// Where a variable goes: in a range; or where samples from a file lie along an axis.
struct Range {
  std::vector<double> ends = {};  ///< the first and the last place
  double lower = 0;               ///< of the first sample, beside `spacing`
  double spacing = config::required_number;
  config::FieldSource positions = {};

  bool has_spacing() const { return !std::isnan(spacing); }
  bool has_positions() const { return !positions.file.empty(); }
};

/// The values of a swept parameter: `count` of them, from `from` to `to`, both included.
struct Sweep {
  double from = config::required_number;
  double to = config::required_number;
  std::int64_t count = config::required_integer;
  double spacing() const { return count > 1 ? (to - from) / static_cast<double>(count - 1) : 1; }
};

struct Tolerance {
  std::optional<double> relative;
  std::optional<double> absolute;
};

/// For `Parameters::axis`: all of them.
inline constexpr std::string_view all_axes = "all";

class Parameters final : public config::ParameterSet {
 public:
  /// Of samples, the axes, from the fastest on.
  std::vector<std::pair<std::string, Range>> variables;
  std::vector<std::pair<std::string, Sweep>> sweep;
  /// A formula, whose variables are those integrated over, then those swept; or a file's samples.
  config::FieldSource integrand;
  std::string axis{all_axes};  ///< of samples: the name of the one that is integrated along
  std::string rule = "auto";
  std::optional<double> points;  ///< empty: as many as the tolerance needs
  std::int64_t points_per_panel = 8;
  Tolerance tolerance;
  std::int64_t curve_points = 0;  ///< 0: one value, no curve
  std::int64_t seed = 1;
  bool antithetic = false;

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;
  std::vector<config::FieldInfo> fields_of(config::RunOptions const& run) const override;

  int dimensions() const { return static_cast<int>(variables.size()); }
  bool has_samples() const { return !integrand.file.empty(); }
  /// Whether an axis of the samples is integrated along.
  bool integrates(std::size_t axis_number) const {
    return axis == all_axes || variables[axis_number].first == axis;
  }

 private:
  void declare_ranges(config::Visitor& visitor, std::filesystem::path const& folder);
  void check_ranges(config::Visitor& visitor, Precision precision) const;
  void declare_sweep(config::Visitor& visitor);
  void declare_integrand(config::Visitor& visitor, std::filesystem::path const& folder);
  void declare_axis(config::Visitor& visitor);
  void check_samples(config::Visitor& visitor) const;
  void declare_rule(config::Visitor& visitor);
  void declare_tolerance(config::Visitor& visitor);
  void declare_curve(config::Visitor& visitor);

  std::vector<expression::Variable> formula_variables_, swept_variables_;
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// The fields of runs that have errors, too.
std::vector<config::FieldInfo> all_fields();

/// What is wrong with the files of samples.
std::vector<gridstride::Problem> sample_problems(config::RunConfig const& run,
                                                 Inputs const& inputs);

/// A kernel variant that the rule does not go through; what is wrong with samples.
std::vector<gridstride::Problem> problems(config::RunConfig const& run, Inputs const& inputs);
/// As `SimulationEntry` has it.
void choose_kernels(config::RunConfig const& run, Inputs const& inputs, Device const& device);

/// What `kernels` may choose: the families of integrals, and `quadrature`, as `riemann` was called.
std::vector<config::SimulationInfo::KernelFamily> kernel_choices();
/// What it chooses for the rule at hand; `auto` where nothing.
std::string variant_of(config::RunConfig const& run);

/// The rule that works: what `auto` means for so many variables.
RuleInfo const& rule_of(Parameters const& parameters);

}  // namespace gridstride::integration
