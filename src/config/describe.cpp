#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "config/declaration.hpp"
#include "config/run_config.hpp"
#include "config/run_sections.hpp"
#include "config/schema.hpp"
#include "config/yaml_text.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

using Kind = Declaration::Kind;

/// One key, as a line of text or of a table.
struct Row {
  std::string path;      // `boundary.{x,y,z}.dirichlet`
  std::string accepts;   // `number, > 0`
  std::string word;      // accepted too, as ` or 'auto'`
  std::string unit;      // empty for what has none
  std::string standard;  // its default, or `required`; empty in one of several forms
  std::string documentation;
};

/// A top-level key with all that is in it.
struct Section {
  std::string name;
  std::string documentation;
  std::vector<Row> rows;
};

std::string joined(std::vector<std::string> const& texts, std::string_view separator) {
  std::string all;
  for (std::string const& text : texts) {
    if (!all.empty()) all += separator;
    all += text;
  }
  return all;
}

std::string words_of(Declaration const& declaration) {
  std::vector<std::string_view> names;
  for (auto const& word : declaration.words) names.push_back(word.name);
  return format_choices(names);
}

std::string formula_text(Declaration const& formula) {
  if (formula.variables.empty()) return "number";
  return "formula of " + joined(formula.variables, ", ");
}

std::string list_text(Declaration const& list) {
  ListShape const& shape = list.shape;
  std::string_view const element = list.children.front().kind == Kind::integer ? "whole numbers"
                                   : shape.infinite ? "numbers, inf or -inf"
                                                    : "numbers";
  if (shape.minimum == shape.maximum) return fmt::format("list of {} {}", shape.maximum, element);
  return fmt::format("list of {} to {} {}", shape.minimum, shape.maximum, element);
}

std::string accepted(Declaration const& declaration);

/// `'periodic'` or `{lower: ..., upper: ...}`.
std::string form_text(Declaration const& form) {
  if (form.kind == Kind::word) return fmt::format("'{}'", form.word);
  if (form.kind == Kind::formula) return formula_text(form);
  if (form.kind == Kind::number) return "number";
  if (form.kind == Kind::list) return list_text(form);
  if (form.kind == Kind::items || form.kind == Kind::choice) return accepted(form);
  std::vector<std::string> keys;
  for (Declaration const& key : form.children) keys.push_back(key.name + ": ...");
  return '{' + joined(keys, ", ") + '}';
}

std::string forms_text(Declaration const& forms) {
  std::vector<std::string> texts;
  for (Declaration const& form : forms.children) texts.push_back(form_text(form));
  return joined(texts, " or ");
}

std::string item_text(Declaration const& item) {
  return item.kind == Kind::forms ? forms_text(item) : form_text(item);
}

/// What a key accepts, in words.
std::string accepted(Declaration const& declaration) {
  switch (declaration.kind) {
    case Kind::number:
      return "number";
    case Kind::integer:
      return "whole number";
    case Kind::truth:
      return "true or false";
    case Kind::formula:
      return formula_text(declaration);
    case Kind::text:
      return declaration.meaning;
    case Kind::word:
      return fmt::format("'{}'", declaration.word);
    case Kind::choice:
      return words_of(declaration);
    case Kind::subset:
      return "list of " + words_of(declaration);
    case Kind::list:
      return list_text(declaration);
    case Kind::items:
      if (declaration.shape.minimum > 0)
        return fmt::format("list of {}, each a {}", declaration.shape.minimum,
                           item_text(declaration.children.front()));
      if (declaration.children.front().kind == Kind::formula)
        return formula_text(declaration.children.front()) + ", or a list of these";
      return "list of " + item_text(declaration.children.front());
    case Kind::named:
      return fmt::format("names with a {} each", accepted(declaration.children.front()));
    case Kind::constants:
      return "names with a number each";
    case Kind::section:
      return "mapping";
    case Kind::forms:
      return forms_text(declaration);
  }
  return "";
}

