// Products with matrices of stencils by columns of points. A warp stands along x, each of its threads
// with 16 bytes of some neighbouring rows, and goes along z. Of a plane a thread loads its rows and
// those on both sides of them; what is beside it along x it has of its neighbours by shuffles, but
// for the ends of the warp, which load it. So the sums of a plane are found in registers, once, for
// the three planes that they count in; the next plane is on its way meanwhile. Warps of a block stand
// one behind the other along y, so that the rows between them come from the first level of cache.
//
// x is read about once and y written once. Where rows do not begin at multiples of 16 bytes, a thread
// has one point of each.

#include <algorithm>

#include "kernels/lattice/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::lattice {

namespace {

constexpr int warps = 8, rows = 4, blocks_at_once = 2;
constexpr int threads_of_columns = warps * warp_size;

/// A grid, and how blocks cut it: along x and y into tiles, along z into parts.
template <class T>
struct Columns {
  int nx, ny, nz;
  unsigned x_tiles, y_tiles;
  int length;  ///< planes of a part
  T center;
  T const* x;
  T* y;
};

template <class T, int width>
using Strips = Vector<T, width>[rows];

/// A thread's rows of a plane with one more on either side, and what the ends of a warp have beyond.
template <class T, int width>
struct Plane {
  Vector<T, width> row[rows + 2];
  T beyond[rows + 2];
};

template <class T, int width>
class Thread {
 public:
  __device__ explicit Thread(Columns<T> const& grid) : grid_(grid) {
    unsigned const tile = blockIdx.x / grid.x_tiles;
    int const lane = static_cast<int>(threadIdx.x) % warp_size;
    int const warp = static_cast<int>(threadIdx.x) / warp_size;
    i_ = (static_cast<int>(blockIdx.x % grid.x_tiles) * warp_size + lane) * width;
    j_ = (static_cast<int>(tile % grid.y_tiles) * warps + warp) * rows;
    first = static_cast<int>(tile / grid.y_tiles) * grid.length;
    last = min(first + grid.length, grid.nz);
    is_first_ = lane == 0;
    is_last_ = lane == warp_size - 1;
    has_beyond_ = (is_first_ && i_ > 0) || (is_last_ && i_ + width < grid.nx);
  }

  /// 0 where there is nothing.
  __device__ Plane<T, width> load(int k) const {
    Plane<T, width> plane;
    bool const is_there = k >= 0 && k < grid_.nz && i_ < grid_.nx;
#pragma unroll
    for (int r = 0; r < rows + 2; ++r) {
      bool const is_row = is_there && static_cast<unsigned>(j_ + r - 1) < unsigned(grid_.ny);
      T const* const at = grid_.x + place(r - 1, k);
      plane.row[r] = is_row ? *reinterpret_cast<Vector<T, width> const*>(at) : Vector<T, width>{};
      plane.beyond[r] = is_row && has_beyond_ ? at[is_first_ ? -1 : width] : T{0};
    }
    return plane;
  }

  /// What lies on both sides along x.
  __device__ Vector<T, width> beside(Plane<T, width> const& plane, int r) const {
    auto const& row = plane.row[r];
    T const before = __shfl_up_sync(whole_warp, row.at[width - 1], 1);
    T const behind = __shfl_down_sync(whole_warp, row.at[0], 1);
    T const left = is_first_ ? plane.beyond[r] : before;
    T const right = is_last_ ? plane.beyond[r] : behind;
    Vector<T, width> sum;
#pragma unroll
    for (int v = 0; v < width; ++v)
      sum.at[v] = (v == 0 ? left : row.at[v == 0 ? 0 : v - 1]) +
                  (v == width - 1 ? right : row.at[v == width - 1 ? v : v + 1]);
    return sum;
  }

  __device__ void store(int k, Strips<T, width> const& y) const {
    if (i_ >= grid_.nx) return;
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (j_ + r < grid_.ny) *reinterpret_cast<Vector<T, width>*>(grid_.y + place(r, k)) = y[r];
  }

  int first, last;  ///< planes

 private:
  __device__ long long place(int row, int k) const {
    return (static_cast<long long>(k) * grid_.ny + j_ + row) * grid_.nx + i_;
  }

