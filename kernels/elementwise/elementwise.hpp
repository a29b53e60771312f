#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `elementwise`: each output from the inputs at its own place. T is float or double.
///
/// Arrays lie in the stream's device memory. An output may be the very array of an input, but for
/// `dot3`, `gather`, `component` and `magnitude`; an output that overlaps an input otherwise, sizes that differ, and unknown
/// variants throw `std::invalid_argument`. Nothing synchronises. Every variant gives the same bits:
/// a product and a sum are rounded separately, never fused. (Which NaN stands for "not a number" is
/// the device's choice.)
namespace gridstride::elementwise {

/// z_i = x_i + y_i
template <class T>
void add(Stream& stream, std::span<T const> x, std::span<T const> y, std::span<T> z,
         std::string_view variant = "auto");

/// y_i = a·x_i + y_i
template <class T>
void axpy(Stream& stream, T a, std::span<T const> x, std::span<T> y,
          std::string_view variant = "auto");

/// x_i = a·x_i
template <class T>
void scale(Stream& stream, T a, std::span<T> x, std::string_view variant = "auto");

/// x_i = a
template <class T>
void fill(Stream& stream, T a, std::span<T> x, std::string_view variant = "auto");

/// A matrix in row-major order: element (i, j) is at data[i·stride + j], stride ≥ columns.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;
};

/// C_ij = A_ij + B_ij. The gaps between rows are left alone, so that C may also lie beside A and B
/// in the rows of a wider matrix.
template <class T>
void matrix_add(Stream& stream, Matrix<T const> const& a, Matrix<T const> const& b,
                Matrix<T> const& c, std::string_view variant = "auto");

/// c_i = a_i · b_i, the dot products of vectors of three, stored one after the other (x, y, z):
/// `a` and `b` have three times the size of `c`. Summed in the order x, y, z.
template <class T>
void dot3(Stream& stream, std::span<T const> a, std::span<T const> b, std::span<T> c,
          std::string_view variant = "auto");

/// output_i = x[index_i]. The indices lie in device memory and are not checked.
template <class T>
void gather(Stream& stream, std::span<T const> x, std::span<std::int64_t const> index,
            std::span<T> output, std::string_view variant = "auto");

/// output_i = x[n·i + number]: a component of vectors with n components side by side.
template <class T>
void component(Stream& stream, std::span<T const> x, int n, int number, std::span<T> output,
               std::string_view variant = "auto");

/// output_i = m·sqrt(Σ_k (x[n·i + k]/m)²), summed in the order of k: the lengths of such vectors,
/// with m the largest |x[n·i + k]|, so that no square overflows or vanishes. Infinite or NaN where a
/// component is.
template <class T>
void magnitude(Stream& stream, std::span<T const> x, int n, std::span<T> output,
               std::string_view variant = "auto");

enum class Operation { add, axpy, scale, fill, matrix_add, dot3, gather, component, magnitude };

/// One piece of work for a rung, of at least one element; what an operation does not name stays
/// unused. `axpy` has y as its output too, `scale` x.
template <class T>
struct Arguments {
  Operation operation = Operation::fill;
  T scalar = 0;
  T const* x = nullptr;
  T const* y = nullptr;
  std::int64_t const* index = nullptr;
  T* output = nullptr;
  std::int64_t size = 0;                     ///< elements of the output
  std::int64_t rows = 1, columns = 0;        ///< of matrices
  std::array<std::int64_t, 3> strides = {};  ///< of x, y and output as matrices; of x as vectors
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest that gives the same bits every time.
std::string_view default_variant(Backend backend);

}  // namespace gridstride::elementwise
