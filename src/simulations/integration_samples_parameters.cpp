// What a config says of samples from files.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "config/file_source.hpp"
#include "core/nearly_equal.hpp"
#include "core/text.hpp"
#include "kernels/integrand/integrand.hpp"
#include "model/values.hpp"
#include "simulations/integration_parameters.hpp"

namespace gridstride::integration {

namespace {

using config::Form;
using config::Visitor;
using quadrature::max_dimensions;

constexpr std::size_t most_axes = 3;

void declare_positions(Visitor& visitor, std::filesystem::path const& folder, Range& range) {
  visitor.section({.name = "positions",
                   .documentation = "Where the samples of one axis lie: a file with as many "
                                    "numbers, each greater than the one before."},
                  [&](Visitor& v) {
                    config::declare_dataset(v, folder, "as many numbers as samples",
                                            range.positions);
                  });
  visitor.locate("positions", range.positions.location);
}

void declare_spacing(Visitor& visitor, Range& range) {
  visitor.visit({.name = "spacing",
                 .documentation = "Distance of the samples from each other.",
                 .minimum = 0,
                 .exclusive_minimum = true},
                range.spacing);
  visitor.visit({.name = "lower", .documentation = "Where the first of them lies."}, range.lower);
}

void declare_range(Visitor& visitor, config::Spec const& spec, std::filesystem::path const& folder,
                   Range& range) {
  auto const ends = [&](Visitor& v) {
    v.list({.name = spec.name,
            .documentation = "A range, from its first to its last place, where samples from a "
                             "file lie too; `inf` and `-inf` are ends of formulas."},
           {.minimum = 2, .maximum = 2, .infinite = true}, range.ends);
  };
  Form const forms[] = {
      {.kind = Form::Kind::list, .body = ends},
      {.kind = Form::Kind::mapping, .body = [&](Visitor& v) { declare_spacing(v, range); }},
      {.kind = Form::Kind::mapping,
       .body = [&](Visitor& v) { declare_positions(v, folder, range); }}};
  int chosen = range.has_positions() ? 2 : range.has_spacing() ? 1 : range.ends.empty() ? -1 : 0;
  visitor.forms(spec, config::Presence::required, forms, chosen);
}

}  // namespace

void Parameters::declare_ranges(Visitor& visitor, std::filesystem::path const& folder) {
  visitor.named<Range>(
      {.name = "variables",
       .documentation = "What is integrated over: names of your own, each with its range, from the "
                        "lower to the upper end; `inf` and `-inf` are ends too. For samples from "
                        "a file, their axes, beginning with the fastest, which is the last one of "
                        "a dataset."},
      config::Presence::required, variables,
      [&](config::Spec const& spec, Range& range) { declare_range(visitor, spec, folder, range); });
  if (variables.size() > max_dimensions)
    visitor.fault("variables", fmt::format("{} variables are more than the {} that there may be",
                                           variables.size(), max_dimensions));
}

void Parameters::declare_axis(Visitor& visitor) {
  std::vector<config::Choice> choices = {{all_axes, "along all of them, to one number"}};
  for (auto const& [name, range] : variables) choices.push_back({name});
  if (variables.empty())
    choices.push_back({.name = "NAME", .documentation = "one variable", .any_name = true});
  visitor.choice({.name = "axis",
                  .documentation = "Of samples from a file: what they are integrated along. Along "
                                   "one axis the result is a field of the others."},
                 choices, axis);
  if (!has_samples() && axis != all_axes)
    visitor.fault("axis",
                  "is for samples from a file (formulas are integrated over all variables)");
}

void Parameters::check_samples(Visitor& visitor) const {
  Parameters const left_out;
  struct Key {
    std::string_view name;
    bool given;
    std::string_view why;
  };
  for (auto const& [name, given, why] :
       {Key{"sweep", !sweep.empty(), "samples have no parameters"},
        {"running", curve_points > 0,
         "the scan 'integral' of transform gives running integrals of samples"},
        {"points", points.has_value(), "a file tells how many samples there are"},
        {"points_per_panel", points_per_panel != left_out.points_per_panel,
         "a file tells where the samples are"},
        {"seed", seed != left_out.seed, "a file tells where the samples are"},
        {"antithetic", antithetic, "a file tells where the samples are"},
        {"tolerance", tolerance.relative || tolerance.absolute,
         "there are no more samples to take; romberg tells its error"}})
    if (given) visitor.fault(name, fmt::format("is for formulas ({})", why));
  if (variables.size() > most_axes)
    return visitor.fault("variables", fmt::format("are {} axes of samples, which have 1 to {}",
                                                  variables.size(), most_axes));
  std::string_view last;
  for (std::size_t a = 0; a < variables.size(); ++a) {
    auto const& [name, range] = variables[a];
    std::string const key = "variables." + name;
    if (range.has_positions() && variables.size() > 1)
      visitor.fault(key, fmt::format("has positions, which samples of one axis may have (here are "
                                     "{} axes; give a range, or a spacing)",
                                     variables.size()));
    if (range.has_positions() && rule == "romberg")
      visitor.fault("rule",
                    "'romberg' takes samples at equal distances (trapezoid and simpson "
                    "take positions)");
    if (!integrates(a) && !range.ends.empty() && range.ends[0] > range.ends[1])
      visitor.fault(key, "falls, but the result lies along it (give the lower end first)");
    if (name != "x" && name != "y" && name != "z") continue;
    if (name < last)
      visitor.fault(key, fmt::format("stands behind '{}' (the first variable is the fastest axis, "
                                     "which is the last one of a dataset)",
                                     last));
    last = name;
  }
}

std::vector<config::FieldInfo> all_fields() {
  return {{"value", "1", "the integral, for each value of what is swept or left"},
          {"error", "1", "its estimated absolute error"}};
}

std::vector<config::FieldInfo> Parameters::fields_of(config::RunOptions const&) const {
  auto fields = all_fields();
  if (has_samples() && rule != "romberg") fields.pop_back();
  return fields;
}

// ------------------------------------------------------------------------------------- the files

namespace {

/// What romberg could do with instead of so many samples.
std::string fitting_numbers(std::int64_t samples) {
  auto const below = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(samples - 1, 2))));
  return samples < 3 ? "3 or 5" : fmt::format("{} or {}", below + 1, 2 * below + 1);
}

