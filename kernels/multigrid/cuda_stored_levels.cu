// Between large levels whose equations are stored: a thread goes along the last axis, so that what
// tables say of the other two is looked up once.
//
// Down: a plane of the fine level that lies between two coarse ones is gathered once, for both. Up: a
// lane of a warp has a coarse column, interpolated along y and z, and the points of the row take from
// each other's lanes what stands around them.

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/follow.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/multigrid/transfers.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

/// What a coarse point takes of a plane of the fine level.
template <class S>
struct TakenOfPlane {
  S value[3][3];
  float weight[3][3], of_row[3];

  __device__ S sum() const {
    S all = 0;
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      S in_line = 0;
#pragma unroll
      for (int a = 0; a < 3; ++a) in_line += weight[b][a] * value[b][a];
      all += of_row[b] * in_line;
    }
    return all;
  }
};

/// From values of the first colour, or of both. All that two planes give is asked for before the first of
/// it is waited for.
template <bool both, class S>
__global__ void __launch_bounds__(threads_of_columns)
    gather_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                  S const* values, int piece) {
  Column const column(piece, coarse.count[2]);
  int const x = column.x, y = column.across;
  if (x >= coarse.count[0] || y >= coarse.count[1]) return;
  Weights<S> const weights{fine, coarse};
  Around const in_row(weights, 0, x), across(weights, 1, y);
  wait_for_kernel_before();
  Weight const *const of_x = fine.weight[0], *const of_y = fine.weight[1],
                      *const of_z = fine.weight[2];
  int const n = fine.count[0], m = fine.count[1];
  auto const take = [&](int k) {
    TakenOfPlane<S> taken;
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      int const j = across.at[b];
      std::int64_t const row = std::int64_t{k} * m + j;
      taken.of_row[b] = j < 0 ? 0.0f : given(of_y, b, row * coarse.count[0] + x);
#pragma unroll
      for (int a = 0; a < 3; ++a) {
        int const i = in_row.at[a], colour = (i + j + k) & 1;
        bool const counts = i >= 0 && j >= 0 && (both || colour == 0);
        taken.value[b][a] =
            counts ? values[colour * fine.colour + row * fine.half + (i >> 1)] : S{0};
        taken.weight[b][a] = counts ? given(of_x, a, row * n + i) : 0.0f;
      }
    }
    return taken;
  };
  int known = -1;
  S last = 0;
  for (int z = column.first; z < column.last; ++z) {
    Around const along(weights, 2, z);
    auto const [before, kept, behind] = along.at;
    auto const factor = [&](int c, int k) {
      return given(of_z, c, (std::int64_t{k} * coarse.count[1] + y) * coarse.count[0] + x);
    };
    TakenOfPlane<S> const of_kept = take(kept);
    TakenOfPlane<S> of_behind;
    float factor_behind = 0;
    if (behind >= 0) {
      of_behind = take(behind);
      factor_behind = factor(2, behind);
    }
    S sum = 0;
    if (before >= 0) {
      if (before != known) last = take(before).sum();
      sum = factor(0, before) * last;
    }
    sum += of_kept.sum();
    if (behind >= 0) {
      known = behind;
      last = of_behind.sum();
      sum += factor_behind * last;
    }
    coarse.f[coarse.place(x, y, z)] = sum;
  }
}

/// Of a fine row, pairs of points side by side; two more lanes of a warp have coarse columns that
/// stand between pairs of others.
constexpr int pairs_of_warp = warp_size - 2, rows_of_block = threads_of_columns / warp_size;

