// A system by differences: what is linear has symbols of its differences, all else is a stencil at
// the points.
#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "equations/linear_part.hpp"
#include "equations/modal_split_parts.hpp"

namespace gridstride::equations {
namespace {

using In = ModalError::In;

/// That of what is evaluated at the points, whatever it is there.
ContinuedSides any_like(BeyondSides const& sides) {
  ContinuedSides result = continued(sides);
  for (auto& ends : result)
    for (Continued& one : ends)
      if (one != Continued::periodic) one = Continued::any;
  return result;
}

class DifferenceSplitter {
 public:
  DifferenceSplitter(System const& system, Grid const& grid, ModalSpace const& space,
                     std::vector<BeyondSides> const& sides)
      : system_(system),
        grid_(grid),
        space_(space),
        sums_{.components = system.component_count(), .field_sides = sides} {}

  ModalSystem split(ConstraintSolution& solution) {
    refuse(In::equation, system_.rates);
    refuse(In::constraint, system_.constraints);
    std::vector<Form> constraints;
    for (std::size_t j = 0; j < system_.constraints.size(); ++j)
      constraints.push_back(form_of(system_.constraints[j], {}));
    solution = solve_constraints(system_, constraints, sums_);
    result_ = empty_system(system_, space_, sums_.field_sides);
    for (std::size_t c = 0; c < system_.rates.size(); ++c)
      add_rate(c, form_of(system_.rates[c], sums_.field_sides[c]));
    for (std::size_t k = 0; k < sums_.held.size(); ++k) add_linear(result_.held[k], sums_.held[k]);
    make_levels();
    return std::move(result_);
  }

 private:
  /// What modes take of no kind of derivatives.
  void refuse(In in, std::vector<Term> const& terms) {
    FormFinder forms(system_.terms, sums_.components);
    for (std::size_t i = 0; i < terms.size(); ++i) try {
        forms.add(terms[i]);
      } catch (Error const& error) {
        throw ModalError(in, static_cast<int>(i), error.what());
      }
  }

  /// What has modes of `sides` goes by modes: all of a constraint.
  Form form_of(Term term, std::optional<BeyondSides> const& sides) {
    auto const split = split_linear(system_.terms, term, sums_.components);
    Form form;
    Term rest = split.rest;
    for (auto const& [derived, coefficient] : split.linear) {
      auto const field = static_cast<std::size_t>(derived.component);
      if (!sides || differentiated(sums_.field_sides[field], derived.orders) == *sides)
        form.linear.emplace(derived, coefficient);
      else
        rest = system_.terms.add(rest, explicit_term(derived, coefficient));
    }
    if (!system_.terms.is_number(rest) || system_.terms[rest].value != 0) {
      form.products.emplace(DerivedProduct{rest, {}}, 1.0);
      sums_.product_sides.emplace(rest, any_like(sums_.field_sides.front()));
    }
    return form;
  }
  Term explicit_term(Derived const& derived, double coefficient) {
    auto& terms = system_.terms;
    Term const field = derived.component < sums_.components
                           ? terms.unknown(derived.component)
                           : terms.name(derived.component - sums_.components);
    return terms.multiply(terms.number(coefficient), terms.derivative(field, derived.orders));
  }

  void add_rate(std::size_t c, Form const& form) {
    rest_.push_back(sums_.sum_of(form, sums_.field_sides[c]));
    add_linear(result_.linear[c], rest_.back());
  }
  void add_linear(ModalSum& target, OperatorSum const& sum) const {
    for (auto const& [factor, what] : sum)
      if (!factor.is_product) target.push_back(part(factor.index, what, factor.denominator));
  }
  ModalPart part(int quantity, Operator const& numerator, int denominator) const {
    return {
        quantity, numerator,
        denominator < 0 ? Operator{} : sums_.denominators[static_cast<std::size_t>(denominator)]};
  }

