#pragma once

#include <filesystem>
#include <string>

#include "core/csr.hpp"

namespace gridstride::io {

/// A sparse matrix as a group of an HDF5 file, as scipy's arrays and AnnData have it: the datasets
///
///     data      values, row after row
///     indices   the column of each, from 0
///     indptr    where each row begins, and the end of the last
///
/// with its rows and columns as the attribute or dataset `shape`; where there is none it is square.
/// The attribute `encoding-type` (or `h5sparse_format`) may say `csc_matrix` (`csc`): columns are
/// then what rows are here. Elements of a row may stand in any order, and several times: those of one
/// place are added up in their order.

/// Whether `name` is a group of the file, and no dataset. Throws `IoError` for a file that is none of
/// HDF5.
bool is_group(std::filesystem::path const& path, std::string const& name);

/// Throw `IoError` for groups that are no matrix: datasets that are missing or of other types or
/// lengths, places that are not in the matrix, values that are not finite.
SparseExtents inspect_csr_group(std::filesystem::path const& path, std::string const& group);
Csr<double> read_csr_group(std::filesystem::path const& path, std::string const& group);

}  // namespace gridstride::io
