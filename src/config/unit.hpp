#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace gridstride::config {

/// Text that is no unit, or a unit of something else.
class UnitError : public Error {
 public:
  using Error::Error;
};

/// Exponents of m, kg, s, K, A, mol, cd, and of bytes.
using Dimension = std::array<int, 8>;

/// A unit as its factor to SI, numerator / denominator · 10^power_of_ten, and its dimension. The
/// parts are kept apart so that `to_si` rounds decimal values as they would be written in SI.
struct Unit {
  double numerator = 1;
  double denominator = 1;
  int power_of_ten = 0;
  Dimension dimension = {};

  double to_si(double value) const;
};

/// `mm^2/s`, `J/(kg*K)`: SI units with prefixes, *, /, parentheses, whole exponents, and the usual
/// min, h, day, deg, bar, L, eV, % and sizes as MiB and GB. Throws `UnitError` with a suggestion.
Unit parse_unit(std::string_view text);

/// Whether `name` is a unit by itself, with or without a prefix.
bool is_unit(std::string_view name);

/// A dimension in base units: `kg*m^2/s^2`; `1` for a plain number.
std::string format_dimension(Dimension const& dimension);

/// Throws `UnitError` when `unit` (called `name`) does not measure what the unit `expected` does.
void check_dimension(std::string_view name, Unit const& unit, std::string_view expected);

}  // namespace gridstride::config
