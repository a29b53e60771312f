#pragma once

#include <cstddef>
#include <cstdint>

#include "core/stream.hpp"
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

/// out = (1 + L_x) v, with (1 − L_x) v = (1 + L_y) in, both with dt/2
template <class T>
void cuda_alternating_rows(Stream& stream, LineSweep<T> const& sweep);
/// (1 − L_x) out = in, as `plain` has it there; `out` may be `in`.
template <class T>
void cuda_solve_rows(Stream& stream, LineSweep<T> const& sweep);
/// (1 − L_y) out = in; `out` may be `in`.
template <class T>
void cuda_alternating_columns(Stream& stream, LineSweep<T> const& sweep);

}  // namespace gridstride::stencil
