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
  template <class S>
  __device__ S weight(float const* const (&weights)[2], int side, std::int64_t place) const {
    if (is_kept || weights[0] == nullptr) return side == 0 ? S{1} : S{0};
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
template <class S>
__device__ S given(Pair const& weights, int around, std::int64_t place) {
  if (around == 1 || weights.of[0] == nullptr) return around == 1 ? S{1} : S{0};
  // What is behind a kept point has it on its left.
  return __ldg(weights.of[around == 0 ? 1 : 0] + place);
}

/// From values of the first colour, or of both.
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
  // What is left in a plane.
  auto const of_plane = [&](int k) {
    S sum = 0;
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      int const j = across.at[b];
      if (j < 0) continue;
      std::int64_t const row = std::int64_t{k} * m + j;
      S in_line = 0;
#pragma unroll
      for (int a = 0; a < 3; ++a) {
        int const i = in_row.at[a];
        int const colour = (i + j + k) & 1;
        if (i < 0 || (!both && colour != 0)) continue;
        in_line += given<S>(of_x, a, row * n + i) *
                   values[colour * fine.colour + row * fine.half + (i >> 1)];
      }
      sum += given<S>(of_y, b, row * coarse.count[0] + x) * in_line;
    }
    return sum;
  };
  int known = -1;
  S last = 0;
  for (int z = column.first; z < column.last; ++z) {
    Around const along(weights, 2, z);
    S sum = 0;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      int const k = along.at[c];
      if (k < 0) continue;
      if (k != known) last = of_plane(k);
      known = k;
      std::int64_t const place = (std::int64_t{k} * coarse.count[1] + y) * coarse.count[0] + x;
      sum += given<S>(of_z, c, place) * last;
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
  __device__ CoarseColumn(Level<S> const& fine, Level<S> const& coarse, int x, int j)
      : colour_(coarse.colour), over_plane_(row_stride(coarse, 2)) {
    Ends const across = Ends::of(fine.transfer[1], j);
    Pair const of_y(fine, 1), of_z(fine, 2);
    int const n = coarse.count[0], m = coarse.count[1];
    interpolates_y_ = !across.is_kept && of_y.of[0] != nullptr;
    over_y_ = std::int64_t{fine.count[1]} * n;
    over_z_ = std::int64_t{m} * n;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      int const y = across.at[b];
      parity_[b] = x + y;
      row_[b] = y < 0 ? nullptr : coarse.u + std::int64_t{y} * coarse.half + (x >> 1);
      of_y_[b] = of_y.of[b] + std::int64_t{j} * n + x;
#pragma unroll
      for (int c = 0; c < 2; ++c) of_z_[c][b] = of_z.of[c] + std::int64_t{max(y, 0)} * n + x;
    }
    has_z_ = of_z.of[0] != nullptr;
  }

  __device__ S at(int k, Ends const& along) {
    // Behind a kept plane comes one that lies between it and the next, or the next one.
    if (along.at[0] >= 0 && along.at[0] == known_[1]) {
      known_[0] = known_[1];
      held_[0][0] = held_[1][0], held_[0][1] = held_[1][1];
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      int const z = along.at[c];
      if (z < 0 || z == known_[c]) continue;
      known_[c] = z;
#pragma unroll
      for (int b = 0; b < 2; ++b)
        held_[c][b] =
            row_[b] == nullptr ? S{0} : row_[b][z * over_plane_ + ((parity_[b] + z) & 1) * colour_];
    }
    bool const between = !along.is_kept && has_z_;
    S sum = 0;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      if (row_[b] == nullptr) continue;
      S in_line = 0;
      if (!between && along.at[0] >= 0) in_line = held_[0][b];
#pragma unroll
      for (int c = 0; c < 2; ++c)
        if (between && along.at[c] >= 0) in_line += __ldg(of_z_[c][b] + k * over_z_) * held_[c][b];
      if (interpolates_y_)
        sum += __ldg(of_y_[b] + k * over_y_) * in_line;
      else if (b == 0)
        sum += in_line;
    }
    return sum;
  }

 private:
  std::int64_t colour_, over_plane_, over_y_, over_z_;
  S const* row_[2];
  float const *of_y_[2], *of_z_[2][2];
  int parity_[2];
  bool interpolates_y_, has_z_;
  int known_[2] = {-1, -1};  ///< planes, and what they have in both rows
  S held_[2][2];
};

template <bool adds, class S>
__global__ void __launch_bounds__(threads_of_columns, 3)
    correct_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                   int piece) {
  int const lane = static_cast<int>(threadIdx.x);
  int const across = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  int const n = fine.count[0], m = fine.count[1], p = fine.count[2], j = min(across, m - 1);
  int const first_pair = static_cast<int>(blockIdx.x) * pairs_of_warp, pair = first_pair + lane;
  int const first_plane = static_cast<int>(blockIdx.z) * piece, end = min(first_plane + piece, p);
  bool const has_pair = lane < pairs_of_warp && across < m;
  // The lanes' coarse columns, the first of which the first point lies behind, or at.
  int const from = max(__ldg(fine.transfer[0].left + min(2 * first_pair, n - 1)), 0);
  CoarseColumn<S> column(fine, coarse, min(from + lane, coarse.count[0] - 1), j);
  Pair const of_x(fine, 0);
  Ends own[2];
#pragma unroll
  for (int odd = 0; odd < 2; ++odd)
    own[odd] = Ends::of(fine.transfer[0], min(2 * pair + odd, n - 1));
  std::int64_t const over_plane = row_stride(fine, 2), over_points = std::int64_t{m} * n;
  S* const pairs = fine.u + std::int64_t{j} * fine.half + pair;
  std::int64_t const points = std::int64_t{j} * n + 2 * pair;

  for (int k = first_plane; k < end; ++k) {
    Ends const along = Ends::of(fine.transfer[2], k);
    S const value = column.at(k, along);
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      bool const is_point = has_pair && 2 * pair + odd < n;
      S* const u = pairs + k * over_plane + ((odd + j + k) & 1) * fine.colour;
      S sum = adds && is_point ? *u : S{0};
#pragma unroll
      for (int a = 0; a < 2; ++a) {
        int const x = own[odd].at[a];
        S found = __shfl_sync(~0u, value, min(max(x - from, 0), warp_size - 1));
        if (!is_point || x < 0) continue;
        // Where a ring closes the column is another warp's.
        if (x < from || x >= from + warp_size)
          found = CoarseColumn<S>(fine, coarse, x, j).at(k, along);
        sum += own[odd].template weight<S>(of_x.of, a, points + odd + k * over_points) * found;
      }
      if (is_point) *u = sum;
    }
  }
}

template <bool both, class S>
void launch_gather(Stream& stream, Level<S> const& fine, Level<S> const& coarse, S const* values) {
  auto const columns = Columns::in_blocks(32, 8, coarse.count[0], coarse.count[1], coarse.count[2]);
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
  columns.grid.x = blocks_for(fine.half, pairs_of_warp);
  auto* const kernel = step.adds ? correct_kernel<true, S> : correct_kernel<false, S>;
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
