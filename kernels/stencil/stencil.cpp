#include "kernels/stencil/stencil.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/stencil/rows.hpp"

namespace gridstride::stencil {

template <class T>
std::span<Variant<DiffusionFunction<T>> const> variants() {
  static Variant<DiffusionFunction<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>, "every point in turn, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "rows shared among threads; a branch-free inner loop that the compiler vectorises"},
      {"naive", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_naive<T>),
       "one thread per point, neighbours through the caches"},
      {"shared", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_shared<T>),
       "each block stages its tile and halo in shared memory"},
      {"register_queue", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_register_queue<T>),
       "16-byte vectors march along the slowest axis, neighbours in registers and shuffles"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "register_queue";
}

namespace {

SideRule rule_of(SideKind kind) {
  switch (kind) {
    case SideKind::dirichlet:
      return SideRule::dirichlet;
    case SideKind::neumann:
      return SideRule::neumann;
    default:
      return SideRule::periodic;
  }
}

template <class T>
void set_sides(DiffusionArguments<T>& arguments, Grid const& grid,
               std::array<std::array<typename DiffusionStep<T>::Side, 2>, 3> const& sides) {
  for (int axis = 0; axis < 3; ++axis) {
    arguments.points[axis] = grid.points[axis];
    if (axis < grid.dims && grid.points[axis] < 3)
      throw std::invalid_argument(fmt::format("stencil: axis {} has {} points, 3 are the least",
                                              axis_names[axis], grid.points[axis]));
    for (int side = 0; side < 2; ++side) {
      auto const& [kind, values] = sides[axis][side];
      arguments.side[axis][side] = rule_of(kind);
      arguments.side_value[axis][side] = values;
      if (axis < grid.dims && kind != SideKind::periodic && values == nullptr)
        throw std::invalid_argument(
            fmt::format("stencil: a side of axis {} has no values", axis_names[axis]));
    }
  }
}

template <class T>
DiffusionArguments<T> arguments_of(DiffusionStep<T> const& step) {
  if (step.in == nullptr || step.out == nullptr)
    throw std::invalid_argument("stencil: in and out are both needed");
  if (step.in == step.out) throw std::invalid_argument("stencil: out is the same array as in");
  if (step.base == nullptr && step.in_weight != 0)
    throw std::invalid_argument("stencil: in_weight needs a base");
  DiffusionArguments<T> arguments{};
  set_sides(arguments, step.grid, step.sides);
  arguments.in = step.in;
  arguments.out = step.out;
  arguments.diffusivity = step.diffusivity_field;
  arguments.source = step.source;
  arguments.base = step.base;
  arguments.in_weight = static_cast<T>(step.in_weight);
  arguments.source_weight = static_cast<T>(step.factor);
  bool const variable = step.diffusivity_field != nullptr;
  for (int axis = 0; axis < 3; ++axis) {
    double const h = step.grid.spacing[axis];
    double const alpha = variable ? 1 : step.diffusivity;
    arguments.weight[axis] = static_cast<T>(step.factor * alpha / (h * h) * (variable ? 0.5 : 1.0));
    arguments.side_weight[axis] = static_cast<T>(step.factor * alpha * 2 / h);
  }
  for (auto const& term : step.terms) {
    if (term.values == nullptr) continue;
    arguments.term[arguments.term_count] = term.values;
    arguments.term_weight[arguments.term_count++] = static_cast<T>(term.weight);
  }
  return arguments;
}

}  // namespace

template <class T>
void diffuse(Stream& stream, DiffusionStep<T> const& step, std::string_view variant) {
  auto const arguments = arguments_of(step);
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("stencil", variants<T>(), stream.backend(), variant);
  row.run(stream, step.grid.dims, arguments);
}

template <class T>
void impose_dirichlet(Stream& stream, Grid const& grid,
                      std::array<std::array<typename DiffusionStep<T>::Side, 2>, 3> const& sides,
                      T* values) {
  DiffusionArguments<T> arguments{};
  set_sides(arguments, grid, sides);
  arguments.out = values;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_impose(stream, grid.dims, arguments);
#endif
  host_impose(stream, grid.dims, arguments);
}

double euler_limit(Grid const& grid, double largest_diffusivity) {
  double sum = 0;
  for (int axis = 0; axis < grid.dims; ++axis) sum += 1 / (grid.spacing[axis] * grid.spacing[axis]);
  return 1 / (2 * largest_diffusivity * sum);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                            \
  template std::span<Variant<DiffusionFunction<T>> const> variants<T>();     \
  template void diffuse(Stream&, DiffusionStep<T> const&, std::string_view); \
  template void impose_dirichlet(Stream&, Grid const&,                       \
                                 std::array<std::array<DiffusionStep<T>::Side, 2>, 3> const&, T*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil
