// Integrals of formulas:
//
//   I(p) = ∫ … ∫ f(v_1, …, v_d; p) dv_1 … dv_d        over a box, 1 ≤ d ≤ 20
//
// for one or many values of up to three parameters p, by a fixed rule, to a tolerance, or from
// random samples; or, for d = 1, as the curve I(x) = ∫ f from the lower end to x. The formula is
// compiled for the GPU at hand, and evaluated block by block on the host. What rule means which
// kernels stands in integration_rules.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/text.hpp"
#include "expression/cost.hpp"
#include "kernels/adaptive/gauss_kronrod.hpp"
#include "kernels/adaptive/running.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "simulations/integration_parameters.hpp"
#include "simulations/integration_rules.hpp"
#include "simulations/integration_samples.hpp"

namespace gridstride {

namespace {

using integration::has_number;
using integration::parameters_of;
using integration::Solution;
using quadrature::Estimate;
using quadrature::Outcome;

/// Images have positive spacings: values that fall are taken from the last to the first. One alone is the first.
void set_axis(Grid& grid, std::size_t axis, integration::Sweep const& values) {
  grid.points[axis] = values.count;
  grid.origin[axis] = values.count > 1 ? std::min(values.from, values.to) : values.from;
  grid.spacing[axis] = std::abs(values.spacing());
}

/// The values that are swept as a grid, each parameter along an axis; or the points of the curve.
Grid result_grid(integration::Parameters const& parameters) {
  Grid grid;
  if (parameters.curve_points > 0) {
    auto const& ends = parameters.variables[0].second.ends;
    set_axis(grid, 0, {ends[0], ends[1], parameters.curve_points});
    return grid;
  }
  grid.dims = std::max(1, static_cast<int>(parameters.sweep.size()));
  for (std::size_t axis = 0; axis < parameters.sweep.size(); ++axis) {
    set_axis(grid, axis, parameters.sweep[axis].second);
  }
  return grid;
}

integration::Problem problem_of(integration::Parameters const& parameters, Grid const& grid) {
  integration::Problem problem;
  problem.integrand = {parameters.integrand.formula.expression, parameters.dimensions(),
                       static_cast<int>(parameters.sweep.size())};
  for (auto const& [name, range] : parameters.variables)
    problem.ranges.push_back({range.ends[0], range.ends[1]});
  if (parameters.curve_points > 0) return problem;
  problem.integrals = static_cast<std::size_t>(grid.size());
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    auto const place = grid.indices(i);
    for (std::size_t axis = 0; axis < parameters.sweep.size(); ++axis)
      problem.parameters.push_back(grid.coordinate(static_cast<int>(axis), place[axis]));
  }
  return problem;
}

integration::Request request_of(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  integration::Request request;
  request.rule = &rule_of(parameters);
  if (parameters.points) request.points = std::llround(*parameters.points);
  request.points_per_panel = static_cast<int>(parameters.points_per_panel);
  request.relative = parameters.tolerance.relative;
  request.absolute = parameters.tolerance.absolute;
  request.seed = static_cast<std::uint64_t>(parameters.seed);
  request.antithetic = parameters.antithetic;
  request.variant = integration::variant_of(run);
  return request;
}

/// Value and error of each integral, and what the device needs for them while they are computed.
MemoryForecast integration_memory(config::RunConfig const& run, Inputs const& inputs,
                                  Backend backend) {
  auto const& parameters = parameters_of(run);
  if (parameters.has_samples()) return integration::samples_memory(run, inputs, backend);
  auto const count = static_cast<std::size_t>(result_grid(parameters).size());
  std::size_t const bytes = count * size_of(run.precision);
  return {.array_bytes = bytes,
          .arrays = 2,
          .array_name = "value",
          .key = parameters.curve_points > 0 ? "parameters.running" : "parameters.sweep",
          .field_bytes = bytes,
          .other_bytes = count * (sizeof(Estimate) + parameters.sweep.size() * sizeof(double))};
}

template <class T>
class Integration final : public OneShot {
 public:
  Integration(config::RunConfig const& run, Stream const& stream, Inputs const&);

  std::vector<Field> fields() const override {
    return {{"value", "1", grid_, precision_of<T>(), value_.data()},
            {"error", "1", grid_, precision_of<T>(), error_.data()}};
  }
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override {
    return {{"rule", std::string(request_.rule->name)}};
  }
  std::string shortfall() const override;
  std::vector<std::string> fallbacks() const override;