/// What the coarse level has at a place in x around a row of the fine one, interpolated to the row
/// along y and z, as that goes from plane to plane.
template <class S>
class CoarseColumn {
 public:
  /// From the fine plane k on.
  __device__ CoarseColumn(Level<S> const& fine, Level<S> const& coarse, int x, int j, int k)
      : fine_(fine), coarse_(coarse) {
    Ends const across = Ends::of(fine.transfer[1], j);
    int const n = coarse.count[0];
    interpolates_y_ = !across.is_kept && fine.weight[1] != nullptr;
    over_y_ = std::int64_t{fine.count[1]} * n;
    over_z_ = std::int64_t{coarse.count[1]} * n;
    of_y_ = k * over_y_ + std::int64_t{j} * n + x;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      int const y = across.at[b];
      parity_[b] = x + y;
      row_[b] = y < 0 ? nullptr : coarse.u + std::int64_t{y} * coarse.half + (x >> 1);
      of_z_[b] = k * over_z_ + std::int64_t{max(y, 0)} * n + x;
    }
  }

  /// Asks for what the next plane of the fine level takes.
  __device__ void ask(Ends const& along) {
    // Behind a kept plane comes one that lies between it and the next, or the next one.
    moves_ = along.at[0] >= 0 && along.at[0] == known_[1];
    if (moves_) known_[0] = known_[1];
    bool const between = !along.is_kept && fine_.weight[2] != nullptr;
    Weight const *const of_y = fine_.weight[1], *const of_z = fine_.weight[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      int const z = along.at[c];
      comes_[c] = z >= 0 && z != known_[c];
      if (comes_[c]) known_[c] = z;
#pragma unroll
      for (int b = 0; b < 2; ++b) {
        weight_z_[c][b] = c == 0 && z >= 0 ? 1.0f : 0.0f;
        if (row_[b] == nullptr) continue;
        if (comes_[c])
          coming_[c][b] = row_[b][std::int64_t{z} * row_stride(coarse_, 2) +
                                  ((parity_[b] + z) & 1) * coarse_.colour];
        if (between && z >= 0) weight_z_[c][b] = load_weight(of_z + of_z_[b]).of(c);
      }
    }
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      weight_y_[b] = interpolates_y_ ? load_weight(of_y + of_y_).of(b) : b == 0 ? 1.0f : 0.0f;
      of_z_[b] += over_z_;
    }
    of_y_ += over_y_;
  }
  /// What has been asked for.
  __device__ S take() {
    S sum = 0;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      if (row_[b] == nullptr) continue;
      if (moves_) held_[0][b] = held_[1][b];
      S in_line = 0;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        if (comes_[c]) held_[c][b] = coming_[c][b];
        in_line += weight_z_[c][b] * held_[c][b];
      }
      sum += weight_y_[b] * in_line;
    }
    return sum;
  }

 private:
  Level<S> const &fine_, &coarse_;
  std::int64_t of_y_, of_z_[2], over_y_,
      over_z_;  ///< places of weights, and to those of the next plane
  S const* row_[2];
  int parity_[2];
  bool interpolates_y_, moves_ = false, comes_[2] = {false, false};
  int known_[2] = {-1, -1};  ///< planes, and what they have in both rows
  S held_[2][2] = {}, coming_[2][2] = {};
  float weight_y_[2], weight_z_[2][2];
};

/// Points of a row beside each other, and what they count of the coarse columns around them.
template <class S>
struct FinePair {
  S u[2];
  float weight[2][2];
};

template <bool adds, class S>
__global__ void __launch_bounds__(threads_of_columns, 2)
    correct_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                   int piece) {
  __shared__ Ends planes[Columns::longest];
  int const lane = static_cast<int>(threadIdx.x);
  int const across = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  int const n = fine.count[0], m = fine.count[1], p = fine.count[2], j = min(across, m - 1);
  int const first_pair = static_cast<int>(blockIdx.x) * pairs_of_warp, pair = first_pair + lane;
  int const first_plane = static_cast<int>(blockIdx.z) * piece, end = min(first_plane + piece, p);
  int const thread = static_cast<int>(threadIdx.y) * warp_size + lane;
  if (thread < end - first_plane) planes[thread] = Ends::of(fine.transfer[2], first_plane + thread);
  __syncthreads();
  wait_for_kernel_before();
  // The lanes' coarse columns, the first of which the first point lies behind, or at.
  int const from = max(__ldg(fine.transfer[0].left + min(2 * first_pair, n - 1)), 0);
  CoarseColumn<S> column(fine, coarse, min(from + lane, coarse.count[0] - 1), j, first_plane);
  Weight const* const of_x = fine.weight[0];
  Ends own[2];
  bool is_point[2];
#pragma unroll
  for (int odd = 0; odd < 2; ++odd) {
    own[odd] = Ends::of(fine.transfer[0], min(2 * pair + odd, n - 1));
    is_point[odd] = lane < pairs_of_warp && across < m && 2 * pair + odd < n;
  }
  S* const pairs = fine.u + std::int64_t{j} * fine.half + pair;
  std::int64_t const points = std::int64_t{j} * n + 2 * pair;
  auto const place_of = [&](int k, int odd) {
    return pairs + std::int64_t{k} * row_stride(fine, 2) + ((odd + j + k) & 1) * fine.colour;
  };
  auto const load = [&](int k) {
    FinePair<S> has{};
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      if (!is_point[odd]) continue;
      if constexpr (adds) has.u[odd] = *place_of(k, odd);
#pragma unroll
      for (int a = 0; a < 2; ++a)
        has.weight[odd][a] = own[odd].weight(of_x, a, points + odd + std::int64_t{k} * m * n);
    }
    return has;
  };

  column.ask(planes[0]);
  FinePair<S> next = load(first_plane);
  for (int k = first_plane; k < end; ++k) {
    S const value = column.take();
    FinePair<S> const now = next;
    if (k + 1 < end) {
      column.ask(planes[k + 1 - first_plane]);
      next = load(k + 1);
    }
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      S sum = now.u[odd];
#pragma unroll
      for (int a = 0; a < 2; ++a) {
        int const x = own[odd].at[a];
        S found = __shfl_sync(~0u, value, min(max(x - from, 0), warp_size - 1));
        if (!is_point[odd] || x < 0) continue;
        // Where a ring closes the column is another warp's.
        if (x < from || x >= from + warp_size) {
          CoarseColumn<S> other(fine, coarse, x, j, k);
          other.ask(planes[k - first_plane]);
          found = other.take();
        }
        sum += now.weight[odd][a] * found;
      }
      if (is_point[odd]) *place_of(k, odd) = sum;
    }
  }
}

