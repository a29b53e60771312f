#pragma once

#include "kernels/advect/advect.hpp"
#include "model/rank_steps.hpp"
#include "support/advect_cases.hpp"
#include "support/sweep_cases.hpp"
#include "support/thread_ranks.hpp"

/// Steps of a grid that ranks share, beside the same steps of one process.
namespace gridstride::test {

/// Steps by the ranks of a case's plan; its slabs are not theirs.
template <class T>
MakeSteps<T> by_ranks(Ranks& ranks, Backend backend) {
  return [&ranks, backend](Stream const& stream, SweepPlan const& plan,
                           typename WindowSteps<T>::NextPass next) {
    return std::make_unique<RankSteps<T>>(
        stream, plan_ranks(plan.shape, ranks.count(), backend, plan.trip_steps), std::move(next),
        ranks);
  };
}

template <class T>
void expect_shared_diffusion_bits(SweepCase const& one, int count, Backend backend,
                                  std::string_view variant = "auto", bool apart = false) {
  auto const work = [&](Ranks& ranks) {
    expect_diffusion_bits<T>(one, backend, variant, by_ranks<T>(ranks, backend), ranks.is_first());
  };
  EXPECT_TRUE(on_ranks(count, work, apart)) << one.text();
}

template <class T>
void expect_shared_wave_bits(SweepCase const& one, int count, Backend backend,
                             star::Repetition const& wanted = {}) {
  EXPECT_TRUE(on_ranks(count, [&](Ranks& ranks) {
    expect_wave_bits<T>(one, backend, wanted, by_ranks<T>(ranks, backend), ranks.is_first());
  })) << one.text();
}

/// Ranks with as few planes as can be, and with uneven numbers of them; exchanges for one step and
/// for more than a rank's planes would allow; numbers of steps that are no multiples.
inline std::vector<SweepCase> shared_sizes(std::vector<std::array<SideKind, 2>> const& kinds,
                                           int count, std::int64_t reach) {
  std::vector<SweepCase> cases;
  std::int64_t const least = std::max<std::int64_t>(reach, 2) * count;
  for (auto const& sides : kinds)
    for (std::int64_t const planes : {least, least + 1, 3 * least - 1})
      for (std::int64_t const trip : {1, 2, 5})
        for (std::int64_t const steps : {std::int64_t{1}, 2 * trip + 1})
          cases.push_back({.planes = planes, .trip_steps = trip, .steps = steps, .sides = sides});
  return cases;
}

/// Steps of advection with fluxes of one stage, where the flow goes along the slowest axis with a
/// velocity that is a number or a field.
template <class T>
void expect_advection_bits(SweepCase const& one, advect::Scheme scheme, bool is_field,
                           Backend backend, MakeSteps<T> const& make, bool has_arrays) {
  SCOPED_TRACE(one.text() + " " + name_of(scheme));
  Stream stream(Device::open(backend));
  Grid const grid = one.grid();
  auto const slowest = static_cast<std::size_t>(grid.dims - 1);
  std::int64_t const line = grid.face_size(grid.dims - 1), size = grid.size();
  // Around the grid, three times over.
  auto velocity = random_values<T>(size);
  velocity.insert(velocity.end(), velocity.begin(), velocity.end());
  velocity.insert(velocity.end(), velocity.begin(), velocity.begin() + size);
  auto const field = placed(stream, MemorySpace::device, velocity);
  auto const face = placed(stream, MemorySpace::device, random_values<T>(line));
  bool const periodic = one.sides[0] == SideKind::periodic;
  advect::AdvectionStep<T> step;
  step.grid = grid;
  step.scheme = scheme;
  step.factor = 2e-2;
  for (std::size_t axis = 0; axis <= slowest; ++axis) step.velocity[axis].constant = -0.7;
  if (is_field) step.velocity[slowest] = {0, field.data() + size, 1};
  for (auto& side : step.sides[slowest]) side = {periodic, periodic ? nullptr : face.data()};
  auto const start = random_values<T>(size);
  std::array<Buffer<T>, 2> whole = {placed(stream, MemorySpace::device, start),
                                    Buffer<T>(stream, MemorySpace::device, start.size())};
  for (std::int64_t i = 0; i < one.steps; ++i) {
    auto const now = static_cast<std::size_t>(i % 2);
    step.in = whole[now].data();
    step.out = whole[1 - now].data();
    advect::advect(stream, step);
  }
  auto const expected = fetched(stream, step.out, start.size());

  auto host = placed(stream, MemorySpace::pinned, start);
  std::int64_t const reach = scheme == advect::Scheme::weno5 ? 3 : 1;
  auto const steps = make(stream, plan_of(one, reach, 1, 1, sizeof(T)), [](auto) { return 1; });
  T* const arrays[] = {has_arrays ? host.data() : nullptr};
  steps->run(arrays, one.steps, [&](Stream& queue, Window<T> const& window) {
    auto part = step;
    part.grid = window.grid;
    part.in = window.in[0];
    part.out = window.out[0];
    if (is_field) part.velocity[slowest].field += window.first * line;
    for (std::size_t side = 0; side < 2; ++side)
      if (window.cut[side]) part.sides[slowest][side] = {window.cut[0] && window.cut[1], nullptr};
    advect::advect(queue, part);
  });
  steps->settle();
  if (!has_arrays) return;
  EXPECT_EQ(fetched(stream, host.data(), start.size()), expected);
}

template <class T>
void expect_shared_advection_bits(SweepCase const& one, int count, advect::Scheme scheme,
                                  bool is_field, Backend backend) {
  EXPECT_TRUE(on_ranks(count, [&](Ranks& ranks) {
    expect_advection_bits<T>(one, scheme, is_field, backend, by_ranks<T>(ranks, backend),
                             ranks.is_first());
  })) << one.text();
}

/// Every flux, on grids of as few planes as ranks may have, and of more.
template <class T>
void expect_all_shared_advection_bits(int count, Backend backend) {
  for (auto const scheme : advect_schemes)
    for (auto one : shared_sizes(
             {{SideKind::periodic, SideKind::periodic}, {SideKind::outflow, SideKind::outflow}},
             count, scheme == advect::Scheme::weno5 ? 3 : 1))
      for (bool const is_field : {false, true}) {
        one.dims = 1 + (count + is_field) % 3;
        expect_shared_advection_bits<T>(one, count, scheme, is_field, backend);
      }
}

}  // namespace gridstride::test
