#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "equations/operators.hpp"
#include "equations/system.hpp"
#include "expression/expression.hpp"

namespace gridstride::equations {

/// A name and what it stands for: a text, or one for each component of a vector.
struct Definition {
  std::string name;
  std::vector<std::string> texts;
  bool listed = false;  ///< whether the texts are components, even if there is one alone
  /// Of a let: whether it goes on beyond the sides of the grid by rules of its own. Then it is
  /// `Kind::name` wherever it is used.
  bool has_sides = false;
};

/// An equation: the rate of change of a field.
struct Equation : Definition {
  bool is_vector = false;  ///< whether the field is one, with a component for each axis
};

/// A system as it is written.
struct SystemText {
  int dims = 1;
  expression::Symbols constants;
  std::vector<Definition> lets;  ///< names for parts of equations and of each other
  std::vector<Equation> equations;
  std::vector<Definition> constraints = {};  ///< 0 = each: scalars
  std::vector<std::string> held = {};        ///< the fields, scalars, that they determine
};

/// The names in constraints that stand for nothing else: of the fields that these determine.
std::vector<std::string> held_names(SystemText const& text);

/// What is wrong in one text.
struct SystemFault {
  bool in_equation = false;         ///< or under `lets`, or `in_constraint`
  std::size_t definition = 0;       ///< its place there
  std::optional<std::size_t> text;  ///< its place in `texts`; none: the definition as a whole
  expression::ParseError error;
  bool in_constraint = false;
};

/// Reads the texts of a system. The grammar is that of formulas, with `[a, b]` for vectors, `v.x`
/// for their components and `operators()`. Names win over each other in the order operators,
/// functions, coordinates and time, pi and e, fields, lets, constants; `name_problem` tells which
/// nobody should give. Adds what is wrong to `faults`, once for each text and not again for those
/// that need it; then there is no system. Lets that no equation uses have to be right, too.
std::optional<System> read_system(SystemText const& text, std::vector<SystemFault>& faults);

/// Reads the text of what follows from the fields of a system that `text` was read into: a scalar or
/// a vector. Its terms come to those of the system. `dt(u)` is the rate that the system has. What is
/// wrong goes to `fault`; then there is no value.
std::optional<Ranked> read_quantity(SystemText const& text, Definition const& quantity,
                                    System& system, std::optional<SystemFault>& fault);

/// Why a field, a let or a constant cannot have that name beside operators; empty when it can.
std::string name_problem(std::string_view name);

}  // namespace gridstride::equations