std::string standard(Declaration const& declaration) {
  if (declaration.required) return "required";
  if (!declaration.value.is_null()) return flow_yaml(declaration.value);
  if (declaration.shape.fill) return format_exact(*declaration.shape.fill) + " on each axis";
  return "none";
}

/// The documentation with what the words or forms mean.
std::string full_documentation(Declaration const& declaration) {
  std::string text = declaration.documentation;
  for (auto const& word : declaration.words)
    if (!word.documentation.empty())
      text += fmt::format(" `{}`: {}{}", word.name, word.documentation,
                          word.documentation.ends_with('.') ? "" : ".");
  for (Declaration const& form : declaration.children)
    if (declaration.kind == Kind::forms && form.kind == Kind::word && !form.documentation.empty())
      text += fmt::format(" `{}`: {}", form.word, form.documentation);
  return text;
}

bool has_unit(Declaration const& declaration) {
  return declaration.kind == Kind::number || declaration.kind == Kind::formula ||
         (declaration.kind == Kind::list && declaration.children.front().kind == Kind::number);
}

Row make_row(Declaration const& declaration, std::string const& path, bool in_form) {
  std::string const range = format_range(declaration);
  bool const has_word = declaration.kind == Kind::number && !declaration.word.empty();
  return {path,
          accepted(declaration) + (range.empty() ? "" : ", " + range),
          has_word ? fmt::format(" or '{}'", declaration.word) : "",
          has_unit(declaration) ? declaration.unit : "",
          in_form ? "" : standard(declaration),
          full_documentation(declaration)};
}

void append_rows(Declaration const& parent, std::string const& path, bool in_form,
                 std::vector<Row>& rows);

/// The keys in the forms that a value may have.
void append_form_rows(Declaration const& forms, std::string const& path, std::vector<Row>& rows) {
  for (Declaration const& form : forms.children)
    if (form.kind == Kind::section) append_rows(form, path, true, rows);
}

/// The keys of an item of a list.
void append_item_rows(Declaration const& item, std::string const& path, std::vector<Row>& rows) {
  if (item.kind == Kind::forms) append_form_rows(item, path, rows);
  if (item.kind == Kind::section) append_rows(item, path, false, rows);
}

/// Whether two keys accept the same, though their defaults may differ.
bool accept_the_same(Declaration const& a, Declaration const& b) {
  std::function<void(nlohmann::ordered_json&)> const forget_defaults = [&](auto& schema) {
    if (schema.is_object()) schema.erase("default");
    if (schema.is_structured())
      for (auto& child : schema) forget_defaults(child);
  };
  auto schema_a = schema_of(a), schema_b = schema_of(b);
  forget_defaults(schema_a);
  forget_defaults(schema_b);
  return schema_a == schema_b;
}

/// Whether all that a section has is told by the rows of the same keys beside it.
bool is_told_beside(Declaration const& parent, Declaration const& section) {
  return repeats(parent, section) &&
         std::ranges::all_of(section.children, [&](Declaration const& key) {
           return accept_the_same(
               key, *std::ranges::find(parent.children, key.name, &Declaration::name));
         });
}

/// Rows of the keys of a section. Neighbours that accept the same share theirs.
void append_rows(Declaration const& parent, std::string const& path, bool in_form,
                 std::vector<Row>& rows) {
  auto const& keys = parent.children;
  for (std::size_t first = 0, next = 0; first < keys.size(); first = next) {
    Declaration const& key = keys[first];
    std::vector<std::string> names;
    for (next = first; next < keys.size() && schema_of(keys[next]) == schema_of(key); ++next)
      names.push_back(keys[next].name);
    std::string const name = names.size() == 1 ? names.front() : '{' + joined(names, ",") + '}';
    std::string const here = path + "." + name;
    if (key.kind == Kind::section && is_told_beside(parent, key)) {
      rows.push_back({here, form_text(key), "", "", "", key.documentation});
      continue;
    }
    if (key.kind == Kind::section) {
      append_rows(key, here, false, rows);
      continue;
    }
    rows.push_back(make_row(key, here, in_form));
    if (key.kind == Kind::forms) append_form_rows(key, here, rows);
    if (key.kind == Kind::items) append_item_rows(key.children.front(), here, rows);
    if (key.kind == Kind::named) append_item_rows(key.children.front(), here + ".NAME", rows);
  }
}