/// The same where every second point of a row is kept, from the second one on: a lane has the coarse
/// column at the second point of its pair, and the first one of a warp no pair.
constexpr int doubled_of_warp = warp_size - 1;

template <bool adds, class S>
__global__ void __launch_bounds__(threads_of_columns, 3)
    correct_doubled_kernel(__grid_constant__ Level<S> const fine,
                           __grid_constant__ Level<S> const coarse, int piece) {
  __shared__ Ends planes[Columns::longest];
  int const lane = static_cast<int>(threadIdx.x);
  int const across = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  int const n = fine.count[0], m = fine.count[1], p = fine.count[2], j = min(across, m - 1);
  int const x = static_cast<int>(blockIdx.x) * doubled_of_warp + lane - 1;
  int const first_plane = static_cast<int>(blockIdx.z) * piece, end = min(first_plane + piece, p);
  int const thread = static_cast<int>(threadIdx.y) * warp_size + lane;
  if (thread < end - first_plane) planes[thread] = Ends::of(fine.transfer[2], first_plane + thread);
  __syncthreads();
  wait_for_kernel_before();
  bool const has_column = x >= 0 && x < coarse.count[0];
  bool const has_even = lane > 0 && across < m && 2 * x < n, has_odd = has_even && 2 * x + 1 < n;
  CoarseColumn<S> column(fine, coarse, min(max(x, 0), coarse.count[0] - 1), j, first_plane);
  std::int64_t const over_plane = row_stride(fine, 2), over_points = std::int64_t{m} * n;
  std::int64_t const point = first_plane * over_points + std::int64_t{j} * n + 2 * x;
  Weight const* weights = fine.weight[0] + point;
  // The pair, of which the point with an odd number is of the other colour.
  bool const is_second = ((j + first_plane) & 1) != 0;
  S* even = fine.u + first_plane * over_plane + std::int64_t{j} * fine.half + x +
            (is_second ? fine.colour : 0);
  std::int64_t to_odd = is_second ? -fine.colour : fine.colour;

  struct Loaded {
    S even, odd;
    Weight weight;
  };
  auto const load = [&] {
    Loaded has{};
    if (has_even) {
      if constexpr (adds) has.even = *even;
      has.weight = load_weight(weights);
    }
    if (adds && has_odd) has.odd = even[to_odd];
    return has;
  };
  column.ask(planes[0]);
  Loaded next = load();
  for (int k = first_plane; k < end; ++k) {
    S const value = has_column ? column.take() : S{0};
    Loaded const now = next;
    S* const to = even;
    std::int64_t const other = to_odd;
    even += over_plane + to_odd;
    to_odd = -to_odd;
    weights += over_points;
    if (k + 1 < end) {
      column.ask(planes[k + 1 - first_plane]);
      next = load();
    }
    S const before = __shfl_up_sync(~0u, value, 1);
    if (has_even) *to = (now.even + now.weight.of(0) * before) + now.weight.of(1) * value;
    if (has_odd) to[other] = now.odd + value;
  }
}

template <bool both, class S>
void launch_gather(Stream& stream, Level<S> const& fine, Level<S> const& coarse, S const* values) {
  auto const columns = Columns::in_blocks(32, 8, coarse.count[0], coarse.count[1], coarse.count[2])
                           .fitted(stream, gather_kernel<both, S>, coarse.count[2]);
  follow(stream, gather_kernel<both, S>, columns.grid, columns.block, 0, fine, coarse, values,
         columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid gather");
}

}  // namespace

template <class S>
void gather_stored(Stream& stream, Level<S> const& fine, Level<S> const& coarse) {
  if (doubles_in_planes(fine)) return gather_doubled(stream, fine, coarse, fine.r, false);
  launch_gather<false>(stream, fine, coarse, static_cast<S const*>(fine.r));
}

template <class S>
void march_stored(Stream& stream, Gather<S> const& step) {
  if (doubles_in_planes(step.fine))
    return gather_doubled(stream, step.fine, step.coarse, step.values, true);
  launch_gather<true>(stream, step.fine, step.coarse, step.values);
}

template <class S>
void march_stored(Stream& stream, Correct<S> const& step) {
  auto const& fine = step.fine;
  if (doubles_in_planes(fine)) return correct_doubled(stream, step);
  auto columns =
      Columns::in_blocks(warp_size, rows_of_block, fine.half, fine.count[1], fine.count[2]);
  columns.grid.x =
      blocks_for((fine.count[0] + 1) / 2, fine.doubles ? doubled_of_warp : pairs_of_warp);
  auto* const kernel =
      fine.doubles
          ? (step.adds ? correct_doubled_kernel<true, S> : correct_doubled_kernel<false, S>)
          : (step.adds ? correct_kernel<true, S> : correct_kernel<false, S>);
  columns = columns.fitted(stream, kernel, fine.count[2]);
  follow(stream, kernel, columns.grid, columns.block, 0, fine, step.coarse, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid correct");
}

#define GRIDSTRIDE_INSTANTIATE(S)                                         \
  template void gather_stored(Stream&, Level<S> const&, Level<S> const&); \
  template void march_stored(Stream&, Gather<S> const&);                  \
  template void march_stored(Stream&, Correct<S> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid
