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
//
// In three dimensions that is stable where the L_a can be exchanged, as they can where α is a number.
// Where it is a field, W has its largest value in the place of α: W ≥ 1 − θ·dt·L then, and what a
// pass leaves of the error is symmetric and between 0 and 1. It is of order dt, so that one pass
// more is needed.
//
// Where ranks share the grid (heat_implicit_ranks.cpp), a step takes the state of a window and leaves
// the next one in it; all arrays are those of the rank's planes.
//
// By multigrid (heat_multigrid.cpp) 1 − θ·dt·L is solved for as it is, without W.

#include "simulations/heat_implicit.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/rank_failures.hpp"
#include "core/ranks.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/stencil/alternating.hpp"
#include "kernels/stencil/implicit.hpp"
#include "kernels/system/slopes.hpp"
#include "model/adaptive_steps.hpp"
#include "model/own_values.hpp"
#include "model/time_stepping.hpp"
#include "simulations/heat_implicit_ranks.hpp"
#include "simulations/heat_multigrid.hpp"
#include "simulations/heat_parameters.hpp"
#include "simulations/heat_schemes.hpp"

namespace gridstride::heat {

namespace {

template <class T>
class ImplicitHeat final : public TimeStepping<T> {
  using Base = TimeStepping<T>;
  using Base::clock_, Base::state_, Base::stream_, Base::grid_;

