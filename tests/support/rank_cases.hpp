#pragma once

#include "model/rank_steps.hpp"
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
                                  std::string_view variant = "auto") {
  EXPECT_TRUE(on_ranks(count, [&](Ranks& ranks) {
    expect_diffusion_bits<T>(one, backend, variant, by_ranks<T>(ranks, backend), ranks.is_first());
  })) << one.text();
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

}  // namespace gridstride::test
