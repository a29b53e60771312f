#include "simulations/poisson_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "config/file_source.hpp"
#include "core/csr.hpp"
#include "kernels/poisson/layers.hpp"
#include "model/values.hpp"

namespace gridstride::poisson {

using config::FieldSource;
using config::Visitor;

FieldSource Parameters::number(std::string_view text) {
  FieldSource source;
  source.formula = {std::string(text), expression::Expression::parse(std::string(text)), {}};
  return source;
}

namespace {

/// What formulas of the equation may depend on.
constexpr expression::Variable with_u[] = {
    {"x", 0}, {"y", 1}, {"z", 2}, {"u", expression::first_array}};

}  // namespace

bool is_nonlinear(Parameters const& parameters) {
  for (FieldSource const* source :
       {&parameters.diffusivity, &parameters.reaction, &parameters.source})
    if (source->formula.expression.depends_on(expression::first_array)) return true;
  return false;
}

void Parameters::fields(Visitor& visitor, config::RunOptions const& run) {
  auto const folder = run.file.parent_path();
  using config::Presence;
  visitor.variables(with_u);
  config::declare_formula_or_field(
      visitor,
      {.name = "diffusivity",
       .unit = "1",
       .documentation =
           "a of -div(a grad u) + kappa u = f: positive everywhere. Formulas of all three may "
           "depend on u; then it is solved by Newton's method.",
       .minimum = 0,
       .exclusive_minimum = true,
       .variables = "xyzu"},
      Presence::optional, folder, diffusivity);
  config::declare_formula_or_field(
      visitor,
      {.name = "reaction",
       .unit = "1/m^2",
       .documentation = "kappa of the same: 0 for Poisson's equation; below 0 only away "
                        "from the eigenvalues of -div(a grad u) + kappa u.",
       .variables = "xyzu"},
      Presence::optional, folder, reaction);
  config::declare_formula_or_field(
      visitor,
      {.name = "source", .unit = "1/m^2", .documentation = "f of the same.", .variables = "xyzu"},
      Presence::required, folder, source);
  visitor.variables(run.simulation->variables);
  visitor.visit({.name = "mean",
                 .documentation = "The mean of u over the grid where the equation leaves it open: "
                                  "without a reaction, and with no side on which u is given; "
                                  "`auto` is 0 there."},
                mean, "auto");
  visitor.visit({.name = "imbalance",
                 .documentation =
                     "Where the mean is open, the integral of f and of what flows in through the "
                     "sides has to be 0. So far it may be from that, as a share of the integral of "
                     "the magnitudes; what is left of it is taken off f.",
                 .minimum = 0,
                 .maximum = 1},
                imbalance);
  constexpr config::Choice methods[] = {
      {"auto",
       "`direct` along a line, else `fft` where it takes the coefficients, else `mg_cg`, and "
       "`amg_cg` where that has not come to the tolerance after 100 cycles; `newton` where a "
       "formula "
       "depends on u"},
      {"direct", "elimination along a line, with any diffusivity and reaction"},
      {"fft",
       "Fourier, sine and cosine transforms, with the same diffusivity and reaction everywhere; "
       "elimination along one axis of several where they vary along that one"},
      {"multigrid",
       "cycles through coarser and coarser grids, with any diffusivity and any reaction that is "
       "not "
       "negative, to a tolerance"},
      {"mg_cg",
       "conjugate gradients with a cycle for each direction: the same, and where coefficients jump "
       "by orders of magnitude"},
      {"jacobi",
       "the textbook's, for comparison: all points at once go to where their equation has them; "
       "coefficients as multigrid takes them"},
      {"gauss_seidel", "the same by points in two colours, one after the other"},
      {"sor", "the same, and further by `relaxation`"},
      {"cg",
       "conjugate gradients, with the same coefficients as multigrid, to a tolerance: many light "
       "iterations, as many as a side has points and more"},
      {"amg_cg",
       "the same with a cycle of algebraic multigrid for each direction, for which there is a "
       "matrix in memory, some 500 bytes a point: where coefficients jump from point to point so "
       "that cycles of multigrid do not help"},
      {"newton",
       "Newton's method, with GMRES and cycles for its linear equations, where coefficients or the "
       "source depend on u, to a tolerance"}};
  visitor.choice({.name = "method", .documentation = "How the equation is solved."}, methods,
                 method);
  visitor.visit(
      {.name = "tolerance",
       .documentation = "Methods with iterations end where the error that is left to be "
                        "expected in u is at most so much of it, and what is left of the "
                        "right-hand side so much of that, or what roundings make of it "
                        "(the largest values of all; `cg` and `amg_cg` look at the right-hand "
                        "side alone, root of squares); `auto` is 1e-10.",
       .minimum = 1e-15,
       .maximum = 0.1},
      tolerance, "auto");
  visitor.visit(
      {.name = "iterations",
       .documentation = "Methods with iterations make so many at most; a run that would "
                        "need more writes what it has, and fails; `auto` is 100 cycles, "
                        "10000 iterations of cg and amg_cg, 100000 relaxations, or 50 steps "
                        "of Newton's method.",
       .minimum = 1,
       .maximum = 1e6},
      iterations, "auto");
  constexpr config::Choice cycles[] = {
      {"full",
       "first from the coarsest grid up, each beginning with what the coarser one has; then v"},
      {"v", "each grid once on the way down and up"},
      {"w", "each coarser grid twice as often"}};
  visitor.choice(
      {.name = "cycle", .documentation = "How `multigrid` and `mg_cg` go through their grids."},
      cycles, cycle);
  visitor.visit(
      {.name = "relaxation",
       .documentation = "How far `sor` and `jacobi` go, of the way to where the equation "
                        "of a point has it: less than 2 times, `jacobi` 1 at most. `auto` "
                        "of `sor` is what ends soonest where coefficients are the same "
                        "everywhere, of `jacobi` 1, and 0.9 where the mean is open.",
       .minimum = 0,
       .maximum = 2,
       .exclusive_minimum = true},
      relaxation, "auto");
  constexpr config::Choice inners[] = {
      {"auto", "the precision of the run"},
      {"float32", "half of the bytes; what is left of the right-hand side is found in float64"},
      {"float64", "all in float64"}};
  visitor.choice(
      {.name = "inner",
       .documentation = "In which `cg` carries its directions and residuals along. u and "
                        "what is left of the right-hand side are kept in float64."},
      inners, inner);
  config::declare_formula_or_field(
      visitor,
      {.name = "start",
       .documentation = "Where Newton's method begins; if it is left out, with what a = 1 makes of "
                        "the sides alone. Of several solutions it is one nearby that is found."},
      Presence::optional, folder, start);
  check_method(visitor, run);
}

namespace {

/// Along which axes the coefficients vary, which are formulas.
std::vector<int> varying_axes(Parameters const& parameters) {
  std::vector<int> axes;
  for (int axis = 0; axis < 3; ++axis)
    if (parameters.diffusivity.formula.expression.depends_on(axis) ||
        parameters.reaction.formula.expression.depends_on(axis))
      axes.push_back(axis);
  return axes;
}

std::string method_for(Parameters const& parameters, std::size_t axes) {
  if (parameters.method != "auto") return parameters.method;
  if (is_nonlinear(parameters)) return "newton";
  if (axes == 1) return "direct";
  bool const from_files = !parameters.diffusivity.file.empty() || !parameters.reaction.file.empty();
  return from_files || varying_axes(parameters).size() > 1 ? "mg_cg" : "fft";
}

}  // namespace

void Parameters::check_method(Visitor& visitor, config::RunOptions const& run) {
  std::size_t const axes = run.grid_options.points.size();
  std::string const solver = method_for(*this, axes);
  if (solver == "direct" && axes > 1)
    visitor.fault("method",
                  fmt::format("direct solves along a line (grid.points has {} entries)", axes));
  if (is_nonlinear(*this) && solver != "newton")
    visitor.fault("method", fmt::format("{} is for linear equations (a coefficient or the source "
                                        "depends on u, and newton takes them)",
                                        solver));
  if (is_nonlinear(*this) && run.constants.contains("u"))
    visitor.fault(
        "method",
        "formulas of the equation depend on u, the field, and there is a constant of that "
        "name (which may be called differently)");
  if (solver != "newton" && (!start.file.empty() || !start.formula.text.empty()))
    visitor.fault("start", fmt::format("is of newton (method is {})", solver));
  if (inner != "auto" && solver != "cg")
    visitor.fault(
        "inner",
        fmt::format("is for cg ({} chooses by itself in which precision it computes)", solver));
  if (solver != "direct" && solver != "fft" && solver != "cg" && solver != "amg_cg")
    for (auto const count : run.grid_options.points)
      if (count > multigrid::most_points_of_axis)
        visitor.fault("method",
                      fmt::format("{} takes at most {} points along an axis (there are {}; "
                                  "cg takes as many as memory does)",
                                  solver, multigrid::most_points_of_axis, count));
  double points = 1;
  for (auto const count : run.grid_options.points) points *= static_cast<double>(count);
  if (solver == "amg_cg" && points > static_cast<double>(most_sparse_rows))
    visitor.fault("method", "amg_cg has a matrix with a row for each point, of at most 2147483647");
  if (cycle != "full" && solver != "multigrid" && solver != "mg_cg")
    visitor.fault("cycle", fmt::format("is of multigrid and mg_cg (method is {})", solver));
  if (iterations && (solver == "direct" || solver == "fft"))
    visitor.fault("iterations", fmt::format("is for iterations ({} solves at once)", solver));
  if (iterations && *iterations != std::floor(*iterations))
    visitor.fault("iterations", fmt::format("{} is no whole number", *iterations));
  if (relaxation && solver != "sor" && solver != "jacobi")
    visitor.fault("relaxation", fmt::format("is of sor and jacobi (method is {})", solver));
  else if (relaxation && solver == "sor" && *relaxation >= 2)
    visitor.fault("relaxation", "lets errors grow (sor needs less than 2)");
  else if (relaxation && solver == "jacobi" && *relaxation > 1)
    visitor.fault("relaxation",
                  fmt::format("{} may let errors grow (jacobi needs 1 at most)", *relaxation));
  if (solver != "fft" || axes == 0) return;
  std::pair<std::string_view, FieldSource const*> const coefficients[] = {
      {"diffusivity", &diffusivity}, {"reaction", &reaction}};
  bool const same_axis = varying_axes(*this).size() == 1;
  for (auto const& [key, source] : coefficients) {
    if (is_constant(*source)) continue;
    if (axes == 1)
      visitor.fault(key, "varies, and fft needs the same everywhere (method: direct takes others)");
    else if (!source->file.empty())
      visitor.fault(key, "comes from a file (of several axes fft takes a formula of one at most)");
    else if (!same_axis)
      visitor.fault(key,
                    "diffusivity and reaction vary along several axes (fft takes one at most, the "
                    "same for both)");
  }
}

std::optional<int> layers_of(config::RunConfig const& run) {
  auto const axes = varying_axes(parameters_of(run));
  if (run.grid.dims < 2 || axes.empty()) return std::nullopt;
  return axes.front();
}

std::string method_of(config::RunConfig const& run) {
  return method_for(parameters_of(run), static_cast<std::size_t>(run.grid.dims));
}

bool has_cycles(config::RunConfig const& run) {
  std::string const method = method_of(run);
  return method == "multigrid" || method == "mg_cg" ||
         relaxation_of(run) != multigrid::Relaxation::none;
}

multigrid::Relaxation relaxation_of(config::RunConfig const& run) {
  std::string const method = method_of(run);
  return method == "jacobi"                            ? multigrid::Relaxation::jacobi
         : method == "sor" || method == "gauss_seidel" ? multigrid::Relaxation::in_turn
                                                       : multigrid::Relaxation::none;
}

bool is_iterative(config::RunConfig const& run) { return has_cycles(run) || has_conjugates(run); }

bool has_conjugates(config::RunConfig const& run) {
  std::string const method = method_of(run);
  return method == "cg" || method == "amg_cg";
}

bool has_fields(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  return !is_constant(parameters.diffusivity) || !is_constant(parameters.reaction);
}

namespace {

/// Without a given value and a reaction Jacobi's method turns a chessboard's signs forever. Of fields
/// `sor` has the factor of the same coefficients everywhere, which `problems` proposes.
double usual_factor(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  double const reaction =
      is_constant(parameters.reaction) ? parameters.reaction.formula.expression.evaluate(0) : 0;
  std::string const method = method_of(run);
  if (method == "gauss_seidel") return 1;
  if (method == "jacobi") return reaction == 0 && !has_given_side(run) ? 0.9 : 1;
  double const a = is_constant(parameters.diffusivity)
                       ? parameters.diffusivity.formula.expression.evaluate(0)
                       : 1;
  return multigrid::optimal_factor(run.grid, sides_of(run), a, std::max(reaction, 0.0));
}

}  // namespace

multigrid::Options cycles_of(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  multigrid::Options options;
  options.cycle = parameters.cycle == "v"   ? multigrid::Cycle::v
                  : parameters.cycle == "w" ? multigrid::Cycle::w
                                            : multigrid::Cycle::full;
  options.conjugates = method_of(run) == "mg_cg";
  options.tolerance = parameters.tolerance.value_or(options.tolerance);
  options.relaxation = relaxation_of(run);
  bool const relaxes = options.relaxation != multigrid::Relaxation::none;
  options.most_cycles = static_cast<int>(parameters.iterations.value_or(relaxes ? 100000 : 100));
  if (relaxes) options.factor = parameters.relaxation.value_or(usual_factor(run));
  return options;
}

ConjugateOptions conjugates_of(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  ConjugateOptions options;
  options.tolerance = parameters.tolerance.value_or(options.tolerance);
  if (parameters.iterations) options.iterations = static_cast<std::int64_t>(*parameters.iterations);
  options.aggregates = method_of(run) == "amg_cg";
  bool const is_rounded = parameters.inner == "auto" ? run.precision == Precision::float32
                                                     : parameters.inner == "float32";
  options.inner = is_rounded && !options.aggregates ? Precision::float32 : Precision::float64;
  return options;
}

std::optional<int> eliminated_axis(config::RunConfig const& run) {
  auto const& reaction = parameters_of(run).reaction;
  if (method_of(run) != "fft") return std::nullopt;
  if (auto const layers = layers_of(run)) return layers;
  bool const negative = reaction.formula.expression.evaluate(0) < 0;
  return negative ? std::nullopt : faster_eliminated(run.grid, sides_of(run));
}

Sides sides_of(config::RunConfig const& run) {
  Sides sides{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t side = 0; side < 2; ++side)
      sides[axis][side] = run.sides_of("u")[axis][side].kind;
  return sides;
}

bool has_given_side(config::RunConfig const& run) {
  auto const sides = sides_of(run);
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (SideKind const kind : sides[static_cast<std::size_t>(axis)])
      if (kind == SideKind::dirichlet) return true;
  return false;
}

}  // namespace gridstride::poisson