Section make_section(Declaration const& key) {
  Section section{key.name, "", {}};
  if (key.kind == Kind::section) {
    section.documentation = key.documentation;
    append_rows(key, key.name, false, section.rows);
    return section;
  }
  section.rows.push_back(make_row(key, key.name, false));
  if (key.kind == Kind::items) append_item_rows(key.children.front(), key.name, section.rows);
  return section;
}

/// The sections that hold the simulation's own parameters.
std::vector<std::string> own_sections(SimulationInfo const& simulation) {
  if (!simulation.has_own_sections) return {"parameters"};
  RunConfig run = default_run(simulation, "NAME");
  std::vector<std::string> names;
  for (Declaration const& key :
       collect([&](Visitor& v) { run.parameters->fields(v, run); }).children)
    names.push_back(key.name);
  return names;
}

/// All keys but `simulation`, those of the simulation's own first.
std::vector<Section> sections_of(SimulationInfo const& simulation) {
  RunConfig run = default_run(simulation, "NAME");
  Declaration const root = collect_run(run, *run.parameters);
  std::vector<Section> sections;
  for (Declaration const& key : root.children)
    if (key.name != "simulation") sections.push_back(make_section(key));
  auto const own = own_sections(simulation);
  std::ranges::stable_partition(sections, [&](Section const& section) {
    return std::ranges::find(own, section.name) != own.end();
  });
  return sections;
}

std::string row_text(Row const& row) {
  std::string text = fmt::format("  {}: {}", row.path, row.accepts);
  if (!row.unit.empty() && row.unit != "1") text += fmt::format(" [{}]", row.unit);
  text += row.word;
  if (row.standard == "required") text += "; required";
  if (row.standard != "required" && row.standard != "none" && !row.standard.empty())
    text += "; default " + row.standard;
  return fmt::format("{}\n      {}\n", text, row.documentation);
}

/// Text for a cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (char const c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string code(std::string const& text) { return text.empty() ? "" : '`' + cell(text) + '`'; }

std::string table(std::vector<Row> const& rows) {
  std::string text = "| Key | Accepts | Unit | Default | Meaning |\n|---|---|---|---|---|\n";
  for (Row const& row : rows) {
    bool const is_value = row.standard != "required" && row.standard != "none";
    text += fmt::format("| {} | {} | {} | {} | {} |\n", code(row.path),
                        cell(row.accepts + row.word), row.unit == "1" ? "" : cell(row.unit),
                        is_value ? code(row.standard) : row.standard, cell(row.documentation));
  }
  return text;
}

std::string section_markdown(Section const& section, std::string_view heading) {
  std::string text = fmt::format("{} `{}`\n\n", heading, section.name);
  if (!section.documentation.empty()) text += section.documentation + "\n\n";
  return text + table(section.rows) + '\n';
}

/// Stands for any simulation in the part of the reference that holds for all of them.
class NoParameters : public ParameterSet {
 public:
  void fields(Visitor&, RunOptions const&) override {}
};

/// With the diagnostics and formats that all of them have.
SimulationInfo any_simulation(SimulationInfo const& one) {
  return {.name = "SIMULATION",
          .summary = "",
          .fields = {{"FIELD", "unit of FIELD", "A field of the simulation."}},
          .schemes = {"SCHEME"},
          .kernels = {{"FAMILY", {"VARIANT"}}},
          .make_parameters = []() -> std::unique_ptr<ParameterSet> {
            return std::make_unique<NoParameters>();
          },
          .diagnostics = one.diagnostics,
          .formats = one.formats};
}

std::string meaning(FieldInfo const& field) {
  if (field.components.empty()) return field.documentation;
  return fmt::format("{} Components: {}.", field.documentation, joined(field.components, ", "));
}

