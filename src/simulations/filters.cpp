#include "simulations/filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "config/file_source.hpp"
#include "core/text.hpp"
#include "model/reading.hpp"
#include "model/values.hpp"

namespace gridstride::convolution {

namespace {

using config::Choice;
using config::Form;
using config::Visitor;
using convolve::most_taps;

std::size_t axis_called(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(axis_names, name) - axis_names.begin());
}

std::vector<Choice> axis_choices(FilterSetting const& setting) {
  std::size_t const count = setting.points.size() == 0 ? axis_names.size() : setting.points.size();
  std::vector<Choice> choices;
  for (std::size_t a = 0; a < count; ++a) choices.push_back({axis_names[a]});
  return choices;
}

constexpr Choice mode_choices[] = {
    {"reflect", "d c b a | a b c d | d c b a."},
    {"mirror", "d c b | a b c d | c b a."},
    {"nearest", "a a a a | a b c d | d d d d."},
    {"wrap", "a b c d | a b c d | a b c d."},
    {"constant", "v v v v | a b c d | v v v v, with v the `value`."}};

// ------------------------------------------------------------------- the checks of single filters

/// What is wrong with so many taps along an axis of so many points; empty if nothing.
std::string length_problem(std::int64_t taps, std::string_view axis, std::int64_t points) {
  if (taps > most_taps)
    return fmt::format("{} taps are more than the {} that there may be", taps, most_taps);
  if (taps <= points) return "";
  return fmt::format("needs {} taps, which are more than the {} points along {}", taps, points,
                     axis);
}

/// The same for all axes that a filter goes along.
void check_length(Visitor& v, FilterSetting const& setting, FilterOptions const& filter,
                  std::string_view key, std::int64_t taps) {
  for (auto const& axis : filter.axes) {
    auto const a = axis_called(axis);
    if (a >= setting.points.size()) continue;
    auto const problem = length_problem(taps, axis, setting.points[a]);
    if (!problem.empty()) return v.fault(key, problem);
  }
}

/// What is wrong with the origin of a filter with so many taps; empty if nothing.
std::string origin_problem(FilterOptions const& filter, std::int64_t taps) {
  if (taps % 2 == 0 && !filter.has_origin)
    return fmt::format(
        "is missing ({} taps, an even number, have no middle; with 0 tap {} counted "
        "from 0 meets the point itself)",
        taps, taps / 2);
  if (filter.origin < -(taps / 2) || filter.origin > (taps - 1) / 2)
    return fmt::format("{} is outside of {} to {}, which {} taps have", filter.origin, -(taps / 2),
                       (taps - 1) / 2, taps);
  return "";
}

void declare_axes(Visitor& v, FilterSetting const& setting, FilterOptions& filter) {
  auto& axes = filter.axes;
  std::size_t const count = setting.points.size();
  constexpr std::string_view unknown = "";
  if (axes.empty()) axes = {count > 1 ? std::string(unknown) : "x"};
  v.subset({.name = "axis",
            .documentation = "The axes that are filtered, one after the other in this order; to be "
                             "given where the grid has more than one."},
           axis_choices(setting), axes);
  filter.has_axes = filter.has_axes || v.given("axis");
  if (axes.empty()) return v.fault("axis", "is empty (one axis at least)");
  if (axes.front() != unknown) return;
  axes.clear();
  if (!v.given("axis")) v.fault("axis", fmt::format("is missing (the grid has {} axes)", count));
}

void declare_origin(Visitor& v, std::string_view documentation, FilterOptions& filter) {
  v.visit({.name = "origin", .documentation = documentation}, filter.origin);
  filter.has_origin = filter.has_origin || v.given("origin");
}

constexpr std::string_view taps_origin =
    "Tap size/2 + origin (rounded down, counted from 0) meets the point itself, as in "
    "scipy.ndimage.convolve1d; to be given where the number of taps is even.";

constexpr std::string_view not_finite = "is not finite in float32";

bool is_finite(double tap, Precision precision) {
  return precision == Precision::float64 ? std::isfinite(tap)
                                         : std::isfinite(static_cast<float>(tap));
}

// ------------------------------------------------------------------------------ the kinds of them

void declare_taps(Visitor& v, FilterSetting const& setting, FilterOptions& filter) {
  declare_axes(v, setting, filter);
  bool const read = v.list({.name = "values", .documentation = "The taps themselves."},
                           {1, static_cast<std::size_t>(most_taps)}, filter.values);
  declare_origin(v, taps_origin, filter);
  if (!read) return;
  auto const count = std::ssize(filter.values);
  check_length(v, setting, filter, "values", count);
  if (auto const problem = origin_problem(filter, count); !problem.empty())
    v.fault("origin", problem);
  for (std::size_t k = 0; k < filter.values.size(); ++k)
    if (!is_finite(filter.values[k], setting.precision))
      v.fault(filter.values.size() == 1 ? "values" : fmt::format("values.{}", k),
              std::string(not_finite));
}

void declare_taps_from(Visitor& v, FilterSetting const& setting, FilterOptions& filter) {
  declare_axes(v, setting, filter);
  config::declare_dataset(v, setting.folder, "a list of taps", filter.source);
  v.locate("file", filter.source.location);
  declare_origin(v, taps_origin, filter);
}

void declare_gaussian(Visitor& v, FilterSetting const& setting, FilterOptions& filter) {
  declare_axes(v, setting, filter);
  v.visit({.name = "sigma",
           .documentation = "Standard deviation, in points of the grid.",
           .minimum = 0,
           .exclusive_minimum = true},
          filter.sigma);
  v.visit({.name = "order",
           .documentation = "0 smooths; 1, 2, ... give that derivative of what is smoothed, by the "
                            "coordinate.",
           .minimum = 0,
           .maximum = convolve::most_derivatives},
          filter.smoothed_order);
  v.visit({.name = "truncate",
           .documentation = "Where the filter ends, in standard deviations.",
           .minimum = 0,
           .exclusive_minimum = true},
          filter.truncate);
  if (std::isnan(filter.sigma)) return;
  double const reach = filter.sigma * filter.truncate;
  if (reach > static_cast<double>(most_taps / 2))
    return v.fault("sigma", fmt::format("reaches {:.6g} points to each side (at most {})", reach,
                                        most_taps / 2));
  check_length(v, setting, filter, "sigma",
               2 * convolve::gaussian_radius(filter.sigma, filter.truncate) + 1);
}

void declare_box(Visitor& v, FilterSetting const& setting, FilterOptions& filter) {
  declare_axes(v, setting, filter);
  v.visit({.name = "size",
           .documentation = "Points that the mean is of.",
           .minimum = 1,
           .maximum = static_cast<double>(most_taps)},
          filter.size);
  declare_origin(
      v,
      "Moves the points that are averaged, towards the axis' lower end when positive, as "
      "in scipy.ndimage.uniform_filter1d; to be given where size is even.",
      filter);
  if (filter.size == config::required_integer) return;
  check_length(v, setting, filter, "size", filter.size);
  if (auto const problem = origin_problem(filter, filter.size); !problem.empty())
    v.fault("origin", problem);
}

void declare_derivative(Visitor& v, FilterSetting const& setting, FilterOptions& filter) {
  declare_axes(v, setting, filter);
  v.visit({.name = "order",
           .documentation = "Of the derivative, by the coordinate.",
           .minimum = 1,
           .maximum = convolve::most_derivatives},
          filter.order);
  v.visit({.name = "accuracy",
           .documentation = "The power of the spacing that the error falls with; even.",
           .minimum = 2,
           .maximum = convolve::most_accuracy},
          filter.accuracy);
  if (filter.accuracy % 2 != 0)
    return v.fault("accuracy", fmt::format("{} is odd (central differences have even orders)",
                                           filter.accuracy));
  check_length(v, setting, filter, "accuracy", 2 * ((filter.order + 1) / 2) - 1 + filter.accuracy);
}

void declare_savitzky_golay(Visitor& v, FilterSetting const& setting, FilterOptions& filter) {
  declare_axes(v, setting, filter);
  v.visit({.name = "window",
           .documentation = "Points that a polynomial is fitted to; odd.",
           .minimum = 1,
           .maximum = static_cast<double>(most_taps)},
          filter.window);
  v.visit({.name = "degree",
           .documentation = "Of the polynomial; below the window.",
           .minimum = 0,
           .maximum = convolve::most_degree},
          filter.degree);
  v.visit(
      {.name = "derivative",
       .documentation = "0 gives the fitted value, 1, 2, ... that derivative of the polynomial, "
                        "by the coordinate.",
       .minimum = 0},
      filter.fitted_order);
  if (filter.window == config::required_integer || filter.degree == config::required_integer)
    return;
  if (filter.window % 2 == 0)
    v.fault("window",
            fmt::format("{} is even (a window has a point in its middle)", filter.window));
  if (filter.degree >= filter.window)
    v.fault("degree",
            fmt::format("{} is not below the window of {} points", filter.degree, filter.window));
  if (filter.fitted_order > filter.degree)
    v.fault("derivative", fmt::format("{} is more than the degree, {}: it would be zero",
                                      filter.fitted_order, filter.degree));
  check_length(v, setting, filter, "window", filter.window);
}

struct KindRow {
  std::string_view name;
  std::string_view documentation;
  void (*declare)(Visitor&, FilterSetting const&, FilterOptions&);
};

/// In the order of `FilterOptions::Kind`.
constexpr KindRow kinds[] = {
    {"taps", "A filter whose taps are given here.", declare_taps},
    {"taps_from", "A filter whose taps are in a file.", declare_taps_from},
    {"gaussian", "A Gaussian, or a derivative of one.", declare_gaussian},
    {"box", "The mean of neighbouring points.", declare_box},
    {"derivative", "A central difference.", declare_derivative},
    {"savitzky_golay", "The polynomial that fits neighbouring points best, in their middle.",
     declare_savitzky_golay},
};

void declare_filter(Visitor& visitor, config::Spec const& spec, FilterSetting const& setting,
                    FilterOptions& filter) {
  std::vector<Form> forms;
  for (KindRow const& kind : kinds)
    forms.push_back(
        {.kind = Form::Kind::mapping, .body = [&setting, &filter, &kind](Visitor& outer) {
           outer.section({.name = kind.name, .documentation = kind.documentation},
                         [&](Visitor& v) { kind.declare(v, setting, filter); });
         }});
  visitor.forms(spec, config::Presence::required, forms, filter.kind);
}

}  // namespace

