#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "equations/discretise.hpp"
#include "kernels/reduce/reduce.hpp"
#include "simulations/pde_events_sections.hpp"
#include "simulations/pde_globals.hpp"
#include "simulations/pde_moment.hpp"

namespace gridstride::pde {

/// Steps from one test to the next, counted from the start of the run.
inline constexpr std::int64_t steps_between_tests = 32;

/// The condition that a run ends by, where there is one: a term of global values and the time.
/// Throws `Error` for what has no differences.
equations::Stencil condition_stencil(config::RunConfig const& run);

/// Whether a run ends before its time, by `stop`. Instantiated for float and double.
template <class T>
class StopTest {
 public:
  StopTest(Stream const& stream, config::RunConfig const& run);

  /// Whether there is anything to test.
  bool is_asked_for() const { return options_.steady || options_.condition >= 0; }
  /// Why the run ends at this moment, in words; empty where it goes on. `rates` gives those of all
  /// components, with the global values in them that were `found`. Waits for the device. Throws
  /// `NumericalError` for what is not finite.
  std::string reason(equations::StencilProgram const& rates, double const* found,
                     Moment<T> const& moment);
  /// The same by all ranks, of which each has some planes of the moment. All have the same reason, or
  /// throw the same.
  std::string reason(equations::StencilProgram const& rates, double const* found,
                     MomentPlanes<T> const& moment);

 private:
  std::string reason_of(double time, std::function<double()> const& largest_rate,
                        std::function<void()> const& find_values);
  void queue_rates(system::Step<T> step, Planes const& own, std::int64_t first);
  double largest_rate(std::size_t components, double time, std::int64_t before, bool by_ranks);
  bool holds(double time);

  Stream stream_;
  config::RunConfig const& run_;
  StopOptions const& options_;
  system::Prepared prepared_;           // the rates
  Buffer<reduce::Moments<T>> moments_;  // of each component's rates
  std::optional<equations::Stencil> condition_;
  std::optional<GlobalFinder<T>> globals_;  // of the condition
};

}  // namespace gridstride::pde
