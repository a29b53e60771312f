#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ranks.hpp"
#include "kernels/system/slopes.hpp"
#include "model/adaptive_steps.hpp"
#include "model/time_stepping.hpp"
#include "simulations/pde_implicit_steps.hpp"

namespace gridstride::pde {

/// A part of the grid that a rank makes steps of by their slopes.
template <class T>
class SlopePlace {
 public:
  virtual ~SlopePlace() = default;
  /// Queues `work` for the part that the rank has of the present state: a step, which `take` ends, or
  /// a look at it. What follows is called from there.
  virtual void within(bool makes_step, std::function<void()> const& work) = 0;

  virtual Grid const& grid() const = 0;
  /// The arrays of a component by their numbers, as a `SlopeScheme` has them.
  virtual T* buffer(int number, std::size_t component) = 0;
  virtual void copy_sides(std::size_t component, system::Sides<T>& to) = 0;
  /// Queues what holds on sides at the moment of a stage.
  virtual void refresh(Stage const& moment) = 0;
  /// As `SlopeStepping::queue_rates`, of components from one on.
  virtual void queue_rates(Stage const& moment, int in, int out, std::size_t first) = 0;
  /// As `system::worst_error`: a part for each rank.
  virtual void find_worst(std::vector<system::Slopes<T>> components,
                          std::span<double const> weights, system::ErrorScale scale,
                          std::span<system::WorstError> parts) = 0;
  /// As `system::commit`: queues the new state, or where the attempt does not commit the old one.
  virtual void take(system::StepControl const* control) = 0;
};

/// Steps by a `Scheme`, or by a scheme that keeps its slopes: of given lengths, or as long as the
/// error of each allows (`AdaptiveSteps`). Instantiated for float and double.
template <class T>
class SlopeStepping : public StagedStepping<T> {
  using Base = StagedStepping<T>;

 public:
  void advance(std::int64_t max_steps, double until) override;
  Clock clock() const override;
  std::vector<NamedValue> diagnostics() const override;
  double values_per_update() const override;
  void save(CheckpointSink& sink) const override;
  void load(CheckpointSource const& source) override;

 protected:
  /// Without `slopes` it is a `StagedStepping`; its scheme is `slopes->scheme` else. `control` needs
  /// slopes, or an `error_order` and implicit steps.
  SlopeStepping(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
                std::vector<Row> rows, Scheme const& scheme, SlopeScheme const* slopes,
                std::optional<ErrorControl> const& control, int error_order, StepRule rule);

  /// Queues L of the state in buffer `in` to buffer `out`, at the moment of a stage, unless the
  /// clock has no step.
  virtual void queue_rates(Stage const& moment, int in, int out) = 0;
  /// Queues what is held on sides and follows from fields, for the state in a buffer at a part of the
  /// step.
  virtual void hold_sides(int buffer, double fraction) = 0;
  /// The sides of a component.
  virtual system::Sides<T> const& sides_of(std::size_t component) const = 0;
  /// By `leapfrog` the second half of the components are the rates of the first, and what is queued
  /// for them alone are the rates of rates. The first of these components; 0 for other schemes.
  std::size_t first_rate() const { return is_leapfrog() ? this->evolved_.size() / 2 : 0; }

  void queue(std::int64_t steps) override;
  /// From now on steps are made of a part of the grid, which lives as long as they are made.
  void make_in(SlopePlace<T>& place) { place_ = &place; }

  std::unique_ptr<ImplicitSteps<T>> implicit_;  ///< which steps are, where there are any

 private:
  T* buffer_of(int number, std::size_t component);
  void copy_sides(std::size_t component, system::Sides<T>& to) const;
  void refresh(Stage const& moment);
  void find_rates(Stage const& moment, int in, int out);
  bool is_leapfrog() const { return slopes_ != nullptr && slopes_->error.empty(); }
  void queue_stages(bool has_first_slope);
  void queue_leapfrog(bool has_first_slope);
  std::vector<system::Slopes<T>> slopes_of(std::vector<double> const& weights,
                                           std::vector<double>& given);
  /// What they combine to is the state at a part of the step.
  void combine(std::vector<double> const& weights, double fraction);
  system::ErrorScale error_scale() const;
  void find_error(std::vector<double> const& weights, bool of_state);
  void attempt(bool has_first_slope);
  void commit(system::StepControl const* control);
  void find_rate();
  AdaptiveSteps::Method method(int ranks);

  SlopeScheme const* slopes_;
  SlopePlace<T>* place_ = nullptr;  // where it is not the whole grid
  std::optional<AdaptiveSteps> adaptive_;
};

}  // namespace gridstride::pde
