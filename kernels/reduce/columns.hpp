#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "kernels/reduce/running.hpp"

/// Numbers of fields in two dimensions on a GPU, of which each column of a part is reduced by itself
/// first, row after row. So a kernel that goes along columns can make that meanwhile, in whatever strips
/// and chunks it goes, and the bits follow from the points of the grid alone.
namespace gridstride::reduce {

/// Where the numbers of columns lie, in device memory: as many as the grid has columns for each part,
/// part after part. Rows on sides that do not wrap count half in the sums.
struct FieldColumns {
  double* sums = nullptr;
  double* least = nullptr;     ///< null: not asked for
  double* greatest = nullptr;  ///< the same
};

/// The most fields that are reduced at a time.
inline constexpr int most_fields = 8;

/// The rows of a part, of which the last one may have fewer: up to 32, with which there are some 256
/// parts, or fewer where rows are long, and no more than 4096 of any grid.
std::int64_t rows_of_part(std::array<std::int64_t, 3> const& points);
inline std::int64_t parts_of_rows(std::int64_t rows, std::array<std::int64_t, 3> const& points) {
  return (rows + rows_of_part(points) - 1) / rows_of_part(points);
}

/// The tiles of the columns of some parts, for the functions of the backend.
struct ColumnTiles {
  FieldOperation<double> operation;
  FieldColumns columns[most_fields];
  FieldNumbers* sums;  ///< of the first of these tiles; those of the next field are `count` further
  std::int64_t count;
  std::int64_t size;  ///< columns of all these parts
  TileCuts cuts;
  /// Where the last block of each field finds its result: null: nowhere. `done`, a counter for each, is 0
  /// before and after.
  FieldNumbers* results[most_fields];
  unsigned* done;
};

/// Reduces the columns of all parts of so many fields. Nothing is allocated and nobody waits for the
/// device, so that it may be part of a graph.
class ColumnReduction {
 public:
  /// What is of columns has the points, spacing and wraps of the grid.
  ColumnReduction(Stream const& stream, FieldOperation<double> const& operation, int fields);

  /// Queues the sums of parts from `first_part` on, whose columns begin where `columns` say, one for
  /// each of the first fields.
  void find_parts(Stream& stream, std::int64_t first_part, std::int64_t parts,
                  std::span<FieldColumns const> columns);
  /// Once those of all parts are there: queues the numbers of the first fields.
  void finish(Stream& stream, std::span<FieldNumbers* const> results);
  /// Both for all parts, by one kernel.
  void find(Stream& stream, std::span<FieldColumns const> columns,
            std::span<FieldNumbers* const> results);
  /// The sums, field after field, and how many of them the first rows have of each, which no part goes
  /// beyond.
  std::span<FieldNumbers> sums() { return sums_.span(); }
  std::int64_t sums_before(std::int64_t row) const {
    return cuts_.count(parts_of_rows(row, operation_.points) * operation_.points[0]);
  }
  static std::int64_t sums_of(std::array<std::int64_t, 3> const& points);

 private:
  FieldOperation<double> operation_;
  TileCuts cuts_;
  std::int64_t count_;  ///< of a field
  ColumnTiles tiles_of(std::int64_t first_part, std::int64_t parts,
                       std::span<FieldColumns const> columns);

  Buffer<FieldNumbers> sums_;
  Buffer<unsigned> done_;  // of each field, tiles
};

/// For the family's own files.
void cuda_column_tiles(Stream& stream, ColumnTiles const& tiles, int fields);
void cuda_finish_fields(Stream& stream, ColumnTiles const& tiles, int fields);
/// The columns of whole parts of a field, the rows from `first_row` on.
template <class T>
void cuda_columns(Stream& stream, FieldOperation<T> const& operation, T const* values,
                  std::int64_t first_row, std::int64_t rows, FieldColumns const& columns);

}  // namespace gridstride::reduce
