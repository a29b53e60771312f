// Several steps in 2D in one pass over memory: see cuda.cu for single steps.
//
// Thread-to-data: a warp owns a strip, 32·`lane_points` columns wide, and marches along y over a
// chunk of rows. Row r of the old values comes from memory and gives row r − 1 after one step, that
// gives row r − 2 after two, and so on down to the row that is stored, all within one turn of the
// march. Of each level between, a thread keeps two rows of its columns in registers: the last one,
// and what it differs from the one before, for a difference serves both rows beside it. x
// neighbours come by shuffle. A warp waits for nobody else.
//
// What a strip lacks are the columns beyond its ends: with each step one column more at each end
// is wrong, so that strips overlap by a halo on both sides, and chunks by as many rows as there are
// steps. On a periodic axis the halo is the other end of the grid. Where a line ends, a strip lies
// so that the end is a thread's first or last column. Rows on a side in y are few, and different:
// around them a warp keeps its levels in shared memory and takes a slower path.
//
// Bytes: 2·sizeof(T) a point and pass, and sizeof(T) for each point of the overlap. Flops: 9 an
// update, in 7 instructions, since two neighbours share the difference between them.

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/stencil/temporal.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::stencil {

namespace {

constexpr int plane_warps = 2;  // of a block

/// How a pass of some steps is laid out: `lane_points` columns a thread, rows loaded `ahead` of
/// their use, `turns` of the march unrolled, so that few values have to move to other registers,
/// and `blocks` that registers must leave room for on a multiprocessor.
template <int steps_, int lane_points_, int ahead_, int turns_, int blocks_>
struct PlaneShape {
  static constexpr int steps = steps_, lane_points = lane_points_;
  static constexpr int ahead = ahead_, turns = turns_, blocks = blocks_;
  static_assert(turns % ahead == 0);
  /// Columns of a strip, those at each end that are not stored (whole threads), and the others.
  static constexpr int width = warp_size * lane_points;
  static constexpr int halo = (steps + lane_points - 1) / lane_points * lane_points;
  static constexpr int stored = width - 2 * halo;
};

/// How the plane is cut into columns of `stored` points, and those into chunks of `rows` rows.
/// Columns that meet an end of the lines take longer, and chunks at a side in y as well: the first
/// column and the last two are cut into half as many rows, the first and the last chunk are
/// `short_by` rows shorter where rows at a side are made.
struct PlaneTiling {
  unsigned columns, end_columns, chunks;
  int rows, short_by;

  GRIDSTRIDE_HOST_DEVICE unsigned end_strips() const { return end_columns * 2 * chunks; }
  GRIDSTRIDE_HOST_DEVICE unsigned strips() const {
    return end_strips() + (columns - end_columns) * chunks;
  }
};

/// A thread's part of a warp's strip.
struct Strip {
  long long column;          // its first one, which may lie beyond the grid
  int store_from, store_to;  // of its columns, those that are stored
  long long first, last;     // the rows that are stored
};

/// Of each level, from the old values on: a thread's columns of the last row, and what they differ
/// from the row before.
template <class Shape, class T>
struct Levels {
  T center[Shape::steps][Shape::lane_points] = {}, down[Shape::steps][Shape::lane_points] = {};
};

/// The same of all threads of a warp, in shared memory.
template <class Shape, class T>
struct SharedLevels {
  alignas(16) T center[Shape::steps][warp_size][Shape::lane_points];
  alignas(16) T down[Shape::steps][warp_size][Shape::lane_points];

  __device__ void get(Levels<Shape, T>& levels) const {
#pragma unroll
    for (int s = 0; s < Shape::steps; ++s)
#pragma unroll
      for (int e = 0; e < Shape::lane_points; ++e) {
        levels.center[s][e] = center[s][lane_index()][e];
        levels.down[s][e] = down[s][lane_index()][e];
      }
  }
  __device__ void put(Levels<Shape, T> const& levels) {
#pragma unroll
    for (int s = 0; s < Shape::steps; ++s)
#pragma unroll
      for (int e = 0; e < Shape::lane_points; ++e) {
        center[s][lane_index()][e] = levels.center[s][e];
        down[s][lane_index()][e] = levels.down[s][e];
      }
  }
};

/// Stores a thread's columns of one row, those that are to be.
template <int width, int count, class T>
__device__ void store_row(T* target, Strip const& strip, T const (&row)[count]) {
#pragma unroll
  for (int v = 0; v < count / width; ++v) {
    if (v * width < strip.store_from || v * width >= strip.store_to) continue;
    Vector<T, width> vector;
#pragma unroll
    for (int e = 0; e < width; ++e) vector.at[e] = row[v * width + e];
    store_once(target + v * width, vector);
  }
}

/// A thread's columns of one old row after another, the first row after the last. With `wraps`, the
/// columns go on at the lines' beginning.
template <bool wraps, int width, class T>
class RowSource {
 public:
  __device__ RowSource(DiffusionArguments<T> const& a, long long column, long long row)
      : length_(a.points[0]), last_(static_cast<int>(a.points[1] - 1)) {
    column = wrapped_index(column, length_);
    first_ = a.in + column;
    to_end_ = static_cast<int>(min(length_ - column, 1LL << 20));
    row_ = static_cast<int>(wrapped_index(row, a.points[1]));
  }

  template <int count>
  __device__ void load(T (&row)[count]) {
    T const* const at = first_ + row_ * length_;
    row_ = row_ == last_ ? 0 : row_ + 1;
#pragma unroll
    for (int v = 0; v < count / width; ++v) {
      bool const beyond = wraps && v * width >= to_end_;
      auto const vector = load_once<width>(at + v * width - (beyond ? length_ : 0));
#pragma unroll
      for (int e = 0; e < width; ++e) row[v * width + e] = vector.at[e];
    }
  }

 private:
  T const* first_;
  long long length_;
  int row_, last_, to_end_;
};

/// Takes a strip over the old rows from `from` to `to`, of which none meets a side in y.
template <class Shape, Ends where, int width, class T>
__device__ void march(DiffusionArguments<T> const& a, Strip const& strip, long long from,
                      long long to, Levels<Shape, T>& levels) {
  constexpr int count = Shape::lane_points, steps = Shape::steps;
  // The ends take registers.
  constexpr int ahead = where == Ends::none ? Shape::ahead : 1;
  constexpr int turns = where == Ends::none ? Shape::turns : 1;
  LineEnds const ends(a, strip.column, count);
  bool const has_end = where != Ends::none && (ends.lower >= 0 || ends.upper >= 0);
  T const* end_value = has_end ? a.side_value[0][ends.upper >= 0] + from : nullptr;
  RowSource<where != Ends::none, width, T> source(a, strip.column, from);
  T* target = a.out + (from - steps) * a.points[0] + strip.column;
  int const rows = static_cast<int>(to - from);
  int const not_stored = static_cast<int>(strip.first + steps - from);

  T loaded[ahead][count];
#pragma unroll
  for (int g = 0; g < ahead; ++g) source.load(loaded[g]);
  for (int first = 0; first < rows; first += turns) {
#pragma unroll
    for (int g = 0; g < turns; ++g) {
      T row[count];
#pragma unroll
      for (int e = 0; e < count; ++e) row[e] = loaded[g % ahead][e];
      source.load(loaded[g % ahead]);
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        auto& center = levels.center[s];
        auto& down = levels.down[s];
        T const end = has_end ? __ldg(end_value - s - 1) : T(0);
        T const value[2] = {end, end};
        T next[count];
        change_along_x<where>(a, ends, value, center, next);
#pragma unroll
        for (int e = 0; e < count; ++e) {
          T const up = row[e] - center[e];
          next[e] = center[e] + add_differences(next[e], a.weight[1], down[e], up);
          down[e] = up;
        }
        fix_ends<where>(ends, value, s == 0, center, next);
#pragma unroll
        for (int e = 0; e < count; ++e) {
          center[e] = row[e];
          row[e] = next[e];
        }
      }
      if (first + g >= not_stored && first + g < rows) store_row<width>(target, strip, row);
      target += a.points[0];
      if (where != Ends::none) ++end_value;
    }
  }
}

/// The same where rows meet a side in y, or lie beyond it.
template <class Shape, Ends where, class T>
__device__ void march_at_side(DiffusionArguments<T> const& a, Strip const& strip, long long from,
                              long long to, SharedLevels<Shape, T>& levels) {
  constexpr int count = Shape::lane_points, steps = Shape::steps;
  int const lane = lane_index();
  LineEnds const ends(a, strip.column, count);
  long long const last = a.points[1] - 1;
  bool const periodic = a.side[1][0] == SideRule::periodic;
  long long column[count];
#pragma unroll
  for (int e = 0; e < count; ++e) column[e] = wrapped_index(strip.column + e, a.points[0]);
  auto const load = [&](long long j, T(&row)[count]) {
#pragma unroll
    for (int e = 0; e < count; ++e) row[e] = __ldg(a.in + j * a.points[0] + column[e]);
  };

  long long next_row = wrapped_index(from, a.points[1]);
  T loaded[count];
  load(next_row, loaded);
#pragma unroll 1
  for (long long r = from; r < to; ++r) {
    long long j = next_row;  // of the grid: that of the level's last row
    next_row = next_row == last ? 0 : next_row + 1;
    T row[count];
#pragma unroll
    for (int e = 0; e < count; ++e) row[e] = loaded[e];
    load(next_row, loaded);
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      j = j == 0 ? last : j - 1;
      T value[2] = {};
      if (where != Ends::none && ends.lower >= 0) value[0] = __ldg(a.side_value[0][0] + j);
      if (where != Ends::none && ends.upper >= 0) value[1] = __ldg(a.side_value[0][1] + j);
      T center[count], next[count], down[count], up[count];
#pragma unroll
      for (int e = 0; e < count; ++e) {
        center[e] = levels.center[s][lane][e];
        down[e] = levels.down[s][lane][e];
        up[e] = row[e] - center[e];
      }
#pragma unroll
      for (int e = 0; e < count; ++e) {
        levels.down[s][lane][e] = up[e];
        levels.center[s][lane][e] = row[e];
      }
      change_along_x<where>(a, ends, value, center, next);
      if (periodic || (j > 0 && j < last)) {
#pragma unroll
        for (int e = 0; e < count; ++e)
          next[e] = center[e] + add_differences(next[e], a.weight[1], down[e], up[e]);
      } else {
        bool const upper = j > 0, fixed = a.side[1][upper] == SideRule::dirichlet;
#pragma unroll
        for (int e = 0; e < count; ++e) {
          T const side_value = __ldg(a.side_value[1][upper] + column[e]);
          T const change = add_differences(next[e], a.weight[1], upper ? down[e] : -up[e],
                                           upper ? -down[e] : up[e]);
          next[e] = center[e] + add_side(change, a.side_weight[1], side_value);
          if (fixed) next[e] = s == 0 ? side_value : center[e];
        }
      }
      fix_ends<where>(ends, value, s == 0, center, next);
#pragma unroll
      for (int e = 0; e < count; ++e) row[e] = next[e];
    }
    if (r - steps >= strip.first)
      store_row<1>(a.out + (r - steps) * a.points[0] + strip.column, strip, row);
  }
}

