#include "kernels/advect/advect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/advect/rows.hpp"

namespace gridstride::advect {

template <class T>
std::span<Variant<AdvectionFunction<T>> const> variants() {
  static Variant<AdvectionFunction<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "every point in turn, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "rows shared among threads, in pieces whose loops the compiler vectorises"},
      {"threads_subnormal", Backend::cpu, host_threads_subnormal<T>,
       "the same, slower, for a u that is hardly larger than the least normal number"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_naive<T>),
       "one thread per point, neighbours through the caches, each flux twice"},
      {"streaming", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_streaming<T>),
       "warps march along the slowest axis; fluxes once, from registers and shuffles"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "streaming";
}

namespace {

/// What the sides and the velocities say, for a step of `factor`.
template <class T>
AdvectionArguments<T> flow_of(AdvectionStep<T> const& step, double factor) {
  AdvectionArguments<T> arguments{};
  for (int axis = 0; axis < 3; ++axis) {
    arguments.points[axis] = step.grid.points[axis];
    arguments.periodic[axis] = true;
    if (axis >= step.grid.dims) continue;
    auto const& sides = step.sides[axis];
    if (step.grid.points[axis] < 3)
      throw std::invalid_argument(fmt::format("advect: axis {} has {} points, 3 are the least",
                                              axis_names[axis], step.grid.points[axis]));
    if (sides[0].periodic != sides[1].periodic)
      throw std::invalid_argument(
          fmt::format("advect: axis {} is periodic on one side only", axis_names[axis]));
    if (sides[0].periodic && (sides[0].cut || sides[1].cut))
      throw std::invalid_argument(
          fmt::format("advect: axis {} is both cut and periodic", axis_names[axis]));
    auto const& velocity = step.velocity[axis];
    double const scale = factor / step.grid.spacing[axis];
    arguments.velocity[axis] = velocity.field;
    arguments.weight[axis] = static_cast<T>(velocity.field ? scale : scale * velocity.constant);
    // A constant axis beside fields is split like them, by its own speed.
    arguments.spread[axis] =
        static_cast<T>(scale * (velocity.field ? velocity.largest : std::abs(velocity.constant)));
    arguments.along =
        std::max(arguments.along, static_cast<T>(step.along) * arguments.spread[axis]);
    arguments.periodic[axis] = sides[0].periodic;
    for (int side = 0; side < 2; ++side) {
      arguments.inflow[axis][side] = sides[side].inflow;
      arguments.cut[axis][side] = sides[side].cut;
    }
  }
  return arguments;
}

template <class T>
AdvectionArguments<T> arguments_of(AdvectionStep<T> const& step) {
  if (step.in == nullptr || step.out == nullptr)
    throw std::invalid_argument("advect: in and out are both needed");
  if (step.in == step.out) throw std::invalid_argument("advect: out is the same array as in");
  if (step.base == nullptr && step.in_weight != 0)
    throw std::invalid_argument("advect: in_weight needs a base");
  if (step.base != nullptr && step.scheme == Scheme::lax_wendroff)
    throw std::invalid_argument("advect: lax_wendroff takes no base");
  auto arguments = flow_of(step, step.factor);
  arguments.in = step.in;
  arguments.out = step.out;
  arguments.base = step.base;
  arguments.in_weight = static_cast<T>(step.in_weight);
  arguments.reversed = step.reversed;
  arguments.beside = step.beside;
  return arguments;
}

}  // namespace

template <class T>
void advect(Stream& stream, AdvectionStep<T> const& step, std::string_view variant) {
  auto const arguments = arguments_of(step);
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("advect", variants<T>(), stream.device(), variant);
  row.run(stream, step.grid.dims, step.scheme, arguments);
}

template <class T>
void impose_inflow(Stream& stream, AdvectionStep<T> const& step) {
  if (step.out == nullptr) throw std::invalid_argument("advect: out is needed");
  auto arguments = flow_of(step, 1);  // only the flow's direction counts
  arguments.out = step.out;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_impose(stream, step.grid.dims, arguments);
#endif
  host_impose(stream, step.grid.dims, arguments);
}

double step_limit(Scheme scheme, Grid const& grid, std::array<double, 3> const& largest_speed) {
  double sum = 0, largest = 0;
  for (int axis = 0; axis < grid.dims; ++axis) {
    double const rate = largest_speed[axis] / grid.spacing[axis];
    sum += rate;
    largest = std::max(largest, rate);
  }
  if (scheme == Scheme::lax_wendroff) return 1 / largest;
  return scheme == Scheme::weno5 ? stable_courant_number / sum : 1 / sum;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                           \
  template std::span<Variant<AdvectionFunction<T>> const> variants<T>();    \
  template void advect(Stream&, AdvectionStep<T> const&, std::string_view); \
  template void impose_inflow(Stream&, AdvectionStep<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::advect
