#include "expression/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/text.hpp"
#include "expression/lexer.hpp"

namespace gridstride::expression {
namespace {

/// Names of other languages that no edit distance leads home.
constexpr std::pair<std::string_view, std::string_view> foreign_names[] = {
    {"ln", "log"},
    {"log10", "log(v)/log(10)"},
    {"log2", "log(v)/log(2)"},
    {"fabs", "abs"},
    {"sgn", "sign"},
    {"heaviside", "step"},
    {"arcsin", "asin"},
    {"arccos", "acos"},
    {"arctan", "atan"},
    {"fmod", "mod"},
    {"where", "if"},
    {"PI", "pi"},
};

/// Recursive descent; makes each part after its operands.
class Parser {
 public:
  Parser(std::string_view text, Vocabulary& vocabulary)
      : lexer_(text, vocabulary.vectors() != nullptr), vocabulary_(vocabulary) {
    token_ = lexer_.next();
  }

  Value parse() {
    if (token_.kind == Token::Kind::end) fail_at(0, "the formula is empty", "0 is written '0'");
    Value const whole = parse_comparison();
    if (token_.kind != Token::Kind::end) fail_after_operand();
    return whole;
  }

 private:
  Value parse_comparison() {
    Value const left = parse_sum();
    std::optional<Operation> const operation = comparison();
    if (!operation) return left;
    std::size_t const position = advance().position;
    Value const right = parse_sum();
    if (comparison())
      fail_at(token_.position, "comparisons do not chain",
              "a < b < c would compare the 0 or 1 of a < b with c", "(a < b)*(b < c)");
    return vocabulary_.operation(*operation, left, right, position);
  }

  std::optional<Operation> comparison() const {
    constexpr std::pair<std::string_view, Operation> comparisons[] = {
        {"<", Operation::less},    {"<=", Operation::less_equal},
        {">", Operation::greater}, {">=", Operation::greater_equal},
        {"==", Operation::equal},  {"!=", Operation::not_equal},
    };
    for (auto const& [text, operation] : comparisons)
      if (at(text)) return operation;
    return std::nullopt;
  }

  Value parse_sum() {
    Value left = parse_product();
    while (at("+") || at("-")) {
      Operation const operation = at("+") ? Operation::add : Operation::subtract;
      std::size_t const position = advance().position;
      Value const right = parse_product();
      left = vocabulary_.operation(operation, left, right, position);
    }
    return left;
  }

  Value parse_product() {
    Value left = parse_unary();
    while (at("*") || at("/")) {
      Operation const operation = at("*") ? Operation::multiply : Operation::divide;
      std::size_t const position = advance().position;
      Value const right = parse_unary();
      left = vocabulary_.operation(operation, left, right, position);
    }
    return left;
  }

  /// Every way to nest passes through here, so this bounds the recursion.
  Value parse_unary() {
    if (nesting_ > max_formula_nesting)
      fail_at(token_.position, "the formula is nested too deeply",
              fmt::format("at most {} levels", max_formula_nesting));
    ++nesting_;
    Value const value = at("-") ? parse_negation() : at("+") ? parse_plus() : parse_power();
    --nesting_;
    return value;
  }

  Value parse_plus() {
    advance();
    return parse_unary();
  }

  /// A sign directly before a number belongs to it, unless a power follows: -x^2 is -(x^2).
  Value parse_negation() {
    std::size_t const position = advance().position;
    bool const before_literal =
        token_.kind == Token::Kind::number || token_.kind == Token::Kind::name;
    return vocabulary_.negated(parse_unary(), before_literal, position);
  }

  Value parse_power() {
    Value const base = parse_operand();
    if (!at("^")) return base;
    std::size_t const position = advance().position;
    Value const exponent = parse_unary();
    return vocabulary_.operation(Operation::power, base, exponent, position);
  }

  /// With the components that are taken of it.
  Value parse_operand() {
    Value value = parse_primary();
    while (accept(".")) {
      Token const name = advance();
      value = vocabulary_.vectors()->component(value, name.text, name.position);
    }
    return value;
  }

  Value parse_primary() {
    if (token_.kind == Token::Kind::number) {
      Token const number = advance();
      return vocabulary_.number(number.value, number.position);
    }
    if (token_.kind == Token::Kind::name) return parse_name();
    if (at("(")) {
      std::size_t const opening = advance().position;
      if (at(")")) fail_at(opening, "the parentheses are empty", "a value is expected in them");
      Value const value = parse_comparison();
      if (!at(")")) fail_unclosed(opening);
      advance();
      return value;
    }
    if (at("[")) return parse_vector();
    if (token_.kind == Token::Kind::end)
      fail_at(token_.position, fmt::format("the formula ends after '{}'", previous_.text),
              "a value is expected");
    fail_at(token_.position, fmt::format("a value is expected before '{}'", token_.text),
            previous_.text.empty() ? std::string()
                                   : fmt::format("it follows {}", quote(previous_.text)));
  }

  Value parse_vector() {
    std::size_t const opening = advance().position;
    std::vector<Value> components;
    do components.push_back(parse_comparison());
    while (accept(","));
    if (!at("]")) fail_unclosed(opening, "[", "]");
    advance();
    return vocabulary_.vectors()->vector(components, opening);
  }

  Value parse_name() {
    Token const name = advance();
    if (FunctionInfo const* const function = vocabulary_.function(name.text))
      return parse_call(name, *function);
    std::string_view const noun = vocabulary_.noun_of(name.text, name.position);
    if (noun.empty()) fail_unknown(name);
    if (at("("))
      fail_at(name.position, fmt::format("{} is a {}, not a function", quote(name.text), noun),
              "multiplication is written out", fmt::format("{}*(", name.text));
    return vocabulary_.named(name.text, name.position);
  }

