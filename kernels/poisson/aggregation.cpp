#include "kernels/poisson/aggregation.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

#include "core/csr.hpp"
#include "kernels/poisson/matrix_steps.hpp"
#include "kernels/scan/scan.hpp"

namespace gridstride::poisson {

template <class T>
SymmetricRows symmetric_rows(Stream& stream, Equation<T> const& equation, int exponent,
                             double const* roots) {
  if (equation.ranks != nullptr) throw std::invalid_argument("poisson: ranks share no matrix");
  if (equation.grid.size() > most_sparse_rows)
    throw std::invalid_argument("poisson: more points than a matrix has rows");
  auto const a = with_known(operator_of(equation));
  auto const points = static_cast<std::size_t>(equation.grid.size());
  SymmetricRows found;
  auto& [rows, constants] = found;
  rows.rows = rows.columns = equation.grid.size();
  rows.offsets = {stream, MemorySpace::device, points + 1};
  zero_async(rows.offsets.span(), stream);
  visit(stream, CountElements<T>{a, rows.offsets.data()});
  scan::exclusive_sum<std::int64_t>(stream, std::as_const(rows.offsets).span(),
                                    rows.offsets.span());
  std::int64_t elements = 0;
  copy_async(std::span(&elements, 1), std::as_const(rows.offsets).span().last(1), stream);
  stream.synchronize();
  rows.column_indices = {stream, MemorySpace::device, static_cast<std::size_t>(elements)};
  rows.values = {stream, MemorySpace::device, static_cast<std::size_t>(elements)};
  constants = {stream, MemorySpace::device, points};
  visit(stream, StoreElements<T>{a, std::ldexp(1.0, exponent), roots, rows.offsets.data(),
                                 rows.column_indices.data(), rows.values.data(), constants.data()});
  return found;
}

template <class T>
krylov::Preconditioner<double> aggregation(Stream& stream, Equation<T> const& equation,
                                           bool singular, int exponent, double const* roots) {
  auto [rows, constants] = symmetric_rows(stream, equation, exponent, roots);
  return amg::preconditioner<double>(std::make_shared<amg::Hierarchy<double> const>(
      stream, std::move(rows), amg::Options{.singular = singular}, std::move(constants)));
}

std::size_t aggregation_bytes(Grid const& grid) {
  auto const points = static_cast<std::size_t>(grid.size());
  std::size_t const elements = static_cast<std::size_t>(2 * grid.dims + 1) * points;
  std::size_t const matrix = elements * (sizeof(double) + sizeof(std::int32_t)) + 8 * points;
  // The matrix, interpolation and its transpose, coarser matrices; vectors, with that of directions.
  return 4 * matrix + 13 * sizeof(double) * points;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                             \
  template SymmetricRows symmetric_rows(Stream&, Equation<T> const&, int, double const*);     \
  template krylov::Preconditioner<double> aggregation(Stream&, Equation<T> const&, bool, int, \
                                                      double const*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::poisson
