#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/sparse/blocks.hpp"
#include "support/sparse_cases.hpp"

/// Inverses of blocks on the diagonal, on any backend, and what they are held to.
namespace gridstride::test {

using sparse::Blocks;

/// Rows of up to 9 elements about the diagonal, which dominates them where `definite`, and is one of
/// them otherwise; symmetric where `definite`.
template <class T>
Csr<T> banded(std::int64_t n, Blocks kind) {
  auto const numbers = random_vector<double>(9 * n, 4);
  Entries entries;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = std::max<std::int64_t>(0, i - 4); j <= std::min(n - 1, i + 4); ++j) {
      bool const definite = kind == Blocks::definite;
      double const value = numbers[static_cast<std::size_t>(
          9 * (definite ? std::min(i, j) : i) + std::abs(i - j) + (j > i && !definite ? 4 : 0))];
      if (i == j)
        entries[{i, j}] = definite ? 9 : value + std::copysign(0.5, value);
      else
        entries[{i, j}] = value;
    }
  return csr_of<T>(n, n, entries);
}

/// M⁻¹·r.
template <class T>
std::vector<T> solved_by_blocks(Stream& stream, sparse::BlockJacobi<T> const& blocks,
                                std::vector<T> const& r) {
  Buffer<T> there(stream, MemorySpace::device, r.size()), z(stream, MemorySpace::device, r.size());
  copy_async(there.span(), std::span(r), stream);
  blocks.solve(stream, std::as_const(there).span(), z.span());
  std::vector<T> result(r.size());
  copy_async(std::span(result), std::as_const(z).span(), stream);
  stream.synchronize();
  return result;
}

/// B·z = r in each block, up to roundings of the inverse and of its product with r.
template <class T>
void expect_block_solves(Stream& stream) {
  for (auto const kind : {Blocks::definite, Blocks::any})
    for (std::int64_t const n : {0, 1, 2, 31, 32, 33, 64, 257, 1023})
      for (std::int64_t const size : {1, 2, 3, 4, 8, 31, 32, 33, 64}) {
        SCOPED_TRACE(std::to_string(n) + " rows, blocks of " + std::to_string(size));
        auto const a = banded<T>(n, kind);
        auto const inverses = sparse::invert_blocks(a, size, kind);
        ASSERT_EQ(inverses.failed, -1);
        sparse::BlockJacobi<T> const blocks(stream, inverses);
        auto const r = random_vector<T>(n, 9);
        auto const z = solved_by_blocks(stream, blocks, r);
        EXPECT_EQ(solved_by_blocks(stream, blocks, r), z);
        for (std::int64_t i = 0; i < n; ++i) {
          std::int64_t const first = i / size * size, last = std::min(n, first + size);
          long double sum = 0, bound = std::abs(r[static_cast<std::size_t>(i)]);
          for (std::int64_t j = first; j < last; ++j) {
            long double const value = element(a, i, j);
            sum += value * z[static_cast<std::size_t>(j)];
            // |B|·|B⁻¹|·|r| bounds what a rounding of each product makes.
            for (std::int64_t k = first; k < last; ++k)
              bound +=
                  std::abs(value * inverses.values[static_cast<std::size_t>(k * size + j - first)] *
                           r[static_cast<std::size_t>(k)]);
          }
          auto const roundings = static_cast<long double>(last - first + 2);
          ASSERT_LE(std::abs(sum - r[static_cast<std::size_t>(i)]),
                    roundings * std::numeric_limits<T>::epsilon() * bound)
              << "row " << i;
        }
      }
}

}  // namespace gridstride::test
