#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "kernels/system/march.hpp"
#include "model/scheme.hpp"

/// Steps of a system in passes of several, by the row `march` of family `system`.
namespace gridstride::pde {

/// The stages of a scheme as a pass takes them. Throws `std::invalid_argument` for a scheme whose
/// stages do not each go on from the one before.
std::vector<system::PassStage> pass_stages(Scheme const& scheme);

/// The same scheme where a pass has all stages: from the one of two buffers to the other.
Scheme in_one_pass(Scheme const& scheme);

/// What passes of a run would advance.
system::Marched marched(config::RunConfig const& run, equations::StencilProgram const& program,
                        Scheme const& scheme);

/// Passes of several lengths, compiled when they are first needed.
template <class T>
class Passes {
 public:
  /// The longest. Throws as `system::March` does.
  Passes(Device const& device, system::Marched const& what);

  int longest() const { return lengths_.begin()->second.steps(); }
  /// The longest that is no longer than `steps`.
  system::March<T> const& within(std::int64_t steps);

 private:
  Device device_;
  system::Marched what_;
  std::map<int, system::March<T>> lengths_;
};

}  // namespace gridstride::pde