/// One word for all axes, or one for each.
void declare_modes(Visitor& visitor, FilterSetting const& setting,
                   std::array<convolve::Boundary, 3>& modes, double& value) {
  constexpr int separate = static_cast<int>(std::size(mode_choices));
  std::vector<Form> forms;
  for (Choice const& mode : mode_choices)
    forms.push_back({.word = mode.name, .documentation = mode.documentation});
  std::array<std::string, 3> each;
  for (std::size_t a = 0; a < 3; ++a) each[a] = mode_choices[static_cast<int>(modes[a])].name;
  forms.push_back({.kind = Form::Kind::mapping, .body = [&](Visitor& v) {
                     auto const axes = axis_choices(setting);
                     for (std::size_t a = 0; a < axes.size(); ++a)
                       v.choice({.name = axes[a].name, .documentation = "Along this axis."},
                                mode_choices, each[a]);
                     for (std::size_t a = axes.size(); a < axis_names.size(); ++a)
                       v.refuse(axis_names[a],
                                fmt::format("the grid has no axis {}", axis_names[a]));
                   }});
  forms.push_back({.kind = Form::Kind::refused,
                   .word = "periodic",
                   .documentation = "scipy.ndimage calls it 'wrap'"});
  bool const same = each[0] == each[1] && each[0] == each[2];
  int chosen = same ? static_cast<int>(modes[0]) : separate;
  visitor.forms({.name = "mode",
                 .documentation = "How the signal a b c d goes on beyond its ends, by the names of "
                                  "scipy.ndimage."},
                config::Presence::optional, forms, chosen);
  for (std::size_t a = 0; a < 3; ++a) {
    auto const found = std::ranges::find(mode_choices, each[a], &Choice::name);
    modes[a] = static_cast<convolve::Boundary>(chosen == separate ? found - mode_choices : chosen);
  }
  visitor.visit({.name = "value", .documentation = "What is beyond the ends under `constant`."},
                value);
  if (!is_finite(value, setting.precision)) visitor.fault("value", std::string(not_finite));
  if (value != 0 && std::ranges::count(modes, convolve::Boundary::constant) == 0)
    visitor.fault("value", "is for the mode 'constant' (`mode: constant` has the signal go on so)");
}

