#pragma once

#include <unordered_map>
#include <vector>

#include "equations/linear_part.hpp"
#include "equations/modal.hpp"
#include "equations/system.hpp"

/// What is made at the points of a system in modes, beside its steps.
namespace gridstride::equations {

/// Terms whose derivatives in space are those of modes: of fields they are arrays, of what is made of
/// fields they follow from these by the rules of calculus. Arrays are names after those of the system.
class ValuesByModes {
 public:
  /// Each rate of the system is an array too, where they are asked for: the first ones. Throws `Error`
  /// where fields and rates are more than `max_components`.
  ValuesByModes(System const& system, bool with_rates);

  /// Such a term. Throws `Error` for a derivative of random numbers, and where fields and arrays
  /// become more than `max_components`.
  Term of(Term term);
  /// The array of the rate of a component.
  Term rate(int component) { return array(component); }
  /// With the names of all arrays so far.
  System const& system() const { return system_; }
  /// How many there are, the rates included.
  int size() const { return rates_ + static_cast<int>(derivatives_.size()); }

  /// Adds the arrays to the fields that a system in modes has at the points (`ModalSystem::held`).
  void add_to(ModalSystem& modes) const;

 private:
  Term make(Node const& node, Term term);
  Term derivative(Term of, std::array<std::int8_t, 3> const& orders);
  Term first_derivative(Term of, int axis);
  Term derivative_of_leaf(Node const& leaf, int axis);
  Term array(int number) { return system_.terms.name(names_ + number); }

  System system_;
  int components_, names_, rates_;
  std::vector<Derived> derivatives_;  // of components of unknowns, then of names
  std::unordered_map<Term, Term> known_;
};

}  // namespace gridstride::equations
