#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace gridstride::config {

/// Line and column, both from 1; columns count characters, not bytes.
struct TextPosition {
  int line = 1;
  int column = 1;
};

/// Finds positions in a text that outlives it.
class TextPositions {
 public:
  explicit TextPositions(std::string_view text) : text_(text) {}

  /// The position of a byte. Quick for offsets that grow from call to call.
  TextPosition at(std::size_t offset);

 private:
  std::string_view text_;
  std::size_t scanned_ = 0;
  TextPosition position_;  // of byte `scanned_`
};

/// The number of UTF-8 characters.
std::size_t count_characters(std::string_view text);

/// The first byte that does not belong to text: invalid UTF-8, or a control character other than
/// tab and line ends.
std::optional<std::size_t> find_non_text(std::string_view text);

/// Where the quoted text ends that opens at `start`.
std::optional<std::size_t> find_closing_quote(std::string_view text, std::size_t start);

/// The innermost bracket that is opened and never closed, looking from `start`, which is outside of
/// quotes.
std::optional<std::size_t> find_open_bracket(std::string_view text, std::size_t start);

/// The quote that is opened and never closed, looking from `start`, which is outside of quotes.
std::optional<std::size_t> find_open_quote(std::string_view text, std::size_t start);

}  // namespace gridstride::config
