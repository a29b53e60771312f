#include "simulations/pde_parts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/rank_sums.hpp"
#include "kernels/system/step_control.hpp"
#include "model/bricks.hpp"
#include "model/own_values.hpp"
#include "model/value_boxes.hpp"
#include "simulations/pde_implicit.hpp"
#include "simulations/pde_ranks.hpp"
#include "simulations/pde_schemes.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

namespace {

Grid with_planes(Grid grid, std::int64_t planes) {
  grid.points[static_cast<std::size_t>(grid.dims - 1)] = planes;
  return grid;
}

}  // namespace

template <class T>
SystemParts<T>::SystemParts(PartsOf<T> const& of, std::vector<system::Input<T>> inputs,
                            equations::Stencil const& stencil)
    : of_(of),
      variant_(evaluating_variant(of.run)),
      inputs_(std::move(inputs)),
      held_(of.plan.held_by(of.rank)),
      names_(of.stream, with_planes(of.plan.shape.grid, held_.count()),
             name_programs(stencil, of.run.grid.dims), static_cast<int>(of.evolved.size())),
      lower_(of.plan.owned_by(of.rank).lower - of.plan.rank_halo()),
      lasting_(of.stream, of.run, stencil, with_planes(of.plan.shape.grid, all_planes()),
               place_of(lower_)) {
  std::int64_t const all = all_planes();
  auto const size = static_cast<std::size_t>(all * of.plan.shape.plane_values());
  scratch_.resize(static_cast<std::size_t>(scratch_buffers(of.run, of.scheme)));
  for (auto& of_buffer : scratch_)
    for (std::size_t c = 0; c < of.evolved.size(); ++c)
      of_buffer.emplace_back(of_.stream, MemorySpace::device, size);
  make_planes(stencil.operands.size());
  if (GlobalFinder<T>::needs_scratch(stencil.terms, stencil.operands))
    operand_ = Buffer<T>(of_.stream, MemorySpace::device, size);
  slopes_.resize(inputs_.size());
  factors_.resize(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    for (int axis = 0; axis < of.run.grid.dims; ++axis)
      for (std::size_t end = 0; end < 2; ++end) {
        auto const a = static_cast<std::size_t>(axis);
        auto const& side = inputs_[i].sides[axis][end];
        slopes_[i][a][end] = {of_.stream, of.plan, axis, side.g};
        factors_[i][a][end] = {of_.stream, of.plan, axis, side.a};
      }
}

template <class T>
void SystemParts<T>::make_planes(std::size_t operands) {
  if (of_.is_alone) return;
  auto const& run = of_.run;
  bool const solves = goes_by_multigrid(run);
  std::size_t numbers = run.time.adaptive ? worst_numbers(of_.plan.ranks) : 0;
  if (shares_numbers(run))
    numbers = std::max(numbers, GlobalFinder<T>::shared_numbers(of_.stream.backend(), run.grid) *
                                    std::min<std::size_t>(system::most_summed, operands + 1));
  if (numbers == 0 && !solves) return;
  auto const plane = solves ? static_cast<std::size_t>(of_.plan.shape.plane_values()) : 1;
  // Ranks that have no whole planes share numbers alone.
  RankCuts cuts(static_cast<std::size_t>(of_.plan.ranks) + 1);
  std::iota(cuts.begin(), cuts.end(), 0);
  if (!of_.plan.has_strips()) cuts = of_.plan.cuts();
  planes_ = std::make_unique<RankPlanes>(ranks(), of_.stream, std::move(cuts),
                                         solves && of_.plan.shape.periodic, plane * sizeof(double),
                                         std::max<std::size_t>(numbers, 1));
}

template <class T>
std::vector<T*> SystemParts<T>::arrays() const {
  std::vector<T*> arrays;
  for (Array<T>* const component : of_.evolved) arrays.push_back(component->data());
  return arrays;
}

/// What holds on sides, where it changes.
template <class T>
void SystemParts<T>::refresh_sides(Stage const& stage) {
  if (!of_.state.changes()) return;
  of_.state.refresh(stage);
  for (auto* all : {&slopes_, &factors_})
    for (Faces& faces : *all)
      for (auto& ends : faces)
        for (auto& face : ends) face.renew(of_.stream);
}

template <class T>
void SystemParts<T>::run(WindowSteps<T>& steps, std::int64_t count, Passes<T>* passes,
                         bool uses_clock) {
  auto const pass = [&](Stream& stream, Window<T> const& window) {
    if (passes == nullptr) return make_stages(window);
    march(stream, window, *passes, of_.clock.step());
  };
  if (passes != nullptr) passes->begin();
  if (!uses_clock) return steps.run(arrays(), count, pass);
  for (; count > 0; --count) {
    steps.run(arrays(), 1, pass);
    of_.clock.tick();
  }
}

template <class T>
void SystemParts<T>::begin(WindowSteps<T>& steps, double dt, Passes<T>& passes) {
  steps.begin([&](Stream& stream, Window<T> const& window) { march(stream, window, passes, dt); });
}

template <class T>
std::vector<system::Extremes> SystemParts<T>::look(WindowSteps<T>& steps,
                                                   StabilityFinder<T>& finder, Ahead const& ahead) {
  refresh_sides({.sides = {1, 0, 0}});
  std::vector<system::Extremes> found;
  auto const planes = finder.looks_at_points() ? LooksAt::own : LooksAt::beside;
  steps.look(arrays(), planes,
             [&](Stream&, Window<T> const& window) { found = look(window, finder, ahead); });
  return found;
}

template <class T>
std::vector<system::Extremes> SystemParts<T>::look(Window<T> const& window,
                                                   StabilityFinder<T>& finder, Ahead const& ahead) {
  Part const part{window.grid, window.first};
  auto step = evaluation(part, std::span(window.in).first(of_.evolved.size()));
  step.clock = of_.clock.device();
  auto const own = own_planes(part);
  return finder.look(std::move(step), ahead, &own);
}

template <class T>
void SystemParts<T>::impose_sides(Window<T> const& window) {
  std::vector<std::size_t> all(of_.evolved.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  impose_sides(window, all);
}

/// Nothing is given where the grid goes on.
template <class T>
void SystemParts<T>::impose_sides(Window<T> const& window,
                                  std::span<std::size_t const> components) {
  auto const inputs =
      inputs_at({window.grid, window.first}, std::span(window.in).first(of_.evolved.size()));
  int const dims = window.grid.dims;
  for (std::size_t const c : components) {
    auto input = inputs[c];
    auto const leave = [&](int axis, std::size_t end, bool goes_on) {
      if (goes_on) input.sides[axis][end] = {};
    };
    for (std::size_t end = 0; end < 2; ++end) leave(dims - 1, end, window.cut[end]);
    for (std::size_t which = 0; which < strip_axes; ++which)
      if (auto const& strips = of_.plan.strips[which]; strips.are_there()) {
        leave(axis_of_strips(dims, which), 0, strips.held.lower > 0);
        leave(axis_of_strips(dims, which), 1, strips.held.upper < strips.points);
      }
    system::impose_sides<T>(of_.stream, window.grid, input.sides, window.in[c]);
  }
}

template <class T>
std::string SystemParts<T>::reason_to_end(WindowSteps<T>& steps, StopTest<T>& stop,
                                          equations::StencilProgram const& rates, double time,
                                          evaluate::DeviceClock const* now) {
  refresh_sides({.sides = {1, 0, 0}});
  std::string reason;
  steps.look(arrays(), LooksAt::beside, [&](Stream&, Window<T> const& window) {
    auto const moment = moment_of(window, time, now);
    of_.globals.find(moment.step, moment.own, operand_.span(), variant_);
    reason = stop.reason(rates, of_.globals.values(), moment);
  });
  return reason;
}

template <class T>
MomentPlanes<T> SystemParts<T>::moment_of(Window<T> const& window, double time,
                                          evaluate::DeviceClock const* now) {
  Part const part{window.grid, window.first};
  auto const components = of_.evolved.size();
  MomentPlanes<T> moment{
      .time = time,
      .step = evaluation(part, std::span(window.in).first(components)),
      .own = own_planes(part),
      .spare = {window.out.begin(), window.out.begin() + static_cast<std::ptrdiff_t>(components)}};
  moment.step.clock = now;
  names_.fill(moment.step, variant_);
  return moment;
}

namespace {

/// Of the points of a rank's own the first whose value is not finite, by its place in the grid; or −1. Of a GPU its
/// planes come to the host.
template <class T>
std::int64_t first_not_finite(Stream& stream, SweepPlan const& plan, int rank,
                              std::span<T const> own) {
  bool const is_there = stream.backend() == Backend::cpu;
  Buffer<T> copy(stream, MemorySpace::pinned, is_there ? 0 : own.size());
  if (!is_there) copy_async(copy.span(), own, stream);
  stream.synchronize();
  if (!is_there) own = std::as_const(copy).span();
  Grid const whole = whole_grid(plan);
  auto const extents = extents_of(whole, plan.brick_of(rank));
  for (std::int64_t z = extents[2].lower; z < extents[2].upper; ++z)
    for (std::int64_t y = extents[1].lower; y < extents[1].upper; ++y) {
      PointBox const line = {extents[0], Planes{y, y + 1}, Planes{z, z + 1}};
      auto const values = own.subspan(static_cast<std::size_t>(place_of_box(plan, rank, line)),
                                      static_cast<std::size_t>(extents[0].count()));
      if (std::int64_t const place = reduce::first_non_finite_on_host(values); place >= 0)
        return place_in(whole.points, begin_of(line)) + place;
    }
  return -1;
}

}  // namespace

/// From the values of before. The first field that is set tells what is not finite.
template <class T>
void SystemParts<T>::set(WindowSteps<T>& steps, Events<T> const& events, std::size_t event,
                         double time, evaluate::DeviceClock const* now) {
  refresh_sides({.sides = {1, 0, 0}});
  auto const components = events.components(event);
  steps.look(arrays(), LooksAt::beside, [&](Stream& stream, Window<T> const& window) {
    auto const moment = moment_of(window, time, now);
    system::advance(stream, moment.evaluation(events.program(event), nullptr), variant_);
  });
  std::vector<std::int64_t> bad;
  steps.begin_with(arrays(), [&](Stream& stream, Window<T> const& window) {
    for (auto const& values : take_made(stream, window, components))
      bad.push_back(first_not_finite<T>(stream, of_.plan, of_.rank, std::span<T const>(values)));
  });
  for (std::int64_t const own : bad) {
    auto all = of_all_ranks(ranks(), own);
    std::erase(all, -1);
    if (!all.empty()) events.refuse(event, time, *std::ranges::min_element(all));
  }
}

/// The rank's own planes of these components become what was made in a window's other arrays, in their order.
template <class T>
std::vector<std::span<T>> SystemParts<T>::take_made(Stream& stream, Window<T> const& window,
                                                    std::span<std::size_t const> components) {
  std::vector<std::span<T>> own;
  for (std::size_t r = 0; r < components.size(); ++r) {
    own.push_back(gridstride::own_planes(of_.plan, window, window.in[components[r]]));
    auto const made = gridstride::own_planes(of_.plan, window, window.out[r]);
    copy_async(own.back(), std::span<T const>(made), stream);
  }
  impose_sides(window, components);
  return own;
}

template <class T>
void SystemParts<T>::find(Window<T> const& window, FirstValues const& values,
                          std::span<T* const> targets) {
  auto step =
      evaluation({window.grid, window.first}, std::span(window.in).first(of_.evolved.size()));
  step.program = &values.program;
  step.is_stage = false;
  step.clock = of_.clock.device();
  for (T* const target : targets) step.outputs.push_back({.values = target});
  system::advance(of_.stream, step, variant_);
}

template <class T>
void SystemParts<T>::begin_with(WindowSteps<T>& steps, FirstValues const& values) {
  auto const components = values.components();
  steps.look(arrays(), LooksAt::beside, [&](Stream&, Window<T> const& window) {
    find(window, values, std::span(window.out).first(components.size()));
  });
  steps.begin_with(arrays(), [&](Stream& stream, Window<T> const& window) {
    take_made(stream, window, components);
  });
}

template <class T>
std::vector<std::span<T const>> SystemParts<T>::find(WindowSteps<T>& steps,
                                                     QuantityPlanes<T>& quantities, double time) {
  refresh_sides({.sides = {1, 0, 0}});
  std::vector<std::span<T const>> own;
  steps.look(arrays(), LooksAt::beside, [&](Stream&, Window<T> const& window) {
    auto step =
        evaluation({window.grid, window.first}, std::span(window.in).first(of_.evolved.size()));
    step.clock = of_.clock.device();
    names_.fill(step, variant_);
    quantities.find(step, time);
    for (T const* const array : quantities.arrays())
      own.push_back(gridstride::own_planes(of_.plan, window, array));
  });
  return own;
}

/// The number that the first point of a plane has along each axis of the whole grid.
template <class T>
std::array<std::int64_t, 3> SystemParts<T>::place_of(std::int64_t plane) const {
  auto const held = extents_of(of_.plan.shape.grid, {{plane, plane + 1}, of_.plan.held_strips()});
  return {held[0].lower, held[1].lower, held[2].lower};
}

/// All that a part reads.
template <class T>
std::vector<system::Input<T>> SystemParts<T>::inputs_at(Part const& part,
                                                        std::span<T* const> state) {
  std::int64_t const first = part.first;
  auto inputs = inputs_;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].values =
        i < state.size() ? state[i] : names_.values(static_cast<int>(i - state.size()));
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t end = 0; end < 2; ++end) {
        inputs[i].sides[axis][end].g = slopes_[i][axis][end].at(first);
        inputs[i].sides[axis][end].a = factors_[i][axis][end].at(first);
      }
  }
  std::int64_t const planes = part.grid.points[static_cast<std::size_t>(part.grid.dims - 1)];
  auto const& lasting = lasting_.inputs_on({first - lower_, first - lower_ + planes});
  inputs.insert(inputs.end(), lasting.begin(), lasting.end());
  return inputs;
}

template <class T>
system::Step<T> SystemParts<T>::evaluation(Part const& part, std::span<T* const> state) {
  system::Step<T> step;
  step.grid = part.grid;
  step.inputs = inputs_at(part, state);
  step.piece.emplace();
  step.piece->whole = of_.run.grid.points;
  step.piece->first = place_of(part.first);
  return step;
}

template <class T>
OwnPlanes SystemParts<T>::own_planes(Part const& part) {
  OwnPlanes own{of_.plan.owned_by(of_.rank), part.first, planes_.get()};
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (auto const& strips = of_.plan.strips[which]; strips.are_there())
      own.strips[which] = {strips.own.lower - strips.held.lower,
                           strips.own.upper - strips.held.lower};
  return own;
}

template <class T>
system::Step<T> SystemParts<T>::evaluation_of(Stage const& stage, Part const& part,
                                              std::span<T* const> state) {
  auto step = evaluation(part, state);
  step.clock = of_.clock.device();
  step.fraction = stage.time;
  names_.fill(step, variant_);
  of_.globals.find(step, own_planes(part), operand_.span(), variant_);
  step.found = of_.globals.values();
  step.program = &of_.program;
  return step;
}

/// Each stage on those planes whose neighbours the one before has left right.
template <class T>
void SystemParts<T>::make_stages(Window<T> const& window) {
  auto const& stages = of_.scheme.stages;
  double const dt = of_.clock.step();
  auto const slowest = static_cast<std::size_t>(window.grid.dims - 1);
  std::int64_t const reach = of_.plan.shape.reach / std::ssize(stages);
  std::int64_t const planes = window.grid.points[slowest], line = of_.plan.shape.plane_values();
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Stage const& stage = stages[s];
    bool const is_last = s + 1 == stages.size();
    std::int64_t const lost = static_cast<std::int64_t>(s) * reach;
    std::int64_t const below = window.cut[0] ? lost : 0, above = window.cut[1] ? lost : 0;
    Part const part{with_planes(window.grid, planes - below - above), window.first + below};
    auto const buffer = [&](int number, std::size_t c) {
      if (number == 0) return window.in[c] + below * line;
      return scratch(number, c, part.first);
    };
    refresh_sides(stage);
    std::vector<T*> state;
    for (std::size_t c = 0; c < of_.evolved.size(); ++c) state.push_back(buffer(stage.in, c));
    auto step = evaluation_of(stage, part, state);
    step.factor = stage.factor * dt;
    step.in_weight = stage.base == stage.in ? 0 : stage.in_weight;
    for (auto const& [number, weight] : stage.terms) step.addend_weights.push_back(weight);
    for (std::size_t c = 0; c < of_.evolved.size(); ++c) {
      system::Output<T> output = {
          .values = is_last ? window.out[c] + below * line : buffer(stage.out, c),
          .base = buffer(stage.base, c)};
      for (std::size_t i = 0; i < stage.terms.size(); ++i)
        output.addends[i] = buffer(stage.terms[i].first, c);
      step.outputs.push_back(output);
    }
    step.prepared = &prepared_[&stage];
    system::advance(of_.stream, step, variant_);
  }
}

template <class T>
void SystemParts<T>::march(Stream& stream, Window<T> const& window, Passes<T>& passes, double dt) {
  std::size_t const components = of_.evolved.size();
  system::PassArrays<T> arrays = {
      .in = inputs_at({window.grid, window.first}, std::span(window.in).first(components)),
      .out = {}};
  arrays.out.assign(window.out.begin(),
                    window.out.begin() + static_cast<std::ptrdiff_t>(components));
  passes.queue(stream, arrays, window.steps, dt, of_.clock.device(),
               {window.grid, window.first, window.made, of_.plan.strips[0].held.lower},
               own_planes({window.grid, window.first}));
}

template <class T>
std::string SystemParts<T>::fallback() const {
  return prepared_.empty() ? std::string() : prepared_.begin()->second.fallback;
}

template class SystemParts<float>;
template class SystemParts<double>;

void join(std::vector<system::Extremes>& found, std::span<system::Extremes const> other) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i].least = std::min(found[i].least, other[i].least);
    found[i].greatest = std::max(found[i].greatest, other[i].greatest);
    std::int64_t const place = other[i].first_non_finite;
    if (place >= 0 && (found[i].first_non_finite < 0 || place < found[i].first_non_finite))
      found[i].first_non_finite = place;
  }
}

void SharedChoice::share(Word& word) {
  ranks_.broadcast(std::as_writable_bytes(std::span(&word, 1)));
}

