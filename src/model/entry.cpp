#include "model/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/error.hpp"

namespace gridstride {

MemoryForecast memory_of(SimulationEntry const& entry, config::RunConfig const& run,
                         Inputs const& inputs, Backend backend) {
  return entry.rows ? forecast(run, entry.rows(run, backend)) : entry.memory(run, inputs, backend);
}

/// What a family throws begins with its name: "stencil: ...".
std::vector<Problem> variant_problems(SimulationEntry const& entry, config::RunConfig const& run,
                                      Inputs const& inputs, Device const& device) {
  if (!entry.choose_kernels) return {};
  try {
    entry.choose_kernels(run, inputs, device);
  } catch (std::invalid_argument const& refusal) {
    std::string const text = refusal.what();
    std::string const family = text.substr(0, text.find(": "));
    return {run.problem(run.location(fmt::format("kernels.{}", family)),
                        text.substr(std::min(family.size() + 2, text.size())))};
  }
  return {};
}

std::vector<Problem> fused_steps_problems(config::RunConfig const& run, int most,
                                          std::string const& where) {
  if (run.fused_steps.value_or(1) <= most) return {};
  return {run.problem(
      run.location("kernels.fused_steps"),
      fmt::format("'{}' is out of range (must be <= {} {})", *run.fused_steps, most, where))};
}

}  // namespace gridstride