/// Takes a warp's strip through all steps, where its columns meet the ends of the lines as `where`
/// says.
template <class Shape, int width, Ends where, class T>
__device__ void advance_strip(DiffusionArguments<T> const& a, Strip const& strip,
                              SharedLevels<Shape, T>& shared) {
  constexpr int steps = Shape::steps;
  bool const periodic = a.side[1][0] == SideRule::periodic;
  long long from = strip.first - steps;
  long long const to = strip.last + steps;
  if (!periodic) from = max(from, 0LL);  // a side needs nothing from beyond
  if constexpr (where == Ends::any) {
    march_at_side<Shape, where>(a, strip, from, to, shared);
  } else {
    // Old row r gives rows r − 1 to r − steps of the levels.
    long long inner_from = from, inner_to = to;
    if (!periodic || where != Ends::none) {
      inner_from = min(max(from, steps + 1LL), to);
      long long const rows = max(a.points[1] - inner_from, 0LL);
      // The rows after the march need it to end with a whole turn of its loop.
      if (to > a.points[1]) inner_to = inner_from + rows / Shape::turns * Shape::turns;
    }
    if (from < inner_from) march_at_side<Shape, where>(a, strip, from, inner_from, shared);
    if (inner_from < inner_to) {
      Levels<Shape, T> levels;
      if (from < inner_from) shared.get(levels);
      march<Shape, where, width>(a, strip, inner_from, inner_to, levels);
      if (inner_to < to) shared.put(levels);
    }
    if (inner_to < to) march_at_side<Shape, where>(a, strip, inner_to, to, shared);
  }
}

