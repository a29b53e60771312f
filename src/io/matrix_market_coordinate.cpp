#include "io/matrix_market_coordinate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/processors.hpp"
#include "core/thread_pool.hpp"
#include "io/input_file.hpp"
#include "io/matrix_market_text.hpp"

namespace gridstride::io {

namespace {

using matrix_market::Lines;
using matrix_market::show;
using matrix_market::Symmetry;
using Words = std::vector<std::string_view>;

enum class EntryField { real, integer, pattern };

struct CoordinateHead {
  EntryField field = EntryField::real;
  Symmetry symmetry = Symmetry::general;
  SparseExtents extents;
  std::int64_t lines = 0;  ///< up to the sizes
  std::int64_t bytes = 0;
};

std::int64_t parse_extent(Lines const& lines, std::string_view word) {
  std::int64_t const extent = matrix_market::parse_size(lines, word);
  if (extent > most_sparse_rows)
    lines.fail(fmt::format("{} rows or columns are too many (at most {} are possible)", extent,
                           most_sparse_rows));
  return extent;
}

CoordinateHead read_head(Lines& lines) {
  Words words;
  CoordinateHead head;
  auto const banner =
      matrix_market::read_banner(lines, words, "coordinate", {"real", "integer", "pattern"});
  head.field = banner.field == "real"      ? EntryField::real
               : banner.field == "integer" ? EntryField::integer
                                           : EntryField::pattern;
  head.symmetry = banner.symmetry;
  if (head.field == EntryField::pattern && head.symmetry == Symmetry::skew_symmetric)
    lines.fail("a pattern cannot be skew-symmetric (its values are all 1)");
  matrix_market::find_sizes(lines, words, "ROWS COLUMNS ENTRIES", 3);
  auto& extents = head.extents;
  extents.rows = parse_extent(lines, words[0]);
  extents.columns = parse_extent(lines, words[1]);
  matrix_market::require_square(lines, head.symmetry, extents.rows, extents.columns);
  auto const& word = words[2];
  auto const read = std::from_chars(word.data(), word.data() + word.size(), extents.entries);
  if (read.ec != std::errc{} || read.ptr != word.data() + word.size() || extents.entries < 0)
    lines.fail(fmt::format("{} is not a number of entries", show(word)));
  head.lines = lines.number();
  head.bytes = static_cast<std::int64_t>(lines.position());
  // The shortest line is `1 1` or `1 1 1`, and an end but for the last one.
  std::int64_t const shortest = head.field == EntryField::pattern ? 4 : 6;
  std::int64_t const left = static_cast<std::int64_t>(lines.file_size()) - head.bytes + 1;
  if (extents.entries > left / shortest)
    lines.fail(fmt::format("{} entries cannot be in a file of {} bytes", extents.entries,
                           lines.file_size()));
  extents.elements = extents.entries * (head.symmetry == Symmetry::general ? 1 : 2);
  return head;
}

struct CoordinateEntry {
  std::int32_t row, column;
  double value;
};

/// `body(first, last)` for parts of [0, count), by all threads.
template <class Body>
void share(std::int64_t count, Body const& body) {
  auto const call = [](void const* work, std::int64_t first, std::int64_t last) {
    (*static_cast<Body const*>(work))(first, last);
  };
  share_out(count, host_threads(), {&body, call});
}

/// What a thread has found in a part of the file.
struct EntryPart {
  std::vector<CoordinateEntry> entries;
  std::int32_t least = std::numeric_limits<std::int32_t>::max();  ///< of rows that have elements
  std::int32_t greatest = 0;
  std::int64_t lines = 0;  ///< that begin in it
  std::string fault;       ///< of line number `lines`, the last one that it looked at
};

/// An index of the file, from 1 to `most`; tells what is wrong with it, or nothing.
std::string parse_index(std::string_view word, std::string_view what, std::int64_t most,
                        std::int32_t& index) {
  std::int64_t number = 0;
  auto const read = std::from_chars(word.data(), word.data() + word.size(), number);
  bool const whole =
      read.ec != std::errc::invalid_argument && read.ptr == word.data() + word.size();
  if (!whole) return fmt::format("{} is not a number of a {}", show(word), what);
  if (read.ec != std::errc{} || number < 1 || number > most)
    return fmt::format("there is no {} {} (they are 1 to {})", what, word.substr(0, 40), most);
  index = static_cast<std::int32_t>(number - 1);
  return {};
}

/// The entry of a line that is not blank; tells what is wrong with it, or nothing.
std::string parse_entry(Words const& words, CoordinateHead const& head, CoordinateEntry& entry) {
  if (words[0].starts_with('%'))
    return "a comment stands behind the line of sizes (comments come before it)";
  std::size_t const count = head.field == EntryField::pattern ? 2 : 3;
  if (words.size() != count)
    return fmt::format("{} words stand on a line ({} are expected: row, column{})", words.size(),
                       count, count == 3 ? " and value" : "");
  auto const& extents = head.extents;
  if (auto fault = parse_index(words[0], "row", extents.rows, entry.row); !fault.empty())
    return fault;
  if (auto fault = parse_index(words[1], "column", extents.columns, entry.column); !fault.empty())
    return fault;
  bool const strictly = head.symmetry == Symmetry::skew_symmetric;
  if (head.symmetry != Symmetry::general &&
      (entry.column > entry.row || (strictly && entry.column == entry.row)))
    return fmt::format(
        "row {}, column {} is not below the diagonal (a {} matrix has its entries {}"
        "below it)",
        entry.row + 1, entry.column + 1, strictly ? "skew-symmetric" : "symmetric",
        strictly ? "" : "on and ");
  entry.value = 1;
  if (head.field == EntryField::pattern) return {};
  return matrix_market::parse_value(words[2], head.field == EntryField::integer, entry.value);
}

/// Reads a word of 1 to 9 digits.
bool read_digits(char const*& at, char const* stop, std::int32_t& number) {
  constexpr std::ptrdiff_t most = 9;
  char const* const begin = at;
  number = 0;
  for (; at != stop && *at >= '0' && *at <= '9' && at - begin < most; ++at)
    number = 10 * number + (*at - '0');
  return at != begin && (at == stop || matrix_market::is_blank(*at) || *at == '\n');
}

void skip_blanks(char const*& at, char const* stop) {
  while (at != stop && matrix_market::is_blank(*at)) ++at;
}

/// The entry of a line as programs write it, of which nothing has to be said: then `at` is at the
/// line's end. Whatever looks otherwise is left to `parse_entry`.
bool parse_plain_entry(char const*& at, char const* stop, CoordinateHead const& head,
                       CoordinateEntry& entry) {
  char const* const begin = at;
  auto const& extents = head.extents;
  skip_blanks(at, stop);
  if (!read_digits(at, stop, entry.row) || entry.row < 1 || entry.row > extents.rows) return false;
  skip_blanks(at, stop);
  if (!read_digits(at, stop, entry.column) || entry.column < 1 || entry.column > extents.columns)
    return false;
  bool const in_lower = entry.column < entry.row ||
                        (head.symmetry == Symmetry::symmetric && entry.column == entry.row);
  if (head.symmetry != Symmetry::general && !in_lower) return false;
  --entry.row;
  --entry.column;
  skip_blanks(at, stop);
  entry.value = 1;
  if (head.field != EntryField::pattern) {
    auto read = std::from_chars_result{at, {}};
    if (head.field == EntryField::integer) {
      std::int64_t whole = 0;
      read = std::from_chars(at, stop, whole);
      entry.value = static_cast<double>(whole);
    } else {
      read = std::from_chars(at, stop, entry.value);
    }
    if (read.ec != std::errc{} || !std::isfinite(entry.value)) return false;
    at = read.ptr;
    skip_blanks(at, stop);
  }
  return (at == stop || *at == '\n') &&
         at - begin <= static_cast<std::ptrdiff_t>(matrix_market::longest_line);
}

/// The lines that begin in [begin, end) of the file.
EntryPart parse_part(InputFile const& file, CoordinateHead const& head, std::int64_t begin,
                     std::int64_t end) {
  constexpr std::int64_t longest = matrix_market::longest_line + 2;
  // The byte before tells whether a line begins here; the last line goes on beyond the part.
  std::int64_t const first = std::max(begin - 1, head.bytes);
  std::int64_t const last = std::min(end + longest, file.bytes());
  std::vector<char, Uninitialised<char>> text(static_cast<std::size_t>(last - first));
  file.read(first, std::as_writable_bytes(std::span(text)));
  char const* at = text.data();
  char const* const stop = text.data() + text.size();
  char const* const limit = text.data() + (std::min(end, last) - first);
  auto const end_of_line = [stop](char const* from) {
    auto const* const found =
        static_cast<char const*>(std::memchr(from, '\n', static_cast<std::size_t>(stop - from)));
    return found == nullptr ? stop : found;
  };
  if (first < begin) at = std::min(end_of_line(at) + 1, stop);
  EntryPart part;
  Words words;
  while (at < limit) {
    ++part.lines;
    CoordinateEntry entry{};
    if (char const* plain = at; parse_plain_entry(plain, stop, head, entry)) {
      part.entries.push_back(entry);
      at = std::min(plain + 1, stop);
      continue;
    }
    char const* const line_end = end_of_line(at);
    if (line_end - at > static_cast<std::ptrdiff_t>(matrix_market::longest_line) + 1) {
      part.fault =
          fmt::format("the line is longer than {} characters", matrix_market::longest_line);
      return part;
    }
    matrix_market::split({at, static_cast<std::size_t>(line_end - at)}, words);
    at = std::min(line_end + 1, stop);
    if (words.empty()) continue;
    part.fault = parse_entry(words, head, entry);
    if (!part.fault.empty()) return part;
    part.entries.push_back(entry);
  }
  return part;
}

std::vector<EntryPart> parse_parts(InputFile const& file, CoordinateHead const& head) {
  constexpr std::int64_t part_bytes = std::int64_t{1} << 20;
  std::int64_t const count = (file.bytes() - head.bytes + part_bytes - 1) / part_bytes;
  std::vector<EntryPart> parts(static_cast<std::size_t>(count));
  share(count, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t const begin = head.bytes + i * part_bytes;
      auto& part = parts[static_cast<std::size_t>(i)];
      part = parse_part(file, head, begin, std::min(begin + part_bytes, file.bytes()));
      for (auto const& entry : part.entries) {
        bool const mirrored = head.symmetry != Symmetry::general;
        part.least = std::min(part.least, mirrored ? entry.column : entry.row);
        part.greatest = std::max(part.greatest, entry.row);
      }
    }
  });
  return parts;
}

