#include "config/unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "config/faults.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

struct NamedUnit {
  std::string_view name;
  bool takes_prefix;
  Unit unit;
};

// Dimensions in the order m, kg, s, K, A, mol, cd, B (bytes).
constexpr NamedUnit named_units[] = {
    {"1", false, {}},
    {"m", true, {1, 1, 0, {1}}},
    {"g", true, {1, 1, -3, {0, 1}}},
    {"s", true, {1, 1, 0, {0, 0, 1}}},
    {"K", true, {1, 1, 0, {0, 0, 0, 1}}},
    {"A", true, {1, 1, 0, {0, 0, 0, 0, 1}}},
    {"mol", true, {1, 1, 0, {0, 0, 0, 0, 0, 1}}},
    {"cd", true, {1, 1, 0, {0, 0, 0, 0, 0, 0, 1}}},
    {"rad", true, {}},
    {"sr", true, {}},
    {"Hz", true, {1, 1, 0, {0, 0, -1}}},
    {"N", true, {1, 1, 0, {1, 1, -2}}},
    {"Pa", true, {1, 1, 0, {-1, 1, -2}}},
    {"J", true, {1, 1, 0, {2, 1, -2}}},
    {"W", true, {1, 1, 0, {2, 1, -3}}},
    {"C", true, {1, 1, 0, {0, 0, 1, 0, 1}}},
    {"V", true, {1, 1, 0, {2, 1, -3, 0, -1}}},
    {"F", true, {1, 1, 0, {-2, -1, 4, 0, 2}}},
    {"ohm", true, {1, 1, 0, {2, 1, -3, 0, -2}}},
    {"\u03a9", true, {1, 1, 0, {2, 1, -3, 0, -2}}},
    {"S", true, {1, 1, 0, {-2, -1, 3, 0, 2}}},
    {"Wb", true, {1, 1, 0, {2, 1, -2, 0, -1}}},
    {"T", true, {1, 1, 0, {0, 1, -2, 0, -1}}},
    {"H", true, {1, 1, 0, {2, 1, -2, 0, -2}}},
    {"lm", true, {1, 1, 0, {0, 0, 0, 0, 0, 0, 1}}},
    {"lx", true, {1, 1, 0, {-2, 0, 0, 0, 0, 0, 1}}},
    {"Bq", true, {1, 1, 0, {0, 0, -1}}},
    {"Gy", true, {1, 1, 0, {2, 0, -2}}},
    {"Sv", true, {1, 1, 0, {2, 0, -2}}},
    {"kat", true, {1, 1, 0, {0, 0, -1, 0, 0, 1}}},
    {"min", false, {60, 1, 0, {0, 0, 1}}},
    {"h", false, {3600, 1, 0, {0, 0, 1}}},
    {"d", false, {86400, 1, 0, {0, 0, 1}}},
    {"day", false, {86400, 1, 0, {0, 0, 1}}},
    {"deg", false, {std::numbers::pi, 180, 0, {}}},
    {"%", false, {1, 1, -2, {}}},
    {"L", true, {1, 1, -3, {3}}},
    {"l", true, {1, 1, -3, {3}}},
    {"bar", true, {1, 1, 5, {-1, 1, -2}}},
    {"B", false, {1, 1, 0, {0, 0, 0, 0, 0, 0, 0, 1}}},
    {"kB", false, {1, 1, 3, {0, 0, 0, 0, 0, 0, 0, 1}}},
    {"MB", false, {1, 1, 6, {0, 0, 0, 0, 0, 0, 0, 1}}},
    {"GB", false, {1, 1, 9, {0, 0, 0, 0, 0, 0, 0, 1}}},
    {"KiB", false, {0x1p10, 1, 0, {0, 0, 0, 0, 0, 0, 0, 1}}},
    {"MiB", false, {0x1p20, 1, 0, {0, 0, 0, 0, 0, 0, 0, 1}}},
    {"GiB", false, {0x1p30, 1, 0, {0, 0, 0, 0, 0, 0, 0, 1}}},
    {"TiB", false, {0x1p40, 1, 0, {0, 0, 0, 0, 0, 0, 0, 1}}},
    {"eV", true, {1.602176634, 1, -19, {2, 1, -2}}},
};

struct Prefix {
  std::string_view name;
  int power_of_ten;
};

constexpr Prefix prefixes[] = {
    {"da", 1},  {"h", 2},   {"k", 3},       {"M", 6},       {"G", 9},  {"T", 12},
    {"P", 15},  {"E", 18},  {"Z", 21},      {"Y", 24},      {"d", -1}, {"c", -2},
    {"m", -3},  {"u", -6},  {"\u00b5", -6}, {"\u03bc", -6}, {"n", -9}, {"p", -12},
    {"f", -15}, {"a", -18}, {"z", -21},     {"y", -24},
};

