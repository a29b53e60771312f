#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/workloads.hpp"
#include "kernels/amg/amg.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/krylov/chebyshev.hpp"
#include "kernels/lattice/cycle.hpp"
#include "kernels/sparse/sparse.hpp"
#include "kernels/sparse/stencil_matrix.hpp"

namespace gridstride::bench {

namespace of_hpcg {

using lattice::GridPoints;
using lattice::Neighbours;

/// What HPCG's own method, 50 iterations of conjugate gradients with four levels of multigrid, leaves
/// of the right-hand side at 256³; and much less.
constexpr double its_residual = 8.2e-4, small = 1e-8;

/// A way to solve: products, and what precedes them.
struct Way {
  krylov::Operator<double> a;
  krylov::Preconditioner<double> preconditioner = {};
  bool flexible = false;
};

/// The ways that have been asked for, each made with its first solve; the rows of the matrix, which
/// many have, once.
class Ways {
 public:
  Ways(Stream& stream, GridPoints const& points) : stream_(stream), points_(points) {}

  Way const& operator[](std::string_view name) {
    auto found = ways_.find(name);
    if (found == ways_.end()) found = ways_.emplace(name, make(name)).first;
    return found->second;
  }

 private:
  Way make(std::string_view name) {
    bool const by_rows = name.starts_with("rows");
    Way way{.a = by_rows ? of_rows() : of_stencil()};
    if (name.ends_with("multigrid")) {
      way.preconditioner = lattice::cycle<double>(stream_, points_);
      way.flexible = true;
    } else if (name.ends_with("amg")) {
      way.preconditioner = amg::preconditioner<double>(std::make_shared<amg::Hierarchy<double>>(
          stream_, amg::on_device(stream_, rows()), amg::Options{}));
    } else if (name.ends_with("chebyshev")) {
      // Sums of rows are at most 26 + 26.
      std::vector<double> const diagonal(static_cast<std::size_t>(way.a.size), 26.0);
      way.preconditioner = krylov::chebyshev<double>(stream_, way.a, diagonal, 2);
    }
    return way;
  }
  krylov::Operator<double> of_stencil() const {
    auto const a =
        std::make_shared<lattice::Matrix<double> const>(stream_, Neighbours::all, points_);
    return {.size = a->rows(),
            .apply = [a](Stream& on, std::span<double const> x, std::span<double> y) {
              a->multiply(on, x, y);
            }};
  }
  krylov::Operator<double> of_rows() {
    if (!matrix_) matrix_ = std::make_shared<sparse::Matrix<double> const>(stream_, rows());
    return {.size = matrix_->rows(),
            .apply = [a = matrix_](Stream& on, std::span<double const> x, std::span<double> y) {
              a->multiply(on, x, y);
            }};
  }
  Csr<double> rows() const { return sparse::stencil_matrix<double>(Neighbours::all, points_); }

  Stream& stream_;
  GridPoints points_;
  std::shared_ptr<sparse::Matrix<double> const> matrix_;
  std::map<std::string, Way, std::less<>> ways_;
};

/// HPCG's problem: b = A·1, from x = 0.
template <bool to_its_residual>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  constexpr double tolerance = to_its_residual ? its_residual : small;
  auto const points = cube_of(size);
  std::int64_t const n = points[0] * points[1] * points[2];
  Arrays<double> const right(stream, n, sets), x(stream, n, sets);
  auto const ways = std::make_shared<Ways>(stream, points);
  auto const last = std::make_shared<krylov::Result>();
  return {.prepare =
              [=, &stream](int set) {
                elementwise::fill<double>(stream, 1, x(set));
                (*ways)["plain"].a.apply(stream, x.constant(set), right(set));
              },
          .run =
              [=, &stream](std::string_view variant, int set) {
                auto const& way = (*ways)[variant];
                zero_async(x(set), stream);
                *last = krylov::solve<double>(
                    stream, krylov::Method::cg, way.a, way.preconditioner, right.constant(set),
                    x(set),
                    {.tolerance = tolerance, .iterations = 10000, .flexible = way.flexible});
              },
          .accuracy =
              [=](std::string_view) {
                if (last->history.empty()) return Accuracy{1, 0};  // nothing was done
                return Accuracy{last->residual_norm, tolerance};
              }};
}

template <bool to_its_residual>
Workload workload(Backend backend) {
  // Of iterations with a cycle: product, sums, step, the cycle and what stands before and behind it.
  constexpr double iterations = to_its_residual ? 8 : 17;
  constexpr double moved = (2 * 8 + 4 * 8 + 10 * 8 + 24 + 13 * 4 * 8.0 / 7) * iterations;
  constexpr double flops = 200 * iterations;
  std::int64_t const extent = backend == Backend::cpu ? 32 : 256;
  return {
      .family = "krylov",
      .operation = to_its_residual ? "HPCG's problem to its residual" : "HPCG's problem to 1e-8",
      .type = type_name<double>(),
      .by_default = true,
      .size = extent * extent * extent,
      .work = per_element({.bytes = moved,
                           .flops = flops,
                           .asks = {{machine::copy_roof, moved}},
                           .set_bytes = 12 * sizeof(double)}),
      .rows = {{"multigrid", "no matrix; a cycle of geometric multigrid", true, false},
               {"plain", "no matrix, no preconditioner", false, false},
               {"rows_multigrid", "the rows of the matrix, with that cycle", false, false},
               {"rows_plain", "the rows, no preconditioner", false, false},
               {"rows_chebyshev", "the rows, polynomials of degree 3", false, false},
               {"rows_amg", "the rows, a cycle of algebraic multigrid", false, false}},
      .make = problem<to_its_residual>,
      .rounded =
          [](std::int64_t wanted) {
            auto const cube = cube_of(wanted);
            return cube[0] * cube[1] * cube[2];
          },
      .error = "what is left of the right-hand side"};
}

}  // namespace of_hpcg

std::vector<Workload> hpcg_workloads(Backend backend) {
  return {of_hpcg::workload<true>(backend), of_hpcg::workload<false>(backend)};
}

}  // namespace gridstride::bench
