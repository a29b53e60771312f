#include "kernels/star/star.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "core/buffer.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/star/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::star {

template <class T>
std::span<Variant<LeapfrogFunction<T>> const> variants() {
  static Variant<LeapfrogFunction<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "every point in turn, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "rows shared among threads; branch-free inner loops that the compiler vectorises"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_naive<T>),
       "one thread per point, neighbours through the caches"},
      {"register_queue", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_register_queue<T>),
       "16-byte vectors march along the slowest axis, the lines within reach in registers"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "register_queue";
}

std::span<double const> central_weights(int order) {
  static constexpr double second[] = {1.0}, fourth[] = {4.0 / 3, -1.0 / 12},
                          sixth[] = {3.0 / 2, -3.0 / 20, 1.0 / 90},
                          eighth[] = {8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560};
  switch (order) {
    case 2:
      return second;
    case 4:
      return fourth;
    case 6:
      return sixth;
    case 8:
      return eighth;
    default:
      throw std::invalid_argument(fmt::format("star: there is no order {} (2, 4, 6, 8)", order));
  }
}

double largest_eigenvalue(Grid const& grid, int order) {
  double of_unit_spacing = 0;  // 4·(w_1 + w_3): at sign changes, pairs of even distance cancel
  auto const weights = central_weights(order);
  for (std::size_t k = 0; k < weights.size(); k += 2) of_unit_spacing += 4 * weights[k];
  double sum = 0;
  for (int axis = 0; axis < grid.dims; ++axis)
    sum += of_unit_spacing / (grid.spacing[axis] * grid.spacing[axis]);
  return sum;
}

namespace {

SideRule rule_of(SideKind kind) {
  switch (kind) {
    case SideKind::periodic:
      return SideRule::wrap;
    case SideKind::fixed:
      return SideRule::odd;
    case SideKind::free:
      return SideRule::even;
    default:
      throw std::invalid_argument("star: a side is neither periodic nor fixed nor free");
  }
}

/// What a step and the energy have in common: the state and where it lies.
template <class T>
LeapfrogArguments<T> state_of(LeapfrogStep<T> const& step) {
  int const radius = static_cast<int>(central_weights(step.order).size());
  if (step.in == nullptr || step.previous == nullptr)
    throw std::invalid_argument("star: in and previous are both needed");
  LeapfrogArguments<T> state{};
  state.in = step.in;
  state.previous = step.previous;
  for (int axis = 0; axis < 3; ++axis) {
    state.points[axis] = step.grid.points[axis];
    if (axis >= step.grid.dims) continue;
    if (step.grid.points[axis] < radius + 1)
      throw std::invalid_argument(fmt::format("star: axis {} has {} points, order {} needs {}",
                                              axis_names[axis], step.grid.points[axis], step.order,
                                              radius + 1));
    for (int side = 0; side < 2; ++side) state.side[axis][side] = rule_of(step.sides[axis][side]);
    if ((state.side[axis][0] == SideRule::wrap) != (state.side[axis][1] == SideRule::wrap))
      throw std::invalid_argument(
          fmt::format("star: axis {} is periodic on one side alone", axis_names[axis]));
  }
  return state;
}

template <class T>
LeapfrogArguments<T> arguments_of(LeapfrogStep<T> const& step) {
  if (step.out == nullptr) throw std::invalid_argument("star: out is needed");
  LeapfrogArguments<T> arguments = state_of(step);
  auto const size = static_cast<std::size_t>(step.grid.size());
  auto const out = named("out", std::span(step.out, size));
  require_disjoint("star", out, named("in", std::span(step.in, size)));
  require_disjoint_or_same("star", out, named("previous", std::span(step.previous, size)));
  arguments.out = step.out;
  arguments.speed_squared = step.speed_squared_field;
  arguments.source = step.source;
  arguments.ratio = static_cast<T>(step.ratio);
  arguments.factor = static_cast<T>(step.factor);
  arguments.damping_time = static_cast<T>(step.damping_time);
  auto const weights = central_weights(step.order);
  double const speed_squared = step.speed_squared_field ? 1 : step.speed_squared;
  for (int axis = 0; axis < step.grid.dims; ++axis) {
    arguments.damping[axis] = step.damping[axis];
    double const h = step.grid.spacing[axis];
    for (std::size_t k = 0; k < weights.size(); ++k)
      arguments.weight[axis][k] =
          static_cast<T>(step.factor * speed_squared * weights[k] / (h * h));
  }
  return arguments;
}

}  // namespace

template <class T>
void leapfrog(Stream& stream, LeapfrogStep<T> const& step, std::string_view variant) {
  auto const arguments = arguments_of(step);
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("star", variants<T>(), stream.backend(), variant);
  row.run(stream, step.grid.dims, step.order / 2, arguments);
}

template <class T>
void energy(Stream& stream, LeapfrogStep<T> const& step, double tau, std::span<double> result) {
  if (tau == 0) throw std::invalid_argument("star: the energy of a step of no time");
  EnergyArguments<T> arguments{};
  arguments.state = state_of(step);
  arguments.speed_squared = step.speed_squared;
  arguments.speed_squared_field = step.speed_squared_field;
  arguments.rate = 1 / tau;
  arguments.cell = 0.5;
  auto const weights = central_weights(step.order);
  for (int axis = 0; axis < step.grid.dims; ++axis) {
    double const h = step.grid.spacing[axis];
    arguments.cell *= h;
    for (std::size_t k = 0; k < weights.size(); ++k)
      arguments.weight[axis][k] = weights[k] / (h * h);
  }
  auto const parts = (step.grid.size() + energy_piece - 1) / energy_piece;
  Buffer<double> sums(stream, MemorySpace::device, static_cast<std::size_t>(parts));
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    cuda_energy(stream, step.grid.dims, step.order / 2, arguments, sums.span());
#endif
  if (stream.backend() == Backend::cpu)
    host_energy(stream, step.grid.dims, step.order / 2, arguments, sums.span());
  reduce::sum<double>(stream, sums.span(), result);
}

template <class T>
void add_ricker(Stream& stream, std::span<RickerTerm const> terms,
                evaluate::DeviceClock const* clock, double factor, double damping_time,
                std::span<T> out) {
  if (terms.empty()) return;
  if (clock == nullptr) throw std::invalid_argument("star: point sources need a clock");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda)
    return cuda_ricker(stream, terms, clock, factor, damping_time, out.data());
#endif
  host_ricker(stream, terms, clock, factor, damping_time, out.data());
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                              \
  template std::span<Variant<LeapfrogFunction<T>> const> variants<T>();                        \
  template void leapfrog(Stream&, LeapfrogStep<T> const&, std::string_view);                   \
  template void energy(Stream&, LeapfrogStep<T> const&, double, std::span<double>);            \
  template void add_ricker(Stream&, std::span<RickerTerm const>, evaluate::DeviceClock const*, \
                           double, double, std::span<T>);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::star
