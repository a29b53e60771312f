// `cusparse`: cuSPARSE's product with its own default algorithm, to compare with. What it has to
// look at in the matrix it looks at once, before the first product. Several vectors are a dense matrix
// to it.

#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "kernels/sparse/rows.hpp"
#include "kernels/support/cusparse.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::sparse {

namespace {

template <class T>
class Vendor final : public Product<T> {
 public:
  Vendor(Stream& stream, Csr<T> const& matrix)
      : rows_(matrix.rows),
        columns_(matrix.columns),
        offsets_(stream, MemorySpace::device, matrix.offsets.size()),
        column_indices_(stream, MemorySpace::device, matrix.column_indices.size()),
        values_(stream, MemorySpace::device, matrix.values.size()) {
    if (matrix.nonzeros() > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("sparse: 'cusparse' takes less than 2^31 elements");
    std::vector<std::int32_t> const offsets(matrix.offsets.begin(), matrix.offsets.end());
    copy_async(offsets_.span(), std::span(offsets), stream);
    copy_async(column_indices_.span(), std::span(matrix.column_indices), stream);
    copy_async(values_.span(), std::span(matrix.values), stream);
    GRIDSTRIDE_CUSPARSE_CALL(cusparseCreateConstCsr, &matrix_, rows_, columns_, matrix.nonzeros(),
                             offsets_.data(), column_indices_.data(), values_.data(),
                             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                             type);
    // Only the sizes of the vectors matter here.
    T* const y = nullptr;
    auto const vectors = Vectors(*this, y, y);
    std::size_t bytes = 0;
    auto const handle = cusparse_handle(stream);
    GRIDSTRIDE_CUSPARSE_CALL(cusparseSpMV_bufferSize, handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                             &one, matrix_, vectors.x, &zero, vectors.y, type,
                             CUSPARSE_SPMV_ALG_DEFAULT, &bytes);
    memory_ = {stream, MemorySpace::device, bytes};
    GRIDSTRIDE_CUSPARSE_CALL(cusparseSpMV_preprocess, handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                             &one, matrix_, vectors.x, &zero, vectors.y, type,
                             CUSPARSE_SPMV_ALG_DEFAULT, memory_.data());
    stream.synchronize();
  }
  ~Vendor() override {
    static auto* const destroy =
        cusparse().function<decltype(cusparseDestroySpMat)>("cusparseDestroySpMat");
    destroy(matrix_);
  }

  void multiply(Stream& stream, T const* x, T* y, std::int64_t vectors) const override {
    if (vectors == 1) return multiply_one(stream, x, y);
    auto const block = VectorBlock(*this, x, y, vectors);
    auto const handle = cusparse_handle(stream);
    std::size_t bytes = 0;
    GRIDSTRIDE_CUSPARSE_CALL(cusparseSpMM_bufferSize, handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                             CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, block.x, &zero,
                             block.y, type, CUSPARSE_SPMM_ALG_DEFAULT, &bytes);
    if (bytes > block_memory_.size()) block_memory_ = {stream, MemorySpace::device, bytes};
    GRIDSTRIDE_CUSPARSE_CALL(cusparseSpMM, handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                             CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, block.x, &zero,
                             block.y, type, CUSPARSE_SPMM_ALG_DEFAULT, block_memory_.data());
  }
  void multiply_one(Stream& stream, T const* x, T* y) const {
    auto const vectors = Vectors(*this, x, y);
    GRIDSTRIDE_CUSPARSE_CALL(cusparseSpMV, cusparse_handle(stream),
                             CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, vectors.x, &zero,
                             vectors.y, type, CUSPARSE_SPMV_ALG_DEFAULT,
                             const_cast<std::byte*>(memory_.data()));
  }
  std::size_t bytes() const override {
    return offsets_.span().size_bytes() + column_indices_.span().size_bytes() +
           values_.span().size_bytes() + memory_.size() + block_memory_.size();
  }

 private:
  static constexpr auto type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;
  static constexpr T one = 1, zero = 0;

  /// The library's names for x and y.
  struct Vectors {
    Vectors(Vendor const& of, T const* x_values, T* y_values) {
      GRIDSTRIDE_CUSPARSE_CALL(cusparseCreateConstDnVec, &x, of.columns_, x_values, type);
      GRIDSTRIDE_CUSPARSE_CALL(cusparseCreateDnVec, &y, of.rows_, y_values, type);
    }
    ~Vectors() {
      static auto* const destroy =
          cusparse().function<decltype(cusparseDestroyDnVec)>("cusparseDestroyDnVec");
      destroy(x);
      destroy(y);
    }
    Vectors(Vectors const&) = delete;
    Vectors& operator=(Vectors const&) = delete;
    cusparseConstDnVecDescr_t x = nullptr;
    cusparseDnVecDescr_t y = nullptr;
  };

  /// And for X and Y, columns one after the other.
  struct VectorBlock {
    VectorBlock(Vendor const& of, T const* x_values, T* y_values, std::int64_t vectors) {
      GRIDSTRIDE_CUSPARSE_CALL(cusparseCreateConstDnMat, &x, of.columns_, vectors, of.columns_,
                               x_values, type, CUSPARSE_ORDER_COL);
      GRIDSTRIDE_CUSPARSE_CALL(cusparseCreateDnMat, &y, of.rows_, vectors, of.rows_, y_values, type,
                               CUSPARSE_ORDER_COL);
    }
    ~VectorBlock() {
      static auto* const destroy =
          cusparse().function<decltype(cusparseDestroyDnMat)>("cusparseDestroyDnMat");
      destroy(x);
      destroy(y);
    }
    VectorBlock(VectorBlock const&) = delete;
    VectorBlock& operator=(VectorBlock const&) = delete;
    cusparseConstDnMatDescr_t x = nullptr;
    cusparseDnMatDescr_t y = nullptr;
  };

  std::int64_t rows_, columns_;
  Buffer<std::int32_t> offsets_, column_indices_;
  Buffer<T> values_;
  Buffer<std::byte> memory_;
  mutable Buffer<std::byte> block_memory_;
  cusparseConstSpMatDescr_t matrix_ = nullptr;
};

}  // namespace

template <class T>
Form<T> cuda_cusparse(Stream& stream, Csr<T> const& matrix) {
  return std::make_unique<Vendor<T>>(stream, matrix);
}

#define GRIDSTRIDE_INSTANTIATE(T) template Form<T> cuda_cusparse(Stream&, Csr<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse
