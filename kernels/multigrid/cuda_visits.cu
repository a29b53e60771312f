// What a cycle does on small levels with the same coefficients everywhere, in one kernel of one block,
// where launches would take longer than the work. The levels lie in shared memory. A thread has the
// same few indices of the half rows, a point of each colour there, for as long as a level is visited:
// their equations and right-hand sides are in registers, and relaxing a point is five loads.

#include <cuda_runtime_api.h>

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/small.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int threads_of_visits = 1024;
constexpr int indices = most_of_visits / threads_of_visits;  ///< of a thread

/// Both points at an index of the half rows, and their equations.
template <class S>
struct Both {
  bool is_there;
  int at, j, k;
  int i[2];     ///< of the first colour's point and of the second one's
  int side[2];  ///< where the neighbour in the row is that is not at the index
  int below, above, before, behind;
  S of_here[2], of_side[2], diagonal[2], f[2];
  S lower_y, upper_y, lower_z, upper_z;

  __device__ void find(Level<S> const& level, int index) {
    is_there = index < level.colour;
    at = is_there ? index : 0;
    int const row = at / level.half, x = at - row * level.half;
    int const n = level.count[0], m = level.count[1], p = level.count[2];
    j = row % m;
    k = row / m;
    auto const away = [](int from, int step, int count, bool periodic, int stride) {
      return (beside(from, step, count, periodic) - from) * stride;
    };
    below = at + away(j, -1, m, level.periodic[1], level.half);
    above = at + away(j, 1, m, level.periodic[1], level.half);
    before = at + away(k, -1, p, level.periodic[2], level.half * m);
    behind = at + away(k, 1, p, level.periodic[2], level.half * m);
    lower_y = level.lower[1][j], upper_y = level.upper[1][j];
    lower_z = level.lower[2][k], upper_z = level.upper[2][k];
    for (int colour = 0; colour < 2; ++colour) {
      int const odd = (colour + j + k) & 1;
      i[colour] = 2 * x + odd;
      // Where a row has no point the equation is u = 0.
      bool const is_point = i[colour] < n;
      int const known = min(i[colour], n - 1);
      S const lower = is_point ? level.lower[0][known] : S{0},
              upper = is_point ? level.upper[0][known] : S{0};
      of_here[colour] = odd != 0 ? lower : upper;
      of_side[colour] = odd != 0 ? upper : lower;
      side[colour] = at - x + (beside(known, odd != 0 ? 1 : -1, n, level.periodic[0]) >> 1);
      diagonal[colour] =
          is_point ? level.sum[0][known] + level.sum[1][j] + level.sum[2][k] + level.reaction
                   : S{1};
      f[colour] = level.f[colour * level.colour + at];
    }
    if (i[0] >= n) f[0] = 0;
    if (i[1] >= n) f[1] = 0;
  }
  /// Σ neighbours, which are of the other colour.
  __device__ S others(S const* other, int colour) const {
    return (of_here[colour] * other[at] + of_side[colour] * other[side[colour]]) +
           (lower_y * other[below] + upper_y * other[above]) +
           (lower_z * other[before] + upper_z * other[behind]);
  }
};

template <class S>
__device__ void relax(Level<S> const& level, Both<S> const (&both)[indices], Order order) {
  bool const from_zero = order.kind == Kind::descend && order.flag;
  S* const first = level.u;
  S* const second = level.u + level.colour;
  for (int sweep = 0; sweep < order.number; ++sweep) {
    S const times = for_sweep(level, order.kind == Kind::ascend, sweep, order.number).over;
#pragma unroll
    for (Both<S> const& own : both) {
      if (!own.is_there) continue;
      if (from_zero && sweep == 0) {
        first[own.at] = times * quotient(own.f[0], own.diagonal[0]);
        continue;
      }
      S const wanted = quotient(own.f[0] + own.others(second, 0), own.diagonal[0]);
      S const old = first[own.at];
      first[own.at] = times == 1 ? wanted : old + times * (wanted - old);
    }
    __syncthreads();
#pragma unroll
    for (Both<S> const& own : both)
      if (own.is_there) second[own.at] = quotient(own.f[1] + own.others(first, 1), own.diagonal[1]);
    __syncthreads();
  }
}

