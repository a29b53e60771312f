#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/factorize/measures/symmetry.hpp"

/// `symmetry` on any device.
namespace gridstride::factorize::test {

/// A symmetric matrix of positive elements with gaps between its rows, which hold NaN.
template <class T>
class SymmetricMatrix {
 public:
  explicit SymmetricMatrix(std::int64_t n)
      : n_(n), leading_(n + 3), values_(static_cast<std::size_t>(n * leading_), nan) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) at(i, j) = static_cast<T>(1 + i * j % 7 + (i + j) % 5);
  }
  T& at(std::int64_t i, std::int64_t j) {
    return values_[static_cast<std::size_t>(i * leading_ + j)];
  }
  Symmetry look(Stream& stream) const {
    Buffer<T> device(stream, MemorySpace::device, values_.size());
    copy_async(device.span(), values_, stream);
    return symmetry<T>(stream, {std::as_const(device).data(), n_, n_, leading_});
  }

  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();

 private:
  std::int64_t n_, leading_;
  std::vector<T> values_;
};

inline void expect(Symmetry const& found, std::int64_t row, std::int64_t column,
                   std::int64_t diagonal) {
  EXPECT_EQ(found.row, row);
  EXPECT_EQ(found.column, column);
  EXPECT_EQ(found.diagonal, diagonal);
}

template <class T>
void expect_what_is_there(Stream& stream) {
  expect(symmetry<T>(stream, {}), -1, -1, -1);
  for (std::int64_t const n : {1, 2, 31, 32, 33, 63, 65, 97, 300}) {
    SCOPED_TRACE(fmt::format("n = {}", n));
    SymmetricMatrix<T> matrix(n);
    expect(matrix.look(stream), -1, -1, -1);
    matrix.at(n - 1, n - 1) = -1;
    matrix.at(n / 2, n / 2) = 0;
    expect(matrix.look(stream), -1, -1, n / 2);
    if (n < 31) continue;
    matrix.at(n - 1, 5) += 1;
    expect(matrix.look(stream), 5, n - 1, n / 2);
    matrix.at(7, 8) = SymmetricMatrix<T>::nan;
    expect(matrix.look(stream), 5, n - 1, n / 2);
    matrix.at(3, 3) = SymmetricMatrix<T>::nan;
    expect(matrix.look(stream), 3, 3, 3);
    matrix.at(1, 0) = -matrix.at(1, 0);
    expect(matrix.look(stream), 0, 1, 3);
  }
  EXPECT_THROW(symmetry<T>(stream, {nullptr, 2, 3}), std::invalid_argument);
}

}  // namespace gridstride::factorize::test
