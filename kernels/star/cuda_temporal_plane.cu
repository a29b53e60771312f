// Several steps of a wave in 2D in one pass over memory: see cuda.cu for single steps.
//
// Thread-to-data: a block owns a strip, a vector of 16 bytes along x for each thread, and marches
// along y over a chunk of rows. Row R of u^n comes from memory and gives row R − r of u^(n+1), with
// the radius r; that gives row R − 2r of u^(n+2), and so on down to the last step, all within one
// turn of the march. Of each moment a thread keeps 2r + 1 rows of its columns in registers. The
// oldest of them is what the next step but one needs as the moment before, so that u^(n−1) alone is
// read beside u^n. x neighbours come from shared memory, where each thread leaves the row that is
// to be the center in the next turn; a barrier ends each turn. Rows from memory are copied ahead of
// their use, past the registers, and turns are unrolled until every row is back in its register.
//
// What a strip lacks are columns beyond its ends: with each step r columns more at each end are
// wrong. So strips overlap by a halo of steps·r columns on both sides, and chunks by as many rows.
//
// Sides need no code of their own but where rows are read. Beyond a side the array goes on around
// the axis, or mirrored with or without its sign, and a step does the same to what goes on as to
// the array itself, bit by bit: add_pair gives the same when its neighbours are exchanged, and
// changes its sign with them. On a fixed side that leaves 0 where 0 was.
//
// Bytes: u^n and u^(n−1) are read, u^(n+steps−1) and u^(n+steps) are written: 4·sizeof(T) a point
// and pass, 4·sizeof(T)/steps an update; one array more with a field of speeds. Flops: as single
// steps, and again in the overlap.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/star/rows.hpp"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/march.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::star {

namespace {

/// How a pass is laid out: warps of a block, blocks that registers must leave room for on a
/// multiprocessor, and rows that are copied together.
template <class T, int radius_, int steps_, bool variable_, int warps_, int blocks_, int batch_>
struct PlaneShape {
  static constexpr int radius = radius_, steps = steps_, blocks = blocks_;
  static constexpr bool variable = variable_;  // c² is a field
  static constexpr int width = vector_width<T>, threads = warps_ * warp_size;
  /// Rows in registers, and turns until each of them is in its register again, in one of which a
  /// row has a slot in shared memory.
  static constexpr int rows = 2 * radius + 1, turns = radius == 1 ? 2 * rows : rows;
  static constexpr int batch = batch_, batches = turns / batch;
  /// Vectors beside one's own that hold its x neighbours.
  static constexpr int beside = (radius + width - 1) / width;
  /// Columns of a strip, those at each end that are not stored, and the others.
  static constexpr int columns = threads * width;
  static constexpr int halo = (steps * radius + width - 1) / width * width;
  static constexpr int stored = columns - 2 * halo;
  static_assert(turns % batch == 0 && batches > 1);
  static_assert(!variable || steps <= 3, "c² is kept for so many rows");
};

/// A block's part of shared memory: vectors of each thread.
template <class Shape, class T>
struct Memory {
  using Line = Vector<T, Shape::width>;
  /// What comes from memory: slot n is turn n's, and n + turns'.
  Line in[Shape::turns][Shape::threads];
  Line previous[Shape::turns][Shape::threads];
  Line speed_squared[Shape::variable ? Shape::turns : 1][Shape::threads];
  /// The center of each step in this turn and in the next one, with places beyond the strip's ends
  /// that hold anything.
  Line center[2][Shape::steps][Shape::threads + 2 * Shape::beside];
};

/// How the plane is cut into strips of `stored` columns, and those into chunks of `rows` rows.
struct PlaneTiling {
  unsigned strips, chunks;
  int rows;
};

/// Where a pass leaves the moment before its last one, how it is cut, and whether lines and arrays
/// are aligned to 16 bytes.
template <class T>
struct Pass {
  T* out_before;
  PlaneTiling tiling;
  bool aligned;
};

/// Where a value beyond a side comes from, however far.
template <class T>
__device__ Continued folded(LeapfrogArguments<T> const& a, int axis, long long place) {
  Continued result{place, false};
  while (result.index < 0 || result.index >= a.points[axis]) {
    Continued const next = continued(a, axis, result.index);
    result = {next.index, result.negative != next.negative};
  }
  return result;
}

template <int bytes>
__device__ void fetch(void* target, void const* source) {
#if __CUDA_ARCH__ >= 800
  begin_copy<bytes>(static_cast<unsigned>(__cvta_generic_to_shared(target)), source);
#else
  struct alignas(bytes) Element {
    unsigned words[bytes / 4];
  };
  *static_cast<Element*>(target) = *static_cast<Element const*>(source);
#endif
}

extern __shared__ __align__(16) unsigned char shared_bytes[];

/// One thread's part of a block's march.
template <class Shape, class T>
class March {
 public:
  __device__ March(LeapfrogArguments<T> const& a, Pass<T> const& pass);
  __device__ void run();

