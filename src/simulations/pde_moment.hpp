#pragma once

#include <cstddef>
#include <vector>

#include "kernels/system/system.hpp"
#include "simulations/pde_globals.hpp"

namespace gridstride::pde {

/// A system between two steps.
template <class T>
struct Moment {
  double time = 0;                               ///< s
  evaluate::DeviceClock const* clock = nullptr;  ///< in device memory: at this time
  std::vector<system::Input<T>> inputs;          ///< the state, with its sides at this time
  std::vector<T*> spare = {};  ///< an array for each component, which holds nothing now

  /// What a program makes of it, with the values over the whole grid that were found for it: its
  /// results go into the spare arrays.
  system::Step<T> evaluation(equations::StencilProgram const& program, Grid const& grid,
                             double const* found) const {
    system::Step<T> step;
    step.program = &program;
    step.grid = grid;
    step.inputs = inputs;
    step.is_stage = false;
    step.clock = clock;
    step.found = found;
    for (std::size_t r = 0; r < program.results.size(); ++r)
      step.outputs.push_back({.values = spare[r]});
    return step;
  }
};

/// The same of a rank's planes and some beside them.
template <class T>
struct MomentPlanes {
  double time = 0;
  /// Grid, piece, inputs and clock of what is evaluated; the state with its sides and names.
  system::Step<T> step = {};
  OwnPlanes own;
  std::vector<T*> spare = {};  ///< with as many planes

  system::Step<T> evaluation(equations::StencilProgram const& program, double const* found) const {
    auto evaluated = step;
    evaluated.program = &program;
    evaluated.is_stage = false;
    evaluated.found = found;
    for (std::size_t r = 0; r < program.results.size(); ++r)
      evaluated.outputs.push_back({.values = spare[r]});
    return evaluated;
  }
};

}  // namespace gridstride::pde
