#include "kernels/poisson/poisson.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "bench/poisson_cases.hpp"
#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_poisson {

template <class T, Case const& of>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  poisson::Equation<T> equation;
  equation.grid = grid_of(of, size);
  equation.sides.fill({of.sides, of.sides});
  auto const solver = std::make_shared<Solver<T>>(solver_of(stream, equation));
  Arrays<T> const right(stream, equation.grid.size(), sets), u(stream, equation.grid.size(), sets);
  return {
      .prepare =
          [=, &stream](int set) {
            machine::fill_random(stream, right(set), static_cast<std::uint64_t>(set));
            spoil(stream, u(set));
            if (of.sides == SideKind::dirichlet) return;
            auto const found = poisson::integrate(stream, equation, right(set));
            poisson::shift(stream, -found.sum / found.volume, right(set));
          },
      .run =
          [=, &stream](std::string_view variant, int set) {
            std::visit([&](auto& way) { way.solve(stream, right.constant(set), u(set), variant); },
                       *solver);
          },
      .accuracy =
          [=, &stream](std::string_view) {
            // A transform of n points has errors of a few ε·log2(n).
            double const steps = std::log2(static_cast<double>(equation.grid.size()));
            return Accuracy{
                poisson::measure(stream, equation, u.constant(0), right.constant(0)).backward_error,
                4 * steps * double{std::numeric_limits<T>::epsilon()}};
          }};
}

template <class T, Case const& of>
Workload workload(Backend backend) {
  // Along all axes but the last there, along that one there and back, and back: each a pass.
  constexpr double moved = (2 * of.dims - 1) * 2.0 * sizeof(T);
  auto const work = [](std::int64_t size) {
    auto const points = static_cast<double>(size);
    double const flops = 2 * 2.5 * points * std::log2(points);
    return Work{.bytes = moved * points,
                .flops = flops,
                .asks = {{machine::copy_roof, moved * points}, {arithmetic_roof<T>(), flops}},
                .set_bytes = 2 * sizeof(T) * points,
                .elements = points};
  };
  return {.family = "poisson",
          .operation = of.operation,
          .type = type_name<T>(),
          .by_default = sizeof(T) == 8,
          .size = of.points(backend),
          .work = work,
          .rows = rows_of(fft::variants<T>(), backend, fft::default_variant(backend)),
          .make = problem<T, of>,
          .rounded = [](std::int64_t wanted) { return grid_of(of, wanted).size(); },
          .error = "the backward error"};
}

template <class T>
void append_workloads(Backend backend, std::vector<Workload>& all) {
  all.push_back(workload<T, volume>(backend));
  all.push_back(workload<T, held_volume>(backend));
  all.push_back(workload<T, free_volume>(backend));
  all.push_back(workload<T, plane>(backend));
  all.push_back(workload<T, held_plane>(backend));
}

}  // namespace of_poisson

std::vector<Workload> poisson_workloads(Backend backend) {
  std::vector<Workload> all;
  of_poisson::append_workloads<double>(backend, all);
  of_poisson::append_workloads<float>(backend, all);
  return all;
}

}  // namespace gridstride::bench
