#pragma once

#include <functional>
#include <map>
#include <vector>

#include "equations/modal_forms.hpp"
#include "equations/modal_sides.hpp"
#include "equations/system.hpp"

/// What products are at the points.
namespace gridstride::equations {

/// What of a form has to be brought to the points: fields and derivatives of products.
Form brought_to_points(Form const& form);

/// Reads terms as forms, finds what the products in them are made of, and then their values as
/// terms of arrays.
class PointValues {
 public:
  /// `sides`: of all components, then of fields that constraints hold.
  PointValues(System& system, std::vector<BeyondSides> const& sides);

  /// Throws `Error` for what modes do not take.
  Form read(Term root);
  /// Of each product in what was read: the forms of its operands.
  std::map<Term, std::vector<Form>> const& inputs() const { return inputs_; }
  /// How each goes on beyond the sides.
  std::map<Term, ContinuedSides> const& sides() const { return sides_; }
  /// How all parts of a form go on, whose products were read. Throws `Error` where they do not alike.
  ContinuedSides sides_of(Form const& form) const;

  /// A term of arrays, `Kind::unknown`, for what is brought to the points.
  using ValueOf = std::function<Term(Form const& brought, Terms& out)>;
  void set_values(ValueOf value) { value_of_ = std::move(value); }
  /// The value of a form whose products were read.
  Term value_of(Form const& form);
  Term one() { return out_.number(1); }
  Terms const& out() const { return out_; }

 private:
  void add_products(Form const& form);
  std::vector<Form> inputs_of(Term product);
  ContinuedSides sides_of(Term product) const;
  Term make(Term product);

  System& system_;
  std::vector<BeyondSides> field_sides_;
  FormFinder forms_;
  std::map<Term, std::vector<Form>> inputs_;
  std::map<Term, ContinuedSides> sides_;
  ValueOf value_of_;
  Terms out_;
  std::map<Term, Term> made_;
};

}  // namespace gridstride::equations
