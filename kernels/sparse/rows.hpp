#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "core/upload.hpp"
#include "kernels/sparse/sparse.hpp"
#include "kernels/support/vector_groups.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::sparse {

template <class T>
using Form = std::unique_ptr<Product<T>>;

template <class T>
Form<T> host_reference(Stream&, Csr<T> const&);
template <class T>
Form<T> host_threads(Stream&, Csr<T> const&);

template <class T>
Form<T> cuda_scalar(Stream&, Csr<T> const&);
template <class T>
Form<T> cuda_vector(Stream&, Csr<T> const&);
template <class T>
Form<T> cuda_adaptive(Stream&, Csr<T> const&);
template <class T>
Form<T> cuda_merge(Stream&, Csr<T> const&);
template <class T>
Form<T> cuda_slices(Stream&, Csr<T> const&);
template <class T>
Form<T> cuda_cusparse(Stream&, Csr<T> const&);

/// A form that takes one vector after the other.
template <class T>
class SingleProduct : public Product<T> {
 public:
  SingleProduct(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}
  void multiply(Stream& stream, T const* x, T* y, std::int64_t vectors) const final {
    for (std::int64_t v = 0; v < vectors; ++v)
      multiply_one(stream, x + v * columns_, y + v * rows_);
  }

 protected:
  virtual void multiply_one(Stream& stream, T const* x, T* y) const = 0;

 private:
  std::int64_t rows_, columns_;
};

/// The rows as they are, on the device.
template <class T>
struct DeviceRows {
  DeviceRows(Stream& stream, Csr<T> const& matrix)
      : rows(matrix.rows),
        columns(matrix.columns),
        offsets(stream, MemorySpace::device, matrix.offsets.size()),
        column_indices(stream, MemorySpace::device, matrix.column_indices.size()),
        values(stream, MemorySpace::device, matrix.values.size()) {
    upload(offsets.span(), std::span(matrix.offsets), stream);
    upload(column_indices.span(), std::span(matrix.column_indices), stream);
    upload(values.span(), std::span(matrix.values), stream);
  }
  std::size_t bytes() const {
    return offsets.span().size_bytes() + column_indices.span().size_bytes() +
           values.span().size_bytes();
  }

  std::int64_t rows, columns;
  Buffer<std::int64_t> offsets;
  Buffer<std::int32_t> column_indices;
  Buffer<T> values;
};

}  // namespace gridstride::sparse
