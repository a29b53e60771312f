#include "io/csr_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "io/dataset.hpp"
#include "io/hdf5.hpp"

namespace gridstride::io {

namespace {

enum class GroupLayout { rows, columns };

struct GroupHead {
  GroupLayout layout = GroupLayout::rows;
  SparseExtents extents;
};

/// One of the group's datasets, of one axis.
std::int64_t length_in_group(std::filesystem::path const& path, std::string const& group,
                             std::string const& name, bool whole) {
  std::string const dataset = group + "/" + name;
  auto const info = inspect_dataset(path, dataset);
  bool const fits =
      whole ? info.type.starts_with("int") || info.type.starts_with("uint") : info.numeric;
  if (!fits || info.shape.size() != 1)
    throw IoError(path,
                  fmt::format("'{}' holds {} along {} axes ({} along one are needed)", dataset,
                              info.type, info.shape.size(), whole ? "whole numbers" : "numbers"));
  return info.shape[0];
}

/// What the group says it is, and by what.
struct GroupKind {
  std::string by, kind;
};

/// As AnnData, h5sparse and scipy's `save_npz` do; none where it does not.
std::vector<GroupKind> kinds_of_group(hdf5::Object const& group) {
  std::vector<GroupKind> kinds;
  for (std::string const attribute : {"encoding-type", "h5sparse_format", "format"})
    if (group.has_text_attribute(attribute))
      kinds.push_back({attribute, group.read_text_attribute(attribute)});
  if (group.contains("format")) kinds.push_back({"the dataset format", group.read_text("format")});
  return kinds;
}

std::optional<GroupLayout> layout_of_kind(std::string_view kind) {
  if (kind == "csr_matrix" || kind == "csr") return GroupLayout::rows;
  if (kind == "csc_matrix" || kind == "csc") return GroupLayout::columns;
  return std::nullopt;
}

GroupLayout layout_of_group(hdf5::Object const& group, std::string const& name) {
  auto const kinds = kinds_of_group(group);
  if (kinds.empty() || kinds[0].kind.empty()) return GroupLayout::rows;
  auto const& first = kinds[0];
  auto const layout = layout_of_kind(first.kind);
  if (!layout)
    throw IoError(group.path(), fmt::format("'{}' is of the kind '{}' (csr_matrix and csc_matrix "
                                            "are read)",
                                            name, first.kind));
  for (GroupKind const& other : kinds)
    if (layout_of_kind(other.kind).value_or(*layout) != *layout)
      throw IoError(group.path(),
                    fmt::format("'{}' is of the kind '{}' by {}, and '{}' by {} (rows "
                                "or columns, one of both is wrong)",
                                name, first.kind, first.by, other.kind, other.by));
  return *layout;
}

/// Rows and columns; none where the group does not tell.
std::vector<std::int64_t> shape_of_group(hdf5::Object const& group) {
  for (std::string const attribute : {"shape", "h5sparse_shape"})
    if (group.has_attribute(attribute)) return group.read_attribute<std::int64_t>(attribute);
  if (!group.contains("shape")) return {};
  auto const dataset = group.open_dataset("shape");
  if (dataset.shape() != hdf5::Shape{2}) return {0};
  std::vector<std::int64_t> shape(2);
  dataset.read(shape.data(), hdf5::native_type<std::int64_t>());
  return shape;
}

GroupHead head_of_group(std::filesystem::path const& path, std::string const& name) {
  GroupHead head;
  auto const pointers = length_in_group(path, name, "indptr", true);
  auto& extents = head.extents;
  extents.entries = extents.elements = length_in_group(path, name, "data", false);
  auto const indices = length_in_group(path, name, "indices", true);
  if (indices != extents.entries)
    throw IoError(path, fmt::format("'{0}/indices' has {1} numbers and '{0}/data' {2} (they must "
                                    "agree)",
                                    name, indices, extents.entries));
  auto const lock = hdf5::exclusive();
  auto const group = hdf5::open_file(path).open_group(name);
  head.layout = layout_of_group(group, name);
  auto shape = shape_of_group(group);
  if (shape.empty()) shape = {pointers - 1, pointers - 1};
  bool const possible = shape.size() == 2 && shape[0] >= 1 && shape[1] >= 1 &&
                        shape[0] <= most_sparse_rows && shape[1] <= most_sparse_rows;
  if (!possible)
    throw IoError(path, fmt::format("the shape of '{}' is no number of rows and of columns (from 1 "
                                    "to {})",
                                    name, most_sparse_rows));
  extents.rows = shape[0];
  extents.columns = shape[1];
  auto const lines = head.layout == GroupLayout::rows ? extents.rows : extents.columns;
  if (pointers != lines + 1)
    throw IoError(
        path, fmt::format("'{}/indptr' has {} numbers (a matrix of {} {} needs {})", name, pointers,
                          lines, head.layout == GroupLayout::rows ? "rows" : "columns", lines + 1));
  return head;
}

/// The arrays as they stand.
Csr<double> stored_rows(hdf5::Object const& group, std::string const& name, GroupHead const& head) {
  auto const& extents = head.extents;
  bool const by_rows = head.layout == GroupLayout::rows;
  Csr<double> matrix{by_rows ? extents.rows : extents.columns,
                     by_rows ? extents.columns : extents.rows,
                     {},
                     {},
                     {}};
  matrix.offsets.resize(static_cast<std::size_t>(matrix.rows) + 1);
  matrix.values.resize(static_cast<std::size_t>(extents.entries));
  matrix.column_indices.resize(matrix.values.size());
  std::vector<std::int64_t> indices(matrix.values.size());
  group.open_dataset("indptr").read(matrix.offsets.data(), hdf5::native_type<std::int64_t>());
  group.open_dataset("data").read(matrix.values.data(), hdf5::native_type<double>());
  group.open_dataset("indices").read(indices.data(), hdf5::native_type<std::int64_t>());
  for (std::size_t k = 0; k < indices.size(); ++k) {
    if (indices[k] < 0 || indices[k] >= matrix.columns)
      throw IoError(group.path(), fmt::format("'{}/indices' has {} at [{}] (0 to {} are possible)",
                                              name, indices[k], k, matrix.columns - 1));
    if (!std::isfinite(matrix.values[k]))
      throw IoError(group.path(), fmt::format("'{}/data' is {} at [{}] (all values have to be "
                                              "finite)",
                                              name, matrix.values[k], k));
    matrix.column_indices[k] = static_cast<std::int32_t>(indices[k]);
  }
  auto const& offsets = matrix.offsets;
  bool const ascend = std::ranges::is_sorted(offsets) && offsets.front() == 0 &&
                      offsets.back() == matrix.nonzeros();
  if (!ascend)
    throw IoError(group.path(), fmt::format("'{}/indptr' does not ascend from 0 to {}, the number "
                                            "of values",
                                            name, matrix.nonzeros()));
  return matrix;
}

}  // namespace

bool is_group(std::filesystem::path const& path, std::string const& name) {
  auto const lock = hdf5::exclusive();
  auto const file = hdf5::open_file(path);
  return !name.empty() && file.contains(name) && file.is_group(name);
}

SparseExtents inspect_csr_group(std::filesystem::path const& path, std::string const& group) {
  return head_of_group(path, group).extents;
}

Csr<double> read_csr_group(std::filesystem::path const& path, std::string const& name) {
  GroupHead const head = head_of_group(path, name);
  for (auto const* const part : {"/indptr", "/indices", "/data"}) require_values(path, name + part);
  Csr<double> matrix;
  {
    auto const lock = hdf5::exclusive();
    matrix = stored_rows(hdf5::open_file(path).open_group(name), name, head);
  }
  if (auto const place = order_rows(matrix))
    throw IoError(path, fmt::format("the elements of '{}' at [{}][{}] add up to more than float64 "
                                    "can hold",
                                    name, place->first, place->second));
  return head.layout == GroupLayout::rows ? std::move(matrix) : transposed(matrix);
}

}  // namespace gridstride::io
