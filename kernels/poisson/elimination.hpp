#pragma once

#include <cstdint>

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

/// Numbers of float64 that a system needs for each unknown.
template <class T>
GRIDSTRIDE_HOST_DEVICE int numbers_of(Layers<T> const& w) {
  return w.a.side[w.axis][0] == Rule::periodic ? 3 : 2;
}

/// One of the systems.
template <class T>
struct LayerSystem {
  Layers<T> const& w;
  std::int64_t first, count, stride, place;
  double eigenvalue;

  GRIDSTRIDE_HOST_DEVICE LayerSystem(Layers<T> const& layers, std::int64_t p, std::int64_t q)
      : w(layers),
        first(w.a.first[w.axis]),
        count(w.a.count[w.axis]),
        stride(w.a.stride[w.axis]),
        place(first * stride + (w.a.first[w.others[0]] + p) * w.a.stride[w.others[0]] +
              (w.a.first[w.others[1]] + q) * w.a.stride[w.others[1]]),
        eigenvalue(w.eigenvalues[0][p] + w.eigenvalues[1][q]) {}

  /// −lower·x_(i−1) + (lower + upper + own)·x_i − upper·x_(i+1), none of which is negative.
  struct Weights {
    double lower, upper, own;
  };
  GRIDSTRIDE_HOST_DEVICE Weights row(std::int64_t i) const {
    std::int64_t const at = place + i * stride;
    LineRow const row = row_of(w.a, w.axis, first + i, at);
    return {-row.lower, -row.upper, w.a.reaction_at(at) + w.a.diffusivity_at(at) * eigenvalue};
  }
  GRIDSTRIDE_HOST_DEVICE double right(std::int64_t i) const {
    return w.scale * w.values[place + i * stride];
  }
  GRIDSTRIDE_HOST_DEVICE void set(std::int64_t i, double value) const {
    w.values[place + i * stride] = static_cast<T>(value);
  }
};

// No pivot comes from a difference: what a row has beside its neighbours is carried along by
// itself, so that a small reaction is not lost to roundings of a/h², nor what holds the ends of a
// long line (W. Grassmann, M. Taksar and D. Heyman, Operations Research 33, 1985, 1107–1116, for
// Markov chains).

/// x_i = value + upper·x_(i+1), from the unknown `begin` on; what is before it is 0.
template <class T>
GRIDSTRIDE_HOST_DEVICE void eliminate_open(LayerSystem<T> const& system, std::int64_t begin,
                                           double* uppers, double* values, std::int64_t step) {
  double value = 0, share = 1;  // of what goes to the unknown before, what does not come back
  for (std::int64_t i = begin; i < system.count; ++i) {
    auto const [lower, upper, own] = system.row(i);
    double const rest = own + lower * share, inverse = 1 / (upper + rest);
    value = (system.right(i) + lower * value) * inverse;
    share = rest * inverse;
    uppers[i * step] = upper * inverse;
    values[i * step] = value;
  }
  double x = 0;  // what is behind the last one
  for (std::int64_t i = system.count - 1; i >= begin; --i) {
    x = values[i * step] + uppers[i * step] * x;
    system.set(i, x);
  }
}

/// x_i = value + upper·x_(i+1) + closing·x_(n−1), and the last equation as what is left of it:
/// (ahead + rest)·x_(n−1) − ahead·x_i = right.
template <class T>
GRIDSTRIDE_HOST_DEVICE void eliminate_periodic(LayerSystem<T> const& system, double* uppers,
                                               double* values, double* closings,
                                               std::int64_t step) {
  std::int64_t const last = system.count - 1;
  auto const end = system.row(last);
  double ahead = end.upper, rest_of_end = end.own, right = system.right(last);
  double value = 0, share = 0, closing = 1;  // the unknown before the first is the last one
  for (std::int64_t i = 0; i < last; ++i) {
    auto const [lower, next, own] = system.row(i);
    bool const is_beside = i == last - 1;
    double const upper = is_beside ? 0 : next, rest = own + lower * share,
                 to_end = lower * closing + (is_beside ? next : 0);
    double const inverse = 1 / (upper + to_end + rest);
    value = (system.right(i) + lower * value) * inverse;
    share = rest * inverse;
    closing = to_end * inverse;
    if (is_beside) ahead += end.lower;
    right += ahead * value;
    rest_of_end += ahead * share;
    uppers[i * step] = upper * inverse;
    values[i * step] = value;
    closings[i * step] = closing;
    ahead *= upper * inverse;
  }
  double const at_end = right / rest_of_end;
  system.set(last, at_end);
  double x = 0;
  for (std::int64_t i = last - 1; i >= 0; --i) {
    x = values[i * step] + uppers[i * step] * x + closings[i * step] * at_end;
    system.set(i, x);
  }
}

/// Solves system (p, q); `work` has `numbers_of` times as many numbers as there are unknowns, `step`
/// apart.
template <class T>
GRIDSTRIDE_HOST_DEVICE void eliminate(Layers<T> const& w, std::int64_t p, std::int64_t q,
                                      double* work, std::int64_t step) {
  LayerSystem<T> const system(w, p, q);
  bool const singular = w.singular && p == 0 && q == 0;
  double* const values = work + system.count * step;
  if (w.a.side[w.axis][0] == Rule::periodic && !singular)
    return eliminate_periodic(system, work, values, values + system.count * step, step);
  if (singular) system.set(0, 0);
  eliminate_open(system, singular ? 1 : 0, work, values, step);
}

template <class T>
void host_eliminate(Stream&, Layers<T> const&);
/// `work` has numbers for all systems.
template <class T>
void cuda_eliminate(Stream&, Layers<T> const&, double* work);

}  // namespace gridstride::poisson
