#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "equations/modal_forms.hpp"
#include "equations/modal_sides.hpp"

/// Sums in modes: what fields that constraints hold are of the unknowns and of products.
namespace gridstride::equations {

/// A product as it goes on beyond sides.
struct ModalProduct {
  Term term = -1;
  BeyondSides sides = {};
  auto operator<=>(ModalProduct const&) const = default;
};

/// What an operator acts on: a component of the unknowns, or number `index` of `ModalSums::products`,
/// over number `denominator` of `ModalSums::denominators`.
struct ModalFactor {
  bool is_product = false;
  int index = 0;
  int denominator = -1;  ///< none
  auto operator<=>(ModalFactor const&) const = default;
};
using OperatorSum = std::map<ModalFactor, Operator>;

/// Makes sums of forms.
struct ModalSums {
  int components = 0;
  std::vector<BeyondSides> field_sides = {};  ///< of the unknowns' components, then of held fields
  std::map<Term, ContinuedSides> product_sides = {};
  std::vector<ModalProduct> products = {};
  std::vector<Operator> denominators = {};
  std::vector<OperatorSum> held = {};  ///< of each held field that is known

  int product(ModalProduct const& one);
  int denominator(Operator const& one);
  /// Fields that constraints hold have their sums in the place. Throws `Error` for what does not go
  /// on as these sides do.
  OperatorSum sum_of(Form const& form, BeyondSides const& sides);
};

/// sum += factor·∂^orders(other)
void add_to(OperatorSum& sum, OperatorSum const& other, double factor, Orders const& orders);
/// Operator on all parts.
OperatorSum multiplied(OperatorSum const& sum, Operator const& by);

/// What a system's constraints, 0 = each, make of the fields that they hold: in `sums.held`. Names
/// that need each other are found together by Cramer's rule.
struct ConstraintSolution {
  /// Of each block of constraints what the fields in it are over, and which constraints it has.
  struct Block {
    Operator determinant;
    std::vector<int> fields;
    std::vector<int> constraints;
  };
  std::vector<Block> blocks;
};

/// A constraint that cannot be solved.
class ConstraintError : public Error {
 public:
  ConstraintError(int which, std::string const& what) : Error(what), constraint(which) {}
  int constraint;
};

/// `forms` are those of the constraints. Throws `ConstraintError`.
ConstraintSolution solve_constraints(System const& system, std::vector<Form> const& forms,
                                     ModalSums& sums);

}  // namespace gridstride::equations
