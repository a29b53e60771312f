#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "simulations/phase_times.hpp"
#include "simulations/simulation.hpp"

/// What simulations have in common: arrays in device memory whose values a config gives.
namespace gridstride {

/// An array with a formula's values at the points of a grid: the simulation's, or a face of it.
/// Instantiated for float and double.
template <class T>
class FormulaArray {
 public:
  FormulaArray() = default;  ///< no array: no values, and `data()` is null
  /// Queues the values at the clock's present time. `variant` is a row of `evaluate`, or `auto`.
  FormulaArray(Stream& stream, expression::Expression const& formula, Grid const& grid,
               evaluate::DeviceClock const* clock, std::string_view variant = "auto");

  T const* data() const { return values_.data(); }
  std::span<T> span() { return values_.span(); }
  /// Whether the formula depends on time.
  bool changes() const { return program_ && program_->depends_on_time(); }
  /// Why the variant is not the one that was meant; empty when it is.
  std::string fallback() const { return program_ ? program_->fallback() : std::string(); }

  /// Queues the values at the clock's time and `fraction` of its step beyond, into `target`, which
  /// has as many as the array. Only for an array that there is.
  void evaluate(Stream& stream, evaluate::DeviceClock const* clock, double fraction,
                std::span<T> target) const;
  /// The same into the array itself.
  void refresh(Stream& stream, evaluate::DeviceClock const* clock, double fraction) {
    evaluate(stream, clock, fraction, span());
  }

 private:
  std::optional<evaluate::Program> program_;
  Grid grid_;
  Buffer<T> values_;
};

/// The place of a point in words: `x = 0.5, y = 1`.
std::string format_place(Grid const& grid, std::int64_t offset);

/// The points of a grid's side: 0 the lower one of the axis, 1 the upper.
Grid face_of(Grid const& grid, int axis, int side);

/// `target`, in device memory, becomes a formula's values at the points of `grid`, which is queued,
/// or a dataset's rounded to T, which is done when this returns. With `times`, a formula and the
/// reading of a dataset count as `read`, a dataset's way to the device as `transfer`. `variant` is
/// a row of `evaluate`, or `auto`.
template <class T>
void fill(Stream& stream, config::FieldSource const& source, Grid const& grid, Inputs const& inputs,
          std::span<T> target, PhaseTimes* times = nullptr, std::string_view variant = "auto");

/// Host memory that `fill` takes for so many values while it reads a file.
std::size_t reading_bytes(config::FieldSource const& source, std::size_t values,
                          Precision precision);

/// The index of the first value, in device memory, that is infinite or not a number; negative where
/// all are finite. Waits for the stream. `variant` is a row of `reduce`.
template <class T>
std::int64_t first_non_finite(Stream& stream, std::span<T const> values, std::string_view variant);

/// Nothing, or what a family says of a row that does not do the run's work, at the place where the
/// config names it: `choose` asks the family and lets pass what it throws.
std::vector<Problem> refused_variant(config::RunConfig const& run, std::string_view family,
                                     std::function<void()> const& choose);

}  // namespace gridstride
