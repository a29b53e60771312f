#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "kernels/support/rank_planes.hpp"
#include "kernels/system/slopes.hpp"
#include "kernels/system/system.hpp"
#include "model/scheme.hpp"

namespace gridstride::pde {

/// Where steps are made by slopes, or implicitly: on all of the grid, or on the part of it that a rank
/// has. Moments are those of stages, and arrays numbers of buffers, of which 0 is the state.
template <class T>
class StepPlace {
 public:
  virtual ~StepPlace() = default;
  /// Queues `work` for what there is of the present state: a step, or a look at it. What follows is
  /// called from there, but for `ranks` and `kept`.
  virtual void within(bool makes_step, std::function<void()> const& work) = 0;

  virtual Grid const& grid() const = 0;
  virtual T* buffer(int number, std::size_t component) = 0;
  virtual void copy_sides(std::size_t component, system::Sides<T>& to) = 0;
  /// Queues what coefficients and sides are at the moment of a stage, where they change.
  virtual void refresh(Stage const& moment) = 0;
  /// Queues the rates of a buffer, by implicit steps those of what is explicit, of components from one
  /// on.
  virtual void queue_rates(Stage const& moment, int in, int out, std::size_t first) = 0;
  /// Queues what is held on sides and follows from fields, at a part of the step.
  virtual void hold_sides(int number, double fraction) = 0;
  /// Whether the last slope of a step is right wherever the next one looks at it.
  virtual bool keeps_slopes() const = 0;
  /// As `system::worst_error`; on ranks a part for each.
  virtual void find_worst(std::vector<system::Slopes<T>> components,
                          std::span<double const> weights, system::ErrorScale scale,
                          evaluate::DeviceClock const* clock,
                          std::span<system::WorstError> parts) = 0;
  /// As `system::commit`: queues that buffer 1 is the new state, or where the attempt does not commit
  /// the old one stays.
  virtual void take(system::StepControl const* control) = 0;

  /// The array that a component's new state is made in, in place of `take`; queues that it has the old one.
  virtual T* begin_next(std::size_t component) = 0;
  /// Queues that a buffer has what stages look at beside the place's own planes.
  virtual void complete(int number) = 0;
  /// How ranks share equations; null: this process has all of them.
  virtual RankPlanes* ranks() = 0;
  /// An array of the place as those are solved in it.
  virtual std::span<T> to_solve(T* values) = 0;
  /// The place's own planes of a buffer beside the state.
  virtual std::span<T> kept(int number, std::size_t component) = 0;
};

}  // namespace gridstride::pde
