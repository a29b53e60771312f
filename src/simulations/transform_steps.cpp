// What configs say of steps and of reductions.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "config/faults.hpp"
#include "core/text.hpp"
#include "kernels/evaluate/points.hpp"
#include "kernels/histogram/histogram.hpp"
#include "simulations/transform_parameters.hpp"

namespace gridstride::transform {

namespace {

using config::Choice;
using config::Form;
using config::Spec;
using config::Visitor;

constexpr std::size_t most_arrays = evaluate::Arrays::most;
constexpr auto space = std::span(expression::space_and_time).first(3);

/// x, y and z, then the arrays that are known.
std::vector<expression::Variable> variables_of(std::vector<Known> const& known) {
  std::vector<expression::Variable> all(space.begin(), space.end());
  for (std::size_t k = 0; k < known.size() && k < most_arrays; ++k)
    all.push_back({known[k].name, expression::first_array + static_cast<int>(k)});
  return all;
}

/// `3 points fewer along x`
std::string shape_text(Known const& array) {
  std::string text;
  for (std::size_t a = 0; a < axis_names.size(); ++a)
    if (array.fewer[a] > 0)
      text += fmt::format("{}{} fewer along {}", text.empty() ? "" : ", ", array.fewer[a],
                          axis_names[a]);
  return text.empty() ? "as many points as the data" : text;
}

/// What keeps arrays from being taken together; empty if nothing.
std::string shape_problem(Known const& a, Known const& b) {
  for (Known const* known : {&a, &b})
    if (!known->result.empty())
      return fmt::format("'{}' is {} (an array is needed)", known->name, known->result);
  if (a.fewer == b.fewer) return {};
  return fmt::format("takes arrays of different shapes together ('{}' has {}, '{}' has {})", a.name,
                     shape_text(a), b.name, shape_text(b));
}

/// The first array that a formula depends on; null where there is none.
Known const* first_array(config::Formula const& formula, std::vector<Known> const& known) {
  for (std::size_t k = 0; k < known.size() && k < most_arrays; ++k)
    if (formula.expression.depends_on(expression::first_array + static_cast<int>(k)))
      return &known[k];
  return nullptr;
}

void check_shapes(Visitor& v, std::string_view key, config::Formula const& formula,
                  std::vector<Known> const& known) {
  Known const* const first = first_array(formula, known);
  for (std::size_t k = 0; k < known.size() && k < most_arrays; ++k) {
    if (!formula.expression.depends_on(expression::first_array + static_cast<int>(k))) continue;
    if (auto const problem = shape_problem(*first, known[k]); !problem.empty())
      return v.fault(key, problem);
  }
}

void declare_formulas(Visitor& visitor, std::vector<Known> known, StepOptions& step) {
  auto variables = variables_of(known);
  visitor.variables(variables);
  visitor.named<config::Formula>(
      {.name = "formula",
       .documentation = "New arrays, each by a formula of those before it, of x, y and z."},
      config::Presence::required, step.formulas, [&](Spec const& spec, config::Formula& formula) {
        check_name(visitor, spec);
        variables = variables_of(known);
        visitor.variables(variables);
        visitor.visit({.name = spec.name,
                       .documentation = "At each point, in float64.",
                       .variables = config::all_variables},
                      formula);
        check_shapes(visitor, spec.name, formula, known);
        known.push_back(known_by(std::string(spec.name), formula, known));
      });
  visitor.variables(space);
}

void declare_filters(Visitor& visitor, convolution::FilterSetting const& setting,
                     std::vector<Known> const& known, StepOptions& step) {
  std::vector<std::string_view> names;
  for (Known const& array : known) names.push_back(array.name);
  visitor.named<std::vector<convolution::FilterOptions>>(
      {.name = "filter", .documentation = "Arrays that are replaced by what filters make of them."},
      config::Presence::required, step.filters, [&](Spec const& spec, auto& filters) {
        auto const found = std::ranges::find(known, spec.name, &Known::name);
        if (found != known.end() && !found->result.empty())
          visitor.fault(spec.name,
                        fmt::format("'{}' is {} (an array is needed)", found->name, found->result));
        if (!known.empty() && found == known.end())
          visitor.fault(spec.name,
                        fmt::format("there is no array {} ({} expected){}", config::show(spec.name),
                                    format_choices(names), config::suggestion(spec.name, names)));
        convolution::declare_filters(
            visitor,
            {.name = spec.name,
             .documentation = "What is done to it, one after the other, as in `convolution`."},
            setting, filters);
      });
  convolution::declare_modes(visitor, setting, step.modes, step.value);
}

/// Names of arrays that are new, each with a mapping of keys that `body` declares.
template <class Options, class Body>
void declare_new(Visitor& visitor, Spec const& spec, std::vector<Known> const& known,
                 Named<Options>& entries, Body const& body) {
  auto const variables = variables_of(known);
  visitor.variables(variables);
  visitor.named<Options>(
      spec, config::Presence::required, entries, [&](Spec const& item, Options& options) {
        check_name(visitor, item);
        visitor.section({.name = item.name}, [&](Visitor& v) {
          declare_name(v, {.name = "of", .documentation = "The array."}, known, options.of);
          body(v, options);
        });
      });
  visitor.variables(space);
}

void declare_axis(Visitor& v, convolution::FilterSetting const& setting, std::string& axis) {
  std::size_t const count = setting.points.empty() ? axis_names.size() : setting.points.size();
  std::vector<Choice> choices;
  for (std::size_t a = 0; a < count; ++a) choices.push_back({axis_names[a]});
  bool const one = setting.points.size() <= 1;
  std::string text = axis.empty() && one ? "x" : axis;
  v.choice({.name = "axis",
            .documentation = "Along which axis; to be given where there is more than one."},
           choices, text);
  if (!axis.empty() || !one || v.given("axis")) axis = text;
}

void declare_differences(Visitor& visitor, convolution::FilterSetting const& setting,
                         std::vector<Known> const& known, StepOptions& step) {
  constexpr double most_order = 8;
  declare_new(visitor,
              {.name = "difference",
               .documentation = "New arrays: differences of neighbours along an axis, which has as "
                                "many points fewer as the order."},
              known, step.differences, [&](Visitor& v, DifferenceOptions& options) {
                declare_axis(v, setting, options.axis);
                v.visit({.name = "order",
                         .documentation = "How many times differences are taken.",
                         .minimum = 1,
                         .maximum = most_order},
                        options.order);
              });
}

void declare_scans(Visitor& visitor, std::vector<Known> const& known, StepOptions& step) {
  constexpr Choice operations[] = {
      {"sum", "of all values up to each."},
      {"maximum", "the greatest of all values up to each."},
      {"integral", "from the first point to each, by the trapezoidal rule; along one axis."}};
  declare_new(visitor,
              {.name = "scan",
               .documentation = "New arrays: what all values up to each one give, in the order of "
                                "memory (x runs fastest)."},
              known, step.scans, [&](Visitor& v, ScanOptions& options) {
                v.choice({.name = "operation", .documentation = "What they give."}, operations,
                         options.operation);
              });
}

void declare_selections(Visitor& visitor, std::vector<Known> const& known, StepOptions& step) {
  declare_new(visitor,
              {.name = "select",
               .documentation = "New tables: the values of an array at the points where a formula "
                                "is not 0, their places in the order of memory and in space."},
              known, step.selections, [&](Visitor& v, SelectOptions& options) {
                v.visit({.name = "where",
                         .documentation = "A formula of arrays and of x, y and z, as `d > 3`.",
                         .variables = config::all_variables},
                        options.where);
                check_shapes(v, "where", options.where, known);
                auto const of = std::ranges::find(known, options.of, &Known::name);
                auto const* array = first_array(options.where, known);
                if (of == known.end() || array == nullptr) return;
                if (auto const problem = shape_problem(*of, *array); !problem.empty())
                  v.fault("where", problem);
              });
}

void declare_sorts(Visitor& visitor, std::vector<Known> const& known, StepOptions& step) {
  declare_new(
      visitor,
      {.name = "sort",
       .documentation = "New fields: all values of an array from the least to the greatest; "
                        "of two or three axes, as one list."},
      known, step.sorts, [](Visitor&, SortOptions&) {});
}

// In the order of their numbers.
constexpr Choice windows[] = {{"boxcar", "1 everywhere."},
                              {"hann", "1/2 − cos(2πj/N)/2 for sample j of N."},
                              {"hamming", "0.54 − 0.46·cos(2πj/N)."},
                              {"blackman", "0.42 − 0.5·cos(2πj/N) + 0.08·cos(4πj/N)."}};
constexpr Choice detrends[] = {
    {"none", "Nothing."}, {"constant", "Its mean."}, {"linear", "Its line of least squares."}};

void declare_spectra(Visitor& visitor, std::vector<Known> const& known, StepOptions& step) {
  declare_new(
      visitor,
      {.name = "spectrum",
       .documentation = "New fields: the power spectral density over the frequency, by Welch's "
                        "method, of data along one axis."},
      known, step.spectra, [&](Visitor& v, SpectrumOptions& options) {
        v.visit({.name = "segment",
                 .documentation = "Samples of a segment, one of which is transformed at a time.",
                 .minimum = 2,
                 .maximum = static_cast<double>(spectrum::max_segment)},
                options.segment);
        v.visit({.name = "overlap",
                 .documentation = "The part of a segment that the next one has too, below 1; in "
                                  "whole samples, rounded down.",
                 .minimum = 0},
                options.overlap);
        if (!(options.overlap < 1))
          v.fault("overlap", "must be below 1 (a segment begins after the one before it)");
        v.choice({.name = "window", .documentation = "What a segment is multiplied by."}, windows,
                 options.window);
        v.choice({.name = "detrend", .documentation = "What is taken away from a segment before."},
                 detrends, options.detrend);
      });
}

}  // namespace

spectrum::Options SpectrumOptions::of_samples(double spacing) const {
  // A fraction such as 0.29 means 29 of 100 samples, though its product comes out just below.
  constexpr double slack = 1 + 4 * std::numeric_limits<double>::epsilon();
  auto const samples = std::floor(overlap * static_cast<double>(segment) * slack);
  auto const number = [](auto const& choices, std::string_view name) {
    return std::ranges::find(choices, name, &Choice::name) - std::begin(choices);
  };
  return {segment, std::min(static_cast<std::int64_t>(samples), segment - 1),
          static_cast<spectrum::Window>(number(windows, window)),
          static_cast<spectrum::Detrend>(number(detrends, detrend)), 1 / spacing};
}

std::size_t axis_of(std::string_view name) {
  return name.empty()
             ? 0
             : static_cast<std::size_t>(std::ranges::find(axis_names, name) - axis_names.begin());
}

Known known_by(std::string name, config::Formula const& formula, std::vector<Known> const& known) {
  Known made;
  made.name = std::move(name);
  if (auto const* array = first_array(formula, known)) made.fewer = array->fewer;
  return made;
}

void declare_step(Visitor& visitor, Spec const& spec, convolution::FilterSetting const& setting,
                  std::vector<Known> known, StepOptions& step) {
  Form const forms[] = {
      {.kind = Form::Kind::mapping, .body = [&](Visitor& v) { declare_formulas(v, known, step); }},
      {.kind = Form::Kind::mapping,
       .body = [&](Visitor& v) { declare_filters(v, setting, known, step); }},
      {.kind = Form::Kind::mapping,
       .body = [&](Visitor& v) { declare_differences(v, setting, known, step); }},
      {.kind = Form::Kind::mapping, .body = [&](Visitor& v) { declare_scans(v, known, step); }},
      {.kind = Form::Kind::mapping,
       .body = [&](Visitor& v) { declare_selections(v, known, step); }},
      {.kind = Form::Kind::mapping, .body = [&](Visitor& v) { declare_sorts(v, known, step); }},
      {.kind = Form::Kind::mapping, .body = [&](Visitor& v) { declare_spectra(v, known, step); }},
  };
  visitor.forms(spec, config::Presence::required, forms, step.kind);
}

// ------------------------------------------------------------------------------------- reductions

namespace {

void declare_of(Visitor& v, std::vector<Known> const& known, ReduceOptions& reduction) {
  declare_name(v, {.name = "of", .documentation = "The array."}, known, reduction.of);
}

void declare_dot(Visitor& v, std::vector<Known> const& known, ReduceOptions& reduction) {
  v.items<std::string>({.name = "dot",
                        .documentation = "Sum of the products of two arrays, or of squares where "
                                         "both are one.",
                        .length = 2},
                       reduction.factors, [&](Spec const& item, std::string& name) {
                         declare_name(v, item, known, name);
                       });
}

void check_dot(Visitor& v, std::string_view key, std::vector<Known> const& known,
               ReduceOptions const& reduction) {
  auto const& factors = reduction.factors;
  if (factors.size() != 2) return;
  auto const a = std::ranges::find(known, factors[0], &Known::name);
  auto const b = std::ranges::find(known, factors[1], &Known::name);
  auto const is_array = [&](auto found) { return found != known.end() && found->result.empty(); };
  if (!is_array(a) || !is_array(b)) return;
  if (auto const problem = shape_problem(*a, *b); !problem.empty()) v.fault(key, problem);
}

void declare_integral(Visitor& v, std::vector<Known> const& known, ReduceOptions& reduction) {
  constexpr Choice rules[] = {{"trapezoid", "straight lines between the points"},
                              {"simpson", "parabolas through three points each"}};
  v.section({.name = "integral", .documentation = "Over the whole grid."}, [&](Visitor& inner) {
    declare_of(inner, known, reduction);
    inner.choice({.name = "rule", .documentation = "What it is between the points."}, rules,
                 reduction.rule);
  });
}

void declare_histogram(Visitor& v, std::vector<Known> const& known, ReduceOptions& reduction) {
  v.section({.name = "histogram", .documentation = "How many values are in each of even bins."},
            [&](Visitor& inner) {
              declare_of(inner, known, reduction);
              inner.visit({.name = "bins",
                           .documentation = "The number of bins.",
                           .minimum = 1,
                           .maximum = static_cast<double>(histogram::max_bins)},
                          reduction.bins);
              bool const read = inner.list(
                  {.name = "range",
                   .documentation = "Lower end of the first bin and upper end of the last; values "
                                    "outside are not counted. When left out, the least and the "
                                    "greatest value, which takes another pass over the data."},
                  {2, 2, std::nullopt, config::Presence::optional}, reduction.range);
              if (read && !(reduction.range[0] < reduction.range[1]))
                inner.fault("range", "the upper end must be larger than the lower one");
            });
}

void declare_quantiles(Visitor& v, std::vector<Known> const& known, ReduceOptions& reduction) {
  constexpr std::size_t most = 100;
  v.section({.name = "quantiles", .documentation = "Values that fractions of an array are below."},
            [&](Visitor& inner) {
              declare_of(inner, known, reduction);
              bool const read = inner.list({.name = "at",
                                            .documentation = "The fractions: 0.5 for the median.",
                                            .minimum = 0,
                                            .maximum = 1},
                                           {1, most}, reduction.at);
              for (std::size_t i = 0; read && i < reduction.at.size(); ++i)
                if (std::ranges::count(std::span(reduction.at).first(i), reduction.at[i]) > 0)
                  inner.fault("at", fmt::format("{} is given twice", reduction.at[i]));
            });
}

}  // namespace

void declare_reduction(Visitor& visitor, Spec const& spec, std::vector<Known> const& known,
                       ReduceOptions& reduction) {
  auto const of_one = [&](std::string_view name, std::string_view documentation) {
    return Form{
        .kind = Form::Kind::mapping, .body = [&known, &reduction, name, documentation](Visitor& v) {
          declare_name(v, {.name = name, .documentation = documentation}, known, reduction.of);
        }};
  };
  Form const forms[] = {
      of_one("moments", "Least and greatest value, sum, mean and variance of an array."),
      of_one("norms", "Sums of magnitudes and of squares (its root), greatest magnitude."),
      of_one("where_max", "The greatest value, and the first point that has it."),
      of_one("where_min", "The least value, and the first point that has it."),
      {.kind = Form::Kind::mapping, .body = [&](Visitor& v) { declare_dot(v, known, reduction); }},
      {.kind = Form::Kind::mapping,
       .body = [&](Visitor& v) { declare_integral(v, known, reduction); }},
      {.kind = Form::Kind::mapping,
       .body = [&](Visitor& v) { declare_histogram(v, known, reduction); }},
      {.kind = Form::Kind::mapping,
       .body = [&](Visitor& v) { declare_quantiles(v, known, reduction); }},
  };
  visitor.forms(spec, config::Presence::required, forms, reduction.kind);
  if (reduction.kind == ReduceOptions::dot) check_dot(visitor, spec.name, known, reduction);
}

}  // namespace gridstride::transform
