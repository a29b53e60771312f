#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "core/graph.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/reduce/reduce.hpp"
#include "model/step_clock.hpp"
#include "model/sweep_plan.hpp"
#include "simulations/advection_parameters.hpp"

namespace gridstride::advection {

/// Chooses the steps of an advection whose velocity depends on time, and knows how fast it is.
///
/// Before up to 32 steps it evaluates the velocity at all points and at every time that their
/// stages take it at, in the precision of the run, where the run computes, and takes the largest
/// values by `reduce`. So no stage is over the limit of stability. That goes on a stream of its
/// own, beside the steps before, and what is waited for is one copy of a few numbers.
///
/// `auto` looks at 16 more times that no step has, so that what happens between the stages counts
/// too, and takes `safety` of `limit_of_auto`. The speeds are rounded up to steps of 2^(1/8), so that
/// the time step is the same for a while. Instantiated for float and double.
template <class T>
class LookAhead {
 public:
  /// With points of its `own`, it looks at these, and knows from the other ranks what is at theirs.
  LookAhead(config::RunConfig const& run, Inputs const& inputs, Device const& device,
            std::optional<Brick> const& own = {});

  /// A `StepRule`: up to 32 steps. Throws `NumericalError` for a velocity that is not finite, and
  /// where a step that the config gives is over the limit.
  StepPlan plan(double time, double until);
  /// At least every |v| along the axes at the stages of the planned steps (m/s).
  std::array<double, 3> const& speeds() const { return speeds_; }
  /// The same before any are planned: from time 0 on, for as long as the first step may last.
  std::array<double, 3> const& first_speeds() const { return first_speeds_; }

  void save(CheckpointSink& sink) const;
  void load(CheckpointSource const& source);

 private:
  struct Component {
    int axis;
    evaluate::Program program;
  };

  void begin(double step);
  StepPlan follow(double time, double until);
  StepPlan keep(double time, double until);
  void sample(double time, StepPlan const& plan);
  void require_finite();
  void queue_samples();
  void queue(Component const& component, double time, std::size_t place);
  void fetch(std::size_t count);
  /// Whether ranks cut an axis.
  bool is_cut(int axis) const;
  Grid part_of(std::array<Planes, 3> const& extents) const;
  std::vector<Grid> all_parts() const;
  std::array<double, 3> speeds_at(std::size_t sample) const;
  std::array<double, 3> largest_speeds() const;
  std::string describe(Component const& component, double time);
  [[noreturn]] void refuse(std::size_t sample);

  Stream stream_;
  Grid grid_;
  std::optional<Brick> own_;  // of several ranks
  Grid part_;                 // of the grid, that this process looks at
  FluxScheme const& scheme_;
  std::string reduce_variant_;
  std::optional<double> step_;  // that the config gives (s)
  double safety_;
  double longest_;  // step (s)
  std::array<double, 3> speeds_ = {}, first_speeds_ = {};
  std::array<double, 3> steady_speeds_ = {};  // of components that do not depend on time
  std::vector<Component> components_;         // the others
  std::vector<double> times_;                 // of the samples, in steps
  Graph graph_;                               // the samples of as many steps as there may be
  evaluate::DeviceClock samples_clock_;
  Buffer<evaluate::DeviceClock> clock_;
  Buffer<T> values_;
  Buffer<reduce::Moments<T>> moments_;  // of the components, sample after sample
  std::vector<reduce::Moments<T>> found_;
};

}  // namespace gridstride::advection
