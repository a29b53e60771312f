#pragma once

#include <cstdint>
#include <type_traits>

#include "core/host_device.hpp"
#include "kernels/poisson/point.hpp"

/// Elimination along an axis, one system for each mode of the others, on the host and on the GPU.
/// For the family's own files only.
namespace gridstride::poisson {

template <class T>
struct Layers {
  Operator<T> a;
  int axis;
  int others[2];
  double const* eigenvalues[2];  ///< of the others, each as many as it has unknowns
  double scale;                  ///< of the right-hand sides
  bool singular;                 ///< the first system is, whose first unknown is 0
  T* values;                     ///< right-hand sides, then solutions
};

/// Rows that are under way at once; before each of so many, what elimination has come to is kept.
constexpr int segment_rows = 8;

/// Numbers of float64 that a system keeps, for so many unknowns at most.
constexpr std::int64_t kept_numbers(std::int64_t unknowns, bool periodic) {
  return (unknowns + segment_rows - 1) / segment_rows * (periodic ? 2 : 1);
}

/// One of the systems; `same`: coefficients are no arrays.
template <bool same, class T>
struct LayerSystem {
  Layers<T> const& w;
  std::int64_t count, stride, place;
  double eigenvalue;

  GRIDSTRIDE_HOST_DEVICE LayerSystem(Layers<T> const& layers, std::int64_t p, std::int64_t q)
      : w(layers),
        count(w.a.count[w.axis]),
        stride(w.a.stride[w.axis]),
        place(w.a.first[w.axis] * stride + (w.a.first[w.others[0]] + p) * w.a.stride[w.others[0]] +
              (w.a.first[w.others[1]] + q) * w.a.stride[w.others[1]]),
        eigenvalue(w.eigenvalues[0][p] + w.eigenvalues[1][q]) {}

