// Implicit steps of heat. With θ a part of dt, δ what a solution adds, and W = Π_a (1 − θ·dt·L_a) for
// 1 − θ·dt·L (kernels/stencil/implicit.hpp), they are made of two kinds of stages:
//
//   trapezoidal   W δ = 2θ·dt (L u + f),  u' = u + δ
//   backward      W v = u + θ·dt·f,  W δ = u + θ·dt·(L v + f) − v,  u' = v + δ
//
// In one dimension W is 1 − θ·dt·L, and `backward` begins with v = u. In more, W has θ²·dt²·L_x·L_y too. In
// the former that acts on δ, which is of order dt. In the latter it acts on what there is; a second
// pass makes its square of it, of order dt⁴. A single pass that begins with u would need none, but
// what is rough along two axes would stay for hundreds of long steps, since both factors of W divide
// it then.

#include "simulations/heat_implicit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/stencil/alternating.hpp"
#include "kernels/stencil/implicit.hpp"
#include "kernels/system/slopes.hpp"
#include "model/adaptive_steps.hpp"
#include "model/time_stepping.hpp"
#include "simulations/heat_parameters.hpp"

namespace gridstride::heat {

namespace {

/// A step: the trapezoidal rule to a part of it, of whose δ a multiple is added, and then a backward
/// stage. 0: without that.
struct ImplicitScheme {
  std::string_view name;
  double part = 0, multiple = 1;
  double backward = 0;
  /// Of the rates at the beginning, at that part and at the end, which make the second estimate.
  std::array<double, 3> rates = {};

  bool has_error() const { return rates[0] != 0; }
};

/// `tr_bdf2` (Bank and others, IEEE Trans. Electron Devices 32, 1985): with γ = 2 − √2 both stages
/// have the same θ, and the second one, (1 − γ/2·dt·L) u' = a·u_γ − (a − 1)·u with a = 1/(γ(2 − γ)),
/// begins with u + a·δ. Its second estimate is of order 3 (M. E. Hosea and L. F. Shampine, Appl.
/// Numer. Math. 20, 1996), and W⁻¹ of the difference is the error, or what is stiff would count.
constexpr double root = 1.4142135623730951, gamma = 2 - root;
constexpr int error_order = 3;
constexpr ImplicitScheme table[] = {
    {.name = "backward_euler", .backward = 1},
    {.name = "crank_nicolson", .part = 1},
    {.name = "tr_bdf2",
     .part = gamma,
     .multiple = 1 / (gamma * (2 - gamma)),
     .backward = gamma / 2,
     .rates = {(1 - root / 4) / 3, (1 + 0.75 * root) / 3, gamma / 6}},
};

ImplicitScheme const* find(std::string_view name) {
  auto const* const found = std::ranges::find(table, name, &ImplicitScheme::name);
  return found == std::end(table) ? nullptr : found;
}

/// How much longer than those of ftcs steps may be: 1 − θ·dt·L has less than 10 bits of its 1 then,
/// and would lose what does not change along an axis.
double most_multiple(Precision precision) {
  return with_zero_of(precision, [](auto zero) {
    return 0x1p-10 / static_cast<double>(std::numeric_limits<decltype(zero)>::epsilon());
  });
}

ImplicitScheme const& scheme_of(config::RunConfig const& run) { return *find(run.time.scheme); }

bool has_field(config::RunConfig const& run) {
  return !is_constant(source_of(parameters_as<Parameters>(run).diffusivity));
}

/// Right-hand sides: of what δ is found from, and in more dimensions than one what a backward stage
/// begins with. Where steps follow their error, the state that is tried, and that of the part.
int work_arrays(config::RunConfig const& run) {
  return (scheme_of(run).backward > 0 && run.grid.dims > 1 ? 2 : 1) + (run.time.adaptive ? 2 : 0);
}

std::vector<Row> rows_of(config::RunConfig const& run) {
  auto rows = heat::rows_of(run, 1, find_scheme("euler"));
  rows.push_back(scratch(run, "right-hand sides", work_arrays(run)));
  rows.push_back(
      scratch(run, "rows", static_cast<int>(stencil::AxisSystems<double>::arrays(has_field(run)))));
  return rows;
}

ErrorControl errors_of(config::RunConfig const& run, Inputs const& inputs) {
  return {run.time.tolerance.value_or(config::StepTolerance{}), run.time.safety,
          implicit_step(run, inputs)};
}

template <class T>
class ImplicitHeat final : public TimeStepping<T> {
  using Base = TimeStepping<T>;
  using Base::clock_, Base::state_, Base::stream_, Base::grid_;

