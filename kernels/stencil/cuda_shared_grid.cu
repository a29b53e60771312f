// Planes that several GPUs keep in their registers, for ranks with one each: the tiles of
// cuda_resident_grid.cu, of which those at the ends of a GPU's lines trade with tiles of the next one,
// through its memory.
//
// What another GPU is sent takes a microsecond or two to come. So those tiles have up to three times as
// many lines of it as others have of theirs, and hear from it as often less; in between they trade these
// lines, too, with the tiles left and right. They have fewer lines of their own, so that they wait for
// the other GPU while the others still make steps.
//
// All GPUs count exchanges from kernel to kernel, so that none takes an old parcel for a new one, and none
// has to know of the others when it begins: the first exchange waits for them.

#include "kernels/stencil/resident_grid_plan.cuh"

namespace gridstride::stencil {

namespace {

using namespace resident;

/// The most lines that a tile makes of those of a GPU, beside another one and elsewhere.
struct TileLinesWanted {
  long long inner = 0, at_cut = 0;
};

/// Rows for which all tiles have the lines that others need of them.
int rows_of(TileCut const& cut, std::span<SharedLines const> of_gpus, int most_rows) {
  long long rows = most_rows;
  for (auto const& [lines, cuts] : of_gpus) {
    if (lines < cut.across) return 0;
    rows = std::min(rows, (lines + cuts * cut.less) / (cut.across + cut.less));
  }
  return static_cast<int>(rows);
}

TileLinesWanted lines_wanted(TileCut const& cut, std::span<SharedLines const> of_gpus) {
  TileLinesWanted wanted;
  for (auto const& [lines, cuts] : of_gpus) {
    long long const own = (lines + cuts * cut.less + cut.rows - 1) / cut.rows;
    if (cut.rows > cuts) wanted.inner = std::max(wanted.inner, own + 2 * cut.depth);
    wanted.at_cut =
        std::max(wanted.at_cut, cut.rows == 1 ? lines + cuts * cut.across
                                              : own - cut.less + cut.depth + cut.across);
  }
  return wanted;
}

template <class T>
void consider(GridPlan<T>& best, TileKernels<T> const& shape, TileCut cut,
              std::span<SharedLines const> of_gpus, int most_rows) {
  // Fitted as those of `cycles_of`: what an exchange takes longer with another GPU, of which tiles that
  // have less to do make up for the first.
  constexpr double cycles_across = 700, cycles_always = 280;
  cut.rows = rows_of(cut, of_gpus, most_rows);
  if (cut.rows < 1) return;
  auto const [inner, at_cut] = lines_wanted(cut, of_gpus);
  auto const warps = [&](long long lines) {
    return static_cast<int>((lines + shape.lines - 1) / shape.lines);
  };
  cut.warps = warps(std::max(inner, at_cut));
  if (cut.warps > shape.warps) return;
  double const of_others = cycles_of(shape, warps(at_cut), cut.depth);
  double const of_inner = inner > 0 ? cycles_of(shape, warps(inner), cut.depth) : of_others;
  double const late =
      std::max(0.0, cycles_across - (of_inner - of_others) * cut.depth) + cycles_always;
  double const cycles = std::max(of_inner, of_others) + late / cut.across;
  if (best.shape == nullptr || cycles < best.cycles) best = {&shape, cut, cycles};
}

}  // namespace

template <class T>
std::optional<TileCut> cuda_shared_cut(Device const& device, long long points,
                                       std::span<SharedLines const> of_gpus) {
  constexpr int most_less = 12;  // warps
  long long most_lines = 0;
  for (auto const& one : of_gpus) most_lines = std::max(most_lines, one.lines);
  auto const plan = best_plan<T, true>(
      device, points, most_lines, [&](auto& best, auto const& shape, TileCut cut, int most_rows) {
        for (int trips = 1; trips <= most_across; ++trips)
          for (int warps = 0; warps <= most_less; ++warps) {
            cut.across = trips * cut.depth;
            cut.less = warps * shape.lines;
            consider(best, shape, cut, of_gpus, most_rows);
          }
      });
  if (plan.shape == nullptr) return {};
  return plan.cut;
}

template <class T>
std::size_t cuda_shared_bytes(TileCut const& cut) {
  auto const& shape = tile_shapes<T, true>()[static_cast<std::size_t>(cut.shape)];
  return static_cast<std::size_t>(cut.columns * cut.rows) * shape.box_bytes;
}

template <class T>
void cuda_shared_grid(Stream& stream, DiffusionArguments<T> const& a, SharedTiles const& tiles,
                      int steps) {
  auto const& shape = tile_shapes<T, true>()[static_cast<std::size_t>(tiles.cut.shape)];
  GridWork work{.cut = tiles.cut,
                .steps = steps,
                .above = tiles.beside[0] == nullptr ? 0 : tiles.cut.across,
                .below = tiles.beside[1] == nullptr ? 0 : tiles.cut.across,
                .memory = tiles.memory,
                .beside = {tiles.beside[0], tiles.beside[1]},
                .before = {tiles.exchanges, tiles.across}};
  for (auto& beside : work.beside)
    if (beside == nullptr) beside = tiles.memory;
  launch_tiles(stream, shape, a, work);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                   \
  template std::optional<TileCut> cuda_shared_cut<T>(Device const&, long long,      \
                                                     std::span<SharedLines const>); \
  template std::size_t cuda_shared_bytes<T>(TileCut const&);                        \
  template void cuda_shared_grid(Stream&, DiffusionArguments<T> const&, SharedTiles const&, int);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil
