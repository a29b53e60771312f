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
#include "simulations/pde_place.hpp"

namespace gridstride::pde {

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
  /// Where steps are made: on the whole grid, or from `make_in` on in another place, which lives as long
  /// as they are.
  StepPlace<T>& place() { return *place_; }
  void make_in(StepPlace<T>& place) { place_ = &place; }

  std::unique_ptr<ImplicitSteps<T>> implicit_;  ///< which steps are, where there are any

 private:
  class WholeGrid;

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
  void find_rate();
  AdaptiveSteps::Method method(int ranks);

  SlopeScheme const* slopes_;
  std::unique_ptr<StepPlace<T>> whole_;
  StepPlace<T>* place_;
  std::optional<AdaptiveSteps> adaptive_;
};

}  // namespace gridstride::pde
