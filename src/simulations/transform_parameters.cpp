#include "simulations/transform_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "config/file_source.hpp"
#include "kernels/evaluate/points.hpp"

namespace gridstride::transform {

namespace {

using config::Choice;
using config::FieldSource;
using config::Form;
using config::RunOptions;
using config::Spec;
using config::Visitor;

constexpr std::size_t most_axes = 3;
constexpr std::int64_t most_points = std::int64_t{1} << 58;

void declare_input(Visitor& visitor, Spec const& spec, std::filesystem::path const& folder,
                   FieldSource& source) {
  auto const formula = [&](Visitor& v) {
    v.visit({.name = spec.name,
             .documentation = "A formula of space; then `grid.points` tells how many values.",
             .variables = "xyz"},
            source.formula);
  };
  auto const dataset = [&](Visitor& v) { config::declare_field(v, folder, spec, source); };
  Form const forms[] = {{.kind = Form::Kind::scalar, .body = formula},
                        {.kind = Form::Kind::mapping, .body = dataset}};
  int chosen = !source.file.empty() ? 1 : !source.formula.text.empty() ? 0 : -1;
  visitor.forms(spec, config::Presence::required, forms, chosen);
  visitor.locate(spec.name, source.location);
}

/// The number of axes is that of `points`, where they are given.
config::ListShape per_axis(GridOptions const& grid) {
  std::size_t const axes = grid.points.size();
  return {.minimum = axes == 0 ? 1 : axes,
          .maximum = axes == 0 ? most_axes : axes,
          .presence = config::Presence::optional};
}

bool fits(std::vector<std::int64_t> const& points) {
  std::int64_t product = 1;
  for (std::int64_t const n : points) {
    if (n > most_points / product) return false;
    product *= n;
  }
  return true;
}

void check_grid(Visitor& v, GridOptions const& grid) {
  if (!fits(grid.points)) v.fault("points", "are too many (an array would have over 2^60 bytes)");
  if (grid.upper.empty()) return;
  if (!grid.spacing.empty())
    v.fault("upper", "cannot stand beside 'spacing' (either tells the points' distance)");
  if (grid.points.empty())
    return v.fault("upper", "needs 'points' beside it (else give 'spacing')");
  for (std::size_t a = 0; a < grid.upper.size(); ++a) {
    double const lower = a < grid.lower.size() ? grid.lower[a] : 0;
    if (a < grid.points.size() && (grid.points[a] < 2 || !(grid.upper[a] > lower)))
      v.fault(grid.upper.size() == 1 ? "upper" : fmt::format("upper.{}", a),
              "must be larger than the lower end, with two points at least");
  }
}

void declare_grid(Visitor& visitor, GridOptions& grid) {
  visitor.section(
      {.name = "grid", .documentation = "The points that the data lie at."}, [&](Visitor& v) {
        v.list({.name = "points",
                .documentation = "Points along x, y and z. Files tell it themselves; where it is "
                                 "given, they have to have as many.",
                .minimum = 1},
               {1, most_axes, std::nullopt, config::Presence::optional}, grid.points);
        v.list(
            {.name = "lower",
             .documentation = "Coordinates of the first point along each axis; if left out those "
                              "of another run's result, or 0."},
            per_axis(grid), grid.lower);
        v.list({.name = "upper",
                .documentation = "Coordinates of the last point along each axis, in place of "
                                 "`spacing`."},
               per_axis(grid), grid.upper);
        v.list({.name = "spacing",
                .documentation = "Distance of the points along each axis; if left out that of "
                                 "another run's result, or 1.",
                .minimum = 0,
                .exclusive_minimum = true},
               per_axis(grid), grid.spacing);
        check_grid(v, grid);
      });
  if (!grid.points.empty()) visitor.axes(static_cast<int>(grid.points.size()));
}

void check_repeats(Visitor& v, std::vector<ReduceOptions> const& list) {
  auto const same = [](ReduceOptions const& a, ReduceOptions const& b) {
    return a.kind >= 0 && a.kind == b.kind && a.of == b.of && a.factors == b.factors &&
           a.rule == b.rule;
  };
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (same(list[i], list[j]))
        v.fault(fmt::format("reduce.{}", i),
                fmt::format("repeats what reduce.{} gives (each can be given once)", j));
}

/// A histogram's table has a name of its own.
void check_histograms(Visitor& v, Parameters const& parameters) {
  auto const known = known_before(parameters, parameters.steps.size());
  for (std::size_t i = 0; i < parameters.reductions.size(); ++i) {
    auto const& reduction = parameters.reductions[i];
    if (reduction.kind != ReduceOptions::histogram) continue;
    auto const name = histogram_name(reduction.of);
    auto const same = std::ranges::find(known, name, &Known::name);
    if (same != known.end() && same->result == is_table)
      v.fault(fmt::format("reduce.{}.histogram", i),
              fmt::format("its table would be '{}', as that of a step is", name));
  }
}

}  // namespace

void check_name(Visitor& visitor, Spec const& spec) {
  if (spec.name == "t") visitor.fault(spec.name, "the name 't' is taken (it is a variable)");
}

void declare_name(Visitor& visitor, Spec const& spec, std::vector<Known> const& known,
                  std::string& name) {
  std::vector<Choice> choices;
  for (Known const& array : known) choices.push_back({array.name});
  if (choices.empty()) choices.push_back({.name = "NAME", .any_name = true});
  visitor.choice(spec, choices, name);
  auto const found = std::ranges::find(known, name, &Known::name);
  if (found != known.end() && !found->result.empty())
    visitor.fault(spec.name, fmt::format("'{}' is {} (an array is needed)", name, found->result));
}

void Parameters::fields(Visitor& visitor, RunOptions const& run) {
  auto const folder = run.file.parent_path();
  visitor.named<FieldSource>(
      {.name = "input", .documentation = "The data: files and formulas, all of the same shape."},
      config::Presence::required, inputs, [&](Spec const& spec, FieldSource& source) {
        check_name(visitor, spec);
        declare_input(visitor, spec, folder, source);
      });
  declare_grid(visitor, grid);
  bool const from_files =
      std::ranges::any_of(inputs, [](auto const& input) { return !input.second.file.empty(); });
  if (grid.points.empty() && !inputs.empty() && !from_files)
    visitor.fault("grid", "points are missing (no input is a file, which would tell their number)");

  convolution::FilterSetting const setting{grid.points, run.precision, folder};
  std::size_t place = 0;
  visitor.items<StepOptions>(
      {.name = "steps", .documentation = "What is done to the data, one after the other."}, steps,
      [&](Spec const& spec, StepOptions& step) {
        declare_step(visitor, spec, setting, known_before(*this, place++), step);
      });
  auto const known = known_before(*this, steps.size());
  if (auto const most = static_cast<std::size_t>(evaluate::Arrays::most); known.size() > most)
    visitor.fault("steps", fmt::format("{} names are more than the {} that there may be",
                                       known.size(), most));
  visitor.items<ReduceOptions>(
      {.name = "reduce", .documentation = "Numbers that are found in the arrays."}, reductions,
      [&](Spec const& spec, ReduceOptions& reduction) {
        declare_reduction(visitor, spec, known, reduction);
      });
  check_repeats(visitor, reductions);
  check_histograms(visitor, *this);
  config::declare_limits(visitor, limits);
}

std::vector<config::FieldInfo> Parameters::fields_of(RunOptions const&) const {
  std::vector<config::FieldInfo> fields;
  for (Known const& array : known_before(*this, steps.size())) {
    config::FieldInfo info;
    info.name = array.name;
    info.own_grid = array.fewer != Known().fewer || !array.result.empty();
    fields.push_back(info);
  }
  return fields;
}

std::vector<Known> known_before(Parameters const& parameters, std::size_t step) {
  std::vector<Known> known;
  auto const fewer_of = [&](std::string_view name) {
    auto const found = std::ranges::find(known, name, &Known::name);
    return found == known.end() ? Known{}.fewer : found->fewer;
  };
  for (auto const& input : parameters.inputs) known.push_back({input.first, {}, ""});
  for (std::size_t s = 0; s < std::min(step, parameters.steps.size()); ++s) {
    for (auto const& [name, formula] : parameters.steps[s].formulas)
      known.push_back(known_by(name, formula, known));
    for (auto const& [name, difference] : parameters.steps[s].differences) {
      auto fewer = fewer_of(difference.of);
      fewer[axis_of(difference.axis)] += difference.order;
      known.push_back({name, fewer, ""});
    }
    for (auto const& [name, scan] : parameters.steps[s].scans)
      known.push_back({name, fewer_of(scan.of), ""});
    for (auto const& [name, selection] : parameters.steps[s].selections)
      known.push_back({name, {}, is_table});
    for (auto const& [name, sort] : parameters.steps[s].sorts)
      known.push_back({name, {}, is_ending});
    for (auto const& [name, spectrum] : parameters.steps[s].spectra)
      known.push_back({name, {}, is_ending});
  }
  return known;
}

}  // namespace gridstride::transform
