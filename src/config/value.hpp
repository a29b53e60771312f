#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "expression/expression.hpp"

namespace gridstride::config {

/// A fault in the text of a value, with the byte where it is.
using ValueError = expression::ParseError;

/// Bytes of the decimal number that `text` begins with, as `-1.5e-3`; 0 when there is none.
std::size_t number_length(std::string_view text);

/// The finite number that the whole of `text` is. `010` is ten, whatever the locale. Throws
/// `ValueError`, which says why for what other languages would take.
double parse_number(std::string_view text);

/// The same for a whole number; `1e3` is one. Exact up to the bounds of the type.
std::int64_t parse_integer(std::string_view text);

/// A formula, or a number with or without a unit, which is converted to the SI unit `unit`.
/// An empty `unit` takes any.
expression::Expression parse_formula(
    std::string_view text, std::string_view unit, expression::Symbols const& constants,
    std::span<expression::Variable const> variables = expression::space_and_time);

/// The finite number that a formula without variables is.
double parse_quantity(std::string_view text, std::string_view unit,
                      expression::Symbols const& constants,
                      std::span<expression::Variable const> variables = expression::space_and_time);

}  // namespace gridstride::config
