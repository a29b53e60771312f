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

#include "core/buffer.hpp"
#include "kernels/stencil/resident_grid_plan.cuh"

namespace gridstride::stencil {

namespace {

using namespace resident;

template <class T>
void consider(GridPlan<T>& best, TileKernels<T> const& shape, TileCut cut, long long lines,
              int most_rows) {
  cut.rows = static_cast<int>(std::min<long long>(most_rows, lines / cut.depth));
  if (cut.rows < 2) return;  // a tile has at most one of the sides
  auto const of_tile = (lines + cut.rows - 1) / cut.rows + 2 * cut.depth;
  cut.warps = static_cast<int>((of_tile + shape.lines - 1) / shape.lines);
  if (cut.warps > shape.warps) return;
  double const cycles = cycles_of(shape, cut.warps, cut.depth);
  if (best.shape == nullptr || cycles < best.cycles) best = {&shape, cut, cycles};
}

template <class T>
GridPlan<T> grid_plan(Device const& device, long long const (&points)[3]) {
  return best_plan<T, false>(device, points[0], points[1],
                             [&](auto& best, auto const& shape, TileCut const& cut, int most_rows) {
                               consider(best, shape, cut, points[1], most_rows);
                             });
}

template <class T>
std::size_t bytes_of(GridPlan<T> const& plan) {
  return static_cast<std::size_t>(plan.cut.columns * plan.cut.rows) * plan.shape->box_bytes;
}

}  // namespace

template <class T>
bool cuda_fits_grid(Device const& device, long long const (&points)[3]) {
  return grid_plan<T>(device, points).shape != nullptr;
}

template <class T>
std::size_t cuda_grid_bytes(Device const& device, long long const (&points)[3]) {
  return bytes_of(grid_plan<T>(device, points));
}

template <class T>
void cuda_resident_grid(Stream& stream, DiffusionArguments<T> const& a, int steps) {
  auto const plan = grid_plan<T>(stream.device(), a.points);
  Buffer<std::byte> memory(stream, MemorySpace::device, bytes_of(plan));
  int const around = a.side[1][0] == SideRule::periodic ? plan.cut.depth : 0;
  launch_tiles(stream, *plan.shape, a,
               {.cut = plan.cut,
                .steps = steps,
                .above = around,
                .below = around,
                .memory = memory.data(),
                .beside = {memory.data(), memory.data()},
                .before = {}});
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                      \
  template bool cuda_fits_grid<T>(Device const&, long long const(&points)[3]);         \
  template std::size_t cuda_grid_bytes<T>(Device const&, long long const(&points)[3]); \
  template void cuda_resident_grid(Stream&, DiffusionArguments<T> const&, int);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil
