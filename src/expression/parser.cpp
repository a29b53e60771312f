#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "core/text.hpp"
#include "expression/expression.hpp"

namespace gridstride::expression {
namespace {

struct Token {
  enum class Kind { number, name, symbol, end };
  Kind kind = Kind::end;
  std::string_view text;
  std::size_t position = 0;
  double value = 0;  ///< of a number
};

/// Throws `<problem> (<why>); did you mean '<suggestion>'?`; the last two may be empty.
[[noreturn]] void fail(std::size_t position, std::string message, std::string_view why = {},
                       std::string_view suggestion = {}) {
  if (!why.empty()) message += fmt::format(" ({})", why);
  if (!suggestion.empty()) message += fmt::format("; did you mean '{}'?", suggestion);
  throw ParseError(message, position);
}

/// Text from the user, cut to a length that a message can hold.
std::string quote(std::string_view text) {
  constexpr std::size_t longest = 40;
  return text.size() <= longest ? fmt::format("'{}'", text)
                                : fmt::format("'{}...'", text.substr(0, longest));
}

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

/// Words of other languages that join conditions.
constexpr ForeignSign foreign_operators[] = {
    {"and", "conditions are 0 or 1: both hold where their product is 1", "*"},
    {"or", "conditions are 0 or 1: one holds where the larger of them is 1", "max"},
    {"not", "a condition c does not hold where c == 0", ""},
};

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

/// Splits text into tokens.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
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
    for (std::string_view const symbol : {"<=", ">=", "==", "!="})
      if (rest.starts_with(symbol)) return take(Token::Kind::symbol, 2);
    for (ForeignSign const& sign : foreign_signs)
      if (rest.starts_with(sign.text))
        fail(position_, fmt::format("'{}' is not used in formulas", sign.text), sign.why,
             sign.suggestion);
    if (std::string_view("+-*/^()<>,").find(rest[0]) != std::string_view::npos)
      return take(Token::Kind::symbol, 1);
    refuse(rest[0]);
  }

  /// Whether the next token begins with this character.
  bool before(char c) const {
    std::size_t const next = text_.find_first_not_of(" \t\n\r", position_);
    return next != std::string_view::npos && text_[next] == c;
  }

 private:
  Token take(Token::Kind kind, std::size_t length, double value = 0) {
    Token const token{kind, text_.substr(position_, length), position_, value};
    position_ += length;
    return token;
  }

