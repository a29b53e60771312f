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

/// The first few, separated by semicolons.
std::string listed(std::span<std::string const> changes) {
  constexpr std::size_t most_told = 5;
  std::string text;
  for (std::size_t i = 0; i < changes.size() && i < most_told; ++i)
    text += (i > 0 ? "; " : "") + changes[i];
  if (changes.size() > most_told) text += fmt::format("; and {} more", changes.size() - most_told);
  return text;
}

std::string was_and_is(std::string const& key, std::string const& before,
                       std::string const& after) {
  return fmt::format("{} was {} and is {}", key, shortened(before), shortened(after));
}

/// The entries of `diagnostics` that have a name of their own, `{KIND: {name: ..., ...}}`, by it. Whether the point of
/// an extreme is told, too, does not count.
std::map<std::string, std::string, std::less<>> named_numbers(std::string_view text) {
  Faults faults("");
  std::map<std::string, std::string, std::less<>> numbers;
  auto const root = parse_document(text, 0, "", faults);
  Node const* const section = root ? root->child("diagnostics") : nullptr;
  if (section == nullptr) return numbers;
  auto const take = [&](Node const& entry) {
    for (std::size_t i = 0; entry.kind == Node::Kind::mapping && i < entry.children.size(); ++i) {
      Node const& options = entry.children[i];
      if (options.kind != Node::Kind::mapping) continue;
      Node const* const name = options.child("name");
      Node const* const formula = options.child("of");
      if (name != nullptr && formula != nullptr)
        numbers[name->text] = entry.keys[i].text + ' ' + formula->text;
    }
  };
  take(*section);
  if (section->kind == Node::Kind::sequence) std::ranges::for_each(section->children, take);
  return numbers;
}

}  // namespace

std::string describe_changes(std::string_view before, std::string_view after,
                             std::span<std::string_view const> ignored,
                             std::span<std::string_view const> only) {
  auto const old_values = values_of(before, ignored, only);
  auto const new_values = values_of(after, ignored, only);
  std::vector<std::string> changes;
  for (auto const& [key, value] : old_values) {
    auto const now = new_values.find(key);
    if (now == new_values.end())
      changes.push_back(fmt::format("{} was {}", key, shortened(value)));
    else if (now->second != value)
      changes.push_back(was_and_is(key, value, now->second));
  }
  for (auto const& [key, value] : new_values)
    if (!old_values.contains(key))
      changes.push_back(fmt::format("{} is {} and was not there", key, shortened(value)));
  return listed(changes);
}

std::string describe_other_formulas(std::string_view before, std::string_view after) {
  constexpr std::string_view derived[] = {"output.derived"};
  auto const new_values = values_of(after, {}, derived);
  std::vector<std::string> changes;
  for (auto const& [key, value] : values_of(before, {}, derived))
    if (auto const now = new_values.find(key); now != new_values.end() && now->second != value)
      changes.push_back(was_and_is(key, value, now->second));
  return listed(changes);
}

std::set<std::string> changed_keys(std::string_view before, std::string_view after,
                                   std::span<std::string_view const> ignored) {
  std::set<std::string> keys;
  auto const old_values = values_of(before, ignored, {});
  auto const new_values = values_of(after, ignored, {});
  auto const collect = [&](auto const& values, auto const& others) {
    for (auto const& [key, value] : values)
      if (auto const other = others.find(key); other == others.end() || other->second != value)
        keys.insert(key);
  };
  collect(old_values, new_values);
  collect(new_values, old_values);
  return keys;
}

std::set<std::string, std::less<>> other_numbers(std::string_view before, std::string_view after) {
  std::set<std::string, std::less<>> others;
  auto const new_numbers = named_numbers(after);
  for (auto const& [name, number] : named_numbers(before))
    if (auto const now = new_numbers.find(name); now != new_numbers.end() && now->second != number)
      others.insert(name);
  return others;
}

}  // namespace gridstride::config
