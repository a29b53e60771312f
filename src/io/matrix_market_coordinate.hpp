#pragma once

#include <cstdint>
#include <filesystem>

#include "core/csr.hpp"

namespace gridstride::io {

/// A file of a sparse matrix in the Matrix Market exchange format:
///
///     %%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric
///     % comments
///     ROWS COLUMNS ENTRIES
///     row, column (both from 1) and value of an entry a line, in any order; a pattern has no
///     values, all of which are 1; symmetric matrices have entries on and below the diagonal,
///     skew-symmetric ones below it
///
/// Words may be in either case, blank lines may follow the first line, and lines may end in CR LF.
/// Entries of the same place are added up, in the order of the file. Anything else throws `IoError`
/// with the file and the line: places that are not in the matrix, values that are not finite, more
/// or less entries than the third number says, sizes beyond `most_sparse_rows`, a matrix of complex
/// numbers. Source: as `io/matrix_market.hpp`.

/// Whether the first line says so: `coordinate`, not `array`. False for any other file.
bool is_coordinate_file(std::filesystem::path const& path);

/// What its head says.
SparseExtents inspect_coordinate_file(std::filesystem::path const& path);

/// All of it. Many threads parse parts of the file.
Csr<double> read_coordinate_file(std::filesystem::path const& path);

}  // namespace gridstride::io
