#include "config/yaml_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"

namespace gridstride::config {
namespace {

using nlohmann::ordered_json;

/// Text that YAML takes for a word without quotes, in every schema.
bool is_plain(std::string const& text) {
  constexpr std::string_view special[] = {"null", "true", "false", "yes", "no",
                                          "on",   "off",  "y",     "n"};
  auto const in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '/' || c == '.' || c == '-';
  };
  bool const begins = !text.empty() && ((text[0] >= 'a' && text[0] <= 'z') ||
                                        (text[0] >= 'A' && text[0] <= 'Z') || text[0] == '/');
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return begins && std::ranges::all_of(text, in_word) &&
         std::ranges::find(special, lower) == std::end(special);
}

std::string quoted(std::string const& text) {
  std::string result = "\"";
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string key_text(std::string const& key) {
  bool const axis = key.size() == 1 && key[0] >= 'a' && key[0] <= 'z';
  return axis || is_plain(key) ? key : quoted(key);
}

bool holds_mapping(ordered_json const& value) {
  return value.is_object() &&
         std::ranges::any_of(value, [](ordered_json const& child) { return child.is_object(); });
}

void append_block(std::string& text, ordered_json const& mapping, int indentation) {
  for (auto const& [key, value] : mapping.items()) {
    text += fmt::format("{:{}}{}:", "", indentation, key_text(key));
    if (holds_mapping(value)) {
      text += '\n';
      append_block(text, value, indentation + 2);
    } else {
      text += ' ' + flow_yaml(value) + '\n';
    }
  }
}

}  // namespace

std::string flow_yaml(ordered_json const& value) {
  if (value.is_string()) {
    auto const& text = value.get_ref<std::string const&>();
    return is_plain(text) ? text : quoted(text);
  }
  if (value.is_number_float()) return format_exact(value.get<double>());
  if (!value.is_structured()) return value.dump();
  std::string items;
  for (auto const& [key, child] : value.items()) {
    if (!items.empty()) items += ", ";
    if (value.is_object()) items += key_text(key) + ": ";
    items += flow_yaml(child);
  }
  return value.is_object() ? '{' + items + '}' : '[' + items + ']';
}

std::string block_yaml(ordered_json const& root) {
  std::string text;
  append_block(text, root, 0);
  return text;
}

}  // namespace gridstride::config
