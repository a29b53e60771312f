#include <algorithm>

#include "kernels/system/march.hpp"

namespace gridstride::system {

double turns_of_march(MarchTiling const& tiling, MarchShape const& shape, MarchLayout const& layout,
                      MarchMachine const& machine) {
  long long const turns = (tiling.rows + 2LL * layout.lag + shape.turns - 1) / shape.turns;
  long long const warps = tiling.strips * tiling.chunks;
  long long const sharing = (warps + machine.schedulers - 1) / machine.schedulers;
  long long const rounds = (sharing + machine.resident - 1) / machine.resident;
  // Where warps take unlike times, the last ones leave others without work for half as long.
  double const idle =
      layout.has_ends ? 0.5 * static_cast<double>(std::min<long long>(sharing, machine.resident))
                      : 0;
  return static_cast<double>(turns * shape.turns) *
         (static_cast<double>(sharing) + layout.waiting * static_cast<double>(rounds) + idle);
}

MarchTiling cut_for_march(Grid const& grid, MarchShape const& shape, MarchLayout const& layout,
                          MarchMachine const& machine, long long together) {
  long long const rows = grid.points[1];
  // The first and the last that end beyond sides store the columns up to these, too.
  long long const columns =
      grid.points[0] - (layout.has_ends ? 2LL * (layout.halo - layout.ghosts) : 0);
  long long strips = std::max((columns + layout.stored - 1) / layout.stored, 1LL);
  if (layout.has_ends) strips += std::min(strips, 2LL) * (march_side_pieces - 1);
  MarchTiling best = {strips, 0, 0};
  double best_cost = 0;
  for (int sharing = 1; sharing <= 8 * machine.resident; ++sharing) {
    if (sharing > machine.resident && sharing % machine.resident != 0) continue;
    long long const wanted = std::clamp(sharing * machine.schedulers / strips, 1LL, rows);
    long long const parts = (rows + wanted * together - 1) / (wanted * together);
    long long const of_chunk = parts * together;
    MarchTiling const tiling = {strips, (rows + of_chunk - 1) / of_chunk, of_chunk};
    double const cost = turns_of_march(tiling, shape, layout, machine);
    if (best.chunks > 0 && cost >= best_cost) continue;
    best = tiling;
    best_cost = cost;
  }
  return best;
}

}  // namespace gridstride::system
