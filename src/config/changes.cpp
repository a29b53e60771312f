#include "config/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "config/document.hpp"

namespace gridstride::config {

namespace {

/// A list as one text: `[33, 33]`.
std::string text_of(Node const& node) {
  if (node.kind != Node::Kind::sequence && node.kind != Node::Kind::mapping) return node.text;
  std::string items;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0) items += ", ";
    if (node.kind == Node::Kind::mapping) items += node.keys[i].text + ": ";
    items += text_of(node.children[i]);
  }
  return node.kind == Node::Kind::mapping ? '{' + items + '}' : '[' + items + ']';
}

/// The values of a document by their keys, as `parameters.source`.
void collect_values(Node const& node, std::string const& path,
                    std::map<std::string, std::string>& values) {
  if (node.kind != Node::Kind::mapping || node.children.empty()) {
    values[path] = text_of(node);
    return;
  }
  for (std::size_t i = 0; i < node.children.size(); ++i)
    collect_values(node.children[i], join_path(path, node.keys[i].text), values);
}

bool stands_under(std::string_view path, std::span<std::string_view const> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) {
    return path.starts_with(key) && (path.size() == key.size() || path[key.size()] == '.');
  });
}

std::map<std::string, std::string> values_of(std::string_view text,
                                             std::span<std::string_view const> ignored,
                                             std::span<std::string_view const> only) {
  Faults faults("");
  std::map<std::string, std::string> values;
  if (auto const root = parse_document(text, 0, "", faults)) collect_values(*root, "", values);
  std::erase_if(values, [&](auto const& entry) {
    return stands_under(entry.first, ignored) ||
           (!only.empty() && !stands_under(entry.first, only));
  });
  return values;
}

std::string shortened(std::string const& text) {
  constexpr std::size_t longest = 60;
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

}  // namespace

std::string describe_changes(std::string_view before, std::string_view after,
                             std::span<std::string_view const> ignored,
                             std::span<std::string_view const> only) {
  constexpr std::size_t most_told = 5;
  auto const old_values = values_of(before, ignored, only);
  auto const new_values = values_of(after, ignored, only);
  std::vector<std::string> changes;
  for (auto const& [key, value] : old_values) {
    auto const now = new_values.find(key);
    if (now == new_values.end())
      changes.push_back(fmt::format("{} was {}", key, shortened(value)));
    else if (now->second != value)
      changes.push_back(
          fmt::format("{} was {} and is {}", key, shortened(value), shortened(now->second)));
  }
  for (auto const& [key, value] : new_values)
    if (!old_values.contains(key))
      changes.push_back(fmt::format("{} is {} and was not there", key, shortened(value)));
  std::string text;
  for (std::size_t i = 0; i < changes.size() && i < most_told; ++i)
    text += (i > 0 ? "; " : "") + changes[i];
  if (changes.size() > most_told) text += fmt::format("; and {} more", changes.size() - most_told);
  return text;
}

}  // namespace gridstride::config
