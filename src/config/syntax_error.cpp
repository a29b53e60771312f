#include "config/syntax_error.hpp"

#include <fmt/format.h>
#include <yaml-cpp/exceptions.h>

#include <algorithm>

#include "config/text_position.hpp"

namespace gridstride::config {
namespace {

struct Fault {
  std::string_view text;
  std::string_view reported;
  std::size_t offset;
  std::size_t start;

  bool at_end() const {
    return offset >= text.size() ||
           text.substr(offset).find_first_not_of(" \t\r\n") == std::string_view::npos;
  }
  std::size_t line_start() const {
    std::size_t const line_end = text.rfind('\n', offset == 0 ? 0 : offset - 1);
    return line_end == std::string_view::npos || offset == 0 ? 0 : line_end + 1;
  }
  /// The blanks that the line begins with.
  std::string_view indentation() const {
    std::string_view const line = text.substr(line_start());
    return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
  }
  bool begins_line() const { return offset == line_start() + indentation().size(); }
};

char closing_of(char opening) { return opening == '[' ? ']' : '}'; }

/// The fault is at a tab that stands for indentation, which YAML does not allow.
std::optional<SyntaxFault> explain_tab(Fault const& fault) {
  std::size_t const tab = fault.indentation().find('\t');
  if (fault.at_end() || tab == std::string_view::npos) return std::nullopt;
  return SyntaxFault{fault.line_start() + tab,
                     "a tab in the indentation (YAML indents with spaces)"};
}

std::optional<SyntaxFault> explain_open_quote(Fault const& fault) {
  if (fault.reported != YAML::ErrorMsg::EOF_IN_SCALAR && !fault.at_end()) return std::nullopt;
  auto const quote = find_open_quote(fault.text, fault.start);
  if (!quote) return std::nullopt;
  return SyntaxFault{*quote, std::string(unclosed_quote)};
}

std::optional<SyntaxFault> explain_open_bracket(Fault const& fault) {
  bool const in_brackets = fault.reported == YAML::ErrorMsg::END_OF_MAP_FLOW ||
                           fault.reported == YAML::ErrorMsg::END_OF_SEQ_FLOW ||
                           fault.reported == YAML::ErrorMsg::FLOW_END;
  auto const bracket = find_open_bracket(fault.text.substr(0, fault.offset), fault.start);
  if (!in_brackets || !bracket) return std::nullopt;
  char const opening = fault.text[*bracket];
  if (fault.at_end()) return SyntaxFault{*bracket, unclosed_bracket(opening)};
  if (fault.offset > 0 && fault.text[fault.offset - 1] == ':')
    return SyntaxFault{fault.offset, "a space is missing after the ':'"};
  TextPosition const open = TextPositions(fault.text).at(*bracket);
  return SyntaxFault{fault.offset,
                     fmt::format("',' or '{}' expected (for the '{}' at line {}, column {})",
                                 closing_of(opening), opening, open.line, open.column)};
}

std::optional<SyntaxFault> explain_end_of_mapping(Fault const& fault) {
  if (fault.reported != YAML::ErrorMsg::END_OF_MAP) return std::nullopt;
  if (fault.begins_line() && fault.text.substr(fault.offset).starts_with("- "))
    return SyntaxFault{fault.offset, "a list item among keys (the lines above are 'key: value')"};
  return SyntaxFault{fault.offset,
                     fault.begins_line()
                         ? "the indentation of this line fits none of the mappings above"
                         : "text after the end of a value (a value with quotes inside needs "
                           "quotes around it)"};
}

/// A line without a colon, which yaml-cpp joins with the next one.
std::optional<SyntaxFault> explain_second_colon(Fault const& fault) {
  if (fault.reported != YAML::ErrorMsg::MAP_VALUE) return std::nullopt;
  std::string_view const line =
      fault.text.substr(fault.line_start(), fault.offset - fault.line_start());
  bool const first_colon = line.find(':') == std::string_view::npos;
  if (first_colon)
    return SyntaxFault{fault.line_start() + fault.indentation().size(),
                       "this line does not continue the mapping above (is it indented too far, or "
                       "is a ':' missing on the line before?)"};
  return SyntaxFault{fault.offset,
                     "a second ': ' in one line (one value per key; text with ': ' needs quotes)"};
}

struct Translation {
  std::string_view reported, message;
};

constexpr std::string_view no_alias =
    "'*' and '&' begin aliases and anchors, which are not accepted (text that begins with one "
    "needs quotes)";
constexpr std::string_view no_tag =
    "'!' begins a tag, which is not accepted (text that begins with '!' needs quotes)";
constexpr std::string_view bad_escape =
    "unknown escape after '\\' in double quotes (single quotes take text as it is)";

Translation const translations[] = {
    {YAML::ErrorMsg::FLOW_END, "this bracket closes nothing"},
    {YAML::ErrorMsg::UNKNOWN_TOKEN, "no value begins with this character (it needs quotes)"},
    {YAML::ErrorMsg::BLOCK_ENTRY, "a list item '- ' cannot stand here (it begins a line)"},
    {YAML::ErrorMsg::MAP_KEY, "a key '? ' cannot stand here"},
    {YAML::ErrorMsg::END_OF_SEQ, "this line is no item of the list above (items begin with '- ')"},
    {YAML::ErrorMsg::DOC_IN_SCALAR, "'---' or '...' in text in quotes"},
    {YAML::ErrorMsg::TAB_IN_INDENTATION, "a tab in the indentation (YAML indents with spaces)"},
    {YAML::ErrorMsg::CHAR_IN_BLOCK, "text after '|' or '>' (it begins on the next line)"},
    {YAML::ErrorMsg::ZERO_INDENT_IN_BLOCK, "a block of text cannot have zero indentation"},
    {YAML::ErrorMsg::INVALID_HEX, bad_escape},
    {YAML::ErrorMsg::INVALID_UNICODE, bad_escape},
    {YAML::ErrorMsg::INVALID_ESCAPE, bad_escape},
    {YAML::ErrorMsg::ALIAS_NOT_FOUND, no_alias},
    {YAML::ErrorMsg::ANCHOR_NOT_FOUND, no_alias},
    {YAML::ErrorMsg::CHAR_IN_ALIAS, no_alias},
    {YAML::ErrorMsg::CHAR_IN_ANCHOR, no_alias},
    {YAML::ErrorMsg::UNKNOWN_ANCHOR, no_alias},
    {YAML::ErrorMsg::MULTIPLE_ANCHORS, no_alias},
    {YAML::ErrorMsg::ALIAS_CONTENT, no_alias},
    {YAML::ErrorMsg::CHAR_IN_TAG_HANDLE, no_tag},
    {YAML::ErrorMsg::TAG_WITH_NO_SUFFIX, no_tag},
    {YAML::ErrorMsg::END_OF_VERBATIM_TAG, no_tag},
    {YAML::ErrorMsg::MULTIPLE_TAGS, no_tag},
};

}  // namespace

std::string unclosed_bracket(char opening) {
  return fmt::format("this '{}' is not closed (a '{}' is missing)", opening, closing_of(opening));
}

SyntaxFault explain_syntax_error(std::string_view text, std::string_view reported,
                                 std::size_t offset, std::size_t start) {
  Fault const fault{text, reported, offset, start};
  for (auto const explain : {explain_tab, explain_open_quote, explain_open_bracket,
                             explain_end_of_mapping, explain_second_colon})
    if (auto explained = explain(fault)) return *explained;
  for (Translation const& translation : translations)
    if (reported.starts_with(translation.reported))
      return {offset, std::string(translation.message)};
  return {offset, fmt::format("this is no valid YAML ({})", reported)};
}

}  // namespace gridstride::config
