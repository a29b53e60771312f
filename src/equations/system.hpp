#pragma once

#include <string>
#include <vector>

#include "equations/terms.hpp"

namespace gridstride::equations {

/// A field that a system evolves: a scalar, or a vector with a component for each axis.
struct Unknown {
  std::string name;
  int components = 1;
  int first = 0;  ///< the number of its first component among those of all unknowns
  bool is_vector = false;
};

/// A system of partial differential equations of first order in time, as understood: the rate of
/// change of each component of each unknown as a term.
struct System {
  int dims = 1;
  Terms terms;
  std::vector<Unknown> unknowns;
  std::vector<Term> rates;  ///< ∂/∂t of each component

  int component_count() const {
    return unknowns.empty() ? 0 : unknowns.back().first + unknowns.back().components;
  }
};

}  // namespace gridstride::equations
