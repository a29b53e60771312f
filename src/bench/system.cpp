#include "kernels/system/system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "bench/workloads.hpp"
#include "equations/discretise.hpp"
#include "kernels/system/march.hpp"

namespace gridstride::bench {

namespace of_system {

/// A system on a grid, with the program of its rates.
struct Setting {
  Grid grid;
  int components = 0;
  equations::StencilProgram program;
};

Grid grid_of(int dims, std::int64_t size) {
  Grid grid;
  grid.dims = dims;
  for (int axis = 0; axis < dims; ++axis)
    grid.points[static_cast<std::size_t>(axis)] = side_of(size, 4, dims);
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
  auto const prepared = std::make_shared<std::map<std::string, system::Prepared>>();
  return {.prepare =
              [=, &stream](int set) {
                machine::fill_random(stream, in(set), static_cast<std::uint64_t>(set), {.bits = 3});
                spoil(stream, out(set));
              },
          .run =
              [=, &stream, keep = setting](std::string_view variant, int set) {
                auto one = with_arrays(set);
                one.prepared = &(*prepared)[std::string(variant)];
                system::advance(stream, one, variant);
              },
          .result = result_of(stream, out)};
}

template <class T, Case const& of>
Workload workload(Backend backend, std::int64_t size) {
  auto const setting = of.make(grid_of(of.dims, 64));
  double const moved = 2.0 * sizeof(T) * setting.components;
  auto const usual = system::default_variant(backend, of.dims);
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
          .rows = rows_of(system::variants<T>(), backend, usual),
          .make = problem<T, of>,
          .rounded = [](std::int64_t wanted) { return grid_of(of.dims, wanted).size(); }};
}

constexpr int steps_of_run = 8;

/// The rows of runs of several steps: single steps, and passes of some.
struct PassRow {
  std::string_view name;
  int steps;  ///< of a pass; 0: none
};
constexpr PassRow pass_rows[] = {
    {"points", 0}, {"march, 1", 1}, {"march, 2", 2}, {"march, 4", 4}, {"march, 8", 8}};

/// The arrays of a set, and where the last run has left its result.
template <class T>
struct Pair {
  std::vector<T*> from, to;

  Pair(Arrays<T> const& first, Arrays<T> const& second, int set, Setting const& setting) {
    for (int c = 0; c < setting.components; ++c) {
      from.push_back(first(set).data() + c * setting.grid.size());
      to.push_back(second(set).data() + c * setting.grid.size());
    }
  }
};

/// Steps of forward Euler on a periodic grid, as they come from `points` or in passes.
template <class T>
struct Stepper {
  std::shared_ptr<Setting const> setting;
  system::Step<T> step;
  std::map<int, system::March<T>> marches = {};  // by the steps of a pass
  system::Prepared prepared = {};

  void run(Stream& stream, int pass, Pair<T>& pair) {
    for (int done = 0; done < steps_of_run; done += std::max(pass, 1)) {
      if (pass == 0) {
        auto one = step;
        one.prepared = &prepared;
        for (std::size_t c = 0; c < pair.from.size(); ++c) {
          one.inputs[c].values = pair.from[c];
          one.outputs[c] = {.values = pair.to[c], .base = pair.from[c]};
        }
        system::advance(stream, one, "points");
      } else {
        system::PassArrays<T> arrays = {.in = step.inputs, .out = pair.to};
        for (std::size_t c = 0; c < pair.from.size(); ++c) arrays.in[c].values = pair.from[c];
        march(stream.device(), pass).queue(stream, arrays, step.factor, nullptr);
      }
      std::swap(pair.from, pair.to);
    }
  }

 private:
  system::March<T> const& march(Device const& device, int pass) {
    if (auto const found = marches.find(pass); found != marches.end()) return found->second;
    system::Marched const what = {.program = &setting->program,
                                  .grid = setting->grid,
                                  .sides = system::side_rules<T>(step.inputs),
                                  .stages = {{}}};
    auto shapes = system::march_shapes(what, sizeof(T), pass);
    std::erase_if(shapes, [&](auto const& shape) { return shape.steps != pass; });
    return marches.emplace(pass, system::March<T>(device, what, shapes)).first->second;
  }
};

double largest_deviation(Values const& found, Values const& expected) {
  long double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!std::isfinite(found[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(found[i] - expected[i]));
  }
  return static_cast<double>(largest);
}

template <class T, Case const& of>
Problem passes_problem(Stream& stream, std::int64_t size, int sets) {
  auto const setting = std::make_shared<Setting>(of.make(grid_of(of.dims, size)));
  std::int64_t const values = setting->grid.size() * setting->components;
  Arrays<T> const first(stream, values, sets), second(stream, values, sets);
  auto const stepper = std::make_shared<Stepper<T>>(Stepper<T>{.setting = setting, .step = {}});
  stepper->step.program = &setting->program;
  stepper->step.grid = setting->grid;
  stepper->step.factor = 0.125;
  stepper->step.inputs.resize(static_cast<std::size_t>(setting->components));
  stepper->step.outputs.resize(stepper->step.inputs.size());
  auto const pairs = std::make_shared<std::vector<Pair<T>>>();
  for (int set = 0; set < sets; ++set) pairs->emplace_back(first, second, set, *setting);
  auto const prepare = [=, &stream](int set) {
    machine::fill_random(stream, first(set), static_cast<std::uint64_t>(set), {.bits = 3});
    spoil(stream, second(set));
    (*pairs)[static_cast<std::size_t>(set)] = {first, second, set, *setting};
  };
  auto const run = [=, &stream](std::string_view variant, int set) {
    auto const row = std::ranges::find(pass_rows, variant, &PassRow::name);
    stepper->run(stream, row->steps, (*pairs)[static_cast<std::size_t>(set)]);
  };
  auto const samples = [=, &stream] {
    Values found;
    for (T* const array : pairs->front().from)
      sample(stream, std::span<T const>(array, static_cast<std::size_t>(setting->grid.size())),
             found);
    return found;
  };
  // The host rounds elsewhere than GPUs do, whose single steps are measured, and checked, apart.
  auto const accuracy = [=](std::string_view) -> Accuracy {
    auto const found = samples();
    prepare(0);
    run("points", 0);
    return {largest_deviation(found, samples()), 0};
  };
  return {.prepare = prepare, .run = run, .accuracy = accuracy};
}

/// Eight steps as `points` and as passes of several lengths make them, on a GPU.
template <class T, Case const& of>
Workload passes_workload(std::int64_t size, std::string_view operation) {
  auto result = workload<T, of>(Backend::cuda, size);
  auto const setting = of.make(grid_of(of.dims, 64));
  double flops = 2.0 * setting.components;
  for (auto const& node : setting.program.code)
    flops += node.kind == equations::Kind::operation ? 1 : 0;
  double const moved = 2.0 * sizeof(T) * setting.components;
  result.operation = operation;
  result.work = per_element(
      {.bytes = moved,
       .flops = steps_of_run * flops,
       .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), steps_of_run * flops}},
       .set_bytes = moved,
       .elements = steps_of_run});
  if (result.rows.empty()) return result;  // a build without CUDA
  result.rows.clear();
  for (auto const& [name, steps] : pass_rows)
    result.rows.push_back({name, steps == 0 ? "a step after the other" : "so many steps in a pass",
                           name == system::default_variant(Backend::cuda, of.dims), false});
  result.make = passes_problem<T, of>;
  result.error = "largest deviation from single steps";
  return result;
}

template <class T>
void append_workloads(Backend backend, std::vector<Workload>& all) {
  constexpr std::int64_t gpu_size = std::int64_t{1} << 26;
  all.push_back(workload<T, reaction_2d>(backend, gpu_size));
  all.push_back(workload<T, reaction_3d>(backend, 2 * gpu_size));
  all.push_back(workload<T, phases_2d>(backend, gpu_size));
  if (backend == Backend::cpu) return;
  all.push_back(passes_workload<T, reaction_2d>(gpu_size, "Gray-Scott 2D, 8 Euler steps"));
  all.push_back(passes_workload<T, phases_2d>(gpu_size, "Cahn-Hilliard 2D, 8 Euler steps"));
}

}  // namespace of_system

std::vector<Workload> system_workloads(Backend backend) {
  std::vector<Workload> all;
  of_system::append_workloads<float>(backend, all);
  of_system::append_workloads<double>(backend, all);
  return all;
}

}  // namespace gridstride::bench
