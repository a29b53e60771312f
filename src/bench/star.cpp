#include "kernels/star/star.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace of_star {

constexpr int order = 8, radius = order / 2;
constexpr double factor = 0.25;  // with c = h = 1: stable in three dimensions
constexpr std::int64_t lines_checked = 32;
constexpr int repeated_steps = 12;  // whole passes, of 2, 3, 4 or 6 steps

std::int64_t edge_of(int dims, std::int64_t size) {
  if (dims == 2) return side_of(size, radius + 1);
  return std::max<std::int64_t>(radius + 1, std::llround(std::cbrt(static_cast<double>(size))));
}

std::int64_t points_of(int dims, std::int64_t edge) {
  return dims == 2 ? edge * edge : edge * edge * edge;
}

/// A step of a wave on a square or in a cube with fixed sides, apart from the state before, so that
/// it can be run again.
template <class T>
class Step {
 public:
  Step(Stream& stream, int dims, std::int64_t size, int sets)
      : stream_(stream),
        dims_(dims),
        edge_(edge_of(dims, size)),
        in_(stream, points_of(dims, edge_), sets),
        previous_(stream, points_of(dims, edge_), sets),
        out_(stream, points_of(dims, edge_), sets) {}

  void prepare(int set) {
    auto const seed = 2 * static_cast<std::uint64_t>(set);
    machine::fill_random(stream_, in_(set), seed);
    machine::fill_random(stream_, previous_(set), seed + 1);
    spoil(stream_, out_(set));
  }

  void run(std::string_view variant, int set) {
    star::LeapfrogStep<T> step;
    step.grid.dims = dims_;
    step.grid.points = {edge_, edge_, dims_ == 2 ? 1 : edge_};
    step.order = order;
    step.in = in_(set).data();
    step.previous = previous_(set).data();
    step.out = out_(set).data();
    step.factor = factor;
    step.speed_squared = 1;
    for (auto& sides : step.sides) sides.fill(SideKind::fixed);
    star::leapfrog(stream_, step, variant);
  }

  /// The largest error on some lines along x, and a bound of it: the number of operations, times
  /// the unit round-off, times the sum of the magnitudes that are added to values below 1.
  Accuracy accuracy() {
    double magnitude = 3;
    for (double const weight : star::central_weights(order))
      magnitude += 4 * dims_ * factor * std::abs(weight);
    double const epsilon = std::numeric_limits<T>::epsilon() / 2.0;
    Accuracy result{0, (4 * dims_ * radius + 12) * epsilon * magnitude};
    std::int64_t const lines = points_of(dims_, edge_) / edge_;
    for (std::int64_t n = 0; n < lines_checked; ++n) {
      std::int64_t const line = n * (lines - 1) / (lines_checked - 1);
      result.error = std::max(result.error, error_of(line));
    }
    return result;
  }

 private:
  using Line = std::vector<T>;

  Line line(Arrays<T> const& array, std::int64_t number) {
    Line values(static_cast<std::size_t>(edge_));
    auto const all = array.constant(0);
    copy_async(std::span(values),
               all.subspan(static_cast<std::size_t>(number) * values.size(), values.size()),
               stream_);
    stream_.synchronize();
    return values;
  }

  /// A place beyond a fixed side, mirrored; then the value there changes its sign.
  std::int64_t mirrored(std::int64_t place) const {
    return place < 0 ? -place : place >= edge_ ? 2 * (edge_ - 1) - place : place;
  }

  double error_of(std::int64_t number) {
    std::int64_t const at[2] = {number % edge_, number / edge_}, stride[2] = {1, edge_};
    auto const center = line(in_, number), previous = line(previous_, number),
               found = line(out_, number);
    auto const weights = star::central_weights(order);
    std::vector<long double> exact(center.size());
    bool fixed = false;
    for (std::size_t i = 0; i < exact.size(); ++i)
      exact[i] = 2.0L * center[i] - static_cast<long double>(previous[i]);
    auto const add = [&](std::size_t i, int k, T value, bool beyond) {
      exact[i] += factor * weights[static_cast<std::size_t>(k - 1)] *
                  ((beyond ? -1.0L : 1.0L) * value - static_cast<long double>(center[i]));
    };
    for (int k = -radius; k <= radius; ++k) {
      if (k == 0) continue;
      for (std::int64_t i = 0; i < edge_; ++i) {
        std::int64_t const place = mirrored(i + k);
        add(static_cast<std::size_t>(i), std::abs(k), center[static_cast<std::size_t>(place)],
            place != i + k);
      }
      for (int axis = 0; axis < dims_ - 1; ++axis) {
        std::int64_t const place = mirrored(at[axis] + k);
        auto const beside = line(in_, number + (place - at[axis]) * stride[axis]);
        for (std::size_t i = 0; i < exact.size(); ++i)
          add(i, std::abs(k), beside[i], place != at[axis] + k);
        fixed = fixed || at[axis] == 0 || at[axis] == edge_ - 1;
      }
    }
    double largest = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      bool const zero = fixed || i == 0 || i + 1 == exact.size();
      auto const error = static_cast<double>(
          std::abs(static_cast<long double>(found[i]) - (zero ? 0.0L : exact[i])));
      if (!(error <= largest))
        largest = std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
    }
    return largest;
  }

  Stream& stream_;
  int dims_;
  std::int64_t edge_;
  Arrays<T> in_, previous_, out_;
};

