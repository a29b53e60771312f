#include "config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "config/run_config.hpp"
#include "config/run_sections.hpp"

namespace gridstride::config {
namespace {

using nlohmann::ordered_json;
using Kind = Declaration::Kind;

/// A bound of a whole number is one itself.
ordered_json bound(Declaration const& number, double value) {
  if (number.kind == Kind::integer) return static_cast<std::int64_t>(value);
  return value;
}

void add_bounds(ordered_json& schema, Declaration const& number) {
  if (std::isfinite(number.minimum))
    schema[number.exclusive_minimum ? "exclusiveMinimum" : "minimum"] =
        bound(number, number.minimum);
  if (std::isfinite(number.maximum)) schema["maximum"] = bound(number, number.maximum);
}

/// A number, or text: a number with a unit, a formula, a word such as `auto`.
ordered_json number_schema(Declaration const& number) {
  ordered_json schema = {{"type", {"number", "string"}}};
  add_bounds(schema, number);
  return schema;
}

ordered_json integer_schema(Declaration const& integer) {
  ordered_json schema = {{"type", "integer"}};
  add_bounds(schema, integer);
  return schema;
}

ordered_json truth_schema(Declaration const&) { return {{"type", "boolean"}}; }

ordered_json text_schema(Declaration const& text) {
  ordered_json schema = {{"type", "string"}, {"minLength", 1}};
  if (!text.pattern.empty()) schema["pattern"] = text.pattern;
  return schema;
}

ordered_json word_schema(Declaration const& word) { return {{"const", word.word}}; }

/// Words, or any text where one of them stands for names that are not known.
ordered_json choice_schema(Declaration const& choice) {
  if (std::ranges::any_of(choice.words, &Declaration::Word::any_name)) return {{"type", "string"}};
  ordered_json names = ordered_json::array();
  for (auto const& word : choice.words) names.push_back(word.name);
  return {{"enum", names}};
}

/// A list, or its one element without brackets.
ordered_json array_schema(ordered_json const& element, std::size_t minimum, std::size_t maximum) {
  ordered_json array = {{"type", "array"}, {"items", element}};
  if (minimum > 0) array["minItems"] = minimum;
  if (maximum > 0) array["maxItems"] = maximum;
  if (minimum > 1) return array;
  return {{"anyOf", ordered_json::array({array, element})}};
}

ordered_json subset_schema(Declaration const& subset) {
  bool const has_names = std::ranges::any_of(subset.words, &Declaration::Word::any_name);
  ordered_json schema = array_schema(choice_schema(subset), 0, has_names ? 0 : subset.words.size());
  schema["anyOf"][0]["uniqueItems"] = true;
  return schema;
}

ordered_json list_schema(Declaration const& list) {
  return array_schema(schema_of(list.children.front()), list.shape.minimum, list.shape.maximum);
}

ordered_json items_schema(Declaration const& items) {
  return array_schema(schema_of(items.children.front()), items.shape.minimum, items.shape.maximum);
}

/// A mapping of names, as formulas have them, to values of one schema.
ordered_json names_schema(ordered_json const& value, std::string const& beside = {}) {
  std::string const name = "[A-Za-z_][A-Za-z0-9_]*";
  return {{"type", "object"},
          {"propertyNames",
           {{"pattern", beside.empty() ? "^" + name + "$" : "^(" + name + "|" + beside + ")$"}}},
          {"additionalProperties", value}};
}

ordered_json named_schema(Declaration const& named) {
  return names_schema(schema_of(named.children.front()), named.beside);
}

ordered_json constants_schema(Declaration const&) {
  return names_schema({{"type", {"number", "string"}}});
}

ordered_json section_schema(Declaration const& section) {
  ordered_json properties = ordered_json::object();
  ordered_json required = ordered_json::array();
  ordered_json others = false;
  for (Declaration const& child : section.children) {
    if (child.any_name) {
      others = schema_of(child);
      continue;
    }
    properties[child.name] = schema_of(child);
    if (must_be_given(child)) required.push_back(child.name);
  }
  ordered_json schema = {
      {"type", "object"}, {"properties", properties}, {"additionalProperties", others}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

/// The first key of a form tells it from the others; where no other has keys, and
/// each may be left out, any of them does.
ordered_json forms_schema(Declaration const& forms) {
  ordered_json any = ordered_json::array();
  bool const is_alone = std::ranges::count(forms.children, Kind::section, &Declaration::kind) == 1;
  for (Declaration const& form : forms.children) {
    ordered_json schema = schema_of(form);
    schema.erase("default");
    if (form.kind == Kind::section && is_alone && !must_be_given(form)) {
      schema["minProperties"] = 1;
    } else if (form.kind == Kind::section) {
      schema["required"] = {form.children.front().name};
      for (Declaration const& key : std::span(form.children).subspan(1))
        if (must_be_given(key)) schema["required"].push_back(key.name);
    }
    any.push_back(schema);
  }
  return {{"anyOf", any}};
}

struct TypeRow {
  Kind kind;
  ordered_json (*schema)(Declaration const&);
};

constexpr TypeRow rows[] = {
    {Kind::number, number_schema},   {Kind::integer, integer_schema},
    {Kind::truth, truth_schema},     {Kind::formula, number_schema},
    {Kind::text, text_schema},       {Kind::word, word_schema},
    {Kind::choice, choice_schema},   {Kind::subset, subset_schema},
    {Kind::list, list_schema},       {Kind::items, items_schema},
    {Kind::named, named_schema},     {Kind::constants, constants_schema},
    {Kind::section, section_schema}, {Kind::forms, forms_schema},
};

}  // namespace

bool must_be_given(Declaration const& declaration) {
  if (declaration.kind != Kind::section) return declaration.required;
  return std::ranges::any_of(declaration.children, must_be_given);
}

ordered_json schema_of(Declaration const& declaration) {
  auto const row = std::ranges::find(rows, declaration.kind, &TypeRow::kind);
  ordered_json schema = row->schema(declaration);
  std::string description = declaration.documentation;
  bool const has_unit = !declaration.unit.empty() && declaration.unit != "1";
  if (has_unit && declaration.kind != Kind::section)
    description += fmt::format("{}Unit: {}.",
                               description.empty()          ? ""
                               : description.ends_with('.') ? " "
                                                            : ". ",
                               declaration.unit);
  if (!description.empty()) schema["description"] = description;
  bool const has_default = !declaration.value.is_null() && declaration.kind != Kind::section &&
                           declaration.kind != Kind::word;
  if (has_default) schema["default"] = declaration.value;
  return schema;
}

namespace {

Declaration const* find_child(Declaration const& section, std::string_view name) {
  auto const found = std::ranges::find(section.children, name, &Declaration::name);
  return found == section.children.end() ? nullptr : &*found;
}

/// Sections that may be left out, though keys in them have no default, where another key stands in their place.
std::vector<std::string> replaced_sections(SimulationInfo const& simulation,
                                           Declaration const& root) {
  std::vector<std::string> sections;
  if (!simulation.in_place_of_grid.empty()) sections.emplace_back("grid");
  auto const* verify = find_child(root, "verify");
  if (verify != nullptr && find_child(*verify, "manufactured") != nullptr)
    sections.emplace_back("initial");
  return sections;
}

}  // namespace

std::string describe_schema(SimulationInfo const& simulation) {
  RunConfig run = default_run(simulation, "NAME");
  ordered_json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                         {"title", fmt::format("gridstride: {}", simulation.name)},
                         {"description", simulation.summary}};
  Declaration root = collect_run(run, *run.parameters);
  root.children.front().required = true;
  root.children.front().value = nullptr;
  schema.update(schema_of(root));
  auto& required = schema["required"];
  for (std::string const& section : replaced_sections(simulation, root))
    required.erase(std::remove(required.begin(), required.end(), section), required.end());
  return schema.dump(2) + '\n';
}

}  // namespace gridstride::config
