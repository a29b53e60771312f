// Between large levels whose equations are stored: a thread goes along the last axis, so that what
// tables say of the other two is looked up once.
//
// Down: a plane of the fine level that lies between two coarse ones is gathered once, for both. Up: a
// lane of a warp has a coarse column, interpolated along y and z, and the points of the row take from
// each other's lanes what stands around them.

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

/// Which coarse points a fine one lies between along an axis, or -1; where it is kept that is the
/// first.
struct Ends {
  int at[2];
  bool is_kept;

  template <class S>
  __device__ static Ends of(TransferView<S> const& transfer, int at) {
    int const left = __ldg(transfer.left + at);
    return {{left, __ldg(transfer.right + at)}, left >= 0 && __ldg(transfer.kept + left) == at};
  }
  /// What the one on a side counts; `weights` are those on the left and on the right, at a place.
  __device__ float weight(float const* const (&weights)[2], int side, std::int64_t place) const {
    if (is_kept || weights[0] == nullptr) return side == 0 ? 1.0f : 0.0f;
    return __ldg(weights[side] + place);
  }
};

/// An axis' weights.
struct Pair {
  float const* of[2];
  template <class S>
  __device__ Pair(Level<S> const& level, int axis)
      : of{level.weight_left[axis], level.weight_right[axis]} {}
};

/// The fine points around a coarse one along an axis, or -1.
struct Around {
  int at[3];
  template <class S>
  __device__ Around(Weights<S> const& weights, int axis, int kept) {
    for (int a = 0; a < 3; ++a) at[a] = weights.around(axis, kept, a - 1);
  }
};

/// What a point around a kept one gives it: `place` is that of the weights.
__device__ inline float given(Pair const& weights, int around, std::int64_t place) {
  if (around == 1 || weights.of[0] == nullptr) return around == 1 ? 1.0f : 0.0f;
  // What is behind a kept point has it on its left.
  return __ldg(weights.of[around == 0 ? 1 : 0] + place);
}

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
  Pair const of_x(fine, 0), of_y(fine, 1), of_z(fine, 2);
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
    interpolates_y_ = !across.is_kept && fine.weight_left[1] != nullptr;
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
    bool const between = !along.is_kept && fine_.weight_left[2] != nullptr;
    Pair const of_y(fine_, 1), of_z(fine_, 2);
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
        if (between && z >= 0) weight_z_[c][b] = __ldg(of_z.of[c] + of_z_[b]);
      }
    }
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      weight_y_[b] = interpolates_y_ ? __ldg(of_y.of[b] + of_y_) : b == 0 ? 1.0f : 0.0f;
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
  // The lanes' coarse columns, the first of which the first point lies behind, or at.
  int const from = max(__ldg(fine.transfer[0].left + min(2 * first_pair, n - 1)), 0);
  CoarseColumn<S> column(fine, coarse, min(from + lane, coarse.count[0] - 1), j, first_plane);
  Pair const of_x(fine, 0);
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
        has.weight[odd][a] = own[odd].weight(of_x.of, a, points + odd + std::int64_t{k} * m * n);
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
  bool const has_column = x >= 0 && x < coarse.count[0];
  bool const has_even = lane > 0 && across < m && 2 * x < n, has_odd = has_even && 2 * x + 1 < n;
  CoarseColumn<S> column(fine, coarse, min(max(x, 0), coarse.count[0] - 1), j, first_plane);
  std::int64_t const over_plane = row_stride(fine, 2), over_points = std::int64_t{m} * n;
  std::int64_t const point = first_plane * over_points + std::int64_t{j} * n + 2 * x;
  float const *left = fine.weight_left[0] + point, *right = fine.weight_right[0] + point;
  // The pair, of which the point with an odd number is of the other colour.
  bool const is_second = ((j + first_plane) & 1) != 0;
  S* even = fine.u + first_plane * over_plane + std::int64_t{j} * fine.half + x +
            (is_second ? fine.colour : 0);
  std::int64_t to_odd = is_second ? -fine.colour : fine.colour;

  struct Loaded {
    S even, odd;
    float left, right;
  };
  auto const load = [&] {
    Loaded has{};
    if (has_even) {
      if constexpr (adds) has.even = *even;
      has.left = __ldg(left);
      has.right = __ldg(right);
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
    left += over_points;
    right += over_points;
    if (k + 1 < end) {
      column.ask(planes[k + 1 - first_plane]);
      next = load();
    }
    S const before = __shfl_up_sync(~0u, value, 1);
    if (has_even) *to = (now.even + now.left * before) + now.right * value;
    if (has_odd) to[other] = now.odd + value;
  }
}

template <bool both, class S>
void launch_gather(Stream& stream, Level<S> const& fine, Level<S> const& coarse, S const* values) {
  auto const columns = Columns::in_blocks(32, 8, coarse.count[0], coarse.count[1], coarse.count[2])
                           .fitted(stream, gather_kernel<both, S>, coarse.count[2]);
  gather_kernel<both>
      <<<columns.grid, columns.block, 0, native(stream)>>>(fine, coarse, values, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid gather");
}

}  // namespace

template <class S>
void gather_stored(Stream& stream, Level<S> const& fine, Level<S> const& coarse) {
  launch_gather<false>(stream, fine, coarse, static_cast<S const*>(fine.r));
}

template <class S>
void march_stored(Stream& stream, Gather<S> const& step) {
  launch_gather<true>(stream, step.fine, step.coarse, step.values);
}

template <class S>
void march_stored(Stream& stream, Correct<S> const& step) {
  auto const& fine = step.fine;
  auto columns =
      Columns::in_blocks(warp_size, rows_of_block, fine.half, fine.count[1], fine.count[2]);
  columns.grid.x =
      blocks_for((fine.count[0] + 1) / 2, fine.doubles ? doubled_of_warp : pairs_of_warp);
  auto* const kernel =
      fine.doubles
          ? (step.adds ? correct_doubled_kernel<true, S> : correct_doubled_kernel<false, S>)
          : (step.adds ? correct_kernel<true, S> : correct_kernel<false, S>);
  columns = columns.fitted(stream, kernel, fine.count[2]);
  kernel<<<columns.grid, columns.block, 0, native(stream)>>>(fine, step.coarse, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid correct");
}

#define GRIDSTRIDE_INSTANTIATE(S)                                         \
  template void gather_stored(Stream&, Level<S> const&, Level<S> const&); \
  template void march_stored(Stream&, Gather<S> const&);                  \
  template void march_stored(Stream&, Correct<S> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid
