#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/star/star.hpp"
#include "kernels/stencil/stencil.hpp"
#include "model/sweep.hpp"
#include "model/window_steps.hpp"

/// Steps of arrays on the host whose grid is cut into windows, beside the same steps of arrays that
/// lie on the device as a whole.
namespace gridstride::test {

struct SweepCase {
  int dims = 3;
  std::int64_t planes = 7;
  std::int64_t slab_planes = 2;
  std::int64_t trip_steps = 3;
  std::int64_t steps = 7;
  std::array<SideKind, 2> sides = {};  // of the slowest axis
  int fused_steps = 1;
  int order = 2;                  // of a wave
  std::int64_t line_points = 20;  // of a plane

  std::string text() const {
    return fmt::format(
        "{}D, {} planes in slabs of {}, {} steps of {} a trip, {} fused, sides {} {}, "
        "order {}",
        dims, planes, slab_planes, steps, trip_steps, fused_steps, static_cast<int>(sides[0]),
        static_cast<int>(sides[1]), order);
  }
  Grid grid() const {
    Grid grid{.dims = dims, .points = {5, 6, 1}, .spacing = {0.3, 0.25, 0.2}};
    if (dims == 1) grid.points = {1, 1, 1};
    grid.points[static_cast<std::size_t>(dims - 1)] = planes;
    if (dims == 2) grid.points[0] = line_points;
    return grid;
  }
};

/// Sizes about slabs, trips and halos: slabs thinner than what they look at, trips that reach over
/// the whole grid, numbers of steps that are no multiples.
inline std::vector<SweepCase> sweep_sizes(std::vector<std::array<SideKind, 2>> const& kinds,
                                          std::int64_t reach) {
  std::vector<SweepCase> cases;
  for (auto const& sides : kinds)
    for (std::int64_t const planes : {3, 4, 5, 7, 12, 31}) {
      if (planes < reach + 1) continue;
      for (std::int64_t const slab : {std::int64_t{1}, std::int64_t{2}, std::int64_t{5}, planes})
        for (std::int64_t const trip : {1, 2, 3, 7}) {
          bool const fits = trip == 1 || trip * reach <= planes;
          if (slab > planes || !fits) continue;
          for (std::int64_t const steps : {std::int64_t{1}, 2 * trip + 1, 5 * trip})
            cases.push_back({.planes = planes,
                             .slab_planes = slab,
                             .trip_steps = trip,
                             .steps = steps,
                             .sides = sides});
        }
    }
  return cases;
}

template <class T>
std::vector<T> random_values(std::int64_t size) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(size));
  for (T& value : values) value = static_cast<T>(number(random));
  return values;
}

template <class T>
Buffer<T> placed(Stream& stream, MemorySpace space, std::vector<T> const& values) {
  Buffer<T> buffer(stream, space, values.size());
  copy_async(buffer.span(), std::span<T const>(values), stream);
  stream.synchronize();
  return buffer;
}

template <class T>
std::vector<T> fetched(Stream& stream, T const* data, std::size_t size) {
  std::vector<T> values(size);
  copy_async(std::span(values), std::span(data, size), stream);
  stream.synchronize();
  return values;
}

inline SweepPlan plan_of(SweepCase const& one, std::int64_t reach, int arrays, int made,
                         std::size_t value_bytes) {
  SweepPlan plan;
  plan.shape = {.grid = one.grid(),
                .periodic = one.sides[0] == SideKind::periodic,
                .reach = reach,
                .fused_steps = one.fused_steps,
                .arrays = arrays,
                .made = made,
                .looked_beside = 1,
                .value_bytes = value_bytes};
  plan.trip_steps = one.trip_steps;
  plan.slab_planes = one.slab_planes;
  return plan;
}

/// How the steps are made: of a plan with a shape and the case's trips and slabs.
template <class T>
using MakeSteps = std::function<std::unique_ptr<WindowSteps<T>>(Stream const&, SweepPlan const&,
                                                                typename WindowSteps<T>::NextPass)>;

