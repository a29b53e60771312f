#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "simulations/pde_parts.hpp"
#include "simulations/pde_slopes.hpp"

namespace gridstride::pde {

/// Steps of a rank's parts by slopes, too. All stages are found at all planes of a part: what is wrong
/// at its ends, from each stage on within one reach more, has not come to the rank's own planes in the
/// end. Instantiated for float and double.
template <class T>
class SlopeParts final : public SystemParts<T>, public SlopePlace<T> {
  using Base = SystemParts<T>;
  using Base::of_, Base::sums_;

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
  void find_worst(std::vector<system::Slopes<T>> components, std::span<double const> weights,
                  system::ErrorScale scale, std::span<system::WorstError> parts) override;
  void take(system::StepControl const* control) override;

 private:
  std::int64_t values_before_own() const;
  std::int64_t own_values() const;

  WindowSteps<T>& steps_;
  system::Prepared rates_;
  Buffer<system::WorstError> errors_;  // of the rank's own planes
  Window<T> window_ = {};
  std::optional<typename Base::Part> part_;  // within a window
};

}  // namespace gridstride::pde
