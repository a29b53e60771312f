// The rung `resident` of the ladder in cuda.cu, for planes that fit the registers of the whole GPU;
// cuda_resident_plane.cu has that for those of one cluster.
//
// A pass over memory of several steps begins and ends with all multiprocessors waiting, and where a
// plane is small its warps repeat as many rows as they store. Here one kernel does all steps. The plane
// is cut into tiles, one for each multiprocessor, which stay in registers: 2048² points of float32 are
// 16 MiB, and 132 multiprocessors have 33 MB of registers.
//
// Thread-to-data: a warp spans the whole width of a tile and has some of its lines, a lane `width`
// neighbouring points of each. x neighbours come by shuffle, y neighbours are in the thread. Each step,
// a warp puts its first and last line into shared memory, makes the lines between, and after the block
// has met the first and the last one, with what the warps above and below have put there.
//
// A block also computes some lines and lanes beyond its own ones, of which one more is wrong after each
// step. So it needs the up to eight blocks around only every `depth` steps. Then each stores what the
// others need into their memory in the L2 cache, where its warps count what they have sent; all blocks
// run at the same time, which a cooperative launch grants or refuses.
//
// Arithmetic: 7 instructions a point and step, 1 µs for 2048² points of float32 on 132
// multiprocessors, and about a quarter more for points beyond the own ones. An exchange takes some 4 µs.

#include <cooperative_groups.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>

#include "core/buffer.hpp"
#include "kernels/stencil/resident_grid.cuh"

namespace gridstride::stencil {

namespace {

using namespace resident;

template <class T, int width>
__device__ void differences(T const (&upper)[width], T const (&lower)[width], T (&result)[width]) {
#pragma unroll
  for (int e = 0; e < width; ++e) result[e] = upper[e] - lower[e];
}

template <class T, int width>
__device__ void copy_line(T const (&from)[width], T (&to)[width]) {
#pragma unroll
  for (int e = 0; e < width; ++e) to[e] = from[e];
}

/// A block's tile, as its warps make steps of it.
template <class Shape>
class TileSteps {
  using T = typename Shape::T;
  using Memory = TileMemory<Shape>;
  using Line = typename Memory::Line;
  static constexpr int width = Shape::width, lines = Shape::lines, last = lines - 1;

 public:
  __device__ TileSteps(DiffusionArguments<T> const& a, GridCut const& cut, Memory const& memory)
      : a_(a), memory_(memory) {
    auto const& map = memory.map();
    bool const at_left = map.x.left == 0, at_right = map.x.right == 0;
    ends_ = line_ends(a, at_left ? 0 : -1, at_right ? map.x.end() - 1 : -1, width - 1);
    on_lower_ = map.y.above == 0 && warp_index() == 0;
    on_upper_ = map.y.below == 0 && warp_index() + 1 == cut.warps;
  }

  /// Makes a step of the warp's lines, once `meet` returns with those above and below.
  template <bool mirrors, class Meet>
  __device__ void make(typename Shape::Points& u, unsigned char const* above,
                       unsigned char const* below, Meet const& meet) const {
    T first_up[width], down[width], up[width];
    differences(u[1], u[0], first_up);
    copy_line(first_up, down);
#pragma unroll
    for (int l = 1; l < last; ++l) {
      differences(u[l + 1], u[l], up);
      T change[width];
      change_line<mirrors>(l, u[l], down, up, change);
      update_line<false>(u[l], change, ends_);
      copy_line(up, down);
    }
    meet();
    make_outer<mirrors>(1, u[last], below, down);
    make_outer<mirrors>(0, u[0], above, first_up);
  }

 private:
  template <bool mirrors>
  __device__ void change_line(int l, T const (&u)[width], T const (&down)[width],
                              T const (&up)[width], T (&change)[width]) const {
    LineEnds ends = ends_;
    T derivative = 0;
    if (!mirrors)
      ends.mirrors_first = ends.mirrors_last = false;
    else if (ends.mirrors())
      derivative = *memory_.end_derivative(ends.mirrors_first ? 0 : 1, warp_index() * lines + l);
    change_along_x<false>(a_, u, ends, derivative, change);
#pragma unroll
    for (int e = 0; e < width; ++e)
      change[e] = add_differences(change[e], a_.weight[1], down[e], up[e]);
  }

  /// The warp's first (0) or last (1) line, which differs so much from the one within, upper − lower.
  template <bool mirrors>
  __device__ void make_outer(int side, T (&u)[width], unsigned char const* beside,
                             T const (&within)[width]) const {
    bool const on_side = side == 0 ? on_lower_ : on_upper_;
    T outer[width], change[width];
    if (on_side) {
#pragma unroll
      for (int e = 0; e < width; ++e) outer[e] = -within[e];
    } else {
      Line::load(beside, outer);
      if (side == 0)
        differences(u, outer, outer);
      else
        differences(outer, u, outer);
    }
    if (side == 0)
      change_line<mirrors>(0, u, outer, within, change);
    else
      change_line<mirrors>(last, u, within, outer, change);
    if (on_side) {
      if (a_.side[1][side] == SideRule::dirichlet) return;
      Line::load(memory_.derivatives(side), outer);
#pragma unroll
      for (int e = 0; e < width; ++e) change[e] = add_side(change[e], a_.side_weight[1], outer[e]);
    }
    update_line<false>(u, change, ends_);
  }

  DiffusionArguments<T> const& a_;
  Memory memory_;
  LineEnds ends_;
  bool on_lower_, on_upper_;
};

/// The grid's line that is number `line` of a tile, or one of a tile across a periodic side.
template <class T>
__device__ int line_of_grid(DiffusionArguments<T> const& a, int line) {
  int const all = static_cast<int>(a.points[1]);
  return line < 0 ? line + all : line >= all ? line - all : line;
}

/// Reads a warp's lines, and ∂u/∂n on sides into shared memory.
template <class Shape, class T>
__device__ void read_tile(DiffusionArguments<T> const& a, TileMemory<Shape> const& memory,
                          int first, typename Shape::Points& u) {
  auto const& map = memory.map();
  TileLines const& y = map.y;
  constexpr int width = Shape::width;
  int const points = static_cast<int>(a.points[0]);
  bool const periodic = a.side[0][0] == SideRule::periodic;
  int place[width];  // −1: there is none
#pragma unroll
  for (int e = 0; e < width; ++e) {
    int i = map.x.first + lane_index() * width + e;
    if (periodic) i = i < 0 ? i + points : i >= points ? i - points : i;
    place[e] = i < points ? i : -1;
  }
#pragma unroll
  for (int l = 0; l < Shape::lines; ++l) {
    int const line = first + l;
    bool const exists = line >= y.top && line < y.end();
    T const* const from = a.out + (exists ? line_of_grid(a, y.first + line) : 0) * a.points[0];
#pragma unroll
    for (int e = 0; e < width; ++e) u[l][e] = exists && place[e] >= 0 ? from[place[e]] : T(0);
  }
  int const thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int side = 0; side < 2 && !periodic; ++side)
    for (int line = y.top + thread; line < y.end(); line += threads)
      *memory.end_derivative(side, line) = a.side_value[0][side][line_of_grid(a, y.first + line)];
  if (warp_index() > 0 || a.side[1][0] == SideRule::periodic) return;
  for (int side = 0; side < 2; ++side) {
    T derivatives[width];
#pragma unroll
    for (int e = 0; e < width; ++e)
      derivatives[e] = place[e] >= 0 ? a.side_value[1][side][place[e]] : T(0);
    TileMemory<Shape>::Line::store(memory.derivatives(side), derivatives);
  }
}

/// Writes those of a warp's points that are the block's own.
template <class Shape, class T>
__device__ void write_tile(DiffusionArguments<T> const& a, TileMap<Shape> const& map, int first,
                           typename Shape::Points const& u) {
  TileLines const& y = map.y;
  TileLanes const& x = map.x;
  int const own = (lane_index() - x.left) * Shape::width - x.pad;
  int const own_points = x.own * Shape::width - x.pad;
  T* to = a.out + (y.first + first) * a.points[0] + x.first + lane_index() * Shape::width;
#pragma unroll
  for (int l = 0; l < Shape::lines; ++l) {
    int const line = first + l - y.own_at();
    if (line >= 0 && line < y.own) {
#pragma unroll
      for (int e = 0; e < Shape::width; ++e)
        if (own + e >= 0 && own + e < own_points) to[e] = u[l][e];
    }
    to += a.points[0];
  }
}

template <class Shape, bool mirrors, class T>
__global__ void __launch_bounds__(warp_size* Shape::warps, 1)
    resident_grid_kernel(__grid_constant__ DiffusionArguments<T> const a,
                         __grid_constant__ GridCut const cut) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  using Memory = TileMemory<Shape>;
  using Line = typename Memory::Line;
  constexpr int lines = Shape::lines;
  Memory const memory{dynamic_shared};
  auto& map = memory.map();
  if (threadIdx.x == 0) map.fill(a, cut);
  __syncthreads();
  TileExchange<Shape> const exchange(memory);
  TileSteps<Shape> const steps(a, cut, memory);
  int const warps = cut.warps, warp = warp_index(), first = warp * lines;
  typename Shape::Points u;
  read_tile(a, memory, first, u);
  exchange.begin();
  // Nobody writes u before all have read it, nor counts what it sends before.
  cooperative_groups::this_grid().sync();

