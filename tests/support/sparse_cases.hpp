#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/sparse/sparse.hpp"
#include "kernels/sparse/stencil_matrix.hpp"
#include "support/vendor_rows.hpp"

/// Sparse matrices, multiplied on any backend, and what products are compared with.
namespace gridstride::test {

/// Elements by row and column.
using Entries = std::map<std::pair<std::int64_t, std::int64_t>, double>;

template <class T>
Csr<T> csr_of(std::int64_t rows, std::int64_t columns, Entries const& entries) {
  Csr<T> matrix{rows, columns, {}, {}, {}};
  matrix.offsets.assign(static_cast<std::size_t>(rows) + 1, 0);
  for (auto const& [place, value] : entries) {
    ++matrix.offsets[static_cast<std::size_t>(place.first) + 1];
    matrix.column_indices.push_back(static_cast<std::int32_t>(place.second));
    matrix.values.push_back(static_cast<T>(value));
  }
  for (std::size_t i = 1; i < matrix.offsets.size(); ++i)
    matrix.offsets[i] += matrix.offsets[i - 1];
  return matrix;
}

/// Row i has `length(i)` elements, at most one in each column.
template <class T, class Length>
Csr<T> random_csr(std::int64_t rows, std::int64_t columns, unsigned seed, Length const& length) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> between(-1, 1);
  Csr<T> matrix{rows, columns, {}, {}, {}};
  matrix.offsets.push_back(0);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t const own = std::min<std::int64_t>(columns, length(row));
    for (std::int64_t k = 0; k < own; ++k) {
      // One column out of each of so many parts.
      std::int64_t const first = k * columns / own, last = (k + 1) * columns / own;
      std::uniform_int_distribution<std::int64_t> column(first, last - 1);
      matrix.column_indices.push_back(static_cast<std::int32_t>(column(random)));
      matrix.values.push_back(static_cast<T>(between(random)));
    }
    matrix.offsets.push_back(matrix.nonzeros());
  }
  return matrix;
}

/// Matrices of all kinds that a rung has to take, by name.
template <class T>
std::vector<std::pair<std::string, Csr<T>>> matrices_of_all_kinds() {
  std::vector<std::pair<std::string, Csr<T>>> all;
  all.emplace_back("no rows", csr_of<T>(0, 5, {}));
  all.emplace_back("no columns", csr_of<T>(7, 0, {}));
  all.emplace_back("no elements", csr_of<T>(100, 3, {}));
  all.emplace_back("one element", csr_of<T>(1, 1, {{{0, 0}, 3}}));
  all.emplace_back("the last place", csr_of<T>(33, 65, {{{32, 64}, -2}}));
  for (std::int64_t const n : {31, 32, 33, 255, 256, 257, 1023})
    all.emplace_back("rows of 0 to 6, " + std::to_string(n),
                     random_csr<T>(n, n, 1, [](std::int64_t i) { return i * 5 % 7; }));
  all.emplace_back("wide", random_csr<T>(5, 20000, 2, [](std::int64_t) { return 700; }));
  all.emplace_back("tall", random_csr<T>(9001, 3, 3, [](std::int64_t i) { return i % 4; }));
  all.emplace_back("rows about the size of a piece", random_csr<T>(9, 9000, 4, [](std::int64_t i) {
                     std::int64_t const lengths[] = {2047, 2048, 2049, 0, 1, 4096, 4097, 9000, 5};
                     return lengths[i];
                   }));
  all.emplace_back("one long row", random_csr<T>(4000, 9000, 5, [](std::int64_t i) {
                     return i == 1234 ? std::int64_t{9000} : i % 2;
                   }));
  all.emplace_back("lengths about 48",
                   random_csr<T>(300, 400, 6, [](std::int64_t i) { return 40 + i % 17; }));
  all.emplace_back("few rows of hundreds",
                   random_csr<T>(20, 800, 7, [](std::int64_t i) { return 30 * i; }));
  using sparse::Neighbours;
  all.emplace_back("7 points", sparse::stencil_matrix<T>(Neighbours::axes, {13, 5, 7}));
  all.emplace_back("27 points", sparse::stencil_matrix<T>(Neighbours::all, {35, 4, 3}));
  all.emplace_back("3 points", sparse::stencil_matrix<T>(Neighbours::axes, {1000, 1, 1}));
  return all;
}

