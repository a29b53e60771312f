#include "io/matrix_market_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "core/error.hpp"
#include "core/text.hpp"

namespace gridstride::io::matrix_market {

void split(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  while (true) {
    line.remove_prefix(
        static_cast<std::size_t>(std::ranges::find_if_not(line, is_blank) - line.begin()));
    if (line.empty()) return;
    auto const length =
        static_cast<std::size_t>(std::ranges::find_if(line, is_blank) - line.begin());
    words.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

Lines::Lines(std::filesystem::path const& path) : path_(path), file_(path, std::ios::binary) {
  std::error_code error;
  size_ = std::filesystem::file_size(path, error);
  if (error || !file_) throw IoError(path, "cannot be read");
}

bool Lines::next(std::vector<std::string_view>& words) {
  do {
    if (!read_line()) return false;
    split(line_, words);
  } while (words.empty());
  return true;
}

void Lines::fail(std::string const& message) const {
  throw IoError(fmt::format("{}:{}", path_.string(), number_), message);
}

bool Lines::read_line() {
  std::array<char, longest_line + 2> text;  // a carriage return and the end
  file_.getline(text.data(), text.size());
  if (file_.bad()) throw IoError(path_, "cannot be read to its end");
  if (file_.eof() && file_.gcount() == 0) return false;
  ++number_;
  if (file_.fail()) fail(fmt::format("the line is longer than {} characters", longest_line));
  position_ += static_cast<std::uint64_t>(file_.gcount());
  line_.assign(text.data(), static_cast<std::size_t>(file_.gcount()) - (file_.eof() ? 0 : 1));
  return true;
}

std::string show(std::string_view word) {
  constexpr std::size_t longest = 40;
  std::string text(word.substr(0, longest));
  std::ranges::replace_if(
      text, [](char c) { return c < 0x20 || c >= 0x7F; }, '?');
  return fmt::format("'{}{}'", text, word.size() > longest ? "..." : "");
}

namespace {

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

}  // namespace

Banner read_banner(Lines& lines, std::vector<std::string_view>& words, std::string_view format,
                   std::vector<std::string_view> const& fields) {
  bool const any = lines.next(words);
  if (!any || lines.number() != 1 || lower_case(words[0]) != "%%matrixmarket")
    throw IoError(fmt::format("{}:1", lines.path().string()),
                  "is no Matrix Market file (its first line begins with '%%MatrixMarket')");
  if (words.size() != 5)
    lines.fail(
        fmt::format("the first line has to be '%%MatrixMarket matrix {} FIELD SYMMETRY'", format));
  choose(lines, "object", words[1], {"matrix"});
  Banner banner;
  banner.format = lower_case(words[2]);
  if (banner.format != format && banner.format == "coordinate")
    lines.fail(
        "the matrix is sparse ('coordinate'); a dense one is needed ('array'), as "
        "scipy.io.mmwrite(FILE, matrix.toarray()) writes it");
  choose(lines, "format", words[2], {format});
  banner.field = fields[choose(lines, "field", words[3], fields)];
  banner.symmetry = static_cast<Symmetry>(
      choose(lines, "symmetry", words[4], {"general", "symmetric", "skew-symmetric"}));
  return banner;
}

void find_sizes(Lines& lines, std::vector<std::string_view>& words, std::string_view expected,
                std::size_t count) {
  do {
    if (!lines.next(words)) lines.fail(fmt::format("the file ends before its line '{}'", expected));
  } while (words[0].starts_with('%'));
  if (words.size() != count)
    lines.fail(fmt::format("{} stands where '{}' is expected", show(lines.line()), expected));
}

std::int64_t parse_size(Lines const& lines, std::string_view word) {
  std::int64_t size = 0;
  auto const [end, status] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (status != std::errc{} || end != word.data() + word.size())
    lines.fail(fmt::format("{} is not a number of rows or columns", show(word)));
  if (size < 1) lines.fail(fmt::format("{} rows or columns (at least 1 is needed)", size));
  return size;
}

void require_square(Lines const& lines, Symmetry symmetry, std::int64_t rows,
                    std::int64_t columns) {
  if (symmetry != Symmetry::general && rows != columns)
    lines.fail(fmt::format("a symmetric matrix is square, not {} x {}", rows, columns));
}

namespace {

/// What is told of a word like 1.0D0, as Fortran writes and reads it.
std::string hint_of_exponent(std::string_view word) {
  std::string other(word);
  auto const letter = other.find_first_of("dD");
  if (letter == std::string::npos) return {};
  other[letter] = 'e';
  double value = 0;
  auto const read = std::from_chars(other.data(), other.data() + other.size(), value);
  if (read.ec == std::errc::invalid_argument || read.ptr != other.data() + other.size()) return {};
  return fmt::format(" (its exponent is Fortran's; {} is one)", other);
}

}  // namespace

std::string parse_value(std::string_view word, bool integer, double& value) {
  std::string_view digits = word;
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  char const* const end = digits.data() + digits.size();
  auto read = std::from_chars(digits.data(), end, value);
  if (integer) {
    std::int64_t whole = 0;
    read = std::from_chars(digits.data(), end, whole);
    value = static_cast<double>(whole);
  }
  if (read.ec == std::errc::result_out_of_range)
    return fmt::format("{} is out of range", show(word));
  if (read.ec != std::errc{} || read.ptr != end)
    return fmt::format("{} is not a {}number{}", show(word), integer ? "whole " : "",
                       integer ? "" : hint_of_exponent(digits));
  if (!std::isfinite(value)) return fmt::format("{} is not finite", show(word));
  return {};
}

}  // namespace gridstride::io::matrix_market
