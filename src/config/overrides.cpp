#include "config/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gridstride::config {
namespace {

/// Splits at dots.
std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> keys(1);
  for (char const c : path) {
    if (c == '.') {
      keys.emplace_back();
    } else {
      keys.back() += c;
    }
  }
  return keys;
}

/// The value of a key of a mapping, made when there is none.
Node& child_of_mapping(Node& mapping, std::string const& key, Place place) {
  mapping.kind = Node::Kind::mapping;  // a key without value was null
  if (Node* child = mapping.child(key)) return *child;
  mapping.keys.push_back({.kind = Node::Kind::scalar, .text = key, .place = place});
  mapping.children.push_back({.kind = Node::Kind::null, .place = place});
  return mapping.children.back();
}

/// One step down a path; null when there is no such place, which is then noted.
Node* descend(Node& node, std::string const& parent, std::string const& key, Place place,
              Faults& faults) {
  std::string const path = join_path(parent, key);
  if (node.kind == Node::Kind::null || node.kind == Node::Kind::mapping)
    return &child_of_mapping(node, key, place);
  if (Node* element = node.child(key)) return element;
  if (node.kind == Node::Kind::sequence) {
    faults.add(place, path,
               fmt::format("no such element (the list '{}' has {}, the first is 0)", parent,
                           node.children.size()));
  } else {
    faults.add(
        place, path,
        fmt::format("'{}' is a single value and has no keys (set '{}' itself)", parent, parent));
  }
  return nullptr;
}

void apply(Node& root, Override const& override_, int source, Faults& faults) {
  Place const place{source, 0, 0};
  std::vector<std::string> const keys = split_path(override_.path);
  if (keys.size() > max_document_depth || std::ranges::find(keys, "") != keys.end()) {
    faults.add(place, "", "is no path of a key (a path is written output.every.time)");
    return;
  }
  std::optional<Node> value = parse_document(override_.value, source, override_.path, faults);
  if (!value) return;
  Node* node = &root;
  std::string parent;
  for (std::string const& key : keys) {
    node = descend(*node, parent, key, place, faults);
    if (!node) return;
    parent = join_path(parent, key);
  }
  *node = *std::move(value);
}

}  // namespace

void apply_overrides(Node& root, std::span<Override const> overrides, Faults& faults) {
  for (Override const& override_ : overrides) {
    std::string name = fmt::format("--set {}={}", override_.path, override_.value);
    apply(root, override_, faults.add_source(std::move(name)), faults);
  }
}

}  // namespace gridstride::config