  Value parse_call(Token const& name, FunctionInfo const& function) {
    if (!at("(")) {
      bool const before_value =
          token_.kind == Token::Kind::number || token_.kind == Token::Kind::name;
      fail_at(name.position, fmt::format("'{}' is a function", name.text),
              "its arguments stand in parentheses",
              before_value && function.arguments == 1 && token_.text.size() < 40
                  ? fmt::format("{}({})", name.text, token_.text)
                  : std::string(function.signature));
    }
    std::size_t const opening = advance().position;
    std::array<Value, 3> arguments = {-1, -1, -1};
    std::size_t const most = function.or_more ? 2 : static_cast<std::size_t>(function.arguments);
    std::size_t count = 0;
    for (bool more = !at(")"); more; more = accept(",")) {
      if (count == most && !function.or_more) fail_arguments(name, function, "more");
      if (count == most) {
        arguments[0] = vocabulary_.call(function, {arguments.data(), count}, name.position);
        count = 1;
      }
      arguments[count++] = parse_comparison();
    }
    if (!at(")")) fail_unclosed(opening);
    advance();
    if (count < static_cast<std::size_t>(function.arguments))
      fail_arguments(name, function, count == 0 ? "none" : fmt::format("only {}", count));
    return vocabulary_.call(function, {arguments.data(), count}, name.position);
  }

  bool at(std::string_view symbol) const {
    return token_.kind == Token::Kind::symbol && token_.text == symbol;
  }

  bool accept(std::string_view symbol) {
    bool const found = at(symbol);
    if (found) advance();
    return found;
  }

  /// The present token; the next one takes its place.
  Token advance() {
    previous_ = token_;
    token_ = lexer_.next();
    return previous_;
  }

  [[noreturn]] void fail_unknown(Token const& name) const {
    refuse_operator_word(name);
    bool const called = at("(");
    Vocabulary::Hint hint = vocabulary_.hint(name.text);
    if (hint.suggestion.empty() && hint.why.empty() &&
        name.text.size() > 1) {  // one letter is near to any other
      std::vector<std::string_view> candidates = vocabulary_.function_names();
      if (!called) std::ranges::copy(vocabulary_.other_names(), std::back_inserter(candidates));
      hint.suggestion = nearest_name(name.text, candidates);
    }
    if (hint.why.empty())
      hint.why = called ? "`gridstride list functions` shows all" : vocabulary_.known_names();
    fail_at(name.position,
            fmt::format("unknown {} {}", called ? "function" : "name", quote(name.text)), hint.why,
            hint.suggestion);
  }

  [[noreturn]] void fail_arguments(Token const& name, FunctionInfo const& function,
                                   std::string_view given) const {
    fail_at(name.position,
            fmt::format("'{}' takes {}{} argument{}, here are {}", name.text, function.arguments,
                        function.or_more ? " or more" : "",
                        function.arguments == 1 && !function.or_more ? "" : "s", given),
            fmt::format("it is called as {}", function.signature));
  }

  [[noreturn]] void fail_unclosed(std::size_t opening, std::string_view left = "(",
                                  std::string_view right = ")") const {
    if (token_.kind != Token::Kind::end && !at(",") && !at(")") && !at("]")) fail_after_operand();
    fail_at(token_.position, fmt::format("a '{}' is missing", right),
            fmt::format("it would close the '{}' at character {}", left, opening + 1));
  }

  /// The present token cannot follow a complete operand.
  [[noreturn]] void fail_after_operand() const {
    if (at(")")) fail_at(token_.position, "this ')' closes nothing", "its '(' is missing");
    if (at("]")) fail_at(token_.position, "this ']' closes nothing", "its '[' is missing");
    if (at(","))
      fail_at(token_.position, "a ',' stands outside of a call",
              "a decimal point is written '.', arguments stand in parentheses");
    bool const is_name = token_.kind == Token::Kind::name;
    FunctionInfo const* const function = is_name ? vocabulary_.function(token_.text) : nullptr;
    if (function != nullptr && !lexer_.before('('))
      fail_at(token_.position, fmt::format("'{}' is a function", token_.text),
              "its arguments stand in parentheses", function->signature);
    bool const known = !is_name || function != nullptr ||
                       !vocabulary_.noun_of(token_.text, token_.position).empty();
    if (!known) refuse_operator_word(token_);
    std::string suggestion;
    bool const numbers =
        previous_.kind == Token::Kind::number && token_.kind == Token::Kind::number;
    if (known && !numbers && previous_.text.size() + token_.text.size() < 40)
      suggestion = fmt::format("{}*{}", previous_.text, token_.text);
    fail_at(token_.position,
            fmt::format("an operator is missing between {} and {}", quote(previous_.text),
                        quote(token_.text)),
            "multiplication is written out", suggestion);
  }

  Lexer lexer_;
  Vocabulary& vocabulary_;
  Token previous_, token_;
  int nesting_ = 0;
};

}  // namespace

Vocabulary::Hint Vocabulary::hint(std::string_view name) const {
  for (auto const& [foreign, ours] : foreign_names)
    if (name == foreign) return {.suggestion = std::string(ours)};
  return {};
}

Value parse(std::string_view text, Vocabulary& vocabulary) {
  if (text.size() > max_formula_bytes)
    fail_at(max_formula_bytes, fmt::format("the formula has {} bytes", text.size()),
            fmt::format("at most {}", max_formula_bytes));
  return Parser(text, vocabulary).parse();
}

void fail_too_long(std::size_t position) {
  fail_at(position, "the formula is too long",
          fmt::format("at most {} numbers, variables and operations", max_formula_nodes));
}

}  // namespace gridstride::expression
