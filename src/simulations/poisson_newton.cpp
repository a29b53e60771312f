// −∇·(a(u)∇u) + r(u) = 0 with r = κ·u − f, by the method of Newton and Krylov:
//
//   J(u)·δ = ∇·(a∇u) − r,   u ← u + λ·δ,   J(u)·δ = −∇·(a∇δ) − ∇·(∂a/∂u·δ∇u) + ∂r/∂u·δ
//
// J is that of the differences, exactly: formulas are differentiated by the rules of calculus. δ is found
// by GMRES, with a cycle of multigrid for −∇·(a∇δ) + max(∂r/∂u, 0)·δ as the preconditioner, to a
// tolerance that shrinks with the residual, so that convergence is quadratic near the end (Dembo,
// Eisenstat and Steihaug, SIAM J. Numer. Anal. 19 (1982)). λ is the first of 1, 1/2, 1/4, … that makes
// the residual smaller and leaves a positive.
//
// On Neumann sides 2/h·a·g is a part of r. All of it is in float64, whatever the run's precision is; the
// right-hand side of J·δ is made as large as J by a power of two, so that what cycles take is near 1.

#include "simulations/poisson_newton.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "expression/transform.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/krylov/krylov.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "kernels/multigrid/nonlinear.hpp"
#include "kernels/poisson/poisson.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/stencil/stencil.hpp"
#include "model/one_shot.hpp"
#include "model/values.hpp"
#include "simulations/poisson_parameters.hpp"

namespace gridstride::poisson {
namespace {

using expression::Expression;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double few_roundings = 8 * std::numeric_limits<double>::epsilon();
constexpr int vectors_kept = 12;  // by GMRES

/// The arrays that formulas are of, after u.
enum Given { own_u, of_diffusivity, of_reaction, of_source, of_sides, given_count };

Expression array_of(Given which) { return Expression::variable(expression::first_array + which); }

/// A formula, or the array that a file has filled.
Expression formula_of(config::FieldSource const& source, Given file) {
  return source.file.empty() ? source.formula.expression : array_of(file);
}

bool has_neumann(config::RunConfig const& run) {
  auto const sides = sides_of(run);
  bool any = false;
  for (int axis = 0; axis < run.grid.dims; ++axis)
    for (SideKind const kind : sides[static_cast<std::size_t>(axis)])
      any = any || kind == SideKind::neumann;
  return any;
}

/// a and r = κ·u − f, and what they change by with u.
struct Formulas {
  explicit Formulas(Parameters const& parameters, bool of_slopes = false)
      : a(formula_of(parameters.diffusivity, of_diffusivity)),
        r(formula_of(parameters.reaction, of_reaction) * array_of(own_u) -
          formula_of(parameters.source, of_source)) {
    if (of_slopes) r = r - a * array_of(of_sides);
    constexpr int u = expression::first_array + own_u;
    slope_of_a = expression::simplified(expression::derivative(a, u));
    slope_of_r = expression::simplified(expression::derivative(r, u));
  }
  Expression a, r, slope_of_a, slope_of_r;
};

/// A slope, and 0 where it is infinite or 0·∞, as those of roots and powers at 0: the next step goes
/// without it there. What is solved does not depend on it.
Expression where_finite(Expression const& slope) {
  if (std::ranges::none_of(slope.nodes(), [](expression::Node const& node) {
        using enum expression::Operation;
        return node.operation == sqrt || node.operation == cbrt || node.operation == power;
      }))
    return slope;
  auto const is_finite =
      expression::apply(expression::Operation::equal, slope - slope, Expression(0));
  return expression::apply(expression::Operation::select, is_finite, slope, Expression(0));
}

/// What Newton's method has come to.
struct Course {
  bool converged = false;
  std::vector<std::int64_t> inner = {0};
  std::vector<double> residuals, corrections = {0}, parts = {0};
  double magnitude = 0;  ///< of what residuals are made of
  double value = 0;      ///< the largest |u|
  double size = 0;       ///< the largest of these, and of changes, so far
  std::string end;       ///< why there was no further step

