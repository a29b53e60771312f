#include "kernels/krylov/krylov.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/workloads.hpp"
#include "kernels/poisson/conjugate.hpp"
#include "kernels/sparse/sparse.hpp"
#include "kernels/sparse/stencil_matrix.hpp"

namespace gridstride::bench {

namespace of_krylov {

constexpr std::int64_t iterations = 50;
constexpr double tolerance = 1e-10;

std::int64_t extent_of(std::int64_t points) { return side_of(points, 4, 3); }
std::int64_t cube_of(std::int64_t points) {
  auto const extent = extent_of(points);
  return extent * extent * extent;
}

/// What is left of the right-hand side, where it was to become small; else by how much of that it is
/// not what the method carries along.
Accuracy accuracy_of(krylov::Result const& result, bool to_tolerance, double of_carried) {
  if (result.history.empty()) return {1, 0};  // nothing was done
  if (to_tolerance) return {result.residual_norm, tolerance};
  return {std::abs(result.history.back() - result.residual_norm), of_carried};
}

/// Differences on a cube with Dirichlet sides, by conjugate gradients; rows are what directions are
/// carried along in.
template <bool to_tolerance>
Problem grid_problem(Stream& stream, std::int64_t size, int sets) {
  poisson::Equation<double> equation;
  std::int64_t const extent = extent_of(size);
  equation.grid = {3, {extent, extent, extent}, {0, 0, 0}, {1, 1, 1}};
  equation.sides.fill({SideKind::dirichlet, SideKind::dirichlet});
  Arrays<double> const right(stream, equation.grid.size(), sets),
      u(stream, equation.grid.size(), sets);
  auto const last = std::make_shared<krylov::Result>();
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, right(set), static_cast<std::uint64_t>(set));
                spoil(stream, u(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                poisson::ConjugateOptions options;
                options.inner = variant == "float32" ? Precision::float32 : Precision::float64;
                options.tolerance = to_tolerance ? tolerance : 1e-15;
                if (!to_tolerance) options.iterations = iterations;
                poisson::ConjugateSolver<double> solver(stream, equation, false, options);
                *last = solver.solve(stream, right.constant(set), u(set));
              },
          .accuracy =
              [=](std::string_view variant) {
                return accuracy_of(*last, to_tolerance, variant == "float32" ? 1e-2 : 1e-8);
              }};
}

template <bool to_tolerance>
Workload grid_workload(Backend backend) {
  auto const work = [](std::int64_t size) {
    // Iterations to a tolerance grow with the points along a side: about three for each.
    double const count = to_tolerance ? 3.0 * static_cast<double>(extent_of(size)) : iterations;
    auto const points = static_cast<double>(size);
    double const moved = 8 * sizeof(double) * points * count, flops = 30 * points * count;
    return Work{.bytes = moved,
                .flops = flops,
                .asks = {{machine::copy_roof, moved}, {machine::float64_roof, flops}},
                .set_bytes = 9 * sizeof(double) * points,
                .elements = points * count};
  };
  std::int64_t const extent = backend == Backend::cpu ? 32 : to_tolerance ? 256 : 512;
  return {.family = "krylov",
          .operation = to_tolerance ? "cg to 1e-10, 7 points, no matrix"
                                    : "cg, 50 iterations, 7 points, no matrix",
          .type = type_name<double>(),
          .by_default = true,
          .size = extent * extent * extent,
          .work = work,
          .rows = {{"float64", "directions and residuals in float64", true, false},
                   {"float32", "in float32, with residuals of float64 now and then", false, false}},
          .make = grid_problem<to_tolerance>,
          .rounded = cube_of,
          .error = to_tolerance ? "what is left of the right-hand side"
                                : "of the residual that is carried along, of the right-hand side"};
}

constexpr krylov::Method methods[] = {krylov::Method::cg, krylov::Method::minres,
                                      krylov::Method::bicgstab, krylov::Method::gmres};

/// The same numbers of iterations by all methods with a matrix.
template <sparse::Neighbours neighbours>
Problem matrix_problem(Stream& stream, std::int64_t size, int sets) {
  std::int64_t const extent = extent_of(size), n = extent * extent * extent;
  auto const matrix = std::make_shared<sparse::Matrix<double>>(
      stream, sparse::stencil_matrix<double>(neighbours, {extent, extent, extent}), "auto");
  Arrays<double> const right(stream, n, sets), x(stream, n, sets);
  auto const last = std::make_shared<krylov::Result>();
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, right(set), static_cast<std::uint64_t>(set));
                zero_async(x(set), stream);
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                krylov::Operator<double> const a = {
                    .size = n,
                    .apply = [matrix](Stream& on, std::span<double const> from,
                                      std::span<double> to) { matrix->multiply(on, from, to); }};
                auto const method = *std::ranges::find(methods, variant, krylov::name_of);
                zero_async(x(set), stream);
                *last = krylov::solve<double>(stream, method, a, {}, right.constant(set), x(set),
                                              {.tolerance = 1e-15, .iterations = iterations});
              },
          .accuracy = [=](std::string_view) { return accuracy_of(*last, false, 1e-6); }};
}

