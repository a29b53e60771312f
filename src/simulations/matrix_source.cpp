#include "simulations/matrix_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/file_source.hpp"
#include "core/text.hpp"
#include "kernels/sparse/stencil_matrix.hpp"

namespace gridstride {

using config::Form;

std::span<expression::Variable const> matrix_variables() {
  static constexpr expression::Variable names[] = {{"i", 1}, {"j", 0}, {"n", 2}};
  return names;
}

void MatrixSource::declare_matrix(config::Visitor& visitor, std::filesystem::path const& folder,
                                  std::string_view documentation, config::Presence presence) {
  auto const file = [&](config::Visitor& v) {
    config::declare_dataset(v, folder,
                            "two axes of the same extent, rows first, or of a group with `data`, "
                            "`indices` and `indptr`, as scipy has sparse rows",
                            matrix);
  };
  auto const formula = [&](config::Visitor& v) {
    v.visit({.name = "expression",
             .documentation = "The element in row i and column j, both from 0, of n.",
             .variables = "ijn"},
            matrix.formula);
    v.visit({.name = "size",
             .documentation = "The number of rows and columns, n.",
             .minimum = 1,
             .maximum = most_matrix_rows},
            size);
  };
  auto const generated = [&](config::Visitor& v) { declare_stencil(v); };
  Form const forms[] = {{.kind = Form::Kind::mapping, .body = file},
                        {.kind = Form::Kind::mapping, .body = formula},
                        {.kind = Form::Kind::mapping, .body = generated}};
  int chosen = !matrix.file.empty()           ? 0
               : !matrix.formula.text.empty() ? 1
               : !stencil.empty()             ? 2
                                              : -1;
  visitor.forms({.name = "matrix", .documentation = documentation}, presence, forms, chosen);
  visitor.locate("matrix", matrix.location);
}

namespace {

struct StencilRow {
  config::Choice choice;
  std::size_t dims;
  sparse::Neighbours neighbours;
};
constexpr StencilRow stencils[] = {
    {{"3-point", "a line: 2 on the diagonal"}, 1, sparse::Neighbours::axes},
    {{"5-point", "a plane, neighbours along the axes: 4"}, 2, sparse::Neighbours::axes},
    {{"9-point", "a plane, neighbours across corners too: 8"}, 2, sparse::Neighbours::all},
    {{"7-point", "a volume, neighbours along the axes: 6"}, 3, sparse::Neighbours::axes},
    {{"27-point", "a volume, neighbours across edges and corners too: 26"},
     3,
     sparse::Neighbours::all}};

StencilRow const& row_of(MatrixSource const& source) {
  return *std::ranges::find_if(
      stencils, [&](StencilRow const& row) { return row.choice.name == source.stencil; });
}

}  // namespace

std::optional<Stencil> stencil_of(MatrixSource const& source) {
  if (source.stencil.empty()) return std::nullopt;
  auto const& row = row_of(source);
  Stencil stencil{row.neighbours, {1, 1, 1}, static_cast<int>(row.dims)};
  std::ranges::copy(source.points, stencil.points.begin());
  return stencil;
}

void MatrixSource::declare_stencil(config::Visitor& visitor) {
  std::vector<config::Choice> choices;
  for (auto const& row : stencils) choices.push_back(row.choice);
  visitor.choice(
      {.name = "stencil",
       .documentation = "A sparse matrix that is made: -1 for each neighbour of a grid's "
                        "point, and on the diagonal how many a point inside has."},
      choices, stencil);
  bool const usable = visitor.list({.name = "points",
                                    .documentation = "The points of the grid along each axis.",
                                    .minimum = 1,
                                    .maximum = static_cast<double>(most_sparse_rows)},
                                   {1, 3}, points);
  bool const known = std::ranges::any_of(
      stencils, [&](StencilRow const& row) { return row.choice.name == stencil; });
  if (!usable || !known || points.empty()) return;
  auto const dims = row_of(*this).dims;
  if (points.size() != dims) {
    visitor.fault("points", fmt::format("{} number{} given (a {} stencil has {} ax{})",
                                        points.size(), points.size() == 1 ? " is" : "s are",
                                        stencil, dims, dims == 1 ? "is" : "es"));
    return;
  }
  std::int64_t rows = 1;
  for (auto const extent : points)
    if (__builtin_mul_overflow(rows, extent, &rows) || rows > most_sparse_rows)
      return visitor.fault("points",
                           fmt::format("the grid has more than {} points", most_sparse_rows));
}

std::optional<SparseExtents> sparse_extents(MatrixSource const& source, Inputs const& inputs) {
  if (auto const stencil = stencil_of(source)) {
    auto const& points = stencil->points;
    std::int64_t const rows = points[0] * points[1] * points[2];
    return SparseExtents{rows, rows, 0, sparse::stencil_elements(stencil->neighbours, points)};
  }
  if (source.matrix.file.empty()) return std::nullopt;
  return inputs.sparse_extents(source.matrix);
}

Csr<double> read_sparse(MatrixSource const& source, Inputs const& inputs) {
  if (auto const stencil = stencil_of(source))
    return sparse::stencil_matrix<double>(stencil->neighbours, stencil->points, stencil->dims);
  return inputs.read_sparse(source.matrix);
}

/// n, and what a file's shape has wrong for a matrix, if anything.
std::pair<std::int64_t, std::string> rows_of(MatrixSource const& source, Inputs const& inputs) {
  if (auto const sparse = sparse_extents(source, inputs)) {
    if (sparse->rows == sparse->columns) return {sparse->rows, ""};
    return {0, fmt::format("{} holds a matrix of {} x {} (a square one is needed)",
                           source.matrix.file.string(), sparse->rows, sparse->columns)};
  }
  if (source.matrix.file.empty()) return {source.size, ""};
  auto const shape = inputs.shape(source.matrix);
  if (shape.size() != 2 || shape[0] != shape[1] || shape[0] < 1)
    return {0, fmt::format("{} holds {} (a square matrix is needed: [n][n])",
                           source.matrix.file.string(), format_shape(shape))};
  if (shape[0] > most_matrix_rows) return {0, fmt::format("{} rows are too many", shape[0])};
  return {shape[0], ""};
}

}  // namespace gridstride
