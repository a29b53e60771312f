#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5.hpp"
#include "io/result_info.hpp"

namespace gridstride::io {

/// A table in a result file: the group `tables/NAME`, whose attribute `columns` names the columns
/// in their order, holds a list for each of them, with the rows of all steps one after another;
/// `table_ends/NAME` tells for each step where its rows end.
class StoredTable {
 public:
  /// Makes it in the group `home`, without rows.
  StoredTable(hdf5::Object const& home, TableInfo info);
  /// Opens it. Throws `IoError` where it does not have the rows of so many steps.
  StoredTable(hdf5::Object const& home, std::string const& name, std::size_t steps);

  TableInfo const& info() const { return info_; }
  /// Writes rows behind those that there are.
  void write_rows(Table const& table);
  /// They become those of this step, the last one.
  void write_end(std::size_t step);

  std::int64_t rows(std::size_t step) const { return end(step) - start(step); }
  Table read(std::size_t step) const;

 private:
  std::int64_t start(std::size_t step) const { return step == 0 ? 0 : ends_[step - 1]; }
  std::int64_t end(std::size_t step) const { return ends_[step]; }

  TableInfo info_;
  std::vector<hdf5::Object> columns_;
  hdf5::Object list_of_ends_;       ///< of one that is written
  std::int64_t written_ = 0;        ///< rows of all steps
  std::vector<std::int64_t> ends_;  ///< of one that is read
};

/// The tables of a file, in alphabetic order; none in those of earlier versions.
std::vector<StoredTable> open_tables(hdf5::Object const& home, std::size_t steps);

}  // namespace gridstride::io
