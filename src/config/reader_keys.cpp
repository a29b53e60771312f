// The part of the reader that tells keys apart: which form is meant, and which keys are unknown.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "config/declaration.hpp"
#include "config/reader.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

using Names = std::vector<std::string>;

/// The keys that the mapping of a form takes; none for other forms.
Names keys_of(Form const& form) {
  Names keys;
  if (form.kind != Form::Kind::mapping) return keys;
  for (Declaration const& key : collect(form.body).children) keys.push_back(key.name);
  return keys;
}

/// A path as it is written in a file: `time: {end: ...}`.
std::string nested(std::string_view path) {
  std::string text, closing;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    text += fmt::format("{}: {{", path.substr(0, dot));
    closing += '}';
    path.remove_prefix(dot + 1);
  }
  return fmt::format("{}{}: ...{}", text, path, closing);
}

std::vector<std::string_view> views_of(Names const& names) { return {names.begin(), names.end()}; }

/// `'periodic', {dirichlet: ...} or {lower: ..., upper: ...}`
std::string expected_forms(std::span<Form const> forms) {
  Names texts;
  for (Form const& form : forms) {
    if (form.kind == Form::Kind::word) texts.push_back(fmt::format("'{}'", form.word));
    if (form.kind == Form::Kind::scalar) texts.emplace_back("a number or a formula");
    if (form.kind == Form::Kind::list || form.kind == Form::Kind::items)
      texts.emplace_back("a list");
    if (form.kind != Form::Kind::mapping) continue;
    std::string keys;
    for (std::string const& key : keys_of(form))
      keys += fmt::format("{}{}: ...", keys.empty() ? "" : ", ", key);
    texts.push_back(fmt::format("{{{}}}", keys));
  }
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i)
    all += (i == 0 ? "" : i + 1 == texts.size() ? " or " : ", ") + texts[i];
  return all;
}

}  // namespace

void Reader::choose_by_word(Spec const& spec, std::span<Form const> forms, Node const& node,
                            int& chosen) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    Form const& form = forms[i];
    bool const listed = form.kind == Form::Kind::list ||
                        (form.kind == Form::Kind::items && node.kind == Node::Kind::sequence);
    if (node.kind != Node::Kind::scalar && !listed) continue;
    bool const same_word = form.word == node.text;
    if (form.kind == Form::Kind::refused && same_word)
      return report(node, path(spec.name),
                    fmt::format("'{}' cannot stand here ({})", node.text, form.documentation));
    if (form.kind == Form::Kind::word) words.push_back(form.word);
    if (listed || form.kind == Form::Kind::scalar || (form.kind == Form::Kind::word && same_word)) {
      chosen = static_cast<int>(i);
      if (form.kind == Form::Kind::scalar) words_ = words;
      if (form.body) form.body(*this);
      words_.clear();
      return;
    }
  }
  bool const scalar = node.kind == Node::Kind::scalar;
  report(node, path(spec.name),
         fmt::format("{} expected, not {}{}", expected_forms(forms),
                     scalar ? show(node.text) : kind_name(node),
                     scalar ? suggestion(node.text, words) : ""));
}

void Reader::choose_by_keys(Spec const& spec, std::span<Form const> forms, Node const& node,
                            int& chosen) {
  for (Form const& form : forms) {
    auto const key = std::ranges::find(node.keys, form.word, &Node::text);
    if (form.kind == Form::Kind::refused && key != node.keys.end())
      return report(*key, join_path(path(spec.name), key->text),
                    fmt::format("cannot stand here ({})", form.documentation));
  }
  std::vector<Names> keys;  // of each form
  Names all_keys;
  for (Form const& form : forms) {
    keys.push_back(keys_of(form));
    std::ranges::copy(keys.back(), std::back_inserter(all_keys));
  }
  std::vector<std::size_t> meant;  // forms that a key of the file belongs to
  Node const* second = nullptr;    // the key that made it two
  std::string named;               // one key of each, for the message
  for (Node const& key : node.keys) {
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (std::ranges::find(keys[i], key.text) == keys[i].end()) continue;
      if (std::ranges::find(meant, i) != meant.end()) continue;
      meant.push_back(i);
      named += fmt::format("{}'{}'", named.empty() ? "" : " and ", key.text);
      if (meant.size() == 2) second = &key;
    }
  }
  if (second)
    return report(*second, path(spec.name), fmt::format("{} exclude each other (give one)", named));
  if (meant.empty() && (node.keys.empty() || all_keys.empty()))
    return report(node, path(spec.name),
                  fmt::format("{} expected, not {}", expected_forms(forms),
                              node.keys.empty() ? "an empty mapping" : "a mapping"));

  enter({.node = &node, .place = node.place, .path = path(spec.name)});
  if (meant.empty()) {
    scopes_.back().known = all_keys;
  } else {
    chosen = static_cast<int>(meant.front());
    forms[meant.front()].body(*this);
  }
  leave();
}

std::optional<std::vector<std::string>> Reader::given_names(Spec const& spec) {
  Scope const& scope = scopes_.back();
  Node const* node = scope.node ? scope.node->child(spec.name) : nullptr;
  if (!node || node->kind != Node::Kind::mapping) return std::nullopt;
  std::vector<std::string> names;
  for (Node const& key : node->keys)
    if (key.text == spec.beside || name_problem(key.text).empty()) names.push_back(key.text);
  return names;
}

void Reader::refuse(std::string_view name, std::string const& reason) {
  Scope& scope = scopes_.back();
  scope.refused.emplace_back(name);
  if (!scope.node || scope.node->kind != Node::Kind::mapping) return;
  auto const key = std::ranges::find(scope.node->keys, name, &Node::text);
  if (key != scope.node->keys.end()) report(*key, path(name), reason);
}

/// Closes a mapping: what is left in it is unknown.
void Reader::leave() {
  Scope const scope = std::move(scopes_.back());
  scopes_.pop_back();
  if (!scope.node) return;
  for (Node const& key : scope.node->keys) {
    bool const met = std::ranges::find(scope.known, key.text) != scope.known.end() ||
                     std::ranges::find(scope.refused, key.text) != scope.refused.end();
    if (!met) report(key, join_path(scope.path, key.text), unknown_key(scope, key.text));
  }
}

/// Of the keys of that name the one in the fewest sections; null when there is none.
std::string const* Reader::shortest_path_to(std::string_view key) const {
  std::string const ending = fmt::format(".{}", key);
  std::string const* shortest = nullptr;
  std::ptrdiff_t fewest = 0;
  for (std::string const& path : all_paths_) {
    auto const sections = std::ranges::count(path, '.');
    if ((path != key && !path.ends_with(ending)) || (shortest != nullptr && sections >= fewest))
      continue;
    shortest = &path;
    fewest = sections;
  }
  return shortest;
}

std::string Reader::unknown_key(Scope const& scope, std::string_view key) const {
  if (key.find(':') != std::string_view::npos)
    return "unknown key (a space is missing after the ':')";
  if (key.find_first_not_of("0123456789") == std::string_view::npos)
    return "unknown key (is the ',' before it meant as a part of a number? digits are not grouped)";
  if (key.find('.') != std::string_view::npos && is_letter(key[0]))
    return fmt::format("unknown key (keys have no dots, they are nested); did you mean '{}'?",
                       nested(key));
  std::vector<std::string_view> const known = views_of(scope.known);
  std::string const near = suggestion(key, known);
  if (!near.empty()) return "unknown key" + near;
  if (std::string const* other = shortest_path_to(key)) {
    if (*other == key)
      return fmt::format("unknown key here ('{}' belongs to the top level, not indented)", key);
    return fmt::format("unknown key here; did you mean '{}'?", nested(*other));
  }
  if (known.empty()) return "unknown key (none is expected here)";
  return fmt::format("unknown key ({} expected)", format_choices(known));
}

}  // namespace gridstride::config
