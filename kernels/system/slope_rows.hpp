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
  struct Line {
    long long held, lower, upper, first, points;
  };
  bool all = true;  // count, where they are
  Line x, y;

  ErrorPlaces(Grid const& grid, ErrorStrips const& strips)
      : x(line_of(grid, 0, strips)), y(line_of(grid, 1, strips)) {
    for (ErrorStrip const& strip : strips) all = all && strip.points == 0;
  }
  /// That of point n of the grid; −1: it does not count.
  GRIDSTRIDE_HOST_DEVICE long long of(long long n) const {
    if (all) return n;
    long long const i = n % x.held, line = n / x.held, j = line % y.held;
    if (i < x.lower || i >= x.upper || j < y.lower || j >= y.upper) return -1;
    return ((line / y.held) * y.points + y.first + j) * x.points + x.first + i;
  }

 private:
  static Line line_of(Grid const& grid, int axis, ErrorStrips const& strips) {
    long long const held = grid.points[static_cast<std::size_t>(axis)];
    int const which = grid.dims - 2 - axis;
    if (which < 0 || strips[static_cast<std::size_t>(which)].points == 0)
      return {held, 0, held, 0, held};
    auto const& strip = strips[static_cast<std::size_t>(which)];
    return {held, strip.lower, strip.upper, strip.first, strip.points};
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