  std::size_t steps() const { return residuals.empty() ? 0 : residuals.size() - 1; }
  /// The last change, beside u; where u has come to be 0, beside what it was.
  double last_change() const {
    double const change = corrections.back();
    return change == 0 ? 0 : change / (value > 0 ? value : size);
  }
  /// A change that is small beside u; where u comes to be 0, beside what it was, and twice as much so.
  bool is_small(double change, double now, double tolerance) const {
    return change <= tolerance * now || change <= tolerance * tolerance * size;
  }
  /// What is left is rounding.
  bool is_rounding(double residual) const { return residual <= few_roundings * magnitude; }
};

/// δ is `unit` times what is in the array.
struct Direction {
  krylov::Result result;
  double unit = 1;
};

std::vector<Row> nonlinear_rows(config::RunConfig const& run) {
  std::vector<Row> rows = {evolved(run, "u", 1)};
  rows[0].saved = false;
  add_sides(rows, run, "u", find_scheme("euler"));
  return rows;
}

/// Arrays of float64 beside those.
struct Work {
  explicit Work(config::RunConfig const& run) {
    auto const& parameters = parameters_of(run);
    files[of_diffusivity] = !parameters.diffusivity.file.empty();
    files[of_reaction] = !parameters.reaction.file.empty();
    files[of_source] = !parameters.source.file.empty();
    files[of_sides] = has_neumann(run);
  }
  std::array<bool, given_count> files = {};
  /// u and where it is tried, residual, direction, a, r, their slopes, and the reaction of cycles.
  static constexpr int own = 9;
  int arrays() const { return own + static_cast<int>(std::ranges::count(files, true)); }
};

template <class T>
class Nonlinear final : public OneShot {
 public:
  Nonlinear(config::RunConfig const& run, Stream const& stream, Inputs const& inputs);

  std::vector<Field> fields() const override { return state_.fields(); }
  std::vector<NamedValue> diagnostics() const override;
  std::vector<NamedText> chosen() const override {
    return {{"method", "newton"}, {"linear equations", "gmres, cycles of multigrid"}};
  }
  std::vector<Table> tables() const override;
  std::string shortfall() const override;
  std::vector<std::string> fallbacks() const override { return state_.fallbacks(); }

 private:
  void compute() override;
  void load(config::RunConfig const& run, Inputs const& inputs);
  void begin(config::RunConfig const& run, Inputs const& inputs);
  void finish();
  multigrid::Defect find_defect(std::span<double const> u);
  void linearise();
  Direction find_direction();
  bool take_step(Direction const& direction);
  void evaluate(Expression const& formula, std::span<double const> u, std::span<double> result) {
    evaluate::Program const program(stream_, formula, variant_);
    std::array<evaluate::ArrayView, given_count> arrays;
    arrays.fill({u.data()});
    for (std::size_t i = 1; i < arrays.size(); ++i)
      if (given_[i].size() > 0) arrays[i] = {given_[i].data()};
    evaluate::evaluate<double>(
        stream_, program, grid_, nullptr, 0, result,
        std::span(arrays).first(static_cast<std::size_t>(program.array_count())));
  }
  multigrid::NonlinearEquation equation_of(std::span<double const> u) const {
    return {grid_, sides_, u.data(), a_.data(), r_.data()};
  }

