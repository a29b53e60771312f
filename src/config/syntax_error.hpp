#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gridstride::config {

/// A fault in the YAML syntax, in plain words, at a byte of the text.
struct SyntaxFault {
  std::size_t offset = 0;
  std::string message;
};

inline constexpr std::string_view unclosed_quote = "this quote is not closed";
std::string unclosed_bracket(char opening);

/// Says what yaml-cpp's message `reported` at byte `offset` means for the user.
/// `start` is a byte before it that is in no quotes and no brackets.
SyntaxFault explain_syntax_error(std::string_view text, std::string_view reported,
                                 std::size_t offset, std::size_t start);

}  // namespace gridstride::config
