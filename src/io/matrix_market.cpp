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
#include "core/text.hpp"

namespace gridstride::io {

namespace {

enum class Symmetry { general, symmetric, skew_symmetric };

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

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The lines of a file that are not blank, with their numbers.
class Lines {
 public:
  explicit Lines(std::filesystem::path const& path) : path_(path), file_(path, std::ios::binary) {
    std::error_code error;
    size_ = std::filesystem::file_size(path, error);
    if (error || !file_) throw IoError(path, "cannot be read");
  }

  /// Puts the next line that is not blank into `words`; false at the end of the file.
  bool next(std::vector<std::string_view>& words) {
    do {
      if (!read_line()) return false;
      split(words);
    } while (words.empty());
    return true;
  }

  [[noreturn]] void fail(std::string const& message) const {
    throw IoError(fmt::format("{}:{}", path_.string(), number_), message);
  }
  std::filesystem::path const& path() const { return path_; }
  std::int64_t number() const { return number_; }
  std::string const& line() const { return line_; }
  std::uintmax_t file_size() const { return size_; }

 private:
  bool read_line() {
    constexpr std::size_t longest_line = 1024;  // of the format
    std::array<char, longest_line + 2> text;    // a carriage return and the end
    file_.getline(text.data(), text.size());
    if (file_.bad()) throw IoError(path_, "cannot be read to its end");
    if (file_.eof() && file_.gcount() == 0) return false;
    ++number_;
    if (file_.fail()) fail(fmt::format("the line is longer than {} characters", longest_line));
    line_.assign(text.data(), static_cast<std::size_t>(file_.gcount()) - (file_.eof() ? 0 : 1));
    return true;
  }

  void split(std::vector<std::string_view>& words) const {
    words.clear();
    std::string_view rest = line_;
    while (true) {
      rest.remove_prefix(
          static_cast<std::size_t>(std::ranges::find_if_not(rest, is_blank) - rest.begin()));
      if (rest.empty()) return;
      auto const length =
          static_cast<std::size_t>(std::ranges::find_if(rest, is_blank) - rest.begin());
      words.push_back(rest.substr(0, length));
      rest.remove_prefix(length);
    }
  }

  std::filesystem::path path_;
  std::ifstream file_;
  std::uintmax_t size_ = 0;
  std::string line_;
  std::int64_t number_ = 0;
};

/// A word of the file in single quotes, as far as a message can hold it.
std::string show(std::string_view word) {
  constexpr std::size_t longest = 40;
  std::string text(word.substr(0, longest));
  std::ranges::replace_if(
      text, [](char c) { return c < 0x20 || c >= 0x7F; }, '?');
  return fmt::format("'{}{}'", text, word.size() > longest ? "..." : "");
}

std::string lower_case(std::string_view word) {
  std::string lower(word);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

/// The place of a word of the banner among those that are accepted.
std::size_t choose(Lines const& lines, std::string_view what, std::string_view word,
                   std::vector<std::string_view> const& accepted) {
  std::string const lower = lower_case(word);
  auto const found = std::ranges::find(accepted, lower);
  if (found == accepted.end())
    lines.fail(
        fmt::format("the {} {} is not read ({} is)", what, show(word), format_choices(accepted)));
  return static_cast<std::size_t>(found - accepted.begin());
}

void read_banner(Lines& lines, std::vector<std::string_view>& words, Header& header) {
  bool const any = lines.next(words);
  if (!any || lines.number() != 1 || lower_case(words[0]) != "%%matrixmarket")
    throw IoError(fmt::format("{}:1", lines.path().string()),
                  "is no Matrix Market file (its first line begins with '%%MatrixMarket')");
  if (words.size() != 5)
    lines.fail("the first line has to be '%%MatrixMarket matrix array FIELD SYMMETRY'");
  choose(lines, "object", words[1], {"matrix"});
  if (lower_case(words[2]) == "coordinate")
    lines.fail(
        "the matrix is sparse ('coordinate'); a dense one is needed ('array'), as "
        "scipy.io.mmwrite(FILE, matrix.toarray()) writes it");
  choose(lines, "format", words[2], {"array"});
  header.integer = choose(lines, "field", words[3], {"real", "integer"}) == 1;
  header.symmetry = static_cast<Symmetry>(
      choose(lines, "symmetry", words[4], {"general", "symmetric", "skew-symmetric"}));
}

std::int64_t parse_size(Lines const& lines, std::string_view word) {
  std::int64_t size = 0;
  auto const [end, status] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (status != std::errc{} || end != word.data() + word.size())
    lines.fail(fmt::format("{} is not a number of rows or columns", show(word)));
  if (size < 1) lines.fail(fmt::format("{} rows or columns (at least 1 is needed)", size));
  return size;
}

Header read_header(Lines& lines, std::vector<std::string_view>& words) {
  Header header;
  read_banner(lines, words, header);
  do {
    if (!lines.next(words)) lines.fail("the file ends before its line 'ROWS COLUMNS'");
  } while (words[0].starts_with('%'));
  if (words.size() != 2)
    lines.fail(fmt::format("{} stands where 'ROWS COLUMNS' is expected", show(lines.line())));
  header.rows = parse_size(lines, words[0]);
  header.columns = parse_size(lines, words[1]);
  if (header.symmetry != Symmetry::general && header.rows != header.columns)
    lines.fail(
        fmt::format("a symmetric matrix is square, not {} x {}", header.rows, header.columns));
  // A value takes two bytes at least, so that a wrong size is seen before memory is taken for it.
  std::int64_t product = 0;
  if (__builtin_mul_overflow(header.rows, header.columns, &product) ||
      static_cast<std::uintmax_t>(header.values()) > lines.file_size() / 2)
    lines.fail(fmt::format("{} x {} values cannot be in a file of {} bytes", header.rows,
                           header.columns, lines.file_size()));
  return header;
}

double parse_value(Lines const& lines, Header const& header, std::string_view word) {
  std::string_view digits = word;
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  char const* const end = digits.data() + digits.size();
  double value = 0;
  auto read = std::from_chars(digits.data(), end, value);
  if (header.integer) {
    std::int64_t whole = 0;
    read = std::from_chars(digits.data(), end, whole);
    value = static_cast<double>(whole);
  }
  if (read.ec == std::errc::result_out_of_range)
    lines.fail(fmt::format("{} is out of range", show(word)));
  if (read.ec != std::errc{} || read.ptr != end)
    lines.fail(fmt::format("{} is not a {}number", show(word), header.integer ? "whole " : ""));
  if (!std::isfinite(value)) lines.fail(fmt::format("{} is not finite", show(word)));
  return value;
}

/// The next value, after `done` of them.
double next_value(Lines& lines, Header const& header, std::vector<std::string_view>& words,
                  std::int64_t done) {
  if (!lines.next(words))
    lines.fail(fmt::format("the file ends after {} of {} values", done, header.values()));
  if (words[0].starts_with('%')) lines.fail("a comment stands between the values");
  if (words.size() > 1)
    lines.fail(fmt::format("{} values stand on a line (one is expected)", words.size()));
  return parse_value(lines, header, words[0]);
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