/// The columns and rows of strip number n.
template <class Shape, int width, class T>
__device__ Strip strip_of(DiffusionArguments<T> const& a, PlaneTiling const& tiling, unsigned n) {
  bool const at_end = n < tiling.end_strips();
  unsigned const columns = at_end ? tiling.end_columns : tiling.columns - tiling.end_columns;
  if (!at_end) n -= tiling.end_strips();
  unsigned const number = n % columns;
  unsigned const column = !at_end ? number + 1 : number == 0 ? 0 : tiling.columns - number;
  long long const stored_from = static_cast<long long>(column) * Shape::stored;
  long long const stored_to = min(stored_from + Shape::stored, a.points[0]);
  long long start = stored_from - Shape::halo;
  // An end of the lines is to be the last column of a thread.
  if (width == 1 && a.side[0][0] != SideRule::periodic)
    start = min(start, a.points[0] - Shape::width);

  long long const count = Shape::lane_points;
  Strip strip;
  strip.column = start + lane_index() * count;
  strip.store_from = static_cast<int>(min(max(stored_from - strip.column, 0LL), count));
  strip.store_to = static_cast<int>(min(max(stored_to - strip.column, 0LL), count));
  int const rows = at_end ? (tiling.rows + 1) / 2 : tiling.rows;
  long long const first = a.made[0] + static_cast<long long>(n / columns) * rows - tiling.short_by;
  strip.first = min(max(first, a.made[0]), a.made[1]);
  strip.last = min(max(first + rows, a.made[0]), a.made[1]);
  return strip;
}

