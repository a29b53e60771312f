#pragma once

#include "kernels/poisson/columns.hpp"
#include "kernels/support/collectives.cuh"

/// Columns of points on the GPU: cuda_columns.cu has the idea.
namespace gridstride::poisson {

/// How a block is made: threads side by side along x and y, each with some neighbouring rows, which
/// go along z together; `blocks` of a multiprocessor at least.
template <int x_threads, int y_threads, int rows_of_thread, int least_blocks>
struct ColumnShape {
  static constexpr int x = x_threads, rows = rows_of_thread, blocks = least_blocks;
  static constexpr int threads = x_threads * y_threads;
  static constexpr int tile_rows = y_threads * rows_of_thread;
  /// A plane of the tile with what is beside it.
  static constexpr int pitch = x + 2, plane = pitch * (tile_rows + 2);
  static_assert(2 * (x + tile_rows) <= threads);
};

/// Where blocks work: each has a tile of columns and a part of their planes.
struct ColumnWork {
  unsigned x_tiles, y_tiles;
  int length;      ///< planes of a part
  unsigned first;  ///< block of this rank, of `blocks` that all have
  unsigned blocks;
  unsigned sums;   ///< as many as blocks, or more: 0 then
  bool backwards;  ///< whether blocks with the last planes come first
};

/// q = r + β·p, of both in memory.
template <class S>
struct DirectSource {
  S const *r, *p;
  S beta;
  struct Raw {
    S r, p;
  };
  __device__ Raw load(long long place) const { return {__ldg(r + place), __ldg(p + place)}; }
  __device__ S value(Raw const& raw) const { return raw.r + beta * raw.p; }
};

/// q as it is in memory.
template <class S>
struct PlainSource {
  S const* q;
  struct Raw {
    S q;
  };
  __device__ Raw load(long long place) const { return {__ldg(q + place)}; }
  __device__ S value(Raw const& raw) const { return raw.q; }
};

/// Stores q; q·A·q.
template <class S>
struct KeepDirection {
  S* q;
  struct Raw {};
  __device__ Raw load(long long) const { return {}; }
  __device__ S take(long long place, Raw const&, S value, S product) const {
    q[place] = value;
    return value * product;
  }
};

/// Stores x + α·q and r − α·A·q; r·r of the new r.
template <class S>
struct StoreStep {
  S *x, *r;
  S alpha;
  struct Raw {
    S x, r;
  };
  __device__ Raw load(long long place) const { return {x[place], r[place]}; }
  __device__ S take(long long place, Raw const& raw, S value, S product) const {
    S const left = raw.r - alpha * product;
    x[place] = raw.x + alpha * value;
    r[place] = left;
    return left * left;
  }
};

/// Stores A·q.
template <class S>
struct StoreProduct {
  S* y;
  struct Raw {};
  __device__ Raw load(long long) const { return {}; }
  __device__ S take(long long place, Raw const&, S, S product) const {
    y[place] = product;
    return 0;
  }
};

/// Of a thread: where its columns are, and what it brings for those at the edges of the tile.
template <class S, class Shape>
struct ColumnThread {
  int column[Shape::rows];  ///< places in a plane
  bool is_there[Shape::rows], is_unknown[Shape::rows];
  int slot;              ///< of the first row, in the plane that the block shares
  int lower_x, upper_x;  ///< to the slots beside along x: 0 where there is no face
  int lower_y, upper_y;  ///< of the first row and the last
  S share_x, share_y[Shape::rows];
  int beside_slot = -1, beside_column = 0;

  __device__ ColumnThread(ColumnOperator<S> const& a, int first_x, int first_y) {
    int const t = static_cast<int>(threadIdx.x), tx = t % Shape::x, ty = t / Shape::x;
    int const i = first_x + tx;
    slot = (ty * Shape::rows + 1) * Shape::pitch + tx + 1;
    auto const along_x = a.along(0, i);
    share_x = along_x.share;
    lower_x = along_x.lower ? -1 : 0;
    upper_x = along_x.upper ? 1 : 0;
    for (int row = 0; row < Shape::rows; ++row) {
      int const j = first_y + ty * Shape::rows + row;
      auto const along_y = a.along(1, j);
      if (row == 0) lower_y = along_y.lower ? -Shape::pitch : 0;
      if (row == Shape::rows - 1) upper_y = along_y.upper ? Shape::pitch : 0;
      share_y[row] = along_y.share;
      is_there[row] = i < a.points[0] && j < a.points[1];
      is_unknown[row] = is_there[row] && along_x.unknown && along_y.unknown;
      column[row] = a.place(0, i) + a.place(1, j) * a.points[0];
    }
    bring(a, first_x, first_y, t);
  }

