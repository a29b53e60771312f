#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/matmul/matmul.hpp"
#include "support/same_bits.hpp"
#include "support/vendor_rows.hpp"

/// Products of all shapes, run on any device and compared on the host.
namespace gridstride::test {

/// C = α·op(A)·op(B) + β·C and how its matrices lie in memory.
struct MatmulCase {
  std::int64_t m, n, k;
  Op op_a = Op::none, op_b = Op::none;
  double alpha = 1, beta = 0;
  std::array<std::int64_t, 3> gap{};     ///< between the rows of A, B and C
  std::array<std::int64_t, 3> offset{};  ///< of their first elements, after an aligned address
  bool whole = false;                    ///< small whole numbers: nothing is rounded

  std::string text() const {
    auto const op = [](Op o) { return o == Op::none ? "N" : "T"; };
    std::string text = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) +
                       ' ' + op(op_a) + op(op_b) + ", alpha " + std::to_string(alpha) + ", beta " +
                       std::to_string(beta) + ", gaps";
    for (auto const value : gap) text += ' ' + std::to_string(value);
    text += ", offsets";
    for (auto const value : offset) text += ' ' + std::to_string(value);
    return text + (whole ? ", whole" : "");
  }
};

/// A matrix in memory of its own, with `outside` before it, between its rows and after it.
template <class T>
struct StoredMatrix {
  std::int64_t rows, columns, leading, offset;
  std::vector<T> memory;

  StoredMatrix(std::int64_t row_count, std::int64_t column_count, std::int64_t gap,
               std::int64_t first, T outside)
      : rows(row_count),
        columns(column_count),
        leading(column_count + gap),
        offset(first),
        memory(first + row_count * leading + 5, outside) {}

  Matrix<T> view() { return {memory.data() + offset, rows, columns, leading}; }
  /// The same matrix in memory that is a copy of this one.
  Matrix<T> view_in(std::span<T> copy) const {
    return {copy.data() + offset, rows, columns, leading};
  }
  T& at(std::int64_t i, std::int64_t j) { return memory[offset + i * leading + j]; }
  T at(std::int64_t i, std::int64_t j) const { return memory[offset + i * leading + j]; }

  template <class Fill>
  void fill(Fill const& value) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) at(i, j) = value();
  }
  /// The same in float64, or its magnitudes, without gaps.
  StoredMatrix<double> converted(bool magnitudes) const {
    StoredMatrix<double> result(rows, columns, 0, 0, 0);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        result.at(i, j) = magnitudes ? std::fabs(double{at(i, j)}) : double{at(i, j)};
    return result;
  }
};

/// What a case computes with. Numbers that must not be read are not numbers: what lies outside of
/// A and B, both where α = 0, and C where β = 0.
template <class T>
struct MatmulData {
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN(), outside_c = T(77);
  StoredMatrix<T> a, b, c;

  explicit MatmulData(MatmulCase const& one)
      : a(one.op_a == Op::none ? one.m : one.k, one.op_a == Op::none ? one.k : one.m, one.gap[0],
          one.offset[0], nan),
        b(one.op_b == Op::none ? one.k : one.n, one.op_b == Op::none ? one.n : one.k, one.gap[1],
          one.offset[1], nan),
        c(one.m, one.n, one.gap[2], one.offset[2], outside_c) {
    std::mt19937_64 generator(static_cast<std::uint64_t>(one.m * 1000003 + one.n * 1009 + one.k));
    auto const random = [&] {
      if (one.whole) return static_cast<T>(static_cast<int>(generator() % 5) - 2);
      return std::uniform_real_distribution<T>(-1, 1)(generator);
    };
    auto const no_number = [] { return nan; };
    if (one.alpha != 0) {
      a.fill(random);
      b.fill(random);
    } else {
      a.fill(no_number);
      b.fill(no_number);
    }
    if (one.beta != 0)
      c.fill(random);
    else
      c.fill(no_number);
  }
};

/// The exact result, to float64's rounding, and Σ|α||a||b| + |β||c| of each element.
struct MatmulExpected {
  StoredMatrix<double> result, magnitude;
};

template <class T>
MatmulExpected expected_product(MatmulCase const& one, MatmulData<T> const& data,
                                std::string_view variant) {
  Stream host(Device::open(Backend::cpu));
  auto const compute = [&](bool magnitudes) {
    auto const sized = [&](double value) { return magnitudes ? std::fabs(value) : value; };
    auto a = data.a.converted(magnitudes), b = data.b.converted(magnitudes),
         c = data.c.converted(magnitudes);
    matmul::multiply<double>(host, sized(one.alpha), {a.view(), one.op_a}, {b.view(), one.op_b},
                             sized(one.beta), c.view(), variant);
    return c;
  };
  return {compute(false), compute(true)};
}

/// Of the operands of a variant that rounds or truncates them to 10 bits.
inline double operand_rounding(std::string_view variant) {
  return variant == "tf32" || variant == "cublas_tf32" ? std::ldexp(1.0, -10) : 0;
}

