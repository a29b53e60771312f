// What an equation asks for that cannot be: told by what its coefficients are everywhere.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "model/values.hpp"
#include "simulations/poisson_parameters.hpp"

namespace gridstride::poisson {

using config::FieldSource;

namespace {

/// Whether a number is one of the run's precision, with all digits, or 0.
bool is_held(config::RunConfig const& run, double value) {
  bool const single = run.precision == Precision::float32;
  if (value == 0) return true;
  return single ? std::isnormal(static_cast<float>(value)) : std::isnormal(value);
}

/// What the run's precision holds of coefficients.
struct Reach {
  double least, most;                ///< numbers, and sums of them
  double least_square, most_square;  ///< of eigenvalues without a: about 1/L² and 1/h²
};

Reach reach_of(config::RunConfig const& run) {
  bool const single = run.precision == Precision::float32;
  // Sums of twelve a/h² have to be numbers too.
  Reach reach{
      single ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min(),
      (single ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max()) /
          64,
      std::numeric_limits<double>::infinity(), 0};
  for (int axis = 0; axis < run.grid.dims; ++axis) {
    double const h = run.grid.spacing[axis];
    double const length = h * static_cast<double>(run.grid.points[axis]);
    reach.least_square = std::min(reach.least_square, 1 / (length * length));
    reach.most_square = std::max(reach.most_square, 1 / (h * h));
  }
  return reach;
}

}  // namespace

Coefficients coefficients_of(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  Reach const reach = reach_of(run);
  auto const demand = [&](double value) -> std::string_view {
    if (!(value > 0) || !std::isfinite(value)) return "a diffusivity is positive everywhere";
    if (value < reach.least || value * reach.least_square < reach.least || value > reach.most ||
        value * reach.most_square > reach.most)
      return "over the squares of spacings and extents it is beyond what the precision holds; "
             "other "
             "units may help";
    return "";
  };
  largest_magnitude(run, parameters.diffusivity, inputs, run.grid, 0, demand);
  bool const constant = is_constant(parameters.reaction);
  std::atomic<bool> negative = false;
  auto const look = [&](double value) -> std::string_view {
    if (value < 0) negative = true;
    if (!std::isfinite(value)) return "a reaction is finite everywhere";
    bool const is_lost = constant && value != 0 && std::abs(value) < reach.least;
    return std::abs(value) > reach.most || is_lost
               ? "it is beyond what the precision holds; other units may help"
               : "";
  };
  double const reaction = largest_magnitude(run, parameters.reaction, inputs, run.grid, 0, look);
  return {reaction, negative, reaction == 0 && !has_given_side(run)};
}

namespace {

/// Of equations for Newton's method: what shows before u is known.
void look_at_nonlinear(config::RunConfig const& run, Inputs const& inputs,
                       std::vector<Problem>& found) {
  auto const& parameters = parameters_of(run);
  auto const of_u = [](FieldSource const& source) {
    return source.formula.expression.depends_on(expression::first_array);
  };
  auto const positive = [](double value) -> std::string_view {
    return value > 0 && std::isfinite(value) ? "" : "a diffusivity is positive everywhere";
  };
  if (!of_u(parameters.diffusivity))
    largest_magnitude(run, parameters.diffusivity, inputs, run.grid, 0, positive);
  if (!has_given_side(run) && is_zero(parameters.reaction) && !of_u(parameters.source))
    found.push_back(run.problem(
        parameters.source.location,
        "u is open by a constant (newton needs a side on which u is given, a reaction, or a source "
        "that depends on u)"));
  if (parameters.mean)
    found.push_back(run.problem(run.location("parameters.mean"),
                                "the solution has its mean by itself (nothing is open)"));
  if (auto const fault = shape_fault(run, parameters.start, inputs); !fault.empty())
    found.push_back(run.problem(parameters.start.location, fault));
}

}  // namespace

std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs) {
  std::vector<Problem> found;
  auto const& parameters = parameters_of(run);
  auto const examine = [&](auto const& find) {
    try {
      find();
    } catch (ConfigError const& error) {
      found.insert(found.end(), error.problems().begin(), error.problems().end());
    }
  };
  for (FieldSource const* source :
       {&parameters.diffusivity, &parameters.reaction, &parameters.source})
    examine([&] {
      if (auto const fault = shape_fault(run, *source, inputs); !fault.empty())
        found.push_back(run.problem(source->location, fault));
    });
  std::string const method = method_of(run);
  if (run.kernels.at("multigrid") != "auto" && !has_cycles(run) && method != "newton")
    found.push_back(run.problem(
        run.location("kernels.multigrid"),
        fmt::format("is for methods that relax or have cycles (method is {})", method)));
  if (!found.empty()) return found;
  if (method == "newton") {
    examine([&] { look_at_nonlinear(run, inputs, found); });
    return found;
  }
  examine([&] {
    auto const coefficients = coefficients_of(run, inputs);
    if (coefficients.negative && is_iterative(run))
      found.push_back(run.problem(
          parameters.reaction.location,
          fmt::format("is negative somewhere ({} takes reactions that are not)", method_of(run))));
    if (coefficients.negative && method_of(run) == "fft" && layers_of(run))
      found.push_back(
          run.problem(parameters.reaction.location,
                      "is negative somewhere (where coefficients vary along one axis of several, "
                      "fft takes reactions that are not)"));
    if (parameters.tolerance && !is_iterative(run))
      found.push_back(run.problem(
          run.location("parameters.tolerance"),
          fmt::format("{} solves at once, to rounding (multigrid, mg_cg and cg have a tolerance)",
                      method_of(run))));
    if (method_of(run) == "sor" && !parameters.relaxation && has_fields(run))
      found.push_back(run.problem(
          run.location("parameters.method"),
          fmt::format("sor needs a relaxation where coefficients vary, above 0 and below 2 (of the "
                      "same ones everywhere {:.4f} would end soonest; multigrid needs none)",
                      cycles_of(run).factor)));
    if (parameters.mean && !is_held(run, *parameters.mean))
      found.push_back(run.problem(
          run.location("parameters.mean"),
          fmt::format("{:g} is beyond what {} holds with all digits; other units may help",
                      *parameters.mean, name_of(run.precision))));
    if (parameters.mean && !coefficients.singular)
      found.push_back(run.problem(
          run.location("parameters.mean"),
          fmt::format("the solution has its mean by itself ({})",
                      has_given_side(run) ? "u is given on a side" : "reaction is not 0")));
  });
  return found;
}

}  // namespace gridstride::poisson
