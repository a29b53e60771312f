#pragma once

#include <map>
#include <vector>

#include "model/own_values.hpp"
#include "model/simulation.hpp"
#include "simulations/pde_parts.hpp"
#include "simulations/pde_schemes.hpp"

namespace gridstride::pde {

/// Calls `use(source, targets)` for first values that are formulas or files, and the arrays of a window's state.
template <class T, class Use>
void for_each_given(config::RunConfig const& run, Window<T> const& window, Use const& use) {
  for (equations::Unknown const& unknown : system_of(run).unknowns)
    if (!is_read(run, unknown.name))
      use(run.initial.at(unknown.name),
          Targets<T>(window.in).subspan(static_cast<std::size_t>(unknown.first),
                                        static_cast<std::size_t>(unknown.components)));
}

/// What the first of several ranks finds of first values before the others make steps with it: in the parts
/// of all of them, one after the other, so that it has one of them at a time and never the whole. First values
/// are formulas or files (`fill_brick`), or made of these with as many planes more beside the part as that looks at.
/// Instantiated for float and double.
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
  void turn_around(Window<T> const& window);

  PartsOf<T> parts_;
  std::vector<system::Input<T>> inputs_;
  equations::Stencil stencil_;
  Inputs const& files_;
  std::vector<FirstValues> made_;
  std::map<StabilityFinder<T> const*, std::vector<system::Extremes>> found_;
};

}  // namespace gridstride::pde
