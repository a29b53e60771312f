// The part of the reader that takes text which others understand.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/reader.hpp"

namespace gridstride::config {
namespace {

bool has_form(std::string_view text, TextForm const& form) {
  if (form.words.empty() || std::ranges::find(form.words, text) != form.words.end()) return true;
  if (form.numbered.empty() || !text.starts_with(form.numbered)) return false;
  std::string_view const number = text.substr(form.numbered.size());
  return !number.empty() && number.size() <= 3 &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

void Reader::text(Spec const& spec, TextForm const& form, std::string& value) {
  Node const* node =
      scalar(spec, form.presence == Presence::required && value.empty(), form.meaning);
  if (!node) return;
  constexpr std::size_t longest_text = 4096;
  std::string const& given = node->text;
  if (given.empty()) {
    report(*node, path(spec.name), fmt::format("is empty ({} expected)", form.meaning));
  } else if (given.size() > longest_text) {
    report(*node, path(spec.name), fmt::format("{} is too long", show(given)));
  } else if (std::ranges::any_of(given, [](char c) { return c >= 0 && c < 0x20; })) {
    report(*node, path(spec.name),
           fmt::format("{} has a tab or an end of line in it", show(given)));
  } else if (!has_form(given, form)) {
    report(*node, path(spec.name),
           fmt::format("{} is not accepted ({} expected){}", show(given), form.meaning,
                       suggestion(given, {form.words.begin(), form.words.end()})));
  } else {
    value = given;
  }
}

void Reader::source(Spec const& spec, SourceText& value) {
  constexpr std::string_view expected =
      "a formula, or a list of them for the components of a vector,";
  Node const* const node = require(spec, value.texts.empty());
  if (!node) return;
  bool const listed = node->kind == Node::Kind::sequence;
  std::span<Node const> const nodes = listed ? std::span(node->children) : std::span(node, 1);
  if (nodes.empty()) report(*node, path(spec.name), "is empty (a formula is expected)");
  SourceText given{{}, listed};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string const where =
        listed ? join_path(path(spec.name), std::to_string(i)) : path(spec.name);
    if (nodes[i].kind != Node::Kind::scalar)
      report(
          nodes[i], where,
          fmt::format("{} expected, not {}", listed ? "a formula" : expected, kind_name(nodes[i])));
    else
      given.texts.push_back(nodes[i].text);
  }
  if (!nodes.empty() && given.texts.size() == nodes.size()) value = std::move(given);
}

}  // namespace gridstride::config
