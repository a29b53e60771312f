#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "kernels/convolve/boundary.hpp"
#include "kernels/convolve/rows.hpp"
#include "kernels/support/launch.cuh"

/// A filtering as kernels see it.
namespace gridstride::convolve {

/// out_i = Σ_m taps_m · in_{i + lowest + m}, m = 0 … count − 1: the taps are in falling order, so
/// that a window moves upwards. Signal (o, j) has its point i at element (o·length + i)·inner + j.
template <class T>
struct Work {
  T const* in;
  T* out;
  long long inner, length, outer;
  long long lowest;
  T value;
  Boundary boundary;
  int count;
  bool add;  // to what `out` holds

  /// The first element of signal number `n`.
  __device__ long long signal(long long n) const {
    return inner == 1 ? n * length : n / inner * length * inner + n % inner;
  }
  /// Point i of the signal that begins at `signal`, also beyond its ends.
  __device__ T at(T const* signal, long long i) const {
    long long const source = source_of(boundary, i, length);
    return source < 0 ? value : signal[source * inner];
  }
};

/// Taps that travel as a kernel's parameter, so that they come from the constant bank.
template <class T, int most>
struct Taps {
  T at[most];

  /// The taps of a piece of a filter in falling order, from place `skip` on.
  static Taps of(std::span<T const> piece, int skip = 0) {
    Taps taps{};
    std::copy(piece.rbegin(), piece.rend(), taps.at + skip);
    return taps;
  }
};

/// Calls `launch(work, piece)` for pieces of the filter's taps, at most `most` each, from the last
/// to the first; each is added to what those before have left in `out`.
template <class T, class Launch>
void for_each_piece(Arguments<T> const& a, std::int64_t most, Launch const& launch) {
  auto const signals = Signals::of(a.shape);
  Work<T> work{.in = a.in,
               .out = a.out,
               .inner = signals.inner,
               .length = signals.length,
               .outer = signals.outer,
               .lowest = 0,
               .value = a.value,
               .boundary = a.boundary,
               .count = 0,
               .add = false};
  for (std::int64_t left = a.filter->count(); left > 0; left -= work.count) {
    work.count = static_cast<int>(std::min(left, most));
    work.lowest = a.filter->center() - (left - 1);
    work.add = left < a.filter->count();
    auto const first = static_cast<std::size_t>(left - work.count);
    launch(work, a.filter->taps().subspan(first, static_cast<std::size_t>(work.count)));
  }
}

/// Whether all rows of n elements begin at multiples of 16 bytes, in both arrays.
template <class T>
bool takes_vectors(Arguments<T> const& a, long long n) {
  auto const aligned = [](void const* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  return n * static_cast<long long>(sizeof(T)) % 16 == 0 && aligned(a.in) && aligned(a.out);
}

/// The grid for so many blocks. Throws where a launch cannot have them.
inline unsigned grid_of(long long blocks) {
  if (blocks > 2147483647) throw std::invalid_argument("convolve: the array needs too many blocks");
  return static_cast<unsigned>(blocks);
}

constexpr long long tiles_of(long long points, long long tile) {
  return (points + tile - 1) / tile;
}

}  // namespace gridstride::convolve