  State<T> state_;
  Grid grid_;
  Sides sides_;
  bool is_given_;
  double tolerance_;
  std::int64_t most_;
  std::string variant_, cycle_variant_;
  std::array<Buffer<double>, given_count> given_;
  Formulas formulas_;
  Buffer<double> u_, tried_, residual_, direction_, a_, r_, d_, s_, held_;
  std::optional<multigrid::Solver<double>> cycles_;
  Course course_;
  double mean_ = unknown;
};

template <class T>
Nonlinear<T>::Nonlinear(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
    : OneShot(stream, {"read", "solve", "check"}),
      state_(stream_, nonlinear_rows(run), run, inputs, nullptr),
      grid_(run.grid),
      sides_(sides_of(run)),
      is_given_(has_given_side(run)),
      tolerance_(parameters_of(run).tolerance.value_or(1e-10)),
      most_(static_cast<std::int64_t>(parameters_of(run).iterations.value_or(50))),
      variant_(run.kernels.at("evaluate")),
      cycle_variant_(run.kernels.at("multigrid")),
      formulas_(parameters_of(run), has_neumann(run)) {
  auto const size = static_cast<std::size_t>(grid_.size());
  for (auto* const buffer : {&u_, &tried_, &residual_, &direction_, &a_, &r_, &d_, &s_, &held_})
    *buffer = {stream_, MemorySpace::device, size};
  Work const work(run);
  for (std::size_t i = 0; i < given_.size(); ++i)
    if (work.files[i]) given_[i] = {stream_, MemorySpace::device, size};
  times_.measure("read", [&] { load(run, inputs); });
  times_.measure("read", [&] { begin(run, inputs); });
}

/// Files, and 2/h·g of Neumann sides where u is not given.
template <class T>
void Nonlinear<T>::load(config::RunConfig const& run, Inputs const& inputs) {
  auto const& parameters = parameters_of(run);
  std::pair<Given, config::FieldSource const*> const files[] = {
      {of_diffusivity, &parameters.diffusivity},
      {of_reaction, &parameters.reaction},
      {of_source, &parameters.source}};
  for (auto const& [which, source] : files)
    if (!source->file.empty()) fill<double>(stream_, *source, grid_, inputs, given_[which].span());
  if (given_[of_sides].size() == 0) return;
  zero_async(given_[of_sides].span(), stream_);
}

/// From `start`, or from what a = 1 without a reaction and a source makes of the sides.
template <class T>
void Nonlinear<T>::begin(config::RunConfig const& run, Inputs const& inputs) {
  SideValues<double> all{}, slopes{};
  stencil::DiffusionStep<double> held{};
  std::vector<Buffer<double>> values;
  values.reserve(6);
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid_.dims); ++axis)
    for (std::size_t side = 0; side < 2; ++side) {
      T const* const on_side = state_.side("u", static_cast<int>(axis), static_cast<int>(side));
      if (on_side == nullptr) continue;
      auto const count = static_cast<std::size_t>(grid_.size() / grid_.points[axis]);
      std::vector<T> copied(count);
      copy_async(std::span(copied), std::span(on_side, count), stream_);
      stream_.synchronize();
      values.push_back(on_device<double>(stream_, copied));
      double const* const there = values.back().data();
      all[axis][side] = there;
      held.sides[axis][side] = {sides_[axis][side], there};
      if (sides_[axis][side] == SideKind::neumann) slopes[axis][side] = there;
    }
  Equation<double> const plain{.grid = grid_, .sides = sides_};
  if (given_[of_sides].size() > 0) add_sides(stream_, plain, slopes, given_[of_sides].span());
  zero_async(u_.span(), stream_);
  stencil::impose_dirichlet<double>(stream_, grid_, held.sides, u_.data());
  auto const& start = parameters_of(run).start;
  if (!start.file.empty() || !start.formula.text.empty()) {
    fill<double>(stream_, start, grid_, inputs, u_.span(), nullptr, variant_);
    stencil::impose_dirichlet<double>(stream_, grid_, held.sides, u_.data());
  } else if (is_given_) {
    zero_async(residual_.span(), stream_);
    add_sides(stream_, plain, all, residual_.span());
    multigrid::Solver<double>(stream_, plain, false, {.conjugates = true, .tolerance = 1e-6},
                              cycle_variant_)
        .solve(stream_, residual_.span(), u_.span());
  }
  stream_.synchronize();
}

template <class T>
multigrid::Defect Nonlinear<T>::find_defect(std::span<double const> u) {
  evaluate(formulas_.a, u, a_.span());
  evaluate(formulas_.r, u, r_.span());
  return multigrid::find_defect(stream_, equation_of(u), residual_.span());
}

/// Cycles are for what of J is symmetric and positive; where nothing holds u, for a little more.
template <class T>
void Nonlinear<T>::linearise() {
  evaluate(where_finite(formulas_.slope_of_a), u_.span(), d_.span());
  evaluate(where_finite(formulas_.slope_of_r), u_.span(), s_.span());
  double least = 0;
  if (!is_given_) {
    Buffer<double> largest(stream_, MemorySpace::device, 1);
    reduce::maximum<double>(stream_, std::as_const(a_).span(), largest.span());
    copy_async(std::span(&least, 1), std::as_const(largest).span(), stream_);
    stream_.synchronize();
    double length = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid_.dims); ++axis)
      length = std::max(length, grid_.spacing[axis] * static_cast<double>(grid_.points[axis]));
    least *= 1e-4 / (length * length);
  }
  evaluate(expression::apply(expression::Operation::max, array_of(own_u), Expression(least)),
           s_.span(), held_.span());
  cycles_.emplace(
      stream_,
      Equation<double>{
          .grid = grid_, .sides = sides_, .diffusivities = a_.data(), .reactions = held_.data()},
      false, multigrid::Options{.cycle = multigrid::Cycle::v}, cycle_variant_);
}

