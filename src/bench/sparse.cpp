#include "kernels/sparse/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/workloads.hpp"
#include "kernels/sparse/stencil_matrix.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::bench {

namespace of_sparse {

using sparse::Neighbours;

template <class T>
Csr<T> of_27_points(std::int64_t rows) {
  return sparse::stencil_matrix<T>(Neighbours::all, cube_of(rows));
}
template <class T>
Csr<T> of_7_points(std::int64_t rows) {
  return sparse::stencil_matrix<T>(Neighbours::axes, cube_of(rows));
}

/// Rows of s/u elements, u uniform in (0, 1), which is a power law of exponent −2: some 16 on
/// average, up to a whole row. Columns are spread evenly over the row, each at random in its part.
template <class T>
Csr<T> of_power_law(std::int64_t rows) {
  auto const length = [rows](std::int64_t row) {
    auto const random =
        static_cast<double>(machine::random_bits(1, static_cast<std::uint64_t>(row)) >> 11);
    double const u = (random + 0.5) * 0x1p-53;
    // E(1/u) over rows down to 1/u = rows is ln(rows) + 1.
    double const scale = 16 / (std::log(static_cast<double>(rows)) + 1);
    return std::clamp(static_cast<std::int64_t>(scale / u), std::int64_t{1}, rows);
  };
  Csr<T> matrix{rows, rows, {}, {}, {}};
  matrix.offsets.push_back(0);
  for (std::int64_t row = 0; row < rows; ++row)
    matrix.offsets.push_back(matrix.offsets.back() + length(row));
  auto const elements = static_cast<std::size_t>(matrix.offsets.back());
  matrix.column_indices.resize(elements);
  matrix.values.resize(elements);
  parallel_for(rows, 256, [&](std::int64_t row) {
    auto const first = matrix.offsets[static_cast<std::size_t>(row)];
    auto const count = matrix.offsets[static_cast<std::size_t>(row) + 1] - first;
    for (std::int64_t k = 0; k < count; ++k) {
      auto const random = machine::random_bits(2, static_cast<std::uint64_t>(first + k));
      auto const from = k * rows / count, to = (k + 1) * rows / count;
      auto const at = static_cast<std::size_t>(first + k);
      matrix.column_indices[at] = static_cast<std::int32_t>(
          from + static_cast<std::int64_t>(random % static_cast<std::uint64_t>(to - from)));
      matrix.values[at] = static_cast<T>(static_cast<double>(random >> 40) * 0x1p-24 - 0.5);
    }
  });
  return matrix;
}

/// The largest error of some rows' sums, of Σ|a·x|, and what a row of so many elements may have.
template <class T>
Accuracy accuracy_of(Csr<T> const& matrix, std::span<T const> x, std::span<T const> y) {
  Accuracy worst{0, 1};
  std::int64_t const step = std::max<std::int64_t>(matrix.rows / 10007, 1);
  for (std::int64_t row = 0; row < matrix.rows; row += step) {
    auto const i = static_cast<std::size_t>(row);
    long double sum = 0, magnitude = 0;
    for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
         k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k) {
      auto const term = static_cast<long double>(matrix.values[k]) *
                        x[static_cast<std::size_t>(matrix.column_indices[k])];
      sum += term;
      magnitude += std::abs(term);
    }
    auto const elements = static_cast<double>(matrix.offsets[i + 1] - matrix.offsets[i] + 1);
    double const bound =
        elements * double{std::numeric_limits<T>::epsilon()} * static_cast<double>(magnitude);
    double const error = static_cast<double>(std::abs(y[i] - sum));
    if (!(error <= worst.error * bound)) worst.error = bound > 0 ? error / bound : error;
  }
  return worst;
}

/// All sets have one matrix, which is larger than any cache.
template <class T>
struct Shared {
  Csr<T> rows;
  std::map<std::string, sparse::Matrix<T>, std::less<>> forms;
};

