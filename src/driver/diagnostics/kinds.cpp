#include <fmt/format.h>

#include <algorithm>

#include "config/run_fields.hpp"
#include "config/visitor.hpp"
#include "driver/diagnostics/kind.hpp"

namespace gridstride {

// One function per kind, at the end of its file.
DiagnosticRow norms_row();
DiagnosticRow probe_row();
DiagnosticRow histogram_row();
DiagnosticRow quantiles_row();
DiagnosticRow integral_row();
DiagnosticRow minimum_row();
DiagnosticRow maximum_row();

std::span<DiagnosticRow const> diagnostic_rows() {
  static std::vector<DiagnosticRow> const rows = {
      norms_row(),    probe_row(),   histogram_row(), quantiles_row(),
      integral_row(), minimum_row(), maximum_row(),
  };
  return rows;
}

std::string variant_of(config::RunOptions const& run, std::string_view family) {
  auto const chosen = run.kernels.find(family);
  return chosen == run.kernels.end() ? "auto" : chosen->second;
}

void declare_field(config::Visitor& visitor, config::RunOptions const& run, std::string& field) {
  auto const numbers = config::numbers_of(run.fields);
  std::vector<config::Choice> fields;
  for (auto const& one : numbers) fields.push_back({.name = one.name, .any_name = one.any_name});
  if (field.empty() && fields.size() == 1) field = fields.front().name;
  visitor.choice({.name = "field", .documentation = "The field that is looked at."}, fields, field);
}

std::string unit_of(config::RunOptions const& run, std::string_view field) {
  auto const fields = config::numbers_of(run.fields);
  auto const found = std::ranges::find(fields, field, &config::FieldInfo::name);
  return found == fields.end() ? "1" : found->unit;
}

std::string element_key(std::string_view list, std::size_t i, std::size_t size) {
  return size == 1 ? std::string(list) : fmt::format("{}.{}", list, i);
}

}  // namespace gridstride
