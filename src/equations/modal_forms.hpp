#pragma once

#include <compare>
#include <map>
#include <unordered_map>
#include <vector>

#include "equations/linear_part.hpp"
#include "equations/modal_operators.hpp"
#include "equations/system.hpp"

/// Terms as sums of derivatives, for modes.
namespace gridstride::equations {

/// Derivatives of what is made at the points.
struct DerivedProduct {
  Term product = -1;
  Orders orders = {};
  auto operator<=>(DerivedProduct const&) const = default;
};

/// A term as Σ coefficient·∂^orders field + Σ coefficient·∂^orders product. Fields are the
/// components of the unknowns, then those of names; products are made at the points, from sums of
/// this kind, and formulas of space and time.
struct Form {
  std::map<Derived, double> linear;
  std::map<DerivedProduct, double> products;

  /// Whether it is this product, as it is.
  bool is(Term product) const;
};

/// The most products that a sum may have.
inline constexpr std::size_t max_products = 256;

/// Finds forms by the rules of sums; formulas of space are differentiated as calculus has it.
/// Throws `Error` for what modes do not take: values over the whole grid, noise, fluxes that are
/// given on sides.
class FormFinder {
 public:
  FormFinder(Terms& terms, int components) : terms_(terms), components_(components) {}

  /// Finds those of a term and of everything that it is made of.
  void add(Term root);
  /// Of such a term.
  Form const& of(Term term) const { return forms_.at(term); }
  Form derivative(Form const& of, Orders const& orders);

 private:
  Form find(Node const& node, Term term);
  Form of_operation(Node const& node, Term term);
  Form of_product(Node const& node);
  Term without_factor(Term term, double& factor) const;

  Terms& terms_;
  int components_;
  std::unordered_map<Term, Form> forms_;
};

/// sum += factor·other
void add_to(Form& sum, Form const& other, double factor);

}  // namespace gridstride::equations
