#pragma once

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

 private:
  void queue_rates(equations::StencilProgram const& rates, double const* found,
                   Moment<T> const& moment);
  double largest_rate(Moment<T> const& moment);
  bool holds(Moment<T> const& moment);

  Stream stream_;
  config::RunConfig const& run_;
  StopOptions const& options_;
  system::Prepared prepared_;           // the rates
  Buffer<reduce::Moments<T>> moments_;  // of each component's rates
  std::optional<equations::Stencil> condition_;
  std::optional<GlobalFinder<T>> globals_;  // of the condition
};

}  // namespace gridstride::pde