/// Steps of a wave on a square with fixed sides, one after the other, as a simulation makes them.
/// A run goes on from where the one before came to.
template <class T>
class Repeated {
 public:
  Repeated(Stream& stream, std::int64_t size, int sets)
      : stream_(stream), waves_(static_cast<std::size_t>(sets)) {
    step_.grid.dims = 2;
    step_.grid.points = {edge_of(2, size), edge_of(2, size), 1};
    step_.order = order;
    step_.factor = factor;
    step_.speed_squared = 1;
    for (auto& sides : step_.sides) sides.fill(SideKind::fixed);
    for (int i = 0; i < 4; ++i) arrays_.emplace_back(stream, step_.grid.size(), sets);
  }

  void prepare(int set) {
    auto& wave = waves_[static_cast<std::size_t>(set)];
    wave = {arrays_[0](set).data(),
            arrays_[1](set).data(),
            {arrays_[2](set).data(), arrays_[3](set).data()}};
    for (std::size_t i : {0, 1}) {
      // By way of a spare array, to have zeros on the sides.
      machine::fill_random(stream_, arrays_[2](set), 2 * static_cast<std::uint64_t>(set) + i);
      auto copy = step_;
      copy.in = copy.previous = wave.spare[0];
      copy.out = i == 0 ? wave.now : wave.before;
      copy.factor = 0;
      star::leapfrog(stream_, copy);
    }
    for (std::size_t i : {2, 3}) spoil(stream_, arrays_[i](set));
  }

  void run(std::string_view variant, int set) {
    star::leapfrog_repeatedly(stream_, step_, waves_[static_cast<std::size_t>(set)], repeated_steps,
                              {variant});
  }

  /// The largest difference from single steps of the backend's first variant; none is allowed. How
  /// near those are to the exact result is told by the workload of one step.
  Accuracy accuracy() {
    auto const found = moments();
    prepare(0);
    auto const rows = star::variants<T>();
    auto const first =
        std::ranges::find(rows, stream_.backend(), [](auto& row) { return row.backend; });
    run(first->name, 0);
    auto const expected = moments();
    double largest = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      auto const error = static_cast<double>(std::abs(found[i] - expected[i]));
      if (!(error <= largest)) largest = error;
    }
    return {largest, 0};
  }

 private:
  Values moments() {
    auto const size = static_cast<std::size_t>(step_.grid.size());
    Values values;
    for (T const* array : {waves_[0].now, waves_[0].before})
      sample(stream_, std::span(array, size), values);
    return values;
  }

  Stream& stream_;
  star::LeapfrogStep<T> step_;
  std::vector<Arrays<T>> arrays_;
  std::vector<star::WaveArrays<T>> waves_;
};

template <class T, int dims>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  auto const step = std::make_shared<Step<T>>(stream, dims, size, sets);
  return {.prepare = [=](int set) { step->prepare(set); },
          .run = [=](std::string_view variant, int set) { step->run(variant, set); },
          .accuracy = [=](std::string_view) { return step->accuracy(); }};
}

template <class T>
Problem repeated_problem(Stream& stream, std::int64_t size, int sets) {
  auto const steps = std::make_shared<Repeated<T>>(stream, size, sets);
  return {.prepare = [=](int set) { steps->prepare(set); },
          .run = [=](std::string_view variant, int set) { steps->run(variant, set); },
          .accuracy = [=](std::string_view) { return steps->accuracy(); }};
}

constexpr double flops_of(int dims) { return 4 * dims * radius + 4; }

template <class T, int dims>
Workload workload(Backend backend) {
  constexpr double moved = 3 * sizeof(T), flops = flops_of(dims);
  bool const on_gpu = backend == Backend::cuda;
  std::string_view const fastest = on_gpu ? "register_queue" : star::default_variant(backend);
  auto rows = rows_of(star::variants<T>(), backend, fastest);
  std::erase_if(rows, [](Row const& row) { return row.name == "temporal"; });
  return {.family = "star",
          .operation = dims == 2 ? "wave 2D, order 8" : "wave 3D, order 8",
          .type = type_name<T>(),
          .by_default = true,
          .size = default_size(backend, dims == 2 ? std::int64_t{1} << 26 : std::int64_t{1} << 27),
          .work = per_element({.bytes = moved,
                               .flops = flops,
                               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
                               .set_bytes = 3 * sizeof(T)}),
          .rows = std::move(rows),
          .make = problem<T, dims>,
          .rounded = [](std::int64_t wanted) { return points_of(dims, edge_of(dims, wanted)); },
          .error = "the largest on 32 lines"};
}

template <class T>
Workload repeated_workload(Backend backend) {
  constexpr double moved = 4 * sizeof(T), flops = flops_of(2) * repeated_steps;
  return {.family = "star",
          .operation = "wave 2D, order 8, 12 steps",
          .type = type_name<T>(),
          .by_default = true,
          .size = default_size(backend, std::int64_t{1} << 26),
          .work = per_element({.bytes = moved,
                               .flops = flops,
                               .asks = {{machine::copy_roof, moved}, {arithmetic_roof<T>(), flops}},
                               .set_bytes = 4 * sizeof(T),
                               .elements = repeated_steps}),
          .rows = rows_of(star::variants<T>(), backend, star::default_variant(backend)),
          .make = repeated_problem<T>,
          .rounded = [](std::int64_t wanted) { return points_of(2, edge_of(2, wanted)); },
          .error = "the largest difference from single steps"};
}

}  // namespace of_star

std::vector<Workload> star_workloads(Backend backend) {
  using namespace of_star;
  return {workload<float, 2>(backend),       workload<double, 2>(backend),
          workload<float, 3>(backend),       workload<double, 3>(backend),
          repeated_workload<float>(backend), repeated_workload<double>(backend)};
}

}  // namespace gridstride::bench
