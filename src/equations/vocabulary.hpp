#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "equations/operators.hpp"
#include "expression/parser.hpp"

namespace gridstride::equations {

/// The fields and lets of a system. Those functions that take a position throw `ParseError`, or
/// what says that the name cannot be had yet.
class Names {
 public:
  /// What a name is, in words; empty: no such name.
  virtual std::string_view noun_of(std::string_view name) const = 0;
  virtual Ranked value_of(std::string_view name, std::size_t position) = 0;
  /// The rate of change of a component by its number.
  virtual Term rate_of(int component, std::size_t position) = 0;
  virtual std::vector<std::string_view> all() const = 0;
  /// Whether it is a field with components.
  virtual bool is_vector(std::string_view name) const = 0;

 protected:
  ~Names() = default;
};

/// Makes terms of the text of equations, with the rank of each part checked.
class EquationVocabulary final : public expression::Vocabulary,
                                 public expression::VectorVocabulary {
 public:
  using Value = expression::Value;

  EquationVocabulary(Terms& terms, int dims, expression::Symbols const& constants, Names& names)
      : terms_(terms), dims_(dims), constants_(constants), names_(names) {}

  /// What a text came to. Throws `ParseError` where a part of it is a number that is not finite, but
  /// for what an `if` with a known condition leaves out.
  Ranked const& finished(Value value) const;

  expression::FunctionInfo const* function(std::string_view name) const override;
  std::string_view noun_of(std::string_view name, std::size_t position) const override;
  Value number(double value, std::size_t position) override;
  Value named(std::string_view name, std::size_t position) override;
  Value negated(Value a, bool literal, std::size_t position) override;
  Value operation(expression::Operation operation, Value a, Value b, std::size_t position) override;
  Value call(expression::FunctionInfo const& function, std::span<Value const> arguments,
             std::size_t position) override;
  expression::VectorVocabulary* vectors() override { return this; }
  Value vector(std::span<Value const> components, std::size_t position) override;
  Value component(Value of, std::string_view name, std::size_t position) override;

  std::string known_names() const override;
  std::vector<std::string_view> function_names() const override;
  std::vector<std::string_view> other_names() const override;
  Hint hint(std::string_view name) const override;

 private:
  struct NotFinite {
    Value value;
    std::size_t position;
    double number;
  };

  Ranked const& operator[](Value value) const { return values_[static_cast<std::size_t>(value)]; }
  template <class Make>
  Value add(std::size_t begin, std::size_t position, Make make);
  Ranked each_of(int rank, Ranked const& a, Ranked const& b, expression::Operation operation);
  Ranked call_function(expression::FunctionInfo const& function, std::span<Ranked const> arguments,
                       std::size_t position);
  int rank_of_operation(expression::Operation operation, Ranked const& a, Ranked const& b,
                        std::size_t position) const;
  void leave_out(std::span<Value const> arguments, std::size_t argument);
  Hint hint_of_derivative(std::string_view name) const;

  Terms& terms_;
  int dims_;
  expression::Symbols const& constants_;
  Names& names_;
  std::vector<Ranked> values_;
  std::vector<NotFinite> not_finite_;
};

}  // namespace gridstride::equations