  Token number(std::string_view rest) {
    double value = 0;
    auto const [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    auto const length = static_cast<std::size_t>(end - rest.data());
    if (status != std::errc())
      fail(position_, fmt::format("the number {} is out of range", quote(rest.substr(0, length))),
           "float64 holds 5e-324 to 1.8e308");
    return take(Token::Kind::number, length, value);
  }

  [[noreturn]] void refuse(char c) const {
    auto const byte = static_cast<unsigned char>(c);
    if (byte >= 0x80)
      fail(position_, fmt::format("the byte 0x{:02X} is not ASCII", byte),
           "formulas are plain ASCII");
    if (byte < 0x20 || byte == 0x7F)
      fail(position_, fmt::format("the control character 0x{:02X} is not used in formulas", byte));
    if (c == '.') fail(position_, "a point without digits", "a number is written 1.5, 1. or .5");
    fail(position_, fmt::format("'{}' is not used in formulas", c));
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

/// Recursive descent; emits each node after its operands.
class Parser {
 public:
  Parser(std::string_view text, Symbols const& symbols, std::span<Variable const> variables)
      : lexer_(text), symbols_(symbols), variables_(variables) {
    token_ = lexer_.next();
  }

  std::vector<Node> parse() {
    if (token_.kind == Token::Kind::end) fail(0, "the formula is empty", "0 is written '0'");
    parse_comparison();
    if (token_.kind != Token::Kind::end) fail_after_operand();
    return std::move(nodes_);
  }

  int stack_depth() const { return deepest_; }

 private:
  using Index = std::int32_t;

  Index parse_comparison() {
    Index const left = parse_sum();
    std::optional<Operation> const operation = comparison();
    if (!operation) return left;
    std::size_t const position = advance().position;
    Index const right = parse_sum();
    if (comparison())
      fail(token_.position, "comparisons do not chain",
           "a < b < c would compare the 0 or 1 of a < b with c", "(a < b)*(b < c)");
    return emit(position, *operation, {left, right, -1});
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

  Index parse_sum() {
    Index left = parse_product();
    while (at("+") || at("-")) {
      Operation const operation = at("+") ? Operation::add : Operation::subtract;
      std::size_t const position = advance().position;
      Index const right = parse_product();
      left = emit(position, operation, {left, right, -1});
    }
    return left;
  }

  Index parse_product() {
    Index left = parse_unary();
    while (at("*") || at("/")) {
      Operation const operation = at("*") ? Operation::multiply : Operation::divide;
      std::size_t const position = advance().position;
      Index const right = parse_unary();
      left = emit(position, operation, {left, right, -1});
    }
    return left;
  }

  /// Every way to nest passes through here, so this bounds the recursion.
  Index parse_unary() {
    if (nesting_ > max_formula_nesting)
      fail(token_.position, "the formula is nested too deeply",
           fmt::format("at most {} levels", max_formula_nesting));
    ++nesting_;
    Index const node = at("-") ? parse_negation() : at("+") ? parse_plus() : parse_power();
    --nesting_;
    return node;
  }

  Index parse_plus() {
    advance();
    return parse_unary();
  }

  /// A sign directly before a number belongs to it, unless a power follows: -x^2 is -(x^2).
  Index parse_negation() {
    std::size_t const position = advance().position;
    bool const before_literal =
        token_.kind == Token::Kind::number || token_.kind == Token::Kind::name;
    Index const operand = parse_unary();
    if (before_literal && nodes_[operand].operation == Operation::number) {
      nodes_[operand].value = -nodes_[operand].value;
      return operand;
    }
    return emit(position, Operation::negate, {operand, -1, -1});
  }

  Index parse_power() {
    Index const base = parse_primary();
    if (!at("^")) return base;
    std::size_t const position = advance().position;
    Index const exponent = parse_unary();
    return emit(position, Operation::power, {base, exponent, -1});
  }

  Index parse_primary() {
    if (token_.kind == Token::Kind::number) {
      Token const number = advance();
      return emit(number.position, Operation::number, {-1, -1, -1}, number.value);
    }
    if (token_.kind == Token::Kind::name) return parse_name();
    if (at("(")) {
      std::size_t const opening = advance().position;
      if (at(")")) fail(opening, "the parentheses are empty", "a value is expected in them");
      Index const node = parse_comparison();
      if (!at(")")) fail_unclosed(opening);
      advance();
      return node;
    }
    if (token_.kind == Token::Kind::end)
      fail(token_.position, fmt::format("the formula ends after '{}'", previous_.text),
           "a value is expected");
    fail(token_.position, fmt::format("a value is expected before '{}'", token_.text),
         previous_.text.empty() ? std::string()
                                : fmt::format("it follows {}", quote(previous_.text)));
  }

  Index parse_name() {
    Token const name = advance();
    auto const function = std::ranges::find(functions(), name.text, &FunctionInfo::name);
    if (function != functions().end()) return parse_call(name, *function);

    auto const variable = std::ranges::find(variables_, name.text, &Variable::name);
    bool const is_variable = variable != variables_.end();
    std::optional<double> const constant = is_variable ? std::nullopt : constant_value(name);
    if (!is_variable && !constant) fail_unknown(name);
    if (at("("))
      fail(name.position,
           fmt::format("{} is a {}, not a function", quote(name.text),
                       is_variable ? "variable" : "number"),
           "multiplication is written out", fmt::format("{}*(", name.text));
    if (constant) return emit(name.position, Operation::number, {-1, -1, -1}, *constant);
    return emit(name.position, Operation::variable, {-1, -1, -1}, 0, variable->index);
  }

  std::optional<double> constant_value(Token const& name) const {
    if (name.text == "pi") return std::numbers::pi;
    if (name.text == "e") return std::numbers::e;
    auto const symbol = symbols_.find(name.text);
    if (symbol == symbols_.end()) return std::nullopt;
    if (!std::isfinite(symbol->second))
      fail(name.position, fmt::format("the value of {} is not finite", quote(name.text)));
    return symbol->second;
  }

  Index parse_call(Token const& name, FunctionInfo const& function) {
    if (!at("(")) {
      bool const before_value =
          token_.kind == Token::Kind::number || token_.kind == Token::Kind::name;
      fail(name.position, fmt::format("'{}' is a function", name.text),
           "its arguments stand in parentheses",
           before_value && function.arguments == 1 && token_.text.size() < 40
               ? fmt::format("{}({})", name.text, token_.text)
               : std::string(function.signature));
    }
    std::size_t const opening = advance().position;
    std::array<Index, 3> operands = {-1, -1, -1};
    int count = 0;
    for (bool more = !at(")"); more; more = accept(",")) {
      if (count == function.arguments && !function.or_more) fail_arguments(name, function, "more");
      if (count == function.arguments) {  // min(a, b, c) is min(min(a, b), c)
        operands[0] = emit(name.position, function.operation, operands);
        --count;
      }
      operands[static_cast<std::size_t>(count++)] = parse_comparison();
    }
    if (!at(")")) fail_unclosed(opening);
    advance();
    if (count < function.arguments)
      fail_arguments(name, function, count == 0 ? "none" : fmt::format("only {}", count));
    return emit(name.position, function.operation, operands);
  }

  /// Appends a node; its operands must be complete.
  Index emit(std::size_t position, Operation operation, std::array<Index, 3> operands,
             double value = 0, int variable = 0) {
    if (nodes_.size() == static_cast<std::size_t>(max_formula_nodes))
      fail(position, "the formula is too long",
           fmt::format("at most {} numbers, variables and operations", max_formula_nodes));
    depth_ += 1 - operand_count(operation);
    deepest_ = std::max(deepest_, depth_);
    if (depth_ > max_stack_depth)
      fail(position, "the formula holds too many values at once",
           fmt::format("its evaluation may stack {}; a + (b + (c + ...)) stacks all, "
                       "a + b + c + ... two",
                       max_stack_depth));
    nodes_.push_back({operation, variable, value, operands});
    return static_cast<Index>(nodes_.size() - 1);
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

  static void refuse_operator_word(Token const& word) {
    for (ForeignSign const& sign : foreign_operators)
      if (to_lower(word.text) == sign.text)
        fail(word.position, fmt::format("'{}' is not used in formulas", word.text), sign.why,
             sign.suggestion);
  }

  [[noreturn]] void fail_unknown(Token const& name) const {
    refuse_operator_word(name);
    bool const called = at("(");
    std::string_view suggestion;
    for (auto const& [foreign, ours] : foreign_names)
      if (name.text == foreign) suggestion = ours;
    if (suggestion.empty() && name.text.size() > 1) {  // one letter is near to any other
      std::vector<std::string_view> candidates;
      for (FunctionInfo const& function : functions()) candidates.push_back(function.name);
      if (!called) {
        for (Variable const& variable : variables_) candidates.push_back(variable.name);
        candidates.insert(candidates.end(), {"pi", "e"});
        for (auto const& symbol : symbols_) candidates.push_back(symbol.first);
      }
      suggestion = nearest_name(name.text, candidates);
    }
    std::string known = "a formula knows ";
    for (Variable const& variable : variables_) known.append(variable.name).append(", ");
    fail(name.position,
         fmt::format("unknown {} {}", called ? "function" : "name", quote(name.text)),
         called ? "`gridstride list functions` shows all"
                : known + "pi, e, functions and names defined for it",
         suggestion);
  }

  [[noreturn]] void fail_arguments(Token const& name, FunctionInfo const& function,
                                   std::string_view given) const {
    fail(name.position,
         fmt::format("'{}' takes {}{} argument{}, here are {}", name.text, function.arguments,
                     function.or_more ? " or more" : "",
                     function.arguments == 1 && !function.or_more ? "" : "s", given),
         fmt::format("it is called as {}", function.signature));
  }

  [[noreturn]] void fail_unclosed(std::size_t opening) const {
    if (token_.kind != Token::Kind::end && !at(",")) fail_after_operand();
    fail(token_.position, "a ')' is missing",
         fmt::format("it would close the '(' at character {}", opening + 1));
  }

  /// The present token cannot follow a complete operand.
  [[noreturn]] void fail_after_operand() const {
    if (at(")")) fail(token_.position, "this ')' closes nothing", "its '(' is missing");
    if (at(","))
      fail(token_.position, "a ',' stands outside of a call",
           "a decimal point is written '.', arguments stand in parentheses");
    auto const function = std::ranges::find(functions(), token_.text, &FunctionInfo::name);
    bool const between_values = function != functions().end() && !lexer_.before('(');
    if (between_values)
      fail(token_.position, fmt::format("'{}' is a function", token_.text),
           "its arguments stand in parentheses", function->signature);
    bool const known =
        token_.kind != Token::Kind::name || function != functions().end() ||
        std::ranges::find(variables_, token_.text, &Variable::name) != variables_.end() ||
        constant_value(token_);
    if (!known) refuse_operator_word(token_);
    std::string suggestion;
    bool const numbers =
        previous_.kind == Token::Kind::number && token_.kind == Token::Kind::number;
    if (known && !numbers && previous_.text.size() + token_.text.size() < 40)
      suggestion = fmt::format("{}*{}", previous_.text, token_.text);
    fail(token_.position,
         fmt::format("an operator is missing between {} and {}", quote(previous_.text),
                     quote(token_.text)),
         "multiplication is written out", suggestion);
  }

  Lexer lexer_;
  Symbols const& symbols_;
  std::span<Variable const> variables_;
  Token previous_, token_;
  std::vector<Node> nodes_;
  int nesting_ = 0;
  int depth_ = 0;
  int deepest_ = 0;
};

}  // namespace

Expression Expression::parse(std::string_view text, Symbols const& symbols,
                             std::span<Variable const> variables) {
  if (text.size() > max_formula_bytes)
    fail(max_formula_bytes, fmt::format("the formula has {} bytes", text.size()),
         fmt::format("at most {}", max_formula_bytes));
  Parser parser(text, symbols, variables);
  Expression expression;
  expression.nodes_ = parser.parse();
  expression.stack_depth_ = parser.stack_depth();
  return expression;
}

}  // namespace gridstride::expression
