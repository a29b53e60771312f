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

/// What the coarse level has around a point of the fine one along y and z, interpolated to it, as a
/// column goes from plane to plane.
template <class S>
class CoarseColumn {
 public:
  __device__ CoarseColumn(Level<S> const& fine, Level<S> const& coarse, int x, int j)
      : fine_(fine), coarse_(coarse), across_(Ends::of(fine.transfer[1], j)), x_(x), j_(j) {}

  __device__ S at(int k, Ends const& along) {
    // Behind a kept plane comes one that lies between it and the next, or the next one.
    if (along.at[0] >= 0 && along.at[0] == known_[1]) {
      known_[0] = known_[1];
      held_[0][0] = held_[1][0], held_[0][1] = held_[1][1];
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      if (along.at[c] < 0 || along.at[c] == known_[c]) continue;
      known_[c] = along.at[c];
#pragma unroll
      for (int b = 0; b < 2; ++b)
        held_[c][b] =
            across_.at[b] < 0 ? S{0} : coarse_.u[coarse_.place(x_, across_.at[b], along.at[c])];
    }
    Pair const of_y(fine_, 1), of_z(fine_, 2);
    std::int64_t const row = std::int64_t{k} * fine_.count[1] + j_;
    S sum = 0;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      int const y = across_.at[b];
      if (y < 0) continue;
      std::int64_t const place = (std::int64_t{k} * coarse_.count[1] + y) * coarse_.count[0] + x_;
      S in_line = 0;
#pragma unroll
      for (int c = 0; c < 2; ++c)
        if (along.at[c] >= 0) in_line += along.weight<S>(of_z.of, c, place) * held_[c][b];
      sum += across_.weight<S>(of_y.of, b, row * coarse_.count[0] + x_) * in_line;
    }
    return sum;
  }

 private:
  Level<S> const &fine_, &coarse_;
  Ends across_;
  int x_, j_;
  int known_[2] = {-1, -1};  ///< planes, and what they have in both rows
  S held_[2][2];
};

template <bool adds, class S>
__global__ void __launch_bounds__(threads_of_columns)
    correct_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                   int piece) {
  int const lane = static_cast<int>(threadIdx.x);
  int const across = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  int const n = fine.count[0], m = fine.count[1], p = fine.count[2], j = min(across, m - 1);
  int const first_pair = static_cast<int>(blockIdx.x) * pairs_of_warp, pair = first_pair + lane;
  int const first_plane = static_cast<int>(blockIdx.z) * piece, end = min(first_plane + piece, p);
  Pair const of_x(fine, 0);
  // The lanes' coarse columns, the first of which the first point lies behind, or at.
  int const from = max(__ldg(fine.transfer[0].left + min(2 * first_pair, n - 1)), 0);
  CoarseColumn<S> column(fine, coarse, min(from + lane, coarse.count[0] - 1), j);
  Ends own[2];
#pragma unroll
  for (int odd = 0; odd < 2; ++odd)
    own[odd] = Ends::of(fine.transfer[0], min(2 * pair + odd, n - 1));

  for (int k = first_plane; k < end; ++k) {
    Ends const along = Ends::of(fine.transfer[2], k);
    std::int64_t const row = std::int64_t{k} * m + j;
    S const value = column.at(k, along);
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      int const i = 2 * pair + odd;
      bool const is_point = lane < pairs_of_warp && i < n && across < m;
      S sum = 0;
#pragma unroll
      for (int a = 0; a < 2; ++a) {
        int const x = own[odd].at[a];
        S found = __shfl_sync(~0u, value, min(max(x - from, 0), warp_size - 1));
        if (!is_point || x < 0) continue;
        // Where a ring closes the column is another warp's.
        if (x < from || x >= from + warp_size)
          found = CoarseColumn<S>(fine, coarse, x, j).at(k, along);
        sum += own[odd].template weight<S>(of_x.of, a, row * n + i) * found;
      }
      if (!is_point) continue;
      S& u = fine.u[fine.place(i, j, k)];
      u = adds ? u + sum : sum;
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
