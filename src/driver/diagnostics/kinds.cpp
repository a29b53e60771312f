#include <fmt/format.h>

#include <algorithm>

#include "config/run_fields.hpp"
#include "config/visitor.hpp"
#include "driver/diagnostics/kind.hpp"
#include "driver/diagnostics/numbers.hpp"

namespace gridstride {

// One row for each kind, in the order of the numbers; `NAME_row()` stands at the end of its file.
#define GRIDSTRIDE_DIAGNOSTICS(ROW) \
  ROW(norms)                        \
  ROW(probe)                        \
  ROW(histogram)                    \
  ROW(quantiles)                    \
  ROW(integral)                     \
  ROW(minimum)                      \
  ROW(maximum)

#define GRIDSTRIDE_DECLARE_DIAGNOSTIC(NAME) DiagnosticRow NAME##_row();
GRIDSTRIDE_DIAGNOSTICS(GRIDSTRIDE_DECLARE_DIAGNOSTIC)

std::span<DiagnosticRow const> diagnostic_rows() {
#define GRIDSTRIDE_DIAGNOSTIC_ROW(NAME) NAME##_row(),
  static std::vector<DiagnosticRow> const rows = {
      GRIDSTRIDE_DIAGNOSTICS(GRIDSTRIDE_DIAGNOSTIC_ROW)};
  return rows;
}

bool is_asked(DiagnosticRow const& row, config::RunOptions const& run, Field const& field) {
  return (row.names && !row.names(run, field).empty()) ||
         (row.histograms && !row.histograms(run, field).empty());
}

std::string variant_of(config::RunOptions const& run, std::string_view family) {
  auto const chosen = run.kernels.find(family);
  return chosen == run.kernels.end() ? "auto" : chosen->second;
}

void declare_field(config::Visitor& visitor, config::RunOptions const& run, std::string& field) {
  auto const numbers = diagnosed_numbers(run.fields);
  std::vector<config::Choice> fields;
  for (auto const& one : numbers) fields.push_back({.name = one.name, .any_name = one.any_name});
  if (field.empty() && fields.size() == 1) field = fields.front().name;
  visitor.choice({.name = "field", .documentation = "The field that is looked at."}, fields, field);
}

std::string unit_of(config::RunOptions const& run, std::string_view field) {
  auto const numbers = diagnosed_numbers(run.fields);
  auto const found = std::ranges::find(numbers, field, &config::FieldInfo::name);
  return found == numbers.end() ? "1" : found->unit;
}

bool has_own_grid(config::RunOptions const& run, std::string_view field) {
  auto const numbers = diagnosed_numbers(run.fields);
  auto const found = std::ranges::find(numbers, field, &config::FieldInfo::name);
  return found != numbers.end() && found->own_grid;
}

std::string element_key(std::string_view list, std::size_t i, std::size_t size) {
  return size == 1 ? std::string(list) : fmt::format("{}.{}", list, i);
}

}  // namespace gridstride
