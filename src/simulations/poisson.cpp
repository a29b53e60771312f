// Poisson's and Helmholtz' equation:
//
//   −∇·(a∇u) + κu = f      on a uniform grid in 1 to 3 dimensions,
//
// with u = g (dirichlet), ∂u/∂n = g (neumann, n outward) or periodic sides, in second-order central
// differences; a is averaged at the faces between points. Solved at once by `direct`, elimination
// along a line with any a and κ, or by `fft`, division between two transforms that have the modes of
// the differences, where a and κ are the same everywhere, and elimination between two along all axes
// but that on which they depend; to a tolerance by `multigrid`, `mg_cg` and `cg`, or the textbook's
// `jacobi`, `gauss_seidel` and `sor`, with any a, and κ that is not negative; where a jumps so that no
// coarser grid has the equations by `amg_cg`, whose levels are found from the matrix. Where constants solve
// the equation without a source, the source has to be in balance with the sides, and the mean of u is
// fixed. Where a, κ or f depend on u it is `newton` (poisson_newton.cpp).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "kernels/families.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/poisson/aggregation.hpp"
#include "kernels/poisson/conjugate.hpp"
#include "kernels/poisson/layers.hpp"
#include "kernels/poisson/poisson.hpp"
#include "kernels/poisson/transform.hpp"
#include "kernels/stencil/stencil.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/values.hpp"
#include "simulations/poisson_iterations.hpp"
#include "simulations/poisson_line.hpp"
#include "simulations/poisson_newton.hpp"
#include "simulations/poisson_parameters.hpp"
#include "simulations/poisson_ranks.hpp"

