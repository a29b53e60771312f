#include "simulations/convolution_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "config/file_source.hpp"
#include "model/values.hpp"

namespace gridstride::convolution {

using config::Form;
using config::RunOptions;
using config::Visitor;

void Parameters::fields(Visitor& visitor, RunOptions const& run) {
  declare_signal(visitor, run);
  FilterSetting const setting{run.grid_options.points, run.precision, run.file.parent_path()};
  declare_modes(visitor, setting, modes, value);
  declare_filters(
      visitor,
      {.name = "filters",
       .documentation = "What is done to the signal, one after the other; one at least."},
      setting, filters);
}

void Parameters::declare_signal(Visitor& visitor, RunOptions const& run) {
  auto const formula = [&](Visitor& v) {
    v.visit({.name = "signal", .documentation = "A formula of space.", .variables = "xyz"},
            signal.formula);
  };
  auto const dataset = [&](Visitor& v) {
    config::declare_field(v, run.file.parent_path(), {.name = "signal"}, signal);
  };
  Form const forms[] = {{.kind = Form::Kind::scalar, .body = formula},
                        {.kind = Form::Kind::mapping, .body = dataset}};
  int chosen = !signal.file.empty() ? 1 : !signal.formula.text.empty() ? 0 : -1;
  visitor.forms({.name = "signal", .documentation = "What is filtered."},
                config::Presence::required, forms, chosen);
  visitor.locate("signal", signal.location);
}

namespace {

/// Whether a variant is for one type alone, and not for that of the run.
bool is_for_other_type(std::string_view name, Precision precision) {
  auto const runs_in = [&](auto const& rows) {
    return std::ranges::any_of(rows, [&](auto const& row) { return row.name == name && row.run; });
  };
  bool const in_float32 = runs_in(convolve::variants<float>());
  bool const in_float64 = runs_in(convolve::variants<double>());
  return precision == Precision::float32 ? in_float64 && !in_float32 : in_float32 && !in_float64;
}

}  // namespace

std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs) {
  std::vector<Problem> found;
  /// Notes at the source what `find` says, or what its file has wrong.
  auto const examine = [&](config::FieldSource const& source, auto const& find) {
    try {
      std::string const problem = find();
      if (!problem.empty()) found.push_back(run.problem(source.location, problem));
    } catch (ConfigError const& error) {
      found.insert(found.end(), error.problems().begin(), error.problems().end());
    }
  };
  auto const& parameters = parameters_of(run);
  if (auto const& variant = run.kernels.at("convolve"); is_for_other_type(variant, run.precision))
    found.push_back(run.problem(run.location("kernels.convolve"),
                                fmt::format("'{}' does not filter in {}, as this run does", variant,
                                            name_of(run.precision))));
  examine(parameters.signal, [&] { return shape_fault(run, parameters.signal, inputs); });
  auto const points = std::span(run.grid.points).first(static_cast<std::size_t>(run.grid.dims));
  for (auto const& filter : parameters.filters)
    if (filter.kind == FilterOptions::taps_from)
      examine(filter.source, [&] { return fault_of(filter, points, inputs); });
  return found;
}

}  // namespace gridstride::convolution
