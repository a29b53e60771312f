#pragma once

#include <cstdint>
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

/// A row of the table of rules.
struct RuleInfo {
  std::string_view name;
  RuleKind kind;
  std::string_view family;  ///< of kernels
  int least_dimensions;
  int most_dimensions;
  std::string_view documentation;
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

class Parameters final : public config::ParameterSet {
 public:
  /// Name, and the ends of the range.
  std::vector<std::pair<std::string, std::vector<double>>> variables;
  std::vector<std::pair<std::string, Sweep>> sweep;
  config::Formula integrand;  ///< its variables: those integrated over, then those swept
  std::string rule = "auto";
  std::optional<double> points;  ///< empty: as many as the tolerance needs
  std::int64_t points_per_panel = 8;
  Tolerance tolerance;
  std::int64_t curve_points = 0;  ///< 0: one value, no curve
  std::int64_t seed = 1;
  bool antithetic = false;

  void fields(config::Visitor& visitor, config::RunOptions const& run) override;

  int dimensions() const { return static_cast<int>(variables.size()); }

 private:
  void declare_ranges(config::Visitor& visitor, config::RunOptions const& run);
  void declare_sweep(config::Visitor& visitor);
  void declare_integrand(config::Visitor& visitor);
  void declare_rule(config::Visitor& visitor);
  void declare_tolerance(config::Visitor& visitor);
  void declare_curve(config::Visitor& visitor);

  std::vector<expression::Variable> formula_variables_, swept_variables_;
};

inline Parameters const& parameters_of(config::RunConfig const& run) {
  return static_cast<Parameters const&>(*run.parameters);
}

/// A kernel variant that the rule does not go through.
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
