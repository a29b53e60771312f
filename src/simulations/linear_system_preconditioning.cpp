#include "simulations/linear_system_preconditioning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "kernels/amg/amg.hpp"
#include "kernels/krylov/chebyshev.hpp"
#include "kernels/support/parallel_for.hpp"
#include "model/values.hpp"
#include "simulations/linear_system_parameters.hpp"

namespace gridstride::linear_system {

std::string preconditioner_refusal(std::string const& asked, krylov::Method method,
                                   CsrFindings const& found) {
  bool const definite = found.symmetric() && found.not_positive < 0;
  if (asked == "chebyshev" && !definite)
    return "chebyshev needs a symmetric matrix with a positive diagonal (jacobi and none take "
           "others)";
  if (asked == "ic0" && !definite)
    return fmt::format(
        "ic0 needs a symmetric matrix with a positive diagonal{} (ilu0 takes others, for bicgstab "
        "and gmres)",
        found.symmetric()
            ? fmt::format(" (here row {}, counted from 0, has none)", found.not_positive)
            : "");
  if (asked == "ilu0" && needs_symmetry(method))
    return fmt::format(
        "ilu0 is not symmetric, as {} needs it (ic0 is; bicgstab and gmres take ilu0)",
        name_of(method));
  if (asked == "ilu0" && found.empty >= 0)
    return fmt::format(
        "ilu0 needs an element other than 0 in each row (here row {}, counted from 0, has none)",
        found.empty);
  return {};
}

template <class T>
Preconditioning<T> by_diagonal(Stream& stream, ScaledSystem<T> const& system, krylov::Method method,
                               bool definite) {
  auto diagonal = diagonal_of(system.rows());
  for (T& value : diagonal) {
    if (method == krylov::Method::minres) value = std::abs(value);
    definite = definite && std::abs(value) > std::numeric_limits<T>::min();
  }
  if (!definite) return {};
  return {krylov::jacobi<T>(stream, diagonal), "jacobi"};
}

namespace {

/// The sums of a row's |a_ij|·u_j, on the diagonal and beside it; u is 1 without any.
struct RowSums {
  double diagonal = 0, others = 0;
};
template <class T>
RowSums sums_of_row(Csr<T> const& a, std::size_t i, std::vector<T> const& units = {}) {
  RowSums sums;
  for (auto k = static_cast<std::size_t>(a.offsets[i]);
       k < static_cast<std::size_t>(a.offsets[i + 1]); ++k) {
    auto const j = static_cast<std::size_t>(a.column_indices[k]);
    double const size = std::abs(static_cast<double>(a.values[k])) *
                        (units.empty() ? 1.0 : static_cast<double>(units[j]));
    (j == i ? sums.diagonal : sums.others) += size;
  }
  return sums;
}

/// Calls `body(run, first, last)` for runs of rows, as many for a matrix whatever the threads.
constexpr std::int64_t rows_of_run = 1024;
template <class T>
std::size_t runs_of(Csr<T> const& a) {
  return static_cast<std::size_t>((a.rows + rows_of_run - 1) / rows_of_run);
}
template <class T, class Body>
void for_each_run(Csr<T> const& a, Body const& body) {
  std::int64_t const work = 4 * (a.nonzeros() / std::max<std::int64_t>(a.rows, 1) + 1);
  parallel_for(static_cast<std::int64_t>(runs_of(a)), work * rows_of_run, [&](std::int64_t run) {
    body(static_cast<std::size_t>(run), static_cast<std::size_t>(run * rows_of_run),
         static_cast<std::size_t>(std::min(a.rows, (run + 1) * rows_of_run)));
  });
}

/// Of a matrix in units u (a_ij·u_i·u_j; 1 without any): by what the sums of |a_ij| beside the diagonal
/// exceed it, as multiples of it, over all rows.
template <class T>
double excess(Csr<T> const& a, std::vector<T> const& units) {
  std::vector<double> of_runs(runs_of(a));
  for_each_run(a, [&](std::size_t run, std::size_t i, std::size_t last) {
    for (; i < last; ++i) {
      auto const [diagonal, others] = sums_of_row(a, i, units);
      if (others > diagonal && diagonal > 0) of_runs[run] += others / diagonal - 1;
    }
  });
  double all = 0;
  for (double const of_run : of_runs) all += of_run;
  return all;
}

/// The diagonal of what is symmetric positive definite. It may be lost in T beside large elements.
template <class T>
std::vector<T> positive_diagonal(Csr<T> const& rows) {
  auto diagonal = diagonal_of(rows);
  auto const found =
      std::ranges::find_if_not(diagonal, [](T const& value) { return value > T{0}; });
  if (found != diagonal.end())
    throw NumericalError(fmt::format(
        "linear_system: the matrix is not positive definite: its diagonal in row {}, counted "
        "from "
        "0, is nothing beside the other elements (method: minres takes any symmetric matrix)",
        found - diagonal.begin()));
  return diagonal;
}

}  // namespace

/// A multiple of the diagonal bounds the eigenvalues (Gershgorin): that of the sums of |a_ij|.
template <class T>
Preconditioning<T> by_polynomial(Stream& stream, ScaledSystem<T> const& system,
                                 krylov::Operator<T> const& a) {
  auto const& rows = system.rows();
  auto const diagonal = positive_diagonal(rows);
  std::vector<double> bounds(runs_of(rows), 1);
  for_each_run(rows, [&](std::size_t run, std::size_t i, std::size_t last) {
    for (; i < last; ++i) {
      auto const [own, others] = sums_of_row(rows, i);
      bounds[run] = std::max(bounds[run], (own + others) / own);
    }
  });
  double const bound = bounds.empty() ? 1 : std::ranges::max(bounds);
  return {krylov::chebyshev<T>(stream, a, diagonal, bound), "chebyshev"};
}

template <class T>
Preconditioning<T> by_blocks(Stream& stream, ScaledSystem<T> const& system, std::int64_t block_rows,
                             sparse::Blocks kind) {
  auto const inverses = sparse::invert_blocks(system.rows(), block_rows, kind);
  if (inverses.failed >= 0) {
    auto const first = inverses.failed * block_rows;
    bool const definite = kind == sparse::Blocks::definite;
    return {
        .note = fmt::format(
            "block_jacobi needs {} blocks{} (here that of rows {} to {}, counted from 0, is {}; "
            "{})",
            definite ? "positive definite" : "regular", definite ? " for cg and minres" : "", first,
            std::min(first + block_rows, inverses.rows) - 1, definite ? "not" : "singular",
            definite ? "bicgstab and gmres take all that are not singular"
                     : "another block_size, or preconditioner: none")};
  }
  auto const blocks = std::make_shared<sparse::BlockJacobi<T> const>(stream, inverses);
  return {[blocks](Stream& s, std::span<T const> r, std::span<T> z) { blocks->solve(s, r, z); },
          "block_jacobi"};
}

template <class T>
Preconditioning<T> by_factors(Stream& stream, ScaledSystem<T> const& system,
                              sparse::Incomplete kind) {
  bool const definite = kind == sparse::Incomplete::cholesky;
  if (definite) positive_diagonal(system.rows());
  auto const factors = sparse::factorize(system.rows(), kind);
  auto const solver = std::make_shared<sparse::IncompleteSolver<T> const>(stream, factors);
  Preconditioning<T> found{[solver, n = static_cast<std::size_t>(system.rows().rows)](
                               Stream& s, std::span<T const> r, std::span<T> z) {
                             for (std::size_t first = 0; first < r.size(); first += n)
                               solver->solve(s, r.subspan(first, n), z.subspan(first, n));
                           },
                           definite ? "ic0" : "ilu0"};
  if (factors.shift > 0)
    found.note = fmt::format(
        "preconditioner: {} is of A with {} of the sum of |a_ij| added to each element of the "
        "diagonal (row {}, counted from 0, has no pivot to divide by otherwise)",
        found.name, factors.shift, factors.failed);
  return found;
}

template <class T>
Preconditioning<T> by_aggregation(Stream& stream, ScaledSystem<T> const& system,
                                  std::int64_t vectors) {
  auto const& rows = system.rows();
  positive_diagonal(rows);
  // Constants in the given units are these in the system's own.
  auto units = system.units_of_unknowns();
  if (!units.empty() && excess(rows, units) > excess(rows, {})) units.clear();
  auto const hierarchy = std::make_shared<amg::Hierarchy<T> const>(
      stream, amg::on_device(stream, rows), amg::Options{.vectors = vectors},
      on_device<T>(stream, units));
  return {amg::preconditioner<T>(hierarchy), "amg"};
}

bool suits_aggregation(Csr<double> const& matrix) {
  if (matrix.rows < least_aggregated) return false;
  std::atomic<bool> suits = true;
  for_each_run(matrix, [&](std::size_t, std::size_t i, std::size_t last) {
    for (; i < last && suits; ++i) {
      bool is_positive = false;
      for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
           k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k)
        is_positive = is_positive || (matrix.values[k] > 0 &&
                                      matrix.column_indices[k] != static_cast<std::int32_t>(i));
      auto const [diagonal, others] = sums_of_row(matrix, i);
      if (is_positive || others > diagonal * (1 + 1e-10)) suits = false;
    }
  });
  return suits;
}