template <sparse::Neighbours neighbours>
Workload matrix_workload(Backend backend, std::string_view operation, double elements) {
  auto const work = [elements](std::int64_t size) {
    auto const points = static_cast<double>(size);
    // The matrix, and what conjugate gradients move of vectors.
    double const moved = (8.25 * elements + 13 * sizeof(double)) * points * iterations;
    double const flops = (2 * elements + 12) * points * iterations;
    return Work{.bytes = moved,
                .flops = flops,
                .asks = {{machine::copy_roof, moved}, {machine::float64_roof, flops}},
                .set_bytes = 50 * sizeof(double) * points,
                .elements = points * iterations};
  };
  std::int64_t const extent = backend == Backend::cpu ? 24 : 256;
  Workload workload{.family = "krylov",
                    .operation = operation,
                    .type = type_name<double>(),
                    .by_default = true,
                    .size = extent * extent * extent,
                    .work = work,
                    .rows = {},
                    .make = matrix_problem<neighbours>,
                    .rounded = cube_of,
                    .error = "of the residual that is carried along, of the right-hand side"};
  constexpr std::string_view ideas[] = {
      "symmetric positive definite matrices: one product and two passes", "symmetric matrices",
      "any matrix: two products", "any matrix: 30 vectors, each new one orthogonal to all"};
  for (std::size_t i = 0; i < std::size(methods); ++i)
    workload.rows.push_back({krylov::name_of(methods[i]), ideas[i], i == 0, false});
  return workload;
}

constexpr std::int64_t right_hand_sides = 8;

/// Iterations of conjugate gradients with the diagonal for several right-hand sides.
Problem several_problem(Stream& stream, std::int64_t size, int sets) {
  std::int64_t const extent = extent_of(size), n = extent * extent * extent;
  auto const matrix = std::make_shared<sparse::Matrix<double>>(
      stream, sparse::stencil_matrix<double>(sparse::Neighbours::all, {extent, extent, extent}),
      "auto");
  auto const jacobi =
      krylov::jacobi<double>(stream, std::vector<double>(static_cast<std::size_t>(n), 26.0));
  std::int64_t const all = right_hand_sides * n;
  Arrays<double> const right(stream, all, sets), x(stream, all, sets);
  auto const last = std::make_shared<krylov::Result>();
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, right(set), static_cast<std::uint64_t>(set));
                zero_async(x(set), stream);
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                krylov::Operator<double> const a = {
                    .size = n,
                    .apply = [matrix, n](Stream& on, std::span<double const> from,
                                         std::span<double> to) {
                      matrix->multiply(on, from, to, static_cast<std::int64_t>(from.size()) / n);
                    }};
                krylov::Options const options{.tolerance = 1e-15, .iterations = iterations};
                zero_async(x(set), stream);
                std::int64_t const together = variant == "together" ? right_hand_sides : 1;
                for (std::int64_t first = 0; first < all; first += together * n) {
                  auto const place = static_cast<std::size_t>(first);
                  auto const length = static_cast<std::size_t>(together * n);
                  *last = krylov::solve_together<double>(stream, krylov::Method::cg, a, jacobi,
                                                         right.constant(set).subspan(place, length),
                                                         x(set).subspan(place, length), together,
                                                         options)[0];
                }
              },
          .accuracy = [=](std::string_view) { return accuracy_of(*last, false, 1e-6); }};
}

Workload several_workload(Backend backend) {
  auto const work = [](std::int64_t size) {
    // The matrix once for all, and what each moves of vectors.
    auto const points = static_cast<double>(size), sides = static_cast<double>(right_hand_sides);
    double const moved = (8.25 * 27 + sides * 16 * sizeof(double)) * points * iterations;
    double const flops = sides * (2 * 27 + 13) * points * iterations;
    return Work{.bytes = moved,
                .flops = flops,
                .asks = {{machine::copy_roof, moved}, {machine::float64_roof, flops}},
                .set_bytes = 9 * sides * sizeof(double) * points,
                .elements = points * sides * iterations};
  };
  std::int64_t const extent = backend == Backend::cpu ? 24 : 128;
  return {.family = "krylov",
          .operation = "cg with jacobi, 50 iterations, 27 points, 8 right-hand sides",
          .type = type_name<double>(),
          .by_default = true,
          .size = extent * extent * extent,
          .work = work,
          .rows = {{"together", "a product and two passes for all", true, false},
                   {"one_by_one", "for each", false, false}},
          .make = several_problem,
          .rounded = cube_of,
          .error = "of the residual that is carried along, of the right-hand side"};
}

}  // namespace of_krylov

std::vector<Workload> krylov_workloads(Backend backend) {
  using namespace of_krylov;
  return {grid_workload<false>(backend), grid_workload<true>(backend),
          matrix_workload<sparse::Neighbours::all>(backend, "50 iterations, 27 points", 27),
          matrix_workload<sparse::Neighbours::axes>(backend, "50 iterations, 7 points", 7),
          several_workload(backend)};
}

}  // namespace gridstride::bench
