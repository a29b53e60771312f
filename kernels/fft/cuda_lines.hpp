#pragma once

#include <cstdint>
#include <vector>

#include "core/stream.hpp"
#include "kernels/fft/lines.hpp"
#include "kernels/fft/passes.hpp"

/// What the GPU's rungs have in common; for the family's own files only.
namespace gridstride::fft {

/// What the functions that set tables of `work` point to is in device memory for as long as the
/// program runs: steps ask for the same again and again, and the driver may be gone before static
/// objects are.

/// Roots of one, exp(−2πi·k/points).
template <class T>
void set_roots(Stream& stream, std::int64_t points, LineWork<T>& work);
/// Those by which passes of such radices turn, see root_rows.
template <class T>
void set_roots(Stream& stream, std::vector<int> const& radices, LineWork<T>& work);

/// What a complex transform as Fourier has it takes beside, and the real ones above it. `convolution`
/// is the number of points of Bluestein's, or of Rader's, which are fewer than the transform's, or 0.
template <class T>
void set_tables(Stream& stream, LineKind kind, std::int64_t line_points, std::int64_t convolution,
                LineWork<T>& work);

/// Sets those of a convolution as long as a matrix of `rows` by `columns`, for lines of `points`.
template <class T>
void set_convolution(Stream& stream, std::int64_t points, std::int64_t rows, std::int64_t columns,
                     LineWork<T>& work);

/// What a pass is to its kernels, but for tables: axes across in the order of their strides.
template <class T>
LineWork<T> work_of(Pass<T> const& pass);

/// A pass by steps through memory, which takes lines of any length.
template <class T>
void run_stages(Stream& stream, Pass<T> const& pass);

}  // namespace gridstride::fft