struct ForeignUnit {
  std::string_view name, message;
};

constexpr ForeignUnit foreign_units[] = {
    {"degC", "a temperature in degC has an offset (give kelvin: T + 273.15)"},
    {"\u00b0C", "a temperature in \u00b0C has an offset (give kelvin: T + 273.15)"},
    {"degF", "a temperature in degF has an offset (give kelvin)"},
    {"sec", "unknown unit 'sec'; did you mean 's'?"},
    {"second", "unknown unit 'second'; did you mean 's'?"},
    {"seconds", "unknown unit 'seconds'; did you mean 's'?"},
    {"meter", "unknown unit 'meter'; did you mean 'm'?"},
    {"minutes", "unknown unit 'minutes'; did you mean 'min'?"},
    {"hour", "unknown unit 'hour'; did you mean 'h'?"},
    {"hours", "unknown unit 'hours'; did you mean 'h'?"},
    {"hr", "unknown unit 'hr'; did you mean 'h'?"},
    {"days", "unknown unit 'days'; did you mean 'day'?"},
    {"week", "unknown unit 'week' (it is 7 day)"},
    {"yr", "unknown unit 'yr' (a year is 365.25 day, or as you count it)"},
    {"year", "unknown unit 'year' (a year is 365.25 day, or as you count it)"},
    {"in", "unknown unit 'in' (an inch is 0.0254 m)"},
    {"inch", "unknown unit 'inch' (it is 0.0254 m)"},
    {"ft", "unknown unit 'ft' (a foot is 0.3048 m)"},
    {"mi", "unknown unit 'mi' (a mile is 1609.344 m)"},
    {"mph", "unknown unit 'mph' (it is 0.44704 m/s)"},
    {"kmh", "unknown unit 'kmh'; did you mean 'km/h'?"},
    {"kph", "unknown unit 'kph'; did you mean 'km/h'?"},
    {"atm", "unknown unit 'atm' (it is 101325 Pa)"},
    {"psi", "unknown unit 'psi' (it is 6894.757 Pa)"},
    {"cal", "unknown unit 'cal' (it is 4.184 J)"},
    {"e", "unknown unit 'e' (an exponent follows its number without a blank, as 1e-3)"},
};

constexpr int largest_exponent = 16;

std::optional<Unit> find_unit(std::string_view name) {
  for (NamedUnit const& row : named_units)
    if (row.name == name) return row.unit;
  for (Prefix const& prefix : prefixes) {
    if (!name.starts_with(prefix.name)) continue;
    std::string_view const rest = name.substr(prefix.name.size());
    for (NamedUnit const& row : named_units) {
      if (!row.takes_prefix || row.name != rest) continue;
      Unit unit = row.unit;
      unit.power_of_ten += prefix.power_of_ten;
      return unit;
    }
  }
  return std::nullopt;
}

[[noreturn]] void refuse_unit(std::string_view name) {
  for (ForeignUnit const& foreign : foreign_units)
    if (foreign.name == name) throw UnitError(std::string(foreign.message));
  std::size_t const letters = name.find_last_not_of("0123456789") + 1;
  if (letters < name.size() && letters > 0 && find_unit(name.substr(0, letters)))
    throw UnitError(
        fmt::format("unknown unit {} (powers are written with ^); did you mean '{}^{}'?",
                    show(name), name.substr(0, letters), name.substr(letters)));
  std::vector<std::string_view> names = {"kg", "mm", "cm", "km", "ms", "us", "ns", "kPa", "MPa"};
  for (NamedUnit const& row : named_units) names.push_back(row.name);
  throw UnitError(fmt::format("unknown unit {} (SI units with prefixes, *, / and ^ are known){}",
                              show(name), suggestion(name, names)));
}

Unit power(Unit const& unit, int exponent) {
  Unit result;
  double const above = exponent >= 0 ? unit.numerator : unit.denominator;
  double const below = exponent >= 0 ? unit.denominator : unit.numerator;
  for (int i = 0; i < std::abs(exponent); ++i) {
    result.numerator *= above;
    result.denominator *= below;
  }
  result.power_of_ten = unit.power_of_ten * exponent;
  for (std::size_t i = 0; i < result.dimension.size(); ++i)
    result.dimension[i] = unit.dimension[i] * exponent;
  return result;
}

Unit product(Unit const& left, Unit const& right) {
  Unit result = left;
  result.numerator *= right.numerator;
  result.denominator *= right.denominator;
  result.power_of_ten += right.power_of_ten;
  for (std::size_t i = 0; i < result.dimension.size(); ++i)
    result.dimension[i] += right.dimension[i];
  return result;
}

