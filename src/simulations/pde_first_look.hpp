#pragma once

#include <map>
#include <vector>

#include "model/simulation.hpp"
#include "simulations/pde_parts.hpp"

namespace gridstride::pde {

/// What the first of several ranks finds of first values before the others make steps with it: in the parts
/// of all of them, one after the other, so that it has one of them at a time and never the whole. First values
/// are formulas or files, see `fill_brick`. Instantiated for float and double.
template <class T>
class FirstLook {
 public:
  /// `parts` and what it names outlive it; inputs are those of the whole, see `SystemParts`.
  FirstLook(PartsOf<T> const& parts, std::vector<system::Input<T>> inputs,
            equations::Stencil stencil, Inputs const& files);

  /// What `finder` is to find with; what it found at present is kept.
  typename StabilityFinder<T>::Look of(StabilityFinder<T>& finder);

 private:
  std::vector<system::Extremes> find(StabilityFinder<T>& finder, Ahead const& ahead);
  std::vector<system::Extremes> find_in(int rank, StabilityFinder<T>& finder, Ahead const& ahead);

  PartsOf<T> parts_;
  std::vector<system::Input<T>> inputs_;
  equations::Stencil stencil_;
  Inputs const& files_;
  std::map<StabilityFinder<T> const*, std::vector<system::Extremes>> found_;
};

}  // namespace gridstride::pde
