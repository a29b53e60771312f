#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/csr.hpp"
#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `sparse`: products of sparse matrices with vectors, y = A·x. T is float or double.
///
///   y_i = Σ_k values_k · x_(column_k),   k = offsets_i … offsets_(i+1) − 1
///
/// or of several vectors at once, Y = A·X: the columns of X lie one after the other, and those of Y.
/// What is read of the matrix is read once for some of them. Each column has the sums that it has alone.
///
/// A variant takes the matrix in a form of its own, which it makes once of the rows (CSR) that the
/// host has; a product then reads that form, x and y. Vectors lie in the stream's device memory.
/// Products are queued, nothing synchronises.
///
/// Sums are in T, each element's product and sum rounded once or twice; each row has its own fixed
/// order, whatever the GPU and however often: the same bits. The error of a row of m elements is at
/// most m·ε·Σ|values_k·x_k|.
namespace gridstride::sparse {

/// A matrix in the form that one variant takes.
template <class T>
class Product {
 public:
  virtual ~Product() = default;
  /// Queues Y ← A·X of so many columns. One product at a time: forms may hold partial sums of it.
  virtual void multiply(Stream& stream, T const* x, T* y, std::int64_t columns) const = 0;
  /// Bytes of device memory that the form takes.
  virtual std::size_t bytes() const = 0;
};

/// Makes the form; waits for the stream, so that the rows may go.
template <class T>
using Function = std::unique_ptr<Product<T>>(Stream&, Csr<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means where nothing is known of the matrix.
std::string_view default_variant(Backend backend);
/// What it means for this one.
template <class T>
std::string_view choose(Backend backend, Csr<T> const& matrix);

/// A sparse matrix on a device.
template <class T>
class Matrix {
 public:
  /// Throws `std::invalid_argument` for arrays that are no matrix (`fault_of`), for a variant that this
  /// backend does not have, and for one that does not take the matrix. Waits for the stream.
  Matrix(Stream& stream, Csr<T> const& rows, std::string_view variant = "auto");

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t nonzeros() const { return nonzeros_; }
  std::string_view variant() const { return variant_; }
  std::size_t bytes() const { return product_->bytes(); }

  /// Queues y ← A·x, or Y ← A·X of several vectors. Throws `std::invalid_argument` for arrays of other
  /// sizes, or that overlap.
  void multiply(Stream& stream, std::span<T const> x, std::span<T> y,
                std::int64_t vectors = 1) const;

 private:
  std::int64_t rows_, columns_, nonzeros_;
  std::string_view variant_;
  std::unique_ptr<Product<T>> product_;
};

}  // namespace gridstride::sparse