 public:
  ImplicitHeat(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
      : Base(run, stream, inputs, rows_of(run), whole_steps(implicit_step(run, inputs))),
        scheme_(scheme_of(run)),
        u_(state_["u"].span()),
        value_(u_),
        systems_(stream_, grid_, has_field(run)) {
    for (int i = 0; i < work_arrays(run); ++i)
      work_.emplace_back(stream_, MemorySpace::device, u_.size());
    if (run.time.adaptive) {
      middle_ = work_.back().span();
      value_ = work_[work_.size() - 2].span();
      second_ = Buffer<evaluate::DeviceClock>(stream_, MemorySpace::device, 1);
      evaluate::set_clock(stream_, second_.data(), {0, 1, 0});
      adaptive_.emplace(stream_, grid_, std::vector<std::string>{"u"}, errors_of(run, inputs),
                        error_order, run.time.end, method());
    }
    diffusion_.grid = grid_;
    diffusion_.diffusivity = state_["diffusivity"].constant();
    diffusion_.diffusivity_field = state_["diffusivity"].data();
    diffusion_.source = state_["source"].data();
    diffusion_.sides = sides_of(run, state_);
    diffusion_.step = &clock_.device()->step_size;
    alternates_ = find_alternating(implicit_step(run, inputs));
    fill(stream_, run.initial.find("u")->second, grid_, inputs, u_, nullptr,
         run.kernels.at("evaluate"));
    hold_sides(u_);
  }

  /// At the end of the run the systems of all steps are known to have had a solution.
  void advance(std::int64_t max_steps, double until) override {
    if (adaptive_)
      adaptive_->advance(clock_, max_steps, until);
    else
      Base::advance(max_steps, until);
    if (!this->finished()) return;
    if (auto const fault = systems_.fault(stream_); !fault.empty())
      throw NumericalError(fmt::format("until t = {} s: {}", this->clock().time, fault));
  }

  double values_per_update() const override {
    if (alternates_) return 4;
    int const passes = grid_.dims > 1 && scheme_.backward > 0 ? 2 : scheme_.backward > 0 ? 1 : 0;
    int const stages = (scheme_.part > 0 ? 1 : 0) + (adaptive_ ? 3 : 0), solves = passes + stages;
    int const of_axis = diffusion_.diffusivity_field ? 9 : 2;
    return solves * (4 + state_.coefficient_arrays() + of_axis * grid_.dims);
  }
  std::vector<NamedText> chosen() const override {
    if (alternates_) return {{"stencil", "alternating"}};
    std::string rows;
    for (int axis = 0; axis < grid_.dims; ++axis) {
      auto const row = stencil::AxisSystems<T>::variant(stream_.backend(), diffusion_, axis);
      if (rows.find(row) == std::string::npos)
        rows += (rows.empty() ? "" : ", ") + std::string(row);
    }
    return {{"tridiagonal", rows}};
  }
  Clock clock() const override {
    Clock clock = Base::clock();
    clock.rejected = adaptive_ ? adaptive_->rejected() : 0;
    return clock;
  }
  std::vector<NamedValue> diagnostics() const override {
    return adaptive_ ? adaptive_->diagnostics() : std::vector<NamedValue>();
  }
  void save(CheckpointSink& sink) const override {
    Base::save(sink);
    if (adaptive_) adaptive_->save(sink);
  }
  void load(CheckpointSource const& source) override {
    Base::load(source);
    if (adaptive_) adaptive_->load(source, Base::clock());
  }

 private:
  std::int64_t steps_before_graph() const override { return 0; }

  void queue(std::int64_t steps) override {
    for (; steps > 0; --steps) {
      if (scheme_.part > 0) queue_trapezoidal();
      if (scheme_.backward > 0) queue_backward();
      if (state_.changes()) clock_.tick();
    }
  }

  /// Whether a step is two passes, each of which does all along an axis at once: where nothing
  /// changes in time, and diffusion is all there is.
  bool find_alternating(double longest) {
    if (scheme_.part != 1 || scheme_.backward > 0 || state_.changes() || grid_.dims != 2 ||
        diffusion_.diffusivity_field != nullptr || diffusion_.source != nullptr)
      return false;
    alternating_ = {.grid = grid_,
                    .diffusivity = diffusion_.diffusivity,
                    .step = longest,
                    .u = u_.data(),
                    .work = work_[0].data(),
                    .sides = diffusion_.sides};
    return stencil::takes_alternating(stream_.device(), alternating_);
  }

  /// A stage changes `value_` in place.
  void queue_trapezoidal() {
    if (alternates_) {
      alternating_.step = this->step_size();
      return stencil::step_alternating(stream_, alternating_);
    }
    refresh(scheme_.part / 2, scheme_.part);
    T* const right = work_[0].data();
    stencil::find_residual<T>(stream_, diffusion_,
                              {.in = value_.data(), .out = right, .factor = scheme_.part});
    systems_.solve(stream_, diffusion_, scheme_.part / 2, value_.data(), right, right);
    if (adaptive_) {
      copy_async(middle_, u_, stream_);
      add(1, right, middle_);
      hold_sides(middle_);
    }
    add(scheme_.multiple, right, value_);
    if (scheme_.backward == 0) hold_sides(value_);
  }

  /// In one dimension the first pass is left out: what the second one begins with is all the same
  /// then, and u itself keeps what rounding would make of its mean.
  void queue_backward() {
    refresh(1, 1);
    double const theta = scheme_.backward;
    T* const value = value_.data();
    stencil::Residual<T> residual = {.in = value, .out = work_[0].data(), .factor = theta};
    if (grid_.dims > 1) {
      T* const given = work_[1].data();
      stencil::find_residual<T>(stream_, diffusion_,
                                {.out = given, .factor = theta, .terms = {{{value, 1}}}});
      systems_.solve(stream_, diffusion_, theta, nullptr, given, value);
      hold_sides(value_);
      residual.forced = false;
      residual.terms = {{{given, 1}, {value, -1}}};
    }
    stencil::find_residual(stream_, diffusion_, residual);
    systems_.solve(stream_, diffusion_, theta, value, residual.out, residual.out);
    add(1, residual.out, value_);
    if (grid_.dims == 1) hold_sides(value_);
  }

  AdaptiveSteps::Method method() {
    return {.attempt = [this](bool) { queue_attempt(); },
            .commit =
                [this](system::StepControl const* control) {
                  system::Taken<T> const taken = {u_.data(), value_.data()};
                  system::commit<T>(stream_, std::span(&taken, 1), grid_.size(), control);
                },
            .rate =
                [this] {
                  T* const right = work_[0].data();
                  refresh(0, 0);
                  stencil::find_residual<T>(stream_, diffusion_,
                                            {.in = u_.data(), .out = right, .factor = 1});
                  find_error(right, u_);
                }};
  }

  void queue_attempt() {
    copy_async(value_, u_, stream_);
    queue_trapezoidal();
    queue_backward();
    T* const right = work_[0].data();
    std::pair<T const*, double> const rates[] = {
        {u_.data(), 0}, {middle_.data(), scheme_.part}, {value_.data(), 1}};
    for (std::size_t i = 0; i < scheme_.rates.size(); ++i) {
      auto const [in, part] = rates[i];
      refresh(part, part);
      stencil::Residual<T> residual = {.in = in, .out = right, .factor = scheme_.rates[i]};
      if (i == 0)
        residual.terms = {{{u_.data(), 1}, {value_.data(), -1}}};
      else
        residual.terms = {{{right, 1}}};
      stencil::find_residual(stream_, diffusion_, residual);
    }
    systems_.solve(stream_, diffusion_, scheme_.backward, value_.data(), right, right);
    find_error(right, value_);
  }

  void find_error(T const* error, std::span<T> value) {
    system::Slopes<T> one = {.state = u_.data(), .value = value.data()};
    one.slopes[0] = error;
    double const weight = 1;
    auto const& tolerance = adaptive_->tolerance();
    system::worst_error<T>(stream_, grid_, std::span(&one, 1), std::span(&weight, 1),
                           {tolerance.relative, tolerance.absolute}, second_.data(),
                           adaptive_->parts());
  }

  /// What changes with time: what drives u at a part of the step, and u on sides at another one.
  void refresh(double part, double part_of_held) {
    if (state_.changes()) state_.refresh(part, part_of_held);
  }
  void add(double multiple, T const* change, std::span<T> value) {
    elementwise::axpy<T>(stream_, static_cast<T>(multiple), {change, value.size()}, value);
  }
  void hold_sides(std::span<T> value) {
    stencil::impose_dirichlet(stream_, grid_, diffusion_.sides, value.data());
  }

  ImplicitScheme const& scheme_;
  std::span<T> u_, value_, middle_;
  stencil::AxisSystems<T> systems_;
  std::vector<Buffer<T>> work_;
  stencil::Diffusion<T> diffusion_;
  stencil::AlternatingStep<T> alternating_;
  bool alternates_ = false;
  std::optional<AdaptiveSteps> adaptive_;
  Buffer<evaluate::DeviceClock> second_;  // with a step of 1 s, for errors that have theirs
};

}  // namespace

std::vector<std::string_view> implicit_schemes() {
  std::vector<std::string_view> names;
  for (auto const& scheme : table) names.push_back(scheme.name);
  return names;
}

bool has_error(config::RunConfig const& run) {
  auto const* const scheme = find(run.time.scheme);
  return scheme != nullptr && scheme->has_error();
}

bool is_implicit(config::RunConfig const& run) { return find(run.time.scheme) != nullptr; }

std::unique_ptr<Simulation> make_implicit(config::RunConfig const& run, Stream const& stream,
                                          Inputs const& inputs) {
  return make_simulation<ImplicitHeat>(run, stream, inputs);
}

double implicit_step(config::RunConfig const& run, Inputs const& inputs) {
  double const limit = stencil::euler_limit(run.grid, largest_diffusivity(run, inputs));
  double const longest = limit * most_multiple(run.precision);
  if (run.time.step && *run.time.step > longest)
    throw ConfigError({run.problem(
        run.time.step_location,
        fmt::format("{} s is {:.3g} times what ftcs could take ({} has digits for {:.3g} times)",
                    *run.time.step, *run.time.step / limit, name_of(run.precision),
                    most_multiple(run.precision)))});
  if (run.time.adaptive) return std::min(longest_step(run, depends_on_time(rows_of(run))), longest);
  if (run.time.step) return std::min(*run.time.step, output_interval(run));
  throw ConfigError({run.problem(
      run.time.step_location,
      fmt::format("has to be given with {}{} (it is stable for any step, so that the accuracy that "
                  "you want decides; 100 times what ftcs could take are {:.3g} s)",
                  run.time.scheme, scheme_of(run).has_error() ? ", or be 'adaptive'" : "",
                  100 * limit))});
}

MemoryForecast implicit_memory(config::RunConfig const& run, Backend) {
  auto memory = forecast(run, rows_of(run));
  memory.other_bytes += with_zero_of(run.precision, [&](auto zero) {
    return stencil::AxisSystems<decltype(zero)>::bytes(run.grid, has_field(run));
  });
  if (run.time.adaptive)
    memory.other_bytes += AdaptiveSteps::bytes(run.grid, 1) + sizeof(evaluate::DeviceClock);
  memory.beyond = "grids larger than the device take steps of the scheme ftcs";
  return memory;
}

std::vector<Problem> implicit_problems(config::RunConfig const& run) {
  std::vector<Problem> problems;
  auto const refuse = [&](std::string_view key) {
    problems.push_back(
        run.problem(run.location(fmt::format("kernels.{}", key)),
                    fmt::format("is for explicit steps (the scheme is {})", run.time.scheme)));
  };
  if (run.kernels.at("stencil") != "auto") refuse("stencil");
  if (run.fused_steps) refuse("fused_steps");
  check_tolerance(run, problems);
  return problems;
}

std::vector<std::string> implicit_report(config::RunConfig const& run, Inputs const& inputs) {
  double const limit = stencil::euler_limit(run.grid, largest_diffusivity(run, inputs));
  double const step = implicit_step(run, inputs);
  return {fmt::format("steps: {} {:.6g} s, {:.3g} times what ftcs could take",
                      run.time.adaptive ? "as their error allows, at most" : "of", step,
                      step / limit)};
}

}  // namespace gridstride::heat
