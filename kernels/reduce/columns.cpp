#include "kernels/reduce/columns.hpp"

#include <algorithm>

namespace gridstride::reduce {

namespace {

/// Parts of more columns than a tile may have are cut into tiles that are about as large as each other.
TileCuts cuts_of(std::int64_t columns) {
  std::int64_t const tiles = (columns + running_tile - 1) / running_tile;
  return {columns, (columns + tiles - 1) / tiles};
}

}  // namespace

std::int64_t rows_of_part(std::array<std::int64_t, 3> const& points) {
  constexpr std::int64_t most_parts = 4096, most_rows = 32, all_columns = std::int64_t{1} << 20;
  std::int64_t const rows = points[1];
  std::int64_t const wanted_parts = std::clamp<std::int64_t>(all_columns / points[0], 8, 256);
  std::int64_t of_part = 1;
  while (of_part < most_rows && 2 * of_part * wanted_parts <= rows) of_part *= 2;
  return std::max(of_part, (rows + most_parts - 1) / most_parts);
}

ColumnReduction::ColumnReduction(Stream const& stream, FieldOperation<double> const& operation,
                                 int fields)
    : operation_(operation),
      cuts_(cuts_of(operation.points[0])),
      count_(sums_of(operation.points)),
      sums_(stream, MemorySpace::device,
            static_cast<std::size_t>(count_) * static_cast<std::size_t>(fields)),
      done_(stream, MemorySpace::device, static_cast<std::size_t>(fields)) {
  Stream on = stream;
  zero_async(done_.span(), on);
}

std::int64_t ColumnReduction::sums_of(std::array<std::int64_t, 3> const& points) {
  return cuts_of(points[0]).count(parts_of_rows(points[1], points) * points[0]);
}

ColumnTiles ColumnReduction::tiles_of(std::int64_t first_part, std::int64_t parts,
                                      std::span<FieldColumns const> columns) {
  std::int64_t const line = operation_.points[0];
  ColumnTiles tiles{.operation = operation_,
                    .columns = {},
                    .sums = sums_.data() + cuts_.count(first_part * line),
                    .count = count_,
                    .size = parts * line,
                    .cuts = cuts_,
                    .results = {},
                    .done = done_.data()};
  std::ranges::copy(columns, tiles.columns);
  return tiles;
}

#ifdef GRIDSTRIDE_WITH_CUDA

void ColumnReduction::find_parts(Stream& stream, std::int64_t first_part, std::int64_t parts,
                                 std::span<FieldColumns const> columns) {
  if (parts == 0 || columns.empty()) return;
  cuda_column_tiles(stream, tiles_of(first_part, parts, columns), static_cast<int>(columns.size()));
}

void ColumnReduction::finish(Stream& stream, std::span<FieldNumbers* const> results) {
  auto all = tiles_of(0, 0, {});
  std::ranges::copy(results, all.results);
  cuda_finish_fields(stream, all, static_cast<int>(results.size()));
}

void ColumnReduction::find(Stream& stream, std::span<FieldColumns const> columns,
                           std::span<FieldNumbers* const> results) {
  auto all = tiles_of(0, parts_of_rows(operation_.points[1], operation_.points), columns);
  std::ranges::copy(results, all.results);
  cuda_column_tiles(stream, all, static_cast<int>(columns.size()));
}

#else

void ColumnReduction::find_parts(Stream&, std::int64_t, std::int64_t,
                                 std::span<FieldColumns const>) {}
void ColumnReduction::finish(Stream&, std::span<FieldNumbers* const>) {}
void ColumnReduction::find(Stream&, std::span<FieldColumns const>, std::span<FieldNumbers* const>) {
}

#endif

}  // namespace gridstride::reduce
