#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gridstride::expression {

/// A word, a number or a sign of a formula's text.
struct Token {
  enum class Kind { number, name, symbol, end };
  Kind kind = Kind::end;
  std::string_view text;
  std::size_t position = 0;
  double value = 0;  ///< of a number
};

/// Throws `ParseError`: `<problem> (<why>); did you mean '<suggestion>'?`; the last two may be
/// empty.
[[noreturn]] void fail_at(std::size_t position, std::string message, std::string_view why = {},
                          std::string_view suggestion = {});

/// Text from the user, cut to a length that a message can hold.
std::string quote(std::string_view text);

/// Refuses the words of other languages that join conditions.
void refuse_operator_word(Token const& word);

/// Splits text into tokens. `with_vectors`: `[`, `]`, and `.` before a component's name are some.
class Lexer {
 public:
  Lexer(std::string_view text, bool with_vectors) : text_(text), with_vectors_(with_vectors) {}

  Token next();

  /// Whether the next token begins with this character.
  bool before(char c) const;

 private:
  Token take(Token::Kind kind, std::size_t length, double value = 0);
  Token number(std::string_view rest);
  /// Throws for the character that the rest begins with.
  [[noreturn]] void refuse(std::string_view rest) const;

  std::string_view text_;
  bool with_vectors_;
  std::size_t position_ = 0;
};

}  // namespace gridstride::expression
