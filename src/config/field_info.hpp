#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grid/grid.hpp"

namespace gridstride::config {

/// A field of a simulation as a file speaks of it.
struct FieldInfo {
  std::string name = {};
  std::string unit = "1";
  std::string documentation = {};
  /// Names of the one to three numbers that a vector has at each point; none for a field with one.
  std::vector<std::string> components = {};
  /// What the sides of the grid may be for it, the default first; an empty list: it has none. Where
  /// nothing is said, what `SimulationInfo::sides` does.
  std::optional<std::vector<SideKind>> sides = {};
  /// Whether it lies on another grid than the section `grid` describes: it has no sides, and its
  /// first values come from the simulation.
  bool own_grid = false;
  /// Whether it follows from others at each moment: it has no sides and no first values.
  bool derived = false;
  /// The field whose rate of change it is: on sides it has the rates of that one's values. Empty:
  /// of none.
  std::string rate_of = {};
  /// Stands for all fields that the parameters name, as long as these are not read.
  bool any_name = false;

  bool operator==(FieldInfo const&) const = default;
};

}  // namespace gridstride::config
