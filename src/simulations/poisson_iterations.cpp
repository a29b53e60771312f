#include "simulations/poisson_iterations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "core/csr.hpp"
#include "core/text.hpp"
#include "kernels/poisson/aggregation.hpp"
#include "simulations/poisson_parameters.hpp"

namespace gridstride::poisson {

using multigrid::Relaxation;

Table iterations_table(multigrid::Outcome const& outcome) {
  std::vector<double> corrections = outcome.corrections;
  if (!outcome.residuals.empty()) corrections.insert(corrections.begin(), 0);
  return {"iterations",
          {{"iteration", "1", outcome.at},
           {"residual", "1", outcome.residuals},
           {"correction", "1", corrections}}};
}

Table iterations_table(krylov::Result const& result, std::string name) {
  std::vector<std::int64_t> at(result.history.size());
  std::iota(at.begin(), at.end(), 0);
  return {std::move(name), {{"iteration", "1", at}, {"relative_residual", "1", result.history}}};
}

std::string shortfall_of(krylov::Result const& result, std::string const& method,
                         double tolerance) {
  if (result.converged()) return {};
  std::string const reached = fmt::format(
      "poisson: what is left of the right-hand side is {:.2g} of it after {} iterations, where "
      "{:g} is asked for",
      result.residual_norm, result.iterations, tolerance);
  bool const aggregates = method == "amg_cg";
  if (result.outcome == krylov::Outcome::iterations)
    return fmt::format("{} (parameters.iterations may be more{})", reached,
                       aggregates
                           ? ""
                           : "; method: mg_cg needs few, whatever the number of points is, and "
                             "where it does not help amg_cg does");
  return fmt::format(
      "{}, and it does not become smaller (roundings are larger than parameters.tolerance, or the "
      "coefficients differ by too many orders of magnitude{})",
      reached, aggregates ? "" : ": method: mg_cg or amg_cg may do");
}

std::string shortfall_of(multigrid::Outcome const& outcome, std::string const& method,
                         multigrid::Options const& options) {
  bool const relaxes = options.relaxation != Relaxation::none;
  double const left = outcome.residuals.back() / outcome.residuals.front();
  std::string const reached = fmt::format(
      "poisson: after {} {} the largest residual is {:.2g} of what it was, and the "
      "error to be expected in u {:.2g} of it, where {:g} is asked for",
      outcome.cycles, relaxes ? "iterations" : "cycles", left, outcome.error, options.tolerance);
  double const factor = outcome.factor();
  if (relaxes)
    return fmt::format(
        "{} (an iteration of {} leaves {:.6f} of the residual; method: multigrid needs few, "
        "whatever the number of points is)",
        reached, method, factor);
  // The last ones tell little alone where residuals go up and down.
  double const of_all = outcome.cycles > 0 ? std::pow(left, 1.0 / outcome.cycles) : 1;
  if (factor < 0.7 && of_all < 0.7)
    return fmt::format(
        "{} (a cycle leaves {:.2g} of the residual: parameters.iterations may be more)", reached,
        factor);
  return fmt::format(
      "{} (cycles have stopped to help: method: {} may do where the coefficients differ by many "
      "orders of magnitude from point to point, unless roundings are larger than "
      "parameters.tolerance)",
      reached, method == "multigrid" ? "mg_cg or amg_cg" : "amg_cg");
}

std::optional<ConjugateOptions> spare_of(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  bool const is_chosen = parameters.method == "auto" && method_of(run) == "mg_cg";
  if (!is_chosen || parameters.iterations) return std::nullopt;
  ConjugateOptions options;
  options.tolerance = parameters.tolerance.value_or(options.tolerance);
  options.aggregates = true;
  return options;
}

std::string lack_for_spare(Stream const& stream, Grid const& grid) {
  if (grid.size() > most_sparse_rows) return "there are more points than a matrix has rows";
  auto const needed = static_cast<double>(aggregation_bytes(grid) +
                                          conjugate_bytes(grid, true, Precision::float64));
  auto const free = static_cast<double>(stream.device().free_memory());
  if (needed <= free) return {};
  return fmt::format("amg_cg needs {}, {} are free", format_bytes(needed), format_bytes(free));
}

std::vector<std::string> iteration_parts(config::RunConfig const& run) {
  auto const options = cycles_of(run);
  bool const relaxes = options.relaxation != Relaxation::none;
  std::vector<std::string> parts;
  for (auto const& points :
       multigrid::level_points(run.grid, sides_of(run), has_fields(run), options))
    if (parts.empty() || (!relaxes && has_cycles(run)))
      parts.push_back(
          fmt::format("{}", fmt::join(points.begin(), points.begin() + run.grid.dims, " x ")));
  parts.back() += " unknowns";
  if (relaxes) parts.push_back(fmt::format("relaxation {:.6g}", options.factor));
  if (conjugates_of(run).aggregates) parts.push_back("levels found from the matrix");
  if (method_of(run) == "cg")
    parts.push_back(fmt::format("directions in {}", name_of(conjugates_of(run).inner)));
  return parts;
}

}  // namespace gridstride::poisson