 private:
  void compute() override;
  void integrate();
  void integrate_curve();
  void keep(Solution solution);
  std::size_t count(Outcome outcome) const;
  std::string missing_text() const;
  std::string not_reached_text() const;
  std::string zeros_text() const;
  std::string which_text(Outcome outcome) const;
  std::string parameter_text(std::size_t integral) const;
  double arithmetic_percent(double evaluations) const;

  std::vector<std::string> variable_names_, parameter_names_;
  Problem place_;  // of the integrand in the file, for faults found while integrating
  Grid grid_;
  integration::Problem problem_;
  integration::Request request_;
  bool curve_, is_falling_;  // the curve begins at the greater end
  Solution solution_;
  Buffer<T> value_, error_;
};

template <class T>
Integration<T>::Integration(config::RunConfig const& run, Stream const& stream, Inputs const&)
    : OneShot(stream, {"integrate"}),
      place_(run.problem(parameters_of(run).integrand.formula.location, "")),
      grid_(result_grid(parameters_of(run))),
      problem_(problem_of(parameters_of(run), grid_)),
      request_(request_of(run)),
      curve_(parameters_of(run).curve_points > 0),
      is_falling_(curve_ && problem_.ranges[0].upper < problem_.ranges[0].lower),
      value_(stream_, MemorySpace::device, static_cast<std::size_t>(grid_.size())),
      error_(stream_, MemorySpace::device, value_.size()) {
  for (auto const& [name, range] : parameters_of(run).variables) variable_names_.push_back(name);
  for (auto const& [name, values] : parameters_of(run).sweep) parameter_names_.push_back(name);
  solution_.values = unknown_values(*request_.rule);
  zero_async(value_.span(), stream_);
  zero_async(error_.span(), stream_);
}

template <class T>
void Integration<T>::compute() {
  times_.measure("integrate", [this] { curve_ ? integrate_curve() : integrate(); });
  if (count(Outcome::non_finite) == solution_.estimates.size())
    throw NumericalError(missing_text());
}

template <class T>
void Integration<T>::integrate() {
  keep(integration::solve<T>(stream_, problem_, request_));
}

template <class T>
void Integration<T>::integrate_curve() {
  constexpr int points = 21;  // of the Gauss–Kronrod rule in each panel
  Buffer<double> values(stream_, MemorySpace::device, value_.size());
  Buffer<double> errors(stream_, MemorySpace::device, value_.size());
  quadrature::running_integral<T>(stream_, problem_.integrand, problem_.ranges[0], {}, points,
                                  values.span(), errors.span());
  std::vector<double> host_values(values.size()), host_errors(values.size());
  copy_async(std::span(host_values), std::as_const(values).span(), stream_);
  copy_async(std::span(host_errors), std::as_const(errors).span(), stream_);
  stream_.synchronize();
  Solution solution;
  double largest = 0;
  for (double const value : host_values) largest = std::max(largest, std::abs(value));
  double const bound = goal_of(request_, precision_of<T>())->tolerance(largest, 0);
  std::size_t const last = host_values.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    Estimate estimate{host_values[i], host_errors[i],
                      i == 0 ? 0 : quadrature::kronrod_samples<points>, Outcome::reached};
    if (!std::isfinite(estimate.value))
      estimate.outcome = Outcome::non_finite;
    else if (estimate.error > bound)
      estimate.outcome = Outcome::not_reached;
    std::size_t const place = is_falling_ ? last - i : i;
    if (estimate.outcome == Outcome::non_finite && !solution.pole)
      solution.pole = integration::Pole{place, {}};
    solution.estimates.push_back(estimate);
  }
  if (is_falling_) std::ranges::reverse(solution.estimates);
  keep(std::move(solution));
}

