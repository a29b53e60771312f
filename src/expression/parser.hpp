#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expression/expression.hpp"

namespace gridstride::expression {

/// A part of a formula by a number that its vocabulary gives.
using Value = std::int32_t;

/// What vectors in a formula's text are made into.
class VectorVocabulary {
 public:
  /// `[a, b]`
  virtual Value vector(std::span<Value const> components, std::size_t position) = 0;
  /// `v.x`; `position` is that of the component's name.
  virtual Value component(Value of, std::string_view name, std::size_t position) = 0;

 protected:
  ~VectorVocabulary() = default;
};

/// What the text of a formula may say, and what is made of it while it is read from left to right.
/// Positions count bytes from 0; each function that takes one may throw `ParseError`.
class Vocabulary {
 public:
  /// The function of that name; null: none.
  virtual FunctionInfo const* function(std::string_view name) const = 0;
  /// What a name of no function is, in a word; empty: unknown.
  virtual std::string_view noun_of(std::string_view name, std::size_t position) const = 0;

  virtual Value number(double value, std::size_t position) = 0;
  /// Of a name that is known.
  virtual Value named(std::string_view name, std::size_t position) = 0;
  /// −a; `literal`: the sign stands directly before a number or name.
  virtual Value negated(Value a, bool literal, std::size_t position) = 0;
  virtual Value operation(Operation operation, Value a, Value b, std::size_t position) = 0;
  /// Two at a time where a function takes more: min(a, b, c) is min(min(a, b), c).
  virtual Value call(FunctionInfo const& function, std::span<Value const> arguments,
                     std::size_t position) = 0;
  /// Null where formulas have none.
  virtual VectorVocabulary* vectors() { return nullptr; }

  /// For messages about names that are unknown: those that are known, in words, ...
  virtual std::string known_names() const = 0;
  /// ... candidates for suggestions ...
  virtual std::vector<std::string_view> function_names() const = 0;
  virtual std::vector<std::string_view> other_names() const = 0;
  /// ... and what other languages call something; both may be empty.
  struct Hint {
    std::string why = {};
    std::string suggestion = {};
  };
  virtual Hint hint(std::string_view name) const;

 protected:
  ~Vocabulary() = default;
};

/// Reads a formula by the grammar of `Expression::parse`, and of vectors where the vocabulary has
/// them. Throws `ParseError` with the position of the fault.
Value parse(std::string_view text, Vocabulary& vocabulary);

/// For formulas of more than `max_formula_nodes` parts.
[[noreturn]] void fail_too_long(std::size_t position);

}  // namespace gridstride::expression
