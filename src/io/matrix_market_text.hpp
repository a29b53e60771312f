#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

/// The text of Matrix Market files, for their readers in `io` alone.
namespace gridstride::io::matrix_market {

enum class Symmetry { general, symmetric, skew_symmetric };

/// Characters of a line, at most.
inline constexpr std::size_t longest_line = 1024;

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The words of a line.
void split(std::string_view line, std::vector<std::string_view>& words);

/// The lines of a file that are not blank, with their numbers.
class Lines {
 public:
  /// Throws `IoError` for a file that cannot be read.
  explicit Lines(std::filesystem::path const& path);

  /// Puts the next line that is not blank into `words`; false at the end of the file. Throws
  /// `IoError` for a line that is too long.
  bool next(std::vector<std::string_view>& words);

  /// Throws `IoError` with the number of the last line.
  [[noreturn]] void fail(std::string const& message) const;
  std::filesystem::path const& path() const { return path_; }
  std::int64_t number() const { return number_; }
  std::string const& line() const { return line_; }
  std::uint64_t file_size() const { return size_; }
  /// Where the line after the last one begins.
  std::uint64_t position() const { return position_; }

 private:
  bool read_line();

  std::filesystem::path path_;
  std::ifstream file_;
  std::uint64_t size_ = 0, position_ = 0;
  std::string line_;
  std::int64_t number_ = 0;
};

/// A word of the file in single quotes, as far as a message can hold it.
std::string show(std::string_view word);

/// What the first line says: `%%MatrixMarket matrix FORMAT FIELD SYMMETRY`.
struct Banner {
  std::string format;  ///< in lower case, as are all
  std::string field;
  Symmetry symmetry = Symmetry::general;
};
/// Throws `IoError` for a first line that is none, for a field that is not among those, and another
/// symmetry. `format` is what the message for a line of other words has in its place.
Banner read_banner(Lines& lines, std::vector<std::string_view>& words, std::string_view format,
                   std::vector<std::string_view> const& fields);

/// Goes to the line of sizes, past comments. Throws `IoError` where it has another number of words
/// than `expected`, 'ROWS COLUMNS', has.
void find_sizes(Lines& lines, std::vector<std::string_view>& words, std::string_view expected,
                std::size_t count);

/// At least 1. Throws `IoError` otherwise.
std::int64_t parse_size(Lines const& lines, std::string_view word);
/// Throws `IoError` for a symmetric matrix that is not square.
void require_square(Lines const& lines, Symmetry symmetry, std::int64_t rows, std::int64_t columns);

/// Reads a finite number of the field; tells what is wrong with the word, or nothing.
std::string parse_value(std::string_view word, bool integer, double& value);

}  // namespace gridstride::io::matrix_market
