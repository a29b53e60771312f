#include "io/stored_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "io/layout.hpp"
#include "io/list.hpp"
#include "io/storage.hpp"

namespace gridstride::io {

namespace {

using hdf5::Object;

/// Enough rows for few chunks in a long table, few enough for a small file.
constexpr std::size_t chunk_bytes = std::size_t{16} << 10;

std::string path_of(char const* group, std::string const& name) {
  return fmt::format("{}/{}", group, name);
}

[[noreturn]] void reject(Object const& file, std::string const& table, std::string_view why) {
  throw IoError(file.path(), fmt::format("is no gridstride result (table '{}' {})", table, why));
}

/// Whether the values are of the type that the info tells of, or neither of the two.
bool is_whole(Object const& column, std::string const& table, std::string const& name) {
  auto const type = column.type();
  H5T_class_t const kind = H5Tget_class(type.id());
  bool const whole = kind == H5T_INTEGER && H5Tget_sign(type.id()) == H5T_SGN_2;
  if (H5Tget_size(type.id()) != 8 || (!whole && kind != H5T_FLOAT))
    reject(column, table, fmt::format("has a column '{}' of neither int64 nor float64", name));
  return whole;
}

template <class T>
std::vector<T> read_rows(Object const& column, std::int64_t start, std::int64_t end) {
  std::vector<T> values(static_cast<std::size_t>(end - start));
  if (!values.empty())
    column.read(values.data(), hdf5::native_type<T>(), {static_cast<hsize_t>(start)},
                {values.size()});
  return values;
}

}  // namespace

StoredTable::StoredTable(Object const& home, TableInfo info) : info_(std::move(info)) {
  Object const group = home.create_group(path_of(layout::tables, info_.name));
  std::vector<std::string_view> names;
  for (auto const& [name, unit, whole] : info_.columns) {
    names.push_back(name);
    auto& column = columns_.emplace_back(
        create_list(group, name, whole ? H5T_STD_I64LE : H5T_IEEE_F64LE, {}, chunk_bytes));
    column.write_text_attribute("unit", unit);
  }
  group.write_text_attribute("columns", fmt::format("{}", fmt::join(names, " ")));
  list_of_ends_ = create_list(home, path_of(layout::table_ends, info_.name), H5T_STD_I64LE);
}

StoredTable::StoredTable(Object const& home, std::string const& name, std::size_t steps)
    : info_{name, {}},
      ends_(read_list<std::int64_t>(home, path_of(layout::table_ends, name), steps)) {
  Object const group = home.open_group(path_of(layout::tables, name));
  if (!std::ranges::is_sorted(ends_) || (!ends_.empty() && ends_.front() < 0))
    reject(home, name, "has steps without an end");
  auto const needed = static_cast<hsize_t>(ends_.empty() ? 0 : ends_.back());
  std::istringstream names(group.read_text_attribute("columns"));
  for (std::string column; names >> column;) {
    Object list = group.open_dataset(column);
    hdf5::require_sources(list, column);
    auto const shape = list.shape();
    if (shape.size() != 1 || shape[0] < needed)
      reject(home, name, fmt::format("lacks rows of column '{}'", column));
    info_.columns.push_back(
        {column, list.read_text_attribute("unit"), is_whole(list, name, column)});
    columns_.push_back(std::move(list));
  }
  if (columns_.empty() || columns_.size() != group.names().size())
    reject(home, name, "has other columns than it names");
}

void StoredTable::write_rows(Table const& table) {
  auto const rows = static_cast<hsize_t>(table.rows());
  if (rows == 0) return;
  auto const start = static_cast<hsize_t>(written_);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    std::visit(
        [&]<class T>(std::vector<T> const& values) {
          columns_[i].resize({start + rows});
          columns_[i].write(values.data(), hdf5::native_type<T>(), {start}, {rows});
        },
        table.columns[i].numbers);
  written_ += table.rows();
}

void StoredTable::write_end(std::size_t step) { write_last(list_of_ends_, step + 1, written_); }

Table StoredTable::read(std::size_t step) const {
  Table table{info_.name, {}};
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto const& [name, unit, whole] = info_.columns[i];
    Column column{name, unit};
    if (whole)
      column.numbers = read_rows<std::int64_t>(columns_[i], start(step), end(step));
    else
      column.numbers = read_rows<double>(columns_[i], start(step), end(step));
    table.columns.push_back(std::move(column));
  }
  return table;
}

std::vector<StoredTable> open_tables(Object const& home, std::size_t steps) {
  std::vector<StoredTable> tables;
  if (!home.contains(layout::tables)) return tables;
  for (auto const& name : home.open_group(layout::tables).names())
    tables.emplace_back(home, name, steps);
  return tables;
}

}  // namespace gridstride::io