/// Takes over what was found: the fields are rounded to T. What is no number there is missing.
template <class T>
void Integration<T>::keep(Solution solution) {
  solution_ = std::move(solution);
  auto& estimates = solution_.estimates;
  std::vector<T> values(value_.size(), std::numeric_limits<T>::quiet_NaN()), errors = values;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    if (!has_number<T>(estimates[i].value)) estimates[i].outcome = Outcome::non_finite;
    if (estimates[i].outcome == Outcome::non_finite) {
      if (!solution_.pole) solution_.pole = integration::Pole{i, {}};
      continue;
    }
    values[i] = static_cast<T>(estimates[i].value);
    errors[i] = static_cast<T>(estimates[i].error);
  }
  copy_async(value_.span(), std::span<T const>(values), stream_);
  copy_async(error_.span(), std::span<T const>(errors), stream_);
  stream_.synchronize();
}

/// `k = 0.5, m = 2`, or nothing.
std::string named_numbers(std::vector<std::string> const& names, std::span<double const> values) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < values.size(); ++i)
    text += fmt::format("{}{} = {:.9g}", i == 0 ? "" : ", ", names[i], values[i]);
  return text;
}

template <class T>
std::string Integration<T>::parameter_text(std::size_t integral) const {
  return named_numbers(parameter_names_,
                       std::span(problem_.parameters).subspan(integral * parameter_names_.size()));
}

template <class T>
std::size_t Integration<T>::count(Outcome outcome) const {
  return static_cast<std::size_t>(
      std::ranges::count(solution_.estimates, outcome, &Estimate::outcome));
}

/// How many integrals came out so, and the first of them; nothing where there is only one.
template <class T>
std::string Integration<T>::which_text(Outcome outcome) const {
  auto const& estimates = solution_.estimates;
  if (estimates.size() == 1) return {};
  auto const first = static_cast<std::size_t>(
      std::ranges::find(estimates, outcome, &Estimate::outcome) - estimates.begin());
  return fmt::format("{} of {} integrals; the first, {}: ", count(outcome), estimates.size(),
                     curve_ ? fmt::format("{} = {:.9g}", variable_names_[0],
                                          grid_.coordinate(0, static_cast<std::int64_t>(first)))
                            : parameter_text(first));
}

/// Why integrals are missing, with the integrand's place in the file.
template <class T>
std::string Integration<T>::missing_text() const {
  auto const& [integral, coordinates] = *solution_.pole;
  auto const text = [this](std::string const& message) {
    Problem problem = place_;
    std::size_t const missing = count(Outcome::non_finite), all = solution_.estimates.size();
    problem.message = message;
    if (missing < all)
      problem.message += fmt::format("; {} of {} integrals are missing", missing, all);
    return problem.text();
  };
  if (curve_)
    return text(fmt::format("is infinite or not a number at a sample {} {} = {:.9g}",
                            is_falling_ ? "above" : "below", variable_names_[0],
                            grid_.coordinate(0, static_cast<std::int64_t>(integral))));
  std::string const parameters = parameter_text(integral);
  std::string const with = parameters.empty() ? "" : " with " + parameters;
  double const found = solution_.estimates[integral].value;
  if (std::isfinite(found) && !has_number<T>(found))
    return text(fmt::format("has an integral of {:.9g}{}, for which {} has no number", found, with,
                            name_of(precision_of<T>())));
  std::vector<double> values = coordinates;
  for (std::size_t k = 0; k < parameter_names_.size(); ++k)
    values.push_back(problem_.parameters[integral * parameter_names_.size() + k]);
  double const value = coordinates.empty() ? 0 : problem_.integrand.formula.evaluate(values);
  if (std::isfinite(value))
    return text(fmt::format("is so large that sums of its samples are not finite in {}{}",
                            name_of(precision_of<T>()), with));
  return text(fmt::format("is {} at the sample {}{} (all samples have to be finite{})",
                          std::isnan(value) ? "nan" : fmt::format("{:g}", value),
                          named_numbers(variable_names_, coordinates), with,
                          variable_names_.size() > 1 || request_.rule->name == "tanh_sinh"
                              ? ""
                              : "; tanh_sinh takes singularities at the ends of a range"));
}

template <class T>
std::string Integration<T>::not_reached_text() const {
  Estimate const& first =
      *std::ranges::find(solution_.estimates, Outcome::not_reached, &Estimate::outcome);
  std::string const which = which_text(Outcome::not_reached);
  if (first.value == 0 && std::isinf(first.error) && first.rounding == 0)
    return fmt::format(
        "integration: nothing is known of the integral ({}all {} samples by {} are 0; what lies "
        "between them, such as a narrow peak, would be missing)",
        which, first.evaluations, request_.rule->name);
  auto const goal = goal_of(request_, precision_of<T>()).value_or(quadrature::Goal{0, 0});
  return fmt::format(
      "integration: the tolerance is not met ({}the best value is {:.16g} with an estimated error "
      "of {:.3g} after {} evaluations by {}; asked for: relative {:g}, absolute {:g}{})",
      which, first.value, first.error, first.evaluations, request_.rule->name, goal.relative,
      goal.absolute, goal.roundings > 0 ? " or twice what rounding leaves" : "");
}

template <class T>
std::string Integration<T>::shortfall() const {
  std::string const reached = count(Outcome::not_reached) > 0 ? not_reached_text() : "";
  if (count(Outcome::non_finite) == 0) return reached;
  return missing_text() + (reached.empty() ? "" : "\n" + reached);
}

/// Integrals of 0 that no error is estimated for: that may be so, or a peak lies between samples.
template <class T>
std::string Integration<T>::zeros_text() const {
  auto const is_zero = [](Estimate const& e) {
    return e.value == 0 && e.error == 0 && e.evaluations > 0 && e.outcome == Outcome::reached;
  };
  auto const zeros = std::ranges::count_if(solution_.estimates, is_zero);
  if (zeros == 0) return {};
  return fmt::format(
      "integration: all samples {}by {} are 0, or cancel exactly (what lies between them, such as "
      "a narrow peak, would be missing)",
      solution_.estimates.size() == 1
          ? ""
          : fmt::format("of {} of {} integrals ", zeros, solution_.estimates.size()),
      request_.rule->name);
}

template <class T>
std::vector<std::string> Integration<T>::fallbacks() const {
  std::string const zeros = zeros_text();
  return zeros.empty() ? std::vector<std::string>{} : std::vector{zeros};
}

/// What part of the device's arithmetic the integrand's operations alone have taken.
template <class T>
double Integration<T>::arithmetic_percent(double evaluations) const {
  double const rate = stream_.device().arithmetic_rate(precision_of<T>());
  double const cost = arithmetic_cost(problem_.integrand.formula);
  return rate == 0 ? std::numeric_limits<double>::quiet_NaN()
                   : 100 * cost * evaluations / times_.seconds("integrate") / rate;
}

/// Of several integrals, the first value and the largest error.
template <class T>
std::vector<NamedValue> Integration<T>::diagnostics() const {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  auto const& estimates = solution_.estimates;
  double evaluations = estimates.empty() ? unknown : 0, error = evaluations;
  for (Estimate const& estimate : estimates) {
    evaluations += static_cast<double>(estimate.evaluations);
    error = std::max(error, estimate.error);
  }
  double const value = estimates.empty()        ? unknown
                       : curve_ && !is_falling_ ? estimates.back().value
                                                : estimates.front().value;
  std::vector<NamedValue> values = {
      {"value", value, 16},
      {"error_estimate", error},
      {"evaluations", evaluations},
      {"evaluations_per_second", evaluations / times_.seconds("integrate")},
      {"arithmetic_percent", arithmetic_percent(evaluations)}};
  values.insert(values.end(), solution_.values.begin(), solution_.values.end());
  auto const seconds = OneShot::diagnostics();
  values.insert(values.end(), seconds.begin(), seconds.end());
  return values;
}

}  // namespace

SimulationEntry integration_entry() {
  config::SimulationInfo info;
  info.name = "integration";
  info.summary = "integrals of formulas, of one to twenty variables, and of samples from files";
  info.fields = integration::all_fields();
  info.kernels = integration::kernel_choices();
  info.has_grid = false;
  info.has_time = false;
  info.limits = config::SimulationInfo::LimitsOf::data;
  info.has_gaps = true;
  info.variables = {};
  auto row =
      entry<Integration, integration::Parameters>({.info = info,
                                                   .memory = integration_memory,
                                                   .problems = integration::problems,
                                                   .choose_kernels = integration::choose_kernels});
  row.make = [](config::RunConfig const& run, Stream const& stream, Inputs const& inputs) {
    if (parameters_of(run).has_samples()) return integration::make_of_samples(run, stream, inputs);
    return make_simulation<Integration>(run, stream, inputs);
  };
  return row;
}

}  // namespace gridstride
