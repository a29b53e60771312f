#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "kernels/system/march.hpp"
#include "model/scheme.hpp"
#include "simulations/pde_global_passes.hpp"

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
/// The programs of its values over the whole grid.
std::vector<equations::StencilProgram> operand_programs(equations::Stencil const& stencil,
                                                        int dims);

/// What steps of a run are made of as passes.
struct PassSystem {
  system::Marched what;
  std::vector<equations::StencilProgram> operands;
  Wraps wraps;
};
PassSystem pass_system(config::RunConfig const& run, equations::StencilProgram const& program,
                       Scheme const& scheme);

/// When passes of fewer steps than the longest have are compiled: when they are first needed, or from the
/// beginning, by threads beside this one.
enum class ShorterPasses { when_needed, from_beginning };

/// Passes of several lengths; of steps that look at values over the whole grid those of `GlobalPasses`.
template <class T>
class Passes {
 public:
  /// The longest. Throws as `system::March` does.
  Passes(Stream const& stream, PassSystem const& system,
         ShorterPasses shorter = ShorterPasses::when_needed);

  /// Steps of the longest, and of the longest that is no longer than `steps`.
  int longest() const { return numbers_ ? 1 : longest_->steps(); }
  int within(std::int64_t steps) { return numbers_ ? 1 : march_within(steps).steps(); }

  /// How often a pass, or a step of several, reads the state.
  int reads() const { return numbers_ ? numbers_->passes_of_step() : 1; }

  /// What is queued next begins with a state that no pass has left.
  void begin() { is_first_ = true; }
  /// Queues `within(steps)` steps of a part, of which numbers are found of a rank's `own` planes.
  void queue(Stream& stream, system::PassArrays<T> const& arrays, std::int64_t steps, double dt,
             evaluate::DeviceClock const* clock, system::MarchPart const& part,
             std::optional<OwnPlanes> const& own = {});

 private:
  system::March<T> const& march_within(std::int64_t steps);
  void compile_within(int steps, std::launch when);

  Device device_;
  system::Marched what_;
  std::optional<system::March<T>> longest_;
  std::map<int, std::shared_future<system::March<T>>> shorter_;  // of so many steps at most
  std::optional<GlobalPasses<T>> numbers_;
  bool is_first_ = true;
};

}  // namespace gridstride::pde
