#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/support/rank_pieces.hpp"
#include "simulations/pde_parts.hpp"
#include "simulations/pde_place.hpp"

namespace gridstride::pde {

/// Steps of a rank's parts by slopes, or implicitly, too. By slopes all stages are found at all planes of a part: what is wrong
/// at its ends, from each stage on within one reach more, has not come to the rank's own planes in the
/// end. Implicit ones have exchanges between stages. Instantiated for float and double.
template <class T>
class SlopeParts final : public SystemParts<T>, public StepPlace<T> {
  using Base = SystemParts<T>;
  using Base::of_, Base::planes_;

 public:
  /// As `SystemParts`; `steps` outlive it.
  SlopeParts(PartsOf<T> const& of, std::vector<system::Input<T>> inputs,
             equations::Stencil const& stencil, WindowSteps<T>& steps);

  void within(bool makes_step, std::function<void()> const& work) override;
  Grid const& grid() const override { return part_->grid; }
  T* buffer(int number, std::size_t component) override;
  void copy_sides(std::size_t component, system::Sides<T>& to) override;
  void refresh(Stage const& moment) override { this->refresh_sides(moment); }
  void queue_rates(Stage const& moment, int in, int out, std::size_t first) override;
  /// What follows from fields is refused.
  void hold_sides(int, double) override {}
  bool keeps_slopes() const override { return false; }
  void find_worst(std::vector<system::Slopes<T>> components, std::span<double const> weights,
                  system::ErrorScale scale, evaluate::DeviceClock const* clock,
                  std::span<system::WorstError> parts) override;
  void take(system::StepControl const* control) override;
  T* begin_next(std::size_t component) override;
  void complete(int number) override;
  RankPlanes* ranks() override { return planes_.get(); }
  std::span<T> to_solve(T* values) override;
  std::span<T> kept(int number, std::size_t component) override;

 private:
  Planes own() const { return of_.plan.owned_by(gridstride::ranks().rank()); }
  std::int64_t line() const { return of_.plan.shape.plane_values(); }
  std::int64_t values_before_own() const { return (own().lower - part_->first) * line(); }
  std::int64_t own_values() const { return own().count() * line(); }

  WindowSteps<T>& steps_;
  system::Prepared rates_;
  Buffer<system::WorstError> errors_;  // of the rank's own planes
  std::optional<RankPieces> halos_;    // between implicit stages
  Window<T> window_ = {};
  std::optional<typename Base::Part> part_;  // within a window
};

}  // namespace gridstride::pde
