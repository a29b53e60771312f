#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/field_info.hpp"
#include "expression/expression.hpp"

namespace gridstride::config {

/// A place in a config file; `path` as `parameters.diffusivity`.
struct Location {
  int line = 0;
  int column = 0;
  std::string path;
  std::string file;  ///< the `--set` argument it comes from; empty for the config file itself
};

/// A number (with a unit if one was given) or a formula.
struct Formula {
  std::string text;  ///< as the user wrote it
  expression::Expression expression;
  Location location;
  bool is_foreign = false;  ///< only a simulation can read it; its expression is 0
};

/// Text in a language that a simulation reads itself: one, or a list of them.
struct SourceText {
  std::vector<std::string> texts;
  bool listed = false;
};

/// For `Spec::variables`: every variable that formulas may have where the parameter stands.
inline constexpr std::string_view all_variables = "*";

/// The one declaration of a parameter.
struct Spec {
  std::string_view name;
  std::string_view unit = "1";  ///< SI; values with a unit are converted to it
  std::string_view documentation = "";
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool exclusive_minimum = false;
  std::string_view variables = "";  ///< a formula may depend on these, "xyz", or `all_variables`
  /// What is no formula is left to the simulation (`check_initial`, `check_sides`).
  bool is_foreign = false;
  bool any_name = false;         ///< stands for keys whose names are not known: none is read
  std::size_t length = 0;        ///< of a list of items: how many; 0: any number
  std::string_view beside = {};  ///< of named values: a key that is no name, and stands beside them
};

/// As values before reading: there is no default, the file must give one.
inline constexpr double required_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::int64_t required_integer = std::numeric_limits<std::int64_t>::min();

class Visitor;
class Language;
struct RunOptions;

/// A simulation's own parameters. A value left as constructed is the default; a `Formula` with
/// empty text, a `required_number` and a `required_integer` have none and must be given.
class ParameterSet {
 public:
  virtual ~ParameterSet() = default;
  /// Declares each parameter once (config/visitor.hpp). Of the run, what is read before is known:
  /// its file, precision, constants and `grid_options`; the grid's spacing is not, which depends on
  /// sides that are periodic.
  virtual void fields(Visitor& visitor, RunOptions const& run) = 0;
  /// The fields of a run with these parameters; none: those of `SimulationInfo`. Names that the
  /// user chooses are read by `Visitor::named`, which checks that formulas can have them.
  virtual std::vector<FieldInfo> fields_of(RunOptions const&) const { return {}; }
  /// Of parameters that are equations; it lives as long as they do.
  virtual Language* language() { return nullptr; }
  /// Whether it reads what stands under `initial` and is no formula of space, and does so.
  virtual bool reads_initial() const { return false; }
  virtual void check_initial(Visitor&, RunOptions const&) {}
  /// Of simulations with a language: reads what stands under `boundary` and is no formula of space
  /// and time, but for what comes to one, which it becomes.
  virtual void check_sides(Visitor&, RunOptions&) {}
  /// What else has sides under `boundary`: of these nothing is initial, written or measured. One
  /// with `any_name` has faults, and is not looked at.
  virtual std::vector<FieldInfo> names_of(RunOptions const&) const { return {}; }
};

}  // namespace gridstride::config
