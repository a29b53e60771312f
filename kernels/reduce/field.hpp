#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/buffer.hpp"
#include "kernels/reduce/columns.hpp"
#include "kernels/reduce/running.hpp"

/// What is found about a field: a sum of parts that are planes of its grid, so that several processes
/// that each have some of the planes find the same bits as one that has all.
namespace gridstride::reduce {

/// The planes along the slowest axis that are a part, the last one of which may have fewer. They
/// follow from the backend and the points of the grid alone.
std::int64_t planes_of_part(Backend backend, int dims, std::array<std::int64_t, 3> const& points);

/// Reduces a field in float64, with the same bits every time and however its planes are handed over.
/// The bits are those of the backend; on a GPU those of any GPU. Nothing is allocated and nobody waits
/// for the device, so that it may be part of a graph. Instantiated for float and double.
template <class T>
class FieldReduction {
 public:
  FieldReduction(Stream const& stream, FieldOperation<T> const& operation);
  /// Of device memory.
  static std::size_t bytes(Backend backend, FieldOperation<T> const& operation);

  /// Queues the result, an array of one, of all values. Throws `std::invalid_argument` for another
  /// number of them than the grid has.
  void find(Stream& stream, std::span<T const> values, std::span<FieldNumbers> result);

  /// The same in two halves: queues the sums of whole parts, the planes from `first_plane` on, and once
  /// those of all parts are there, the result.
  void find_parts(Stream& stream, std::int64_t first_plane, std::span<T const> values);
  void finish(Stream& stream, std::span<FieldNumbers> result);
  /// The sums, in device memory, and how many of them the first planes have, which no part goes beyond.
  std::span<FieldNumbers> sums() { return columns_ ? columns_->sums() : sums_.span(); }
  std::int64_t sums_before(std::int64_t plane) const {
    return columns_ ? columns_->sums_before(plane) : cuts_.count(plane * plane_values());
  }
  /// All of them, of a grid.
  static std::int64_t sums_of(Backend backend, FieldOperation<T> const& operation);

 private:
  std::int64_t planes() const { return operation_.points[operation_.dims - 1]; }
  std::int64_t plane_values() const;

  FieldOperation<T> operation_;
  TileCuts cuts_;
  Buffer<FieldNumbers> sums_;
  std::optional<ColumnReduction> columns_;  ///< where parts are reduced so
  Buffer<double> of_columns_;               ///< for this: sums, the least, the greatest
};

}  // namespace gridstride::reduce
