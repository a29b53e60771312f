#include "kernels/factorize/factorize.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "core/buffer.hpp"
#include "kernels/factorize/rows.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::factorize {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>,
       "elimination of a column at a time, plain substitution, on one thread"},
      {"lapack", Backend::cpu, host_lapack<T>,
       "LAPACK in OpenBLAS; the bits may depend on the number of threads"},
      {"blocked", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_blocked<T>),
       "panels column by column, then all columns right of one at once: a solve and a large "
       "product"},
      {"look_ahead", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_look_ahead<T>),
       "the next panel on a second stream beside the large product, its leaves in a cluster's "
       "registers"},
      {"cusolver", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cusolver<T>),
       "cuSOLVER and cuBLAS, to compare with; LU through a transposed copy, and NaN counts as 0"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  if (backend == Backend::cuda) return "look_ahead";
  return lapack_available() ? "lapack" : "reference";
}

namespace {

template <class T>
void require_matrix(std::string_view function, std::string_view name, Matrix<T> const& m) {
  if (m.rows < 0 || m.columns < 0 || m.leading < m.columns)
    throw std::invalid_argument(
        fmt::format("{}: {} is {} x {} with leading dimension {} (it must be at least {})",
                    function, name, m.rows, m.columns, m.leading, m.columns));
}

template <class T>
void require_square(std::string_view function, Matrix<T> const& a) {
  require_matrix(function, "a", a);
  if (a.rows != a.columns)
    throw std::invalid_argument(
        fmt::format("{}: a is {} x {} (it must be square)", function, a.rows, a.columns));
}

/// Shapes of a system with any number of right-hand sides.
template <class T>
void require_system(std::string_view function, Matrix<T const> const& a, Matrix<T> const& b) {
  require_square(function, a);
  require_matrix(function, "b", b);
  if (b.rows != a.rows)
    throw std::invalid_argument(
        fmt::format("{}: b has {} rows, a has {} (they must agree)", function, b.rows, a.rows));
}

template <class T>
Matrix<T> not_written(Matrix<T const> const& a) {
  return {const_cast<T*>(a.data), a.rows, a.columns, a.leading};
}

/// The row that does the work. What is asked of `matmul` is checked here too, as small matrices
/// have no use for it.
template <class T>
Function<T>& find_row(Stream& stream, Variants const& asked) {
  Device const& device = stream.device();
  if (asked.matmul != "auto") find_variant("matmul", matmul::variants<T>(), device, asked.matmul);
  auto const name = asked.factorize == "auto" ? default_variant(device.backend()) : asked.factorize;
  return *find_variant("factorize", variants<T>(), device, name).run;
}

}  // namespace

template <class T>
void lu(Stream& stream, Matrix<T> a, std::span<std::int32_t> pivots, std::span<std::int32_t> status,
        Variants const& variants) {
  require_square("lu", a);
  require_size("lu", named("pivots", pivots), static_cast<std::size_t>(a.rows));
  require_size("lu", named("status", status), 1);
  auto& run = find_row<T>(stream, variants);
  if (a.empty()) return zero_async(status, stream);
  run(stream, {.task = Task::lu,
               .a = a,
               .b = {},
               .pivots = pivots.data(),
               .status = status.data(),
               .matmul = variants.matmul});
}

template <class T>
void lu_unpivoted(Stream& stream, Matrix<T> a, std::span<std::int32_t> status,
                  Variants const& variants, std::function<bool(std::int64_t)> const& go_on) {
  require_square("lu_unpivoted", a);
  require_size("lu_unpivoted", named("status", status), 1);
  auto& run = find_row<T>(stream, variants);
  if (a.empty()) return zero_async(status, stream);
  run(stream, {.task = Task::lu_unpivoted,
               .a = a,
               .b = {},
               .status = status.data(),
               .matmul = variants.matmul,
               .go_on = go_on});
}

template <class T>
void cholesky(Stream& stream, Matrix<T> a, std::span<std::int32_t> status,
              Variants const& variants) {
  require_square("cholesky", a);
  require_size("cholesky", named("status", status), 1);
  auto& run = find_row<T>(stream, variants);
  if (a.empty()) return zero_async(status, stream);
  run(stream, {.task = Task::cholesky,
               .a = a,
               .b = {},
               .status = status.data(),
               .matmul = variants.matmul});
}

template <class T>
void lu_solve(Stream& stream, Op op, std::type_identity_t<Matrix<T const>> lu,
              std::span<std::int32_t const> pivots, Matrix<T> b, Variants const& variants) {
  require_system("lu_solve", lu, b);
  require_size("lu_solve", named("pivots", pivots), static_cast<std::size_t>(lu.rows));
  auto& run = find_row<T>(stream, variants);
  if (b.empty()) return;
  run(stream, {.task = Task::lu_solve,
               .a = not_written(lu),
               .b = b,
               .pivots = const_cast<std::int32_t*>(pivots.data()),
               .op = op,
               .matmul = variants.matmul});
}

template <class T>
void cholesky_solve(Stream& stream, std::type_identity_t<Matrix<T const>> l, Matrix<T> b,
                    Variants const& variants) {
  require_system("cholesky_solve", l, b);
  auto& run = find_row<T>(stream, variants);
  if (b.empty()) return;
  run(stream,
      {.task = Task::cholesky_solve, .a = not_written(l), .b = b, .matmul = variants.matmul});
}

template <class T>
void triangular_solve(Stream& stream, Triangle triangle, Op op, Diagonal diagonal,
                      std::type_identity_t<Matrix<T const>> a, Matrix<T> b,
                      Variants const& variants) {
  require_system("triangular_solve", a, b);
  auto& run = find_row<T>(stream, variants);
  if (b.empty()) return;
  run(stream, {.task = Task::triangular_solve,
               .a = not_written(a),
               .b = b,
               .op = op,
               .triangle = triangle,
               .diagonal = diagonal,
               .matmul = variants.matmul});
}

std::size_t factor_bytes(Backend backend, std::int64_t n, std::size_t element_bytes) {
  constexpr std::size_t row_bytes = 64;  // where rows came from, and moves of panels
  if (backend == Backend::cpu) return 0;
  return static_cast<std::size_t>(n) * row_bytes +
         element_bytes * cholesky_square * cholesky_square;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                \
  template std::span<Variant<Function<T>> const> variants<T>();                                  \
  template void lu(Stream&, Matrix<T>, std::span<std::int32_t>, std::span<std::int32_t>,         \
                   Variants const&);                                                             \
  template void lu_unpivoted(Stream&, Matrix<T>, std::span<std::int32_t>, Variants const&,       \
                             std::function<bool(std::int64_t)> const&);                          \
  template void cholesky(Stream&, Matrix<T>, std::span<std::int32_t>, Variants const&);          \
  template void lu_solve(Stream&, Op, Matrix<T const>, std::span<std::int32_t const>, Matrix<T>, \
                         Variants const&);                                                       \
  template void cholesky_solve(Stream&, Matrix<T const>, Matrix<T>, Variants const&);            \
  template void triangular_solve(Stream&, Triangle, Op, Diagonal, Matrix<T const>, Matrix<T>,    \
                                 Variants const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize
