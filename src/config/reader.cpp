#include "config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "config/declaration.hpp"
#include "config/text_position.hpp"
#include "config/value.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

std::string wrong_kind(std::string_view expected, Node const& node) {
  return fmt::format("{} expected, not {}", expected, kind_name(node));
}

/// Whether text is a name as formulas have them: letters, digits and _, no digit first.
bool is_formula_name(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

/// Whether a value of a list is three digits from 0 on, with nothing but a comma before it: as a
/// thousands separator has them, while a list seldom does.
bool is_group_of_digits(Node const& before, Node const& node) {
  return node.text.size() == 3 && node.text[0] == '0' && std::ranges::all_of(node.text, is_digit) &&
         !before.text.empty() && is_digit(before.text.back()) &&
         before.place.source == node.place.source && before.place.line == node.place.line &&
         before.place.column + static_cast<int>(before.text.size()) + 1 == node.place.column;
}

std::vector<std::string_view> names_of(std::span<Choice const> choices) {
  std::vector<std::string_view> names;
  for (Choice const& choice : choices) names.push_back(choice.name);
  return names;
}

}  // namespace

Reader::Reader(Node const& root, std::vector<std::string> all_paths, Faults& faults)
    : all_paths_(std::move(all_paths)), faults_(faults) {
  enter({.node = &root, .place = root.place, .path = ""});
}

void Reader::visit(Spec const& spec, double& value) {
  if (Node const* node = scalar(spec, std::isnan(value), "a number"))
    if (auto const read = number(spec, *node, path(spec.name))) value = *read;
}

void Reader::visit(Spec const& spec, std::int64_t& value) {
  if (Node const* node = scalar(spec, value == required_integer, "a whole number"))
    if (auto const read = integer(spec, *node, path(spec.name))) value = *read;
}

void Reader::visit(Spec const& spec, bool& value) {
  Node const* node = scalar(spec, false, "true or false");
  if (!node) return;
  if (node->quoted || (node->text != "true" && node->text != "false")) {
    report(
        *node, path(spec.name),
        fmt::format("{} is neither true nor false{}", show(node->text),
                    node->quoted ? " (it has quotes)" : suggestion(node->text, {"true", "false"})));
    return;
  }
  value = node->text == "true";
}

void Reader::visit(Spec const& spec, Formula& value) {
  if (Node const* node = scalar(spec, value.text.empty(), "a number or a formula"))
    read_formula(spec, *node, value);
}

void Reader::optional_formula(Spec const& spec, Formula& value) {
  if (Node const* node = scalar(spec, false, "a number or a formula"))
    read_formula(spec, *node, value);
}

void Reader::visit(Spec const& spec, std::optional<double>& value, std::string_view word) {
  std::string const expected = word.empty() ? "a number" : fmt::format("a number or '{}'", word);
  Node const* node = scalar(spec, false, expected);
  if (!node) return;
  if (!word.empty() && node->text == word) {
    value.reset();
  } else if (auto const read = number(spec, *node, path(spec.name), word)) {
    value = read;
  }
}

void Reader::choice(Spec const& spec, std::span<Choice const> choices, std::string& value) {
  if (Node const* node = scalar(spec, value.empty(), format_choices(names_of(choices))))
    read_word(spec, choices, *node, path(spec.name), value);
}

void Reader::subset(Spec const& spec, std::span<Choice const> choices,
                    std::vector<std::string>& value) {
  std::vector<std::string> given;
  auto const parse = [&](Node const& node, std::string const& where) {
    std::string word;
    read_word(spec, choices, node, where, word);
    if (std::ranges::find(given, word) != given.end())
      report(node, where, fmt::format("'{}' is given twice", word));
    if (!word.empty()) given.push_back(word);
    return word.empty() ? std::optional<std::string>() : word;
  };
  std::vector<std::string> words;
  ListShape const shape{0, max_document_nodes};
  if (!read_list(spec, shape, words, format_choices(names_of(choices)), parse)) return;
  value = std::move(given);
}

bool Reader::list(Spec const& spec, ListShape const& shape, std::vector<double>& value) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto const parse = [&](Node const& node, std::string const& where) {
    bool const infinite = shape.infinite && node.text.ends_with("inf");
    if (infinite && (node.text == "inf" || node.text == "+inf" || node.text == ".inf"))
      return std::optional(infinity);
    if (infinite && (node.text == "-inf" || node.text == "-.inf")) return std::optional(-infinity);
    return number(spec, node, where, shape.infinite ? "inf" : "");
  };
  return read_list(spec, shape, value, "a number", parse);
}

bool Reader::list(Spec const& spec, ListShape const& shape, std::vector<std::int64_t>& value) {
  return read_list(
      spec, shape, value, "a whole number",
      [&](Node const& node, std::string const& where) { return integer(spec, node, where); });
}

template <class T, class Parse>
bool Reader::read_list(Spec const& spec, ListShape const& shape, std::vector<T>& value,
                       std::string_view expected, Parse const& parse) {
  bool const optional = shape.fill || shape.minimum == 0 || shape.presence == Presence::optional;
  Node const* node = require(spec, value.empty() && !optional);
  if (!node) {
    bool const left_out = scopes_.back().node == nullptr || !scopes_.back().node->child(spec.name);
    if constexpr (std::is_arithmetic_v<T>)
      if (shape.fill) value.assign(shape.maximum, static_cast<T>(*shape.fill));
    return left_out && !value.empty();
  }
  std::span<Node const> elements(node, 1);
  bool const listed = node->kind == Node::Kind::sequence;
  if (listed) elements = node->children;
  if (!listed && shape.maximum > 1 && node->text.find(',') != std::string::npos) {
    report(*node, path(spec.name),
           fmt::format("{0} is a list without its brackets; did you mean '[{1}]'?",
                       show(node->text), node->text));
    return false;
  }
  std::vector<T> read;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::string const where =
        listed ? join_path(path(spec.name), std::to_string(i)) : path(spec.name);
    if (elements[i].kind != Node::Kind::scalar) {
      report(elements[i], where, wrong_kind(expected, elements[i]));
    } else if (i > 0 && is_group_of_digits(elements[i - 1], elements[i])) {
      report(elements[i], where,
             fmt::format("',{0}' looks like a part of one number (digits are not grouped: 1,{0} is "
                         "1{0}; a list has a blank after the comma)",
                         elements[i].text));
    } else if (auto const element = parse(elements[i], where)) {
      read.push_back(*element);
    }
  }
  bool const complete = read.size() == elements.size();
  if (elements.size() < shape.minimum || elements.size() > shape.maximum) {
    std::string const count = shape.minimum == shape.maximum
                                  ? std::to_string(shape.minimum)
                                  : fmt::format("{} to {}", shape.minimum, shape.maximum);
    report(*node, path(spec.name),
           fmt::format("{} values expected, here are {}", count, elements.size()));
    return false;
  }
  if (complete) value = std::move(read);
  return complete;
}

void Reader::section(Spec const& spec, Body const& body) {
  Node const* node = find(spec);
  Scope const& outer = scopes_.back();
  if (node && node->kind != Node::Kind::mapping) {
    bool const no_space = node->text.find(':') != std::string::npos;
    report(*node, path(spec.name),
           node->kind == Node::Kind::null
               ? "has no value (a mapping of keys is expected)"
               : wrong_kind("a mapping of keys", *node) +
                     (no_space ? " (a space is missing after the ':')" : ""));
    return;
  }
  enter({.node = node, .place = node ? node->place : outer.place, .path = path(spec.name)});
  body(*this);
  leave();
}

namespace {

/// Where a comma of a list has cut a formula in two.
std::string_view hint_of_comma(Node const& list) {
  bool const is_cut = std::ranges::any_of(list.children, [](Node const& item) {
    return std::ranges::count(item.text, '(') > std::ranges::count(item.text, ')');
  });
  return is_cut ? " (in a list, a formula with a comma in it needs quotes)" : "";
}

}  // namespace

std::optional<std::size_t> Reader::given_items(Spec const& spec) {
  Scope const& scope = scopes_.back();
  Node const* node = scope.node ? scope.node->child(spec.name) : nullptr;
  if (!node || node->kind == Node::Kind::null) return std::nullopt;
  return node->kind == Node::Kind::sequence ? node->children.size() : 1;
}

void Reader::visit_items(Spec const& spec, std::size_t count, Element const& element) {
  Node const* node = require(spec, spec.length > 0);
  if (!node) return;
  bool const single = node->kind != Node::Kind::sequence;
  if (spec.length > 0 && (single || count != spec.length))
    return report(*node, path(spec.name),
                  single ? wrong_kind(fmt::format("a list of {} values", spec.length), *node)
                         : fmt::format("{} values expected, here are {}{}", spec.length, count,
                                       hint_of_comma(*node)));
  enter({.node = node, .place = node->place, .path = path(spec.name), .single = single});
  for (std::size_t i = 0; i < count; ++i) {
    std::string const index = std::to_string(i);
    element(Spec{.name = index}, i);
  }
  scopes_.pop_back();
}

void Reader::visit_named(Spec const& spec, Presence presence, std::span<std::string const> names,
                         Element const& element) {
  section(spec, [&](Visitor& v) {
    Scope& scope = scopes_.back();
    bool const none = !scope.node || scope.node->keys.empty();
    if (none && presence == Presence::required && names.empty())
      v.fault("", scope.node ? "is empty (one name at least)" : "is missing (it has no default)");
    if (none) return;
    for (Node const& key : scope.node->keys) {
      scope.known.push_back(key.text);
      std::string const problem = key.text == spec.beside ? std::string() : name_problem(key.text);
      if (!problem.empty()) report(key, path(key.text), problem);
    }
    for (std::size_t i = 0; i < names.size(); ++i) element(Spec{.name = names[i]}, i);
  });
}

void Reader::forms(Spec const& spec, Presence presence, std::span<Form const> forms, int& chosen) {
  Node const* node = require(spec, presence == Presence::required && chosen < 0);
  if (!node) return;
  if (node->kind == Node::Kind::mapping) {
    choose_by_keys(spec, forms, *node, chosen);
  } else {
    choose_by_word(spec, forms, *node, chosen);
  }
}

void Reader::fault(std::string_view key, std::string const& message) {
  Found const found = locate_node(key);
  faults_.add(found.place, found.path, message);
}

void Reader::fault(std::string_view key, expression::ParseError const& error) {
  Found const found = locate_node(key);
  if (found.node) report_at(*found.node, found.path, error);
}

Location Reader::locate(std::string_view key) const {
  Found const found = locate_node(key);
  std::string const file = found.place.source == 0 ? "" : faults_.source_name(found.place.source);
  return {found.place.line, found.place.column, found.path, file};
}

/// The node of a key that the present scope has, which is known from now on; none for keys that
/// cannot be known.
Node const* Reader::find(Spec const& spec) {
  Scope& scope = scopes_.back();
  if (spec.any_name && scope.node)
    for (Node const& key : scope.node->keys) scope.known.push_back(key.text);
  if (std::ranges::find(scope.known, spec.name) == scope.known.end())
    scope.known.emplace_back(spec.name);
  if (!scope.node || spec.any_name) return nullptr;
  return scope.single ? scope.node : scope.node->child(spec.name);
}

/// The node of a key that has a value; reports what is missing.
Node const* Reader::require(Spec const& spec, bool required) {
  Node const* node = find(spec);
  Scope const& scope = scopes_.back();
  if (!node) {
    if (required && !spec.any_name)
      faults_.add(scope.place, path(spec.name), "is missing (it has no default)");
    return nullptr;
  }
  if (node->kind != Node::Kind::null) return node;
  report(*node, path(spec.name), "has no value");
  return nullptr;
}

Node const* Reader::scalar(Spec const& spec, bool required, std::string_view expected) {
  Node const* node = require(spec, required);
  if (!node || node->kind == Node::Kind::scalar) return node;
  report(*node, path(spec.name), wrong_kind(expected, *node));
  return nullptr;
}

std::optional<double> Reader::number(Spec const& spec, Node const& node, std::string const& where,
                                     std::string_view word) {
  bool const is_name = is_formula_name(node.text) && node.text != "pi" && node.text != "e";
  if (is_name && !constants_.contains(node.text)) {
    std::vector<std::string_view> names = words_;
    if (!word.empty()) names = {word};
    std::string words;
    for (std::size_t i = 0; i < names.size(); ++i)
      words += fmt::format("{} '{}'", i + 1 < names.size() ? "," : " or", names[i]);
    for (auto const& constant : constants_) names.push_back(constant.first);
    report(node, where,
           fmt::format("{} is not a number{} (and 'constants' has no such name){}", show(node.text),
                       words, suggestion(node.text, names)));
    return std::nullopt;
  }
  try {
    double const value = parse_quantity(node.text, spec.unit, constants_, variables_);
    if (in_range(spec, value, node, where)) return value;
  } catch (ValueError const& error) {
    report_at(node, where, error);
  }
  return std::nullopt;
}

std::optional<std::int64_t> Reader::integer(Spec const& spec, Node const& node,
                                            std::string const& where) {
  if (node.quoted) {
    report(node, where, fmt::format("{} is text (a whole number has no quotes)", show(node.text)));
    return std::nullopt;
  }
  try {
    std::int64_t const value = parse_integer(node.text);
    if (in_range(spec, static_cast<double>(value), node, where)) return value;
  } catch (ValueError const& error) {
    report_at(node, where, error);
  }
  return std::nullopt;
}

void Reader::read_formula(Spec const& spec, Node const& node, Formula& value) {
  std::string const where = path(spec.name);
  try {
    expression::Expression formula = parse_formula(node.text, spec.unit, constants_, variables_);
    if (formula.is_constant() && !in_range(spec, formula.evaluate(0), node, where)) return;
    std::string const problem = formula_problem(spec, formula);
    if (!problem.empty()) return report(node, where, problem);
    value = {node.text, std::move(formula), locate(spec.name)};
  } catch (ValueError const& error) {
    if (!spec.is_foreign) return report_at(node, where, error);
    value = {node.text, expression::Expression(0.0), locate(spec.name), true};
  }
}

/// Why a formula depends on what it must not; empty when it does not.
std::string Reader::formula_problem(Spec const& spec, expression::Expression const& formula) const {
  std::vector<std::string_view> allowed;
  for (auto const& variable : variables_)
    if (spec.variables == all_variables ||
        spec.variables.find(variable.name) != std::string_view::npos)
      allowed.push_back(variable.name);
  for (auto const& [name, index] : variables_) {
    if (!formula.depends_on(index)) continue;
    if (std::ranges::find(allowed, name) == allowed.end())
      return fmt::format("the formula depends on '{}' ({})", name,
                         allowed.empty()
                             ? "a number is expected"
                             : fmt::format("it may depend on {}", format_choices(allowed)));
    if (index < expression::time_variable && index >= axes_)
      return fmt::format("the formula depends on '{}', but the grid has {} ax{}s (see grid.points)",
                         name, axes_, axes_ == 1 ? "i" : "e");
  }
  return {};
}

void Reader::read_word(Spec const&, std::span<Choice const> choices, Node const& node,
                       std::string const& where, std::string& value) {
  if (std::ranges::any_of(choices, &Choice::any_name) ||
      std::ranges::find(choices, node.text, &Choice::name) != choices.end()) {
    value = node.text;
    return;
  }
  std::vector<std::string_view> const names = names_of(choices);
  report(node, where,
         fmt::format("unknown value {} ({} expected){}", show(node.text), format_choices(names),
                     suggestion(node.text, names)));
}

void Reader::constants(Spec const& spec, expression::Symbols& values) {
  section(spec, [&](Visitor&) {
    Scope& scope = scopes_.back();
    if (!scope.node) return;
    for (Node const& key : scope.node->keys) scope.known.push_back(key.text);
    for (std::size_t i = 0; i < scope.node->keys.size(); ++i)
      read_constant(scope.node->keys[i], scope.node->children[i], path(scope.known[i]));
  });
  values = constants_;
}

void Reader::read_constant(Node const& key, Node const& value, std::string const& where) {
  std::string const problem = name_problem(key.text);
  if (!problem.empty()) return report(key, where, problem);
  if (value.kind != Node::Kind::scalar) return report(value, where, wrong_kind("a number", value));
  try {
    constants_[key.text] = parse_quantity(value.text, "", constants_, variables_);
  } catch (ValueError const& error) {
    bool const unknown = std::string_view(error.what()).starts_with("unknown name");
    std::string const hint = unknown ? "; a constant may use those above it" : "";
    report_at(value, where, ValueError(error.what() + hint, error.position()));
  }
}

std::string Reader::name_problem(std::string_view name) const {
  constexpr std::size_t longest_name = 40;
  if (name.size() > longest_name || !is_formula_name(name))
    return fmt::format("{} cannot be a name (letters, digits and _, at most {}, no digit first)",
                       show(name), longest_name);
  std::string_view clash;
  if (std::ranges::find(variables_, name, &expression::Variable::name) != variables_.end())
    clash = "a variable";
  if (constants_.contains(name)) clash = "a constant";
  if (name == "pi" || name == "e") clash = "a number that every formula knows";
  if (name == "inf" || name == "nan") clash = "no finite number elsewhere";
  if (name == "if" ||
      std::ranges::find(expression::functions(), name, &expression::FunctionInfo::name) !=
          expression::functions().end())
    clash = "a function";
  if (clash.empty()) return {};
  return fmt::format("the name '{}' is taken (it is {})", name, clash);
}

bool Reader::in_range(Spec const& spec, double value, Node const& node, std::string const& where) {
  bool const above = spec.exclusive_minimum ? value > spec.minimum : value >= spec.minimum;
  if (above && value <= spec.maximum) return true;
  report(node, where,
         fmt::format("{} is out of range (must be {})", show(node.text), format_range(spec)));
  return false;
}

void Reader::report(Node const& node, std::string const& where, std::string message) {
  faults_.add(node.place, where, std::move(message));
}

void Reader::report_at(Node const& node, std::string const& where,
                       expression::ParseError const& error) {
  std::string_view const before =
      std::string_view(node.text).substr(0, std::min(error.position(), node.text.size()));
  Place place = node.place;
  std::string message = error.what();
  bool const on_line = before.find('\n') == std::string_view::npos;
  if (place.line > 0 && node.verbatim && on_line) {
    place.column += static_cast<int>(count_characters(before)) + (node.quoted ? 1 : 0);
  } else if (error.position() > 0) {
    message += fmt::format(" [at character {}]", count_characters(before) + 1);
  }
  faults_.add(place, where, std::move(message));
}

std::string Reader::path(std::string_view key) const {
  Scope const& scope = scopes_.back();
  return scope.single ? scope.path : join_path(scope.path, key);
}

Reader::Found Reader::locate_node(std::string_view key) const {
  Scope const& scope = scopes_.back();
  Found found{scope.node, scope.place, scope.path};
  while (!key.empty()) {
    std::string_view const name = key.substr(0, key.find('.'));
    key.remove_prefix(std::min(key.size(), name.size() + 1));
    if (found.node == scope.node && scope.single) continue;
    found.path = join_path(found.path, name);
    if (found.node) found.node = found.node->child(name);
    if (found.node) found.place = found.node->place;
  }
  return found;
}

}  // namespace gridstride::config