/// The residual is no more than scaled afterwards.
template <class T>
Direction Nonlinear<T>::find_direction() {
  linearise();
  auto const product = [this](Stream& stream, std::span<double const> v, std::span<double> y) {
    multigrid::apply(stream, {equation_of(u_.span()), d_.data(), s_.data()}, v, y);
  };
  auto const precondition = [this](Stream& stream, std::span<double const> right,
                                   std::span<double> z) {
    zero_async(z, stream);
    cycles_->precondition(stream, right, 1, z);
  };
  zero_async(direction_.span(), stream_);
  auto const& residuals = course_.residuals;
  auto const exponent = static_cast<int>(
      std::clamp(std::logb(residuals.back()) + std::logb(cycles_->scale()), -1e3, 1e3));
  elementwise::scale<double>(stream_, std::ldexp(1.0, -exponent), residual_.span());
  krylov::Options const options{
      .tolerance = std::clamp(0.1 * residuals.back() / residuals.front(), 1e-8, 1e-2),
      .iterations = 200,
      .restart = vectors_kept};
  return {krylov::solve<double>(stream_, krylov::Method::gmres, {grid_.size(), product},
                                precondition, residual_.span(), direction_.span(), options),
          std::ldexp(1.0, exponent)};
}

/// The largest part of the direction that makes the residual smaller; false where there is none.
template <class T>
bool Nonlinear<T>::take_step(Direction const& direction) {
  double const before = course_.residuals.back();
  constexpr double least_part = 0x1p-30;
  bool const solves_its_equations = direction.result.converged();
  std::string const of_equations =
      solves_its_equations ? "" : fmt::format("; of its equations {}", direction.result.advice);
  bool was_positive = true;
  for (double part = 1; part >= least_part; part /= 2) {
    copy_async(tried_.span(), std::as_const(u_).span(), stream_);
    auto const change = multigrid::advance(stream_, equation_of(u_.span()), part * direction.unit,
                                           direction_.span(), tried_.span());
    auto const defect = find_defect(tried_.span());
    was_positive = defect.largest < std::numeric_limits<double>::infinity();
    bool const settles = part == 1 && course_.is_small(change.largest, change.value, tolerance_);
    bool const stays = settles && change.largest <= few_roundings * change.value;
    bool const less = defect.largest <= (1 - 1e-4 * part) * before;
    course_.magnitude = defect.magnitude;
    bool const rounds = was_positive && course_.is_rounding(defect.largest);
    bool const solved = defect.largest <= tolerance_ * course_.residuals.front() || rounds;
    // What is not solved yet goes on by a smaller part, unless there is nothing to go by.
    if (!less && !rounds && !(was_positive && (stays || (settles && solved)))) continue;
    std::swap(u_, tried_);
    course_.residuals.push_back(defect.largest);
    course_.corrections.push_back(change.largest);
    course_.parts.push_back(part);
    course_.inner.push_back(direction.result.iterations);
    course_.value = change.value;
    course_.size = std::max({course_.size, change.value, change.largest});
    course_.converged = settles && solved;
    if (stays && !less && !solved)
      course_.end = solves_its_equations ? "roundings of u leave no less"
                                         : "the last step leaves u as it is" + of_equations;
    return course_.end.empty();
  }
  course_.end = fmt::format(
      "no part of the next step makes it smaller{}{}",
      was_positive ? "" : ": the diffusivity is not positive there, or a value is no number",
      of_equations);
  return false;
}

template <class T>
void Nonlinear<T>::compute() {
  times_.measure("solve", [this] {
    auto const first = find_defect(u_.span());
    if (!(first.largest < std::numeric_limits<double>::infinity()))
      throw NumericalError(
          "poisson: where Newton's method begins the diffusivity is not positive everywhere, or a "
          "value is no number (parameters.start says where it begins)");
    course_.residuals = {first.largest};
    course_.magnitude = first.magnitude;
    course_.converged = course_.is_rounding(first.largest);
    while (!course_.converged && static_cast<std::int64_t>(course_.steps()) < most_) {
      auto const direction = find_direction();
      if (direction.result.outcome == krylov::Outcome::not_finite) {
        course_.end = direction.result.advice;
        break;
      }
      if (!take_step(direction)) break;
    }
    cycles_.reset();
  });
  times_.measure("check", [this] { finish(); });
}

