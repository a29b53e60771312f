#pragma once

// The default way of summing the samples of a composite rule, `compensated`. It reads nothing and
// writes a few bytes a block; what it costs are the float64 (or float32) instructions of the
// integrand, and little may be added to them.
//
// A thread belongs to one node of the cell and visits every P-th cell, so that its weights are
// constants: it adds samples without a weight, and they are weighted once at its end. Samples come
// in groups of eight, which do not depend on each other:
//
//   x_u = x_0 + u·(P·width)    one fused operation a sample; x_0 in float64 once a group, from the
//                              number of the cell, so that rounding does not grow from group to
//                              group, in float32 neither
//   Σ_u f(x_u)                 a plain tree of seven additions
//   s += that                  in float64; where that is the samples' precision too, with what the
//                              addition rounds away kept
//
// There are three roundings on any path through the tree, so that the sum of n samples differs from
// the exact one by at most 3·ε/2·Σ|f| whatever n is, 3.4e-16 of Σ|f| in float64. The errors of
// formula and coordinates are of the same size, but not all of one sign.
//
// exp, sin and cos are those of fast_math.cuh: about 34 float64 instructions for a sample of
// exp(x)*sin(x). A thread that meets an argument out of their range computes that group, and some
// more, with the library's: as it walks from end to end, arguments stay out of range for a while.
// The last samples of a thread go one by one, with coordinates that are nowhere beyond the
// interval's end.

#include "kernels/riemann/fast_math.cuh"
#include "kernels/riemann/team.cuh"

namespace gridstride::quadrature {

constexpr int group = 8;
constexpr int patience = 16;  // groups to the next look whether arguments are in range again

/// The sum of f over a group, with the library's functions.
__device__ __forceinline__ double careful_sum(Real x, Real step, ParameterRow const& row) {
  double sum = 0;
#pragma unroll 1
  for (int u = 0; u < group; ++u) sum += value_at(fast::fused(static_cast<Real>(u), step, x), row);
  return sum;
}

/// The same with `FastIntegrand`; `in_range` becomes whether its functions could be used.
template <class FastIntegrand>
__device__ __forceinline__ double fast_sum(Real x, Real step, ParameterRow const& row,
                                           bool& in_range) {
  FastIntegrand f;
  Real values[group];
#pragma unroll
  for (int u = 0; u < group; ++u) {
    Real const v = fast::fused(static_cast<Real>(u), step, x);
    values[u] = f(&v, row.values);
  }
#pragma unroll
  for (int half = group / 2; half > 0; half /= 2)
#pragma unroll
    for (int u = 0; u < half; ++u) values[u] += values[u + half];
  in_range = f.in_range;
  return values[0];
}

/// One more group. In float32, whose groups round at 6e-8, a plain sum in float64 has digits
/// enough.
__device__ __forceinline__ void add_group(TwoTermSum& sum, double f) {
  if constexpr (sizeof(Real) == sizeof(double))
    sum.add(f);
  else
    sum.high += f;
}

/// The unweighted sum of every `stride`-th cell's sample at `offset`, from `cell` on.
template <class FastIntegrand>
__device__ TwoTermSum sum_of_node(Samples const& s, ParameterRow const& row, double offset,
                                  long long cell, long long stride, double& magnitude) {
  TwoTermSum sum;
  double at = static_cast<double>(cell);
  long long left = cell < s.cells ? (s.cells - cell + stride - 1) / stride : 0;
  double const cells_of_group = static_cast<double>(stride * group);
  Real const step = static_cast<Real>(static_cast<double>(stride) * s.width);
  int careful_groups = 0;
  for (; left >= 2 * group; left -= group) {
    Real const x = static_cast<Real>(fma(at + offset, s.width, s.lower));
    bool in_range = careful_groups == 0;
    double f = 0;
    if (in_range) {
      f = fast_sum<FastIntegrand>(x, step, row, in_range);
      if (!in_range) careful_groups = patience;
    }
    if (!in_range) {
      f = careful_sum(x, step, row);
      --careful_groups;
    }
    add_group(sum, f);
    magnitude += fabs(f);
    at += cells_of_group;
  }
  for (; left > 0; --left) {
    double const f = value_at(static_cast<Real>(s.at(at, offset)), row);
    add_group(sum, f);
    magnitude += fabs(f);
    at += static_cast<double>(stride);
  }
  return sum;
}

/// What a thread of the kernel does.
template <class FastIntegrand>
__device__ void sum_samples(Samples const& s, double const* parameter_rows, int blocks,
                            Sums* partials) {
  Team const team(blocks);
  ParameterRow const row(parameter_rows, team.integral);
  Sums sums;
  // With fewer threads than nodes, a thread has several nodes; else some may have none.
  long long const stride = team.threads < s.nodes ? 1 : team.threads / s.nodes;
  for (long long i = team.thread; i < s.nodes * stride; i += team.threads) {
    Place const place(i, s.nodes);
    double magnitude = 0;
    TwoTermSum const sum =
        sum_of_node<FastIntegrand>(s, row, s.offsets[place.node], place.cell, stride, magnitude);
    double const fine = s.fine[place.node], coarse = s.coarse[place.node];
    sums.add({{fine * sum.high, fine * sum.low},
              {coarse * sum.high, coarse * sum.low},
              fine * magnitude});
  }
  sums = block_total(sums);
  if (threadIdx.x == 0) partials[blockIdx.x] = sums;
}

}  // namespace gridstride::quadrature