  // So many steps after an exchange, none of the warp's lines is right any more.
  TileLines const& y = map.y;
  int const until_above = y.above > 0 ? first + lines - y.top : cut.steps + 1;
  int const until_below = y.below > 0 ? y.end() - first : cut.steps + 1;
  int const good = first < y.end() && first + lines > y.top ? min(until_above, until_below) : 0;
  bool const has_neighbours = map.has_neighbours();
  // The outermost warps read what is not used.
  unsigned char* const own = memory.border(warp, 0);
  unsigned char const* const above = memory.border(max(warp - 1, 0), 1);
  unsigned char const* const below = memory.border(min(warp + 1, warps - 1), 0);
  int set = 0;
  int left = cut.steps;
  for (unsigned number = 1;; ++number) {
    int const count = has_neighbours ? min(left, cut.depth) : left;
#pragma unroll 1
    for (int s = 0; s < count; ++s) {
      Line::store(own + set, u[0]);
      Line::store(own + set + Line::bytes, u[lines - 1]);
      auto const meet = [] { __syncthreads(); };
      if (s + 1 < good)
        steps.template make<mirrors>(u, above + set, below + set, meet);
      else
        meet();
      set = Memory::border_set - set;
    }
    left -= count;
    if (left == 0) break;
    exchange.trade(u, number);
  }
  write_tile<Shape>(a, map, first, u);
}

// ----------------------------------------------------------------------------------- the host

template <class T>
using TileKernel = void(DiffusionArguments<T>, GridCut);

/// Whether a multiprocessor of the present device holds a block of a kernel.
template <class Kernel>
bool can_hold_block(Kernel* kernel, int warps, std::size_t shared_bytes) {
  int blocks = 0;
  bool const asked = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(shared_bytes)) == cudaSuccess &&
                     cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                         &blocks, kernel, warp_size * warps, shared_bytes) == cudaSuccess;
  if (!asked) cudaGetLastError();
  return asked && blocks > 0;
}

/// The same, asked once for each device.
template <auto kernel>
bool can_hold_block_on(Device const& device, int warps, std::size_t shared_bytes) {
  Capabilities const& has = device.capabilities();
  if (!has.clusters || has.shared_bytes < shared_bytes) return false;
  constexpr int devices = 64;
  static std::atomic<int> found[devices] = {};  // 1: no, 2: yes; each device finds the same
  std::atomic<int>& entry = found[device.ordinal() % devices];
  if (entry == 0) entry = can_hold_block(kernel, warps, shared_bytes) ? 2 : 1;
  return entry == 2;
}

/// A shape of tiles, and the kernels for it.
template <class T>
struct TileKernels {
  int width, lines, warps, halo_lanes;
  std::size_t shared_bytes, box_bytes;
  TileKernel<T>* plain;
  TileKernel<T>* mirrors;  // with ∂u/∂n given at ends of lines
  bool (*can_hold)(Device const&);
};

template <class T, int width, int lines, int warps, int halo_lanes>
constexpr TileKernels<T> tile_kernels() {
  using Shape = TileShape<T, width, lines, warps, halo_lanes>;
  constexpr auto bytes = static_cast<std::size_t>(TileMemory<Shape>::bytes);
  return {width,
          lines,
          warps,
          halo_lanes,
          bytes,
          TileBox<Shape>::bytes,
          resident_grid_kernel<Shape, false, T>,
          resident_grid_kernel<Shape, true, T>,
          [](Device const& device) {
            return can_hold_block_on<resident_grid_kernel<Shape, false, T>>(device, warps, bytes) &&
                   can_hold_block_on<resident_grid_kernel<Shape, true, T>>(device, warps, bytes);
          }};
}

template <class T>
std::span<TileKernels<T> const> tile_shapes() {
  if constexpr (sizeof(T) == 4) {
    static constexpr TileKernels<T> table[] = {tile_kernels<T, 4, 6, 16, 2>(),
                                               tile_kernels<T, 4, 10, 16, 2>(),
                                               tile_kernels<T, 8, 10, 16, 1>()};
    return table;
  } else {
    static constexpr TileKernels<T> table[] = {tile_kernels<T, 4, 6, 16, 2>(),
                                               tile_kernels<T, 4, 10, 16, 2>()};
    return table;
  }
}

