#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "expression/lexer.hpp"
#include "expression/parser.hpp"

namespace gridstride::expression {
namespace {

/// Makes the nodes of an `Expression`.
class FormulaVocabulary final : public Vocabulary {
 public:
  FormulaVocabulary(Symbols const& symbols, std::span<Variable const> variables)
      : symbols_(symbols), variables_(variables) {}

  std::vector<Node> take_nodes() { return std::move(nodes_); }
  int stack_depth() const { return deepest_; }

  FunctionInfo const* function(std::string_view name) const override {
    auto const found = std::ranges::find(functions(), name, &FunctionInfo::name);
    return found == functions().end() ? nullptr : &*found;
  }

  std::string_view noun_of(std::string_view name, std::size_t position) const override {
    if (find_variable(name) != nullptr) return "variable";
    return constant_value(name, position) ? "number" : "";
  }

  Value number(double value, std::size_t position) override {
    return emit(position, Operation::number, {-1, -1, -1}, value);
  }

  Value named(std::string_view name, std::size_t position) override {
    if (Variable const* const variable = find_variable(name))
      return emit(position, Operation::variable, {-1, -1, -1}, 0, variable->index);
    return number(*constant_value(name, position), position);
  }

  Value negated(Value a, bool literal, std::size_t position) override {
    Node& operand = nodes_[static_cast<std::size_t>(a)];
    if (!literal || operand.operation != Operation::number)
      return emit(position, Operation::negate, {a, -1, -1});
    operand.value = -operand.value;
    return a;
  }

  Value operation(Operation operation, Value a, Value b, std::size_t position) override {
    return emit(position, operation, {a, b, -1});
  }

  Value call(FunctionInfo const& function, std::span<Value const> arguments,
             std::size_t position) override {
    std::array<Value, 3> operands = {-1, -1, -1};
    std::ranges::copy(arguments, operands.begin());
    return emit(position, function.operation, operands);
  }

  std::string known_names() const override {
    std::string known = "a formula knows ";
    for (Variable const& variable : variables_) known.append(variable.name).append(", ");
    return known + "pi, e, functions and names defined for it";
  }

  std::vector<std::string_view> function_names() const override {
    std::vector<std::string_view> names;
    for (FunctionInfo const& function : functions()) names.push_back(function.name);
    return names;
  }

  std::vector<std::string_view> other_names() const override {
    std::vector<std::string_view> names;
    for (Variable const& variable : variables_) names.push_back(variable.name);
    names.insert(names.end(), {"pi", "e"});
    for (auto const& symbol : symbols_) names.push_back(symbol.first);
    return names;
  }

 private:
  Variable const* find_variable(std::string_view name) const {
    auto const found = std::ranges::find(variables_, name, &Variable::name);
    return found == variables_.end() ? nullptr : &*found;
  }

  std::optional<double> constant_value(std::string_view name, std::size_t position) const {
    if (name == "pi") return std::numbers::pi;
    if (name == "e") return std::numbers::e;
    auto const symbol = symbols_.find(name);
    if (symbol == symbols_.end()) return std::nullopt;
    if (!std::isfinite(symbol->second))
      fail_at(position, fmt::format("the value of {} is not finite", quote(name)));
    return symbol->second;
  }

  /// Appends a node; its operands must be complete.
  Value emit(std::size_t position, Operation operation, std::array<Value, 3> operands,
             double value = 0, int variable = 0) {
    if (nodes_.size() == static_cast<std::size_t>(max_formula_nodes)) fail_too_long(position);
    depth_ += 1 - operand_count(operation);
    deepest_ = std::max(deepest_, depth_);
    if (depth_ > max_stack_depth)
      fail_at(position, "the formula holds too many values at once",
              fmt::format("its evaluation may stack {}; a + (b + (c + ...)) stacks all, "
                          "a + b + c + ... two",
                          max_stack_depth));
    nodes_.push_back({operation, variable, value, operands});
    return static_cast<Value>(nodes_.size() - 1);
  }

  Symbols const& symbols_;
  std::span<Variable const> variables_;
  std::vector<Node> nodes_;
  int depth_ = 0;
  int deepest_ = 0;
};

}  // namespace

Expression Expression::parse(std::string_view text, Symbols const& symbols,
                             std::span<Variable const> variables) {
  FormulaVocabulary vocabulary(symbols, variables);
  expression::parse(text, vocabulary);
  Expression expression;
  expression.nodes_ = vocabulary.take_nodes();
  expression.stack_depth_ = vocabulary.stack_depth();
  return expression;
}

}  // namespace gridstride::expression
