#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace gridstride {

/// Numbers of one kind, below each other.
using Numbers = std::variant<std::vector<std::int64_t>, std::vector<double>>;

/// A column of a table.
struct Column {
  std::string name;
  std::string unit = "1";
  Numbers numbers = std::vector<double>();

  std::int64_t rows() const {
    return std::visit([](auto const& list) { return std::ssize(list); }, numbers);
  }
};

/// Rows of numbers, as many as there happen to be, in host memory: peaks and where they lie. All
/// columns, of which there is at least one, have as many rows.
struct Table {
  std::string name;
  std::vector<Column> columns;

  std::int64_t rows() const { return columns.empty() ? 0 : columns.front().rows(); }
};

}  // namespace gridstride
