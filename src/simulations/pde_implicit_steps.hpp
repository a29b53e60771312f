#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "kernels/system/slopes.hpp"
#include "kernels/system/system.hpp"
#include "model/scheme.hpp"
#include "model/state.hpp"
#include "simulations/pde_implicit_solves.hpp"
#include "simulations/pde_place.hpp"

namespace gridstride::pde {

/// How ranks put arrays of their own planes into checkpoints, each its part, and get them from there; or without
/// functions, where the first one has the whole of them.
template <class T>
struct OwnArrays {
  std::function<void(CheckpointSink&, std::string const& name, std::span<T const> own)> put = {};
  std::function<void(CheckpointSource const&, std::string const& name, std::span<T> own)> get = {};
};

/// Steps of a system where the diffusion of each field goes by cycles of multigrid.
template <class T>
class ImplicitSteps {
 public:
  virtual ~ImplicitSteps() = default;

  /// The state goes on by a step of the clock's length (s) from a time (s). Waits for the stream.
  /// Throws `NumericalError` where cycles do not come to the tolerance.
  virtual void advance(double step, double time) = 0;
  /// What is known of the step before does not go on as the state does.
  virtual void forget() {}
  /// `save`, by the first of several ranks alone, finds what there is to save. All of them call it, where it is not
  /// saved by parts.
  virtual void settle() {}
  virtual void save(CheckpointSink&, OwnArrays<T> const&) const {}
  virtual void load(CheckpointSource const&, OwnArrays<T> const&) {}

  /// As `AdaptiveSteps::Method` has them, of a scheme with an estimate of its error; others throw
  /// `std::logic_error`.
  virtual void attempt(evaluate::DeviceClock const* clock, system::ErrorScale scale,
                       std::span<system::WorstError> parts);
  virtual void find_rate(evaluate::DeviceClock const* clock, system::ErrorScale scale,
                         std::span<system::WorstError> parts);
};

/// Queues that an array of the place has what is given on the sides of a component.
template <class T>
void impose_sides(Stream& stream, StepPlace<T>& place, std::size_t component, T* values);

/// That of a run's scheme: with N what is explicit, and ω the step over the one before,
///
///   imex_euler  (1/dt + κ)·u' − ∇·(D∇u') = u/dt + N
///   imex_bdf2   ((1 + 2ω)/(1 + ω)/dt + κ)·u' − ∇·(D∇u')
///                 = ((1 + ω)·u − ω²/(1 + ω)·u₋)/dt + (1 + ω)·N − ω·N₋
///   ark3        see pde_additive_steps.hpp
///
/// (D. Wang and S. J. Ruuth, J. Comput. Math. 26 (2008)). The first step of imex_bdf2, those after
/// events and those more than twice as long as the one before are those of imex_euler; each is of second
/// order by itself. `evolved` are the components, and `place` has the buffers of
/// `multigrid_scheme`. All live as long as the steps; of several ranks all make them, and the first one
/// `gathers` for `save`. Instantiated for float and double.
template <class T>
std::unique_ptr<ImplicitSteps<T>> make_implicit_steps(Stream const& stream,
                                                      config::RunConfig const& run, State<T>& state,
                                                      std::vector<Array<T>*> const& evolved,
                                                      StepPlace<T>& place, bool gathers);

}  // namespace gridstride::pde