/// y = A·x on the stream's device, from memory full of NaN; or Y = A·X.
template <class T>
std::vector<T> product(Stream& stream, sparse::Matrix<T> const& matrix, std::vector<T> const& x,
                       std::int64_t vectors = 1) {
  std::vector<T> y(static_cast<std::size_t>(matrix.rows() * vectors),
                   std::numeric_limits<T>::quiet_NaN());
  Buffer<T> x_there(stream, MemorySpace::device, x.size());
  Buffer<T> y_there(stream, MemorySpace::device, y.size());
  copy_async(x_there.span(), std::span(x), stream);
  copy_async(y_there.span(), std::span(y), stream);
  matrix.multiply(stream, x_there.span(), y_there.span(), vectors);
  copy_async(std::span(y), y_there.span(), stream);
  stream.synchronize();
  return y;
}

template <class T>
std::vector<T> random_vector(std::int64_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> between(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(size));
  for (T& value : values) value = static_cast<T>(between(random));
  return values;
}

/// Each y_i is within m·ε·Σ|a·x| of the sum in extended precision (and one more rounding).
template <class T>
void expect_product(Csr<T> const& matrix, std::vector<T> const& x, std::vector<T> const& y,
                    std::string_view what) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    long double sum = 0, magnitude = 0;
    auto const first = static_cast<std::size_t>(matrix.offsets[i]);
    auto const last = static_cast<std::size_t>(matrix.offsets[i + 1]);
    for (auto k = first; k < last; ++k) {
      auto const term = static_cast<long double>(matrix.values[k]) *
                        x[static_cast<std::size_t>(matrix.column_indices[k])];
      sum += term;
      magnitude += std::abs(term);
    }
    auto const bound =
        static_cast<long double>(last - first + 1) * std::numeric_limits<T>::epsilon() * magnitude;
    ASSERT_LE(std::abs(y[i] - sum), bound) << what << ", row " << i;
  }
}

/// Several vectors at once: each is what it is alone, to the last bit but of cuSPARSE.
template <class T>
void expect_products_with_several(Stream& stream, Csr<T> const& matrix,
                                  sparse::Matrix<T> const& there, std::string const& what) {
  for (std::int64_t const vectors : {0, 2, 3, 15}) {
    auto const x = random_vector<T>(matrix.columns * vectors, 9);
    auto const y = product(stream, there, x, vectors);
    for (std::int64_t v = 0; v < vectors; ++v) {
      std::vector<T> const own_x(x.begin() + v * matrix.columns,
                                 x.begin() + (v + 1) * matrix.columns);
      std::vector<T> const own_y(y.begin() + v * matrix.rows, y.begin() + (v + 1) * matrix.rows);
      expect_product(matrix, own_x, own_y, what + ", several");
      if (there.variant() != "cusparse") {
        EXPECT_EQ(product(stream, there, own_x), own_y) << what << ", vector " << v;
      }
    }
  }
}

/// All rungs of the stream's backend on all kinds of matrices: within bounds, the same bits twice.
template <class T>
int check_products(Stream& stream) {
  int checked = 0;
  for (auto const& [kind, matrix] : matrices_of_all_kinds<T>()) {
    auto const x = random_vector<T>(matrix.columns, 8);
    for (auto const& row : sparse::variants<T>()) {
      if (row.backend != stream.backend() || row.run == nullptr || !has_library_of(row.name))
        continue;
      std::string const what = kind + " by " + std::string(row.name);
      sparse::Matrix<T> const there(stream, matrix, row.name);
      auto const y = product(stream, there, x);
      expect_product(matrix, x, y, what);
      if (row.name != "cusparse") {  // whose bits differ from run to run
        EXPECT_EQ(product(stream, there, x), y) << what;
      }
      expect_products_with_several(stream, matrix, there, what);
      ++checked;
    }
  }
  return checked;
}

}  // namespace gridstride::test