namespace gridstride {

namespace {

using poisson::Equation;
using poisson::Parameters;
using poisson::parameters_of;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Of a backward error, or what an eigenvalue is of the largest: above it, or below, rounding alone
/// may change a solution by a thousandth.
template <class T>
constexpr double roundings = 1024 * double{std::numeric_limits<T>::epsilon()};

std::vector<Row> poisson_rows(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  std::vector<Row> rows = {evolved(run, "u", 1), coefficient(run, "source", parameters.source),
                           coefficient(run, "diffusivity", parameters.diffusivity),
                           coefficient(run, "reaction", parameters.reaction)};
  if (poisson::method_of(run) == "direct") {
    int const of_float64 = run.precision == Precision::float32 ? 2 : 1;
    rows.push_back(scratch(run, "solver", poisson::LineSolver<double>::arrays * of_float64));
  }
  rows[0].saved = false;
  rows[1].arrays = 1;  // what sides come to is added to it
  add_sides(rows, run, "u", find_scheme("euler"));
  return rows;
}

std::optional<SweepPlan> plan_of(config::RunConfig const& run, Device const& device) {
  return poisson::plan_of_ranks(run, device, poisson_rows(run));
}

MemoryForecast poisson_memory(config::RunConfig const& run, Inputs const&, Backend backend) {
  if (poisson::method_of(run) == "newton") return poisson::nonlinear_memory(run, backend);
  if (run.ranks > 1) {
    Device const device = Device::open(backend, run.device.ordinal);
    return poisson::memory_of_ranks(run, device, poisson_rows(run), *plan_of(run, device));
  }
  auto result = forecast(run, poisson_rows(run));
  if (poisson::method_of(run) == "fft") {
    auto const shape = poisson::transform_shape(run.grid, poisson::sides_of(run)).shape;
    result.other_bytes += poisson::transform_bytes(backend, shape, size_of(run.precision));
    if (auto const axis = poisson::eliminated_axis(run))
      result.other_bytes +=
          poisson::LayerSolver<double>::bytes(backend, run.grid, poisson::sides_of(run), *axis);
  }
  if (poisson::has_conjugates(run)) {
    auto const conjugates = poisson::conjugates_of(run);
    result.other_bytes +=
        poisson::conjugate_bytes(run.grid, poisson::has_fields(run), conjugates.inner) +
        (conjugates.aggregates ? poisson::aggregation_bytes(run.grid) : 0);
  }
  if (poisson::has_cycles(run))
    result.other_bytes +=
        multigrid::solver_bytes(backend, run.grid, poisson::sides_of(run), poisson::has_fields(run),
                                run.precision, poisson::cycles_of(run));
  return result;
}

template <class T>
class Poisson final : public OneShot {
 public:
  Poisson(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override { return state_->fields(); }
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override {
    std::vector<NamedText> texts = {{"method", went_on() ? "amg_cg after mg_cg" : method_}};
    if (auto const* line = std::get_if<Line>(&solver_))
      texts.push_back({"tridiagonal", std::string(line->variant())});
    if (eliminated_)
      texts.push_back(
          {"elimination along", std::string(axis_names[static_cast<std::size_t>(*eliminated_)])});
    if (relaxes())
      texts.push_back({"relaxation", fmt::format("{:.6g}", options_.factor)});
    else if (auto const* cycles = std::get_if<Cycles>(&solver_))
      texts.push_back({"corrections in", std::string(name_of(cycles->inner()))});
    if (conjugated_ && !went_on()) texts.push_back({"directions in", std::string(name_of(inner_))});
    if (part_)
      for (auto& text : part_->texts()) texts.push_back(std::move(text));
    if (part_ && method_ == "fft" && stream_.backend() == Backend::cuda)
      texts.push_back({"columns", std::string(columns_by())});
    return texts;
  }
  std::vector<Table> tables() const override;
  std::string shortfall() const override;
  std::vector<std::string> fallbacks() const override {
    auto all = state_->fallbacks();
    if (!remark_.empty()) all.push_back(remark_);
    return all;
  }

 private:
  using Line = poisson::LineSolver<T>;
  using Transform = poisson::TransformSolver<T>;
  using Layers = poisson::LayerSolver<T>;
  using Cycles = multigrid::Solver<T>;
  using Conjugates = poisson::ConjugateSolver<T>;

  void compute() override;
  void go_on();
  bool went_on() const { return spare_ && conjugated_; }
  void load(config::RunConfig const& run, Inputs const& inputs);
  void impose(config::RunConfig const& run, poisson::SideValues<T> const& values);
  void require_finite(config::RunConfig const& run);
  void require_balance(config::RunConfig const& run);
  void require_no_resonance(config::RunConfig const& run);
  void check();
  int solves() const {
    auto const* const line = std::get_if<Line>(&solver_);
    if (conjugated_) return static_cast<int>(conjugated_->iterations);
    return outcome_ ? outcome_->cycles : line == nullptr ? 1 : line->solves();
  }
  std::string_view columns_by() const {
    auto const* const layers = std::get_if<Layers>(&solver_);
    return layers != nullptr ? layers->transport() : std::get<Transform>(solver_).transport();
  }
  bool relaxes() const { return options_.relaxation != multigrid::Relaxation::none; }
  std::span<T> u() { return part_ ? part_->u() : (*state_)["u"].span(); }
  std::span<T> right() { return (*state_)["source"].span(); }

  std::string method_;
  poisson::Coefficients coefficients_;
  bool is_given_;  // u on some side
  double mean_;
  std::optional<State<T>> state_;
  std::optional<poisson::RankPart<T>> part_;  // of several ranks
  Equation<T> equation_;
  std::optional<int> eliminated_;  // an axis, of several
  bool goes_by_cycles_;            // of multigrid, or relaxations
  std::variant<std::monostate, Line, Transform, Layers, Cycles, Conjugates> solver_;
  std::optional<multigrid::Outcome> outcome_;       // of cycles and relaxations
  multigrid::Options options_;                      // of those
  std::optional<krylov::Result> conjugated_;        // of conjugate gradients
  std::optional<poisson::ConjugateOptions> spare_;  // where cycles do not come to the tolerance
  std::string remark_;
  Precision inner_;
  double imbalance_ = unknown;
  double given_ =
      0;  // where the mean is open: mean |f| with its sides, before the imbalance is off
  poisson::Residual residual_{unknown, unknown};
};

template <class T>
Poisson<T>::Poisson(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
    : OneShot(stream, {"read", "solve", "check"}),
      method_(poisson::method_of(run)),
      coefficients_(poisson::shared_coefficients(run, inputs)),
      is_given_(poisson::has_given_side(run)),
      mean_(parameters_of(run).mean.value_or(0)),
      eliminated_(poisson::eliminated_axis(run)),
      goes_by_cycles_(poisson::has_cycles(run)),
      options_(poisson::cycles_of(run)),
      spare_(poisson::spare_of(run)),
      inner_(poisson::conjugates_of(run).inner) {
  times_.measure("read", [&] { load(run, inputs); });
  if (is_given_) require_finite(run);
  if (coefficients_.singular) require_balance(run);
  if (method_ == "direct")
    solver_.template emplace<Line>(stream_, equation_, coefficients_.singular,
                                   !coefficients_.negative);
  else if (poisson::has_conjugates(run))
    solver_.template emplace<Conjugates>(stream_, equation_, coefficients_.singular,
                                         poisson::conjugates_of(run));
  else if (goes_by_cycles_)
    solver_.template emplace<Cycles>(stream_, equation_, coefficients_.singular, options_,
                                     run.kernels.at("multigrid"));
  else if (eliminated_)
    solver_.template emplace<Layers>(stream_, equation_, *eliminated_, coefficients_.singular);
  else
    solver_.template emplace<Transform>(stream_, equation_);
  if (coefficients_.negative) require_no_resonance(run);
}

/// What sides come to is moved to the right-hand side; u has its values on sides where it is given.
template <class T>
void Poisson<T>::load(config::RunConfig const& run, Inputs const& inputs) {
  auto rows = poisson_rows(run);
  if (auto const plan = plan_of(run, stream_.device())) {
    part_.emplace(stream_, run, *plan);
    rows = poisson::rows_of_rank(run, std::move(rows), *plan);
  }
  state_.emplace(stream_, std::move(rows), run, inputs, nullptr);
  auto& state = *state_;
  equation_ = {.grid = run.grid,
               .sides = poisson::sides_of(run),
               .diffusivity = state["diffusivity"].constant(),
               .diffusivities = state["diffusivity"].data(),
               .reaction = state["reaction"].constant(),
               .reactions = state["reaction"].data(),
               .ranks = part_ ? &part_->planes() : nullptr};
  poisson::SideValues<T> values{};
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (int side = 0; side < 2; ++side) values[axis][side] = state.side("u", axis, side);
  impose(run, values);
  poisson::add_sides(stream_, equation_, values, right());
}

template <class T>
void Poisson<T>::impose(config::RunConfig const& run, poisson::SideValues<T> const& values) {
  if (part_) {
    part_->impose(stream_, equation_.sides, values);
    return part_->gather(stream_, (*state_)["u"].span());
  }
  typename stencil::DiffusionStep<T> given{};
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (int side = 0; side < 2; ++side)
      given.sides[axis][side] = {equation_.sides[axis][side], values[axis][side]};
  zero_async(u(), stream_);
  stencil::impose_dirichlet<T>(stream_, run.grid, given.sides, u().data());
}

/// Of corners, which no unknown is beside, nobody else looks at the values.
template <class T>
void Poisson<T>::require_finite(config::RunConfig const& run) {
  std::span<T const> const looked_at = part_ ? part_->own() : u();
  std::int64_t place = first_non_finite<T>(stream_, looked_at, "auto");
  if (part_) place = part_->first_place(place);
  if (place < 0) return;
  throw ConfigError(
      {run.problem(run.location("boundary"),
                   fmt::format("u is not finite at {} in {} (all values have to be finite)",
                               format_place(run.grid, place), name_of(precision_of<T>())))});
}

template <class T>
void Poisson<T>::require_balance(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  auto const found = poisson::integrate(stream_, equation_, right());
  imbalance_ = found.sum / found.volume;
  if (std::abs(found.sum) > parameters.imbalance * found.magnitude)
    throw ConfigError({run.problem(
        parameters.source.location,
        fmt::format("its integral and what flows in through the sides come to {:.6g}, {:.3g} of "
                    "the integral of the magnitudes, and there is a solution only where they come "
                    "to 0 (with a reaction or a side on which u is given there always is one; this "
                    "source less {:.9g} is in balance; parameters.imbalance, {:g}, is how far it "
                    "may be off)",
                    found.sum, std::abs(found.sum) / found.magnitude, imbalance_,
                    parameters.imbalance))});
  poisson::shift(stream_, -imbalance_, right());
  given_ = found.magnitude / found.volume;
  // Of a constant the roundings of its mean are left, and an equation of these means nothing.
  auto const rest = poisson::integrate(stream_, equation_, right());
  double const largest = poisson::measure(stream_, equation_, u(), right()).largest;  // u is 0
  double const rounding = 4 * double{std::numeric_limits<T>::epsilon()} * given_;
  if (largest <= std::abs(rest.sum / rest.volume) + rounding) zero_async(right(), stream_);
}

template <class T>
void Poisson<T>::require_no_resonance(config::RunConfig const& run) {
  std::string fault;
  auto const* const line = std::get_if<Line>(&solver_);
  if (line != nullptr) {
    auto const [norm, eigenvalue] = line->nearest_eigenvalue(stream_, roundings<double>);
    if (eigenvalue) fault = fmt::format("{:.3g}, beside others up to {:.3g}", *eigenvalue, norm);
  } else {
    double const a = equation_.diffusivity, kappa = equation_.reaction;
    double const eigenvalue = poisson::nearest_eigenvalue(run.grid, equation_.sides, a, kappa);
    if (std::abs(eigenvalue) <= roundings<T> * std::abs(kappa))
      fault = fmt::format("{:.3g}, from {:.9g} of the diffusion", eigenvalue, eigenvalue - kappa);
  }
  if (fault.empty()) return;
  throw ConfigError({run.problem(
      parameters_of(run).reaction.location,
      fmt::format("the equations have the eigenvalue {}, too near to 0 in {} (resonance; another "
                  "reaction{} has a solution)",
                  fault, line != nullptr ? "float64" : name_of(precision_of<T>()),
                  sizeof(T) == 4 && line == nullptr ? ", or float64," : ""))});
}

template <class T>
void Poisson<T>::compute() {
  times_.measure("solve", [this] {
    std::visit(
        [this](auto& solver) {
          using Solver = std::decay_t<decltype(solver)>;
          if constexpr (std::is_same_v<Solver, Cycles>)
            outcome_ = solver.solve(stream_, right(), u());
          else if constexpr (std::is_same_v<Solver, Conjugates>)
            conjugated_ = solver.solve(stream_, right(), u());
          else if constexpr (!std::is_same_v<Solver, std::monostate>)
            solver.solve(stream_, right(), u());
        },
        solver_);
    if (spare_ && !outcome_->converged) go_on();
    if (!coefficients_.singular) return;
    auto const found = poisson::integrate(stream_, equation_, u());
    poisson::shift(stream_, mean_ - found.sum / found.volume, u());
  });
  times_.measure("check", [this] { check(); });
  if (part_) part_->gather(stream_, (*state_)["u"].span());
}

/// Where cycles do not help: from the beginning, with what memory they had.
template <class T>
void Poisson<T>::go_on() {
  solver_.template emplace<std::monostate>();
  std::string const lack =
      part_ ? "ranks share no matrix" : poisson::lack_for_spare(stream_, equation_.grid);
  remark_ =
      fmt::format("method: auto took mg_cg, which has not come to the tolerance after {} cycles; ",
                  outcome_->cycles);
  if (!lack.empty()) {
    remark_ += fmt::format("amg_cg has not been tried ({})", lack);
    return;
  }
  remark_ += "amg_cg went on";
  Conjugates solver(stream_, equation_, coefficients_.singular, *spare_);
  conjugated_ = solver.solve(stream_, right(), u());
}

template <class T>
void Poisson<T>::check() {
  if (part_) part_->planes().exchange(stream_, u());
  residual_ = poisson::measure(stream_, equation_, u(), right());
  if (given_ > 0)
    residual_.backward_error = std::min(residual_.backward_error, residual_.largest / given_);
  bool const is_exact = !outcome_ && !conjugated_;
  if (conjugated_ && conjugated_->outcome == krylov::Outcome::not_finite)
    throw NumericalError(fmt::format("poisson: {}", conjugated_->advice));
  if (is_exact && residual_.backward_error > roundings<T>)
    throw NumericalError(fmt::format(
        "poisson: the solution leaves a backward error of {:.2g}, where {} has {:.2g} at most "
        "(coefficients or values on sides differ by too many orders of magnitude)",
        residual_.backward_error, name_of(precision_of<T>()), roundings<T>));
  if (is_given_) return;
  auto const found = poisson::integrate(stream_, equation_, u());
  mean_ = found.sum / found.volume;
}

template <class T>
std::vector<NamedValue> Poisson<T>::diagnostics() const {
  std::vector<NamedValue> values = {{"residual", residual_.largest},
                                    {"backward_error", residual_.backward_error},
                                    {"mean", is_given_ ? unknown : mean_},
                                    {"imbalance", imbalance_},
                                    {"solves", static_cast<double>(solves())}};
  if (goes_by_cycles_) {
    values.push_back({"estimated_error", outcome_ && !went_on() ? outcome_->error : unknown});
    values.push_back({"factor", outcome_ ? outcome_->factor() : unknown});
  }
  if (std::holds_alternative<Conjugates>(solver_) || spare_)
    values.push_back({"relative_residual", conjugated_ ? conjugated_->residual_norm : unknown});
  auto const times = OneShot::diagnostics();
  values.insert(values.end(), times.begin(), times.end());
  return values;
}

template <class T>
std::vector<Table> Poisson<T>::tables() const {
  if (std::holds_alternative<Conjugates>(solver_))
    return {poisson::iterations_table(conjugated_.value_or(krylov::Result{}))};
  if (!goes_by_cycles_) return {};
  std::vector<Table> all = {poisson::iterations_table(outcome_.value_or(multigrid::Outcome{}))};
  if (spare_)
    all.push_back(poisson::iterations_table(conjugated_.value_or(krylov::Result{}), "amg_cg"));
  return all;
}

template <class T>
std::string Poisson<T>::shortfall() const {
  if (conjugated_)
    return poisson::shortfall_of(*conjugated_, spare_ ? "amg_cg" : method_, options_.tolerance);
  if (!outcome_ || outcome_->converged) return {};
  return poisson::shortfall_of(*outcome_, method_, options_);
}

std::vector<Problem> poisson_problems(config::RunConfig const& run, Inputs const& inputs) {
  auto const refusal = run.ranks > 1 ? poisson::refusal_of_ranks(run) : std::string();
  if (!refusal.empty()) return {run.problem(run.location("parameters.method"), refusal)};
  return poisson::problems(run, inputs);
}

std::string_view modes_of(std::array<SideKind, 2> const& sides) {
  if (sides[0] == SideKind::periodic) return "waves";
  return sides[0] == SideKind::dirichlet ? "sines" : "cosines";
}

std::vector<std::string> poisson_report(config::RunConfig const& run, Inputs const& inputs,
                                        Device const&) {
  std::string const method = poisson::method_of(run);
  if (method == "newton") return poisson::nonlinear_report(run);
  auto const sides = poisson::sides_of(run);
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(run.grid.dims); ++axis) {
    bool const eliminates =
        method == "direct" || poisson::eliminated_axis(run) == static_cast<int>(axis);
    parts.push_back(fmt::format("{} along {}", eliminates ? "elimination" : modes_of(sides[axis]),
                                axis_names[axis]));
  }
  if (poisson::is_iterative(run)) parts = poisson::iteration_parts(run);
  std::vector<std::string> lines = {fmt::format("{}: {}", method, fmt::join(parts, ", "))};
  if (poisson::coefficients_of(run, inputs).singular)
    lines.push_back(fmt::format("u is open by a constant, which its mean settles: {}",
                                parameters_of(run).mean.value_or(0)));
  return lines;
}

std::unique_ptr<Simulation> make_poisson(config::RunConfig const& run, Stream const& stream,
                                         Inputs const& inputs) {
  if (poisson::method_of(run) == "newton") return poisson::make_nonlinear(run, stream, inputs);
  return make_simulation<Poisson>(run, stream, inputs);
}

}  // namespace

SimulationEntry poisson_entry() {
  config::SimulationInfo info;
  info.name = "poisson";
  info.summary =
      "Poisson's and Helmholtz' equation: -div(diffusivity grad u) + reaction u = source";
  info.fields = {{"u", "1", "a potential, or any quantity that has settled"}};
  info.kernels = {{"evaluate", variant_names("evaluate")},
                  {"multigrid", variant_names("multigrid")}};
  info.has_time = false;
  info.takes_ranks = true;
  info.variables = std::span(expression::space_and_time).first(3);
  auto row = entry<Poisson, Parameters>({.info = info,
                                         .memory = poisson_memory,
                                         .problems = poisson_problems,
                                         .report = poisson_report});
  row.make = make_poisson;
  return row;
}

}  // namespace gridstride