void declare_filters(Visitor& visitor, config::Spec const& spec, FilterSetting const& setting,
                     std::vector<FilterOptions>& filters) {
  visitor.items<FilterOptions>(spec, filters, [&](config::Spec const& item, FilterOptions& filter) {
    declare_filter(visitor, item, setting, filter);
  });
  if (!visitor.given(spec.name))
    visitor.fault(spec.name, "is missing (it has no default)");
  else if (filters.empty())
    visitor.fault(spec.name, "is empty (a filter is needed at least)");
}

// ------------------------------------------------------------------------------------- their taps

namespace {

/// How many taps a file holds, and what is wrong with its shape, if anything.
std::pair<std::int64_t, std::string> taps_in(FilterOptions const& filter, Inputs const& inputs) {
  auto const shape = inputs.shape(filter.source);
  if (shape.size() != 1 || shape[0] < 1)
    return {0, fmt::format("{} is {} (a list of taps is needed)", describe(filter.source),
                           format_shape(shape))};
  return {shape[0], ""};
}

std::int64_t count_of(FilterOptions const& filter, Inputs const& inputs) {
  switch (filter.kind) {
    case FilterOptions::taps:
      return std::ssize(filter.values);
    case FilterOptions::taps_from:
      return taps_in(filter, inputs).first;
    case FilterOptions::gaussian:
      return 2 * convolve::gaussian_radius(filter.sigma, filter.truncate) + 1;
    case FilterOptions::box:
      return filter.size;
    case FilterOptions::derivative:
      return 2 * ((filter.order + 1) / 2) - 1 + filter.accuracy;
    default:
      return filter.window;
  }
}

/// The taps for a spacing of 1, and the order of the derivative that they give.
std::pair<convolve::Taps, std::int64_t> unit_taps(FilterOptions const& filter, Inputs const& inputs,
                                                  std::int64_t count) {
  auto const narrow = [](std::int64_t number) { return static_cast<int>(number); };
  switch (filter.kind) {
    case FilterOptions::taps:
      return {{filter.values, count / 2 + filter.origin}, 0};
    case FilterOptions::taps_from:
      return {{read_numbers(filter.source, inputs), count / 2 + filter.origin}, 0};
    case FilterOptions::gaussian:
      return {convolve::gaussian(filter.sigma, narrow(filter.smoothed_order), filter.truncate),
              filter.smoothed_order};
    case FilterOptions::box:
      return {convolve::box(filter.size, filter.origin), 0};
    case FilterOptions::derivative:
      return {convolve::central_difference(narrow(filter.order), narrow(filter.accuracy)),
              filter.order};
    default:
      return {convolve::savitzky_golay(filter.window, narrow(filter.degree),
                                       narrow(filter.fitted_order)),
              filter.fitted_order};
  }
}

double least_normal(Precision precision) {
  return precision == Precision::float64 ? std::numeric_limits<double>::min()
                                         : double{std::numeric_limits<float>::min()};
}

double largest_magnitude(std::span<double const> values) {
  double largest = 0;
  for (double const value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// Whether taps over a scale, in a precision that takes what is subnormal for zero, are others by
/// more than roundings. Tails that vanish beside the rest are none.
bool lose_digits(std::span<double const> taps, std::span<double const> over_scale, double scale,
                 Precision precision) {
  bool const single = precision == Precision::float32;
  double const rounding = single ? double{std::numeric_limits<float>::epsilon()}
                                 : std::numeric_limits<double>::epsilon();
  double lost = 0, all = 0;
  for (std::size_t k = 0; k < taps.size(); ++k) {
    double const kept = std::abs(over_scale[k]) < least_normal(precision)
                            ? 0
                            : (single ? double{static_cast<float>(over_scale[k])} : over_scale[k]);
    lost += kept == 0 ? std::abs(taps[k]) : std::abs(kept * scale - taps[k]);
    all += std::abs(taps[k]);
  }
  return lost > 4 * rounding * all;
}

}  // namespace

std::vector<Pass> passes_of(std::span<FilterOptions const> filters, Inputs const& inputs) {
  std::vector<Pass> passes;
  for (auto const& filter : filters)
    for (auto const& axis : filter.axes)
      passes.push_back({&filter, static_cast<int>(axis_called(axis)), count_of(filter, inputs)});
  return passes;
}

convolve::Taps taps_of(config::RunConfig const& run, Inputs const& inputs, Pass const& pass,
                       double spacing, config::Location const& place) {
  auto [taps, order] = unit_taps(*pass.options, inputs, pass.taps);
  auto const of_unit = taps.values;
  double const scale = std::pow(spacing, static_cast<double>(order));
  auto const& source = pass.options->source;
  auto const refuse = [&](std::string const& why) {
    throw ConfigError({run.problem(source.file.empty() ? place : source.location, why)});
  };
  auto const axis = axis_names[static_cast<std::size_t>(pass.axis)];
  for (std::size_t k = 0; k < taps.values.size(); ++k) {
    taps.values[k] /= scale;
    if (!is_finite(taps.values[k], run.precision))
      refuse(fmt::format("tap {} of the filter along {} is {} in {} (taps have to be finite)", k,
                         axis, taps.values[k], name_of(run.precision)));
  }
  double const least = least_normal(run.precision);
  if (lose_digits(of_unit, taps.values, scale, run.precision))
    refuse(
        fmt::format("the taps of the filter along {} are no larger than {:g} ({} has all digits "
                    "from {:.2g} on; {}another unit of length helps)",
                    axis, largest_magnitude(taps.values), name_of(run.precision), least,
                    run.precision == Precision::float32 ? "float64 or " : ""));
  return taps;
}

std::string fault_of(FilterOptions const& filter, std::span<std::int64_t const> points,
                     Inputs const& inputs) {
  bool const from_file = filter.kind == FilterOptions::taps_from;
  auto const [count, problem] =
      from_file ? taps_in(filter, inputs) : std::pair(count_of(filter, inputs), std::string());
  if (!problem.empty()) return problem;
  if (points.size() > 1 && !filter.has_axes)
    return fmt::format("an axis is missing (there are {})", points.size());
  for (auto const& axis : filter.axes) {
    auto const a = axis_called(axis);
    if (a >= points.size())
      return fmt::format(
          "goes along {}, but there {}", axis,
          points.size() == 1 ? "is 1 axis" : fmt::format("are {} axes", points.size()));
    auto const length = length_problem(count, axis, points[a]);
    if (!length.empty()) return length;
  }
  auto const origin = from_file ? origin_problem(filter, count) : "";
  return origin.empty() ? origin : "origin " + origin;
}

}  // namespace gridstride::convolution
