#include "expression/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/text.hpp"
#include "expression/expression.hpp"

namespace gridstride::expression {
namespace {

bool is_name_start(char c) { return is_letter(c) || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Signs of other languages: why they are no part of a formula, and what stands for them here.
struct ForeignSign {
  std::string_view text, why, suggestion;
};

constexpr ForeignSign foreign_signs[] = {
    {"**", "powers are written with ^", "^"},
    {"&&", "conditions are 0 or 1: both hold where their product is 1", "*"},
    {"||", "conditions are 0 or 1: one holds where the larger of them is 1", "max"},
    {"=<", "a comparison is written < <= > >= == or !=", "<="},
    {"=>", "a comparison is written < <= > >= == or !=", ">="},
    {"<>", "a comparison is written < <= > >= == or !=", "!="},
    {"=", "equality is written with two signs", "=="},
    {"!", "a condition c does not hold where c == 0", ""},
    {"%", "the remainder is a function", "mod"},
    {";", "a formula is a single expression", ""},
    {"#", "a comment begins with a blank and '#', outside of quotes", ""},
    {"[", "only round parentheses group", "("},
    {"]", "only round parentheses group", ")"},
    {"{", "only round parentheses group", "("},
    {"}", "only round parentheses group", ")"},
    {"\u00d7", "formulas are plain ASCII", "*"},
    {"\u00b7", "formulas are plain ASCII", "*"},
    {"\u00f7", "formulas are plain ASCII", "/"},
    {"\u2212", "formulas are plain ASCII", "-"},
    {"\u00b2", "formulas are plain ASCII", "^2"},
    {"\u00b3", "formulas are plain ASCII", "^3"},
    {"\u2264", "formulas are plain ASCII", "<="},
    {"\u2265", "formulas are plain ASCII", ">="},
    {"\u2260", "formulas are plain ASCII", "!="},
    {"\u221a", "formulas are plain ASCII", "sqrt"},
    {"\u03c0", "formulas are plain ASCII", "pi"},
};

/// The same where a formula has operators in space.
constexpr ForeignSign foreign_signs_of_equations[] = {
    {"\u2207\u00b2", "operators have names", "laplace(u)"},
    {"\u2206", "operators have names", "laplace(u)"},
    {"\u0394", "operators have names", "laplace(u)"},
    {"\u2207\u00b7", "operators have names", "div(v)"},
    {"\u2207\u22c5", "operators have names", "div(v)"},
    {"\u2207\u00d7", "operators have names", "curl(v)"},
    {"\u2207", "operators have names", "grad(u)"},
    {"\u2202", "operators have names", "d_dx(u)"},
    {"\u222b", "operators have names", "integral(u)"},
};

/// Bytes of the character of UTF-8 that a text begins with; 1 where there is none.
std::size_t character_length(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t const length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : byte(0) >= 0xC2 ? 2 : 1;
  if (length > text.size() || byte(0) > 0xF4) return 1;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 1;
  return length;
}

/// Words of other languages that join conditions.
constexpr ForeignSign foreign_operators[] = {
    {"and", "conditions are 0 or 1: both hold where their product is 1", "*"},
    {"or", "conditions are 0 or 1: one holds where the larger of them is 1", "max"},
    {"not", "a condition c does not hold where c == 0", ""},
};

}  // namespace

void fail_at(std::size_t position, std::string message, std::string_view why,
             std::string_view suggestion) {
  if (!why.empty()) message += fmt::format(" ({})", why);
  if (!suggestion.empty()) message += fmt::format("; did you mean '{}'?", suggestion);
  throw ParseError(message, position);
}

std::string quote(std::string_view text) {
  constexpr std::size_t longest = 40;
  return text.size() <= longest ? fmt::format("'{}'", text)
                                : fmt::format("'{}...'", text.substr(0, longest));
}

void refuse_operator_word(Token const& word) {
  for (ForeignSign const& sign : foreign_operators)
    if (to_lower(word.text) == sign.text)
      fail_at(word.position, fmt::format("'{}' is not used in formulas", word.text), sign.why,
              sign.suggestion);
}

Token Lexer::next() {
  while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  std::string_view const rest = text_.substr(position_);
  if (rest.empty()) return {Token::Kind::end, rest, position_, 0};
  if (is_digit(rest[0]) || (rest[0] == '.' && rest.size() > 1 && is_digit(rest[1])))
    return number(rest);
  if (is_name_start(rest[0])) {
    auto const end =
        std::ranges::find_if_not(rest, [](char c) { return is_name_start(c) || is_digit(c); });
    return take(Token::Kind::name, static_cast<std::size_t>(end - rest.begin()));
  }
  bool const component = rest[0] == '.' && rest.size() > 1 && is_name_start(rest[1]);
  if (with_vectors_ && (rest[0] == '[' || rest[0] == ']' || component))
    return take(Token::Kind::symbol, 1);
  for (std::string_view const symbol : {"<=", ">=", "==", "!="})
    if (rest.starts_with(symbol)) return take(Token::Kind::symbol, 2);
  auto const refuse_sign = [&](ForeignSign const& sign) {
    if (rest.starts_with(sign.text))
      fail_at(position_, fmt::format("'{}' is not used in formulas", sign.text), sign.why,
              sign.suggestion);
  };
  if (with_vectors_) std::ranges::for_each(foreign_signs_of_equations, refuse_sign);
  std::ranges::for_each(foreign_signs, refuse_sign);
  if (std::string_view("+-*/^()<>,").find(rest[0]) != std::string_view::npos)
    return take(Token::Kind::symbol, 1);
  refuse(rest);
}

bool Lexer::before(char c) const {
  std::size_t const next = text_.find_first_not_of(" \t\n\r", position_);
  return next != std::string_view::npos && text_[next] == c;
}

Token Lexer::take(Token::Kind kind, std::size_t length, double value) {
  Token const token{kind, text_.substr(position_, length), position_, value};
  position_ += length;
  return token;
}

Token Lexer::number(std::string_view rest) {
  double value = 0;
  auto const [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  auto const length = static_cast<std::size_t>(end - rest.data());
  if (status != std::errc())
    fail_at(position_, fmt::format("the number {} is out of range", quote(rest.substr(0, length))),
            "float64 holds 5e-324 to 1.8e308");
  return take(Token::Kind::number, length, value);
}

void Lexer::refuse(std::string_view rest) const {
  char const c = rest[0];
  auto const byte = static_cast<unsigned char>(c);
  if (std::size_t const length = character_length(rest); length > 1)
    fail_at(position_, fmt::format("'{}' is not used in formulas", rest.substr(0, length)),
            "formulas are plain ASCII");
  if (byte >= 0x80)
    fail_at(position_, fmt::format("the byte 0x{:02X} is not ASCII", byte),
            "formulas are plain ASCII");
  if (byte < 0x20 || byte == 0x7F)
    fail_at(position_, fmt::format("the control character 0x{:02X} is not used in formulas", byte));
  if (c == '.') fail_at(position_, "a point without digits", "a number is written 1.5, 1. or .5");
  fail_at(position_, fmt::format("'{}' is not used in formulas", c));
}

}  // namespace gridstride::expression
