#pragma once

#include <cstddef>
#include <vector>

#include "kernels/system/system.hpp"

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

}  // namespace gridstride::pde
