#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "kernels/system/sides.cuh"
#include "kernels/system/step_control.hpp"

/// Schemes that keep the slopes of their stages, with an error for each step: what they do at each
/// point by itself. All arrays lie in device memory; nothing synchronises.
namespace gridstride::system {

/// Slopes that are combined at once, at most.
inline constexpr int most_slopes = 7;

/// One component: its state, its slopes, and what comes of them, `grid.size()` values each.
template <class T>
struct Slopes {
  T* state = nullptr;
  T* value = nullptr;
  std::array<T const*, most_slopes> slopes = {};
  Sides<T> sides = {};
};

/// What tells the step; nothing is done where it is 0.
using StepClockView = evaluate::DeviceClock const*;

/// Queues value = state + dt·Σ weight·slope for each component, dt the clock's step; on sides that
/// are given, value = g.
template <class T>
void combine(Stream& stream, Grid const& grid, std::span<Slopes<T> const> components,
             std::span<double const> weights, StepClockView clock);

/// What an error at a point is divided by: absolute + relative·max(|state|, |value|).
struct ErrorScale {
  double relative;
  double absolute;
};

/// Points that count of a grid that is a strip of a wider one: from `lower` to `upper` along an axis whose
/// point 0 is point `first` of as many as the wider one has.
struct ErrorStrip {
  std::int64_t lower = 0, upper = 0;
  std::int64_t first = 0, points = 0;  ///< 0: there is none, and all count
};
/// Along the second slowest axis and the third one.
using ErrorStrips = std::array<ErrorStrip, 2>;

/// How many parts an error is found in: `worst_error` writes as many.
std::int64_t error_parts(Grid const& grid, std::size_t components);

/// Queues the worst of dt·Σ weight·slope, scaled, over all points that no side gives, and over those
/// where `value` is not finite: a part for each group of points, in any order. Of a strip, with their
/// places in as many planes of the wider grid.
template <class T>
void worst_error(Stream& stream, Grid const& grid, std::span<Slopes<T> const> components,
                 std::span<double const> weights, ErrorScale scale, StepClockView clock,
                 std::span<WorstError> parts, ErrorStrips const& strips = {});

/// Queues that `worst` is the worst of all parts, with points that count from `first` on.
void find_worst(Stream& stream, std::span<WorstError const> parts, std::int64_t first,
                WorstError* worst);

/// Queues `control = value`.
void set_control(Stream& stream, StepControl* control, StepControl const& value);
/// Queues `begin_attempt`.
void begin_attempt(Stream& stream, StepControl* control, evaluate::DeviceClock* clock);
/// Queues `end_attempt` with the worst of the parts.
void end_attempt(Stream& stream, StepControl* control, evaluate::DeviceClock const* clock,
                 std::span<WorstError const> parts);

/// An array that takes the values of another.
template <class T>
struct Taken {
  T* to = nullptr;
  T const* from = nullptr;
};

/// The most of them at once: state and slope of as many components as there may be.
inline constexpr int most_taken = 48;

/// Queues to = from for arrays of `size` values, where `control` is null or its attempt commits.
template <class T>
void commit(Stream& stream, std::span<Taken<T> const> arrays, std::int64_t size,
            StepControl const* control);

}  // namespace gridstride::system
