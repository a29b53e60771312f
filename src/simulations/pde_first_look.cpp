#include "simulations/pde_first_look.hpp"

#include <utility>

#include "kernels/elementwise/elementwise.hpp"
#include "model/bricks.hpp"
#include "model/own_values.hpp"
#include "simulations/pde_initial.hpp"
#include "simulations/pde_ranks.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

template <class T>
FirstLook<T>::FirstLook(PartsOf<T> const& parts, std::vector<system::Input<T>> inputs,
                        equations::Stencil stencil, Inputs const& files)
    : parts_(parts),
      inputs_(std::move(inputs)),
      stencil_(std::move(stencil)),
      files_(files),
      made_(first_values(parts.run)) {
  parts_.plan = wide_plan(parts.run, parts.plan);
}

template <class T>
typename StabilityFinder<T>::Look FirstLook<T>::of(StabilityFinder<T>& finder) {
  return [this, &finder](Ahead const& ahead) {
    if (ahead.steps > 0) return find(finder, ahead);
    auto const [found, is_new] = found_.try_emplace(&finder);
    if (is_new) found->second = find(finder, ahead);
    return found->second;
  };
}

template <class T>
std::vector<system::Extremes> FirstLook<T>::find(StabilityFinder<T>& finder, Ahead const& ahead) {
  auto found = find_in(0, finder, ahead);
  for (int rank = 1; rank < parts_.plan.ranks; ++rank) join(found, find_in(rank, finder, ahead));
  return found;
}

template <class T>
std::vector<system::Extremes> FirstLook<T>::find_in(int rank, StabilityFinder<T>& finder,
                                                    Ahead const& ahead) {
  auto of = parts_;
  of.rank = rank;
  of.is_alone = true;
  of.plan = parts_.plan.at_rank(rank);
  SweepPlan const& plan = of.plan;
  Grid const grid = whole_grid(plan);
  Planes const own = plan.owned_by(rank), held = plan.held_by(rank);
  Window<T> window{};
  window.grid = plan.shape.grid;
  window.grid.points[static_cast<std::size_t>(grid.dims - 1)] = held.count();
  window.first = held.lower;
  window.cut = {plan.shape.periodic || held.lower > 0,
                plan.shape.periodic || held.upper < plan.shape.planes()};
  window.made = {own.lower - held.lower, own.upper - held.lower};
  auto const make_array = [&] {
    return Buffer<T>(of.stream, MemorySpace::device, static_cast<std::size_t>(window.grid.size()));
  };
  std::vector<Buffer<T>> state;
  for (std::size_t c = 0; c < of.evolved.size(); ++c)
    window.in[c] = state.emplace_back(make_array()).data();
  for_each_given(of.run, window, [&](config::FieldSource const& source, Targets<T> targets) {
    fill_brick(of.stream, source, grid, {held, plan.held_strips()}, files_, targets,
               of.run.kernels.at("evaluate"));
  });
  SystemParts<T> parts(of, inputs_, stencil_);
  parts.impose_sides(window);
  turn_around(window);
  for (FirstValues const& values : made_) {
    auto const components = values.components();
    std::vector<Buffer<T>> made;
    std::vector<T*> targets;
    for (std::size_t c = 0; c < components.size(); ++c)
      targets.push_back(made.emplace_back(make_array()).data());
    parts.find(window, values, targets);
    for (std::size_t c = 0; c < components.size(); ++c) {
      window.in[components[c]] = targets[c];
      std::swap(state[components[c]], made[c]);
    }
    parts.impose_sides(window, components);
  }
  return parts.look(window, finder, ahead);
}

/// Planes beyond the ends of an axis that goes around, of arrays that have the other sign there.
template <class T>
void FirstLook<T>::turn_around(Window<T> const& window) {
  auto const& shape = parts_.plan.shape;
  std::int64_t const count = window.grid.points[static_cast<std::size_t>(window.grid.dims - 1)];
  std::int64_t const plane = window.grid.size() / count, all = shape.planes();
  Planes const planes{window.first, window.first + count};
  for_each_stretch(planes, all, [&](std::int64_t at, Planes const& some) {
    if ((some.lower - at) / all % 2 == 0) return;
    for (std::size_t c = 0; c < parts_.evolved.size(); ++c)
      if ((shape.turned >> c & 1U) != 0)
        elementwise::scale<T>(parts_.stream, -1,
                              std::span(window.in[c] + (some.lower - window.first) * plane,
                                        static_cast<std::size_t>(some.count() * plane)));
  });
}

template class FirstLook<float>;
template class FirstLook<double>;

}  // namespace gridstride::pde
