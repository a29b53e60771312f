#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "kernels/sparse/stencil_matrix.hpp"

/// Kernel family `lattice`: products y = A·x with the matrices of stencils (sparse/stencil_matrix.hpp)
/// of which nothing is stored. T is float or double.
///
///   y_p = c·x_p − Σ_q x_q
///
/// over the neighbours q of p along the axes, with c the diagonal; or, with all neighbours, over the
/// box of up to 3 × 3 × 3 points around p, with c the diagonal and 1. Beyond sides there is 0.
///
/// Vectors lie in the stream's device memory, x fastest. Products are queued, nothing synchronises.
/// Sums are in T, each point's in an order that depends on nothing: the same bits from a row of the
/// table every time, on every GPU and with any number of threads. The error at a point whose row
/// has m elements is at most (m + 1)·ε·Σ|a·x|.
namespace gridstride::lattice {

using sparse::GridPoints;
using sparse::Neighbours;

/// One product for a rung.
template <class T>
struct Work {
  Neighbours neighbours;
  GridPoints points;  ///< axes of one point come last
  T center;           ///< c
  T const* x;
  T* y;
};

template <class T>
using Function = void(Stream&, Work<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means.
std::string_view default_variant(Backend backend);

/// The matrix of a stencil on a grid.
template <class T>
class Matrix {
 public:
  /// `dims` is that of `sparse::stencil_matrix`.
  /// Throws `std::invalid_argument` for grids that `sparse::stencil_matrix` does not take, and for a
  /// variant that this device does not have.
  Matrix(Stream& stream, Neighbours neighbours, GridPoints const& points,
         std::string_view variant = "auto", int dims = 0);

  std::int64_t rows() const { return rows_; }
  std::string_view variant() const { return row_->name; }
  /// The largest of the rows' sums Σ|a|, ‖A‖∞.
  double norm() const { return norm_; }

  /// Queues y ← A·x. Throws `std::invalid_argument` for vectors of other sizes, or that overlap.
  void multiply(Stream& stream, std::span<T const> x, std::span<T> y) const;

 private:
  std::int64_t rows_;
  double norm_;
  Work<T> work_;
  Variant<Function<T>> const* row_;
};

}  // namespace gridstride::lattice