/// Throws `IoError` for the first fault in the file, and for another number of entries.
void require_parts(std::filesystem::path const& path, CoordinateHead const& head,
                   std::vector<EntryPart> const& parts) {
  std::int64_t line = head.lines, entries = 0;
  auto const fail = [&](std::string const& message) {
    throw IoError(fmt::format("{}:{}", path.string(), line), message);
  };
  for (auto const& part : parts) {
    line += part.lines;
    entries += static_cast<std::int64_t>(part.entries.size());
    if (!part.fault.empty() && entries <= head.extents.entries) fail(part.fault);
    if (entries > head.extents.entries) {
      fail(fmt::format("more than {} entries stand up to here (the line of sizes says how many)",
                       head.extents.entries));
    }
  }
  if (entries < head.extents.entries)
    fail(fmt::format("the file ends after {} of {} entries", entries, head.extents.entries));
}

/// Calls `visit(row, column, value)` for all elements of the matrix, from several threads: those of
/// a row one after the other in the order of the file. Each thread has rows of its own, and goes
/// through all parts that have some of them.
template <class Visit>
void for_each_element(std::vector<EntryPart> const& parts, CoordinateHead const& head,
                      Visit const& visit) {
  bool const mirrored = head.symmetry != Symmetry::general;
  double const sign = head.symmetry == Symmetry::skew_symmetric ? -1 : 1;
  auto const visit_rows = [&](std::int64_t begin, std::int64_t end) {
    auto const is_here = [&](std::int64_t row) { return row >= begin && row < end; };
    for (auto const& part : parts) {
      if (part.least >= end || part.greatest < begin) continue;
      for (auto const& [row, column, value] : part.entries) {
        if (is_here(row)) visit(row, column, value);
        if (mirrored && row != column && is_here(column)) visit(column, row, sign * value);
      }
    }
  };
  constexpr std::int64_t worth_a_thread = 1024;
  std::int64_t const rows = head.extents.rows;
  std::int64_t const ranges = std::clamp<std::int64_t>(rows / worth_a_thread, 1, host_threads());
  auto const call = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      visit_rows(rows * i / ranges, rows * (i + 1) / ranges);
  };
  share(ranges, call);
}

