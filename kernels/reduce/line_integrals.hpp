#pragma once

#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "kernels/reduce/running_operations.hpp"

/// Integrals along one axis of an array that comes piece by piece, each some whole rows: all that
/// lies at some places of the slowest axis. The bits do not depend on how it is cut into pieces:
///
///   Σ_k w_k·x_k = Σ_s (Σ_{k ≡ s mod S} w_k·x_k)
///
/// in float64, each of the S strands in rising order of k, whatever the piece that brings k. An
/// integral along n points has an error of at most (n + 3)·2^-53·Σ|w_k·x_k|.
namespace gridstride::reduce {

class LineIntegrals {
 public:
  using Operation = IntegralOperation<double>;

  /// Of the array that `operation` has the points of. Pieces have at most `most_rows` rows.
  LineIntegrals(Stream const& stream, Operation const& operation, int axis, std::int64_t most_rows);

  /// Device memory that this takes (bytes).
  static std::size_t bytes(Operation const& operation, int axis, std::int64_t most_rows);

  /// Points of the array without the axis.
  std::int64_t results() const { return results_; }

  /// Queues the next rows, which lie in the stream's device memory. A call begins, in the order of
  /// the device's work, after the one before. Throws `std::invalid_argument` for what is no whole
  /// number of rows, or more than `most_rows` or than there are.
  void add(Stream& stream, std::span<double const> rows);

  /// Queues the copy of all results. Throws `std::logic_error` before all rows have come, and
  /// `std::invalid_argument` for another size than `results()`.
  void finish(Stream& stream, std::span<double> target);

 private:
  Operation operation_;
  int axis_;
  bool slowest_;  ///< whether pieces go on with the same integrals
  std::int64_t width_, length_, inner_, strands_, results_, most_rows_;
  std::int64_t done_ = 0;  ///< rows
  Buffer<double> partials_, values_;
};

/// One piece, for the functions of the backends: `outer` blocks of `length` points along the axis,
/// `inner` values at each.
struct LinePiece {
  IntegralOperation<double> operation;
  int axis;
  double const* input;
  double* partials;  ///< outer × strands × inner
  std::int64_t outer, length, inner, strands;
  std::int64_t first;  ///< index of the first point along the axis
  bool goes_on;        ///< the partial sums have what came before

  GRIDSTRIDE_HOST_DEVICE std::int64_t strand_values() const { return outer * strands * inner; }
};

void host_line_strands(LinePiece const& piece);
void cuda_line_strands(Stream& stream, LinePiece const& piece);

/// `values` become the integrals of which `piece` has the strands.
void host_line_values(LinePiece const& piece, double* values);
void cuda_line_values(Stream& stream, LinePiece const& piece, double* values);

}  // namespace gridstride::reduce
