// What stands around cycles, by columns of points: u and the residual in float64.
//
// A block has a tile of columns. Of a plane at a time, u of the tile and of what is around it, with
// the correction added, lies in shared memory; before and behind it is in registers. So u, the
// right-hand side and the correction come from memory once, and the new u and the residual go there.
// The new u is another array, since blocks beside still read the old one. What is needed two planes
// later is asked for before the threads wait for each other.

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int tile_width = 64, tile_rows = 8, threads_of_tile = tile_width * tile_rows;

/// Raises `largest` to what the threads of a block have found.
__device__ void report(Found own, Found* largest) {
  __shared__ Found shared[threads_of_tile / warp_size];
  int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  int const warps = static_cast<int>(blockDim.x * blockDim.y) / warp_size;
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    raise(own, shuffle_down(own, distance));
  if (thread % warp_size == 0) shared[thread / warp_size] = own;
  __syncthreads();
  if (thread == 0) {
    for (int warp = 1; warp < warps; ++warp) raise(own, shared[warp]);
    using Word = unsigned long long;
    atomicMax(reinterpret_cast<Word*>(&largest->first), static_cast<Word>(own.first));
    atomicMax(reinterpret_cast<Word*>(&largest->second), static_cast<Word>(own.second));
  }
  __syncthreads();
}

/// u of a point before its correction is added, and that.
template <class S>
struct Parts {
  double u;
  S correction;
};

/// f of the finest level = right − A·u, times a scale, with u = old + the correction, or of a u that
/// is given.
template <class T, class S, bool corrects>
__global__ void __launch_bounds__(threads_of_tile, 2)
    renew_kernel(__grid_constant__ TakeResidual<T, S> const work,
                 __grid_constant__ Correction const correction, Axes axes, int piece,
                 Found* largest) {
  __shared__ double tiles[2 * (tile_rows + 2) * (tile_width + 2)];
  auto const& a = work.a;
  auto const& level = work.level;
  int const n = level.count[0], m = level.count[axes.across], p = level.count[axes.along];
  Column const column(piece, p);
  int const width = static_cast<int>(blockDim.x), rows = static_cast<int>(blockDim.y);
  int const x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  int const pitch = width + 2;
  bool const has_rows = level.of_volume;  // beside the tile's
  bool const is_point = column.x < n && column.across < m;
  bool const wraps = level.periodic[axes.along];
  std::int64_t const over_across = a.stride[axes.across], over_along = a.stride[axes.along];
  std::int64_t first = 0;
  for (int axis = 0; axis < 3; ++axis) first += a.first[axis] * a.stride[axis];
  int const half_across = row_stride(level, axes.across),
            half_along = row_stride(level, axes.along);

  /// Where a point of a plane is in the grid's arrays, and in those of the level.
  struct Place {
    std::int64_t grid, row;
    int parity;
    bool is_there;
  };
  auto const place_of = [&](int i, int j) {
    // What lies on a side counts as 0: it is known, and on the right-hand side.
    bool is_there = true;
    if (i < 0 || i >= n) {
      is_there = level.periodic[0] && i <= n;
      i = !is_there ? 0 : i < 0 ? n - 1 : 0;
    }
    if (j < 0 || j >= m) {
      is_there = is_there && level.periodic[axes.across] && j <= m;
      j = !is_there ? 0 : j < 0 ? m - 1 : 0;
    }
    return Place{first + i + j * over_across, std::int64_t{j} * half_across + (i >> 1), (i + j) & 1,
                 is_there};
  };
  auto const load = [&](Place const& place, int k) {
    Parts<S> parts{0, 0};
    bool const is_held = k >= -work.before && k < p + work.behind;
    if (!place.is_there || !(is_held || wraps)) return parts;
    int const at = is_held ? k : k < 0 ? p - 1 : k - p;
    std::int64_t const grid = place.grid + at * over_along;
    if constexpr (!corrects) {
      parts.u = __ldg(work.u + grid);
    } else {
      if (correction.old != nullptr) parts.u = __ldg(correction.old + grid);
      parts.correction = __ldg(level.u + ((place.parity + at) & 1) * level.colour + place.row +
                               std::int64_t{at} * half_along);
    }
    return parts;
  };
  auto const change = [&](Parts<S> const& parts) {
    return corrects ? double{parts.correction} * correction.scale : 0.0;
  };
  auto const whole = [&](Parts<S> const& parts) { return parts.u + change(parts); };

  Place const own = place_of(column.x, column.across);
  // Points around the tile, a thread each: two rows of them, and two columns.
  int const thread = y * width + x, around = has_rows ? 2 * width : 0;
  bool const has_edge = thread < around + 2 * rows;
  int edge_x = x, edge_y = 0;
  if (thread < around) {
    edge_x = thread % width;
    edge_y = thread < width ? -1 : rows;
  } else {
    edge_x = ((thread - around) & 1) == 0 ? -1 : width;
    edge_y = (thread - around) >> 1;
  }
  Place edge = place_of(static_cast<int>(blockIdx.x) * width + edge_x,
                        static_cast<int>(blockIdx.y) * rows + edge_y);
  edge.is_there = edge.is_there && has_edge;

  double const lower_x = is_point ? work.lower[0][column.x] : 0,
               upper_x = is_point ? work.upper[0][column.x] : 0;
  double const lower_y = is_point ? work.lower[axes.across][column.across] : 0,
               upper_y = is_point ? work.upper[axes.across][column.across] : 0;
  double const *lowers = work.lower[axes.along], *uppers = work.upper[axes.along];
  auto const keep = [&](double value, int k) {
    if (is_point) correction.u[own.grid + k * over_along] = value;
  };
  double before = whole(load(own, column.first - 1));
  if constexpr (corrects)
    if (work.before > 0 && column.first == 0) keep(before, -1);
  Parts<S> here_parts = load(own, column.first), next = load(own, column.first + 1);
  Parts<S> edge_parts = load(edge, column.first);
  auto const right_at = [&](int k) {
    return is_point ? double{__ldg(work.right + own.grid + k * over_along)} : 0.0;
  };
  double right = right_at(column.first);
  Found of_residual, of_u;
  for (int k = column.first; k < column.last; ++k) {
    double* const tile = tiles + ((k - column.first) & 1) * (rows + 2) * pitch;
    double const here = whole(here_parts), found = change(here_parts);
    double* const at = tile + (y + 1) * pitch + x + 1;
    *at = here;
    if (has_edge) tile[(edge_y + 1) * pitch + edge_x + 1] = whole(edge_parts);
    Parts<S> after_next{0, 0};
    if (k + 2 <= column.last) after_next = load(own, k + 2);
    double next_right = 0;
    if (k + 1 < column.last) {
      edge_parts = load(edge, k + 1);
      next_right = right_at(k + 1);
    }
    __syncthreads();
    double const behind = whole(next);
    double const below = has_rows ? at[-pitch] : here, above = has_rows ? at[pitch] : here;
    double sum = a.reaction * here;
    sum += lower_x * (here - at[-1]) - upper_x * (at[1] - here);
    sum += lower_y * (here - below) - upper_y * (above - here);
    sum += __ldg(lowers + k) * (here - before) - __ldg(uppers + k) * (behind - here);
    double const residual = right - sum - work.shift;
    if (is_point) {
      level.f[((own.parity + k) & 1) * level.colour + own.row + std::int64_t{k} * half_along] =
          static_cast<S>(residual * work.scale);
      poisson::raise(of_residual.first, poisson::bits_of_magnitude(residual));
      if constexpr (corrects) {
        correction.u[own.grid + k * over_along] = here;
        raise(of_u, {poisson::bits_of_magnitude(found), poisson::bits_of_magnitude(here)});
      }
    }
    before = here;
    here_parts = next;
    next = after_next;
    right = next_right;
  }
  if constexpr (corrects)
    if (work.behind > 0 && column.last == p) keep(whole(here_parts), p);
  report(of_residual, largest);
  if constexpr (corrects) report(of_u, largest + 1);
}

template <class T, class S>
__global__ void __launch_bounds__(threads_of_columns)
    right_kernel(__grid_constant__ BeginResidual<T, S> const step, Axes axes, int piece) {
  Column const column(piece, step.level.count[axes.along]);
  if (column.x >= step.level.count[0] || column.across >= step.level.count[axes.across]) return;
#pragma unroll 4
  for (int k = column.first; k < column.last; ++k)
    step.from_tables(column.x, axes.along == 2 ? column.across : k,
                     axes.along == 2 ? k : column.across);
}

template <bool corrects, class T, class S>
void launch_renew(Stream& stream, TakeResidual<T, S> const& step, Correction const& correction,
                  Found* largest) {
  Axes const axes = axes_of(step.level);
  auto const& count = step.level.count;
  auto columns = Columns::of(count[0], count[axes.across], count[axes.along]);
  columns.block = step.level.of_volume ? dim3(tile_width, tile_rows) : dim3(2 * tile_width, 1);
  columns.grid.x = blocks_for(count[0], columns.block.x);
  columns.grid.y = blocks_for(count[axes.across], columns.block.y);
  columns = columns.fitted(stream, renew_kernel<T, S, corrects>, count[axes.along]);
  renew_kernel<T, S, corrects><<<columns.grid, columns.block, 0, native(stream)>>>(
      step, correction, axes, columns.piece, largest);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid residual");
}

}  // namespace

template <class T, class S>
void march(Stream& stream, TakeResidual<T, S> const& step, Found* largest) {
  launch_renew<false>(stream, step, Correction{}, largest);
}

template <class T, class S>
void march(Stream& stream, BeginResidual<T, S> const& step) {
  Axes const axes = axes_of(step.level);
  auto const& count = step.level.count;
  auto const columns = Columns::of(count[0], count[axes.across], count[axes.along])
                           .fitted(stream, right_kernel<T, S>, count[axes.along]);
  right_kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, axes, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid right-hand side");
}

template <class T, class S>
void cuda_renew(Stream& stream, TakeResidual<T, S> const& step, Correction const& correction,
                Found* largest) {
  launch_renew<true>(stream, step, correction, largest);
}

#define GRIDSTRIDE_INSTANTIATE(T, S)                               \
  template void march(Stream&, TakeResidual<T, S> const&, Found*); \
  template void march(Stream&, BeginResidual<T, S> const&);        \
  template void cuda_renew(Stream&, TakeResidual<T, S> const&, Correction const&, Found*);
GRIDSTRIDE_INSTANTIATE(float, float)
GRIDSTRIDE_INSTANTIATE(float, double)
GRIDSTRIDE_INSTANTIATE(double, float)
GRIDSTRIDE_INSTANTIATE(double, double)

}  // namespace gridstride::multigrid
