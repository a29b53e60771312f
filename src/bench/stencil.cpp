#include "kernels/stencil/stencil.hpp"

#include <algorithm>
#include <limits>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_stencil {

constexpr std::int64_t least_points = 3;  // along an axis

/// What is run: so many steps on a grid of so many dimensions, of at most so many points.
struct Case {
  std::string_view operation;
  int dims;
  std::int64_t steps;
  std::int64_t most_points = std::numeric_limits<std::int64_t>::max();
};

constexpr Case line{"diffusion 1D, 16 steps", 1, 16};
constexpr Case plane{"diffusion 2D, 16 steps", 2, 16};
constexpr Case volume{"diffusion 3D, 16 steps", 3, 16};
constexpr Case small_line{"diffusion 1D, 4096 steps", 1, 4096, 1 << 12};
constexpr Case small_plane{"diffusion 2D, 4096 steps", 2, 4096, 1 << 16};

/// A line, a square or a cube of about `size` points.
template <Case const& of>
Grid grid_of(std::int64_t size) {
  size = std::min(size, of.most_points);
  Grid grid;
  grid.dims = of.dims;
  for (int axis = 0; axis < of.dims; ++axis)
    grid.points[axis] = side_of(size, least_points, of.dims);
  return grid;
}

/// What a run of each set has left where.
template <class T>
struct Results {
  Stream& stream;
  std::vector<T const*> arrays;
  std::size_t size;

  Values operator()(int set) const {
    Values values;
    sample(stream, std::span(arrays[static_cast<std::size_t>(set)], size), values);
    return values;
  }
};

/// Steps of diffusion with sides that are held at 0. All weights are powers of two, so that
/// products are exact and every variant, also on the host, must give every bit.
template <class T, Case const& of>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  Grid const grid = grid_of<of>(size);
  Arrays<T> const first(stream, grid.size(), sets), second(stream, grid.size(), sets);
  Arrays<T> const face(stream, grid.size() / grid.points[0], 1);
  zero_async(face(0), stream);
  stencil::DiffusionStep<T> step;
  step.grid = grid;
  step.factor = 0.125;
  step.diffusivity = 1;
  for (int axis = 0; axis < of.dims; ++axis)
    for (auto& one : step.sides[axis]) one = {SideKind::dirichlet, face(0).data()};
  auto const results = std::make_shared<Results<T>>(
      Results<T>{stream, std::vector<T const*>(static_cast<std::size_t>(sets)), first(0).size()});
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, first(set), static_cast<std::uint64_t>(set));
                spoil(stream, second(set));
              },
          .run =
              [=, &stream, keep_face = face](std::string_view variant, int set) {
                results->arrays[static_cast<std::size_t>(set)] = stencil::diffuse_repeatedly(
                    stream, step, first(set).data(), second(set).data(), of.steps, {variant});
              },
          .result = [results](int set) { return (*results)(set); }};
}

template <class T, Case const& of>
Workload workload(Backend backend, std::int64_t size, std::string_view by_default) {
  // In each step a point has three differences and a product with its sum, for each axis.
  constexpr double moved = 2 * sizeof(T), flops = 5.0 * of.dims * of.steps;
  auto rows = rows_of(stencil::variants<T>(), backend, by_default);
  if (by_default == "temporal")  // where a large grid is done by `resident`, it is by this
    std::erase_if(rows, [](Row const& row) { return row.name == "resident"; });
  return {.family = "stencil",
          .operation = of.operation,
          .type = type_name<T>(),
          .by_default = true,
          .size = grid_of<of>(default_size(backend, size)).size(),
          .work = per_element({.bytes = moved,
                               .flops = flops,
                               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
                               .set_bytes = 2 * sizeof(T),
                               .elements = of.steps}),
          .rows = std::move(rows),
          .make = problem<T, of>,
          .rounded = [](std::int64_t wanted) { return grid_of<of>(wanted).size(); }};
}

template <class T>
void append_workloads(Backend backend, std::vector<Workload>& all) {
  auto const by_default = stencil::default_variant(backend);
  constexpr std::int64_t gpu_size = std::int64_t{1} << 27;
  all.push_back(workload<T, plane>(backend, gpu_size / 2, by_default));
  all.push_back(workload<T, line>(backend, gpu_size, by_default));
  all.push_back(workload<T, volume>(backend, gpu_size, by_default));
  if (backend == Backend::cpu) return;
  all.push_back(workload<T, small_plane>(backend, gpu_size, "resident"));
  all.push_back(workload<T, small_line>(backend, gpu_size, "resident"));
}

}  // namespace of_stencil

std::vector<Workload> stencil_workloads(Backend backend) {
  using namespace of_stencil;
  std::vector<Workload> all;
  append_workloads<float>(backend, all);
  append_workloads<double>(backend, all);
  return all;
}

}  // namespace gridstride::bench