 public:
  ImplicitHeat(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
      : ImplicitHeat(run, stream, inputs, shared_steps(run, inputs),
                     plan_of(run, stream.device())) {}
  /// At the end of the run the systems of all steps are known to have had a solution.
  void advance(std::int64_t max_steps, double until) override {
    if (adaptive_)
      adaptive_->advance(clock_, max_steps, until);
    else
      Base::advance(max_steps, until);
    if (!this->finished()) return;
    this->settle();
    if (part_)
      fail_together(ranks(), [this] { require_solutions(part_->fault(stream_)); });
    else
      require_solutions(systems_.fault(stream_));
  }

  double values_per_update() const override {
    if (alternates_) return 4;
    int const solves = (scheme_.part > 0 ? 1 + bounded_ : 0) +
                       (scheme_.backward > 0 ? backward_passes() : 0) + (adaptive_ ? 3 : 0);
    int const of_axis = split_.diffusivity_field ? 9 : 2;
    return solves * (4 + state_.coefficient_arrays() + of_axis * grid_.dims);
  }
  std::vector<NamedText> chosen() const override {
    if (alternates_) return with_parts({{"stencil", "alternating"}});
    if (whole_) return this->with_slabs({{"implicit steps", "multigrid"}});
    std::string rows;
    for (int axis = 0; axis < grid_.dims; ++axis) {
      auto of_grid = split_;
      of_grid.grid = grid_;
      auto const row = stencil::AxisSystems<T>::variant(
          stream_.device(), of_grid, scheme_.part > 0 ? scheme_.part / 2 : scheme_.backward, axis);
      if (rows.find(row) == std::string::npos)
        rows += (rows.empty() ? "" : ", ") + std::string(row);
    }
    return with_parts({{"tridiagonal", rows}});
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
    save_files(run_, sink);
    if (adaptive_) adaptive_->save(sink);
  }
  void load(CheckpointSource const& source) override {
    Base::load(source);
    require_same_files(run_, source);
    if (adaptive_) adaptive_->load(source, Base::clock());
  }

 private:
  ImplicitHeat(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
               Steps const& steps, std::optional<SweepPlan> const& plan)
      : Base(run, stream, inputs, rows_of_run(run, stream.device(), plan),
             whole_steps(steps.longest)),
        run_(run),
        scheme_(implicit_scheme(run)),
        bounded_(is_bounded(run)),
        alternates_(alternates(run, stream_.device())) {
    diffusion_.grid = grid_;
    diffusion_.diffusivity = state_["diffusivity"].constant();
    diffusion_.diffusivity_field = state_["diffusivity"].data();
    diffusion_.source = state_["source"].data();
    diffusion_.sides = sides_of(run, state_);
    diffusion_.step = &clock_.device()->step_size;
    equation_ = diffusion_;
    value_ = base_ = u_ = state_["u"].span();
    if (plan) {
      share(run, *plan, inputs);
    } else {
      fill(stream_, run.initial.find("u")->second, grid_, inputs, u_, nullptr,
           run.kernels.at("evaluate"));
      hold_sides(u_);
      systems_ = {stream_, grid_, has_rows(run)};
    }
    if (takes_multigrid(run)) whole_.emplace(run, part_ ? &part_->planes() : nullptr);
    take_arrays(run, steps);
    split_ = diffusion_;
    if (!adaptive_) split_.known_step = steps.longest;
    if (bounded_) {
      split_.diffusivity = steps.diffusivity;
      split_.diffusivity_field = nullptr;
    }
    alternating_ = {.grid = grid_,
                    .diffusivity = diffusion_.diffusivity,
                    .u = u_.data(),
                    .work = right_.data(),
                    .sides = diffusion_.sides};
  }

  static std::optional<SweepPlan> plan_of(config::RunConfig const& run, Device const& device) {
    if (run.ranks == 1) return {};
    auto const rows = implicit_rows(run);
    return plan_slabs(run, device, rows, implicit_slabs(run, device, rows));
  }
  static std::vector<Row> rows_of_run(config::RunConfig const& run, Device const& device,
                                      std::optional<SweepPlan> const& plan) {
    auto rows = implicit_rows(run);
    if (!plan) return rows;
    rows = rows_of_slabs(run, rows, implicit_slabs(run, device, rows), *plan);
    Planes const own = plan->owned_by(ranks().rank());
    for (Row& row : rows)  // as `RankPlanes` has them, also at the ends
      if (row.planes) row.planes = {own.lower - 1, own.upper + 1};
    return rows;
  }

  void share(config::RunConfig const& run, SweepPlan const& plan, Inputs const& inputs) {
    this->sweep_ = make_window_steps<T>(stream_, plan, [](std::int64_t) { return 1; });
    part_.emplace(stream_, plan, diffusion_, state_, has_rows(run), !takes_multigrid(run));
    diffusion_ = part_->diffusion();
    bool const without_whole = goes_without_whole(run, stream_.backend());
    this->begin_with(without_whole, [&](Stream& stream, Window<T> const& window) {
      fill_own(stream, run.initial.find("u")->second, plan, inputs, window, window.in[0],
               run.kernels.at("evaluate"));
      hold_sides(own_planes(plan, window, window.in[0]));
    });
  }

  void take_arrays(config::RunConfig const& run, Steps const& steps) {
    auto const take = [&](std::span<T>& array) {
      if (part_) {
        work_.push_back(part_->make_array(stream_));
        array = part_->own_of(work_.back().data());
        return;
      }
      work_.emplace_back(stream_, MemorySpace::device, u_.size());
      array = work_.back().span();
    };
    Work const work(run);
    take(right_);
    if (work.given) take(given_);
    if (work.base) take(base_);
    if (!work.adaptive) return;
    take(middle_);
    take(value_);
    second_ = Buffer<evaluate::DeviceClock>(stream_, MemorySpace::device, 1);
    evaluate::set_clock(stream_, second_.data(), {0, 1, 0});
    ErrorControl const control = {step_tolerance(run), run.time.safety, steps.longest};
    adaptive_.emplace(stream_, grid_, std::vector<std::string>{"u"}, control,
                      ImplicitScheme::error_order, run.time.end, method(run.ranks));
  }

  /// Cycles are looked at by the host, and are in no graph.
  std::int64_t steps_before_graph() const override { return whole_ ? 1 : 0; }

  void queue(std::int64_t steps) override {
    split_.known_step = this->step_size();
    if (part_) return in_windows(steps, [this] { queue_step(); });
    for (; steps > 0; --steps) queue_step();
  }

  void require_solutions(std::string const& fault) const {
    if (!fault.empty())
      throw NumericalError(fmt::format("until t = {} s: {}", this->clock().time, fault));
  }
  std::vector<NamedText> with_parts(std::vector<NamedText> texts) const {
    if (part_) texts.push_back({"lines across ranks", std::string(part_->transport())});
    return this->with_slabs(std::move(texts));
  }

  void queue_step() {
    if (scheme_.part > 0) queue_trapezoidal();
    if (scheme_.backward > 0) queue_backward();
    if (state_.changes()) clock_.tick();
  }

  /// Does `work` for each of so many steps of all ranks; for none, with a look at the state.
  void in_windows(std::int64_t steps, std::function<void()> const& work) {
    T* const arrays[] = {state_["u"].data()};
    auto const pass = [&](Stream&, Window<T> const& window) {
      std::int64_t const held = part_->own().lower - 1 - window.first;
      std::int64_t const before = held * grid_.face_size(grid_.dims - 1);
      u_ = base_ = part_->own_of(window.in[0] + before);
      if (window.out[0] != nullptr) next_ = part_->own_of(window.out[0] + before);
      if (!adaptive_ && !alternates_) begin_with_state(value_ = next_);
      work();
    };
    if (steps > 0)
      this->sweep_->run(arrays, steps, pass);
    else
      this->sweep_->look(arrays, LooksAt::beside, pass);
  }

  /// With the planes beside a rank's own.
  void begin_with_state(std::span<T> values) {
    if (!part_) return copy_async(values, u_, stream_);
    part_->copy(stream_, values, u_);
    beside_ = values.data();
  }

  /// A stage changes `value_` in place.
  void queue_trapezoidal() {
    if (alternates_) {
      if (part_) return part_->alternate(stream_, this->step_size(), u_, right_, next_);
      alternating_.step = this->step_size();
      return stencil::step_alternating(stream_, alternating_);
    }
    double const part = scheme_.part, theta = part / 2;
    refresh(theta, part);
    find_residual(value_, {.out = right_.data(), .factor = part});
    if (bounded_ || whole_) return queue_bounded(theta);
    solve(theta, value_.data());
    if (adaptive_) {
      copy_async(middle_, u_, stream_);
      add(1, right_, middle_);
      hold_sides(middle_);
    }
    add(scheme_.multiple, right_, value_);
    if (scheme_.backward == 0) hold_sides(value_);
  }

  /// The rest of such a stage, in two passes.
  void queue_bounded(double theta) {
    find_residual(value_, {.out = given_.data(),
                           .factor = -theta,
                           .forced = false,
                           .terms = {{{right_.data(), 1}, {value_.data(), 1}}}});
    if (base_.data() != u_.data()) copy_async(base_, value_, stream_);
    if (whole_) {
      solve_whole(theta);
    } else {
      solve(theta, value_.data());
      add(1, right_, value_);
      hold_sides(value_);
      refine(theta);
    }
    if (adaptive_) copy_async(middle_, value_, stream_);
    if (scheme_.multiple == 1) return;
    elementwise::scale<T>(stream_, static_cast<T>(scheme_.multiple), value_);
    add(1 - scheme_.multiple, base_, value_);
  }

  int backward_passes() const { return grid_.dims == 1 ? 1 : bounded_ ? 3 : 2; }

  /// In one dimension the first pass is left out: what the second one begins with is all the same
  /// then, and u itself keeps what rounding would make of its mean.
  void queue_backward() {
    refresh(1, 1);
    double const theta = scheme_.backward;
    if (grid_.dims == 1 && !whole_) {
      find_residual(value_, {.out = right_.data(), .factor = theta});
      solve(theta, value_.data());
      add(1, right_, value_);
      return hold_sides(value_);
    }
    find_residual({}, {.out = given_.data(), .factor = theta, .terms = {{{value_.data(), 1}}}});
    if (whole_) return solve_whole(theta);
    solve(theta, nullptr, given_, value_);
    hold_sides(value_);
    for (int pass = 1; pass < backward_passes(); ++pass) refine(theta);
  }

  /// (1 − θ·dt·L) value = given, from what value has.
  void solve_whole(double theta) {
    hold_sides(value_);
    whole_->solve(stream_, equation_, theta * (adaptive_ ? tried_ : this->step_size()),
                  held(given_), held(value_));
  }

  /// An array with the planes beside a rank's own.
  std::span<T> held(std::span<T> values) const { return part_ ? part_->held_of(values) : values; }

  /// A pass for (1 − θ·dt·L) value = given, where sides are held already.
  void refine(double theta) {
    find_residual(value_, {.out = right_.data(),
                           .factor = theta,
                           .forced = false,
                           .terms = {{{given_.data(), 1}, {value_.data(), -1}}}});
    solve(theta, value_.data());
    add(1, right_, value_);
  }

  /// What `right_` stands for becomes what it is, of something added to `start`.
  void solve(double theta, T const* start) { solve(theta, start, right_, right_); }
  void solve(double theta, T const* start, std::span<T> right, std::span<T> x) {
    if (part_)
      part_->solve(stream_, split_, theta, start, right.data(), x.data());
    else
      systems_.solve(stream_, split_, theta, start, right.data(), x.data());
  }

  /// Of `in` a rank needs the planes beside its own.
  void find_residual(std::span<T> in, stencil::Residual<T> residual) {
    residual.in = in.data();
    bool const has_beside = in.data() == u_.data() || in.data() == beside_;
    if (part_ && !in.empty() && !has_beside) part_->exchange(stream_, in);
    beside_ = nullptr;
    stencil::find_residual(stream_, diffusion_, residual);
  }

  AdaptiveSteps::Method method(int ranks) {
    AdaptiveSteps::Method method = {.attempt =
                                        [this](bool) {
                                          if (!whole_ || look()) queue_attempt();
                                        },
                                    .commit = [this](auto const* control) { commit(control); },
                                    .rate = [this] { find_rate(); },
                                    .looks = whole_.has_value()};
    if (ranks == 1) return method;
    method.rate = [this] { in_windows(0, [this] { find_rate(); }); };
    method.within = [this](std::function<void()> const& attempt) { in_windows(1, attempt); };
    method.look = [](system::StepControl const& control) {
      require_agreement(gridstride::ranks(), control);
    };
    method.parts = ranks;
    return method;
  }

  /// In a window, whose next state is this one where nothing is taken.
  void commit(system::StepControl const* control) {
    if (part_) copy_async(next_, u_, stream_);
    system::Taken<T> const taken = {part_ ? next_.data() : u_.data(), value_.data()};
    system::commit<T>(stream_, std::span(&taken, 1), std::ssize(u_), control);
  }

  void find_rate() {
    refresh(0, 0);
    find_residual(u_, {.out = right_.data(), .factor = 1});
    find_error(u_);
  }

  /// Cycles have to know the step that is tried. Whether there is one.
  bool look() {
    evaluate::DeviceClock now;
    copy_async(std::span(&now, 1), std::span(std::as_const(clock_).device(), 1), stream_);
    stream_.synchronize();
    tried_ = now.step_size;
    return tried_ > 0;
  }

  void queue_attempt() {
    begin_with_state(value_);
    queue_trapezoidal();
    queue_backward();
    std::pair<std::span<T>, double> const rates[] = {{u_, 0}, {middle_, scheme_.part}, {value_, 1}};
    for (std::size_t i = 0; i < scheme_.rates.size(); ++i) {
      auto const [in, part] = rates[i];
      refresh(part, part);
      stencil::Residual<T> residual = {.out = right_.data(), .factor = scheme_.rates[i]};
      if (i == 0)
        residual.terms = {{{u_.data(), 1}, {value_.data(), -1}}};
      else
        residual.terms = {{{right_.data(), 1}}};
      find_residual(in, residual);
    }
    if (whole_) {
      copy_async(given_, right_, stream_);
      whole_->solve_error(stream_, equation_, scheme_.backward * tried_, held(given_),
                          held(right_));
    } else {
      solve(scheme_.backward, value_.data());
    }
    find_error(value_);
  }

  /// Of what is in `right_`.
  void find_error(std::span<T> value) {
    system::Slopes<T> one = {.state = u_.data(), .value = value.data()};
    one.slopes[0] = right_.data();
    double const weight = 1;
    auto const& tolerance = adaptive_->tolerance();
    system::ErrorScale const scale = {tolerance.relative, tolerance.absolute};
    if (part_) return part_->find_worst(stream_, one, scale, second_.data(), adaptive_->parts());
    system::worst_error<T>(stream_, grid_, std::span(&one, 1), std::span(&weight, 1), scale,
                           second_.data(), adaptive_->parts());
  }

  /// What changes with time: what drives u at a part of the step, and u on sides at another one.
  void refresh(double part, double part_of_held) {
    if (!state_.changes()) return;
    state_.refresh(part, part_of_held);
    if (part_) part_->renew_faces(stream_);
  }
  void add(double multiple, std::span<T const> change, std::span<T> value) {
    elementwise::axpy<T>(stream_, static_cast<T>(multiple), change, value);
  }
  void hold_sides(std::span<T> value) { stencil::hold_sides(stream_, diffusion_, value.data()); }

  config::RunConfig const& run_;
  ImplicitScheme const& scheme_;
  std::span<T> u_, value_, base_, right_, given_, middle_;
  std::span<T> next_;          // of a window
  T const* beside_ = nullptr;  // values that have the planes beside a rank's own
  bool bounded_, alternates_;
  stencil::AxisSystems<T> systems_;
  std::optional<ImplicitPart<T>> part_;  // of a rank
  std::optional<WholeSystem<T>> whole_;
  std::vector<Buffer<T>> work_;
  stencil::Diffusion<T> diffusion_;
  stencil::Diffusion<T> equation_;  // the same at all points of the grid
  stencil::Diffusion<T> split_;     // of W
  stencil::AlternatingStep<T> alternating_;
  std::optional<AdaptiveSteps> adaptive_;
  double tried_ = 0;                      // the step that is tried, where cycles are told (s)
  Buffer<evaluate::DeviceClock> second_;  // with a step of 1 s, for errors that have theirs
};

}  // namespace

std::unique_ptr<Simulation> make_implicit(config::RunConfig const& run, Stream const& stream,
                                          Inputs const& inputs) {
  return make_simulation<ImplicitHeat>(run, stream, inputs);
}

}  // namespace gridstride::heat
