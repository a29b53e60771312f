#include "kernels/matmul/matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "kernels/matmul/rows.hpp"

namespace gridstride::matmul {

namespace {

/// The function of a row that takes one type alone: none in the other type's table.
template <class T, class Only>
constexpr Function<T>* only(void (*run)(Stream&, Arguments<Only> const&)) {
  if constexpr (std::is_same_v<T, Only>)
    return run;
  else
    return nullptr;
}

}  // namespace

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>,
       "one element of C after the other, its products in order, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "blocks that stay in the caches, copied in the order of use; several rows and vectors of C "
       "in registers"},
      {"openblas", Backend::cpu, host_openblas<T>,
       "OpenBLAS; its bits may depend on the number of threads. The default where it is installed, "
       "`threads` elsewhere"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_naive<T>),
       "a thread per element of C; neighbours work on neighbouring rows, far apart in memory"},
      {"coalesced", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_coalesced<T>),
       "neighbours work on neighbouring columns, so that a warp reads and writes whole lines"},
      {"tiled_16", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_tiled_16<T>),
       "tiles of 16 x 16 in shared memory: each element is read 16 times less often"},
      {"tiled_32", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_tiled_32<T>),
       "tiles of 32 x 32: half the reads of global memory"},
      {"tiled_padded", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_tiled_padded<T>),
       "tiles with padded rows: a transposed operand goes into its tile with few bank conflicts"},
      {"register_blocked", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_register_blocked<T>),
       "8 x 8 elements of C per thread: 64 multiply-adds for 16 reads of shared memory; the next "
       "tiles are fetched meanwhile"},
      {"vectorized", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_vectorized<T>),
       "16 bytes per load and store, of global and of shared memory"},
      {"warp_tiled",
       Backend::cuda,
       GRIDSTRIDE_CUDA_ROW(cuda_warp_tiled<T>),
       "tiles of several sizes, fetched several steps ahead by asynchronous copies, in parts per "
       "warp; "
       "the default of float32",
       {.shared_bytes = warp_tiled_shared_bytes, .async_copies = true}},
      {"dmma",
       Backend::cuda,
       GRIDSTRIDE_CUDA_ROW(only<T>(cuda_dmma)),
       "the float64 tensor cores; from compute capability 9.0, and the default of float64 there",
       {.shared_bytes = dmma_shared_bytes, .async_copies = true, .float64_products = true}},
      {"tf32",
       Backend::cuda,
       GRIDSTRIDE_CUDA_ROW(only<T>(cuda_tf32)),
       "float32 operands rounded to TF32 on the tensor cores, by wgmma and TMA; compute capability "
       "9.0 alone, opt-in",
       {.shared_bytes = wgmma_shared_bytes, .bulk_copies = true, .wgmma = true}},
      {"tf32x3",
       Backend::cuda,
       GRIDSTRIDE_CUDA_ROW(only<T>(cuda_tf32x3)),
       "float32's accuracy from operands split in two parts of TF32 each; compute capability 9.0 "
       "alone, opt-in",
       {.shared_bytes = wgmma_shared_bytes, .bulk_copies = true, .wgmma = true}},
      {"thin", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_thin<T>),
       "few columns or rows: the large matrix is read once, its long side shared by many blocks"},
      {"cublas", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cublas<T>),
       "cuBLAS, to compare with; in true float32"},
      {"cublas_tf32", Backend::cuda, GRIDSTRIDE_CUDA_ROW(only<T>(cuda_cublas_tf32)),
       "cuBLAS with operands rounded to TF32, to compare with; float32 alone"},
  };
  return rows;
}

template <class T>
std::string_view default_variant(Backend backend) {
  if (backend == Backend::cuda) return std::is_same_v<T, double> ? "dmma" : "warp_tiled";
  return openblas_available() ? "openblas" : "threads";
}

template <class T>
std::string_view choose(Device const& device, Arguments<T> const& x) {
  if (device.backend() == Backend::cpu) return openblas_takes(x) ? "openblas" : "threads";
  // Products with few columns or rows are bound by the read of the large matrix. `thin` is the
  // nearest to its time: up to `few` of them, fewer where tensor cores do the work of more, and
  // where both are few and k alone is long, so that the other rows had few tiles to share.
  constexpr std::int64_t few = std::is_same_v<T, double> ? 4 : 8;
  constexpr std::int64_t few_of_both = 16, long_k = 1 << 16;
  if (std::min(x.m, x.n) <= few || (std::max(x.m, x.n) <= few_of_both && x.k >= long_k))
    return "thin";
  Capabilities const& has = device.capabilities();
  if (std::is_same_v<T, double> && has.float64_products) return "dmma";
  bool const within_reach = std::max(x.lda, x.ldb) <= warp_tiled_longest_row<T>;
  return has.async_copies && within_reach ? "warp_tiled" : "vectorized";
}