  Columns<T> const& grid_;
  int i_, j_;
  bool is_first_, is_last_, has_beyond_;
};

/// What a plane counts in the sums of points of its own, and in those of the planes on either side.
template <Neighbours neighbours, class T, int width>
__device__ void sum_plane(Thread<T, width> const& thread, Plane<T, width> const& plane,
                          Strips<T, width>& own, Strips<T, width>& across) {
  if constexpr (neighbours == Neighbours::all) {
    Strips<T, width>& sums = own;
    Vector<T, width> line[rows + 2];
#pragma unroll
    for (int r = 0; r < rows + 2; ++r) {
      line[r] = thread.beside(plane, r);
#pragma unroll
      for (int v = 0; v < width; ++v) line[r].at[v] += plane.row[r].at[v];
    }
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int v = 0; v < width; ++v)
        sums[r].at[v] = (line[r].at[v] + line[r + 2].at[v]) + line[r + 1].at[v];
#pragma unroll
    for (int r = 0; r < rows; ++r) across[r] = sums[r];
  } else {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      auto const sides = thread.beside(plane, r + 1);
#pragma unroll
      for (int v = 0; v < width; ++v)
        own[r].at[v] = sides.at[v] + (plane.row[r].at[v] + plane.row[r + 2].at[v]);
      across[r] = plane.row[r + 1];
    }
  }
}

template <class T, Neighbours neighbours, int width>
__global__ void __launch_bounds__(threads_of_columns, blocks_at_once)
    columns_kernel(__grid_constant__ Columns<T> const grid) {
  Thread<T, width> const thread(grid);
  Strips<T, width> here, held, across;  // x, the sums so far, what counts in the next plane
  {
    Strips<T, width> own, before;
    sum_plane<neighbours>(thread, thread.load(thread.first - 1), own, before);
    auto const plane = thread.load(thread.first);
    sum_plane<neighbours>(thread, plane, own, across);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      here[r] = plane.row[r + 1];
#pragma unroll
      for (int v = 0; v < width; ++v) held[r].at[v] = before[r].at[v] + own[r].at[v];
    }
  }
  auto next = thread.load(thread.first + 1);
  for (int k = thread.first; k < thread.last; ++k) {
    Strips<T, width> own, behind, y;
    sum_plane<neighbours>(thread, next, own, behind);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
      for (int v = 0; v < width; ++v) {
        y[r].at[v] = grid.center * here[r].at[v] - (held[r].at[v] + behind[r].at[v]);
        held[r].at[v] = across[r].at[v] + own[r].at[v];
      }
      across[r] = behind[r];
      here[r] = next.row[r + 1];
    }
    if (k + 1 < thread.last) next = thread.load(k + 2);
    thread.store(k, y);
  }
}

unsigned tiles_of(std::int64_t points, std::int64_t tile) {
  return static_cast<unsigned>((points + tile - 1) / tile);
}

/// Planes of a part, so that all blocks that run at once have as few to go through as can be: two more
/// than they have. Bits do not depend on it.
int planes_of_part(std::int64_t tiles, int planes, int processors) {
  std::int64_t const at_once = std::int64_t{processors} * blocks_at_once;
  std::int64_t least = 0;
  int best = 1;
  for (int length = 1;; length += std::max(1, length / 3)) {
    length = std::min({length, planes, 1024});
    std::int64_t const blocks = tiles * tiles_of(planes, length);
    std::int64_t const steps = (blocks + at_once - 1) / at_once * (length + 2);
    if (length == 1 || steps <= least) {
      least = steps;
      best = length;
    }
    if (length == std::min(planes, 1024)) return best;
  }
}

template <class T, int width>
void launch(Stream& stream, Work<T> const& work) {
  auto const& points = work.points;
  Columns<T> grid{static_cast<int>(points[0]),
                  static_cast<int>(points[1]),
                  static_cast<int>(points[2]),
                  tiles_of(points[0], warp_size * width),
                  tiles_of(points[1], warps * rows),
                  1,
                  work.center,
                  work.x,
                  work.y};
  auto const tiles = std::int64_t{grid.x_tiles} * grid.y_tiles;
  grid.length = planes_of_part(tiles, grid.nz, stream.device().processors());
  auto const blocks = static_cast<unsigned>(tiles * tiles_of(grid.nz, grid.length));
  auto* const kernel = work.neighbours == Neighbours::all
                           ? columns_kernel<T, Neighbours::all, width>
                           : columns_kernel<T, Neighbours::axes, width>;
  kernel<<<blocks, threads_of_columns, 0, native(stream)>>>(grid);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "lattice columns");
}

}  // namespace

template <class T>
void cuda_columns(Stream& stream, Work<T> const& work) {
  constexpr int wide = vector_width<T>;
  bool const is_aligned = work.points[0] % wide == 0 && misalignment(work.x) == 0 &&
                          misalignment(static_cast<T const*>(work.y)) == 0;
  is_aligned ? launch<T, wide>(stream, work) : launch<T, 1>(stream, work);
}

#define GRIDSTRIDE_INSTANTIATE(T) template void cuda_columns(Stream&, Work<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::lattice
