#include "simulations/registry.hpp"

#include <vector>

namespace gridstride {

// One row for each simulation; `NAME_entry()` stands at the end of its file.
#define GRIDSTRIDE_SIMULATIONS(ROW) \
  ROW(advection)                    \
  ROW(convolution)                  \
  ROW(eigenvalues)                  \
  ROW(heat)                         \
  ROW(integration)                  \
  ROW(linear_system)                \
  ROW(pde)                          \
  ROW(poisson)                      \
  ROW(transform)                    \
  ROW(wave)

#define GRIDSTRIDE_DECLARE(NAME) SimulationEntry NAME##_entry();
GRIDSTRIDE_SIMULATIONS(GRIDSTRIDE_DECLARE)

std::span<SimulationEntry const> simulation_entries() {
#define GRIDSTRIDE_CALL(NAME) NAME##_entry(),
  static std::vector<SimulationEntry> const entries = {GRIDSTRIDE_SIMULATIONS(GRIDSTRIDE_CALL)};
  return entries;
}

SimulationEntry const& entry_of(config::RunConfig const& run) { return *run.simulation->entry; }

}  // namespace gridstride