/// f of the coarse level from what is left at points of the first colour.
template <class S>
__device__ void gather(Level<S> const& fine, Level<S> const& coarse) {
  auto const &along_x = fine.transfer[0], &along_y = fine.transfer[1], &along_z = fine.transfer[2];
  int const all = static_cast<int>(coarse.size());
  for (int point = static_cast<int>(threadIdx.x); point < all; point += threads_of_visits) {
    int const row = point / coarse.count[0], x = point - row * coarse.count[0];
    int const z = row / coarse.count[1], y = row - z * coarse.count[1];
    int const i = along_x.kept[x], j = along_y.kept[y], k = along_z.kept[z];
    S weight[3], rows[3];
    int half[3], places[3];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
      weight[a] = along_x.gather[3 * x + a];
      rows[a] = along_y.gather[3 * y + a];
      half[a] = beside(i, a - 1, fine.count[0], fine.periodic[0]) >> 1;
      places[a] = beside(j, a - 1, fine.count[1], fine.periodic[1]) * fine.half;
    }
    S sum = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      S const* const plane =
          fine.r + beside(k, c - 1, fine.count[2], fine.periodic[2]) * fine.half * fine.count[1];
      bool const at_centre = ((i + j + k + c - 1) & 1) == 0;
      S in_plane = 0;
#pragma unroll
      for (int b = 0; b < 3; ++b) {
        S const* const values = plane + places[b];
        bool const is_middle = (b == 1) == at_centre;
        in_plane +=
            rows[b] * (is_middle ? weight[1] * values[half[1]]
                                 : weight[0] * values[half[0]] + weight[2] * values[half[2]]);
      }
      sum += along_z.gather[3 * z + c] * in_plane;
    }
    coarse.f[coarse.place(x, y, z)] = sum;
  }
}

template <class S>
__device__ void visit(Level<S> const& fine, Level<S> const& coarse, Order order) {
  Both<S> both[indices];
#pragma unroll
  for (int s = 0; s < indices; ++s)
    both[s].find(fine, static_cast<int>(threadIdx.x) + s * threads_of_visits);
  if (order.kind == Kind::descend) {
    relax(fine, both, order);
#pragma unroll
    for (Both<S> const& own : both)
      if (own.is_there)
        fine.r[own.at] =
            (own.f[0] - own.diagonal[0] * fine.u[own.at]) + own.others(fine.u + fine.colour, 0);
    __syncthreads();
    gather(fine, coarse);
    __syncthreads();
    return;
  }
#pragma unroll
  for (Both<S> const& own : both)
    for (int colour = 0; colour < 2; ++colour)
      if (own.is_there && own.i[colour] < fine.count[0])
        fine.u[colour * fine.colour + own.at] +=
            interpolated(fine, coarse, coarse.u, own.i[colour], own.j, own.k);
  __syncthreads();
  relax(fine, both, order);
}

/// u = inverse·f on the coarsest level: a warp for each row.
template <class S>
__device__ void solve(Level<S> const& level, S const* inverse) {
  int const n = static_cast<int>(level.size());
  auto const place = [&](int unknown) {
    int const row = unknown / level.count[0];
    return level.place(unknown - row * level.count[0], row % level.count[1], row / level.count[1]);
  };
  for (int row = warp_index(); row < n; row += threads_of_visits / warp_size) {
    S sum = 0;
    for (int unknown = lane_index(); unknown < n; unknown += warp_size)
      sum += inverse[row * n + unknown] * level.f[place(unknown)];
    for (int distance = warp_size / 2; distance > 0; distance /= 2)
      sum += shuffle_down(sum, distance);
    if (lane_index() == 0) level.u[place(row)] = sum;
  }
}

template <class S>
__global__ void __launch_bounds__(threads_of_visits)
    visits_kernel(__grid_constant__ Orders const orders, __grid_constant__ Small<S> const small) {
  InShared<S> const shared = take_to_shared(small, orders);
  for (int at = 0; at < orders.count; ++at) {
    Order const order = orders.list[at];
    Level<S> const& fine = shared.levels[order.level];
    Level<S> const& coarse = shared.levels[min(order.level + 1, small.count - 1)];
    switch (order.kind) {
      case Kind::gather_f:
        call_all(Gather<S>{fine, coarse, fine.f});
        break;
      case Kind::correct:
        call_all(Correct<S>{fine, coarse, order.number, order.flag});
        break;
      case Kind::solve:
        solve(fine, shared.inverse);
        break;
      default:
        visit(fine, coarse, order);
        continue;
    }
    __syncthreads();
  }
  put_back(small, orders, shared);
}

}  // namespace

template <class S>
void launch_visits(Stream& stream, Orders const& orders, Small<S> const& small) {
  auto const bytes = small.bytes();
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(
      visits_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  visits_kernel<<<1, threads_of_visits, bytes, native(stream)>>>(orders, small);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid small levels");
}

template void launch_visits(Stream&, Orders const&, Small<float> const&);
template void launch_visits(Stream&, Orders const&, Small<double> const&);

}  // namespace gridstride::multigrid
