#include "io/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/file_stamp.hpp"
#include "io/matrix_market_text.hpp"

namespace gridstride::io {

namespace {

using matrix_market::Lines;
using matrix_market::show;
using matrix_market::Symmetry;

struct Header {
  bool integer = false;
  Symmetry symmetry = Symmetry::general;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  /// The first row that the file has of a column.
  std::int64_t first_row(std::int64_t column) const {
    return symmetry == Symmetry::general     ? 0
           : symmetry == Symmetry::symmetric ? column
                                             : column + 1;
  }
  std::int64_t values() const {
    if (symmetry == Symmetry::general) return rows * columns;
    return rows * (rows - 1) / 2 + (symmetry == Symmetry::symmetric ? rows : 0);
  }
};

Header read_header(Lines& lines, std::vector<std::string_view>& words) {
  Header header;
  auto const banner = matrix_market::read_banner(lines, words, "array", {"real", "integer"});
  header.integer = banner.field == "integer";
  header.symmetry = banner.symmetry;
  matrix_market::find_sizes(lines, words, "ROWS COLUMNS", 2);
  header.rows = matrix_market::parse_size(lines, words[0]);
  header.columns = matrix_market::parse_size(lines, words[1]);
  matrix_market::require_square(lines, header.symmetry, header.rows, header.columns);
  // A value takes two bytes at least, so that a wrong size is seen before memory is taken for it.
  std::int64_t product = 0;
  if (__builtin_mul_overflow(header.rows, header.columns, &product) ||
      static_cast<std::uintmax_t>(header.values()) > lines.file_size() / 2)
    lines.fail(fmt::format("{} x {} values cannot be in a file of {} bytes", header.rows,
                           header.columns, lines.file_size()));
  return header;
}

/// The next value, after `done` of them.
double next_value(Lines& lines, Header const& header, std::vector<std::string_view>& words,
                  std::int64_t done) {
  if (!lines.next(words))
    lines.fail(fmt::format("the file ends after {} of {} values", done, header.values()));
  if (words[0].starts_with('%'))
    lines.fail("a comment stands behind the line of sizes (comments come before it)");
  if (words.size() > 1)
    lines.fail(fmt::format("{} values stand on a line (one is expected)", words.size()));
  double value = 0;
  if (auto const fault = matrix_market::parse_value(words[0], header.integer, value);
      !fault.empty())
    lines.fail(fault);
  return value;
}

}  // namespace

std::array<std::int64_t, 2> inspect_matrix_market(std::filesystem::path const& path) {
  Lines lines(path);
  std::vector<std::string_view> words;
  Header const header = read_header(lines, words);
  return {header.rows, header.columns};
}

namespace {

class MatrixNumbers final : public NumberSource {
 public:
  explicit MatrixNumbers(std::filesystem::path const& path) : path_(path), stamp_(stamp_of(path)) {
    auto const extents = inspect_matrix_market(path);
    shape_ = {extents.begin(), extents.end()};
    values_.resize(static_cast<std::size_t>(size()));
    read_matrix_market(path, values_);
  }

  NumberType type() const override { return number_type_of<double>(); }
  std::vector<std::int64_t> const& shape() const override { return shape_; }
  void read(std::int64_t first, std::int64_t count, void* target) const override {
    auto const part = std::span(values_).subspan(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(count));
    std::copy(part.begin(), part.end(), static_cast<double*>(target));
  }
  void check_unchanged() const override { require_same(path_, stamp_, stamp_of(path_)); }

 private:
  std::filesystem::path path_;
  FileStamp stamp_;
  std::vector<std::int64_t> shape_;
  std::vector<double> values_;
};

}  // namespace

std::unique_ptr<NumberSource> open_matrix_market(std::filesystem::path const& path) {
  return std::make_unique<MatrixNumbers>(path);
}

void read_matrix_market(std::filesystem::path const& path, std::span<double> out) {
  Lines lines(path);
  std::vector<std::string_view> words;
  Header const header = read_header(lines, words);
  if (static_cast<std::size_t>(header.rows * header.columns) != out.size())
    throw IoError(
        path, fmt::format("holds {} x {} values, not {}", header.rows, header.columns, out.size()));
  auto const at = [&](std::int64_t i, std::int64_t j) -> double& {
    return out[static_cast<std::size_t>(i * header.columns + j)];
  };
  std::int64_t done = 0;
  for (std::int64_t j = 0; j < header.columns; ++j) {
    if (header.symmetry == Symmetry::skew_symmetric) at(j, j) = 0;
    for (std::int64_t i = header.first_row(j); i < header.rows; ++i, ++done) {
      double const value = next_value(lines, header, words, done);
      at(i, j) = value;
      if (header.symmetry == Symmetry::symmetric) at(j, i) = value;
      if (header.symmetry == Symmetry::skew_symmetric) at(j, i) = -value;
    }
  }
  if (lines.next(words))
    lines.fail(fmt::format("{} follows the last of {} values", show(words[0]), done));
}

}  // namespace gridstride::io
