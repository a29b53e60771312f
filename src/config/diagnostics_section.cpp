#include "config/diagnostics_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>

namespace gridstride::config {
namespace {

/// The place of an entry's kind in the table; its size for an entry that could not be read.
std::ptrdiff_t place_of(std::span<DiagnosticKind const> kinds, DiagnosticEntry const& entry) {
  return std::ranges::find(kinds, entry.kind, &DiagnosticKind::name) - kinds.begin();
}

void declare_entry(Visitor& visitor, Spec const& spec, RunOptions const& run,
                   DiagnosticEntry& entry) {
  auto const kinds = run.simulation->diagnostics;
  std::vector<std::shared_ptr<Diagnostic>> options;  // of each kind
  std::vector<Form> forms;
  std::string const no_grid = fmt::format("{} has no grid", run.simulation->name);
  for (DiagnosticKind const& kind : kinds) {
    options.push_back(entry.kind == kind.name ? entry.options : kind.make());
    Diagnostic& asked = *options.back();
    if (kind.is_word)
      forms.push_back({.word = kind.name, .documentation = kind.documentation});
    else if (kind.needs_grid && !run.has_grid)
      forms.push_back({.kind = Form::Kind::refused, .word = kind.name, .documentation = no_grid});
    else
      forms.push_back({.kind = Form::Kind::mapping, .body = [&](Visitor& v) {
                         asked.declare(v, {.name = kind.name, .documentation = kind.documentation},
                                       run);
                       }});
  }
  auto const place = place_of(kinds, entry);
  int chosen = place == std::ssize(kinds) ? -1 : static_cast<int>(place);
  visitor.forms(spec, Presence::required, forms, chosen);
  entry = {};
  if (chosen >= 0)
    entry = {kinds[static_cast<std::size_t>(chosen)].name,
             options[static_cast<std::size_t>(chosen)]};
}

bool clash(DiagnosticEntry const& a, DiagnosticEntry const& b) {
  if (!a.options || !b.options) return false;
  auto const of_a = a.options->gives(), of_b = b.options->gives();
  return std::ranges::find_first_of(of_a, of_b) != of_a.end();
}

void check_repeats(Visitor& v, std::vector<DiagnosticEntry> const& list) {
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (clash(list[i], list[j]))
        v.fault(fmt::format("diagnostics.{}", i),
                fmt::format("repeats what diagnostics.{} gives (each can be given once)", j));
}

}  // namespace

std::vector<DiagnosticEntry> default_diagnostics(SimulationInfo const& simulation) {
  if (simulation.diagnostics.empty()) return {};
  DiagnosticKind const& first = simulation.diagnostics.front();
  return {{first.name, first.make()}};
}

void declare_diagnostics(Visitor& visitor, RunOptions& run) {
  auto list = run.diagnostics;
  visitor.items<DiagnosticEntry>(
      {.name = "diagnostics", .documentation = "Numbers that are computed with each output."}, list,
      [&](Spec const& spec, DiagnosticEntry& entry) { declare_entry(visitor, spec, run, entry); });
  check_repeats(visitor, list);
  std::erase_if(list, [](DiagnosticEntry const& entry) { return !entry.options; });
  auto const kinds = run.simulation->diagnostics;
  std::ranges::stable_sort(list, {}, [&](auto const& entry) { return place_of(kinds, entry); });
  run.diagnostics = std::move(list);
}

}  // namespace gridstride::config
