#pragma once

#include <cstddef>
#include <cstdint>

#include "core/stream.hpp"
#include "kernels/stencil/diffusion_point.cuh"

/// What `half_step` (alternating.hpp) has kernels do. For the family's own files only.
namespace gridstride::stencil {

/// What all lines have in common; powers of q are of a thread's chunk of rows (ρ), and of further.
template <class T>
struct LineMatrix {
  double log_q;
  T q;
  T center, beside;         ///< e = center·in + beside·(both neighbours across)
  T chunk_powers[5];        ///< ρ, ρ², ρ⁴, ρ⁸, ρ¹⁶
  T part_powers[5];         ///< the same of all chunks of a part of the line
  T last_chunk, last_part;  ///< q to the power of the rows of the last chunk, and of the last part
  /// α = own·E_0 + other·E_1, with E = end − sign·z there; β the other way round.
  T own[2], other[2], sign[2];
  T wrap;         ///< q/(1 − qⁿ) where the line is periodic, else 0
  T end_weight;   ///< of ∂u/∂n at an end, in units of e
  T side_weight;  ///< of ∂u/∂n at a side, in units of in
};

/// A half step for a kernel.
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
};

/// Rows of a warp's part of a line, and of a block's.
template <class T>
constexpr int rows_of_warp = 4096 / sizeof(T);
constexpr int rows_of_block = 1024, most_parts = 8;
/// What blocks need of a multiprocessor.
constexpr std::size_t shared_bytes_of_block = 200 * 1024;

/// Lines along x, and along y.
template <class T>
void cuda_half_step_rows(Stream& stream, LineSweep<T> const& sweep);
template <class T>
void cuda_half_step_columns(Stream& stream, LineSweep<T> const& sweep);

/// Rows of a thread: 128 bytes along x, and as many as 32 threads need for a block's rows along y.
template <class T>
constexpr int rows_of_thread(int along) {
  return along == 0 ? 128 / static_cast<int>(sizeof(T))
                    : static_cast<int>(rows_of_block * 128 / sizeof(T) / 512);
}

}  // namespace gridstride::stencil