  /// The level of each product, and of the arrays of held fields, from those of what they need.
  void find_levels() {
    product_levels_.assign(sums_.products.size(), 0);
    held_levels_.assign(sums_.held.size(), 0);
    for (std::size_t round = 0; round <= sums_.held.size(); ++round) {
      for (std::size_t k = 0; k < sums_.held.size(); ++k)
        for (auto const& [factor, what] : sums_.held[k])
          if (factor.is_product)
            held_levels_[k] = std::max(held_levels_[k],
                                       1 + product_levels_[static_cast<std::size_t>(factor.index)]);
      for (std::size_t p = 0; p < sums_.products.size(); ++p)
        for (std::size_t k = 0; k < sums_.held.size(); ++k)
          if (system_.terms.contains(sums_.products[p].term, Kind::name, static_cast<int>(k)))
            product_levels_[p] = std::max(product_levels_[p], held_levels_[k]);
    }
  }

  /// Products that rates or, where rates need none of it, held fields have.
  void make_levels() {
    if (sums_.products.empty()) return;
    find_levels();
    int const last = std::ranges::max(product_levels_);
    System points = system_;
    points.rates.clear();
    for (ModalProduct const& product : sums_.products) points.rates.push_back(product.term);
    Stencil const stencil = discretise(points, grid_, {.order = space_.order});
    result_.levels.resize(static_cast<std::size_t>(last) + 1);
    place_products(stencil);
    place_arrays();
    for (std::size_t c = 0; c < rest_.size(); ++c) add_products(result_.rest[c], rest_[c]);
    for (std::size_t k = 0; k < sums_.held.size(); ++k)
      add_products(result_.held[k], sums_.held[k]);
  }

  void place_products(Stencil const& stencil) {
    numbers_.resize(sums_.products.size());
    int count = 0;
    for (int level = 0; level < std::ssize(result_.levels); ++level) {
      std::vector<Term> results;
      auto& made = result_.levels[static_cast<std::size_t>(level)];
      for (std::size_t p = 0; p < sums_.products.size(); ++p) {
        if (product_levels_[p] != level) continue;
        numbers_[p] = count++;
        results.push_back(stencil.rates[p]);
        made.product_sides.push_back(sums_.products[p].sides);
      }
      made.program = program_of(stencil.terms, results, system_.dims);
    }
  }

  /// Arrays that programs read, in the order of their levels.
  void place_arrays() {
    std::set<int> read;
    for (ModalLevel const& level : result_.levels)
      for (Node const& node : level.program.code)
        if (node.kind == Kind::unknown) read.insert(node.index);
    std::map<int, std::int32_t> places;
    for (int level = 0; level < std::ssize(result_.levels); ++level)
      for (int const array : read) {
        auto const held = static_cast<std::size_t>(array - sums_.components);
        bool const is_held = array >= sums_.components;
        if ((is_held ? held_levels_[held] : 0) != level) continue;
        auto& target = result_.levels[static_cast<std::size_t>(level)];
        ModalSum sum;
        if (is_held) {
          add_linear(sum, sums_.held[held]);
          add_products(sum, sums_.held[held]);
        } else {
          sum.push_back({array, {{Orders{}, 1.0}}});
        }
        target.arrays.push_back(std::move(sum));
        target.array_sides.push_back(sums_.field_sides[static_cast<std::size_t>(array)]);
        places.emplace(array, static_cast<std::int32_t>(places.size()));
      }
    for (ModalLevel& level : result_.levels) {
      level.program.components = 0;
      for (Node& node : level.program.code) {
        if (node.kind != Kind::unknown) continue;
        node.index = places.at(node.index);
        level.program.components = std::max(level.program.components, node.index + 1);
      }
    }
  }

  void add_products(ModalSum& target, OperatorSum const& sum) const {
    for (auto const& [factor, what] : sum)
      if (factor.is_product)
        target.push_back(part(sums_.components + numbers_[static_cast<std::size_t>(factor.index)],
                              what, factor.denominator));
  }

  System system_;
  Grid grid_;
  ModalSpace const& space_;
  ModalSums sums_;
  std::vector<OperatorSum> rest_;
  std::vector<int> product_levels_, held_levels_;
  std::vector<int> numbers_;  // of products
  ModalSystem result_;
};

}  // namespace

ModalSystem split_differences(System const& system, Grid const& grid, ModalSpace const& space,
                              std::vector<BeyondSides> const& sides, ConstraintSolution& solution) {
  try {
    return DifferenceSplitter(system, grid, space, sides).split(solution);
  } catch (ConstraintError const& error) {
    throw ModalError(In::constraint, error.constraint, error.what());
  }
}

}  // namespace gridstride::equations
