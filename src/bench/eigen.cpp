#include "kernels/eigen/eigen.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_eigen {

/// The lower triangle of a row-major random matrix, with the upper one as its mirror.
double element(std::vector<double> const& matrix, std::int64_t n, std::int64_t i, std::int64_t j) {
  return matrix[static_cast<std::size_t>(std::max(i, j) * n + std::min(i, j))];
}

/// The largest |A·u − λ·u| of three modes, of n·max|A|.
double residual(std::vector<double> const& matrix, std::vector<double> const& modes,
                std::vector<double> const& values) {
  auto const n = std::ssize(values);
  double largest = 0;
  for (std::int64_t const mode : {std::int64_t{0}, n / 2, n - 1}) {
    double const* const u = modes.data() + mode * n;
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = -values[static_cast<std::size_t>(mode)] * u[i];
      for (std::int64_t j = 0; j < n; ++j) sum += element(matrix, n, i, j) * u[j];
      largest = std::max(largest, std::abs(sum));
    }
  }
  return largest / static_cast<double>(n);
}

Problem problem(Stream& stream, std::int64_t n, int sets) {
  Arrays<double> const given(stream, n * n, sets), matrix(stream, n * n, sets),
      values(stream, n, sets);
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, given(set), static_cast<std::uint64_t>(set));
                spoil(stream, values(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                copy_async(matrix(set), given.constant(set), stream);
                eigen::decompose(stream, n, matrix(set), values(set), variant);
              },
          .accuracy =
              [=, &stream](std::string_view) {
                double const epsilon = std::numeric_limits<double>::epsilon();
                return Accuracy{residual(on_host(stream, given.constant(0)),
                                         on_host(stream, matrix.constant(0)),
                                         on_host(stream, values.constant(0))),
                                50 * static_cast<double>(n) * epsilon};
              }};
}

}  // namespace of_eigen

std::vector<Workload> eigen_workloads(Backend backend) {
  auto const work = [](std::int64_t n) {
    auto const rows = static_cast<double>(n);
    // To three diagonals, their modes, and these in the place of the matrix's.
    double const flops = (4.0 / 3 + 4.0 / 3 + 2) * rows * rows * rows;
    double const bytes = 2 * sizeof(double) * rows * rows;
    return Work{.bytes = bytes,
                .flops = flops,
                .asks = {{machine::copy_roof, bytes}, {arithmetic_roof<double>(), flops}},
                .set_bytes = 2 * bytes,
                .elements = rows * rows};
  };
  return {{.family = "eigen",
           .operation = "all modes",
           .type = type_name<double>(),
           .by_default = true,
           .size = backend == Backend::cpu ? 256 : 2048,
           .work = work,
           .rows = rows_of(eigen::variants(), backend, eigen::default_variant(backend)),
           .make = of_eigen::problem,
           .size_of = SizeOf::matrix,
           .error = "the largest residual of a mode, of n"}};
}

}  // namespace gridstride::bench
