// Several steps in 1D in one pass over memory: see cuda.cu for single steps.
//
// Thread-to-data: a warp holds a tile of neighbouring points, each thread `lane_points` of them,
// in registers. A step updates them in place; two shuffles bring the points beside a thread's own.
// What a tile lacks are the points beyond its ends: with each step one point more at each end is
// wrong, so that of the tile the innermost are stored, and neighbouring tiles overlap by twice the
// number of steps. Memory is read and written by neighbouring vectors of 16 bytes, which are sorted
// in shared memory; a warp waits for nobody else. On a periodic line the points beyond an end are
// those of the other; else the tiles at its ends lie so that an end is a thread's first or last
// point, and know the sides.
//
// Bytes: 2·sizeof(T) a point and pass, and as much of the overlap again. Flops: 5 an update, in 4
// instructions, since two neighbours share the difference between them.

#include <cuda_runtime_api.h>

#include "kernels/stencil/temporal.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::stencil {

namespace {

constexpr int line_warps = 4;  // of a block

/// Points of a thread: an odd number of vectors, so that the threads of a warp meet different banks
/// of shared memory when each takes its own.
template <class T>
constexpr int lane_points = sizeof(T) == 4 ? 4 * 7 : 2 * 9;

/// Blocks that registers must leave room for on a multiprocessor.
template <class T>
constexpr int line_blocks = sizeof(T) == 4 ? 7 : 6;

/// How the line is cut into tiles.
struct LineTiling {
  int halo;    // points of a tile that are not stored, at each end
  int stored;  // points that are
};

/// A step of a thread's points. `value` holds those of the line's ends.
template <Ends where, int count, class T>
__device__ void step_line(DiffusionArguments<T> const& a, LineEnds const& ends, T const (&value)[2],
                          T (&u)[count]) {
  T next[count];
  change_along_x<where>(a, ends, value, u, next);
#pragma unroll
  for (int e = 0; e < count; ++e) next[e] = u[e] + next[e];
  fix_ends<where>(ends, value, true, u, next);
#pragma unroll
  for (int e = 0; e < count; ++e) u[e] = next[e];
}

/// Takes a warp's tile, whose first point is `first`, through all steps, and stores the points from
/// number `stored_from` to `stored_to` of it. `shared` holds the tile.
template <Ends where, int access, int count, class T>
__device__ void advance_tile(DiffusionArguments<T> const& a, int steps, long long first,
                             int stored_from, int stored_to, T* shared) {
  constexpr int accesses = count / access, together = where == Ends::any ? 1 : 7;
  long long const points = a.points[0];
#pragma unroll together
  for (int v = 0; v < accesses; ++v) {
    int const at = (v * warp_size + lane_index()) * access;
    long long i = first + at;
    if (where == Ends::first_or_last) i += i < 0 ? points : i >= points ? -points : 0;
    if (where == Ends::any) i = wrapped_index(i, points);
    *reinterpret_cast<Vector<T, access>*>(shared + at) = load_once<access>(a.in + i);
  }
  __syncwarp();

  constexpr int whole = vector_width<T>;
  T u[count];
  auto* const own = reinterpret_cast<Vector<T, whole>*>(shared + lane_index() * count);
#pragma unroll
  for (int v = 0; v < count / whole; ++v) {
    auto const vector = own[v];
#pragma unroll
    for (int e = 0; e < whole; ++e) u[v * whole + e] = vector.at[e];
  }
  LineEnds const ends(a, first + lane_index() * count, count);
  T value[2] = {};
  if (ends.lower >= 0) value[0] = *a.side_value[0][0];
  if (ends.upper >= 0) value[1] = *a.side_value[0][1];
#pragma unroll 1
  for (int s = 0; s < steps; ++s) step_line<where>(a, ends, value, u);
#pragma unroll
  for (int v = 0; v < count / whole; ++v) {
    Vector<T, whole> vector;
#pragma unroll
    for (int e = 0; e < whole; ++e) vector.at[e] = u[v * whole + e];
    own[v] = vector;
  }
  __syncwarp();

#pragma unroll together
  for (int v = 0; v < accesses; ++v) {
    int const at = (v * warp_size + lane_index()) * access;
    if (at < stored_from || at >= stored_to) continue;
    store_once(a.out + first + at, *reinterpret_cast<Vector<T, access> const*>(shared + at));
  }
}

/// With `small`, the line is shorter than a tile.
template <bool small, int width, class T>
__global__ void __launch_bounds__(line_warps* warp_size, small ? 1 : line_blocks<T>)
    temporal_line_kernel(__grid_constant__ DiffusionArguments<T> const a, LineTiling const tiling,
                         int const steps) {
  constexpr int count = lane_points<T>, size = warp_size * count;
  __shared__ alignas(16) T tiles[line_warps][size];
  T* const shared = tiles[warp_index()];
  long long const points = a.points[0];
  long long const stored =
      (static_cast<long long>(blockIdx.x) * line_warps + warp_index()) * tiling.stored;
  if (stored >= points) return;  // the whole warp

  long long first = stored - tiling.halo;
  // An end of the line is to be the first point of a tile, or its last.
  if (!small && a.side[0][0] != SideRule::periodic) first = min(max(first, 0LL), points - size);
  int const from = static_cast<int>(stored - first);
  int const to = static_cast<int>(min(stored + tiling.stored, points) - first);
  if constexpr (small)
    advance_tile<Ends::any, 1, count>(a, steps, first, from, to, shared);
  else if (first <= 0 || first + size >= points)
    advance_tile<Ends::first_or_last, 1, count>(a, steps, first, from, to, shared);
  else
    advance_tile<Ends::none, width, count>(a, steps, first, from, to, shared);
}

template <bool small, int width, class T>
void launch_line(Stream& stream, DiffusionArguments<T> const& a, int steps) {
  // Halos are whole sectors of 32 bytes, so that tiles begin and end with one.
  constexpr int sector = 32 / sizeof(T);
  int const halo = (steps + sector - 1) / sector * sector;
  LineTiling const tiling{halo, warp_size * lane_points<T> - 2 * halo};
  long long const of_block = static_cast<long long>(line_warps) * tiling.stored;
  long long const blocks = (a.points[0] + of_block - 1) / of_block;
  if (blocks > 2147483647) throw std::invalid_argument("stencil: the grid needs too many blocks");
  temporal_line_kernel<small, width>
      <<<static_cast<unsigned>(blocks), line_warps * warp_size, 0, native(stream)>>>(a, tiling,
                                                                                     steps);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil temporal");
}

}  // namespace

template <class T>
void cuda_temporal_line(Stream& stream, DiffusionArguments<T> const& a, int steps) {
  check_pass(a, steps, next_line_steps(steps));
  if (a.points[0] < warp_size * lane_points<T>)
    launch_line<true, 1>(stream, a, steps);
  else if (misalignment(a.in) == 0 && misalignment(a.out) == 0)
    launch_line<false, vector_width<T>>(stream, a, steps);
  else
    launch_line<false, 1>(stream, a, steps);
}

template void cuda_temporal_line(Stream&, DiffusionArguments<float> const&, int);
template void cuda_temporal_line(Stream&, DiffusionArguments<double> const&, int);

}  // namespace gridstride::stencil