 private:
  static constexpr int radius = Shape::radius, steps = Shape::steps, width = Shape::width;
  static constexpr int turns = Shape::turns;
  using Line = Vector<T, width>;
  using Queue = Line[Shape::rows];

  __device__ void fetch_row(T const* array, int row, Line& target) const;
  __device__ void fetch_batch(int turn, int slot) const;
  __device__ void set_signs(int turn, int slot) const;
  __device__ void set_signs(int row, Line& line) const;
  /// Where a queue has a row in one of the unrolled turns; 0 is the oldest, 2r the newest.
  __device__ static constexpr int place(int slot, int row) { return (slot + row) % Shape::rows; }
  __device__ Line changed(Queue const& queue, int slot, Line const* center) const;
  __device__ void store(T* array, int row, Line const& line, bool is_stored) const;
  __device__ void turn(int number, int slot);

  LeapfrogArguments<T> const& a_;
  T* out_before_;
  Memory<Shape, T>& memory_;
  int thread_, points_x_, points_y_;
  int column_[width];          // where its columns are read
  unsigned negative_ = 0;      // a bit for each column that is read with the other sign
  bool has_signs_;             // some of all that is read may have the other sign
  bool whole_, stores_whole_;  // its columns are read, or stored, as one vector
  int first_column_;
  unsigned stored_ = 0;  // a bit for each column that is stored by itself
  int from_;             // the row of u^n that the march begins with
  int count_;            // rows that are stored
  Queue queue_[steps];   // of u^n, u^(n+1), …: row R − s·r is the newest in the turn of row R
  Queue speed_squared_;  // row R − r is the newest
};

template <class Shape, class T>
__device__ March<Shape, T>::March(LeapfrogArguments<T> const& a, Pass<T> const& pass)
    : a_(a),
      out_before_(pass.out_before),
      memory_(*reinterpret_cast<Memory<Shape, T>*>(shared_bytes)),
      thread_(static_cast<int>(threadIdx.x)),
      points_x_(static_cast<int>(a.points[0])),
      points_y_(static_cast<int>(a.points[1])) {
  auto const& tiling = pass.tiling;
  int const stored_from = static_cast<int>(blockIdx.x % tiling.strips) * Shape::stored;
  int const stored_to = min(stored_from + Shape::stored, points_x_);
  first_column_ = stored_from - Shape::halo + thread_ * width;
  whole_ = pass.aligned;
#pragma unroll
  for (int e = 0; e < width; ++e) {
    Continued const column = folded(a, 0, first_column_ + e);
    column_[e] = static_cast<int>(column.index);
    negative_ |= static_cast<unsigned>(column.negative) << e;
    whole_ = whole_ && column_[e] == column_[0] + e;
  }
  whole_ = whole_ && column_[0] % width == 0;
#pragma unroll
  for (int e = 0; e < width; ++e)
    stored_ |=
        static_cast<unsigned>(first_column_ + e >= stored_from && first_column_ + e < stored_to)
        << e;
  stores_whole_ = pass.aligned && stored_ == (1U << width) - 1;
  if (stores_whole_) stored_ = 0;
  int const first =
      static_cast<int>(a.made[0]) + static_cast<int>(blockIdx.x / tiling.strips) * tiling.rows;
  count_ = min(tiling.rows, static_cast<int>(a.made[1]) - first);
  from_ = first - steps * radius;
  bool const beyond = from_ - radius < 0 || first + count_ + steps * radius + turns > points_y_;
  has_signs_ = negative_ != 0 || beyond;
#pragma unroll
  for (auto& queue : queue_)
#pragma unroll
    for (auto& line : queue) line = {};
#pragma unroll
  for (auto& line : speed_squared_) line = {};
}

template <class Shape, class T>
__device__ void March<Shape, T>::fetch_row(T const* array, int row, Line& target) const {
  T const* const line = array + static_cast<long long>(row) * points_x_;
  if (whole_) {
    fetch<sizeof(Line)>(&target, line + column_[0]);
    return;
  }
#pragma unroll
  for (int e = 0; e < width; ++e) fetch<sizeof(T)>(&target.at[e], line + column_[e]);
}

/// Begins to copy what the turns of a batch take from memory.
template <class Shape, class T>
__device__ void March<Shape, T>::fetch_batch(int turn, int slot) const {
  auto const inside = [&](int row) {
    bool const is_inside = static_cast<unsigned>(row) < static_cast<unsigned>(points_y_);
    return is_inside ? row : static_cast<int>(folded(a_, 1, row).index);
  };
#pragma unroll 1
  for (int t = 0; t < Shape::batch; ++t) {
    int const row = inside(from_ + turn + t), behind = inside(from_ + turn + t - radius);
    fetch_row(a_.in, row, memory_.in[slot + t][thread_]);
    fetch_row(a_.previous, behind, memory_.previous[slot + t][thread_]);
    if constexpr (Shape::variable)
      fetch_row(a_.speed_squared, behind, memory_.speed_squared[slot + t][thread_]);
  }
  close_group();
}

/// Changes the signs of what comes from beyond a fixed side.
template <class Shape, class T>
__device__ void March<Shape, T>::set_signs(int row, Line& line) const {
  bool const is_inside = static_cast<unsigned>(row) < static_cast<unsigned>(points_y_);
  bool const all = !is_inside && folded(a_, 1, row).negative;
  unsigned const negative = all ? ~negative_ : negative_;
  if (negative == 0) return;
  Line changed = line;
#pragma unroll
  for (int e = 0; e < width; ++e)
    if (negative >> e & 1) changed.at[e] = -changed.at[e];
  line = changed;
}

template <class Shape, class T>
__device__ void March<Shape, T>::set_signs(int turn, int slot) const {
#pragma unroll 1
  for (int t = 0; t < Shape::batch; ++t) {
    set_signs(from_ + turn + t, memory_.in[slot + t][thread_]);
    set_signs(from_ + turn + t - radius, memory_.previous[slot + t][thread_]);
  }
}

/// What the Laplacian changes at the columns of the center, which begins at `center` in shared
/// memory.
template <class Shape, class T>
__device__ auto March<Shape, T>::changed(Queue const& queue, int slot, Line const* center) const
    -> Line {
  constexpr int beside = Shape::beside;
  T x[(2 * beside + 1) * width];
#pragma unroll
  for (int v = -beside; v <= beside; ++v) {
    Line const line = v == 0 ? queue[place(slot, radius)] : center[thread_ + beside + v];
#pragma unroll
    for (int e = 0; e < width; ++e) x[(v + beside) * width + e] = line.at[e];
  }
  Line change;
#pragma unroll
  for (int e = 0; e < width; ++e) {
    T const* const u = x + beside * width + e;
    T const twice = *u + *u;
    change.at[e] = 0;
#pragma unroll
    for (int k = 1; k <= radius; ++k)
      change.at[e] = add_pair(change.at[e], a_.weight[0][k - 1], u[-k], twice, u[k]);
#pragma unroll
    for (int k = 1; k <= radius; ++k)
      change.at[e] =
          add_pair(change.at[e], a_.weight[1][k - 1], queue[place(slot, radius - k)].at[e], twice,
                   queue[place(slot, radius + k)].at[e]);
  }
  return change;
}

/// Stores a thread's columns of one row, those that are to be.
template <class Shape, class T>
__device__ void March<Shape, T>::store(T* array, int row, Line const& line, bool is_stored) const {
  T* const target = array + static_cast<long long>(row) * points_x_ + first_column_;
  if (is_stored && stores_whole_) store_once(target, line);
#pragma unroll
  for (int e = 0; e < width; ++e)
    if (is_stored && (stored_ >> e & 1)) target[e] = line.at[e];
}

/// Takes row R of u^n, with R = from + number, to row R − steps·r of u^(n+steps). `slot` is its
/// place among the unrolled turns.
template <class Shape, class T>
__device__ void March<Shape, T>::turn(int number, int slot) {
  Line newest = memory_.in[slot][thread_], previous = memory_.previous[slot][thread_];
  if constexpr (Shape::variable)
    speed_squared_[place(slot, 2 * radius)] = memory_.speed_squared[slot][thread_];
#pragma unroll
  for (int s = 0; s < steps; ++s) {
    auto& queue = queue_[s];
    if (s > 0) previous = queue_[s > 0 ? s - 1 : 0][place(slot, 0)];
    queue[place(slot, 2 * radius)] = newest;
    memory_.center[(number + 1) % 2][s][thread_ + Shape::beside] = queue[place(slot, radius + 1)];
    Line change = changed(queue, slot, memory_.center[number % 2][s]);
    if constexpr (Shape::variable) {
      auto const& speed_squared = speed_squared_[place(slot, (2 - s) * radius)];
#pragma unroll
      for (int e = 0; e < width; ++e) change.at[e] *= speed_squared.at[e];
    }
#pragma unroll
    for (int e = 0; e < width; ++e)
      newest.at[e] =
          advance_free(a_, queue[place(slot, radius)].at[e], previous.at[e], change.at[e]);
    if (s + 2 < steps) continue;
    // The turn in which the first stored row of this moment comes out.
    int const first_turn = (steps + s + 1) * radius;
    store(s + 1 == steps ? a_.out : out_before_, from_ + number - (s + 1) * radius, newest,
          static_cast<unsigned>(number - first_turn) < static_cast<unsigned>(count_));
  }
  __syncthreads();
}

template <class Shape, class T>
__device__ void March<Shape, T>::run() {
  constexpr int batch = Shape::batch;
#pragma unroll 1
  for (int slot = 0; slot < turns - batch; slot += batch) fetch_batch(slot, slot);
  int const all = count_ + 2 * steps * radius;
#pragma unroll 1
  for (int done = 0; done < all; done += turns) {
#pragma unroll
    for (int slot = 0; slot < turns; ++slot) {
      if (slot % batch == 0) {
        await_groups<Shape::batches - 2>();
        fetch_batch(done + slot + turns - batch, (slot + turns - batch) % turns);
        if (has_signs_) set_signs(done + slot, slot);
      }
      turn(done + slot, slot);
    }
  }
}

template <class Shape, class T>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    temporal_plane_kernel(__grid_constant__ LeapfrogArguments<T> const a,
                          __grid_constant__ Pass<T> const pass) {
  March<Shape, T>(a, pass).run();
}

/// Rows of a chunk, how many there are, and what they cost: turns of the march until the last block is
/// done, if all take turns at the same pace.
struct PlaneCut {
  long long rows = 0, chunks = 0, cost = 0;
};

template <class Shape>
constexpr long long overlap = 2LL * Shape::steps* Shape::radius;

template <class Shape>
PlaneCut cut_into(long long at_once, long long strips, long long all_rows, long long chunks) {
  long long const wanted = std::clamp(chunks, 1LL, all_rows);
  long long const rows = (all_rows + wanted - 1) / wanted;
  long long const turns = (rows + overlap<Shape> + Shape::turns - 1) / Shape::turns;
  return {rows, (all_rows + rows - 1) / rows, (strips * wanted + at_once - 1) / at_once * turns};
}

/// Blocks do not keep that pace: chunks that are long, beside what they repeat, go in up to four waves,
/// of which each block takes what is left. Beside other passes there are as few chunks, which repeat the
/// fewest rows, as fill the device with those of so many passes.
template <class Shape>
PlaneCut best_cut(Device const& device, long long strips, long long all_rows, int beside) {
  long long const at_once = static_cast<long long>(device.processors()) * Shape::blocks;
  if (beside > 0)
    return cut_into<Shape>(at_once, strips, all_rows, tiles_over(at_once, beside * strips));
  auto const in_waves = [&](int waves) {
    return cut_into<Shape>(at_once, strips, all_rows, waves * at_once / strips);
  };
  for (int waves = 4; waves > 1; --waves)
    if (auto const cut = in_waves(waves); cut.rows >= 14 * overlap<Shape>) return cut;
  PlaneCut best = in_waves(1);
  for (int waves = 2; waves <= 8; ++waves)
    if (auto const cut = in_waves(waves); cut.cost < best.cost) best = cut;
  return best;
}

template <class Shape>
long long strips_of(long long points) {
  return (points + Shape::stored - 1) / Shape::stored;
}

template <class Shape, class T>
PlaneTiling cut_plane(Device const& device, LeapfrogArguments<T> const& a) {
  long long const strips = strips_of<Shape>(a.points[0]);
  long long const all_rows = a.made[1] - a.made[0];
  PlaneCut const cut = best_cut<Shape>(device, strips, all_rows, a.beside);
  if (strips * cut.chunks > 2147483647)
    throw std::invalid_argument("star: the grid needs too many blocks");
  return {static_cast<unsigned>(strips), static_cast<unsigned>(cut.chunks),
          static_cast<int>(cut.rows)};
}

template <class Shape, class T>
void launch_pass(Stream& stream, LeapfrogArguments<T> const& a, T* out_before) {
  auto const kernel = temporal_plane_kernel<Shape, T>;
  constexpr int bytes = sizeof(Memory<Shape, T>);
  static_assert(bytes <= temporal_shared_bytes);
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  Pass<T> const pass{
      out_before, cut_plane<Shape>(stream.device(), a),
      takes_vectors(a.points[0], a.in, a.previous, a.out, out_before, a.speed_squared)};
  kernel<<<pass.tiling.strips * pass.tiling.chunks, Shape::threads, bytes, native(stream)>>>(a,
                                                                                             pass);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "star temporal");
}

/// The fastest of those measured on an H200 at 8192² points.
template <class T, int radius, bool variable>
using ShapeOf = PlaneShape<T, radius, plane_steps(radius, variable), variable, 4,
                           radius == 2 || (radius == 1 && variable) ? 4 : 3,
                           radius == 4 || radius == 1 ? 3 : 1>;

}  // namespace

template <class T>
void cuda_temporal_plane(Stream& stream, int, int radius, LeapfrogArguments<T> const& a,
                         T* out_before) {
  with_shape(2, radius, [&](auto, auto reach) {
    if (a.speed_squared)
      launch_pass<ShapeOf<T, reach(), true>>(stream, a, out_before);
    else
      launch_pass<ShapeOf<T, reach(), false>>(stream, a, out_before);
  });
}

template void cuda_temporal_plane(Stream&, int, int, LeapfrogArguments<float> const&, float*);
template void cuda_temporal_plane(Stream&, int, int, LeapfrogArguments<double> const&, double*);

}  // namespace gridstride::star
