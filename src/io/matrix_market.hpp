#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "core/number_source.hpp"

namespace gridstride::io {

/// A file of a dense matrix in the Matrix Market exchange format:
///
///     %%MatrixMarket matrix array real|integer general|symmetric|skew-symmetric
///     % comments
///     ROWS COLUMNS
///     one value a line, column after column; of symmetric matrices from the diagonal down, of
///     skew-symmetric ones from below it
///
/// Words may be in either case, blank lines may follow the first line, and lines may end in CR LF.
/// Source: Boisvert, Pozo, Remington, "The Matrix Market exchange formats: initial design", NISTIR
/// 5935 (1996). Anything else, values that are not finite, and a size that the file cannot hold
/// throw `IoError` with the file and the line: `a.mtx:17: 'x' is not a number`.

/// Rows and columns.
std::array<std::int64_t, 2> inspect_matrix_market(std::filesystem::path const& path);

/// Its numbers, all of which are in memory, in float64. Throws `IoError` as above.
std::unique_ptr<NumberSource> open_matrix_market(std::filesystem::path const& path);

/// All of it, row after row. Throws `IoError` as above, and when it does not have `out.size()`
/// values.
void read_matrix_market(std::filesystem::path const& path, std::span<double> out);

}  // namespace gridstride::io
