#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/run_config.hpp"
#include "config/visitor.hpp"
#include "kernels/sparse/stencil_matrix.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// n² float64 have less than 2^62 bytes.
inline constexpr std::int64_t most_matrix_rows = std::int64_t{1} << 28;

/// The row i, the column j and the size n, as formulas know them. A matrix lies row by row, so that
/// its column is the fastest axis of a grid.
std::span<expression::Variable const> matrix_variables();

/// A square matrix as a config gives it: a formula, a file, or a stencil.
struct MatrixSource {
  config::FieldSource matrix;
  std::int64_t size = config::required_integer;  ///< of a matrix that is a formula
  std::string stencil;                           ///< of a generated matrix
  std::vector<std::int64_t> points;              ///< and its grid

  /// Declares the key `matrix`.
  void declare_matrix(config::Visitor& visitor, std::filesystem::path const& folder,
                      std::string_view documentation, config::Presence presence);
  bool has_matrix() const {
    return !matrix.file.empty() || !matrix.formula.text.empty() || !stencil.empty();
  }

 private:
  void declare_stencil(config::Visitor& visitor);
};

/// Of a generated matrix: the neighbours that points have, and the grid, whose axes may be of one point.
struct Stencil {
  sparse::Neighbours neighbours;
  sparse::GridPoints points;
  int dims;
};
/// Nothing where the matrix comes from a file or a formula.
std::optional<Stencil> stencil_of(MatrixSource const& source);

/// What is known of a sparse matrix; nothing where it is dense.
std::optional<SparseExtents> sparse_extents(MatrixSource const& source, Inputs const& inputs);
/// All of it.
Csr<double> read_sparse(MatrixSource const& source, Inputs const& inputs);
/// n, and what a file's shape has wrong for a matrix, if anything.
std::pair<std::int64_t, std::string> rows_of(MatrixSource const& source, Inputs const& inputs);

}  // namespace gridstride