 private:
  __device__ void bring(ColumnOperator<S> const& a, int first_x, int first_y, int t) {
    int i = 0, j = 0;
    if (t < 2 * Shape::x) {
      int const at = t % Shape::x, upper = t / Shape::x;
      beside_slot = upper * (Shape::tile_rows + 1) * Shape::pitch + at + 1;
      i = first_x + at;
      j = upper != 0 ? first_y + Shape::tile_rows : first_y - 1;
    } else if (int const rest = t - 2 * Shape::x; rest < 2 * Shape::tile_rows) {
      int const at = rest % Shape::tile_rows, upper = rest / Shape::tile_rows;
      beside_slot = (at + 1) * Shape::pitch + upper * (Shape::x + 1);
      i = upper != 0 ? first_x + Shape::x : first_x - 1;
      j = first_y + at;
    }
    beside_column = a.place(0, i) + a.place(1, j) * a.points[0];
  }
};

/// A tile of columns, and the planes of its part.
struct ColumnTile {
  int x, y, first, last;

  template <class S, class Shape>
  static __device__ ColumnTile of(ColumnOperator<S> const& a, ColumnWork const& work,
                                  unsigned block, Shape) {
    unsigned const tile = block / work.x_tiles;
    int const first = static_cast<int>(tile / work.y_tiles) * work.length;
    return {static_cast<int>(block % work.x_tiles) * Shape::x,
            static_cast<int>(tile % work.y_tiles) * Shape::tile_rows, first,
            min(first + work.length, a.points[2])};
  }
  /// Whether all of its columns are unknowns away from sides along x and y.
  template <class S, class Shape>
  __device__ bool is_inside(ColumnOperator<S> const& a, Shape) const {
    auto const inside = [&](int axis, int begin, int end) {
      return a.wraps(axis) ? end <= a.points[axis] : begin > 0 && end < a.points[axis];
    };
    return inside(0, x, x + Shape::x) && inside(1, y, y + Shape::tile_rows);
  }
};

/// Σ of what `sink` makes of the values that `source` has, and of their products with A.
template <class S, class Shape, bool inside, class Source, class Sink>
__device__ double march_columns(ColumnOperator<S> const& a, ColumnTile const& tile,
                                Source const& source, Sink const& sink, S* planes) {
  constexpr int rows = Shape::rows, pitch = Shape::pitch;
  ColumnThread<S, Shape> const own(a, tile.x, tile.y);
  int const first = tile.first, last = tile.last;
  long long const plane = static_cast<long long>(a.points[0]) * a.points[1];
  auto const start = [&](int k) { return a.place(2, k) * plane; };
  bool const brings = own.beside_slot >= 0;
  S before[rows], here[rows], beside = 0;
  typename Source::Raw next[rows], next_beside{};
  typename Sink::Raw old[rows];
  long long begin = start(first);
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    before[row] = source.value(source.load(start(first - 1) + own.column[row]));
    here[row] = source.value(source.load(begin + own.column[row]));
    next[row] = source.load(start(first + 1) + own.column[row]);
    old[row] = sink.load(begin + own.column[row]);
  }
  if (brings) {
    beside = source.value(source.load(begin + own.beside_column));
    next_beside = source.load(start(first + 1) + own.beside_column);
  }
  double sum = 0;
  for (int k = first; k < last; ++k, begin += plane) {
    S* const shared = planes + (k & 1) * Shape::plane;
#pragma unroll
    for (int row = 0; row < rows; ++row) shared[own.slot + row * pitch] = here[row];
    if (brings) shared[own.beside_slot] = beside;
    __syncthreads();
    bool const goes_on = k + 1 < last;
    S behind[rows];
#pragma unroll
    for (int row = 0; row < rows; ++row) behind[row] = source.value(next[row]);
    if (brings) beside = source.value(next_beside);
    if (goes_on) {
      long long const second = start(k + 2);
#pragma unroll
      for (int row = 0; row < rows; ++row) next[row] = source.load(second + own.column[row]);
      if (brings) next_beside = source.load(second + own.beside_column);
    }
    auto const along = a.along(2, k);
    S plane_sum = 0;
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      S const value = here[row];
      S const* const around = shared + own.slot + row * pitch;
      S const left = around[inside ? -1 : own.lower_x], right = around[inside ? 1 : own.upper_x];
      S const below = row > 0 ? here[row > 0 ? row - 1 : 0] : around[inside ? -pitch : own.lower_y];
      S const above = row + 1 < rows ? here[row + 1 < rows ? row + 1 : row]
                                     : around[inside ? pitch : own.upper_y];
      S const along_x = (value - left) + (value - right);
      S const along_y = (value - below) + (value - above);
      S along_z = along.lower ? value - before[row] : S{0};
      along_z += along.upper ? value - behind[row] : S{0};
      S const share_x = inside ? S{1} : own.share_x, share_y = inside ? S{1} : own.share_y[row];
      S product = share_y * a.weight[0] * along_x + share_x * a.weight[1] * along_y;
      product = along.share * (product + share_x * share_y * a.reaction * value) +
                share_x * share_y * a.weight[2] * along_z;
      if (!along.unknown || !(inside || own.is_unknown[row])) product = 0;
      if (inside || own.is_there[row])
        plane_sum += sink.take(begin + own.column[row], old[row], value, product);
    }
    sum += static_cast<double>(plane_sum);
    if (goes_on) {
#pragma unroll
      for (int row = 0; row < rows; ++row) old[row] = sink.load(begin + plane + own.column[row]);
    }
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      before[row] = here[row];
      here[row] = behind[row];
    }
  }
  return sum;
}

