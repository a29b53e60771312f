#include "config/declaration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/value.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

using nlohmann::ordered_json;
using Kind = Declaration::Kind;

/// A regular expression for all of the text; empty when any is accepted.
std::string pattern_of(TextForm const& form) {
  if (form.words.empty()) return {};
  std::string pattern = fmt::format("^({}", fmt::join(form.words, "|"));
  if (!form.numbered.empty()) pattern += fmt::format("|{}[0-9]{{1,3}}", form.numbered);
  return pattern + ")$";
}

/// Writes down what it meets.
class Collector : public Visitor {
 public:
  Declaration take() { return std::move(levels_.front()); }

  void visit(Spec const& spec, double& value) override {
    Declaration& number = add(spec, Kind::number);
    number.required = std::isnan(value);
    if (!number.required) number.value = value;
  }
  void visit(Spec const& spec, std::int64_t& value) override {
    Declaration& integer = add(spec, Kind::integer);
    integer.required = value == required_integer;
    if (!integer.required) integer.value = value;
  }
  void visit(Spec const& spec, bool& value) override { add(spec, Kind::truth).value = value; }
  void visit(Spec const& spec, Formula& value) override {
    optional_formula(spec, value);
    levels_.back().children.back().required = value.text.empty();
  }
  void visit(Spec const& spec, std::optional<double>& value, std::string_view word) override {
    Declaration& number = add(spec, Kind::number);
    number.word = word;
    if (value) number.value = *value;
    if (!value && !word.empty()) number.value = word;
  }
  void optional_formula(Spec const& spec, Formula& value) override {
    Declaration& formula = add(spec, Kind::formula);
    if (!value.text.empty()) formula.value = formula_value(value.text);
  }
  void text(Spec const& spec, TextForm const& form, std::string& value) override {
    Declaration& text = add(spec, Kind::text);
    text.pattern = pattern_of(form);
    text.meaning = form.meaning;
    text.required = form.presence == Presence::required && value.empty();
    if (!value.empty()) text.value = value;
  }
  void source(Spec const& spec, SourceText& value) override {
    Declaration& source = add(spec, Kind::items);
    Spec one = spec;
    one.variables = all_variables;
    source.children.push_back(describe(one, Kind::formula));
    auto& variables = source.children.back().variables;
    variables.insert(variables.begin(), "fields");
    source.required = value.texts.empty();
    for (std::string const& text : value.texts) source.value.push_back(formula_value(text));
    if (!value.listed && !source.required) source.value = formula_value(value.texts.front());
  }
  void choice(Spec const& spec, std::span<Choice const> choices, std::string& value) override {
    Declaration& choice = add_words(spec, Kind::choice, choices);
    choice.required = value.empty();
    if (!choice.required) choice.value = value;
  }
  void subset(Spec const& spec, std::span<Choice const> choices,
              std::vector<std::string>& value) override {
    add_words(spec, Kind::subset, choices).value = value;
  }
  bool list(Spec const& spec, ListShape const& shape, std::vector<double>& value) override {
    return add_list(spec, shape, Kind::number, value);
  }
  bool list(Spec const& spec, ListShape const& shape, std::vector<std::int64_t>& value) override {
    return add_list(spec, shape, Kind::integer, value);
  }
  void constants(Spec const& spec, expression::Symbols& values) override {
    Declaration& constants = add(spec, Kind::constants);
    for (auto const& [name, value] : values) constants.value[name] = value;
  }

  void variables(std::span<expression::Variable const> names) override { variables_ = names; }

  void section(Spec const& spec, Body const& body) override {
    levels_.push_back(describe(spec, Kind::section));
    body(*this);
    close();
  }
  void forms(Spec const& spec, Presence presence, std::span<Form const> forms,
             int& chosen) override;

 private:
  void visit_items(Spec const& spec, std::size_t count, Element const& element) override;
  void visit_named(Spec const& spec, Presence presence, std::span<std::string const> names,
                   Element const& element) override;

  Declaration describe(Spec const& spec, Kind kind) const {
    Declaration declaration;
    declaration.kind = kind;
    declaration.name = spec.name;
    declaration.unit = spec.unit;
    declaration.documentation = spec.documentation;
    declaration.minimum = spec.minimum;
    declaration.maximum = spec.maximum;
    declaration.exclusive_minimum = spec.exclusive_minimum;
    declaration.variables = names_in(spec.variables);
    declaration.any_name = spec.any_name;
    declaration.beside = spec.beside;
    return declaration;
  }
  std::vector<std::string> names_in(std::string_view variables) const {
    std::vector<std::string> names;
    if (variables != all_variables) {
      for (char const c : variables) names.emplace_back(1, c);
      return names;
    }
    for (auto const& variable : variables_) names.emplace_back(variable.name);
    if (names.empty()) names.emplace_back("the names given");
    return names;
  }
  Declaration& add(Spec const& spec, Kind kind) {
    return levels_.back().children.emplace_back(describe(spec, kind));
  }
  Declaration& add_words(Spec const& spec, Kind kind, std::span<Choice const> choices) {
    Declaration& declaration = add(spec, kind);
    for (Choice const& choice : choices)
      declaration.words.push_back(
          {std::string(choice.name), std::string(choice.documentation), choice.any_name});
    return declaration;
  }
  template <class T>
  bool add_list(Spec const& spec, ListShape const& shape, Kind element,
                std::vector<T> const& value) {
    Declaration& list = add(spec, Kind::list);
    Spec element_spec = spec;
    element_spec.unit = "1";
    element_spec.documentation = "";
    list.children.push_back(describe(element_spec, element));
    list.shape = shape;
    list.required = value.empty() && !shape.fill && shape.presence == Presence::required;
    for (T const number : value) {
      if (std::isfinite(static_cast<double>(number)))
        list.value.push_back(number);
      else
        list.value.push_back(number > 0 ? "inf" : "-inf");
    }
    return !value.empty();
  }
  /// Numbers stay numbers, so that they need no quotes.
  static ordered_json formula_value(std::string const& text) {
    if (number_length(text) == text.size()) return parse_number(text);
    return text;
  }
  void close();
  Declaration form(Spec const& spec, Form const& form);

  std::vector<Declaration> levels_{1};
  std::span<expression::Variable const> variables_ = expression::space_and_time;
};

/// Puts the innermost level where it belongs.
void Collector::close() {
  Declaration level = std::move(levels_.back());
  levels_.pop_back();
  level.value = section_value(level);
  levels_.back().children.push_back(std::move(level));
}

Declaration Collector::form(Spec const& spec, Form const& form) {
  if (form.kind == Form::Kind::word) {
    Declaration word = describe(spec, Kind::word);
    word.word = form.word;
    word.value = form.word;
    word.documentation = form.documentation;
    return word;
  }
  levels_.emplace_back();
  form.body(*this);
  Declaration result = std::move(levels_.back());
  levels_.pop_back();
  if (form.kind != Form::Kind::mapping) {
    Declaration scalar = std::move(result.children.front());
    result = std::move(scalar);
  } else {
    result.value = section_value(result);
  }
  if (!form.documentation.empty()) result.documentation = form.documentation;
  return result;
}

void Collector::forms(Spec const& spec, Presence presence, std::span<Form const> forms,
                      int& chosen) {
  Declaration choice = describe(spec, Kind::forms);
  choice.required = presence == Presence::required && chosen < 0;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (forms[i].kind == Form::Kind::refused) continue;
    choice.children.push_back(form(spec, forms[i]));
    if (static_cast<int>(i) == chosen) choice.value = choice.children.back().value;
  }
  levels_.back().children.push_back(std::move(choice));
}

void Collector::visit_items(Spec const& spec, std::size_t count, Element const& element) {
  Declaration items = describe(spec, Kind::items);
  items.shape = {spec.length, spec.length};
  items.required = count < spec.length;
  if (!items.required) items.value = ordered_json::array();
  levels_.emplace_back();
  Spec const item{.name = "item"};
  for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i) element(item, i);
  auto const& children = levels_.back().children;
  for (std::size_t i = 0; i < count; ++i) items.value.push_back(children[i].value);
  items.children.push_back(children.front());
  levels_.pop_back();
  levels_.back().children.push_back(std::move(items));
}

void Collector::visit_named(Spec const& spec, Presence presence, std::span<std::string const> names,
                            Element const& element) {
  Declaration named = describe(spec, Kind::named);
  named.required = presence == Presence::required && names.empty();
  levels_.emplace_back();
  Spec const sample{.name = "NAME"};
  if (names.empty()) element(sample, 0);
  for (std::size_t i = 0; i < names.size(); ++i) element(Spec{.name = names[i]}, i);
  auto const& children = levels_.back().children;
  for (std::size_t i = 0; i < names.size(); ++i) named.value[names[i]] = children[i].value;
  named.children.push_back(children.front());
  levels_.pop_back();
  levels_.back().children.push_back(std::move(named));
}

std::string range_text(double minimum, double maximum, bool exclusive_minimum) {
  std::string text;
  if (std::isfinite(minimum))
    text = fmt::format("{} {}", exclusive_minimum ? ">" : ">=", format_exact(minimum));
  if (std::isfinite(maximum))
    text += fmt::format("{}<= {}", text.empty() ? "" : " and ", format_exact(maximum));
  return text;
}

}  // namespace

Declaration collect(std::function<void(Visitor&)> const& declare) {
  Collector collector;
  declare(collector);
  Declaration root = collector.take();
  root.value = section_value(root);
  return root;
}

ordered_json section_value(Declaration const& section) {
  ordered_json value;
  for (Declaration const& child : section.children)
    if (!child.value.is_null()) value[child.name] = child.value;
  return value;
}

bool repeats(Declaration const& parent, Declaration const& section) {
  auto const is_beside = [&](Declaration const& key) {
    return std::ranges::count(parent.children, key.name, &Declaration::name) > 0;
  };
  return section.kind == Kind::section && !section.children.empty() &&
         std::ranges::all_of(section.children, is_beside);
}

std::string format_range(Declaration const& declaration) {
  return range_text(declaration.minimum, declaration.maximum, declaration.exclusive_minimum);
}

std::string format_range(Spec const& spec) {
  return range_text(spec.minimum, spec.maximum, spec.exclusive_minimum);
}

}  // namespace gridstride::config