template <class Shape, int width, class T>
__global__ void __launch_bounds__(plane_warps* warp_size, Shape::blocks)
    temporal_plane_kernel(__grid_constant__ DiffusionArguments<T> const a,
                          __grid_constant__ PlaneTiling const tiling) {
  __shared__ SharedLevels<Shape, T> shared[plane_warps];
  unsigned const number = blockIdx.x * plane_warps + warp_index();
  if (number >= tiling.strips()) return;  // the whole warp
  Strip const strip = strip_of<Shape, width>(a, tiling, number);
  if (strip.first == strip.last) return;
  long long const start = strip.column - lane_index() * Shape::lane_points;
  if (start > 0 && start + Shape::width < a.points[0])
    advance_strip<Shape, width, Ends::none>(a, strip, shared[warp_index()]);
  else if (width > 1 || start >= 0 || start == -Shape::halo)
    advance_strip<Shape, width, Ends::first_or_last>(a, strip, shared[warp_index()]);
  else  // a line that is shorter than a strip, and ends anywhere
    advance_strip<Shape, width, width == 1 ? Ends::any : Ends::none>(a, strip,
                                                                     shared[warp_index()]);
}

/// Rows of a chunk, how many there are, and what they cost: turns of the march until the last warp is
/// done, if all take turns at the same pace.
struct PlaneCut {
  long long rows = 0, chunks = 0, cost = 0;
};

/// Beside other passes there are as few chunks, which repeat the fewest rows, as fill the device with
/// those of so many passes.
template <class Shape>
PlaneCut best_cut(Device const& device, long long columns, long long all_rows, int beside) {
  long long const at_once =
      static_cast<long long>(device.processors()) * Shape::blocks * plane_warps;
  auto const cut_into = [&](long long wanted) -> PlaneCut {
    long long const chunks = std::clamp(wanted, 1LL, all_rows);
    long long const rows = (all_rows + chunks - 1) / chunks;
    return {rows, chunks, (columns * chunks + at_once - 1) / at_once * (rows + 2 * Shape::steps)};
  };
  if (beside > 0) return cut_into((at_once + beside * columns - 1) / (beside * columns));
  PlaneCut best = cut_into(at_once / columns);
  for (int waves = 2; waves <= 8; ++waves)
    if (auto const cut = cut_into(waves * at_once / columns); cut.cost < best.cost) best = cut;
  return best;
}