/// product := factor (('*' | '/') factor)*;  factor := (name | '(' product ')') ('^' exponent)?
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Unit parse() {
    Unit const unit = parse_product();
    if (!rest().empty()) refuse();
    return unit;
  }

 private:
  Unit parse_product() {
    Unit unit = parse_factor();
    for (;;) {
      if (accept('*') || accept("\u00b7")) {
        unit = product(unit, parse_factor());
      } else if (accept('/')) {
        unit = product(unit, power(parse_factor(), -1));
      } else {
        return unit;
      }
    }
  }

  Unit parse_factor() {
    Unit unit;
    if (accept('(')) {
      unit = parse_product();
      if (!accept(')')) throw UnitError(fmt::format("a ')' is missing in {}", show(text_)));
    } else {
      std::string_view const name =
          rest().substr(0, std::min(rest().find_first_of(" */^()"), rest().find("\u00b7")));
      if (name.empty()) refuse();
      std::optional<Unit> const found = find_unit(name);
      if (!found) refuse_unit(name);
      unit = *found;
      position_ += name.size();
    }
    return accept('^') ? power(unit, parse_exponent()) : unit;
  }

  int parse_exponent() {
    std::string_view const digits = rest();
    int exponent = 0;
    auto const [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (status != std::errc() || std::abs(exponent) > largest_exponent ||
        (end < digits.data() + digits.size() && *end == '.'))
      throw UnitError(fmt::format("a unit's exponent is a whole number of at most {}, not {}",
                                  largest_exponent, show(digits)));
    position_ += static_cast<std::size_t>(end - digits.data());
    return exponent;
  }

  std::string_view rest() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    return text_.substr(position_);
  }
  bool accept(std::string_view symbol) {
    bool const found = rest().starts_with(symbol);
    if (found) position_ += symbol.size();
    return found;
  }
  bool accept(char symbol) { return accept(std::string_view(&symbol, 1)); }

  [[noreturn]] void refuse() const {
    throw UnitError(
        fmt::format("{} is not a unit (units are written as m^2/s or J/(kg*K))", show(text_)));
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

void append_factor(std::string& text, std::string_view name, int exponent) {
  if (!text.empty()) text += '*';
  text += name;
  if (exponent != 1) text += fmt::format("^{}", exponent);
}

}  // namespace

double Unit::to_si(double value) const {
  double const scaled = value * numerator / denominator;
  double const power = std::pow(10.0, std::abs(power_of_ten));  // exact up to 10^22
  return power_of_ten >= 0 ? scaled * power : scaled / power;
}

Unit parse_unit(std::string_view text) {
  constexpr std::size_t longest_unit = 64;  // this bounds the nesting, too
  if (text.size() > longest_unit)
    throw UnitError(fmt::format("{} is not a unit (it is too long)", show(text)));
  return Parser(text).parse();
}

bool is_unit(std::string_view name) { return find_unit(name).has_value(); }

std::string format_dimension(Dimension const& dimension) {
  constexpr std::string_view names[] = {"m", "kg", "s", "K", "A", "mol", "cd", "B"};
  constexpr std::size_t order[] = {1, 0, 2, 3, 4, 5, 6, 7};  // kg first, as in kg*m^2/s^2
  std::string above, below;
  int factors_below = 0;
  for (std::size_t const i : order) {
    if (dimension[i] > 0) append_factor(above, names[i], dimension[i]);
    if (dimension[i] < 0) {
      append_factor(below, names[i], -dimension[i]);
      ++factors_below;
    }
  }
  if (above.empty()) above = "1";
  if (factors_below == 0) return above;
  return factors_below == 1 ? fmt::format("{}/{}", above, below)
                            : fmt::format("{}/({})", above, below);
}

void check_dimension(std::string_view name, Unit const& unit, std::string_view expected) {
  Dimension const wanted = parse_unit(expected).dimension;
  if (unit.dimension == wanted) return;
  std::string const given = format_dimension(unit.dimension);
  if (wanted == Dimension{})
    throw UnitError(
        fmt::format("the unit {} does not fit here (a plain number is expected)", show(name)));
  std::string const needed = format_dimension(wanted);
  std::string const lower = to_lower(name);  // S is siemens, s the second
  auto const other = find_unit(lower);
  throw UnitError(fmt::format(
      "{} is not a unit of {} (it measures {}{}){}", show(name), expected, given,
      needed == expected ? "" : ", not " + needed,
      other && other->dimension == wanted ? fmt::format("; did you mean '{}'?", lower) : ""));
}

}  // namespace gridstride::config