  /// −lower·x_(i−1) + (lower + upper + own)·x_i − upper·x_(i+1), none of which is negative.
  struct Weights {
    double lower, upper, own;
  };
  GRIDSTRIDE_HOST_DEVICE Weights row(std::int64_t i) const {
    if (same) {
      double const weight = w.a.weight[w.axis];
      bool const ends_below = i == 0 && w.a.side[w.axis][0] == Rule::neumann;
      bool const ends_above = i == count - 1 && w.a.side[w.axis][1] == Rule::neumann;
      return {ends_below   ? 0
              : ends_above ? 2 * weight
                           : weight,
              ends_above   ? 0
              : ends_below ? 2 * weight
                           : weight,
              w.a.reaction + w.a.diffusivity * eigenvalue};
    }
    std::int64_t const at = place + i * stride;
    LineRow const row = row_of(w.a, w.axis, w.a.first[w.axis] + i, at);
    return {-row.lower, -row.upper, w.a.reaction_at(at) + w.a.diffusivity_at(at) * eigenvalue};
  }
  GRIDSTRIDE_HOST_DEVICE T& value(std::int64_t i) const { return w.values[place + i * stride]; }
};

// No pivot comes from a difference: what a row has beside its neighbours is carried along by
// itself, so that a small reaction is not lost to roundings of a/h², nor what holds the ends of a
// long line (W. Grassmann, M. Taksar and D. Heyman, Operations Research 33, 1985, 1107–1116, for
// Markov chains).

/// What rows before the present one have come to: of what goes from it to the one before, the share
/// that does not come back, and the one that goes on to the last unknown of a periodic axis.
struct Eliminated {
  double share, closing;
};

/// x_i = value + upper·x_(i+1) + closing·x_(n−1)
struct EliminatedRow {
  double lower, inverse, upper, closing;
};

/// Of unknowns before `end`; of a periodic axis that is the last one, beside the one before it.
template <bool periodic, class System>
GRIDSTRIDE_HOST_DEVICE EliminatedRow next_row(System const& system, std::int64_t i,
                                              std::int64_t end, Eliminated& before) {
  auto const [lower, next, own] = system.row(i);
  bool const is_beside = periodic && i == end - 1;
  double const upper = is_beside ? 0 : next, rest = own + lower * before.share,
               closing = periodic ? lower * before.closing + (is_beside ? next : 0) : 0;
  double const inverse = 1 / (upper + closing + rest);
  before = {rest * inverse, closing * inverse};
  return {lower, inverse, upper * inverse, before.closing};
}

template <bool periodic>
GRIDSTRIDE_HOST_DEVICE void keep(double* kept, std::int64_t step, std::int64_t segment,
                                 Eliminated const& state) {
  kept[(periodic ? 2 * segment : segment) * step] = state.share;
  if (periodic) kept[(2 * segment + 1) * step] = state.closing;
}
template <bool periodic>
GRIDSTRIDE_HOST_DEVICE Eliminated kept_state(double const* kept, std::int64_t step,
                                             std::int64_t segment) {
  return {kept[(periodic ? 2 * segment : segment) * step],
          periodic ? kept[(2 * segment + 1) * step] : 0};
}

/// Down, values take the place of right-hand sides; on the way up rows are eliminated once more, a
/// segment at a time. Before the unknown `begin` everything is 0, or the last unknown.
template <bool periodic, bool same, class T>
GRIDSTRIDE_HOST_DEVICE void eliminate_from(LayerSystem<same, T> const& system, std::int64_t begin,
                                           double* kept, std::int64_t step) {
  std::int64_t const end = periodic ? system.count - 1 : system.count;
  std::int64_t const segments = (end - begin + segment_rows - 1) / segment_rows;
  Eliminated state = periodic ? Eliminated{0, 1} : Eliminated{1, 0};
  // The last equation of a periodic axis: (ahead + rest)·x_(n−1) − ahead·x_i = right.
  double ahead = 0, behind = 0, rest = 0, right = 0, x = 0, value = 0;
  if (periodic) {
    auto const [lower, upper, own] = system.row(end);
    ahead = upper;
    behind = lower;
    rest = own;
    right = system.w.scale * system.value(end);
  }
  for (std::int64_t s = 0; s < segments; ++s) {
    std::int64_t const base = begin + s * segment_rows, left = end - base;
    keep<periodic>(kept, step, s, state);
    double values[segment_rows] = {};
    for (int k = 0; k < segment_rows; ++k)
      if (k < left) values[k] = system.w.scale * system.value(base + k);
    for (int k = 0; k < segment_rows; ++k) {
      if (k >= left) continue;
      auto const row = next_row<periodic>(system, base + k, end, state);
      values[k] = value = (values[k] + row.lower * value) * row.inverse;
      if (!periodic) continue;
      if (base + k == end - 1) ahead += behind;
      right += ahead * value;
      rest += ahead * state.share;
      ahead *= row.upper;
    }
    for (int k = 0; k < segment_rows; ++k)
      if (k < left) system.value(base + k) = static_cast<T>(values[k]);
  }
  double const at_end = periodic ? right / rest : 0;
  if (periodic) system.value(end) = static_cast<T>(at_end);
  for (std::int64_t s = segments - 1; s >= 0; --s) {
    std::int64_t const base = begin + s * segment_rows, left = end - base;
    state = kept_state<periodic>(kept, step, s);
    double values[segment_rows] = {}, uppers[segment_rows] = {};
    for (int k = 0; k < segment_rows; ++k)
      if (k < left) values[k] = system.value(base + k);
    for (int k = 0; k < segment_rows; ++k) {
      if (k >= left) continue;
      auto const row = next_row<periodic>(system, base + k, end, state);
      uppers[k] = row.upper;
      if (periodic) values[k] += row.closing * at_end;
    }
    for (int k = segment_rows - 1; k >= 0; --k) {
      if (k >= left) continue;
      x = values[k] + uppers[k] * x;
      system.value(base + k) = static_cast<T>(x);
    }
  }
}

/// Solves system (p, q); the numbers that it keeps are `step` apart. One that is singular is not
/// periodic.
template <bool periodic, bool same, class T>
GRIDSTRIDE_HOST_DEVICE void eliminate(Layers<T> const& w, std::int64_t p, std::int64_t q,
                                      double* kept, std::int64_t step) {
  LayerSystem<same, T> const system(w, p, q);
  bool const singular = w.singular && p == 0 && q == 0;
  if (singular) system.value(0) = 0;
  eliminate_from<periodic>(system, singular ? 1 : 0, kept, step);
}

/// Calls `work(periodic, same, first, last)`, the former as types, for all systems, counted with the
/// first of the other axes fastest.
template <class T, class Work>
void for_all_systems(Layers<T> const& w, Work const& work) {
  std::int64_t const systems = w.a.count[w.others[0]] * w.a.count[w.others[1]];
  auto const with = [&](auto periodic, std::int64_t first, std::int64_t last) {
    if (w.a.diffusivities == nullptr && w.a.reactions == nullptr)
      work(periodic, std::true_type(), first, last);
    else
      work(periodic, std::false_type(), first, last);
  };
  if (w.a.side[w.axis][0] != Rule::periodic) return with(std::false_type(), 0, systems);
  if (w.singular) with(std::false_type(), 0, 1);
  with(std::true_type(), w.singular ? 1 : 0, systems);
}

/// Solves all systems where the stream's device is; `kept` has numbers for all of them on a GPU.
template <class T>
void eliminate(Stream& stream, Layers<T> const& layers, double* kept);

template <class T>
void host_eliminate(Stream&, Layers<T> const&);
template <class T>
void cuda_eliminate(Stream&, Layers<T> const&, double* kept);
/// The same for systems whose rows all stay on the chip meanwhile: coefficients that are the same
/// everywhere, no periodic axis and not x, and of so many unknowns.
template <class T>
bool stays_on_chip(Device const& device, Layers<T> const&);
template <class T>
void cuda_eliminate_on_chip(Stream&, Layers<T> const&);

}  // namespace gridstride::poisson
