#include "config/text_position.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gridstride::config {
namespace {

/// Bytes of the UTF-8 character at the start of `text`; 0 when it is none.
std::size_t character_length(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  struct Form {
    unsigned char mask, lead;
    std::size_t length;
    std::uint32_t smallest;
  };
  static constexpr Form forms[] = {
      {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};
  for (Form const& form : forms) {
    if ((byte(0) & form.mask) != form.lead) continue;
    if (text.size() < form.length) return 0;
    std::uint32_t code = byte(0) & static_cast<unsigned char>(~form.mask);
    for (std::size_t i = 1; i < form.length; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return 0;
      code = code << 6 | (byte(i) & 0x3F);
    }
    bool const surrogate = code >= 0xD800 && code < 0xE000;
    return code >= form.smallest && code <= 0x10FFFF && !surrogate ? form.length : 0;
  }
  return 0;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool is_control(char c) {
  auto const byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

/// A quote, a comment or a bracket may only begin after one of these.
bool begins_token(std::string_view text, std::size_t i) {
  return i == 0 || std::string_view(" \t\n\r[]{},:").find(text[i - 1]) != std::string_view::npos;
}

/// The end of the quoted text or the comment that begins at `i`, or `i` itself when none does.
/// Nothing when it has no end.
std::optional<std::size_t> skip_inert(std::string_view text, std::size_t i) {
  bool const after_quote = i > 0 && (text[i - 1] == '"' || text[i - 1] == '\'');
  if (!begins_token(text, i) && !(text[i] == '#' && after_quote)) return i;
  if (text[i] == '"' || text[i] == '\'') return find_closing_quote(text, i);
  return text[i] == '#' ? std::min(text.find('\n', i), text.size()) : i;
}

}  // namespace

TextPosition TextPositions::at(std::size_t offset) {
  offset = std::min(offset, text_.size());
  if (offset < scanned_) *this = TextPositions(text_);
  for (; scanned_ < offset; ++scanned_) {
    if (text_[scanned_] == '\n') {
      position_ = {position_.line + 1, 1};
    } else if (!is_continuation(text_[scanned_])) {
      ++position_.column;
    }
  }
  return position_;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
}

std::optional<std::size_t> find_non_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t const length = character_length(text.substr(i));
    if (length == 0 || is_control(text[i])) return i;
    i += length;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_closing_quote(std::string_view text, std::size_t start) {
  char const quote = text[start];
  for (std::size_t i = start + 1; i < text.size(); ++i) {
    bool const escaped =
        (quote == '"' && text[i] == '\\') || (quote == '\'' && text.substr(i).starts_with("''"));
    if (escaped) {
      ++i;
    } else if (text[i] == quote) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> find_open_bracket(std::string_view text, std::size_t start) {
  std::vector<std::size_t> open;
  for (std::size_t i = start; i < text.size(); ++i) {
    std::optional<std::size_t> const end = skip_inert(text, i);
    if (!end) break;
    if (*end != i) {
      i = *end;
    } else if (text[i] == '[' || text[i] == '{') {
      open.push_back(i);
    } else if ((text[i] == ']' || text[i] == '}') && !open.empty()) {
      open.pop_back();
    }
  }
  return open.empty() ? std::nullopt : std::optional(open.back());
}

std::optional<std::size_t> find_open_quote(std::string_view text, std::size_t start) {
  for (std::size_t i = start; i < text.size(); ++i) {
    std::optional<std::size_t> const end = skip_inert(text, i);
    if (!end) return i;
    i = *end;
  }
  return std::nullopt;
}

}  // namespace gridstride::config