template <class T>
Problem problem(Stream& stream, Csr<T> (*make)(std::int64_t), std::int64_t vectors,
                std::int64_t size, int sets) {
  auto const shared = std::make_shared<Shared<T>>();
  shared->rows = make(size);
  std::int64_t const n = shared->rows.rows * vectors;
  Arrays<T> const x(stream, n, sets), y(stream, n, sets);
  auto const host_copy = [&stream](std::span<T const> values) {
    std::vector<T> copy(values.size());
    copy_async(std::span(copy), values, stream);
    stream.synchronize();
    return copy;
  };
  return {
      .prepare =
          [=, &stream](int set) {
            machine::fill_random(stream, x(set), static_cast<std::uint64_t>(set));
            spoil(stream, y(set));
          },
      .run =
          [=, &stream](std::string_view variant, int set) {
            auto form = shared->forms.find(variant);
            if (form == shared->forms.end()) {
              shared->forms.clear();  // memory may hold but one
              form =
                  shared->forms.emplace(variant, sparse::Matrix<T>(stream, shared->rows, variant))
                      .first;
            }
            form->second.multiply(stream, x.constant(set), y(set), vectors);
          },
      .accuracy =
          [=](std::string_view) {
            auto const of_x = host_copy(x.constant(0)), of_y = host_copy(y.constant(0));
            Accuracy worst{0, 1};
            for (std::int64_t v = 0; v < vectors; ++v) {
              auto const own = [&](std::vector<T> const& all) {
                auto const rows = static_cast<std::size_t>(shared->rows.rows);
                return std::span<T const>(all).subspan(static_cast<std::size_t>(v) * rows, rows);
              };
              auto const found = accuracy_of(shared->rows, own(of_x), own(of_y));
              if (!(found.error <= worst.error)) worst = found;
            }
            return worst;
          }};
}

struct Kind {
  std::string_view operation;
  std::int64_t rows;
  double elements_of_row;  ///< of a large matrix
  bool is_cube;
  std::string_view chosen;  ///< on a GPU
  std::int64_t vectors = 1;
};
constexpr Kind points_27{"27-point stencil", std::int64_t{1} << 24, 27, true, "slices"};
constexpr Kind points_7{"7-point stencil", std::int64_t{1} << 24, 7, true, "slices"};
constexpr Kind power_law{"power-law rows", std::int64_t{1} << 22, 16, false, "adaptive"};
constexpr Kind points_27_of_8{
    "27-point stencil, 8 vectors", std::int64_t{1} << 24, 27, true, "slices", 8};
constexpr Kind power_law_of_8{
    "power-law rows, 8 vectors", std::int64_t{1} << 22, 16, false, "adaptive", 8};

template <class T>
Workload workload(Backend backend, Kind const& kind, Csr<T> (*make)(std::int64_t)) {
  // Values, x and y once; how columns are told is the variant's.
  auto const vectors = static_cast<double>(kind.vectors);
  double const moved = (kind.elements_of_row + 2 * vectors) * sizeof(T);
  double const flops = 2 * kind.elements_of_row * vectors;
  auto const chosen = backend == Backend::cpu ? sparse::default_variant(backend) : kind.chosen;
  Workload result{
      .family = "sparse",
      .operation = kind.operation,
      .type = type_name<T>(),
      .by_default = sizeof(T) == 8,
      .size = std::min(default_size(backend, kind.rows), kind.rows),
      .work = per_element({.bytes = moved,
                           .flops = flops,
                           .asks = {{machine::read_roof, moved}, {arithmetic_roof<T>(), flops}},
                           .set_bytes = moved + kind.elements_of_row * 4}),
      .rows = rows_of(sparse::variants<T>(), backend, chosen),
      .make = [make, count = kind.vectors](
                  Stream& stream, std::int64_t size,
                  int sets) { return problem<T>(stream, make, count, size, sets); },
      .rounded = kind.is_cube ? +[](std::int64_t wanted) {
        auto const cube = cube_of(wanted);
        return cube[0] * cube[1] * cube[2];
      } : +[](std::int64_t wanted) { return std::max<std::int64_t>(wanted, 2); },
      .error = "the largest of a row, in m eps sum |a x| of m elements"};
  if (kind.chosen != "slices")
    std::erase_if(result.rows, [](Row const& row) { return row.name == "slices"; });
  return result;
}

template <class T>
void append_workloads(Backend backend, std::vector<Workload>& all) {
  all.push_back(workload<T>(backend, points_27, of_27_points<T>));
  all.push_back(workload<T>(backend, points_7, of_7_points<T>));
  all.push_back(workload<T>(backend, power_law, of_power_law<T>));
  all.push_back(workload<T>(backend, points_27_of_8, of_27_points<T>));
  all.push_back(workload<T>(backend, power_law_of_8, of_power_law<T>));
}

}  // namespace of_sparse

std::vector<Workload> sparse_workloads(Backend backend) {
  std::vector<Workload> all;
  of_sparse::append_workloads<double>(backend, all);
  of_sparse::append_workloads<float>(backend, all);
  return all;
}

}  // namespace gridstride::bench
