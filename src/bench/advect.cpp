#include "kernels/advect/advect.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_advect {

using advect::AdvectionStep;
using advect::Scheme;

constexpr std::int64_t least_points = 16;  // along an axis

/// A step on a periodic square that carries u up along x and down along y by 1/4 of the spacing.
template <class T>
AdvectionStep<T> step_of(std::int64_t side, Scheme scheme) {
  AdvectionStep<T> step;
  step.grid.dims = 2;
  step.grid.points = {side, side, 1};
  step.scheme = scheme;
  step.factor = 0.25;
  step.velocity[0].constant = 1;
  step.velocity[1].constant = -1;
  return step;
}

template <class T>
struct Square {
  Arrays<T> in, out;
  std::int64_t side;

  Square(Stream& stream, std::int64_t size, int sets)
      : in(stream, size, sets), out(stream, size, sets), side(side_of(size, least_points)) {}

  void prepare(Stream& stream, int set) const {
    // Few bits: all sums of `upwind` and `lax_wendroff` are exact, and every variant must give
    // every bit.
    machine::fill_random(stream, in(set), static_cast<std::uint64_t>(set), {.bits = 10});
    spoil(stream, out(set));
  }
  void run(Stream& stream, Scheme scheme, std::string_view variant, int set) const {
    auto step = step_of<T>(side, scheme);
    step.in = in(set).data();
    step.out = out(set).data();
    advect::advect(stream, step, variant);
  }
};

/// The largest deviation of set 0 from the reference in two rows of every band of rows, a few of
/// which are taken. The rows beside a band's two are those that decide them.
template <class T>
Accuracy weno_accuracy(Stream& stream, Square<T> const& square) {
  constexpr std::int64_t rows = 8, beside = 3, bands = 16;
  std::int64_t const side = square.side;
  std::vector<T> in(static_cast<std::size_t>(rows * side)), expected(in.size()), found(in.size());
  Stream host(Device::open(Backend::cpu));
  auto step = step_of<T>(side, Scheme::weno5);
  step.grid.points[1] = rows;
  step.in = in.data();
  step.out = expected.data();
  for (auto& one : step.sides[1]) one.periodic = false;
  // Of either evaluation: some 50 roundings of values that are at most 1, of which a face follows
  // its stencil with a factor of 20 at most.
  constexpr double allowed = 50 * 20 * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  double largest = 0;
  for (std::int64_t band = 0; band < bands; ++band) {
    auto const first = static_cast<std::size_t>((side - rows) * band / (bands - 1) * side);
    copy_async(std::span(in), square.in.constant(0).subspan(first, in.size()), stream);
    copy_async(std::span(found), square.out.constant(0).subspan(first, in.size()), stream);
    stream.synchronize();
    advect::advect(host, step, "reference");
    for (auto i = static_cast<std::size_t>(beside * side);
         i < static_cast<std::size_t>((rows - beside) * side); ++i) {
      if (!std::isfinite(found[i])) return {std::numeric_limits<double>::infinity(), allowed};
      largest = std::max(largest, std::abs(static_cast<double>(found[i]) - expected[i]));
    }
  }
  return {largest, allowed};
}

template <Scheme scheme, class T>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  Square<T> const square(stream, size, sets);
  Problem result;
  result.prepare = [=, &stream](int set) { square.prepare(stream, set); };
  result.run = [=, &stream](std::string_view variant, int set) {
    square.run(stream, scheme, variant, set);
  };
  if constexpr (scheme == Scheme::weno5)
    result.accuracy = [=, &stream](std::string_view) { return weno_accuracy(stream, square); };
  else
    result.result = result_of(stream, square.out);
  return result;
}

/// `flops` counts a fused operation as two, and a reciprocal as one.
template <Scheme scheme, class T>
Workload workload(Backend backend, std::string_view operation, double flops) {
  constexpr double moved = 2 * sizeof(T);
  return {.family = "advect",
          .operation = operation,
          .type = type_name<T>(),
          .by_default = true,
          .size = default_size(backend, std::int64_t{1} << 26),
          .work = per_element({.bytes = moved,
                               .flops = flops,
                               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
                               .set_bytes = 2 * sizeof(T)}),
          .rows = rows_of(advect::variants<T>(), backend, advect::default_variant(backend)),
          .make = problem<scheme, T>,
          .rounded =
              [](std::int64_t wanted) {
                return side_of(wanted, least_points) * side_of(wanted, least_points);
              },
          .error = scheme == Scheme::weno5 ? "largest deviation from the reference" : ""};
}

template <class T>
void add_workloads(Backend backend, std::vector<Workload>& all) {
  all.push_back(workload<Scheme::upwind, T>(backend, "upwind 2D", 5));
  all.push_back(workload<Scheme::lax_wendroff, T>(backend, "Lax-Wendroff 2D", 16));
  all.push_back(workload<Scheme::weno5, T>(backend, "WENO5 2D", 103));
}

}  // namespace of_advect

std::vector<Workload> advect_workloads(Backend backend) {
  using namespace of_advect;
  std::vector<Workload> all;
  add_workloads<float>(backend, all);
  add_workloads<double>(backend, all);
  return all;
}

}  // namespace gridstride::bench
