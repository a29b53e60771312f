#include "simulations/integration_rules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/adaptive/adaptive.hpp"
#include "kernels/adaptive/gauss_kronrod.hpp"
#include "kernels/cubature/cubature.hpp"
#include "kernels/integrand/ranges.hpp"
#include "kernels/riemann/riemann.hpp"
#include "kernels/riemann/tensor/tensor.hpp"
#include "kernels/sampling/sampling.hpp"
#include "kernels/sampling/vegas/vegas.hpp"
#include "simulations/integration_rounds.hpp"

namespace gridstride::integration {

namespace {

using quadrature::Estimate;
using quadrature::Goal;
using quadrature::Interval;
using quadrature::Outcome;
using quadrature::Rule;

/// About the most samples on the host where the tolerance tells how many: some seconds of it.
constexpr std::int64_t most_samples_on_host = std::int64_t{1} << 28;
/// What a fixed rule starts from, and about the most that it takes on a GPU where the tolerance tells.
constexpr double first_points = 64, first_products = 4096, most_points = 0x1p32;
/// Samples of a round over those of the one before. Of panels that a whole number parts anew the ends
/// stay, and a jump, or an oscillation that fits, looks the same to one round after the other.
constexpr double growth_of_samples = 3.7, growth_along_an_axis = 1.9;

/// Where a point of the finite range that stands for `original` lies in it (ranges.hpp).
double coordinate_in(Interval const& original, double t) {
  bool const down = std::isinf(original.lower), up = std::isinf(original.upper);
  if (down && up) return t / (1 - t * t) * (original.lower < 0 ? 1 : -1);
  if (!down && !up) return t;
  double const far = down ? original.lower : original.upper;
  return (down ? original.upper : original.lower) + std::copysign(t / (1 - t), far);
}

std::vector<double> coordinates_in(std::span<Interval const> originals, std::vector<double> point) {
  for (std::size_t k = 0; k < point.size(); ++k) point[k] = coordinate_in(originals[k], point[k]);
  return point;
}

std::span<double const> row(Problem const& problem, std::size_t integral) {
  auto const width = static_cast<std::size_t>(problem.integrand.parameters);
  return std::span(problem.parameters).subspan(integral * width, width);
}

/// Runs an integrator whose parameters and results lie in device memory.
using Batch = std::function<void(std::span<double const> parameters, std::span<Estimate> results)>;

std::vector<Estimate> on_device(Stream& stream, Problem const& problem, Batch const& integrate) {
  Buffer<double> parameters(stream, MemorySpace::device, problem.parameters.size());
  Buffer<Estimate> results(stream, MemorySpace::device, problem.integrals);
  copy_async(parameters.span(), std::span<double const>(problem.parameters), stream);
  integrate(std::as_const(parameters).span(), results.span());
  std::vector<Estimate> estimates(problem.integrals);
  copy_async(std::span(estimates), std::as_const(results).span(), stream);
  stream.synchronize();
  return estimates;
}

/// Marks what is not as accurate as asked.
void judge(std::vector<Estimate>& estimates, std::optional<Goal> const& goal) {
  if (!goal) return;
  for (Estimate& estimate : estimates)
    if (estimate.outcome == Outcome::reached &&
        estimate.error > goal->tolerance(estimate.value, estimate.rounding))
      estimate.outcome = Outcome::not_reached;
}

bool any(std::span<Estimate const> estimates, Outcome outcome) {
  return std::ranges::find(estimates, outcome, &Estimate::outcome) != estimates.end();
}

/// The first integral with a sample that is no number, and where `find` says that it is.
std::optional<Pole> pole_of(std::span<Estimate const> estimates,
                            std::function<std::vector<double>(std::size_t)> const& find) {
  auto const found = std::ranges::find(estimates, Outcome::non_finite, &Estimate::outcome);
  if (found == estimates.end()) return std::nullopt;
  auto const integral = static_cast<std::size_t>(found - estimates.begin());
  return Pole{integral, find(integral)};
}

std::vector<double> point(std::optional<double> x) {
  return x ? std::vector<double>{*x} : std::vector<double>{};
}

/// The box from the lower ends to the upper, and the sign that this gives the integral.
double order_ends(std::vector<Interval>& box) {
  double sign = 1;
  for (Interval& side : box) {
    if (side.lower < side.upper) continue;
    std::swap(side.lower, side.upper);
    sign = -sign;
  }
  return sign;
}

/// Integrals over boxes, one after the other; `integrate` takes the problem on finite ranges and
/// the parameters of one, and returns what has `estimate` and `non_finite_at`.
template <class Integrate>
Solution one_by_one(Problem const& problem, Integrate const& integrate) {
  auto finite = quadrature::on_finite_ranges(problem.integrand, problem.ranges);
  double const sign = order_ends(finite.intervals);
  Solution solution;
  for (std::size_t i = 0; i < problem.integrals; ++i) {
    auto const found = integrate(finite, row(problem, i), solution.values);
    solution.estimates.push_back(found.estimate);
    solution.estimates.back().value *= sign;
    if (found.estimate.outcome == Outcome::non_finite && !solution.pole)
      solution.pole = Pole{i, coordinates_in(problem.ranges, found.non_finite_at)};
  }
  return solution;
}

// -------------------------------------------------------------------------------- fixed rules

/// The rule with `points` samples at least.
quadrature::FixedRule fixed_rule(Request const& request, std::int64_t points) {
  Rule const rule = *quadrature::rule_named(request.rule->name);
  if (rule == Rule::clenshaw_curtis) {
    int intervals = 2;
    while (intervals + 1 < points && intervals + 1 < quadrature::max_clenshaw_curtis_points)
      intervals *= 2;
    return {rule, 1, intervals + 1};
  }
  int const inside = rule == Rule::gauss_legendre ? request.points_per_panel : 0;
  std::int64_t const each = rule == Rule::gauss_legendre ? inside
                            : rule == Rule::simpson      ? 2
                            : rule == Rule::boole        ? 4
                                                         : 1;
  std::int64_t const unit = quadrature::panel_unit(rule);
  std::int64_t const panels = (points + each - 1) / each;
  return {rule, std::max(unit, (panels + unit - 1) / unit * unit), inside};
}

/// The part of an integral between an end and the number of T that is next to it, where no sample
/// lies. There |f| is taken to grow as d^(−p) with the distance d from the end, so that the part is
/// |f|·d/(1 − p), and infinite from p = 1 on. Where |f|·d is no more than rounding it counts as that.
template <class T>
double part_beside(double end, double other, std::function<double(double)> const& integrand,
                   double rounding) {
  T const next = std::nextafter(static_cast<T>(end), static_cast<T>(other));
  T const second = std::nextafter(next, static_cast<T>(other));
  double const d = std::abs(next - end), far = std::abs(second - end);
  double const f = std::abs(integrand(next));
  if (!(f * d > rounding) || !std::isfinite(f)) return 0;
  double const power = std::log(f / std::abs(integrand(second))) / std::log(far / d);
  if (!(power < 1)) return std::numeric_limits<double>::infinity();
  return f * d / (1 - std::max(power, 0.0));
}

/// Adds to the errors what samples of precision T cannot see: all rounds of a rule miss the same, and so
/// do all batches of random samples.
template <class T>
void add_ends(Problem const& problem, quadrature::FiniteIntegral const& finite,
              std::vector<Estimate>& estimates) {
  quadrature::HostIntegrand const integrand(finite.integrand);
  auto const [lower, upper] = finite.intervals[0];
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    auto const f = [&](double x) { return integrand(&x, row(problem, i).data()); };
    double const rounding = std::max(
        estimates[i].rounding, 50 * quadrature::rounding_of<T>() * std::abs(estimates[i].value));
    for (auto const& [end, other] : {std::pair(lower, upper), std::pair(upper, lower)})
      estimates[i].error += part_beside<T>(end, other, f, rounding);
  }
}

template <class T>
Solution by_fixed_rule(Stream& stream, Problem const& problem, Request const& request,
                       std::int64_t points) {
  std::vector<quadrature::FixedRule> rules;
  for (auto const& [lower, upper] : problem.ranges) {
    rules.push_back(fixed_rule(request, points));
    rules.back().jumps_at_ends = std::isinf(lower) || std::isinf(upper);
  }
  if (problem.integrand.dimensions > 1)
    return one_by_one(problem, [&](auto const& finite, auto parameters, auto&) {
      return quadrature::tensor<T>(stream, finite.integrand, finite.intervals, rules, parameters);
    });
  auto finite = quadrature::on_finite_ranges(problem.integrand, problem.ranges);
  double const sign = order_ends(finite.intervals);  // or left ends would be right ones
  Solution solution;
  solution.estimates = on_device(stream, problem, [&](auto parameters, auto results) {
    quadrature::integrate<T>(stream, finite.integrand, finite.intervals[0], parameters, rules[0],
                             results, request.variant);
  });
  for (Estimate& estimate : solution.estimates) estimate.value *= sign;
  add_ends<T>(problem, finite, solution.estimates);
  solution.pole = pole_of(solution.estimates, [&](std::size_t i) {
    return coordinates_in(problem.ranges, point(quadrature::non_finite_sample<T>(
                                              stream, finite.integrand, finite.intervals[0],
                                              row(problem, i), rules[0])));
  });
  return solution;
}

/// Whether the rule is the same with so many points along an axis: it would agree with itself.
bool is_same_rule(Request const& request, double points, double others) {
  auto const panels = [&](double of) {
    auto const rule = fixed_rule(request, std::llround(of));
    return std::pair(rule.panels, rule.points);
  };
  return panels(points) == panels(others);
}

/// The points along an axis of the round after one with `points`: the next of the row that `growth`
/// makes whose rule is another one.
double next_round(Request const& request, double points, double growth) {
  double next = growth * points;
  while (is_same_rule(request, next, points) && next < most_points) next *= growth;
  return next;
}

/// The same of the round before; none where there is no coarser rule.
std::optional<double> coarser_round(Request const& request, double points, double growth) {
  for (double coarser = points / growth; coarser >= 1; coarser /= growth)
    if (!is_same_rule(request, coarser, points)) return coarser;
  return std::nullopt;
}

/// With as many points as are asked for. Whether a tolerance is met coarser rules are asked, too, three of them
/// where there are so many.
template <class T>
Solution by_given_points(Stream& stream, Problem const& problem, Request const& request,
                         std::optional<Goal> const& goal, double growth) {
  auto solution = by_fixed_rule<T>(stream, problem, request, *request.points);
  if (!goal) return solution;
  CoarserRounds coarser(fixed_rule(request, *request.points));
  growth = std::min(growth, coarser.growth_of_three());
  for (auto points = coarser_round(request, static_cast<double>(*request.points), growth);
       points && !coarser.are_enough(); points = coarser_round(request, *points, growth)) {
    std::int64_t const count = std::llround(*points);
    coarser.add(fixed_rule(request, count), by_fixed_rule<T>(stream, problem, request, count));
  }
  coarser.compare(solution);
  judge(solution.estimates, goal);
  return solution;
}

/// With as many points as are asked for, or as the tolerance needs.
template <class T>
Solution fixed(Stream& stream, Problem const& problem, Request const& request) {
  auto const goal = goal_of(request, precision_of<T>());
  double const dimensions = problem.integrand.dimensions;
  double const growth = std::max(growth_along_an_axis, std::pow(growth_of_samples, 1 / dimensions));
  if (request.points) return by_given_points<T>(stream, problem, request, goal, growth);
  // Of all integrals together, but enough for each.
  double const most = std::max(
      0x1p20, (stream.backend() == Backend::cuda ? most_points : double{most_samples_on_host}) /
                  static_cast<double>(problem.integrals));
  double const first = dimensions == 1 ? first_points : std::pow(first_products, 1 / dimensions);
  Rounds rounds(quadrature::order_of(fixed_rule(request, first_points)), growth);
  for (double points = std::max(2.0, std::floor(first));;) {
    auto solution = by_fixed_rule<T>(stream, problem, request, std::llround(points));
    rounds.compare(solution);
    judge(solution.estimates, goal);
    double const next = next_round(request, points, growth);
    bool const last =
        std::pow(next, dimensions) > most ||
        (request.rule->name == "clenshaw_curtis" && next > quadrature::max_clenshaw_curtis_points);
    bool const done = rounds.may_end() && !any(solution.estimates, Outcome::not_reached);
    if (last || done) return solution;
    rounds.keep(std::move(solution));
    points = next;
  }
}

// ------------------------------------------------------------------------------ to a tolerance

template <class T>
Solution gauss_kronrod(Stream& stream, Problem const& problem, Request const& request) {
  quadrature::GaussKronrodOptions options;
  options.tolerance = *goal_of(request, precision_of<T>());
  if (request.points)
    options.max_intervals = static_cast<int>(
        std::clamp<std::int64_t>(*request.points / quadrature::kronrod_samples<21>,
                                 options.initial_intervals, std::int64_t{1} << 22));
  auto const finite = quadrature::on_finite_ranges(problem.integrand, problem.ranges);
  Solution solution;
  solution.estimates = on_device(stream, problem, [&](auto parameters, auto results) {
    quadrature::gauss_kronrod<T>(stream, finite.integrand, finite.intervals[0], parameters, options,
                                 results, request.variant);
  });
  solution.pole = pole_of(solution.estimates, [&](std::size_t i) {
    return coordinates_in(problem.ranges,
                          point(quadrature::non_finite_sample(finite.integrand, finite.intervals[0],
                                                              row(problem, i), options)));
  });
  return solution;
}

template <class T>
Solution tanh_sinh(Stream& stream, Problem const& problem, Request const& request) {
  quadrature::TanhSinhOptions options;
  options.tolerance = *goal_of(request, precision_of<T>());
  if (request.points)
    options.max_level = static_cast<int>(
        std::clamp(std::log2(static_cast<double>(*request.points) / 11), 4.0, 16.0));
  Solution solution;
  solution.estimates = on_device(stream, problem, [&](auto parameters, auto results) {
    quadrature::tanh_sinh<T>(stream, problem.integrand, problem.ranges[0], parameters, options,
                             results, request.variant);
  });
  solution.pole = pole_of(solution.estimates, [&](std::size_t i) {
    return point(quadrature::non_finite_sample(problem.integrand, problem.ranges[0],
                                               row(problem, i), options));
  });
  return solution;
}

template <class T>
Solution cubature(Stream& stream, Problem const& problem, Request const& request) {
  quadrature::CubatureOptions options;
  options.goal = *goal_of(request, precision_of<T>());
  if (stream.backend() == Backend::cpu) options.max_evaluations = most_samples_on_host;
  if (request.points) options.max_evaluations = *request.points;
  return one_by_one(problem, [&](auto const& finite, auto parameters, auto& values) {
    auto const found = quadrature::cubature<T>(stream, finite.integrand, finite.intervals,
                                               parameters, options, request.variant);
    values = {{"boxes", static_cast<double>(found.boxes)},
              {"generations", static_cast<double>(found.generations)}};
    return found;
  });
}

template <class T>
Solution sampling(Stream& stream, Problem const& problem, Request const& request) {
  quadrature::SamplingOptions options;
  options.goal = goal_of(request, precision_of<T>()).value_or(Goal{0, 0});
  options.points = request.points.value_or(std::int64_t{1} << 30);
  options.seed = request.seed;
  options.antithetic = request.antithetic;
  auto solution = one_by_one(problem, [&](auto const& finite, auto parameters, auto& values) {
    auto const& [integrand, intervals] = finite;
    if (request.rule->name == "vegas") {
      auto const found =
          quadrature::vegas<T>(stream, integrand, intervals, parameters, options, request.variant);
      values = {{"iterations", static_cast<double>(found.iterations)},
                {"chi_squared", found.chi_squared}};
      return quadrature::SampledIntegral{found.estimate, found.non_finite_at};
    }
    if (request.rule->name == "monte_carlo")
      return quadrature::monte_carlo<T>(stream, integrand, intervals, parameters, options,
                                        request.variant);
    return quadrature::quasi_monte_carlo<T>(stream, integrand, intervals, parameters, options,
                                            request.variant);
  });
  if (problem.integrand.dimensions > 1) return solution;
  add_ends<T>(problem, quadrature::on_finite_ranges(problem.integrand, problem.ranges),
              solution.estimates);
  judge(solution.estimates, goal_of(request, precision_of<T>()));
  return solution;
}

/// What the rules go for when no tolerance is given: relative errors in float32 and float64.
std::pair<double, double> own_tolerance(RuleKind kind) {
  if (kind == RuleKind::sampling) return {1e-3, 1e-3};
  return {1e-4, 1e-10};
}

}  // namespace

std::vector<NamedValue> unknown_values(RuleInfo const& rule) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  if (rule.name == "genz_malik") return {{"boxes", unknown}, {"generations", unknown}};
  if (rule.name == "vegas") return {{"iterations", unknown}, {"chi_squared", unknown}};
  return {};
}

std::optional<Goal> goal_of(Request const& request, Precision precision) {
  if (request.absolute) return Goal{request.relative.value_or(0), *request.absolute};
  bool const is_float32 = precision == Precision::float32;
  double const epsilon =
      is_float32 ? quadrature::rounding_of<float>() : quadrature::rounding_of<double>();
  auto const beside_rounding = [&](double relative) {
    return Goal{relative, 0, relative >= 100 * epsilon ? 2.0 : 0};
  };
  if (request.relative) return beside_rounding(*request.relative);
  if (request.points && request.rule->kind != RuleKind::adaptive) return std::nullopt;
  auto const [single, twofold] = own_tolerance(request.rule->kind);
  return beside_rounding(is_float32 ? single : twofold);
}

template <class T>
Solution solve(Stream& stream, Problem const& problem, Request const& request) {
  std::string_view const rule = request.rule->name;
  if (request.rule->kind == RuleKind::fixed) return fixed<T>(stream, problem, request);
  if (request.rule->kind == RuleKind::sampling) return sampling<T>(stream, problem, request);
  if (rule == "gauss_kronrod") return gauss_kronrod<T>(stream, problem, request);
  if (rule == "tanh_sinh") return tanh_sinh<T>(stream, problem, request);
  return cubature<T>(stream, problem, request);
}

template Solution solve<float>(Stream&, Problem const&, Request const&);
template Solution solve<double>(Stream&, Problem const&, Request const&);

}  // namespace gridstride::integration
