#include "simulations/pde_slope_parts.hpp"

#include <array>
#include <utility>

#include "model/adaptive_steps.hpp"
#include "simulations/pde_implicit.hpp"

namespace gridstride::pde {

namespace {

Grid own_grid(SweepPlan const& plan) {
  Grid grid = plan.shape.grid;
  grid.points[static_cast<std::size_t>(grid.dims - 1)] = plan.owned_by(ranks().rank()).count();
  return grid;
}

}  // namespace

template <class T>
SlopeParts<T>::SlopeParts(PartsOf<T> const& of, std::vector<system::Input<T>> inputs,
                          equations::Stencil const& stencil, WindowSteps<T>& steps)
    : Base(of, std::move(inputs), stencil), steps_(steps) {
  if (goes_by_multigrid(of.run)) {
    for (auto& of_buffer : this->scratch_)
      for (auto& array : of_buffer) zero_async(array.span(), of_.stream);
    auto const plane = of.plan.shape.plane_bytes() * of.evolved.size();
    if (of.scheme.stages.size() > 1)
      halos_.emplace(*planes_, of_.stream, static_cast<std::size_t>(of.plan.rank_halo()) * plane,
                     0);
  }
  if (!of.run.time.adaptive) return;
  errors_ = Buffer<system::WorstError>(
      of_.stream, MemorySpace::device,
      static_cast<std::size_t>(system::error_parts(own_grid(of.plan), of.evolved.size())));
  zero_async(errors_.span(), of_.stream);
}

template <class T>
void SlopeParts<T>::within(bool makes_step, std::function<void()> const& work) {
  auto const pass = [&](Stream&, Window<T> const& window) {
    window_ = window;
    part_ = {window.grid, window.first};
    work();
    part_.reset();
  };
  if (makes_step)
    steps_.run(this->arrays(), 1, pass);
  else
    steps_.look(this->arrays(), LooksAt::beside, pass);
}

template <class T>
T* SlopeParts<T>::buffer(int number, std::size_t component) {
  return number == 0 ? window_.in[component] : this->scratch(number, component, part_->first);
}

template <class T>
void SlopeParts<T>::copy_sides(std::size_t component, system::Sides<T>& to) {
  auto const inputs = this->inputs_at(*part_, std::span(window_.in).first(of_.evolved.size()));
  for (int axis = 0; axis < 3; ++axis)
    for (int side = 0; side < 2; ++side) to[axis][side] = inputs[component].sides[axis][side];
}

template <class T>
void SlopeParts<T>::queue_rates(Stage const& moment, int in, int out, std::size_t first) {
  std::vector<T*> state;
  for (std::size_t c = 0; c < of_.evolved.size(); ++c) state.push_back(buffer(in, c));
  auto step = this->evaluation_of(moment, *part_, state);
  step.needs_step = true;
  step.is_stage = false;
  for (std::size_t c = first; c < of_.evolved.size(); ++c)
    step.outputs.push_back({.values = buffer(out, c)});
  step.prepared = &rates_;
  system::advance(of_.stream, step, this->variant_);
}

/// An end of the rank's own planes that is none of the grid gives no values. What lies beside its strip
/// does not count.
template <class T>
void SlopeParts<T>::find_worst(std::vector<system::Slopes<T>> components,
                               std::span<double const> weights, system::ErrorScale scale,
                               evaluate::DeviceClock const* clock,
                               std::span<system::WorstError> parts) {
  auto const& plan = of_.plan;
  Planes const own = this->own();
  int const slowest = plan.shape.grid.dims - 1;
  std::int64_t const before = values_before_own();
  for (auto& one : components) {
    one.state += before;
    one.value += before;
    for (std::size_t s = 0; s < weights.size(); ++s) one.slopes[s] += before;
    if (own.lower > 0) one.sides[slowest][0].given = false;
    if (own.upper < plan.shape.planes()) one.sides[slowest][1].given = false;
  }
  system::ErrorStrips strips;
  for (std::size_t which = 0; which < strip_axes; ++which)
    if (auto const& [count, points, mine, held] = plan.strips[which]; count > 1)
      strips[which] = {mine.lower - held.lower, mine.upper - held.lower, held.lower, points};
  system::worst_error<T>(of_.stream, own_grid(plan), components, weights, scale, clock,
                         errors_.span(), strips);
  share_worst(of_.stream, *planes_, std::as_const(errors_).span(),
              own.lower * of_.run.grid.face_size(slowest), parts);
}

template <class T>
void SlopeParts<T>::take(system::StepControl const* control) {
  std::int64_t const before = values_before_own(), size = own_values();
  std::vector<system::Taken<T>> taken;
  for (std::size_t c = 0; c < of_.evolved.size(); ++c) {
    T* const out = window_.out[c] + before;
    if (control != nullptr) {
      auto const values = static_cast<std::size_t>(size);
      copy_async(std::span(out, values), std::span<T const>(window_.in[c] + before, values),
                 of_.stream);
    }
    taken.push_back({out, buffer(1, c) + before});
  }
  system::commit<T>(of_.stream, taken, size, control);
}

template <class T>
T* SlopeParts<T>::begin_next(std::size_t component) {
  T* const next = window_.out[component];
  auto const values = static_cast<std::size_t>(part_->grid.size());
  copy_async(std::span(next, values), std::span<T const>(window_.in[component], values),
             of_.stream);
  return next;
}

template <class T>
void SlopeParts<T>::complete(int number) {
  std::int64_t const halo = of_.plan.rank_halo();
  Planes const own = this->own();
  RankPlanes const& planes = *planes_;
  std::array<RankPieces::Pieces, 2> sent, received;
  auto const add = [&](RankPieces::Pieces& pieces, std::size_t component, std::int64_t first) {
    T* const values = buffer(number, component) + (first - part_->first) * line();
    pieces.push_back(
        std::as_writable_bytes(std::span(values, static_cast<std::size_t>(halo * line()))));
  };
  for (std::size_t c = 0; c < of_.evolved.size(); ++c) {
    if (planes.beside()[0] >= 0) {
      add(sent[0], c, own.lower);
      add(received[0], c, own.lower - halo);
    }
    if (planes.beside()[1] >= 0) {
      add(sent[1], c, own.upper - halo);
      add(received[1], c, own.upper);
    }
  }
  halos_->exchange(of_.stream, sent, received);
}

/// As `RankPlanes` has them, which arrays have memory for also where the grid ends.
template <class T>
std::span<T> SlopeParts<T>::to_solve(T* values) {
  return {values + values_before_own() - line(),
          static_cast<std::size_t>(own_values() + 2 * line())};
}

template <class T>
std::span<T> SlopeParts<T>::kept(int number, std::size_t component) {
  return {this->scratch(number, component, own().lower), static_cast<std::size_t>(own_values())};
}

template class SlopeParts<float>;
template class SlopeParts<double>;

}  // namespace gridstride::pde
