// Adaptive Gauss–Kronrod integration of many integrals at once, breadth first.
//
// All intervals of all integrals stand in one list, those of an integral side by side in the order
// of x; `starts[i]` is where integral i begins. A generation is
//
//   evaluate_intervals   a thread per new interval: its samples, value and error
//   decide_intervals     a block per integral: totals of its intervals in a fixed order, and the
//                        decision what becomes of it; how many places each interval takes next
//                        (1 as it is, 2 when it is halved, 0 when its integral is done)
//   a prefix sum over these numbers, by family `scan`
//   expand_intervals     a thread per interval: it goes to its place in the next list, or its
//                        halves do, which are also put on the list of those to evaluate
//
// and the host reads one number, how many intervals there are now. A thread evaluates an interval
// alone: its 17 or 23 samples do not depend on each other, so that several are under way, and no
// lane of a warp is idle as it would be with a sample a lane. Samples are of type Real, all else is
// float64. An interval costs the samples, about 200 operations for the estimate, and 40 bytes
// written; in each generation that it lives through, 40 bytes read three times and written once.

#include "kernels/adaptive/gauss_kronrod.hpp"
#include "kernels/adaptive/intervals.hpp"
#include "kernels/integrand/block_totals.cuh"

namespace gridstride::quadrature {

constexpr int points = KRONROD_POINTS, per_interval = kronrod_samples<points>;

/// How many intervals (low 32 bits) and how many halvings (high) an interval stands for.
using Moves = long long;
__device__ inline unsigned intervals_of(Moves moves) { return static_cast<unsigned>(moves); }
__device__ inline unsigned halvings_of(Moves moves) { return static_cast<unsigned>(moves >> 32); }
constexpr Moves kept = 1, halved = 2 | 1ll << 32;

/// Integral i of those that are worked on, of which `selection` names some; all where it is null.
__device__ inline long long selected(int const* selection, int i) {
  return selection == nullptr ? i : selection[i];
}

/// 1 for each integral that was left unfinished, else 0.
extern "C" __global__ void mark_unfinished(IntegralResult const* results, int integrals,
                                           Moves* marks) {
  long long const i = thread_number();
  if (i < integrals) marks[i] = results[i].verdict == Verdict::go_on ? 1 : 0;
}

/// Their numbers; `ends` is the inclusive prefix sum of the marks.
extern "C" __global__ void select_unfinished(IntegralResult const* results, int integrals,
                                             Moves const* ends, int* selection) {
  long long const i = thread_number();
  if (i < integrals && results[i].verdict == Verdict::go_on)
    selection[ends[i] - 1] = static_cast<int>(i);
}

/// The list of the first generation: `initial` equal parts for each integral.
extern "C" __global__ void begin_intervals(Leaf* leaves, int* fresh, int* starts, int integrals,
                                           double lower, double upper, int initial) {
  long long const i = thread_number();
  if (i <= integrals) starts[i] = static_cast<int>(i * initial);
  if (i >= static_cast<long long>(integrals) * initial) return;
  Panel const part = panel_of(lower, upper, i % initial, initial);
  leaves[i] = {part.lower, part.upper, 0, 0, static_cast<int>(i / initial), Leaf::fresh};
  fresh[i] = static_cast<int>(i);
}

extern "C" __global__ void evaluate_intervals(Leaf* leaves, int const* fresh, int count,
                                              double const* parameter_rows, int const* selection) {
  long long const i = thread_number();
  if (i >= count) return;
  Leaf leaf = leaves[fresh[i]];
  ParameterRow const row(parameter_rows, selected(selection, leaf.integral));
  Real samples[per_interval];
#pragma unroll 3
  for (int k = 0; k < per_interval; ++k) {
    Real const x = static_cast<Real>(kronrod_place<points>(leaf.lower, leaf.upper, k));
    samples[k] = integrand(&x, row.values);
  }
  IntervalEstimate const estimate = kronrod_estimate<points>(samples, leaf.lower, leaf.upper);
  leaves[fresh[i]] = evaluated(leaf, estimate, rounding_of<Real>());
}

/// A block of a power of two of threads for each integral. `moves` tells what each interval
/// becomes.
extern "C" __global__ void decide_intervals(Leaf const* leaves, int const* starts, Moves* moves,
                                            Goal goal, int max_intervals, int initial,
                                            IntegralResult* results, int const* selection) {
  int const begin = starts[blockIdx.x], end = starts[blockIdx.x + 1];
  if (begin == end) return;
  int const thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  LeafTotals own;
  for (int j = begin + thread; j < end; j += threads) own.add(leaves[j]);
  LeafTotals const totals = added_in_block(own);
  Decision const decision = decide(totals, goal, max_intervals);
  bool const done = decision.verdict != Verdict::go_on;
  if (done && thread == 0)
    results[selected(selection, static_cast<int>(blockIdx.x))] =
        result_of(totals, decision, initial, per_interval);
  for (int j = begin + thread; j < end; j += threads)
    moves[j] = done ? 0 : is_halved(leaves[j], decision) ? halved : kept;
}

/// `ends` is the inclusive prefix sum of `moves`.
extern "C" __global__ void expand_intervals(Leaf const* leaves, int const* starts,
                                            Moves const* moves, Moves const* ends, int count,
                                            int integrals, Leaf* next, int* next_starts,
                                            int* fresh) {
  long long const i = thread_number();
  if (i <= integrals) {
    int const start = starts[i];
    next_starts[i] = static_cast<int>(
        intervals_of(start < count ? ends[start] - moves[start] : ends[count - 1]));
  }
  if (i >= count || moves[i] == 0) return;
  Moves const before = ends[i] - moves[i];
  unsigned const place = intervals_of(before);
  Leaf const leaf = leaves[i];
  if (moves[i] == kept) {
    next[place] = leaf;
    return;
  }
  for (int side = 0; side < 2; ++side) {
    next[place + side] = half_of(leaf, side);
    fresh[2 * halvings_of(before) + side] = static_cast<int>(place) + side;
  }
}

}  // namespace gridstride::quadrature
