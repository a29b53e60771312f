#include "io/matrix_market_coordinate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
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

/// What a thread has found in a part of the file.
struct EntryPart {
  std::vector<CoordinateEntry> entries;
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
  if (words[0].starts_with('%')) return "a comment stands between the entries";
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

/// The lines that begin in [begin, end) of the file.
EntryPart parse_part(InputFile const& file, CoordinateHead const& head, std::int64_t begin,
                     std::int64_t end) {
  constexpr std::int64_t longest = matrix_market::longest_line + 2;
  // The byte before tells whether a line begins here; the last line goes on beyond the part.
  std::int64_t const first = std::max(begin - 1, head.bytes);
  std::int64_t const last = std::min(end + longest, file.bytes());
  std::vector<char> text(static_cast<std::size_t>(last - first));
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
    char const* const line_end = end_of_line(at);
    ++part.lines;
    if (line_end - at > static_cast<std::ptrdiff_t>(matrix_market::longest_line) + 1) {
      part.fault =
          fmt::format("the line is longer than {} characters", matrix_market::longest_line);
      return part;
    }
    matrix_market::split({at, static_cast<std::size_t>(line_end - at)}, words);
    at = std::min(line_end + 1, stop);
    if (words.empty()) continue;
    CoordinateEntry entry{};
    part.fault = parse_entry(words, head, entry);
    if (!part.fault.empty()) return part;
    part.entries.push_back(entry);
  }
  return part;
}

std::vector<EntryPart> parse_parts(InputFile const& file, CoordinateHead const& head) {
  constexpr std::int64_t part_bytes = std::int64_t{4} << 20;
  std::int64_t const count = (file.bytes() - head.bytes + part_bytes - 1) / part_bytes;
  std::vector<EntryPart> parts(static_cast<std::size_t>(count));
  auto const parse = [&](std::int64_t i) {
    std::int64_t const begin = head.bytes + i * part_bytes;
    parts[static_cast<std::size_t>(i)] =
        parse_part(file, head, begin, std::min(begin + part_bytes, file.bytes()));
  };
  auto const call = [](void const* body, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) (*static_cast<decltype(parse) const*>(body))(i);
  };
  share_out(count, host_threads(), {&parse, call});
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

/// Calls `visit(row, column, value)` for all elements of the matrix, in the order of the file.
template <class Visit>
void for_each_element(std::vector<EntryPart> const& parts, Symmetry symmetry, Visit const& visit) {
  double const sign = symmetry == Symmetry::skew_symmetric ? -1 : 1;
  for (auto const& part : parts)
    for (auto const& entry : part.entries) {
      visit(entry.row, entry.column, entry.value);
      if (symmetry != Symmetry::general && entry.row != entry.column)
        visit(entry.column, entry.row, sign * entry.value);
    }
}

Csr<double> rows_of(std::vector<EntryPart> const& parts, CoordinateHead const& head) {
  auto const rows = static_cast<std::size_t>(head.extents.rows);
  Csr<double> matrix{head.extents.rows, head.extents.columns, {}, {}, {}};
  matrix.offsets.assign(rows + 1, 0);
  for_each_element(parts, head.symmetry, [&](std::int32_t row, std::int32_t, double) {
    ++matrix.offsets[static_cast<std::size_t>(row) + 1];
  });
  for (std::size_t i = 0; i < rows; ++i) matrix.offsets[i + 1] += matrix.offsets[i];
  auto const elements = static_cast<std::size_t>(matrix.offsets.back());
  matrix.column_indices.resize(elements);
  matrix.values.resize(elements);
  auto next = matrix.offsets;
  for_each_element(parts, head.symmetry, [&](std::int32_t row, std::int32_t column, double value) {
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
