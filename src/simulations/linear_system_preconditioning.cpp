#include "simulations/linear_system_preconditioning.hpp"

#include <fmt/format.h>

#include <algorithm>
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
#include "model/values.hpp"

namespace gridstride::linear_system {

template <class T>
Preconditioning<T> by_diagonal(Stream& stream, ScaledSystem<T> const& system, krylov::Method method,
                               bool definite) {
  auto const& rows = system.rows();
  std::vector<T> diagonal(static_cast<std::size_t>(rows.rows));
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    T const value = element(rows, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i));
    diagonal[i] = method == krylov::Method::minres ? std::abs(value) : value;
    definite = definite && std::abs(value) > std::numeric_limits<T>::min();
  }
  if (!definite) return {};
  return {krylov::jacobi<T>(stream, diagonal), "jacobi"};
}

namespace {

/// Of a matrix in units u (a_ij·u_i·u_j; 1 without any): by what the sums of |a_ij| beside the diagonal
/// exceed it, as multiples of it, over all rows.
template <class T>
double excess(Csr<T> const& a, std::vector<T> const& units) {
  double all = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    double diagonal = 0, others = 0;
    for (auto k = static_cast<std::size_t>(a.offsets[i]);
         k < static_cast<std::size_t>(a.offsets[i + 1]); ++k) {
      auto const j = static_cast<std::size_t>(a.column_indices[k]);
      double const size = std::abs(static_cast<double>(a.values[k])) *
                          (units.empty() ? 1.0 : static_cast<double>(units[j]));
      (j == i ? diagonal : others) += size;
    }
    if (others > diagonal && diagonal > 0) all += others / diagonal - 1;
  }
  return all;
}

}  // namespace

namespace {

/// What a symmetric positive definite matrix has; it may be lost in T beside large elements.
template <class T>
void require_positive_diagonal(Csr<T> const& rows) {
  for (std::int64_t i = 0; i < rows.rows; ++i)
    if (!(element(rows, i, i) > T{0}))
      throw NumericalError(fmt::format(
          "linear_system: the matrix is not positive definite: its diagonal in row {}, counted "
          "from "
          "0, is nothing beside the other elements (method: minres takes any symmetric matrix)",
          i));
}

}  // namespace

/// A multiple of the diagonal bounds the eigenvalues (Gershgorin): that of the sums of |a_ij|.
template <class T>
Preconditioning<T> by_polynomial(Stream& stream, ScaledSystem<T> const& system,
                                 krylov::Operator<T> const& a) {
  auto const& rows = system.rows();
  require_positive_diagonal(rows);
  std::vector<T> diagonal(static_cast<std::size_t>(rows.rows));
  double bound = 1;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    diagonal[i] = element(rows, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i));
    double sum = 0;
    for (auto k = static_cast<std::size_t>(rows.offsets[i]);
         k < static_cast<std::size_t>(rows.offsets[i + 1]); ++k)
      sum += std::abs(static_cast<double>(rows.values[k]));
    bound = std::max(bound, sum / static_cast<double>(diagonal[i]));
  }
  return {krylov::chebyshev<T>(stream, a, diagonal, bound), "chebyshev"};
}

template <class T>
Preconditioning<T> by_factors(Stream& stream, ScaledSystem<T> const& system,
                              sparse::Incomplete kind) {
  bool const definite = kind == sparse::Incomplete::cholesky;
  if (definite) require_positive_diagonal(system.rows());
  auto const factors = sparse::factorize(system.rows(), kind);
  auto const solver = std::make_shared<sparse::IncompleteSolver<T> const>(stream, factors);
  Preconditioning<T> found{
      [solver](Stream& s, std::span<T const> r, std::span<T> z) { solver->solve(s, r, z); },
      definite ? "ic0" : "ilu0"};
  if (factors.shift > 0)
    found.note = fmt::format(
        "preconditioner: {} is of A with {} of the sum of |a_ij| added to each element of the "
        "diagonal (row {}, counted from 0, has no pivot to divide by otherwise)",
        found.name, factors.shift, factors.failed);
  return found;
}

template <class T>
Preconditioning<T> by_aggregation(Stream& stream, ScaledSystem<T> const& system) {
  auto const& rows = system.rows();
  require_positive_diagonal(rows);
  // Constants in the given units are these in the system's own.
  auto units = system.units_of_unknowns();
  if (!units.empty() && excess(rows, units) > excess(rows, {})) units.clear();
  auto const hierarchy = std::make_shared<amg::Hierarchy<T> const>(
      stream, amg::on_device(stream, rows), amg::Options{}, on_device<T>(stream, units));
  return {amg::preconditioner<T>(hierarchy), "amg"};
}

bool suits_aggregation(Csr<double> const& matrix) {
  if (matrix.rows < least_aggregated) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.rows); ++i) {
    double diagonal = 0, others = 0;
    for (auto k = static_cast<std::size_t>(matrix.offsets[i]);
         k < static_cast<std::size_t>(matrix.offsets[i + 1]); ++k) {
      bool const own = matrix.column_indices[k] == static_cast<std::int32_t>(i);
      if (!own && matrix.values[k] > 0) return false;
      (own ? diagonal : others) += std::abs(matrix.values[k]);
    }
    if (others > diagonal * (1 + 1e-10)) return false;
  }
  return true;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template Preconditioning<T> by_diagonal(Stream&, ScaledSystem<T> const&, krylov::Method, bool); \
  template Preconditioning<T> by_polynomial(Stream&, ScaledSystem<T> const&,                      \
                                            krylov::Operator<T> const&);                          \
  template Preconditioning<T> by_factors(Stream&, ScaledSystem<T> const&, sparse::Incomplete);    \
  template Preconditioning<T> by_aggregation(Stream&, ScaledSystem<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::linear_system
