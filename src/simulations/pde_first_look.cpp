#include "simulations/pde_first_look.hpp"

#include <utility>

#include "model/bricks.hpp"
#include "model/own_values.hpp"
#include "simulations/pde_set_up.hpp"

namespace gridstride::pde {

template <class T>
FirstLook<T>::FirstLook(PartsOf<T> const& parts, std::vector<system::Input<T>> inputs,
                        equations::Stencil stencil, Inputs const& files)
    : parts_(parts), inputs_(std::move(inputs)), stencil_(std::move(stencil)), files_(files) {}

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
  auto const beside = plan.beside(rank);
  Planes const own = plan.owned_by(rank), held = plan.held_by(rank);
  Window<T> window{};
  window.grid = plan.shape.grid;
  window.grid.points[static_cast<std::size_t>(grid.dims - 1)] = held.count();
  window.first = held.lower;
  window.cut = {beside[0] >= 0, beside[1] >= 0};
  window.made = {own.lower - held.lower, own.upper - held.lower};
  std::vector<Buffer<T>> state;
  for (std::size_t c = 0; c < of.evolved.size(); ++c) {
    auto& array = state.emplace_back(of.stream, MemorySpace::device,
                                     static_cast<std::size_t>(window.grid.size()));
    window.in[c] = array.data();
  }
  for_each_field(of.run, window, [&](config::FieldSource const& source, Targets<T> targets) {
    fill_brick(of.stream, source, grid, {held, plan.held_strips()}, files_, targets,
               of.run.kernels.at("evaluate"));
  });
  SystemParts<T> parts(of, inputs_, stencil_);
  parts.impose_sides(window);
  return parts.look(window, finder, ahead);
}

template class FirstLook<float>;
template class FirstLook<double>;

}  // namespace gridstride::pde