/// What the reference of all simulations has and this one has not.
std::string missing_sections(SimulationInfo const& simulation) {
  auto const has = sections_of(simulation);
  std::vector<std::string> missing;
  for (Section const& section : sections_of(any_simulation(simulation)))
    if (!section.rows.empty() && std::ranges::find(has, section.name, &Section::name) == has.end())
      missing.push_back(code(section.name));
  if (missing.empty()) return "";
  std::string const every = simulation.has_time ? "" : ", and no `output.every`";
  return fmt::format("It has no {}{}.\n\n", joined(missing, ", "), every);
}

/// Whether a row of a section that all simulations have differs from one to another.
bool is_own(Row const& row, std::string_view section) {
  constexpr std::string_view sections[] = {"kernels", "limits", "ranks"};
  constexpr std::string_view paths[] = {"time.scheme", "output.derived", "verify.exact",
                                        "verify.manufactured"};
  return std::ranges::find(sections, section) != std::end(sections) ||
         std::ranges::any_of(paths, [&](auto path) { return row.path.starts_with(path); });
}

std::string simulation_markdown(SimulationInfo const& simulation) {
  std::string text = fmt::format("## `{}`\n\n{}\n\n", simulation.name, simulation.summary);
  text += missing_sections(simulation);
  text += "| Field | Unit | Meaning |\n|---|---|---|\n";
  for (FieldInfo const& field : simulation.fields)
    text += fmt::format("| `{}` | {} | {} |\n", field.name, field.unit, meaning(field));
  text += '\n';
  auto const own = own_sections(simulation);
  std::vector<Row> rows;
  for (Section const& section : sections_of(simulation))
    for (Row const& row : section.rows)
      if (std::ranges::find(own, section.name) != own.end() || is_own(row, section.name) ||
          (simulation.adapts_steps && row.path.starts_with("time.") && row.path != "time.end"))
        rows.push_back(row);
  return text + table(rows) + '\n';
}

constexpr std::string_view reference_introduction =
    R"(# Input reference

Made by `gridstride describe --markdown` from the declarations that the reader itself uses.

A run is one YAML file. Unknown and duplicate keys, wrong types, values out of range and
contradictions are errors, all reported together. Numbers are decimal: `010` is ten, `1e3` is a
whole number. A number may carry a unit (`5 mm^2/s`, `20 min`), which is converted; without one it
is in the SI unit given here. Where a number is expected, a formula of `constants` will do. A list
of one may be written without brackets. Anchors, aliases, tags and merge keys are not accepted.
`--set a.b=c` replaces or adds one key; elements of lists go by their index, as `grid.points.0=64`.

`{x,y,z}` in a key stands for any of these names.

)";

}  // namespace

std::string describe_text(SimulationInfo const& simulation) {
  std::string text = fmt::format("{}: {}\n\nfields\n", simulation.name, simulation.summary);
  for (FieldInfo const& field : simulation.fields)
    text += fmt::format("  {} [{}]: {}\n", field.name, field.unit, meaning(field));
  for (Section const& section : sections_of(simulation)) {
    if (section.rows.empty()) continue;
    text += fmt::format("\n{}{}{}\n", section.name, section.documentation.empty() ? "" : ": ",
                        section.documentation);
    for (Row const& row : section.rows) text += row_text(row);
  }
  return text;
}

std::string input_reference(std::span<SimulationInfo const> simulations) {
  std::string text(reference_introduction);
  text += "## All simulations\n\n";
  std::string choices;
  std::string chosen;
  Declaration const root = collect([&](Visitor& v) { declare_simulation(v, simulations, chosen); });
  text += section_markdown(make_section(root.children.front()), "###");
  SimulationInfo const any = any_simulation(simulations.front());
  for (Section const& section : sections_of(any))
    if (!section.rows.empty()) text += section_markdown(section, "###");
  for (auto const& simulation : simulations) text += simulation_markdown(simulation);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace gridstride::config