namespace {

template <class T>
void require_matrix(std::string_view name, Matrix<T const> const& x) {
  if (x.rows < 0 || x.columns < 0)
    throw std::invalid_argument(
        fmt::format("multiply: {} is {} x {} (sizes are not negative)", name, x.rows, x.columns));
  if (x.leading < x.columns)
    throw std::invalid_argument(
        fmt::format("multiply: {} has {} columns, its leading dimension {} "
                    "is less",
                    name, x.columns, x.leading));
}

template <class T>
void require_shapes(Operand<T> const& a, Operand<T> const& b, Matrix<T const> const& c) {
  require_matrix("A", a.matrix);
  require_matrix("B", b.matrix);
  require_matrix("C", c);
  if (a.columns() != b.rows())
    throw std::invalid_argument(
        fmt::format("multiply: op(A) is {} x {} and op(B) is {} x {} (the inner sizes must agree)",
                    a.rows(), a.columns(), b.rows(), b.columns()));
  if (c.rows != a.rows() || c.columns != b.columns())
    throw std::invalid_argument(fmt::format("multiply: C is {} x {}, it needs {} x {}", c.rows,
                                            c.columns, a.rows(), b.columns()));
}

/// Whether some element of c lies in x. They may be blocks of one matrix, side by side. Where their
/// leading dimensions differ, all addresses between first and last element count.
template <class T>
bool share_memory(Matrix<T const> x, Matrix<T const> c) {
  if (x.empty() || c.empty()) return false;
  if (std::less<>{}(c.data, x.data)) std::swap(x, c);
  std::int64_t const end = (x.rows - 1) * x.leading + x.columns;
  if (!std::less<>{}(c.data, x.data + end)) return false;
  if (x.leading != c.leading) return true;
  // In rows and columns of x, whose first element is (0, 0), c begins at (i, j), and goes on at the
  // beginning of the next rows where it is cut by the end of x's.
  std::int64_t const i = (c.data - x.data) / x.leading, j = (c.data - x.data) % x.leading;
  return j < x.columns || (j + c.columns > x.leading && i + 1 < x.rows);
}

template <class T>
void require_apart(std::string_view name, Operand<T> const& x, Matrix<T const> const& c) {
  if (share_memory(x.matrix, c))
    throw std::invalid_argument(fmt::format("multiply: {} ({} x {}) and C ({} x {}) share memory",
                                            name, x.matrix.rows, x.matrix.columns, c.rows,
                                            c.columns));
}

/// C = β·C.
template <class T>
void scale(Stream& stream, T beta, Matrix<T> c) {
  if (beta == T(1)) return;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_scale(stream, beta, c);
#else
  (void)stream;
#endif
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.columns; ++j) {
      T& element = c.data[i * c.leading + j];
      element = beta == T(0) ? T(0) : beta * element;
    }
}

}  // namespace

bool has_tf32([[maybe_unused]] Device const& device) {
#ifdef GRIDSTRIDE_WITH_CUDA
  return device.backend() == Backend::cuda && cuda_has_tf32(device);
#else
  return false;
#endif
}

template <class T>
void multiply(Stream& stream, std::type_identity_t<T> alpha, std::type_identity_t<Operand<T>> a,
              std::type_identity_t<Operand<T>> b, std::type_identity_t<T> beta, Matrix<T> c,
              std::string_view variant, int spared) {
  require_shapes<T>(a, b, c);
  require_apart<T>("A", a, c);
  require_apart<T>("B", b, c);
  Arguments<T> const arguments{
      c.rows, c.columns,     a.columns(),      alpha, a.op,   a.matrix.data, a.matrix.leading,
      b.op,   b.matrix.data, b.matrix.leading, beta,  c.data, c.leading,     spared};
  if (variant == "auto") variant = choose(stream.device(), arguments);
  auto const& row = find_variant("matmul", variants<T>(), stream.device(), variant);
  if (c.empty()) return;
  if (arguments.k == 0 || alpha == T(0)) return scale(stream, beta, c);
  row.run(stream, arguments);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                              \
  template std::span<Variant<Function<T>> const> variants<T>();                                \
  template std::string_view default_variant<T>(Backend);                                       \
  template std::string_view choose(Device const&, Arguments<T> const&);                        \
  template void multiply(Stream&, std::type_identity_t<T>, std::type_identity_t<Operand<T>>,   \
                         std::type_identity_t<Operand<T>>, std::type_identity_t<T>, Matrix<T>, \
                         std::string_view, int);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::matmul