Csr<double> rows_of(std::vector<EntryPart> const& parts, CoordinateHead const& head) {
  auto const rows = static_cast<std::size_t>(head.extents.rows);
  Csr<double> matrix{head.extents.rows, head.extents.columns, {}, {}, {}};
  matrix.offsets.assign(rows + 1, 0);
  for_each_element(parts, head, [&](std::int32_t row, std::int32_t, double) {
    ++matrix.offsets[static_cast<std::size_t>(row) + 1];
  });
  for (std::size_t i = 0; i < rows; ++i) matrix.offsets[i + 1] += matrix.offsets[i];
  auto const elements = static_cast<std::size_t>(matrix.offsets.back());
  matrix.column_indices.resize(elements);
  matrix.values.resize(elements);
  auto next = matrix.offsets;
  for_each_element(parts, head, [&](std::int32_t row, std::int32_t column, double value) {
    auto const at = static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++);
    matrix.column_indices[at] = column;
    matrix.values[at] = value;
  });
  return matrix;
}

}  // namespace

bool is_coordinate_file(std::filesystem::path const& path) {
  Lines lines(path);
  Words words;
  try {
    if (!lines.next(words)) return false;
  } catch (IoError const&) {
    return false;  // no line of such a file is so long
  }
  auto const is = [](std::string_view word, std::string_view expected) {
    return std::ranges::equal(word, expected, [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
  };
  return words.size() >= 3 && is(words[0], "%%matrixmarket") && is(words[2], "coordinate");
}

SparseExtents inspect_coordinate_file(std::filesystem::path const& path) {
  Lines lines(path);
  return read_head(lines).extents;
}

Csr<double> read_coordinate_file(std::filesystem::path const& path) {
  InputFile const file(path);
  Lines lines(path);
  CoordinateHead const head = read_head(lines);
  auto parts = parse_parts(file, head);
  file.check_unchanged();
  require_parts(path, head, parts);
  auto matrix = rows_of(parts, head);
  parts.clear();
  if (auto const place = order_rows(matrix))
    throw IoError(path, fmt::format("the entries of row {}, column {} add up to more than float64 "
                                    "can hold",
                                    place->first + 1, place->second + 1));
  return matrix;
}

}  // namespace gridstride::io