template <class T>
void Nonlinear<T>::finish() {
  auto const target = state_["u"].span();
  zero_async(direction_.span(), stream_);
  correct<T>(stream_, direction_.span(), u_.span(), target);
  stream_.synchronize();
  if (is_given_) return;
  auto const found = integrate<double>(stream_, {.grid = grid_, .sides = sides_}, u_.span());
  mean_ = found.sum / found.volume;
}

template <class T>
std::vector<NamedValue> Nonlinear<T>::diagnostics() const {
  bool const any = !course_.residuals.empty();
  double inner = 0;
  for (auto const iterations : course_.inner) inner += static_cast<double>(iterations);
  double const residual = any ? course_.residuals.back() : unknown;
  std::vector<NamedValue> values = {
      {"residual", residual},
      {"backward_error", any && residual > 0 ? residual / course_.magnitude : residual},
      {"mean", mean_},
      {"solves", static_cast<double>(course_.steps())},
      {"inner_iterations", inner},
      {"estimated_error", course_.steps() > 0 ? course_.last_change() : unknown}};
  auto const times = OneShot::diagnostics();
  values.insert(values.end(), times.begin(), times.end());
  return values;
}

/// What each step has come to.
template <class T>
std::vector<Table> Nonlinear<T>::tables() const {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < course_.residuals.size(); ++i)
    numbers.push_back(static_cast<std::int64_t>(i));
  auto const so_far = [&](auto values) {
    values.resize(numbers.size());
    return values;
  };
  return {{"iterations",
           {{"iteration", "1", numbers},
            {"residual", "1", course_.residuals},
            {"correction", "1", so_far(course_.corrections)},
            {"step", "1", so_far(course_.parts)},
            {"inner_iterations", "1", so_far(course_.inner)}}}};
}

template <class T>
std::string Nonlinear<T>::shortfall() const {
  if (course_.converged || course_.residuals.empty()) return {};
  auto const& residuals = course_.residuals;
  std::string const reached =
      course_.steps() == 0
          ? std::string("poisson: Newton's method has found no step")
          : fmt::format(
                "poisson: after {} step{} of Newton's method the largest residual is {:.2g} of "
                "what it was, and the last change {:.2g} of u, where {:g} is asked for",
                course_.steps(), course_.steps() == 1 ? "" : "s",
                residuals.back() / residuals.front(), course_.last_change(), tolerance_);
  if (course_.end.empty())
    return reached + " (parameters.iterations may be more, or parameters.start nearer)";
  return fmt::format("{} ({}; parameters.start may be nearer to a solution, if there is one)",
                     reached, course_.end);
}

}  // namespace

std::unique_ptr<Simulation> make_nonlinear(config::RunConfig const& run, Stream const& stream,
                                           Inputs const& inputs) {
  return make_simulation<Nonlinear>(run, stream, inputs);
}

std::vector<std::string> nonlinear_report(config::RunConfig const& run) {
  constexpr expression::Variable names[] = {{"x", 0},
                                            {"y", 1},
                                            {"z", 2},
                                            {"u", expression::first_array},
                                            {"a", expression::first_array + of_diffusivity},
                                            {"kappa", expression::first_array + of_reaction},
                                            {"f", expression::first_array + of_source}};
  auto const& parameters = parameters_of(run);
  Formulas const formulas(parameters);
  auto const text = [&](Expression const& formula) { return formula.to_string(names); };
  return {"newton: gmres with cycles of multigrid for each step",
          fmt::format("d(diffusivity)/du = {}", text(formulas.slope_of_a)),
          fmt::format("d(reaction*u - source)/du = {}", text(formulas.slope_of_r))};
}

MemoryForecast nonlinear_memory(config::RunConfig const& run, Backend backend) {
  auto result = forecast(run, nonlinear_rows(run));
  auto const size = static_cast<std::size_t>(run.grid.size());
  result.other_bytes += static_cast<std::size_t>(Work(run).arrays()) * size * sizeof(double) +
                        multigrid::solver_bytes(backend, run.grid, sides_of(run), true,
                                                Precision::float64, multigrid::Options{}) +
                        krylov::work_bytes(krylov::Method::gmres, run.grid.size(), sizeof(double),
                                           {.restart = vectors_kept}, true);
  return result;
}

}  // namespace gridstride::poisson