std::vector<system::Extremes> SharedChoice::ask(std::size_t finder, Ahead const& ahead) {
  Word word{.is_question = true, .finder = finder, .ahead = ahead};
  share(word);
  return look(finder, ahead);
}

std::vector<system::Extremes> SharedChoice::look(std::size_t finder, Ahead const& ahead) {
  auto found = look_(finder, ahead);
  auto const count = static_cast<std::int64_t>(found.size());
  std::vector<system::Extremes> all(found.size() * static_cast<std::size_t>(ranks_.count()));
  std::ranges::copy(found, all.begin() + ranks_.rank() * count);
  RankCuts cuts;
  for (int rank = 0; rank <= ranks_.count(); ++rank) cuts.push_back(rank * count);
  share_parts(ranks_, std::span(all), cuts);
  for (int rank = 0; rank < ranks_.count(); ++rank)
    join(found, std::span(all).subspan(static_cast<std::size_t>(rank * count), found.size()));
  return found;
}

StepPlan SharedChoice::plan(std::function<StepPlan()> const& choose) {
  Word word;
  if (ranks_.is_first()) {
    word.plan = choose();
    share(word);
    return word.plan;
  }
  for (share(word); word.is_question; share(word)) look(word.finder, word.ahead);
  return word.plan;
}

}  // namespace gridstride::pde
