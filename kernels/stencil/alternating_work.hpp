#pragma once

#include <cstddef>
#include <cstdint>

#include "core/stream.hpp"
#include "kernels/stencil/alternating.hpp"
#include "kernels/stencil/diffusion_point.cuh"

/// What `step_alternating` and `solve_lines` (alternating.hpp) have kernels do. For the family's own files only.
namespace gridstride::stencil {

/// What all lines along an axis have in common. ρ is q to the power of a thread's rows.
template <class T>
struct LineMatrix {
  double log_q;
  T q, less_square;         ///< and 1 − q²
  T root;                   ///< √(1 + 4r)
  T chunk_powers[5];        ///< ρ, ρ², ρ⁴, ρ⁸, ρ¹⁶
  T part_powers[5];         ///< the same of all chunks of a part of the line
  T last_chunk, last_part;  ///< q to the power of the rows of the last chunk, and of the last part
  /// α = own·E_0 + other·E_1, with E = end − sign·z there; β the other way round.
  T own[2], other[2], sign[2];
  T wrap;        ///< q/(1 − qⁿ) where the line is periodic, else 0
  T end_weight;  ///< of ∂u/∂n at an end, in units of e
};

/// A pass along an axis for a kernel.
template <class T>
struct LineSweep {
  LineMatrix<T> matrix;
  T const* in;
  T* out;
  std::int64_t size;  ///< unknowns of a line
  std::int64_t lines;
  SideRule ends[2], sides[2];
  bool goes_on[2];  ///< whether there are lines beyond these sides, which lie before and behind
  T const *end_values[2], *side_values[2];
  int parts;     ///< of a line: warps or blocks
  int last_row;  ///< of the last chunk, its last unknown
  bool vectors;  ///< whether rows in memory are aligned
  /// e = center·in + beside·(both neighbours across), ∂u/∂n at a side across in units of in
  T center, beside, side_weight;
};

/// Rows of a warp's part of a line, and of a block's.
template <class T>
constexpr int rows_of_warp = 4096 / sizeof(T);
constexpr int rows_of_block = 512, most_parts = 16, threads_of_block = 256;
/// What blocks need of a multiprocessor.
constexpr std::size_t shared_bytes_of_block = 200 * 1024;

/// Rows of a thread: 128 bytes along x; along y as many as a block's threads have of 128 bytes.
template <class T>
constexpr int rows_of_thread(int along) {
  return along == 0 ? 128 / static_cast<int>(sizeof(T))
                    : static_cast<int>(rows_of_block * 128 / sizeof(T) / threads_of_block);
}

/// What a part of a line tells the others: what its rows are for those behind and before it. Two more
/// of a line tell what is given at its first end, and what is given and z at its last one.
template <class T>
struct alignas(2 * sizeof(T)) Told {
  T forward, backward;
};
constexpr int told_of_line(int parts) { return parts + 2; }

/// What is told, as it goes between GPUs: with the number of the pass beside each four bytes, so that
/// who sees that has them.
struct alignas(16) ToldLine {
  unsigned low, low_number, high, high_number;
};
template <class T>
constexpr int lines_of_told = 2 * sizeof(T) / 8;

/// The parts of all lines that a rank has, of which the others have theirs.
template <class T>
struct ColumnShare {
  int first_part = 0, parts = 0;
  Told<T>* told =
      nullptr;  ///< of all lines, `told_of_line` in turn for all of them; null: by boxes
  /// In the memory of each rank, `lines_of_told` for each.
  ToldLine* boxes[most_parts] = {};
  int rank = 0, ranks = 1;
  unsigned number = 0;  ///< of the pass
};

/// The pass of a step along an axis, of the whole grid.
template <class T>
LineSweep<T> sweep_of(AlternatingStep<T> const& step, int along);
/// Of lines that a device takes.
template <class T>
LineSweep<T> sweep_of(LineSolve<T> const& lines);

/// out = (1 + L_x) v, with (1 − L_x) v = (1 + L_y) in, both with dt/2
template <class T>
void cuda_alternating_rows(Stream& stream, LineSweep<T> const& sweep);
/// (1 − L_x) out = in, as `plain` has it there; `out` may be `in`.
template <class T>
void cuda_solve_rows(Stream& stream, LineSweep<T> const& sweep);
/// (1 − L_y) out = in; `out` may be `in`.
template <class T>
void cuda_alternating_columns(Stream& stream, LineSweep<T> const& sweep);
/// The same of a rank's parts, with `in` and `out` as if they had all rows: in one kernel, in which
/// ranks wait for each other, where there are boxes; else in two, between which all told is gathered.
template <class T>
void cuda_alternating_columns(Stream& stream, LineSweep<T> const& sweep,
                              ColumnShare<T> const& share);
template <class T>
void cuda_tell_columns(Stream& stream, LineSweep<T> const& sweep, ColumnShare<T> const& share);

}  // namespace gridstride::stencil
