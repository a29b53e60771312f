// Between large levels whose equations are stored, and the finest one's residual for fields: a thread
// goes along the last axis, so that what tables say of the other two is looked up once.
//
// Down: a plane of the fine level that lies between two coarse ones is gathered once, for both. Up: what
// the coarse level has for a row of the fine one, interpolated along y and z, stands in shared memory,
// where the points of the row take it from.

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

constexpr int indices_of_row = 64, rows_of_block = 4;
constexpr int most_of_row = 2 * indices_of_row + 1;

template <bool adds, class S>
__global__ void __launch_bounds__(indices_of_row* rows_of_block)
    correct_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                   int piece) {
  __shared__ S shared[2][rows_of_block][most_of_row];
  Column const column(piece, fine.count[2]);
  int const n = fine.count[0], m = fine.count[1], j = min(column.across, m - 1);
  bool const is_row = column.across < m;
  Pair const of_x(fine, 0), of_y(fine, 1), of_z(fine, 2);
  Ends const across = Ends::of(fine.transfer[1], j);
  // Of the coarse row the points that the block's lie between, but for the first one of a ring.
  int const begin = 2 * static_cast<int>(blockIdx.x) * indices_of_row,
            end = min(begin + 2 * indices_of_row, n);
  Ends const first = Ends::of(fine.transfer[0], begin), last = Ends::of(fine.transfer[0], end - 1);
  int const from = max(first.at[0], 0), to = max(last.at[0], last.at[1]);
  Ends own[2];
#pragma unroll
  for (int odd = 0; odd < 2; ++odd)
    own[odd] = Ends::of(fine.transfer[0], min(2 * column.x + odd, n - 1));

  for (int k = column.first; k < column.last; ++k) {
    Ends const along = Ends::of(fine.transfer[2], k);
    std::int64_t const row = std::int64_t{k} * m + j;
    // Interpolated along y and z.
    auto const of_column = [&](int x) {
      S sum = 0;
#pragma unroll
      for (int b = 0; b < 2; ++b) {
        int const y = across.at[b];
        if (y < 0) continue;
        std::int64_t const place = (std::int64_t{k} * coarse.count[1] + y) * coarse.count[0] + x;
        S in_line = 0;
#pragma unroll
        for (int c = 0; c < 2; ++c)
          if (along.at[c] >= 0)
            in_line +=
                along.weight<S>(of_z.of, c, place) * coarse.u[coarse.place(x, y, along.at[c])];
        sum += across.weight<S>(of_y.of, b, row * coarse.count[0] + x) * in_line;
      }
      return sum;
    };
    S* const values = shared[k & 1][threadIdx.y];
    for (int x = from + static_cast<int>(threadIdx.x); x <= to; x += indices_of_row)
      values[x - from] = of_column(x);
    __syncthreads();
    if (!is_row) continue;
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      int const i = 2 * column.x + odd;
      if (i >= n) continue;
      S sum = 0;
#pragma unroll
      for (int a = 0; a < 2; ++a) {
        int const x = own[odd].at[a];
        if (x < 0) continue;
        S const value = x >= from && x <= to ? values[x - from] : of_column(x);
        sum += own[odd].template weight<S>(of_x.of, a, row * n + i) * value;
      }
      S& u = fine.u[fine.place(i, j, k)];
      u = adds ? u + sum : sum;
    }
  }
}

/// Of points whose neighbours are all there and none of them given, in the order of `product_with`.
template <class T, class S>
__global__ void __launch_bounds__(threads_of_columns)
    residual_kernel(__grid_constant__ TakeResidual<T, S> const step, int piece, Found* largest) {
  auto const& a = step.a;
  auto const& level = step.level;
  int const along = a.dims - 1;
  Column const column(piece, level.count[along]);
  int const i = column.x, j = column.across;
  std::uint64_t found = 0;
  if (i < level.count[0] && (along == 1 || j < level.count[1])) {
    std::int64_t at[3] = {a.first[0] + i, a.first[1] + (along == 1 ? column.first : j),
                          a.first[2] + (along == 2 ? column.first : 0)};
    auto const is_inner = [&](int axis) { return at[axis] >= 2 && at[axis] <= a.points[axis] - 3; };
    bool const inner = is_inner(0) && (along == 1 || is_inner(1));
    for (int k = column.first; k < column.last; ++k, ++at[along]) {
      std::int64_t const place = at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
      double residual;
      if (inner && is_inner(along) && a.diffusivities != nullptr) {
        double const here = a.diffusivities[place], center = step.u[place];
        double sum = a.reaction_at(place) * center;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
          if (axis >= a.dims) continue;
          std::int64_t const stride = axis == 0 ? 1 : a.stride[axis];
          double const lower = a.weight[axis] * (here + a.diffusivities[place - stride]),
                       upper = a.weight[axis] * (here + a.diffusivities[place + stride]);
          sum +=
              lower * (center - step.u[place - stride]) - upper * (step.u[place + stride] - center);
        }
        residual = (step.right[place] - sum) - step.shift;
      } else {
        residual = poisson::residual_of(a, step.u, step.right, at).residual - step.shift;
      }
      int const y = along == 1 ? k : j, z = along == 2 ? k : 0;
      level.f[level.place(i, y, z)] =
          static_cast<S>(residual * poisson::share_of(a, at) * step.scale);
      poisson::raise(found, poisson::bits_of_magnitude(residual));
    }
  }
  __shared__ std::uint64_t shared[threads_of_columns / warp_size];
  int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  int const threads = static_cast<int>(blockDim.x * blockDim.y);
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    poisson::raise(found, shuffle_down(found, distance));
  if (thread % warp_size == 0) shared[thread / warp_size] = found;
  __syncthreads();
  if (thread != 0) return;
  for (int warp = 1; warp < (threads + warp_size - 1) / warp_size; ++warp)
    poisson::raise(found, shared[warp]);
  atomicMax(reinterpret_cast<unsigned long long*>(&largest->first),
            static_cast<unsigned long long>(found));
}

/// Blocks of `x` by `y` threads.
Columns columns_of(unsigned x, unsigned y, int count, int across, int along) {
  Columns columns = Columns::of(count, across, along);
  columns.block = dim3(x, y);
  columns.grid.x = blocks_for(count, x);
  columns.grid.y = blocks_for(across, y);
  return columns;
}

}  // namespace

template <bool both, class S>
void launch_gather(Stream& stream, Level<S> const& fine, Level<S> const& coarse, S const* values) {
  auto const columns = columns_of(32, 8, coarse.count[0], coarse.count[1], coarse.count[2]);
  gather_kernel<both>
      <<<columns.grid, columns.block, 0, native(stream)>>>(fine, coarse, values, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid gather");
}

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
  auto const columns =
      columns_of(indices_of_row, rows_of_block, fine.half, fine.count[1], fine.count[2]);
  auto* const kernel = step.adds ? correct_kernel<true, S> : correct_kernel<false, S>;
  kernel<<<columns.grid, columns.block, 0, native(stream)>>>(fine, step.coarse, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid correct");
}

template <class T, class S>
void march_stored(Stream& stream, TakeResidual<T, S> const& step, Found* largest) {
  auto const [x, y, z] = step.extent();
  bool const volume = step.a.dims == 3;
  auto const columns =
      columns_of(volume ? 64 : 256, volume ? 4 : 1, x, volume ? y : 1, volume ? z : y);
  residual_kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, columns.piece, largest);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid residual");
}

#define GRIDSTRIDE_INSTANTIATE(S)                                             \
  template void gather_stored(Stream&, Level<S> const&, Level<S> const&);     \
  template void march_stored(Stream&, Gather<S> const&);                      \
  template void march_stored(Stream&, Correct<S> const&);                     \
  template void march_stored(Stream&, TakeResidual<float, S> const&, Found*); \
  template void march_stored(Stream&, TakeResidual<double, S> const&, Found*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid
