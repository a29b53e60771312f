#include "config/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "config/faults.hpp"
#include "config/unit.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

std::size_t digits_length(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

std::string_view trim_left(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

std::string_view trim(std::string_view text) {
  text = trim_left(text);
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

bool consists_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

/// What stands before and after the first `mark`; two empty texts when there is none.
std::pair<std::string_view, std::string_view> split_at(std::string_view text, char mark) {
  std::size_t const place = text.find(mark);
  if (place == std::string_view::npos) return {};
  return {text.substr(0, place), text.substr(place + 1)};
}

std::string_view without_sign(std::string_view text) {
  return text.substr(!text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0);
}

/// A way to write a number that is taken elsewhere, or that went wrong. `matches` gets lower-case
/// text without its sign.
struct ForeignNumber {
  bool (*matches)(std::string_view text);
  std::string_view why;
};

bool is_not_finite(std::string_view text) {
  if (text.starts_with('.')) text.remove_prefix(1);
  return text == "nan" || text == "inf" || text == "infinity";
}
bool is_hexadecimal(std::string_view text) { return text.starts_with("0x"); }
bool is_octal(std::string_view text) {
  return text.starts_with("0o") && consists_of(text.substr(2), "01234567_");
}
bool is_binary(std::string_view text) {
  return text.starts_with("0b") && consists_of(text.substr(2), "01_");
}
bool has_underscore(std::string_view text) {
  return is_digit(text[0]) && text.find('_') != std::string_view::npos &&
         consists_of(text, "0123456789._e+-");
}
/// `1,5`, `1,000` and `1,000,000.5`, and `1'000`.
bool has_separators(std::string_view text) {
  return is_digit(text[0]) && is_digit(text.back()) &&
         text.find_first_of(",'") != std::string_view::npos && consists_of(text, "0123456789.,'");
}
/// What would be a number but for blanks in it.
bool has_blanks(std::string_view text) {
  std::string joined(text);
  std::erase_if(joined, [](char c) { return c == ' ' || c == '\t'; });
  return is_digit(text[0]) && joined.size() < text.size() && number_length(joined) == joined.size();
}
/// `2026-01-01` and `01/02/2026`, also with a time of day after it: formulas of another meaning.
bool is_date(std::string_view text) {
  text = text.substr(0, text.find_first_of("t "));
  char const mark = text.find('-') != std::string_view::npos ? '-' : '/';
  auto const [first, rest] = split_at(text, mark);
  auto const [second, third] = split_at(rest, mark);
  auto const [year, day] = mark == '-' ? std::pair(first, third) : std::pair(third, first);
  auto const digits = [](std::string_view part, std::size_t least, std::size_t most) {
    return consists_of(part, "0123456789") && part.size() >= least && part.size() <= most;
  };
  return digits(year, 4, 4) && digits(second, 1, 2) && digits(day, 1, 2);
}
bool is_time_of_day(std::string_view text) {
  return is_digit(text[0]) && text.find(':') != std::string_view::npos &&
         consists_of(text, "0123456789.:");
}
bool has_fortran_exponent(std::string_view text) {
  auto const [digits, exponent] = split_at(text, 'd');
  return consists_of(digits, "0123456789.") && consists_of(without_sign(exponent), "0123456789");
}
bool has_two_points(std::string_view text) {
  return consists_of(text, "0123456789.") && std::ranges::count(text, '.') > 1;
}
bool has_empty_exponent(std::string_view text) {
  auto const [digits, exponent] = split_at(text, 'e');
  return consists_of(digits, "0123456789.") && without_sign(exponent).empty();
}
bool has_point_in_exponent(std::string_view text) {
  auto const [digits, exponent] = split_at(text, 'e');
  return consists_of(digits, "0123456789.") && exponent.find('.') != std::string_view::npos &&
         consists_of(without_sign(exponent), "0123456789.");
}

constexpr ForeignNumber foreign_numbers[] = {
    {is_not_finite, "only finite numbers are accepted"},
    {is_hexadecimal, "hexadecimal; numbers are decimal"},
    {is_octal, "octal; numbers are decimal"},
    {is_binary, "binary; numbers are decimal"},
    {has_underscore, "digits are written without underscores"},
    {has_separators, "the decimal point is '.', and digits are not grouped"},
    {has_blanks, "a number has no blanks in it"},
    {is_date, "a date; a difference or ratio is written with blanks, 2026 - 1 - 1"},
    {is_time_of_day, "numbers have no ':'; 1:30 h is written 1.5 h"},
    {has_fortran_exponent, "the exponent is written 1e-3"},
    {has_two_points, "it has two decimal points"},
    {has_empty_exponent, "the exponent has no digits"},
    {has_point_in_exponent, "the exponent is a whole number"},
};

/// Why `text` is no number although it looks like one; empty when it does not.
std::string_view why_no_number(std::string_view text) {
  constexpr std::size_t longest_number = 64;
  std::string const lower = to_lower(trim(without_sign(text)));
  if (lower.empty() || lower.size() > longest_number) return {};
  for (ForeignNumber const& foreign : foreign_numbers)
    if (foreign.matches(lower)) return foreign.why;
  return {};
}

[[noreturn]] void refuse_number(std::string_view text, std::string_view kind) {
  std::string_view const why = why_no_number(text);
  throw ValueError(fmt::format("{} is not a {}{}", show(text), kind,
                               why.empty() ? "" : fmt::format(" ({})", why)),
                   0);
}

/// A number as its digits: sign · digits · 10^exponent, the digits without zeros at either end.
struct Decimal {
  bool negative = false;
  std::string digits;
  long exponent = 0;
};

Decimal parse_decimal(std::string_view text) {
  Decimal decimal;
  decimal.negative = text[0] == '-';
  std::size_t const mark = text.find_first_of("eE");
  bool after_point = false;
  for (char const c : text.substr(0, mark)) {
    if (is_digit(c)) {
      decimal.digits += c;
      decimal.exponent -= after_point ? 1 : 0;
    }
    after_point = after_point || c == '.';
  }
  if (mark != std::string_view::npos) {
    std::string_view exponent_text = text.substr(mark + 1);
    if (exponent_text[0] == '+') exponent_text.remove_prefix(1);
    constexpr long beyond_any = 1'000'000;  // for exponents that do not fit
    long exponent = exponent_text[0] == '-' ? -beyond_any : beyond_any;
    std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
    decimal.exponent += std::clamp(exponent, -beyond_any, beyond_any);
  }
  decimal.digits.erase(0, std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size()));
  while (decimal.digits.ends_with('0')) {
    decimal.digits.pop_back();
    ++decimal.exponent;
  }
  if (decimal.digits.empty()) decimal.exponent = 0;
  return decimal;
}

/// The start of a unit, as it follows a number: `m`, `µm`, `(m/s)`, `1/s`.
bool begins_unit(std::string_view rest, bool after_blank) {
  if (rest.empty()) return false;
  bool const letter =
      is_letter(rest[0]) || rest[0] == '%' || static_cast<unsigned char>(rest[0]) >= 0x80;
  return letter || (after_blank && (rest[0] == '(' || rest.starts_with("1/")));
}

/// Whether what follows a number is the rest of a formula rather than a unit: a product lacks its
/// sign.
bool is_rest_of_formula(std::string_view rest, expression::Symbols const& constants,
                        std::span<expression::Variable const> variables) {
  auto const end = std::ranges::find_if_not(
      rest, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
  std::string_view const name(rest.begin(), end);
  bool const function =
      std::ranges::find(expression::functions(), name, &expression::FunctionInfo::name) !=
      expression::functions().end();
  if (is_unit(name)) return function && trim_left({end, rest.end()}).starts_with('(');
  return function || name == "pi" || name == "and" || name == "or" || constants.contains(name) ||
         std::ranges::find(variables, name, &expression::Variable::name) != variables.end();
}

/// Whether a unit can be read as names of the formula, too: `h` where a constant has that name.
bool is_formula(std::string_view unit_name, expression::Symbols const& constants,
                std::span<expression::Variable const> variables) {
  if (!is_unit(unit_name.substr(0, unit_name.find_first_of("*/^ (")))) return false;
  try {
    expression::Expression::parse(unit_name, constants, variables);
    return true;
  } catch (expression::ParseError const&) {
    return false;
  }
}

double parse_with_unit(std::string_view text, std::size_t length, std::string_view unit_name,
                       std::string_view expected, expression::Symbols const& constants,
                       std::span<expression::Variable const> variables) {
  std::string_view const number = text.substr(0, length);
  if (is_formula(unit_name, constants, variables))
    throw ValueError(
        fmt::format("{0} has two meanings, for '{2}' is a unit and what a formula knows, too "
                    "(write {1}*({2}), or the number in SI units)",
                    show(text), number, unit_name),
        0);
  double const value = parse_number(number);
  auto const position = static_cast<std::size_t>(unit_name.data() - text.data());
  try {
    Unit const unit = parse_unit(unit_name);
    if (!expected.empty()) check_dimension(unit_name, unit, expected);
    double const converted = unit.to_si(value);
    if (!std::isfinite(converted))
      throw ValueError(fmt::format("{} is too large in SI units", show(text)), 0);
    if (converted == 0 && value != 0)
      throw ValueError(fmt::format("{} is too small in SI units", show(text)), 0);
    return converted;
  } catch (UnitError const& error) {
    throw ValueError(error.what(), position);
  }
}

}  // namespace

std::size_t number_length(std::string_view text) {
  std::size_t length = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  std::size_t const whole = digits_length(text.substr(length));
  length += whole;
  if (length < text.size() && text[length] == '.') {
    std::size_t const fraction = digits_length(text.substr(length + 1));
    if (whole + fraction == 0) return 0;
    length += 1 + fraction;
  } else if (whole == 0) {
    return 0;
  }
  if (length < text.size() && (text[length] == 'e' || text[length] == 'E')) {
    std::size_t exponent = length + 1;
    if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
    std::size_t const digits = digits_length(text.substr(exponent));
    if (digits > 0) length = exponent + digits;
  }
  return length;
}

double parse_number(std::string_view text) {
  text = trim(text);
  if (text.empty() || number_length(text) != text.size()) refuse_number(text, "number");
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0;
  auto const [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range) {
    Decimal const decimal = parse_decimal(text);
    bool const large = decimal.exponent + static_cast<long>(decimal.digits.size()) > 0;
    throw ValueError(fmt::format("{} is out of range ({})", show(text),
                                 large ? "the largest number is 1.8e308"
                                       : "the smallest number above 0 is 5e-324"),
                     0);
  }
  return value;
}

std::int64_t parse_integer(std::string_view text) {
  text = trim(text);
  if (text.empty() || number_length(text) != text.size()) refuse_number(text, "whole number");
  Decimal const decimal = parse_decimal(text);
  if (decimal.exponent < 0)
    throw ValueError(fmt::format("{} is not a whole number", show(text)), 0);
  constexpr std::size_t longest_digits = 19;
  std::int64_t value = 0;
  auto status = std::errc::result_out_of_range;
  if (decimal.digits.size() + static_cast<std::size_t>(decimal.exponent) <= longest_digits) {
    std::string const digits = (decimal.negative ? "-" : "") + decimal.digits +
                               std::string(static_cast<std::size_t>(decimal.exponent), '0');
    status = std::from_chars(digits.data(), digits.data() + digits.size(), value).ec;
    if (decimal.digits.empty()) return 0;
  }
  if (status != std::errc())
    throw ValueError(fmt::format("{} is out of range (whole numbers go up to {})", show(text),
                                 std::numeric_limits<std::int64_t>::max()),
                     0);
  return value;
}

expression::Expression parse_formula(std::string_view text, std::string_view unit,
                                     expression::Symbols const& constants,
                                     std::span<expression::Variable const> variables) {
  std::string_view const body = trim(text);
  if (body.empty()) throw ValueError("is empty (a number or a formula is expected)", 0);
  std::size_t const length = number_length(body);
  if (length == body.size()) return expression::Expression(parse_number(body));
  std::string_view const why = why_no_number(body);
  if (!why.empty()) refuse_number(body, "number");
  auto const offset = static_cast<std::size_t>(body.data() - text.data());
  try {
    std::string_view const rest = trim_left(body.substr(length));
    bool const after_blank = rest.size() + length < body.size();
    if (length > 0 && begins_unit(rest, after_blank) &&
        !is_rest_of_formula(rest, constants, variables))
      return expression::Expression(
          parse_with_unit(body, length, rest, unit, constants, variables));
    expression::Expression formula = expression::Expression::parse(body, constants, variables);
    if (formula.is_constant() && !std::isfinite(formula.evaluate(0)))
      throw ValueError(
          fmt::format("{} is not a finite number (it is {})", show(body), formula.evaluate(0)), 0);
    return formula;
  } catch (ValueError const& error) {
    throw ValueError(error.what(), error.position() + offset);
  }
}

double parse_quantity(std::string_view text, std::string_view unit,
                      expression::Symbols const& constants,
                      std::span<expression::Variable const> variables) {
  expression::Expression const formula = parse_formula(text, unit, constants, variables);
  if (!formula.is_constant())
    throw ValueError(
        fmt::format("{} is not a number (it depends on the place or time)", show(text)), 0);
  return formula.evaluate(0);
}

}  // namespace gridstride::config
