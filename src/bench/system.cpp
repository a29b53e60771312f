#include "kernels/system/system.hpp"

#include <algorithm>
#include <cmath>

#include "bench/workloads.hpp"
#include "equations/discretise.hpp"

namespace gridstride::bench {

namespace of_system {

/// A system on a grid, with the program of its rates.
struct Setting {
  Grid grid;
  int components = 0;
  equations::StencilProgram program;
};

Grid grid_of(int dims, std::int64_t size) {
  auto const root = std::pow(static_cast<double>(size), 1.0 / dims);
  auto const extent = static_cast<std::int64_t>(std::floor(root * (1 + 1e-12)));
  Grid grid;
  grid.dims = dims;
  for (int axis = 0; axis < dims; ++axis)
    grid.points[static_cast<std::size_t>(axis)] = std::max<std::int64_t>(extent, 4);
  return grid;
}

/// Σ ∂²a/∂x_i² over the axes.
equations::Term laplacian(equations::System& system, equations::Term a) {
  equations::Terms& terms = system.terms;
  equations::Term sum = terms.number(0);
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(system.dims); ++axis) {
    std::array<std::int8_t, 3> second = {0, 0, 0};
    second[axis] = 2;
    sum = terms.add(sum, terms.derivative(a, second));
  }
  return sum;
}

Setting setting_of(equations::System const& system, Grid const& grid) {
  auto const stencil = equations::discretise(system, grid);
  return {grid, static_cast<int>(system.rates.size()),
          equations::program_of(stencil.terms, stencil.rates, grid.dims)};
}

/// u' = D∇²u − uv² + F(1 − u), v' = D'∇²v + uv² − (F + k)v.
Setting gray_scott(Grid const& grid) {
  equations::System system{.dims = grid.dims, .terms = {}, .unknowns = {}, .rates = {}};
  equations::Terms& terms = system.terms;
  auto const u = terms.unknown(0), v = terms.unknown(1);
  auto const reaction = terms.multiply(u, terms.multiply(v, v));
  auto const spread = [&](double rate, equations::Term a) {
    return terms.multiply(terms.number(rate), laplacian(system, a));
  };
  system.rates = {
      terms.add(terms.subtract(spread(0.25, u), reaction),
                terms.multiply(terms.number(0.03125), terms.subtract(terms.number(1), u))),
      terms.subtract(terms.add(spread(0.125, v), reaction),
                     terms.multiply(terms.number(0.0625), v))};
  return setting_of(system, grid);
}

/// c' = M∇²(c³ − c − κ∇²c).
Setting cahn_hilliard(Grid const& grid) {
  equations::System system{.dims = grid.dims, .terms = {}, .unknowns = {}, .rates = {}};
  equations::Terms& terms = system.terms;
  auto const c = terms.unknown(0);
  auto const cube = terms.multiply(c, terms.multiply(c, c));
  auto const potential = terms.subtract(terms.subtract(cube, c),
                                        terms.multiply(terms.number(0.5), laplacian(system, c)));
  system.rates = {terms.multiply(terms.number(0.125), laplacian(system, potential))};
  return setting_of(system, grid);
}

/// What is measured: a step of forward Euler on a periodic grid. Values have few bits and weights
/// are powers of two, so that every product and sum is exact and every variant gives every bit.
struct Case {
  std::string_view operation;
  int dims;
  Setting (*make)(Grid const&);
};

constexpr Case reaction_2d{"Gray-Scott 2D, Euler", 2, gray_scott};
constexpr Case reaction_3d{"Gray-Scott 3D, Euler", 3, gray_scott};
constexpr Case phases_2d{"Cahn-Hilliard 2D, Euler", 2, cahn_hilliard};

template <class T, Case const& of>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  auto const setting = std::make_shared<Setting>(of.make(grid_of(of.dims, size)));
  std::int64_t const points = setting->grid.size();
  Arrays<T> const in(stream, points * setting->components, sets);
  Arrays<T> const out(stream, points * setting->components, sets);
  system::Step<T> step;
  step.program = &setting->program;
  step.grid = setting->grid;
  step.factor = 0.125;
  step.inputs.resize(static_cast<std::size_t>(setting->components));
  step.outputs.resize(step.inputs.size());
  auto const with_arrays = [=](int set) {
    auto result = step;
    for (std::size_t c = 0; c < result.inputs.size(); ++c) {
      std::size_t const first = c * static_cast<std::size_t>(points);
      result.inputs[c].values = in(set).data() + first;
      result.outputs[c] = {.values = out(set).data() + first, .base = in(set).data() + first};
    }
    return result;
  };
  step.module = system::module_of(stream.device(), with_arrays(0));
  return {
      .prepare =
          [=, &stream](int set) {
            machine::fill_random(stream, in(set), static_cast<std::uint64_t>(set), {.bits = 3});
            spoil(stream, out(set));
          },
      .run =
          [=, &stream, module = step.module, keep = setting](std::string_view variant, int set) {
            auto one = with_arrays(set);
            one.module = module;
            system::advance(stream, one, variant);
          },
      .result = result_of(stream, out)};
}

template <class T, Case const& of>
Workload workload(Backend backend, std::int64_t size) {
  auto const setting = of.make(grid_of(of.dims, 64));
  double const moved = 2.0 * sizeof(T) * setting.components;
  double flops = 2.0 * setting.components;
  for (auto const& node : setting.program.code)
    flops += node.kind == equations::Kind::operation ? 1 : 0;
  return {.family = "system",
          .operation = of.operation,
          .type = type_name<T>(),
          .by_default = true,
          .size = grid_of(of.dims, default_size(backend, size)).size(),
          .work = per_element({.bytes = moved,
                               .flops = flops,
                               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
                               .set_bytes = moved}),
          .rows = rows_of(system::variants<T>(), backend, system::default_variant(backend)),
          .make = problem<T, of>,
          .rounded = [](std::int64_t wanted) { return grid_of(of.dims, wanted).size(); }};
}

template <class T>
void append_workloads(Backend backend, std::vector<Workload>& all) {
  constexpr std::int64_t gpu_size = std::int64_t{1} << 26;
  all.push_back(workload<T, reaction_2d>(backend, gpu_size));
  all.push_back(workload<T, reaction_3d>(backend, gpu_size));
  all.push_back(workload<T, phases_2d>(backend, gpu_size));
}

}  // namespace of_system

std::vector<Workload> system_workloads(Backend backend) {
  std::vector<Workload> all;
  of_system::append_workloads<float>(backend, all);
  of_system::append_workloads<double>(backend, all);
  return all;
}

}  // namespace gridstride::bench
