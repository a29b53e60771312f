#include "kernels/stencil/stencil.hpp"

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace {

constexpr std::int64_t least_points = 3;  // along an axis

/// A step of diffusion on a square with sides that are held at 0. All weights are powers of two and
/// the values have few bits, so that every sum is exact and every variant must give every bit.
template <class T>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  Arrays<T> const in(stream, size, sets), out(stream, size, sets);
  std::int64_t const side = side_of(size, least_points);
  Arrays<T> const face(stream, side, 1);
  zero_async(face(0), stream);
  auto const step_of = [=](int set) {
    stencil::DiffusionStep<T> step;
    step.grid.dims = 2;
    step.grid.points = {side, side, 1};
    step.in = in(set).data();
    step.out = out(set).data();
    step.factor = 0.125;
    step.diffusivity = 1;
    for (int axis = 0; axis < 2; ++axis)
      for (auto& one : step.sides[axis]) one = {SideKind::dirichlet, face(0).data()};
    return step;
  };
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, in(set), static_cast<std::uint64_t>(set),
                                     {.bits = 12});
                spoil(stream, out(set));
              },
          .run = [=, &stream](std::string_view variant,
                              int set) { stencil::diffuse(stream, step_of(set), variant); },
          .result = result_of(stream, out)};
}

template <class T>
Workload workload(Backend backend) {
  constexpr double moved = 2 * sizeof(T), flops = 10;
  return {.family = "stencil",
          .operation = "diffusion 2D",
          .type = type_name<T>(),
          .by_default = true,
          .size = default_size(backend, std::int64_t{1} << 26),
          .work = per_element({.bytes = moved,
                               .flops = flops,
                               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
                               .set_bytes = 2 * sizeof(T)}),
          .rows = rows_of(stencil::variants<T>(), backend, stencil::default_variant(backend)),
          .make = problem<T>,
          .rounded = [](std::int64_t wanted) {
            return side_of(wanted, least_points) * side_of(wanted, least_points);
          }};
}

}  // namespace

std::vector<Workload> stencil_workloads(Backend backend) {
  return {workload<float>(backend), workload<double>(backend)};
}

}  // namespace gridstride::bench
