#include "kernels/lattice/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_lattice {

using lattice::GridPoints;
using lattice::Neighbours;

/// The largest error of some points, of (m + 1)·ε·Σ|a·x| for rows of m elements.
template <class T>
Accuracy accuracy_of(Neighbours neighbours, GridPoints const& points, std::vector<T> const& x,
                     std::vector<T> const& y) {
  std::int64_t const step = std::max<std::int64_t>(std::ssize(x) / 10007, 1), nx = points[0],
                     ny = points[1];
  auto const diagonal = static_cast<long double>(sparse::stencil_diagonal(neighbours, points));
  double worst = 0;
  for (std::int64_t p = 0; p < std::ssize(x); p += step) {
    GridPoints const at = {p % nx, p / nx % ny, p / nx / ny};
    long double sum = diagonal * x[static_cast<std::size_t>(p)], magnitude = std::abs(sum);
    int elements = 1;
    for (int n = 0; n < 27; ++n) {
      GridPoints const to = {at[0] + n % 3 - 1, at[1] + n / 3 % 3 - 1, at[2] + n / 9 - 1};
      auto const apart =
          std::abs(to[0] - at[0]) + std::abs(to[1] - at[1]) + std::abs(to[2] - at[2]);
      bool is_there = apart > 0 && (neighbours == Neighbours::all || apart == 1);
      for (std::size_t axis = 0; axis < 3; ++axis)
        is_there = is_there && to[axis] >= 0 && to[axis] < points[axis];
      if (!is_there) continue;
      long double const value = x[static_cast<std::size_t>((to[2] * ny + to[1]) * nx + to[0])];
      sum -= value;
      magnitude += std::abs(value);
      ++elements;
    }
    double const bound =
        (elements + 1) * double{std::numeric_limits<T>::epsilon()} * static_cast<double>(magnitude);
    auto const error = static_cast<double>(std::abs(y[static_cast<std::size_t>(p)] - sum));
    if (!(error <= worst * bound)) worst = bound > 0 ? error / bound : error;
  }
  return {worst, 1};
}

template <class T, Neighbours neighbours>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  auto const points = cube_of(size);
  std::int64_t const n = points[0] * points[1] * points[2];
  Arrays<T> const x(stream, n, sets), y(stream, n, sets);
  auto const host_copy = [&stream](std::span<T const> values) {
    std::vector<T> copy(values.size());
    copy_async(std::span(copy), values, stream);
    stream.synchronize();
    return copy;
  };
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, x(set), static_cast<std::uint64_t>(set));
                spoil(stream, y(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                lattice::Matrix<T>(stream, neighbours, points, variant)
                    .multiply(stream, x.constant(set), y(set));
              },
          .accuracy =
              [=](std::string_view) {
                return accuracy_of(neighbours, points, host_copy(x.constant(0)),
                                   host_copy(y.constant(0)));
              }};
}

template <class T, Neighbours neighbours>
Workload workload(Backend backend, std::string_view operation) {
  constexpr double moved = 2 * sizeof(T), flops = neighbours == Neighbours::all ? 54 : 14;
  return {.family = "lattice",
          .operation = operation,
          .type = type_name<T>(),
          .by_default = sizeof(T) == 8,
          .size = default_size(backend, std::int64_t{1} << 24),
          .work = per_element({.bytes = moved,
                               .flops = flops,
                               .asks = {{machine::copy_roof, moved}},
                               .set_bytes = moved}),
          .rows = rows_of(lattice::variants<T>(), backend, lattice::default_variant(backend)),
          .make = problem<T, neighbours>,
          .rounded =
              [](std::int64_t wanted) {
                auto const cube = cube_of(wanted);
                return cube[0] * cube[1] * cube[2];
              },
          .error = "the largest of a point, in m eps sum |a x| of m elements"};
}

template <class T>
void append_workloads(Backend backend, std::vector<Workload>& all) {
  all.push_back(workload<T, Neighbours::all>(backend, "27 points"));
  all.push_back(workload<T, Neighbours::axes>(backend, "7 points"));
}

}  // namespace of_lattice

std::vector<Workload> lattice_workloads(Backend backend) {
  std::vector<Workload> all;
  of_lattice::append_workloads<double>(backend, all);
  of_lattice::append_workloads<float>(backend, all);
  return all;
}

}  // namespace gridstride::bench