constexpr long long most_end_columns = 3;

template <class Shape>
long long columns_of(long long points) {
  return (points + Shape::stored - 1) / Shape::stored;
}

template <class Shape, class T>
PlaneTiling cut_plane(Device const& device, DiffusionArguments<T> const& a) {
  auto const& [from, to] = a.made;
  bool const at_side = from == 0 || to == a.points[1];
  long long const columns = columns_of<Shape>(a.points[0]);
  long long const end_columns = std::min(columns, most_end_columns);
  int const short_by = at_side ? 2 * Shape::steps : 0;
  long long const all_rows = to - from + 2 * short_by;
  PlaneCut const cut = best_cut<Shape>(device, columns + end_columns, all_rows, a.beside);
  if ((columns + end_columns) * cut.chunks > 2147483647 || a.points[1] > 2147483647)
    throw std::invalid_argument("stencil: the grid needs too many blocks");
  return {static_cast<unsigned>(columns), static_cast<unsigned>(end_columns),
          static_cast<unsigned>(cut.chunks), static_cast<int>(cut.rows), short_by};
}

template <class Shape, int width, class T>
void launch_plane(Stream& stream, DiffusionArguments<T> const& a) {
  PlaneTiling const tiling = cut_plane<Shape>(stream.device(), a);
  temporal_plane_kernel<Shape, width>
      <<<blocks_for(tiling.strips(), plane_warps), plane_warps * warp_size, 0, native(stream)>>>(
          a, tiling);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil temporal");
}

/// Whether a line ends with a thread's columns.
template <class Shape>
bool fits_vectors(long long points) {
  return points % Shape::lane_points == 0 && points > Shape::lane_points;
}

/// Whether every thread's columns begin at a multiple of 16 bytes, too.
template <class Shape, class T>
bool takes_vectors(DiffusionArguments<T> const& a) {
  return fits_vectors<Shape>(a.points[0]) && misalignment(a.in) == 0 && misalignment(a.out) == 0;
}

/// The shape of a pass of so many steps, the fastest of those measured on an H200 at 8192² points.
/// `width`: of the vectors, 1 where lines are no multiple of them; then float64 is short of
/// registers.
template <int steps, int width, class T>
auto shape_of_pass() {
  constexpr bool single = sizeof(T) == 4, roomy = single || width > 1;
  if constexpr (steps == 8)
    return PlaneShape < 8, 4, single ? 2 : 1, roomy ? 4 : 1, single ? 6 : 4 > {};
  else
    return PlaneShape < steps, 4, roomy ? 2 : 1, roomy ? 4 : 1, single ? 8 : 6 > {};
}

template <int steps, class T>
void pass_plane(Stream& stream, DiffusionArguments<T> const& a) {
  constexpr int width = vector_width<T>;
  using Aligned = decltype(shape_of_pass<steps, width, T>());
  if (takes_vectors<Aligned>(a))
    launch_plane<Aligned, width>(stream, a);
  else
    launch_plane<decltype(shape_of_pass<steps, 1, T>()), 1>(stream, a);
}

}  // namespace

template <class T>
void cuda_temporal_plane(Stream& stream, DiffusionArguments<T> const& a, int steps) {
  check_pass(a, steps, next_plane_steps(steps));
  if (steps == 8)
    pass_plane<8>(stream, a);
  else if (steps == 4)
    pass_plane<4>(stream, a);
  else if (steps == 2)
    pass_plane<2>(stream, a);
  else
    cuda_register_queue(stream, 2, a);
}

template void cuda_temporal_plane(Stream&, DiffusionArguments<float> const&, int);
template void cuda_temporal_plane(Stream&, DiffusionArguments<double> const&, int);

}  // namespace gridstride::stencil