template <class T>
Preconditioning<T> as_asked(config::RunConfig const& run, Stream& stream,
                            ScaledSystem<T> const& system, CsrFindings const& found,
                            krylov::Operator<T> const& a, krylov::Method method,
                            std::int64_t together) {
  using krylov::Method;
  auto const& parameters = parameters_of(run);
  std::string const& asked = parameters.preconditioner;
  auto const refuse = [&](std::string const& message) {
    throw ConfigError({run.problem(run.location("parameters.preconditioner"), message)});
  };
  if (auto const refusal = preconditioner_refusal(asked, method, found); !refusal.empty())
    refuse(refusal);
  bool const may_divide = method != Method::cg || found.not_positive < 0;
  auto made =
      asked == "none"        ? Preconditioning<T>{}
      : asked == "chebyshev" ? by_polynomial(stream, system, a)
      : asked == "block_jacobi"
          ? by_blocks(stream, system, parameters.block_size,
                      needs_symmetry(method) ? sparse::Blocks::definite : sparse::Blocks::any)
      : asked == "ic0"                ? by_factors(stream, system, sparse::Incomplete::cholesky)
      : asked == "ilu0"               ? by_factors(stream, system, sparse::Incomplete::lu)
      : parameters.method == "amg_cg" ? by_aggregation(stream, system, together)
                                      : by_diagonal(stream, system, method, may_divide);
  if (asked == "jacobi" && made.name == "none")
    refuse(method == Method::cg
               ? "jacobi needs a positive diagonal for cg (preconditioner: none, or another method)"
               : "jacobi needs a diagonal without zeros (preconditioner: none)");
  if (asked == "block_jacobi" && !made.apply) refuse(made.note);
  return made;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template Preconditioning<T> by_diagonal(Stream&, ScaledSystem<T> const&, krylov::Method, bool); \
  template Preconditioning<T> by_polynomial(Stream&, ScaledSystem<T> const&,                      \
                                            krylov::Operator<T> const&);                          \
  template Preconditioning<T> by_blocks(Stream&, ScaledSystem<T> const&, std::int64_t,            \
                                        sparse::Blocks);                                          \
  template Preconditioning<T> by_factors(Stream&, ScaledSystem<T> const&, sparse::Incomplete);    \
  template Preconditioning<T> by_aggregation(Stream&, ScaledSystem<T> const&, std::int64_t);      \
  template Preconditioning<T> as_asked(config::RunConfig const&, Stream&, ScaledSystem<T> const&, \
                                       CsrFindings const&, krylov::Operator<T> const&,            \
                                       krylov::Method, std::int64_t);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::linear_system
