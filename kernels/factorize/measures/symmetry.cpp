#include "kernels/factorize/measures/symmetry.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/variant.hpp"
#include "kernels/factorize/measures/symmetry_parts.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::factorize {

namespace {

/// Where a square tile of the upper triangle differs from its mirror image: the first place, or the
/// end of the matrix. Tiles keep both in the cache.
constexpr std::int64_t tile = 64;

template <class T>
std::int64_t first_difference(Matrix<T const> const& a, std::int64_t first_row,
                              std::int64_t first_column) {
  std::int64_t const rows = std::min(first_row + tile, a.rows);
  std::int64_t const columns = std::min(first_column + tile, a.columns);
  for (std::int64_t i = first_row; i < rows; ++i)
    for (std::int64_t j = std::max(first_column, i); j < columns; ++j)
      if (!(a.data[i * a.leading + j] == a.data[j * a.leading + i])) return i * a.columns + j;
  return a.rows * a.columns;
}

}  // namespace

template <class T>
SymmetryPlaces host_symmetry(Stream&, Matrix<T const> const& a) {
  std::int64_t const strips = (a.rows + tile - 1) / tile, end = a.rows * a.columns;
  std::vector<std::int64_t> differences(static_cast<std::size_t>(strips), end);
  parallel_for(strips, tile * a.rows, [&](std::int64_t strip) {
    for (std::int64_t j = strip; j < strips; ++j)
      differences[strip] =
          std::min(differences[strip], first_difference(a, strip * tile, j * tile));
  });
  std::int64_t diagonal = 0;
  while (diagonal < a.rows && a.data[diagonal * (a.leading + 1)] > 0) ++diagonal;
  return {std::ranges::min(differences), diagonal};
}

template <class T>
Symmetry symmetry(Stream& stream, Matrix<T const> a) {
  if (a.rows != a.columns) throw std::invalid_argument("symmetry: a is not square");
  if (a.empty()) return {};
  auto* run = host_symmetry<T>;
  if (stream.backend() == Backend::cuda) run = GRIDSTRIDE_CUDA_ROW(cuda_symmetry<T>);
  auto const [difference, diagonal] = run(stream, a);
  Symmetry found;
  if (difference < a.rows * a.columns) {
    found.row = difference / a.columns;
    found.column = difference % a.columns;
  }
  if (diagonal < a.rows) found.diagonal = diagonal;
  return found;
}

template Symmetry symmetry(Stream&, Matrix<float const>);
template Symmetry symmetry(Stream&, Matrix<double const>);

}  // namespace gridstride::factorize
