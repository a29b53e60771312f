#include "simulations/integration_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "config/file_source.hpp"
#include "core/text.hpp"
#include "kernels/adaptive/adaptive.hpp"
#include "kernels/adaptive/gauss_kronrod.hpp"
#include "kernels/cubature/genz_malik.hpp"
#include "kernels/families.hpp"
#include "kernels/integrand/integrand.hpp"
#include "kernels/riemann/riemann.hpp"
#include "kernels/riemann/tensor/tensor.hpp"
#include "kernels/sampling/sampling.hpp"

namespace gridstride::integration {

namespace {

using quadrature::max_dimensions;

constexpr RuleInfo rule_table[] = {
    {"left", RuleKind::fixed, "riemann", 1, max_dimensions, "Riemann sum of left ends, of order 1"},
    {"right", RuleKind::fixed, "riemann", 1, max_dimensions,
     "Riemann sum of right ends, of order 1"},
    {"midpoint", RuleKind::fixed, "riemann", 1, max_dimensions,
     "Riemann sum of middles, of order 2"},
    {"trapezoid", RuleKind::fixed, "riemann", 1, max_dimensions, "straight lines, of order 2",
     RuleInput::both},
    {"simpson", RuleKind::fixed, "riemann", 1, max_dimensions, "parabolas, of order 4",
     RuleInput::both},
    {"boole", RuleKind::fixed, "riemann", 1, max_dimensions, "polynomials of degree 4, of order 6"},
    {"gauss_legendre", RuleKind::fixed, "riemann", 1, max_dimensions,
     "panels of `points_per_panel` points n, of order 2 n"},
    {"clenshaw_curtis", RuleKind::fixed, "riemann", 1, 1, "the extrema of a Chebyshev polynomial"},
    {"tanh_sinh", RuleKind::adaptive, "adaptive", 1, 1,
     "the double exponential rule, for singularities at the ends"},
    {"gauss_kronrod", RuleKind::adaptive, "adaptive", 1, 1,
     "halves intervals until the tolerance is met"},
    {"genz_malik", RuleKind::adaptive, "cubature", 2, max_dimensions,
     "halves boxes until the tolerance is met"},
    {"monte_carlo", RuleKind::sampling, "sampling", 1, max_dimensions, "random samples"},
    {"quasi_monte_carlo", RuleKind::sampling, "sampling", 1, max_dimensions,
     "samples of scrambled Sobol sequences"},
    {"vegas", RuleKind::sampling, "sampling", 1, max_dimensions,
     "random samples, more of them where the integrand is large"},
    {"romberg", RuleKind::fixed, "", 1, max_dimensions,
     "extrapolated trapezoids, of 2^k + 1 samples along each axis", RuleInput::samples},
};

constexpr std::size_t most_swept = 3;  // axes of an image
constexpr std::int64_t most_values = std::int64_t{1} << 28;

/// Notes what is wrong with a range.
void check_range(config::Visitor& visitor, std::string const& name, std::vector<double> const& ends,
                 Precision precision) {
  double const width = ends[1] - ends[0], far = std::max(std::abs(ends[0]), std::abs(ends[1]));
  if (ends[0] == ends[1]) return visitor.fault(name, "is empty (its ends are the same)");
  if (!std::isinf(far) && std::isinf(width))
    return visitor.fault(name, "is wider than numbers go (give inf for an end)");
  // Coordinates near their end are rounded by ε times it, which the integrand feels.
  double const most = precision == Precision::float32 ? 0x1p10 : 0x1p39;
  if (!std::isinf(far) && far > most * std::abs(width))
    visitor.fault(name, fmt::format("is too narrow so far from 0 for {} (take what is left of "
                                    "the variable when its place is subtracted{})",
                                    name_of(precision),
                                    precision == Precision::float32 ? ", or float64" : ""));
}

/// Notes steps that are too small for their values to be different numbers.
void check_steps(config::Visitor& visitor, std::string const& name, Sweep const& values) {
  double const far = std::max(std::abs(values.from), std::abs(values.to));
  double const step = std::abs(values.spacing());
  if (values.count > 1 && values.from != values.to &&
      (step < std::numeric_limits<double>::min() ||
       step < std::numeric_limits<double>::epsilon() * far))
    visitor.fault(name,
                  fmt::format("has steps of {:.3g}, too small to tell its values apart", step));
}

/// The fewest samples that a rule can do with.
std::int64_t least_points(RuleInfo const& rule, int dimensions) {
  if (rule.name == "gauss_kronrod") return 4 * quadrature::kronrod_samples<21>;
  if (rule.name == "tanh_sinh") return 11 << 4;  // of the coarsest level that it ends with
  if (rule.name == "genz_malik") return quadrature::genz_malik::points(dimensions);
  if (rule.name == "quasi_monte_carlo") return quadrature::sobol_replicas;
  return rule.name == "vegas" ? 1024 : rule.name == "monte_carlo" ? 32 : 1;
}

/// What is wrong with so many points; empty if nothing.
std::string points_problem(RuleInfo const& rule, int dimensions, double points) {
  if (points != std::floor(points)) return fmt::format("{} is not a whole number", points);
  auto const least = least_points(rule, dimensions);
  if (points < static_cast<double>(least))
    return fmt::format("{} are too few for {} (at least {})", points, rule.name, least);
  auto const most = static_cast<double>(quadrature::max_tensor_samples);
  if (rule.kind == RuleKind::fixed && std::pow(points, dimensions) > most)
    return fmt::format("{} along each of {} axes are {:.2g} samples (at most {:.2g})", points,
                       dimensions, std::pow(points, dimensions), most);
  return "";
}

std::vector<expression::Variable> numbered(auto const& entries, int first) {
  std::vector<expression::Variable> variables;
  for (auto const& entry : entries) variables.push_back({entry.first, first++});
  return variables;
}

}  // namespace

RuleInfo const& rule_of(Parameters const& parameters) {
  std::string_view name = parameters.rule;
  if (name == "auto")
    name = parameters.has_samples()       ? "simpson"
           : parameters.dimensions() == 1 ? "gauss_kronrod"
           : parameters.dimensions() <= 8 ? "genz_malik"
                                          : "quasi_monte_carlo";
  return *std::ranges::find(rule_table, name, &RuleInfo::name);
}

void Parameters::fields(config::Visitor& visitor, config::RunOptions const& run) {
  auto const folder = run.file.parent_path();
  declare_ranges(visitor, folder);
  declare_sweep(visitor);
  declare_integrand(visitor, folder);
  check_ranges(visitor, run.precision);
  declare_axis(visitor);
  declare_curve(visitor);
  declare_rule(visitor);
  declare_tolerance(visitor);
  if (has_samples()) check_samples(visitor);
  // The exact solution is a formula of what is swept, or of where the curve is.
  std::span const variables_of_curve(formula_variables_);
  if (has_samples() && axis != all_axes) {
    swept_variables_.clear();
    for (auto const& [name, range] : variables)
      if (name != axis)
        swept_variables_.push_back({name, static_cast<int>(swept_variables_.size())});
  }
  visitor.variables(curve_points > 0 ? variables_of_curve.first(
                                           std::min<std::size_t>(1, formula_variables_.size()))
                                     : std::span(swept_variables_));
}

void Parameters::check_ranges(config::Visitor& visitor, Precision precision) const {
  for (auto const& [name, range] : variables) {
    if (has_samples() && !range.ends.empty() &&
        (std::isinf(range.ends[0]) || std::isinf(range.ends[1])))
      visitor.fault("variables." + name, "is infinite (samples reach from one number to another)");
    else if (!range.ends.empty())
      check_range(visitor, "variables." + name, range.ends,
                  has_samples() ? Precision::float64 : precision);
    else if (!has_samples() && (range.has_spacing() || range.has_positions()))
      visitor.fault("variables." + name,
                    "tells the places of samples (a formula needs a range, as [lower, upper])");
  }
}

void Parameters::declare_sweep(config::Visitor& visitor) {
  auto const element = [&](config::Spec const& spec, Sweep& values) {
    auto const body = [&](config::Visitor& v) {
      v.visit({.name = "from", .documentation = "Its first value."}, values.from);
      v.visit({.name = "to", .documentation = "Its last value."}, values.to);
      v.visit({.name = "count",
               .documentation = "How many values, evenly spaced; of one alone it is `from`.",
               .minimum = 1,
               .maximum = static_cast<double>(most_values)},
              values.count);
    };
    visitor.section({.name = spec.name, .documentation = "Values of a parameter of the integrand."},
                    body);
  };
  visitor.named<Sweep>({.name = "sweep",
                        .documentation = "Parameters of the integrand, up to three: the integral "
                                         "is computed for each combination of their values."},
                       config::Presence::optional, sweep, element);
  if (sweep.size() > most_swept)
    visitor.fault("sweep",
                  fmt::format("{} parameters are more than the {} that there may be: an image "
                              "of the values has an axis for each",
                              sweep.size(), most_swept));
  double integrals = 1;
  for (auto const& [name, values] : sweep) integrals *= static_cast<double>(values.count);
  if (integrals > static_cast<double>(most_values))
    visitor.fault("sweep", fmt::format("{:.3g} combinations are more than the {} that there may be",
                                       integrals, most_values));
  for (auto const& [name, values] : sweep) {
    if (std::isinf(values.to - values.from))
      visitor.fault("sweep." + name, "is wider than numbers go");
    if (std::ranges::find(variables, name, [](auto const& v) { return v.first; }) !=
        variables.end())
      visitor.fault("sweep." + name, "is a variable that is integrated over (give it one role)");
    if (values.count > 1 && values.from == values.to)
      visitor.fault("sweep." + name, "has the same first and last value");
    check_steps(visitor, "sweep." + name, values);
  }
}

void Parameters::declare_integrand(config::Visitor& visitor, std::filesystem::path const& folder) {
  formula_variables_ = numbered(variables, 0);
  swept_variables_ = numbered(sweep, 0);
  std::ranges::copy(numbered(sweep, dimensions()), std::back_inserter(formula_variables_));
  visitor.variables(formula_variables_);
  visitor.axes(expression::max_variables);
  auto const formula = [&](config::Visitor& v) {
    v.visit({.name = "integrand",
             .documentation = "A formula of the names in `variables` and `sweep`.",
             .variables = config::all_variables},
            integrand.formula);
  };
  auto const samples = [&](config::Visitor& v) {
    config::declare_field(v, folder, {.name = "integrand"}, integrand);
  };
  config::Form const forms[] = {{.kind = config::Form::Kind::scalar, .body = formula},
                                {.kind = config::Form::Kind::mapping, .body = samples}};
  int chosen = has_samples() ? 1 : !integrand.formula.text.empty() ? 0 : -1;
  visitor.forms({.name = "integrand",
                 .documentation = "A formula of the names in `variables` and `sweep`; or a file "
                                  "with samples, of as many axes as there are `variables`, the "
                                  "last one for the first of them."},
                config::Presence::required, forms, chosen);
  visitor.locate("integrand", integrand.location);
}

void Parameters::declare_curve(config::Visitor& visitor) {
  visitor.section(
      {.name = "running", .documentation = "The integral from the lower end to each point."},
      [&](config::Visitor& v) {
        v.visit({.name = "points",
                 .documentation = "How many points the curve has, both ends among them; 0: no "
                                  "curve.",
                 .minimum = 0,
                 .maximum = static_cast<double>(most_values)},
                curve_points);
      });
  if (curve_points == 0 || has_samples()) return;
  if (curve_points == 1) visitor.fault("running.points", "1 is no curve (2 at least)");
  if (dimensions() != 1 || !sweep.empty())
    return visitor.fault("running", "a curve needs one variable and no sweep");
  std::vector<double> const& ends = variables[0].second.ends;
  if (ends.size() != 2) return;  // a fault that has its message
  if (!std::isfinite(ends[0]) || !std::isfinite(ends[1]))
    return visitor.fault("running", "a curve needs a finite range");
  check_steps(visitor, "running.points", {ends[0], ends[1], curve_points});
}

void Parameters::declare_rule(config::Visitor& visitor) {
  std::vector<config::Choice> choices = {
      {"auto",
       "`gauss_kronrod` for one variable, `genz_malik` for up to 8, else `quasi_monte_carlo`; of "
       "samples from a file `simpson`"}};
  for (RuleInfo const& info : rule_table) choices.push_back({info.name, info.documentation});
  visitor.choice({.name = "rule", .documentation = "Where the samples are, and what they weigh."},
                 choices, rule);
  RuleInfo const& info = rule_of(*this);
  auto const refused = has_samples() ? RuleInput::formulas : RuleInput::samples;
  if (info.input == refused)
    visitor.fault("rule", fmt::format("'{}' takes {}", info.name,
                                      has_samples() ? "formulas (samples are for trapezoid, "
                                                      "simpson and romberg)"
                                                    : "samples from a file alone"));
  else if (dimensions() > 0 && dimensions() <= max_dimensions &&
           (dimensions() < info.least_dimensions || dimensions() > info.most_dimensions))
    visitor.fault("rule",
                  fmt::format("'{}' takes {} (here {} {})", info.name,
                              info.most_dimensions == 1 ? "one variable" : "two variables or more",
                              dimensions() == 1 ? "is" : "are", dimensions()));
  if (curve_points > 0 && !has_samples() && dimensions() == 1 && info.name != "gauss_kronrod")
    visitor.fault("rule", fmt::format("'{}' gives no curve (gauss_kronrod does)", info.name));
  visitor.visit({.name = "points",
                 .documentation = "Of a fixed rule: samples along each axis, rounded up to whole "
                                  "panels. Of others: the most samples that an integral may take. "
                                  "`auto`: as many as the tolerance needs, within bounds.",
                 .minimum = 1,
                 .maximum = std::ldexp(1.0, 40)},
                points, "auto");
  if (points && !has_samples() && dimensions() >= info.least_dimensions &&
      dimensions() <= info.most_dimensions) {
    auto const problem = points_problem(info, dimensions(), *points);
    if (!problem.empty()) visitor.fault("points", problem);
  }
  visitor.visit({.name = "points_per_panel",
                 .documentation = "Samples in a panel of `gauss_legendre`.",
                 .minimum = 2,
                 .maximum = 64},
                points_per_panel);
  visitor.visit({.name = "seed",
                 .documentation = "Of random and quasi-random samples: the same seed gives the "
                                  "same samples.",
                 .minimum = 0},
                seed);
  visitor.visit({.name = "antithetic",
                 .documentation = "Whether each sample of `monte_carlo` is taken with its mirror "
                                  "image in the middle of the range."},
                antithetic);
  if (antithetic && info.name != "monte_carlo")
    visitor.fault("antithetic",
                  fmt::format("is for monte_carlo (here the rule is '{}')", info.name));
}

void Parameters::declare_tolerance(config::Visitor& visitor) {
  visitor.section(
      {.name = "tolerance",
       .documentation = "Bound of the estimated error; the run fails when it is not met. The "
                        "greater of both counts. An absolute one that is left out is as "
                        "large as what rounding of the samples leaves: parts that cancel are no "
                        "reason to fail."},
      [&](config::Visitor& v) {
        v.visit({.name = "relative", .documentation = "In parts of the value.", .minimum = 0},
                tolerance.relative, "");
        v.visit({.name = "absolute", .documentation = "As it is.", .minimum = 0},
                tolerance.absolute, "");
        bool const given = tolerance.relative || tolerance.absolute;
        if (given && tolerance.relative.value_or(0) == 0 && tolerance.absolute.value_or(0) == 0)
          v.fault("", "is 0 (one of relative and absolute has to be above it)");
      });
}

// ------------------------------------------------------------------------------------ kernels

namespace {

/// What `riemann` was called when it was the only one to choose.
constexpr std::string_view former_riemann = "quadrature";
constexpr std::string_view kernel_keys[] = {"riemann", "adaptive", "cubature", "sampling",
                                            former_riemann};

std::string_view family_called(std::string_view key) {
  return key == former_riemann ? "riemann" : key;
}

/// The family whose rows compute the integrals; none where there is nothing to choose: for products
/// of fixed rules, and for curves.
std::string_view family_of(Parameters const& parameters) {
  RuleInfo const& rule = rule_of(parameters);
  if (parameters.has_samples()) return "";
  bool const product = rule.kind == RuleKind::fixed && parameters.dimensions() > 1;
  return product || parameters.curve_points > 0 ? "" : rule.family;
}

/// The rules that a family is for.
std::string rules_of(std::string_view family) {
  if (family == "riemann") return "the fixed rules of one variable";
  std::vector<std::string_view> names;
  for (RuleInfo const& rule : rule_table)
    if (rule.family == family) names.push_back(rule.name);
  return format_choices(names);
}

/// Why a variant does not compute what is asked for; empty if it does.
std::string variant_problem(std::string_view key, std::string_view variant,
                            config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  RuleInfo const& rule = rule_of(parameters);
  std::string_view const family = family_called(key);
  if (family != family_of(parameters))
    return fmt::format(
        "'{}' is a variant of {} (here the rule is '{}'{})", variant, rules_of(family), rule.name,
        parameters.has_samples()                                       ? ", of samples"
        : parameters.curve_points > 0                                  ? ", for a curve"
        : rule.kind != RuleKind::fixed || parameters.dimensions() == 1 ? ""
                                                                       : ", of several");
  auto const own = quadrature::tanh_sinh_variants<double>();
  if (rule.name == "tanh_sinh" &&
      std::ranges::find(own, variant, &decltype(own)::value_type::name) == own.end())
    return fmt::format("'{}' is a variant of 'gauss_kronrod' alone (here the rule is 'tanh_sinh')",
                       variant);
  std::string const& present = run.kernels.at("riemann");
  if (key == former_riemann && present != "auto" && present != variant)
    return fmt::format("'{}' contradicts '{}' for riemann, whose former name this is", variant,
                       present);
  return {};
}

}  // namespace

std::string variant_of(config::RunConfig const& run) {
  for (std::string_view const key : kernel_keys)
    if (family_called(key) == family_of(parameters_of(run)) &&
        run.kernels.find(key)->second != "auto")
      return run.kernels.find(key)->second;
  return "auto";
}

std::vector<config::SimulationInfo::KernelFamily> kernel_choices() {
  std::vector<config::SimulationInfo::KernelFamily> choices;
  for (std::string_view const key : kernel_keys)
    choices.push_back({key, variant_names(family_called(key))});
  return choices;
}

std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs) {
  std::vector<Problem> found;
  if (parameters_of(run).has_samples())
    found = sample_problems(run, inputs);
  else if (run.limits.is_given())
    found.push_back(run.problem(run.location("limits"),
                                "is for samples from a file (those of formulas take no room)"));
  for (std::string_view const key : kernel_keys) {
    std::string const& variant = run.kernels.find(key)->second;
    if (variant == "auto") continue;
    if (auto const message = variant_problem(key, variant, run); !message.empty())
      found.push_back(run.problem(run.location(fmt::format("kernels.{}", key)), message));
  }
  return found;
}

void choose_kernels(config::RunConfig const& run, Inputs const&, Device const& device) {
  // The driver knows families by their names of today.
  std::string const& variant = run.kernels.find(former_riemann)->second;
  if (variant != "auto")
    find_variant(former_riemann, quadrature::riemann_variants<double>(), device, variant);
}

}  // namespace gridstride::integration
