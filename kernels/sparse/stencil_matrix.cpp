#include "kernels/sparse/stencil_matrix.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/support/parallel_for.hpp"

namespace gridstride::sparse {

namespace {

/// Calls `visit(row, at)` for the points of a line along x, where at[axis] is the point's place.
template <class Visit>
void for_each_row(std::int64_t line, GridPoints const& points, Visit const& visit) {
  GridPoints at{0, line % points[1], line / points[1]};
  for (std::int64_t row = line * points[0]; at[0] < points[0]; ++row, ++at[0]) visit(row, at);
}

/// Calls `visit(column)` for a row's elements, in ascending columns.
template <class Visit>
void for_each_element(Neighbours neighbours, GridPoints const& points, GridPoints const& at,
                      Visit const& visit) {
  auto const reach = [&](int axis, int side) {
    auto const place = at[static_cast<std::size_t>(axis)] + side;
    return place >= 0 && place < points[static_cast<std::size_t>(axis)];
  };
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x) {
        if (!reach(0, x) || !reach(1, y) || !reach(2, z)) continue;
        if (neighbours == Neighbours::axes && std::abs(x) + std::abs(y) + std::abs(z) > 1) continue;
        visit(((at[2] + z) * points[1] + at[1] + y) * points[0] + at[0] + x);
      }
}

/// Elements of a row.
std::int64_t count_row(Neighbours neighbours, GridPoints const& points, GridPoints const& at) {
  std::int64_t sum = 1, product = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    std::int64_t const own = (at[a] > 0) + (at[a] + 1 < points[a]);
    sum += own;
    product *= own + 1;
  }
  return neighbours == Neighbours::axes ? sum : product;
}

/// Where rows begin, and the end: counted within each line, and then moved by the lines before it.
void count_rows(Neighbours neighbours, GridPoints const& points, std::span<std::int64_t> offsets) {
  std::int64_t const lines = points[1] * points[2];
  offsets[0] = 0;
  parallel_for(lines, 8 * points[0], [&](std::int64_t line) {
    std::int64_t sum = 0;
    for_each_row(line, points, [&](std::int64_t row, GridPoints const& at) {
      offsets[static_cast<std::size_t>(row) + 1] = sum += count_row(neighbours, points, at);
    });
  });
  std::vector<std::int64_t> before(static_cast<std::size_t>(lines));
  for (std::size_t line = 1; line < before.size(); ++line)
    before[line] = before[line - 1] + offsets[line * static_cast<std::size_t>(points[0])];
  parallel_for(lines, points[0], [&](std::int64_t line) {
    for_each_row(line, points, [&](std::int64_t row, GridPoints const&) {
      offsets[static_cast<std::size_t>(row) + 1] += before[static_cast<std::size_t>(line)];
    });
  });
}

}  // namespace

std::int64_t stencil_elements(Neighbours neighbours, GridPoints const& points) {
  // Along an axis of m points m − 1 pairs are neighbours.
  std::int64_t const rows = points[0] * points[1] * points[2];
  if (neighbours == Neighbours::all)
    return (3 * points[0] - 2) * (3 * points[1] - 2) * (3 * points[2] - 2);
  std::int64_t sum = rows;
  for (auto const extent : points) sum += 2 * (rows - rows / extent);
  return sum;
}

std::int64_t stencil_diagonal(Neighbours neighbours, GridPoints const& points, int dims) {
  std::int64_t rows = 1;
  for (auto const extent : points)
    if (extent < 1 || __builtin_mul_overflow(rows, extent, &rows) || rows > most_sparse_rows)
      throw std::invalid_argument("stencil_matrix: a grid has 1 to 2^31 - 1 points");
  if (dims == 0)
    dims = std::max(1, static_cast<int>(std::ranges::count_if(
                           points, [](std::int64_t extent) { return extent > 1; })));
  std::int64_t box = 1;
  for (int axis = 0; axis < dims; ++axis) box *= 3;
  return neighbours == Neighbours::all ? box - 1 : 2 * dims;
}

template <class T>
Csr<T> stencil_matrix(Neighbours neighbours, GridPoints const& points, int dims) {
  auto const diagonal = stencil_diagonal(neighbours, points, dims);
  std::int64_t const rows = points[0] * points[1] * points[2];
  Csr<T> matrix{rows, rows, {}, {}, {}};
  matrix.offsets.resize(static_cast<std::size_t>(rows) + 1);
  count_rows(neighbours, points, matrix.offsets);
  auto const elements = static_cast<std::size_t>(matrix.offsets.back());
  matrix.column_indices.resize(elements);
  matrix.values.resize(elements);
  parallel_for(rows / points[0], 64 * points[0], [&](std::int64_t line) {
    auto k = static_cast<std::size_t>(matrix.offsets[static_cast<std::size_t>(line * points[0])]);
    for_each_row(line, points, [&](std::int64_t row, GridPoints const& at) {
      for_each_element(neighbours, points, at, [&](std::int64_t column) {
        matrix.column_indices[k] = static_cast<std::int32_t>(column);
        matrix.values[k++] = column == row ? static_cast<T>(diagonal) : T{-1};
      });
    });
  });
  return matrix;
}

template Csr<float> stencil_matrix(Neighbours, GridPoints const&, int);
template Csr<double> stencil_matrix(Neighbours, GridPoints const&, int);

}  // namespace gridstride::sparse