/// What is wrong with the number of samples along an axis; empty if nothing.
std::string count_fault(Parameters const& parameters, std::size_t axis, std::int64_t samples) {
  auto const& [name, range] = parameters.variables[axis];
  if (!parameters.integrates(axis))
    return samples > 1 || range.ends.empty()
               ? ""
               : fmt::format(
                     "has 1 sample along {}, which does not reach from {} to {} (give "
                     "{{lower: ..., spacing: ...}})",
                     name, range.ends[0], range.ends[1]);
  if (samples < 2) return fmt::format("has 1 sample along {} (an integral needs 2 at least)", name);
  bool const whole_powers =
      samples > 2 && std::has_single_bit(static_cast<std::uint64_t>(samples - 1));
  if (parameters.rule != "romberg" || whole_powers) return "";
  return fmt::format(
      "has {} samples along {}, but romberg takes 2^k + 1 (as {}; simpson takes any number)",
      samples, name, fitting_numbers(samples));
}

std::string shape_fault_of(Parameters const& parameters, std::vector<std::int64_t> const& shape) {
  auto const what = describe(parameters.integrand);
  if (std::ranges::find(shape, 0) != shape.end())
    return fmt::format("{} is {}, without a sample", what, format_shape(shape));
  if (shape.size() != parameters.variables.size())
    return fmt::format(
        "{} is {}, but 'variables' tells of {} ax{}s (the slowest axis is first "
        "here, the fastest there)",
        what, format_shape(shape), parameters.variables.size(),
        parameters.variables.size() == 1 ? "i" : "e");
  for (std::size_t a = 0; a < shape.size(); ++a)
    if (auto const fault = count_fault(parameters, a, shape[shape.size() - 1 - a]); !fault.empty())
      return fmt::format("{} {}", what, fault);
  return {};
}

}  // namespace

namespace {

/// What is wrong with a range where the points of another run's result lie so; empty if nothing.
std::string place_fault_of(Range const& range, AxisPlaces const& told, std::int64_t samples,
                           std::string const& what) {
  if (range.has_positions()) return {};
  double const upper = told.lower + static_cast<double>(samples - 1) * told.spacing;
  auto const where = fmt::format("{} has its points from {} to {} along this axis", what,
                                 format_exact(told.lower), format_exact(upper));
  if (!range.ends.empty()) {
    auto const [first, last] = std::minmax(range.ends[0], range.ends[1]);
    double const spacing = (last - first) / static_cast<double>(samples - 1);
    if (nearly_equal(first, told.lower) && nearly_equal(spacing, told.spacing)) return {};
    return fmt::format("goes from {} to {}, but {} (give [{}, {}])", format_exact(range.ends[0]),
                       format_exact(range.ends[1]), where, format_exact(told.lower),
                       format_exact(upper));
  }
  if (nearly_equal(range.lower, told.lower) && nearly_equal(range.spacing, told.spacing)) return {};
  return fmt::format("has the spacing {} from {} on, but {} (give {{lower: {}, spacing: {}}})",
                     format_exact(range.spacing), format_exact(range.lower), where,
                     format_exact(told.lower), format_exact(told.spacing));
}

}  // namespace

std::vector<gridstride::Problem> sample_problems(config::RunConfig const& run,
                                                 Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  std::vector<gridstride::Problem> found;
  try {
    auto const shape = inputs.shape(parameters.integrand);
    if (auto const fault = shape_fault_of(parameters, shape); !fault.empty())
      found.push_back(run.problem(parameters.integrand.location, fault));
    auto const places = inputs.places(parameters.integrand);
    for (std::size_t a = 0; a < places.size() && found.empty(); ++a)
      if (auto const& [name, range] = parameters.variables[a]; places[a])
        if (auto const fault = place_fault_of(range, *places[a], shape[shape.size() - 1 - a],
                                              describe(parameters.integrand));
            !fault.empty())
          found.push_back(run.problem(run.location("parameters.variables." + name), fault));
    auto const& positions = parameters.variables.front().second.positions;
    if (!found.empty() || positions.file.empty()) return found;
    if (auto const lengths = inputs.shape(positions); lengths != shape)
      found.push_back(
          run.problem(positions.location,
                      fmt::format("{} is {}, {} is {} (there is a position for each sample)",
                                  describe(positions), format_shape(lengths),
                                  describe(parameters.integrand), format_shape(shape))));
  } catch (ConfigError const& error) {
    found.insert(found.end(), error.problems().begin(), error.problems().end());
  }
  return found;
}

}  // namespace gridstride::integration