/// How a plane lies on a device, whatever its sides are.
template <class T>
struct GridPlan {
  TileKernels<T> const* shape = nullptr;  // null where it does not fit
  GridCut cut = {};
  double cycles = 0;  // of a step, as far as one can tell
};

/// Of what was measured on an H200: instructions of a step, of which few warps do not fill the time that
/// they take, and an exchange.
template <class T>
double cycles_of(TileKernels<T> const& shape, int warps, int depth) {
  double const of_point = sizeof(T) == 4 ? 8.4 : 20, of_exchange = 7000;
  int const at_once = (warps + 3) / 4;  // on each scheduler of a multiprocessor
  double const of_warp = shape.lines * (shape.width * of_point + 5) + 35;
  return (at_once + 1.2 / (at_once * at_once)) * of_warp + 150 + of_exchange / depth;
}

template <class T>
void consider(GridPlan<T>& best, TileKernels<T> const& shape, long long const (&points)[3],
              int columns, int most_rows) {
  constexpr int least_depth = 4;
  int const width = shape.width, lanes_of_line = static_cast<int>((points[0] + width - 1) / width);
  int const lanes = (lanes_of_line + columns - 1) / columns;
  bool const fills = (lanes_of_line + lanes - 1) / lanes == columns;
  if (!fills || lanes < 2 || lanes + 2 * shape.halo_lanes > warp_size) return;
  if (columns == 1 && points[0] % width != 0) return;
  auto const last = points[0] - static_cast<long long>(columns - 1) * lanes * width;
  auto const least_own = std::min<long long>(last, lanes * width);
  for (int depth = least_depth; depth <= std::min<long long>(shape.halo_lanes * width, least_own);
       ++depth) {
    int const rows = static_cast<int>(std::min<long long>(most_rows, points[1] / depth));
    if (rows < 2) continue;  // a tile has at most one of the sides
    auto const lines = (points[1] + rows - 1) / rows + 2 * depth;
    int const warps = static_cast<int>((lines + shape.lines - 1) / shape.lines);
    if (warps > shape.warps) continue;
    double const cycles = cycles_of(shape, warps, depth);
    if (best.shape == nullptr || cycles < best.cycles)
      best = {&shape, {columns, rows, lanes, warps, depth, 0, nullptr}, cycles};
  }
}

template <class T>
GridPlan<T> grid_plan(Device const& device, long long const (&points)[3]) {
  GridPlan<T> best;
  int const blocks = device.processors();
  for (auto const& shape : tile_shapes<T>()) {
    if (points[0] > static_cast<long long>(blocks) * warp_size * shape.width) continue;
    if (points[1] > static_cast<long long>(blocks) * shape.warps * shape.lines) continue;
    if (!shape.can_hold(device)) continue;
    for (int columns = 1; columns <= blocks / 2; ++columns)
      consider(best, shape, points, columns, blocks / columns);
  }
  return best;
}

}  // namespace

template <class T>
bool cuda_fits_grid(Device const& device, long long const (&points)[3]) {
  return grid_plan<T>(device, points).shape != nullptr;
}

template <class T>
void cuda_resident_grid(Stream& stream, DiffusionArguments<T> const& a, int steps) {
  auto plan = grid_plan<T>(stream.device(), a.points);
  auto const blocks = static_cast<unsigned>(plan.cut.columns * plan.cut.rows);
  Buffer<std::byte> memory(stream, MemorySpace::device, blocks * plan.shape->box_bytes);
  plan.cut.steps = steps;
  plan.cut.memory = memory.data();
  bool const mirrors = a.side[0][0] == SideRule::neumann || a.side[0][1] == SideRule::neumann;
  cudaLaunchAttribute together;
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = dim3(blocks);
  configuration.blockDim = dim3(static_cast<unsigned>(warp_size * plan.cut.warps));
  configuration.dynamicSmemBytes = plan.shape->shared_bytes;
  configuration.attrs = &together;
  configuration.numAttrs = 1;
  configuration.stream = native(stream);
  GRIDSTRIDE_CUDA(cudaLaunchKernelEx(
      &configuration, mirrors ? plan.shape->mirrors : plan.shape->plain, a, plan.cut));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil resident");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                              \
  template bool cuda_fits_grid<T>(Device const&, long long const(&points)[3]); \
  template void cuda_resident_grid(Stream&, DiffusionArguments<T> const&, int);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil
