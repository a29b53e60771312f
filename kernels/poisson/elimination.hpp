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

  GRIDSTRIDE_HOST_DEVICE LineRow row(std::int64_t i) const {
    std::int64_t const at = place + i * stride;
    LineRow row = row_of(w.a, w.axis, first + i, at);
    row.diagonal += w.a.diffusivity_at(at) * eigenvalue;
    return row;
  }
  GRIDSTRIDE_HOST_DEVICE double right(std::int64_t i) const {
    return w.scale * w.values[place + i * stride];
  }
  GRIDSTRIDE_HOST_DEVICE void set(std::int64_t i, double value) const {
    w.values[place + i * stride] = static_cast<T>(value);
  }
};

/// x_i = value − upper·x_(i+1), from the unknown `begin` on; what is before it is 0.
template <class T>
GRIDSTRIDE_HOST_DEVICE void eliminate_open(LayerSystem<T> const& system, std::int64_t begin,
                                           double* uppers, double* values, std::int64_t step) {
  double upper = 0, value = 0;
  for (std::int64_t i = begin; i < system.count; ++i) {
    LineRow const row = system.row(i);
    double const inverse = 1 / (row.diagonal - row.lower * upper);
    value = (system.right(i) - row.lower * value) * inverse;
    upper = row.upper * inverse;
    uppers[i * step] = upper;
    values[i * step] = value;
  }
  double x = 0;  // what is behind the last one
  for (std::int64_t i = system.count - 1; i >= begin; --i) {
    x = values[i * step] - uppers[i * step] * x;
    system.set(i, x);
  }
}

/// x_i = value − upper·x_(i+1) − closing·x_(n−1), and the last equation as what is left of it:
/// ahead·x_i + diagonal·x_(n−1) = right.
template <class T>
GRIDSTRIDE_HOST_DEVICE void eliminate_periodic(LayerSystem<T> const& system, double* uppers,
                                               double* values, double* closings,
                                               std::int64_t step) {
  std::int64_t const last = system.count - 1;
  LineRow const end = system.row(last);
  double ahead = end.upper, diagonal = end.diagonal, right = system.right(last);
  double upper = 0, value = 0, closing = -1;  // of the unknown before the first: the last one
  for (std::int64_t i = 0; i < last; ++i) {
    LineRow const row = system.row(i);
    double const inverse = 1 / (row.diagonal - row.lower * upper);
    value = (system.right(i) - row.lower * value) * inverse;
    closing = -row.lower * closing * inverse;
    upper = row.upper * inverse;
    if (i == last - 1) {
      closing += upper;
      upper = 0;
      ahead += end.lower;
    }
    right -= ahead * value;
    diagonal -= ahead * closing;
    ahead = -ahead * upper;
    uppers[i * step] = upper;
    values[i * step] = value;
    closings[i * step] = closing;
  }
  double const at_end = right / diagonal;
  system.set(last, at_end);
  double x = 0;
  for (std::int64_t i = last - 1; i >= 0; --i) {
    x = values[i * step] - uppers[i * step] * x - closings[i * step] * at_end;
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