/// The march of a block, and its sum to its place among all.
template <class S, class Shape, class Source, class Sink>
__device__ void run_columns(ColumnOperator<S> const& a, ColumnWork const& work,
                            Source const& source, Sink const& sink, double* sums) {
  __shared__ S planes[2 * Shape::plane];
  __shared__ double shared[Shape::threads / warp_size];
  unsigned const number = work.backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  unsigned const block = work.first + number;
  auto const tile = ColumnTile::of(a, work, block, Shape());
  double const sum = tile.is_inside(a, Shape())
                         ? march_columns<S, Shape, true>(a, tile, source, sink, planes)
                         : march_columns<S, Shape, false>(a, tile, source, sink, planes);
  if (sums == nullptr) return;
  auto const add = [](double x, double y) { return x + y; };
  double const total = block_reduce<Shape::threads>(sum, add, shared);
  if (threadIdx.x == 0) sums[block] = total;
  if (number == 0)
    for (unsigned i = work.blocks + threadIdx.x; i < work.sums; i += Shape::threads) sums[i] = 0;
}

template <class S, class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    direct_columns(__grid_constant__ ColumnOperator<S> const a, ColumnWork work, int const* stop,
                   double const* beta, S const* r, S const* p, S* q, double* sums) {
  if (*stop != 0) return;
  DirectSource<S> const source{r, p, static_cast<S>(*beta)};
  run_columns<S, Shape>(a, work, source, KeepDirection<S>{q}, sums);
}

template <class S, class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    descend_columns(__grid_constant__ ColumnOperator<S> const a, ColumnWork work, int const* stop,
                    double const* alpha, S const* q, S* x, S* r, double* sums) {
  if (*stop != 0) return;
  run_columns<S, Shape>(a, work, PlainSource<S>{q}, StoreStep<S>{x, r, static_cast<S>(*alpha)},
                        sums);
}

template <class S, class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    multiply_columns(__grid_constant__ ColumnOperator<S> const a, ColumnWork work, S const* x,
                     S* y) {
  run_columns<S, Shape>(a, work, PlainSource<S>{x}, StoreProduct<S>{y}, nullptr);
}

}  // namespace gridstride::poisson
