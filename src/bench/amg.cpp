#include "kernels/amg/amg.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/workloads.hpp"
#include "kernels/krylov/chebyshev.hpp"
#include "kernels/sparse/equilibrate.hpp"
#include "kernels/sparse/sparse.hpp"
#include "kernels/sparse/stencil_matrix.hpp"

namespace gridstride::bench {

namespace of_amg {

template <class T>
constexpr double tolerance = sizeof(T) == 8 ? 1e-8 : 1e-5;

sparse::GridPoints grid_of(std::int64_t points) {
  auto const extent = side_of(points, 4, 3);
  return {extent, extent, extent};
}
std::int64_t points_of(sparse::GridPoints const& grid) { return grid[0] * grid[1] * grid[2]; }

/// The seven points on a cube, on the host and in what forms a device has of them.
template <class T>
struct System {
  Csr<T> rows;
  std::optional<amg::Rows<T>> on_device;
  std::optional<sparse::Matrix<T>> products;
  std::shared_ptr<amg::Hierarchy<T> const> levels;

  explicit System(std::int64_t size)
      : rows(sparse::stencil_matrix<T>(sparse::Neighbours::axes, grid_of(size))) {}

  /// Memory may hold but one.
  void forget() {
    products.reset();
    levels.reset();
  }
  void make_products(Stream& stream) { products.emplace(stream, rows); }
  void make_levels(Stream& stream, amg::Rows<T> matrix) {
    levels.reset();
    levels = std::make_shared<amg::Hierarchy<T> const>(stream, std::move(matrix));
  }
  krylov::Result solve(Stream& stream, krylov::Preconditioner<T> const& preconditioner,
                       std::span<T const> b, std::span<T> x) const {
    krylov::Operator<T> const a = {
        .size = rows.rows, .apply = [this](Stream& on, std::span<T const> from, std::span<T> to) {
          products->multiply(on, from, to);
        }};
    zero_async(x, stream);
    return krylov::solve<T>(stream, krylov::Method::cg, a, preconditioner, b, x,
                            {.tolerance = tolerance<T>, .iterations = 10000});
  }
};

template <class T>
Accuracy accuracy_of(krylov::Result const& result) {
  if (result.history.empty()) return {1, 0};  // nothing was done
  return {result.residual_norm, tolerance<T>};
}

// ------------------------------------------------------------------------------------------ set-up

template <class T>
amg::Rows<T> copy_of(Stream& stream, amg::Rows<T> const& rows) {
  auto const copy = [&]<class U>(Buffer<U> const& from) {
    Buffer<U> to(stream, MemorySpace::device, from.size());
    copy_async(to.span(), from.span(), stream);
    return to;
  };
  return {rows.rows, rows.columns, copy(rows.offsets), copy(rows.column_indices),
          copy(rows.values)};
}

/// As a file or a stencil gives it.
template <class T>
Csr<double> in_float64(Csr<T> rows) {
  if constexpr (sizeof(T) == 8) {
    return rows;
  } else {
    Csr<double> wide{
        rows.rows, rows.columns, std::move(rows.offsets), std::move(rows.column_indices), {}};
    wide.values.assign(rows.values.begin(), rows.values.end());
    return wide;
  }
}

/// What has to be there before the first iteration.
template <class T>
void set_up(Stream& stream, System<T>& system, std::string_view variant) {
  system.levels.reset();
  if (variant == "levels") {
    if (!system.on_device) system.on_device = amg::on_device(stream, system.rows);
    return system.make_levels(stream, copy_of(stream, *system.on_device));
  }
  system.forget();
  if (variant == "scaled") {
    auto given = in_float64(std::move(system.rows));
    auto const exponents = sparse::equilibrate(given, examine(given).symmetric());
    system.rows = sparse::scaled<T>(std::move(given), exponents);
  }
  system.make_products(stream);
  system.make_levels(stream, amg::on_device(stream, system.rows));
}

template <class T>
Problem set_up_problem(Stream& stream, std::int64_t size, int) {
  auto const system = std::make_shared<System<T>>(size);
  return {.prepare = [=](int) { system->forget(); },
          .run = [=, &stream](std::string_view variant, int) { set_up(stream, *system, variant); },
          .accuracy =
              [=, &stream](std::string_view) {
                if (!system->levels) return Accuracy{1, 0};
                if (!system->products) system->make_products(stream);
                Arrays<T> const b(stream, system->rows.rows, 1), x(stream, system->rows.rows, 1);
                machine::fill_random(stream, b(0), 1);
                return accuracy_of<T>(system->solve(stream, amg::preconditioner<T>(system->levels),
                                                    b.constant(0), x(0)));
              }};
}

// ------------------------------------------------------------------------------------------- solves

template <class T>
krylov::Preconditioner<T> preconditioner_called(Stream& stream, System<T>& system,
                                                std::string_view variant) {
  auto const diagonal = diagonal_of(system.rows);
  if (variant == "jacobi") return krylov::jacobi<T>(stream, diagonal);
  constexpr double largest_eigenvalue = 2;  // of the matrix over its diagonal
  if (variant == "chebyshev")
    return krylov::chebyshev<T>(
        stream,
        {.size = system.rows.rows,
         .apply = [&system](Stream& on, std::span<T const> from,
                            std::span<T> to) { system.products->multiply(on, from, to); }},
        diagonal, largest_eigenvalue);
  return amg::preconditioner<T>(system.levels);
}

/// A preconditioner is made when it is first asked for, which is not timed: a first run never is.
template <class T>
struct Preconditioned {
  std::string_view variant;
  krylov::Preconditioner<T> apply;
  krylov::Result last;
};

template <class T>
Problem solve_problem(Stream& stream, std::int64_t size, int sets) {
  auto const system = std::make_shared<System<T>>(size);
  system->make_products(stream);
  system->make_levels(stream, amg::on_device(stream, system->rows));
  auto const with = std::make_shared<Preconditioned<T>>();
  Arrays<T> const right(stream, system->rows.rows, sets), x(stream, system->rows.rows, sets);
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, right(set), static_cast<std::uint64_t>(set));
                spoil(stream, x(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                if (with->variant != variant)
                  with->apply = preconditioner_called(stream, *system, variant);
                with->variant = variant;
                with->last = system->solve(stream, with->apply, right.constant(set), x(set));
              },
          .accuracy = [=](std::string_view) { return accuracy_of<T>(with->last); }};
}

// ---------------------------------------------------------------------------------- the workloads

/// Bytes of a row of the matrix.
template <class T>
constexpr double row_bytes = 7 * (sizeof(T) + 4.0) + 8;

template <class T>
Workload workload(Backend backend, std::string_view operation,
                  std::function<Work(std::int64_t)> work,
                  Problem (*make)(Stream&, std::int64_t, int)) {
  std::int64_t const extent = backend == Backend::cpu ? 48 : 256;
  return {.family = "amg",
          .operation = operation,
          .type = type_name<T>(),
          .by_default = sizeof(T) == 8,
          .size = extent * extent * extent,
          .work = std::move(work),
          .rows = {},
          .make = make,
          .rounded = [](std::int64_t wanted) { return points_of(grid_of(wanted)); },
          .error = "what is left of the right-hand side"};
}

/// So many passes over the matrix, and numbers of vectors, for each of the points.
template <class T>
Work work_of(std::int64_t size, double passes, double numbers) {
  auto const points = static_cast<double>(size);
  double const moved = (passes * row_bytes<T> + numbers * sizeof(T)) * points;
  double const flops = (passes * 14 + numbers) * points;
  return {.bytes = moved,
          .flops = flops,
          .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
          .set_bytes = (4 * row_bytes<T> + 20 * sizeof(T)) * points,
          .elements = points};
}

template <class T>
void append_workloads(Backend backend, std::vector<Workload>& all) {
  // The matrix is read, and what it becomes on all levels, about as much, is written.
  auto set_up = workload<T>(
      backend, "set-up, 7 points", [](std::int64_t size) { return work_of<T>(size, 2, 0); },
      set_up_problem<T>);
  set_up.rows = {{"levels", "of rows that lie on the device", true, false},
                 {"upload", "and both forms of the matrix, made and brought there", false, false},
                 {"scaled", "and before that units found on the host", false, false}};
  all.push_back(std::move(set_up));
  // Iterations grow with the logarithm of the extent: about thirty of 256. Each passes over the matrix
  // three times, and a third more on coarser levels.
  auto solve = workload<T>(
      backend, sizeof(T) == 8 ? "cg to 1e-8, 7 points" : "cg to 1e-5, 7 points",
      [](std::int64_t size) {
        double const iterations = 1.25 * std::log2(static_cast<double>(size));
        return work_of<T>(size, 4 * iterations, 30 * iterations);
      },
      solve_problem<T>);
  solve.rows = {{"amg", "a cycle of algebraic multigrid", true, false},
                {"chebyshev", "a polynomial of degree 3", false, false},
                {"jacobi", "division by the diagonal", false, false}};
  all.push_back(std::move(solve));
}

}  // namespace of_amg

std::vector<Workload> amg_workloads(Backend backend) {
  std::vector<Workload> all;
  of_amg::append_workloads<double>(backend, all);
  of_amg::append_workloads<float>(backend, all);
  return all;
}

}  // namespace gridstride::bench
