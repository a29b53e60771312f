#pragma once

#include "kernels/system/slopes.hpp"

/// What slopes.cpp and slopes.cu share; for the family's own files only.
namespace gridstride::system {

/// Of a component.
inline constexpr std::int64_t most_error_parts = 512;

/// The points of a grid in plain arrays.
struct GridPoints {
  long long points[3];
  int dims;
  explicit GridPoints(Grid const& grid) : dims(grid.dims) {
    for (int axis = 0; axis < 3; ++axis) points[axis] = grid.points[static_cast<std::size_t>(axis)];
  }
};

/// Places of points whose errors count.
struct ErrorPlaces {
  long long line;  // values from one point of the axis to the next; 0: all count
  long long held, lower, upper, first, points;

  ErrorPlaces(Grid const& grid, ErrorStrip const& strip)
      : line(strip.points > 0 ? 1 : 0),
        held(grid.dims > 1 ? grid.points[static_cast<std::size_t>(grid.dims - 2)] : 1),
        lower(strip.lower),
        upper(strip.upper),
        first(strip.first),
        points(strip.points) {
    for (int axis = 0; axis + 2 < grid.dims; ++axis)
      line *= grid.points[static_cast<std::size_t>(axis)];
  }
  /// That of point n of the grid; −1: it does not count.
  GRIDSTRIDE_HOST_DEVICE long long of(long long n) const {
    if (line == 0) return n;
    long long const at = n / line, across = at % held;
    if (across < lower || across >= upper) return -1;
    return (at / held * points + first + across) * line + n % line;
  }
};

/// Whether a side gives values.
template <class T>
bool is_given(Sides<T> const& sides, int dims) {
  for (int axis = 0; axis < dims; ++axis)
    if (sides[axis][0].given || sides[axis][1].given) return true;
  return false;
}

template <class T>
void cuda_combine(Stream&, Grid const&, std::span<Slopes<T> const>, std::span<double const>,
                  StepClockView);
template <class T>
void cuda_worst_error(Stream&, Grid const&, std::span<Slopes<T> const>, std::span<double const>,
                      ErrorScale, StepClockView, std::span<WorstError>, ErrorPlaces const&);
void cuda_find_worst(Stream&, std::span<WorstError const>, std::int64_t, WorstError*);
void cuda_set_control(Stream&, StepControl*, StepControl const&);
void cuda_begin_attempt(Stream&, StepControl*, evaluate::DeviceClock*);
void cuda_end_attempt(Stream&, StepControl*, evaluate::DeviceClock const*,
                      std::span<WorstError const>);
template <class T>
void cuda_commit(Stream&, std::span<Taken<T> const>, std::int64_t, StepControl const*);

}  // namespace gridstride::system
