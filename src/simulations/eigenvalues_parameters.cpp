#include "simulations/eigenvalues_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "config/file_source.hpp"
#include "kernels/eigen/eigen.hpp"
#include "model/values.hpp"

namespace gridstride::eigenvalues {

using config::FieldSource;
using config::Visitor;

namespace {

/// A grid has a field for each mode.
constexpr std::int64_t most_fields = 1000;
constexpr std::int64_t most_dense = 32768;
/// Up to so many unknowns `auto` gives way to `dense`.
constexpr std::int64_t most_filled = 4096;

/// What `dense` takes, in the units of `eigen::work_of_iteration`.
double work_of_dense(std::int64_t unknowns) { return std::pow(static_cast<double>(unknowns), 3); }

}  // namespace

std::string mode_name(std::int64_t mode) { return fmt::format("mode_{}", mode + 1); }

FieldSource Parameters::number(std::string_view text) {
  FieldSource source;
  source.formula = {std::string(text), expression::Expression::parse(std::string(text)), {}};
  return source;
}

void Parameters::fields(Visitor& visitor, config::RunOptions const& run) {
  declare_matrix(
      visitor, run.file.parent_path(),
      "A symmetric matrix, in place of an operator on a grid: then there are no sections "
      "`grid` and `boundary`.",
      config::Presence::optional);
  declare_grid_operator(visitor, run);
  visitor.visit({.name = "modes",
                 .documentation = "How many eigenvalues and modes are found, k.",
                 .minimum = 1,
                 .maximum = most_matrix_rows},
                modes);
  if (run.has_grid && modes > most_fields)
    visitor.fault("modes",
                  fmt::format("a grid has a field for each mode ({} at most)", most_fields));
  constexpr config::Choice ends[] = {
      {"smallest", "from the smallest eigenvalue on, in the order of numbers: -3 is before 1"},
      {"largest", "from the largest eigenvalue down"}};
  visitor.choice({.name = "which", .documentation = "At which end of the spectrum they are."}, ends,
                 which);
  constexpr config::Choice methods[] = {
      {"auto",
       "`dense` for dense matrices, and where it takes less, for few unknowns or many modes; "
       "else `lobpcg` for the smallest and `lanczos` for the largest, and where these do not "
       "come to an end, `dense` for up to 4096 unknowns"},
      {"lobpcg", "locally optimal block preconditioned conjugate gradients"},
      {"lanczos", "blocks in a basis that begins anew with the best of it, without preconditioner"},
      {"dense", "all of the matrix is transformed, by LAPACK or cuSOLVER"}};
  visitor.choice({.name = "method", .documentation = "How they are found."}, methods, method);
  declare_iterations(visitor);
}

void Parameters::declare_grid_operator(Visitor& visitor, config::RunOptions const& run) {
  if (!run.has_grid) {
    for (std::string_view const key : {"diffusivity", "reaction"})
      visitor.refuse(key, "is of an operator on a grid (here is a matrix: leave one of them out)");
    return;
  }
  auto const folder = run.file.parent_path();
  config::declare_formula_or_field(
      visitor,
      {.name = "diffusivity",
       .unit = "1",
       .documentation =
           "a of -div(a grad u) + kappa u = lambda u on the grid: positive everywhere.",
       .minimum = 0,
       .exclusive_minimum = true},
      config::Presence::optional, folder, diffusivity);
  config::declare_formula_or_field(
      visitor,
      {.name = "reaction", .unit = "1/m^2", .documentation = "kappa of the same, of any sign."},
      config::Presence::optional, folder, reaction);
}

void Parameters::declare_iterations(Visitor& visitor) {
  visitor.visit(
      {.name = "tolerance",
       .documentation = "Of iterations: a mode u is found where norm(A u - lambda u) is at "
                        "most so much of |lambda| norm(u), or what roundings are.",
       .minimum = 1e-14,
       .maximum = 0.1},
      tolerance);
  visitor.visit(
      {.name = "iterations",
       .documentation = "How many there may be (of `lanczos`: how often the basis begins anew); a "
                        "run that would need more writes what it has, and fails.",
       .minimum = 1,
       .maximum = 1e6},
      iterations);
  constexpr config::Choice preconditioners[] = {
      {"auto",
       "for the smallest eigenvalues of a grid a cycle of multigrid, of a matrix like that of "
       "diffusion on a mesh one of algebraic multigrid, of others the diagonal; for the largest "
       "none"},
      {"none", "residuals as they are"}};
  visitor.choice({.name = "preconditioner", .documentation = "Of `lobpcg`."}, preconditioners,
                 preconditioner);
}

std::vector<config::FieldInfo> Parameters::fields_of(config::RunOptions const& run) const {
  if (modes < 1) return {};
  std::vector<config::FieldInfo> fields;
  if (!run.has_grid) {
    config::FieldInfo& info = fields.emplace_back();
    info.name = "modes";
    info.sides.emplace();
    return fields;
  }
  for (std::int64_t mode = 0; mode < std::min(modes, most_fields); ++mode) {
    config::FieldInfo& info = fields.emplace_back();
    info.name = mode_name(mode);
    info.sides.emplace();
  }
  return fields;
}

std::vector<config::FieldInfo> Parameters::names_of(config::RunOptions const& run) const {
  if (!run.has_grid) return {};
  config::FieldInfo info;
  info.name = "u";
  info.sides = {SideKind::dirichlet, SideKind::neumann, SideKind::periodic};
  return {info};
}

poisson::Sides sides_of(config::RunConfig const& run) {
  poisson::Sides sides{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t side = 0; side < 2; ++side)
      sides[axis][side] = run.sides_of("u")[axis][side].kind;
  return sides;
}

std::int64_t size_of_vectors(config::RunConfig const& run, Inputs const& inputs) {
  return run.has_grid ? run.grid.size() : rows_of(parameters_of(run), inputs).first;
}

std::int64_t unknowns_of(config::RunConfig const& run, Inputs const& inputs) {
  if (!run.has_grid) return rows_of(parameters_of(run), inputs).first;
  std::int64_t count = 1;
  for (int axis = 0; axis < run.grid.dims; ++axis)
    count *= poisson::unknowns(run.grid, sides_of(run), axis).count;
  return count;
}

std::string method_of(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  if (parameters.method != "auto") return parameters.method;
  std::int64_t const unknowns = unknowns_of(run, inputs);
  bool const is_dense = !run.has_grid && !sparse_extents(parameters, inputs);
  if (is_dense || parameters.modes > eigen::most_modes ||
      eigen::work_of_lobpcg(static_cast<int>(parameters.modes), unknowns) >=
          work_of_dense(unknowns))
    return "dense";
  return parameters.wants_largest() ? "lanczos" : "lobpcg";
}

std::optional<double> work_before_dense(config::RunConfig const& run, Inputs const& inputs) {
  std::int64_t const unknowns = unknowns_of(run, inputs);
  if (parameters_of(run).method != "auto" || unknowns > most_filled) return std::nullopt;
  return 2 * work_of_dense(unknowns);
}

bool has_preconditioner(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  return method_of(run, inputs) == "lobpcg" && !parameters.wants_largest() &&
         parameters.preconditioner != "none";
}

namespace {

/// What of a field may be lost where it is rounded to float32.
enum class Loss { none, small };

/// The least and the largest value; throws for one that `fault` has something against. Small values
/// beside large ones may be lost where `loss` says so, all of them may not.
Extremes extremes_of(config::RunConfig const& run, FieldSource const& source, Inputs const& inputs,
                     Loss loss, Demand const& fault) {
  constexpr std::string_view beyond = "it is beyond what the precision holds; other units may help";
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::atomic<double> least = infinity, most = -infinity;
  double const float_least = std::numeric_limits<float>::min();
  double const float_most = std::numeric_limits<float>::max();
  bool const is_rounded = run.precision == Precision::float32 && !is_constant(source);
  // Sums of a dozen a/h² are numbers, and so are their squares over the largest.
  double least_spacing = infinity;
  for (int axis = 0; axis < run.grid.dims; ++axis)
    least_spacing = std::min(least_spacing, run.grid.spacing[axis]);
  double const steepest = 1 / (least_spacing * least_spacing), widest = std::max(1.0, steepest);
  auto const demand = [&](double value) -> std::string_view {
    if (!std::isfinite(value)) return "values are finite everywhere";
    if (std::string_view const why = fault(value); !why.empty()) return why;
    double const size = std::abs(value);
    bool const is_small = size != 0 && size < float_least && loss == Loss::none;
    bool const is_lost = is_rounded && (is_small || size > float_most);
    if (is_lost || !(size * widest < 1e300)) return beyond;
    for (double known = least; value < known && !least.compare_exchange_weak(known, value);) {
    }
    for (double known = most; value > known && !most.compare_exchange_weak(known, value);) {
    }
    return "";
  };
  double const largest = largest_magnitude(run, source, inputs, run.grid, 0, demand);
  if (is_rounded && largest != 0 && largest < float_least)
    throw ConfigError(
        {run.problem(source.location, fmt::format("is {} at most ({})", largest, beyond))});
  if (loss == Loss::none && !(largest * steepest > 1e-290))
    throw ConfigError({run.problem(
        source.location,
        fmt::format("is {:g} at most (over the square of the least spacing, {:g} m, that is less "
                    "than float64 holds with all digits; other units may help)",
                    largest, least_spacing))});
  return {least, most};
}

}  // namespace

Extremes diffusivities_of(config::RunConfig const& run, Inputs const& inputs) {
  return extremes_of(run, parameters_of(run).diffusivity, inputs, Loss::none,
                     [](double value) -> std::string_view {
                       return value > 0 ? "" : "a diffusivity is positive everywhere";
                     });
}

Extremes reactions_of(config::RunConfig const& run, Inputs const& inputs) {
  return extremes_of(run, parameters_of(run).reaction, inputs, Loss::small,
                     [](double) -> std::string_view { return ""; });
}

namespace {

std::vector<Problem> side_problems(config::RunConfig const& run) {
  std::vector<Problem> found;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(run.grid.dims); ++axis)
    for (std::size_t side = 0; side < 2; ++side) {
      auto const& condition = run.sides_of("u")[axis][side];
      auto const& other = run.sides_of("u")[axis][0];  // of both, where one stands for them
      if (side == 1 && other.value.location.path == condition.value.location.path) continue;
      bool const has_value = condition.kind != SideKind::periodic;
      if (has_value && !is_zero(source_of(condition.value)))
        found.push_back(run.problem(
            condition.value.location,
            "is not 0 (any multiple of a mode is one: it has 0 on sides, or no derivative there)"));
    }
  return found;
}

/// What the number of modes has wrong for the method.
std::string modes_fault(config::RunConfig const& run, Inputs const& inputs) {
  std::int64_t const modes = parameters_of(run).modes, unknowns = unknowns_of(run, inputs);
  if (modes > unknowns)
    return fmt::format("{} modes are asked for (there are {}, as many as unknowns)", modes,
                       unknowns);
  std::string const method = method_of(run, inputs);
  if (method == "dense" && unknowns > most_dense)
    return fmt::format(
        "{} modes of {} unknowns are for all of the matrix, and dense takes up to {} "
        "unknowns (lobpcg and lanczos find up to {} modes)",
        modes, unknowns, most_dense, eigen::most_modes);
  if (method != "dense" && modes > eigen::most_modes)
    return fmt::format("{} finds up to {} modes (dense finds all)", method, eigen::most_modes);
  return {};
}

/// Keys that are for other methods, or for grids or matrices alone.
std::vector<Problem> key_problems(config::RunConfig const& run, Inputs const& inputs) {
  std::vector<Problem> found;
  auto const& parameters = parameters_of(run);
  bool const iterates = method_of(run, inputs) != "dense";
  Parameters const other;
  auto const names = [&](std::string const& family) { return run.kernels.at(family) != "auto"; };
  struct Key {
    std::string name;
    bool is_asked, is_of_use;
    std::string_view why;
  };
  bool const is_auto = parameters.method == "auto";
  std::string_view const at_once =
      is_auto ? "is for iterations (auto takes dense here, which transforms all of the matrix; "
                "method: lobpcg goes by it)"
              : "is for iterations (dense transforms all of the matrix)";
  Key const keys[] = {
      {"parameters.tolerance", parameters.tolerance != other.tolerance, iterates, at_once},
      {"parameters.iterations", parameters.iterations != other.iterations, iterates, at_once},
      {"parameters.preconditioner", parameters.preconditioner != other.preconditioner, iterates,
       at_once},
      {"kernels.eigen", names("eigen"), !iterates, "is for the method dense"},
      {"kernels.multigrid", names("multigrid"), run.has_grid && has_preconditioner(run, inputs),
       "is for the preconditioner of smallest eigenvalues on a grid"},
      {"kernels.sparse", names("sparse"), !run.has_grid, "is for matrices"}};
  for (Key const& key : keys)
    if (key.is_asked && !key.is_of_use)
      found.push_back(run.problem(run.location(key.name), std::string(key.why)));
  return found;
}

}  // namespace

std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  std::vector<Problem> found;
  auto const examine = [&](auto const& find) {
    try {
      find();
    } catch (ConfigError const& error) {
      found.insert(found.end(), error.problems().begin(), error.problems().end());
    }
  };
  if (run.has_grid) {
    found = side_problems(run);
    for (FieldSource const* source : {&parameters.diffusivity, &parameters.reaction})
      examine([&] {
        if (auto const fault = shape_fault(run, *source, inputs); !fault.empty())
          found.push_back(run.problem(source->location, fault));
      });
  } else {
    examine([&] {
      if (auto const [rows, fault] = rows_of(parameters, inputs); !fault.empty())
        found.push_back(run.problem(parameters.matrix.location, fault));
    });
  }
  if (!found.empty()) return found;
  if (run.has_grid) {
    examine([&] { diffusivities_of(run, inputs); });
    examine([&] { reactions_of(run, inputs); });
  }
  if (auto const fault = modes_fault(run, inputs); !fault.empty())
    found.push_back(run.problem(run.location("parameters.modes"), fault));
  auto const more = key_problems(run, inputs);
  found.insert(found.end(), more.begin(), more.end());
  return found;
}

}  // namespace gridstride::eigenvalues
