#include "config/verify_section.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/derived_sections.hpp"
#include "config/file_source.hpp"
#include "config/run_fields.hpp"

namespace gridstride::config {
namespace {

void declare_tolerance(Visitor& visitor, VerifyOptions& verify) {
  visitor.section(
      {.name = "tolerance",
       .documentation = "Bounds of the error against `exact` at the end. Without any, the error "
                        "is told."},
      [&](Visitor& v) {
        v.visit({.name = "l2",
                 .documentation = "Bound of the root of the mean squared error.",
                 .minimum = 0},
                verify.l2_tolerance, "");
        v.visit(
            {.name = "max", .documentation = "Bound of the largest absolute error.", .minimum = 0},
            verify.max_tolerance, "");
      });
}

/// A formula, or one for each component where any of the fields may be a vector.
void declare_any_exact(Visitor& visitor, FieldInfo const& field) {
  Formula formula;
  Spec const spec{.name = field.name,
                  .unit = field.unit,
                  .documentation = field.documentation,
                  .variables = all_variables,
                  .any_name = true};
  auto const alone = [&](Visitor& v) { v.optional_formula(spec, formula); };
  auto const components = [&](Visitor& v) {
    for (std::string_view const axis : axis_names)
      v.optional_formula({.name = axis,
                          .unit = field.unit,
                          .documentation = "a component of a vector",
                          .variables = all_variables},
                         formula);
  };
  Form const forms[] = {{.kind = Form::Kind::scalar, .body = alone},
                        {.kind = Form::Kind::mapping,
                         .documentation = "Of a vector, by component.",
                         .body = components}};
  int chosen = -1;
  visitor.forms(spec, Presence::optional, forms, chosen);
}

void declare_exact(Visitor& visitor, VerifyOptions& verify, RunOptions const& run) {
  auto const& fields = run.fields;
  std::map<std::string, Formula> formulas;
  for (auto const& [name, formula] : verify.exact) formulas[name] = formula;
  auto const declare = [&](Visitor& v, FieldInfo const& field, std::string const& key,
                           std::string const& name) {
    v.optional_formula({.name = key,
                        .unit = field.unit,
                        .documentation = field.documentation,
                        .variables = all_variables,
                        .any_name = field.any_name},
                       formulas[name]);
  };
  visitor.section({.name = "exact", .documentation = "The exact solution, for each field known."},
                  [&](Visitor& v) {
                    for (FieldInfo const& field : fields) {
                      if (field.any_name && run.language != nullptr) {
                        declare_any_exact(v, field);
                        continue;
                      }
                      if (field.components.empty()) declare(v, field, field.name, field.name);
                      if (field.components.empty()) continue;
                      v.section({.name = field.name, .any_name = field.any_name},
                                [&](Visitor& vector) {
                                  for (std::string const& component : field.components)
                                    declare(vector, field, component, field.name + '.' + component);
                                });
                    }
                  });
  verify.exact.clear();
  for (FieldInfo const& number : numbers_of(fields))
    if (!formulas[number.name].text.empty())
      verify.exact.emplace_back(number.name, formulas[number.name]);
}

/// Whether the file gives an exact solution, right or wrong. A vector without components is none.
bool has_exact(RunOptions const& run) {
  constexpr std::string_view section = "verify.exact.";
  auto const is_vector = [&](std::string_view name) {
    return std::ranges::any_of(run.fields, [&](FieldInfo const& field) {
      return field.name == name && !field.components.empty();
    });
  };
  for (auto at = run.locations.lower_bound(section);
       at != run.locations.end() && at->first.starts_with(section); ++at)
    if (!is_vector(std::string_view(at->first).substr(section.size()))) return true;
  return false;
}

}  // namespace

void declare_verify(Visitor& visitor, RunOptions& run) {
  VerifyOptions& verify = run.verify;
  visitor.section(
      {.name = "verify", .documentation = "What the result is compared with after the run."},
      [&](Visitor& v) {
        declare_manufactured(v, run);
        VerifyOptions beside;
        bool const is_made = !verify.manufactured.empty();
        declare_exact(v, is_made ? beside : verify, run);
        if (!beside.exact.empty())
          v.fault("exact", "cannot stand beside 'manufactured' (which is the exact solution)");
        declare_tolerance(v, verify);
        bool const bounded = v.given("tolerance.l2") || v.given("tolerance.max");
        if (bounded && !has_exact(run) && !is_made)
          v.fault("tolerance", "a tolerance needs an exact solution (exact: {FIELD: ...})");

        declare_input_path(v,
                           {.name = "reference",
                            .documentation = "Results of an earlier run (NAME.h5) to compare with, "
                                             "relative to the config's folder."},
                           Presence::optional, run.file.parent_path(), verify.reference);
        v.visit({.name = "rtol",
                 .documentation = "Relative tolerance of the comparison with `reference`.",
                 .minimum = 0},
                verify.rtol);
        v.visit({.name = "atol",
                 .documentation = "Absolute tolerance of the comparison with `reference`.",
                 .minimum = 0},
                verify.atol);
      });
}

}  // namespace gridstride::config