/// Through the device, in slabs.
template <class T>
std::unique_ptr<WindowSteps<T>> through_device(Stream const& stream, SweepPlan const& plan,
                                               typename WindowSteps<T>::NextPass next) {
  return std::make_unique<Sweep<T>>(stream, plan, std::move(next));
}

/// `variant` is a row of `stencil`. Without `has_arrays`, this is another rank than the one that has
/// them. On the host a pass of several steps is as many single ones, an
/// odd number, so that they end in the other array.
template <class T>
void expect_diffusion_bits(SweepCase const& one, Backend backend, std::string_view variant = "auto",
                           MakeSteps<T> const& make = through_device<T>, bool has_arrays = true) {
  SCOPED_TRACE(one.text());
  Stream stream(Device::open(backend));
  Grid const grid = one.grid();
  int const slowest = grid.dims - 1;
  auto const values = random_values<T>(grid.size());
  auto const face = placed(stream, MemorySpace::device, random_values<T>(grid.face_size(slowest)));
  stencil::DiffusionStep<T> step;
  step.grid = grid;
  step.factor = 2e-3;
  step.diffusivity = 1.7;
  for (int side = 0; side < 2; ++side) {
    auto const kind = one.sides[static_cast<std::size_t>(side)];
    step.sides[static_cast<std::size_t>(slowest)][static_cast<std::size_t>(side)] = {
        kind, kind == SideKind::periodic ? nullptr : face.data()};
  }
  auto in_core = placed(stream, MemorySpace::device, values);
  stencil::impose_dirichlet(stream, grid, step.sides, in_core.data());
  auto const start = fetched(stream, in_core.data(), values.size());
  Buffer<T> other(stream, MemorySpace::device, values.size());
  T const* const end =
      stencil::diffuse_repeatedly(stream, step, in_core.data(), other.data(), one.steps);
  auto const expected = fetched(stream, end, values.size());

  auto host = placed(stream, MemorySpace::pinned, start);
  auto const chosen = stencil::choose<T>(stream.device(), stencil::kind_of(step),
                                         {variant, backend == Backend::cpu ? 0 : one.fused_steps});
  auto const next = [&](std::int64_t left) {
    if (backend == Backend::cpu) return left >= one.fused_steps ? one.fused_steps : 1;
    return stencil::steps_of_pass(chosen, grid.dims, left);
  };
  auto plan = plan_of(one, 1, 1, 1, sizeof(T));
  plan.shape.parts = stencil::best_parts(chosen, grid.dims);
  auto const steps = make(stream, plan, next);
  T* const arrays[] = {has_arrays ? host.data() : nullptr};
  steps->run(arrays, one.steps, [&](Stream& queue, Window<T> const& window) {
    auto part = step;
    part.grid = window.grid;
    part.made = window.made;
    part.beside = window.beside;
    for (std::size_t side = 0; side < 2; ++side)
      if (window.cut[0] && window.cut[1])
        part.sides[static_cast<std::size_t>(slowest)][side] = {};
      else if (window.cut[side])
        part.sides[static_cast<std::size_t>(slowest)][side] = {SideKind::neumann, window.in[0]};
    EXPECT_EQ(
        stencil::diffuse_repeatedly(queue, part, window.in[0], window.out[0], window.steps, chosen),
        window.out[0]);
  });
  steps->settle();
  if (!has_arrays) return;
  EXPECT_EQ(fetched(stream, host.data(), values.size()), expected);
}

/// The same of a wave, whose state is two arrays.
template <class T>
void expect_wave_bits(SweepCase const& one, Backend backend, star::Repetition const& wanted = {},
                      MakeSteps<T> const& make = through_device<T>, bool has_arrays = true) {
  SCOPED_TRACE(one.text());
  Stream stream(Device::open(backend));
  Grid const grid = one.grid();
  int const slowest = grid.dims - 1;
  star::LeapfrogStep<T> step;
  step.grid = grid;
  step.order = one.order;
  step.factor = 1e-3;
  step.speed_squared = 1.3;
  for (int axis = 0; axis < grid.dims; ++axis)
    step.sides[static_cast<std::size_t>(axis)] =
        axis == slowest ? one.sides : std::array{SideKind::free, SideKind::free};
  // A step of no time leaves zeros on fixed sides.
  auto const imposed = [&](std::vector<T> const& values) {
    auto const in = placed(stream, MemorySpace::device, values);
    Buffer<T> out(stream, MemorySpace::device, values.size());
    auto still = step;
    still.in = still.previous = in.data();
    still.out = out.data();
    still.ratio = still.factor = 0;
    star::leapfrog(stream, still);
    return fetched(stream, out.data(), values.size());
  };
  auto values = random_values<T>(2 * grid.size());
  auto const half = values.begin() + grid.size();
  auto const now = imposed({values.begin(), half}), before = imposed({half, values.end()});
  std::array<Buffer<T>, 4> memory;
  memory[0] = placed(stream, MemorySpace::device, now);
  memory[1] = placed(stream, MemorySpace::device, before);
  for (std::size_t i = 2; i < 4; ++i)
    memory[i] = Buffer<T>(stream, MemorySpace::device, now.size());
  star::WaveArrays<T> arrays{
      memory[0].data(), memory[1].data(), {memory[2].data(), memory[3].data()}};
  star::leapfrog_repeatedly(stream, step, arrays, one.steps);
  auto const expected_now = fetched(stream, arrays.now, now.size()),
             expected_before = fetched(stream, arrays.before, now.size());

  auto host_now = placed(stream, MemorySpace::pinned, now),
       host_before = placed(stream, MemorySpace::pinned, before);
  auto const chosen = star::choose<T>(stream.device(), {grid, one.order, false, true}, wanted);
  int const made = chosen.fused_steps > 1 ? 2 : 1;
  auto const next = [&](std::int64_t left) {
    return left >= chosen.fused_steps ? chosen.fused_steps : 1;
  };
  auto plan = plan_of(one, one.order / 2, 2, made, sizeof(T));
  plan.shape.fused_steps = chosen.fused_steps;
  plan.shape.parts = star::best_parts(chosen);
  auto const steps = make(stream, plan, next);
  T* const state[] = {has_arrays ? host_now.data() : nullptr,
                      has_arrays ? host_before.data() : nullptr};
  steps->run(state, one.steps, [&](Stream& queue, Window<T> const& window) {
    auto part = step;
    part.grid = window.grid;
    part.made = window.made;
    part.beside = window.beside;
    for (std::size_t side = 0; side < 2; ++side)
      if (window.cut[0] && window.cut[1])
        part.sides[static_cast<std::size_t>(slowest)][side] = SideKind::periodic;
      else if (window.cut[side])
        part.sides[static_cast<std::size_t>(slowest)][side] = SideKind::free;
    if (window.steps > 1) {
      star::WaveArrays<T> pass{window.in[0], window.in[1], {window.out[0], window.out[1]}};
      return star::leapfrog_repeatedly(queue, part, pass, window.steps, chosen);
    }
    part.in = window.in[0];
    part.previous = window.in[1];
    part.out = window.out[0];
    star::leapfrog(queue, part, chosen);
    if (made > 1) {
      auto const size = static_cast<std::size_t>(window.grid.size());
      copy_async(std::span(window.out[1], size), std::span<T const>(window.in[0], size), queue);
    }
  });
  steps->settle();
  if (!has_arrays) return;
  EXPECT_EQ(fetched(stream, host_now.data(), now.size()), expected_now);
  EXPECT_EQ(fetched(stream, host_before.data(), now.size()), expected_before);
}

}  // namespace gridstride::test
