#pragma once

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
};

}  // namespace gridstride::pde
