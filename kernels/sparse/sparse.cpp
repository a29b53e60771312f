#include "kernels/sparse/sparse.hpp"

#include <stdexcept>

#include "kernels/sparse/rows.hpp"
#include "kernels/sparse/slices.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::sparse {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>,
       "each row's elements in their order, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "the same sums, rows shared out by their numbers of elements; of up to eight vectors at "
       "once"},
      {"scalar", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_scalar<T>), "a thread for each row"},
      {"vector", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_vector<T>),
       "2 to 32 threads for each row, side by side along it"},
      {"adaptive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_adaptive<T>),
       "2048 elements for each block, multiplied into shared memory, by one vector after the "
       "other; "
       "from there a thread sums a short row, a warp a long one"},
      {"merge", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_merge<T>),
       "the same number of elements and ends of rows for each thread"},
      {"slices", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_slices<T>),
       "32 rows cut along diagonals: 8 bytes tell the columns of 32 elements; for stencils and "
       "bands; up to eight vectors at once"},
      {"cusparse", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cusparse<T>),
       "cuSPARSE, to compare with"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "adaptive";
}

template <class T>
std::string_view choose(Backend backend, Csr<T> const& matrix) {
  if (backend == Backend::cuda && suits_slices(matrix)) return "slices";
  return default_variant(backend);
}

template <class T>
Matrix<T>::Matrix(Stream& stream, Csr<T> const& rows, std::string_view variant)
    : rows_(rows.rows), columns_(rows.columns), nonzeros_(rows.nonzeros()) {
  if (std::string const fault = fault_of(rows); !fault.empty())
    throw std::invalid_argument("sparse: " + fault);
  auto const& row = find_variant("sparse", variants<T>(), stream.device(),
                                 variant == "auto" ? choose(stream.backend(), rows) : variant);
  variant_ = row.name;
  product_ = row.run(stream, rows);
}

template <class T>
void Matrix<T>::multiply(Stream& stream, std::span<T const> x, std::span<T> y,
                         std::int64_t vectors) const {
  if (vectors < 0) throw std::invalid_argument("sparse: a product takes no fewer than 0 vectors");
  require_size("sparse", named("x", x), static_cast<std::size_t>(columns_ * vectors));
  require_size("sparse", named("y", y), static_cast<std::size_t>(rows_ * vectors));
  require_disjoint("sparse", named("x", x), named("y", y));
  if (y.empty()) return;
  if (nonzeros_ == 0) return zero_async(y, stream);
  product_->multiply(stream, x.data(), y.data(), vectors);
}

#define GRIDSTRIDE_INSTANTIATE(T)                               \
  template std::span<Variant<Function<T>> const> variants<T>(); \
  template std::string_view choose(Backend, Csr<T> const&);     \
  template class Matrix<T>;
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::sparse
