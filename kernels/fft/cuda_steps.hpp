#pragma once

#include <algorithm>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/stream.hpp"
#include "kernels/fft/lines.hpp"

/// Steps of which lines of the GPU's `blocks` are made; for the family's own files only.
namespace gridstride::fft {

/// The axes of a long line as a matrix: as few as will do, and alike; none where nothing will.
template <class T>
std::vector<std::int64_t> axes_of_line(Stream& stream, std::int64_t points, int most);

/// Calls `body(slice)` for the lines of the work, at most `together` along the first axis across at a
/// time and one along the others.
template <class T, class Body>
void for_slices(LineWork<T> const& work, long long together, Body const& body) {
  for (long long c = 0; c < work.counts[2]; ++c)
    for (long long b = 0; b < work.counts[1]; ++b)
      for (long long a = 0; a < work.counts[0]; a += together) {
        LineWork<T> slice = work;
        slice.in += 2 * (a * work.in_strides[0] + b * work.in_strides[1] + c * work.in_strides[2]);
        slice.out +=
            2 * (a * work.out_strides[0] + b * work.out_strides[1] + c * work.out_strides[2]);
        slice.counts[0] = std::min(together, work.counts[0] - a);
        body(slice);
      }
}

template <class T>
void set_axis(LineWork<T>& step, int place, long long count, long long in, long long out) {
  step.counts[place] = count;
  step.in_strides[place] = in;
  step.out_strides[place] = out;
}

/// From one array to another, along no axis yet.
template <class T>
LineWork<T> step_of(T const* in, std::int64_t in_stride, T* out, std::int64_t out_stride) {
  LineWork<T> step{};
  step.in = in;
  step.out = out;
  step.in_stride = in_stride;
  step.out_stride = out_stride;
  for (int axis = 0; axis < 4; ++axis) set_axis(step, axis, 1, 0, 0);
  return step;
}

/// Results are turned by roots of one, exp(−2πi/points), of which `unit` is a step.
template <class T>
void set_twist(std::int64_t points, std::int64_t unit, LineWork<T>& step) {
  auto const n = static_cast<double>(points);
  step.turn = {.n = n,
               .quarters = 4 / n,
               .angle = std::numbers::pi / 2 / n,
               .fraction = UINT64_MAX / static_cast<std::uint64_t>(points) + 1};
  step.twist = static_cast<int>(unit);
}

template <class T>
void set_lines(LineWork<T>& step) {
  step.lines = step.counts[0] * step.counts[1] * step.counts[2] * step.counts[3];
}

}  // namespace gridstride::fft