/// Whether `c` is what is expected, and what lies around it is as before.
///
/// A sum of k products, added in any order, differs from the exact one by at most k·u·Σ|a||b| to
/// first order, u = ε/2 (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., 3.1);
/// α, β and the last sum round once each. With ε in place of u there is room for what the expected
/// result has of float64's errors, and for terms of second order. Operands that are rounded by δ
/// each add 2·δ·Σ|a||b|.
template <class T>
testing::AssertionResult is_product(MatmulCase const& one, MatmulExpected const& expected,
                                    StoredMatrix<T> const& c, double operands_rounded) {
  double const epsilon = std::numeric_limits<T>::epsilon();
  double const relative =
      one.whole ? 0 : static_cast<double>(one.k + 3) * epsilon + 2 * operands_rounded;
  for (std::int64_t i = 0; i < one.m; ++i)
    for (std::int64_t j = 0; j < one.n; ++j) {
      double const got = c.at(i, j), want = expected.result.at(i, j);
      if (!(std::fabs(got - want) <= relative * expected.magnitude.at(i, j)))
        return testing::AssertionFailure()
               << "at " << i << ", " << j << ": " << got << " in place of " << want << ", where "
               << relative * expected.magnitude.at(i, j) << " is allowed";
    }
  StoredMatrix<T> around = c;
  around.fill([] { return MatmulData<T>::outside_c; });
  if (std::ranges::any_of(around.memory, [](T x) { return x != MatmulData<T>::outside_c; }))
    return testing::AssertionFailure() << "written outside of C";
  return testing::AssertionSuccess();
}

/// A case's matrices in the memory of the stream's device.
template <class T>
struct MatmulOnDevice {
  Stream& stream;
  MatmulCase one;
  MatmulData<T> const& data;
  Buffer<T> a, b;

  MatmulOnDevice(Stream& on, MatmulCase const& what, MatmulData<T> const& with)
      : stream(on), one(what), data(with), a(uploaded(with.a)), b(uploaded(with.b)) {}

  Buffer<T> uploaded(StoredMatrix<T> const& matrix) {
    Buffer<T> buffer(stream, MemorySpace::device, matrix.memory.size());
    copy_async(buffer.span(), std::span(matrix.memory), stream);
    return buffer;
  }
  void multiply(Buffer<T>& c, std::string_view variant, int spared = 0) {
    matmul::multiply<T>(stream, static_cast<T>(one.alpha), {data.a.view_in(a.span()), one.op_a},
                        {data.b.view_in(b.span()), one.op_b}, static_cast<T>(one.beta),
                        data.c.view_in(c.span()), variant, spared);
  }
  /// C after the product.
  StoredMatrix<T> product(std::string_view variant, int spared = 0) {
    StoredMatrix<T> result = data.c;
    auto c = uploaded(result);
    multiply(c, variant, spared);
    copy_async(std::span(result.memory), c.span(), stream);
    stream.synchronize();
    return result;
  }
};

/// The variants of a backend that take T and have what they need on this machine.
template <class T>
std::vector<std::string_view> matmul_variants(Backend backend) {
  std::vector<std::string_view> names;
  for (auto const& row : matmul::variants<T>())
    if (row.backend == backend && row.run != nullptr && has_library_of(row.name))
      names.push_back(row.name);
  return names;
}

/// Runs every variant of the stream's backend and compares it. `oracle` is the host's variant that
/// knows the result. Adds to `compared`.
template <class T>
void compare_products(Stream& stream, MatmulCase const& one, int& compared,
                      std::string_view oracle = "reference") {
  MatmulData<T> const data(one);
  auto const expected = expected_product(one, data, oracle);
  MatmulOnDevice<T> on_device(stream, one, data);
  for (auto const variant : matmul_variants<T>(stream.backend())) {
    try {
      EXPECT_TRUE(is_product(one, expected, on_device.product(variant), operand_rounding(variant)))
          << variant << ", " << one.text();
      ++compared;
    } catch (std::invalid_argument const&) {
      // Some variants need instructions of a newer architecture.
      if (stream.backend() == Backend::cpu || stream.device().compute_capability() >= 90) throw;
    }
  }
}

/// Cases of all small shapes about the sizes of tiles, each with other ops, factors, gaps and
/// alignments.
inline std::vector<MatmulCase> small_matmul_cases(std::span<std::int64_t const> sizes) {
  constexpr std::array<std::int64_t, 6> gaps = {0, 0, 1, 3, 4, 8};
  constexpr std::array<std::array<double, 2>, 10> factors = {{{1, 0},
                                                              {1, 1},
                                                              {-1, 1},
                                                              {0.5, -1},
                                                              {1, 0.5},
                                                              {-1, 0},
                                                              {0.5, 0.5},
                                                              {0, 0.5},
                                                              {0, 0},
                                                              {0, 1}}};
  std::mt19937_64 generator(7);
  std::vector<MatmulCase> cases;
  for (auto const m : sizes)
    for (auto const n : sizes)
      for (auto const k : sizes) {
        auto const pick = [&](auto const& from) { return from[generator() % from.size()]; };
        MatmulCase one{m, n, k};
        one.op_a = generator() % 2 == 0 ? Op::none : Op::transpose;
        one.op_b = generator() % 2 == 0 ? Op::none : Op::transpose;
        auto const factor = pick(factors);
        one.alpha = factor[0];
        one.beta = factor[1];
        // Half of the cases are aligned, as fast paths want it.
        if (generator() % 2 == 0)
          for (int i = 0; i < 3; ++i) {
            one.gap[i] = pick(gaps);
            one.offset[i] = static_cast<std::int64_t>(generator() % 2);
          }
        else
          one.gap = {(8 - (one.op_a == Op::none ? k : m) % 8) % 8,
                     (8 - (one.op_b == Op::none ? n : k) % 8) % 8, (8 - n % 8) % 8};
        one.whole = generator() % 4 == 0;
        cases.push_back(one);
      }
  return cases;
}
inline constexpr std::array<std::int64_t, 12> matmul_sizes = {0,  1,  2,  15, 16, 17,
                                                              31, 33, 64, 65, 97, 130};

/// Whether both hold the same bits.
template <class T>
bool same_bits(StoredMatrix<T> const& a, StoredMatrix<T> const& b) {
  return same_bits(a.memory, b.memory);
}

}  // namespace gridstride::test
