#pragma once

#include <memory>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/system/system.hpp"
#include "model/state.hpp"
#include "simulations/pde_implicit.hpp"

namespace gridstride::pde {

/// Steps of a system by imex_euler and imex_bdf2, where the diffusion of each field goes by cycles of
/// multigrid. With N what is explicit, and ω the step over the one before,
///
///   imex_euler  (1/dt + κ)·u' − ∇·(D∇u') = u/dt + N
///   imex_bdf2   ((1 + 2ω)/(1 + ω)/dt + κ)·u' − ∇·(D∇u')
///                 = ((1 + ω)·u − ω²/(1 + ω)·u₋)/dt + (1 + ω)·N − ω·N₋
///
/// (D. Wang and S. J. Ruuth, J. Comput. Math. 26 (2008)). The first step, those after events and those
/// more than twice as long as the one before are those of imex_euler; each is of second order by itself.
/// Instantiated for float and double.
template <class T>
class ImplicitSteps {
 public:
  /// `evolved` has the buffers of `multigrid_scheme`; `inputs` the sides of the components.
  ImplicitSteps(Stream const& stream, config::RunConfig const& run, State<T>& state,
                std::vector<Array<T>*> evolved, std::vector<system::Input<T>> const& inputs);
  ~ImplicitSteps();

  /// The state goes on by a step, of which N is in the second buffers; values on sides are those of its
  /// end. Waits for the stream. Throws `NumericalError` where cycles do not come to the tolerance.
  void advance(double step, double time);
  /// What is known of the step before does not go on as the state does.
  void forget() { step_before_ = 0; }

  void save(CheckpointSink& sink) const;
  void load(CheckpointSource const& source);

 private:
  struct Group;
  /// u' has this weight on the left side, u and u₋ those on the right, all in 1/s; N and N₋ theirs.
  struct Weights {
    double next, now, before, rate, rate_before;
  };

  std::span<T> buffer(std::size_t component, int number);
  bool keeps_steps() const { return buffers_ > 2; }
  Weights weights_of(double step) const;
  std::span<T> right_of(std::size_t component) { return buffer(component, keeps_steps() ? 3 : 1); }
  void make_right(std::size_t component, Weights const& weights, bool is_alone);
  void prepare(Group& group, double weight);
  void solve(Group& group, double weight, double time);
  poisson::SideValues<T> side_values(int component, bool factors);

  mutable Stream stream_;
  config::RunConfig const& run_;
  State<T>& state_;
  std::vector<Array<T>*> evolved_;
  std::vector<system::Input<T>> const& inputs_;
  int buffers_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::size_t> alone_;  // components without a diffusion
  double step_before_ = 0;          // s; 0: there is none
};

}  // namespace gridstride::pde
