#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "equations/terms.hpp"
#include "grid/grid.hpp"

namespace gridstride::equations {

/// A field that a system evolves: a scalar, or a vector with a component for each axis.
struct Unknown {
  std::string name;
  int components = 1;
  int first = 0;  ///< the number of its first component among those of all unknowns
  bool is_vector = false;
};

/// A name under `let` that has sides of its own, a scalar or a vector: an array that is made anew
/// for each stage, from the unknowns and the names before it.
struct SidedName {
  Unknown name;             ///< its components count among those of all names with sides
  std::vector<Term> terms;  ///< what each component stands for
};

/// What fields make of a side where something is given for a component: of kind `dirichlet` or
/// `neumann` the value, of `robin` g and a, each where it is a formula of fields at the side's points,
/// else −1.
struct SideValue {
  SideKind kind;
  int component;
  int axis;
  int end;  ///< 0 or 1
  Term value = -1;
  Term factor = -1;
};

/// A system of partial differential equations of first order in time, as understood: the rate of
/// change of each component of each unknown as a term.
struct System {
  int dims = 1;
  Terms terms;
  std::vector<Unknown> unknowns;
  std::vector<Term> rates;            ///< ∂/∂t of each component
  std::vector<SidedName> names = {};  ///< `Kind::name` in terms; each needs only those before it
  std::vector<SideValue> sides = {};  ///< those that follow from fields
  /// 0 = each: names without terms are the fields that make them hold.
  std::vector<Term> constraints = {};

  int component_count() const {
    return unknowns.empty() ? 0 : unknowns.back().first + unknowns.back().components;
  }
  int name_count() const {
    return names.empty() ? 0 : names.back().name.first + names.back().name.components;
  }
  SidedName const& name_of(int component) const {
    auto const after = std::ranges::upper_bound(
        names, component, {}, [](SidedName const& one) { return one.name.first; });
    return *std::prev(after);
  }
  /// Whether it stands for anything: a field that constraints hold does not.
  bool has_meaning(int component) const { return !name_of(component).terms.empty(); }
  /// What a component of a name with sides stands for.
  Term meaning(int component) const {
    auto const& [name, of_components] = name_of(component);
    return of_components[static_cast<std::size_t>(component - name.first)];
  }
};

}  // namespace gridstride::equations
