#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/field_info.hpp"
#include "config/parameters.hpp"

namespace gridstride::config {

/// A solution that somebody made up, of one number at each point: a field, or a component as
/// `velocity.x`; formulas of space and time.
struct MadeSolution {
  std::string field;
  int component = 0;
  expression::Expression value;
  std::array<expression::Expression, 3> slopes;  ///< along the axes of the grid
  Location location;
};

/// The language of a simulation's own equations, in which texts elsewhere in its file are read too.
/// What is wrong with a text is noted at `key` below the present section of the visitor.
class Language {
 public:
  /// Why a field that follows from others cannot have this name, which none of them has; empty when
  /// it can.
  virtual std::string name_problem(RunOptions const& run, std::string const& name) const = 0;

  /// Takes what follows from the fields at each point of the grid: a scalar, or where `may_be_vector`
  /// a vector with a component for each axis. The simulation finds it from then on, as a field that
  /// is `written` or one that diagnostics look at. One that is known by this name stays. Returns what
  /// is known of it, nothing where it cannot be read.
  virtual std::optional<FieldInfo> take_quantity(Visitor& visitor, std::string const& key,
                                                 std::string const& name, SourceText const& text,
                                                 bool written) = 0;

  /// Fields that the equations hold beside those that they evolve, and that are written.
  virtual std::vector<FieldInfo> held_fields() const { return {}; }

  /// Makes `solutions`, one for each field in texts of space and time, those of the equations: adds
  /// to each equation what it lacks. Empty where that cannot be.
  virtual std::vector<MadeSolution> manufacture(
      Visitor& visitor, std::string const& key,
      std::vector<std::pair<std::string, SourceText>> const& solutions) = 0;

 protected:
  ~Language() = default;
};

}  // namespace gridstride::config
