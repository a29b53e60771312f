#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>

#include "kernels/stencil/resident_grid_steps.cuh"
#include "kernels/support/shared_bytes.cuh"

/// How the kernels of tiles are chosen for a plane, and launched.
namespace gridstride::stencil::resident {

template <class T>
using TileKernel = void(DiffusionArguments<T>, GridWork);

/// Whether a multiprocessor of the present device holds a block of a kernel.
template <class Kernel>
bool can_hold_block(Kernel* kernel, int warps, std::size_t shared_bytes) {
  int blocks = 0;
  bool const asked = takes_shared_bytes(kernel, shared_bytes) &&
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

template <class T, bool shared, int width, int lines, int warps, int halo_lanes>
constexpr TileKernels<T> tile_kernels() {
  using Shape = TileShape<T, width, lines, warps, halo_lanes, shared>;
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

/// Of planes of one GPU, or of those that several share.
template <class T, bool shared>
std::span<TileKernels<T> const> tile_shapes() {
  if constexpr (sizeof(T) == 4) {
    static constexpr TileKernels<T> table[] = {
        tile_kernels<T, shared, 4, 6, 16, 2>(), tile_kernels<T, shared, 4, 10, 16, 2>(),
        tile_kernels<T, shared, 8, 6, 16, 1>(), tile_kernels<T, shared, 8, 10, 16, 1>(),
        tile_kernels<T, shared, 4, 7, 12, 2>()};
    return table;
  } else {
    static constexpr TileKernels<T> table[] = {
        tile_kernels<T, shared, 4, 6, 16, 2>(), tile_kernels<T, shared, 4, 10, 16, 2>(),
        tile_kernels<T, shared, 4, 7, 12, 2>(), tile_kernels<T, shared, 4, 8, 12, 2>()};
    return table;
  }
}

/// How a plane lies on a device, or on several, whatever its sides are.
template <class T>
struct GridPlan {
  TileKernels<T> const* shape = nullptr;  // null where it does not fit
  TileCut cut = {};
  double cycles = 0;  // of a step, as far as one can tell
};

/// Of a step, fitted to what cuts took on an H200: its instructions, of which few warps do not fill the
/// time that they take, and its share of an exchange within the GPU.
template <class T>
double cycles_of(TileKernels<T> const& shape, int warps, int depth) {
  constexpr bool is_single = sizeof(T) == 4;
  constexpr double of_point = is_single ? 10.5 : 23, of_line = 3, of_each = 5;
  constexpr double of_few = is_single ? 1.7 : 0.5, of_exchange = 4800, of_exchanging_warp = 200;
  int const at_once = (warps + 3) / 4;  // on each scheduler of a multiprocessor
  double const of_warp = shape.lines * (shape.width * of_point + of_line) + of_each;
  return (at_once + of_few / (at_once * at_once)) * of_warp +
         (of_exchange + of_exchanging_warp * at_once) / depth;
}

/// The columns of a cut, of which all fill a line of so many points; or none.
template <class T>
bool cut_columns(TileKernels<T> const& shape, long long points, TileCut& cut) {
  int const width = shape.width, lanes_of_line = static_cast<int>((points + width - 1) / width);
  cut.lanes = (lanes_of_line + cut.columns - 1) / cut.columns;
  bool const fills = (lanes_of_line + cut.lanes - 1) / cut.lanes == cut.columns;
  return fills && cut.lanes >= 2 && cut.lanes + 2 * shape.halo_lanes <= warp_size &&
         (cut.columns > 1 || points % width == 0);
}

/// Calls `use` with each cut into so many columns and some depth, whose rows are still open.
template <class T, class Use>
void for_each_depth(TileKernels<T> const& shape, long long points, int columns, Use const& use) {
  constexpr int least_depth = 4;
  TileCut cut = {};
  cut.columns = columns;
  if (!cut_columns(shape, points, cut)) return;
  long long const last = points - static_cast<long long>(columns - 1) * cut.lanes * shape.width;
  auto const least_own = std::min<long long>(last, cut.lanes * shape.width);
  auto const most_depth = std::min<long long>(shape.halo_lanes * shape.width, least_own);
  for (cut.depth = least_depth; cut.depth <= most_depth; ++cut.depth) use(cut);
}

/// The best of all cuts of a plane into tiles for a device; `consider(best, shape, cut)` is asked of
/// each with its columns and depth.
template <class T, bool shared, class Consider>
GridPlan<T> best_plan(Device const& device, long long points, long long lines,
                      Consider const& consider) {
  GridPlan<T> best;
  int const blocks = device.processors();
  auto const shapes = tile_shapes<T, shared>();
  for (std::size_t number = 0; number < shapes.size(); ++number) {
    auto const& shape = shapes[number];
    if (points > static_cast<long long>(blocks) * warp_size * shape.width) continue;
    if (lines > static_cast<long long>(blocks) * shape.warps * shape.lines) continue;
    if (!shape.can_hold(device)) continue;
    for (int columns = 1; columns <= blocks; ++columns)
      for_each_depth(shape, points, columns, [&](TileCut cut) {
        cut.shape = static_cast<int>(number);
        consider(best, shape, cut, blocks / columns);
      });
  }
  return best;
}

template <class T>
void launch_tiles(Stream& stream, TileKernels<T> const& shape, DiffusionArguments<T> const& a,
                  GridWork const& work) {
  bool const mirrors = a.side[0][0] == SideRule::neumann || a.side[0][1] == SideRule::neumann;
  cudaLaunchAttribute together;
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = dim3(static_cast<unsigned>(work.cut.columns * work.cut.rows));
  configuration.blockDim = dim3(static_cast<unsigned>(warp_size * work.cut.warps));
  configuration.dynamicSmemBytes = shape.shared_bytes;
  configuration.attrs = &together;
  configuration.numAttrs = 1;
  configuration.stream = native(stream);
  GRIDSTRIDE_CUDA(
      cudaLaunchKernelEx(&configuration, mirrors ? shape.mirrors : shape.plain, a, work));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil resident");
}

}  // namespace gridstride::stencil::resident
