// Adaptive Gauss–Kronrod integration of many integrals at once, each on the chip.
//
// A warp has an integral and keeps its intervals in shared memory, from the first generation to the
// last; nothing but the result goes to memory. A generation is
//
//   the samples of all new intervals, shared by the lanes whatever interval they belong to;
//   value and error of each new interval, a lane for each;
//   the totals of all intervals, added in a fixed order;
//   the decision, and the halving: the left half takes the place of the interval, the right half a
//   place at the end, by the interval's rank among those that are halved.
//
// Compared with the lists of breadth_first.cuh there is no launch, no list to copy and nothing for
// the host to read between generations, which counts most where a singularity takes 60 of them with
// two new intervals each. In return lanes idle where few intervals are new, and an integral that
// needs more than `OnChip::capacity` intervals is given back: it is left to breadth_first.cuh,
// which spreads it over the whole device.

#include "kernels/adaptive/gauss_kronrod.hpp"
#include "kernels/adaptive/intervals.hpp"
#include "kernels/integrand/block_totals.cuh"

namespace gridstride::quadrature {

constexpr int points = KRONROD_POINTS, per_interval = kronrod_samples<points>;
constexpr int lanes = OnChip::lanes;

/// The intervals of an integral, and the places of those to be evaluated.
struct IntervalsOnChip {
  Leaf leaves[OnChip::capacity];
  short fresh[OnChip::capacity];
};

__device__ inline void evaluate_fresh(IntervalsOnChip& intervals, int count,
                                      ParameterRow const& row, Real* samples) {
  int const lane = static_cast<int>(threadIdx.x);
  for (int first = 0; first < count; first += OnChip::together) {
    int const rest = count - first, some = rest < OnChip::together ? rest : OnChip::together;
    for (int s = lane; s < some * per_interval; s += lanes) {
      Leaf const& leaf = intervals.leaves[intervals.fresh[first + s / per_interval]];
      Real const x =
          static_cast<Real>(kronrod_place<points>(leaf.lower, leaf.upper, s % per_interval));
      samples[s] = integrand(&x, row.values);
    }
    __syncwarp();
    if (lane < some) {
      Leaf& leaf = intervals.leaves[intervals.fresh[first + lane]];
      IntervalEstimate const estimate =
          kronrod_estimate<points>(samples + lane * per_interval, leaf.lower, leaf.upper);
      leaf = evaluated(leaf, estimate, rounding_of<Real>());
    }
    __syncwarp();
  }
}

/// Halves what the decision says, of `count` intervals. Returns how many it halved; −1 when there
/// is no room.
__device__ inline int halve(IntervalsOnChip& intervals, int count, Decision const& decision) {
  int const lane = static_cast<int>(threadIdx.x);
  int halved = 0;
  for (int first = 0; first < count; first += lanes) {
    int const place = first + lane;
    bool const chosen = place < count && is_halved(intervals.leaves[place], decision);
    unsigned const others = __ballot_sync(0xffffffffu, chosen);
    int const rank = halved + __popc(others & ((1u << lane) - 1));
    halved += __popc(others);
    if (count + halved > OnChip::capacity) return -1;
    if (!chosen) continue;
    Leaf const leaf = intervals.leaves[place];
    intervals.leaves[place] = half_of(leaf, 0);
    intervals.leaves[count + rank] = half_of(leaf, 1);
    intervals.fresh[2 * rank] = static_cast<short>(place);
    intervals.fresh[2 * rank + 1] = static_cast<short>(count + rank);
  }
  return halved;
}

/// A block of one warp for each integral. Those that do not fit are counted in `unfinished`, and
/// have the verdict `go_on`.
extern "C" __global__ void __launch_bounds__(lanes)
    integrate_on_chip(double const* parameter_rows, double lower, double upper, Goal goal,
                      int max_intervals, int initial, IntegralResult* results,
                      unsigned* unfinished) {
  // The memory of the totals holds the samples, too, at another time.
  extern __shared__ double shared_memory[];
  auto* const samples = reinterpret_cast<Real*>(shared_memory);
  __shared__ IntervalsOnChip intervals;
  int const lane = static_cast<int>(threadIdx.x);
  ParameterRow const row(parameter_rows, blockIdx.x);
  for (int i = lane; i < initial; i += lanes) {
    Panel const part = panel_of(lower, upper, i, initial);
    intervals.leaves[i] = {part.lower, part.upper, 0, 0, 0, Leaf::fresh};
    intervals.fresh[i] = static_cast<short>(i);
  }
  __syncwarp();
  for (int count = initial, fresh = initial;;) {
    evaluate_fresh(intervals, fresh, row, samples);
    LeafTotals own;
    for (int i = lane; i < count; i += lanes) own.add(intervals.leaves[i]);
    LeafTotals const totals = added_in_block(own);
    Decision const decision = decide(totals, goal, max_intervals);
    int const halved = decision.verdict == Verdict::go_on ? halve(intervals, count, decision) : -1;
    if (halved < 0) {
      if (lane == 0) results[blockIdx.x] = result_of(totals, decision, initial, per_interval);
      if (lane == 0 && decision.verdict == Verdict::go_on) atomicAdd(unfinished, 1u);
      return;
    }
    count += halved;
    fresh = 2 * halved;
    __syncwarp();
  }
}

}  // namespace gridstride::quadrature
