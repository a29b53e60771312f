// Temporal blocking of the diffusion step in 3D: two steps in one pass over memory.
//
// Level s is the grid after s steps: level 0 is read, level 2 is written. A block owns a tile of x
// and y and marches along z. When plane p of level 0 arrives, it computes plane p − 1 of level 1
// and p − 2 of level 2: a level needs of the one below the plane that has just come, the one
// before, and what lies beside that one in x and y.
//
// Thread-to-data: a thread owns a vector of 16 bytes along x in each of four lines. Per level it
// keeps in registers the last plane, and what that has more than the plane before. The 32 vectors
// of a warp lie side by side, the warps of a block one above the other in y. Neighbours in x come
// by shuffle, and those of the warps below and above through shared memory, where each warp leaves
// its first and last line of every level, in two places by turns, so that one barrier a plane
// orders all of it. Level 0 comes by cp.async two planes ahead, each thread's own vectors.
//
// Each step eats a point at every end of a tile, so that tiles overlap, by four lines in y. In x
// one more warp, the border warp, owns the columns of vectors before and after the 32 of the
// others: a lane has one of these columns in the lines of one warp. Marches overlap by four planes.
//
// Bytes: sizeof(T)/2 read and written per update, and what tiles read of each other. Flops: 13 per
// update; since neighbours share their difference, 10.5 instructions do them.
//
// Sides: nearly all is in what is read, and all warps run the same instructions. What is left, for
// the threads with points on a side, are a few additions between (temporal_volume_sides.cuh). More
// code for a few warps alone does not pay: it has to be fetched for them alone, while all others
// wait at the barrier. A grid without sides has a kernel without it.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/stencil/temporal.cuh"
#include "kernels/stencil/temporal_volume_sides.cuh"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::stencil {

namespace {

constexpr int steps = volume_steps;
constexpr int lines = volume_lines;
constexpr int most_groups = 11;  // warps one above the other, as many as registers leave room for
constexpr int ring_planes = 3;   // of level 0 in shared memory: one in use, two on their way
constexpr long long longest_axis = 1 << 30;  // for indices of 32 bits

/// The shared memory of a block: the ring, then for each group of lines, per level and turn, the
/// group's first and last line, and what lies at the seams between the border warp and the others.
template <class T>
struct Layout {
  static constexpr int width = vector_width<T>;
  static constexpr int halo = (steps + width - 1) / width;  // columns of the border warp at an end
  static constexpr int line_bytes = 16 * (warp_size + 2 * halo);
  static constexpr int seams = 2 * halo + 2;  // of the border warp's columns, the others, one spare
  static constexpr int seam_bytes = 2 * lines * sizeof(T);  // first and last elements of the column
  static constexpr int turn_bytes = 2 * line_bytes + seams * seam_bytes;
  // An odd number of vectors, so that the lanes of the border warp meet different banks.
  static constexpr int group_bytes = 2 * steps * turn_bytes + 16;
  static_assert(2 * steps * turn_bytes % 32 == 0);
  static constexpr int warp_bytes = 16 * warp_size * lines;  // of a plane of the ring

  GRIDSTRIDE_HOST_DEVICE static constexpr int ring_bytes(int groups) {
    return ring_planes * warp_bytes * (groups + 1);
  }
  /// The groups below the first and above the last are read, but never used.
  GRIDSTRIDE_HOST_DEVICE static constexpr int spots_begin(int groups) {
    return ring_bytes(groups) + (groups + 2) * group_bytes;
  }
  GRIDSTRIDE_HOST_DEVICE static constexpr int sides_begin(int groups) {
    return spots_begin(groups) + Spot<T, true>::bytes * warp_size * (groups + 1);
  }
  static int bytes(DiffusionArguments<T> const& a, int groups) {
    return sides_begin(groups) + Sides<T, true>::bytes(a, warp_size * (groups + 1));
  }
};

/// Tiles of so many points that cover an axis, at least one.
constexpr long long tiles(long long points, long long tile) {
  return points <= tile ? 1 : (points + tile - 1) / tile;
}

/// What the blocks of the pass share out.
struct Work {
  unsigned x_tiles, y_tiles, z_tiles;
  int groups;  // warps of a block, without the border warp
  int length;  // planes that a block writes
};

/// One thread's part of a block's march.
template <class T, bool aligned, bool with_sides>
class March {
 public:
  __device__ March(DiffusionArguments<T> const& a, Work const& work, bool imposed);
  __device__ void run();

 private:
  using Memory = Layout<T>;
  static constexpr int width = Memory::width, halo = Memory::halo;
  using Line = Vector<T, width>;
  using Plane = Patch<T>;

  __device__ int points(int axis) const { return sides_.spot.points(axis); }
  __device__ void take_columns(Work const& work, int tile, bool border);
  __device__ void take_lines(Work const& work, int tile);

  __device__ void fetch_plane(int plane);
  __device__ void take_plane(int plane);
  template <int level>
  __device__ void climb(Plane const& fresh, int plane);
  template <int level>
  __device__ void publish(Plane const& plane) const;
  template <int level>
  __device__ Plane step(Plane const& fresh, int k);
  __device__ void store(Plane const& plane, int k) const;

  DiffusionArguments<T> const& a_;
  int group_;                // the warp's, or in the border warp the thread's, of lines
  bool is_spare_ = false;    // whether nobody needs it: the border warp has more lanes than columns
  bool at_left_, at_right_;  // whether the neighbours along x are another warp's
  unsigned written_;         // a bit for each of the thread's lines that it writes
  int first_plane_, last_plane_;
  // Places in shared memory:
  int ring_step_, ring_end_;  // from one plane of the ring to the next; behind the last
  int take_, put_;            // of the thread's vectors of the plane to take, and to fetch
  int now_, before_;          // of its vector in its group's first line, of level 0, by turns
  int seam_;                  // from there to the first elements of its column

  Sides<T, aligned> sides_;
  Plane center_[steps], rise_[steps];  // of each level the last plane, and it less the one before
};

template <class T, bool aligned, bool with_sides>
__device__ March<T, aligned, with_sides>::March(DiffusionArguments<T> const& a, Work const& work,
                                                bool imposed)
    : a_(a), sides_(a) {
  int const warp = threadIdx.x / warp_size;
  // The scheduler of warp 3 never has more warps than others: room for the border warp.
  int const border = work.groups < 3 ? work.groups : 3;
  group_ = warp - (warp > border);
  take_ = put_ = Memory::warp_bytes * warp + 16 * (threadIdx.x % warp_size);
  ring_step_ = Memory::warp_bytes * (work.groups + 1);
  ring_end_ = ring_planes * ring_step_;
  unsigned const tile = blockIdx.x / work.x_tiles;
  take_columns(work, blockIdx.x % work.x_tiles, warp == border);
  take_lines(work, tile % work.y_tiles);
  sides_.spot.find(Memory::spots_begin(work.groups) + Spot<T, aligned>::bytes * threadIdx.x);
  sides_.find(Memory::sides_begin(work.groups), warp == border && !is_spare_, imposed);
  first_plane_ = static_cast<int>(a.made[0] + tile / work.y_tiles * work.length);
  last_plane_ = min(first_plane_ + work.length, static_cast<int>(a.made[1]));
}

/// Finds the thread's column of vectors, and where it leaves what others need of it.
template <class T, bool aligned, bool with_sides>
__device__ void March<T, aligned, with_sides>::take_columns(Work const& work, int tile,
                                                            bool border) {
  bool const open = is_open(a_, 0);
  int const lane = threadIdx.x % warp_size;
  int const columns = (points(0) + width - 1) / width;
  int const left = columns - (open ? 2 * halo : 0) - warp_size * tile;
  int const inner = left < 0 ? 0 : left < warp_size ? left : warp_size;  // not the border warp's
  int column = halo + lane, place = column, seam = halo;
  at_left_ = lane == 0 && inner > 0;
  at_right_ = lane == inner - 1;
  bool writes = lane < inner;
  if (border) {
    int number = lane / work.groups;
    group_ = lane % work.groups;
    is_spare_ = number >= 2 * halo;
    if (is_spare_) number = group_ = 0;
    bool const before = number < halo;
    column = before ? number : inner + number;
    place = before ? number : warp_size + number;
    seam = before || inner == 0 ? number : number + 1;
    at_left_ = at_right_ = !is_spare_;
    writes = !is_spare_ && open && tile == (before ? 0 : static_cast<int>(work.x_tiles) - 1);
  }
  column += warp_size * tile - (open ? 0 : halo);
  int const i = sides_.spot.i = column * width;
  written_ = writes && (!open || i < points(0));
  int const group = Memory::ring_bytes(work.groups) + (group_ + 1) * Memory::group_bytes;
  now_ = group + 16 * place;
  before_ = now_ + Memory::turn_bytes;
  seam_ = 2 * Memory::line_bytes + seam * Memory::seam_bytes - 16 * place;
}

/// Finds the thread's lines, and which of them are written.
template <class T, bool aligned, bool with_sides>
__device__ void March<T, aligned, with_sides>::take_lines(Work const& work, int tile) {
  int const inner = lines * work.groups - 2 * steps;
  int const from = tile * inner, until = min(from + inner, points(1));
  int const j = sides_.spot.j = from - steps + group_ * lines;
  bool const writes = written_ != 0;
  written_ = 0;
  for (int r = 0; r < lines; ++r)
    if (writes && j + r >= from && j + r < until) written_ |= 1u << r;
}

template <class T, bool aligned, bool with_sides>
__device__ void March<T, aligned, with_sides>::run() {
  int const begin = first_plane_ - steps;
  if (with_sides) sides_.fetch_values(begin);
#pragma unroll
  for (int ahead = 0; ahead < ring_planes - 1; ++ahead) fetch_plane(begin + ahead);
  // Two planes a turn save moves between registers, but with sides the loop gets long; float64,
  // which has half as many points, gains all the same.
  constexpr int turns = with_sides && (!aligned || sizeof(T) == 4) ? 1 : 2;
#pragma unroll 1
  for (int plane = begin; plane < last_plane_ + steps; plane += turns) {
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      take_plane(plane + turn);
      int const now = now_;
      now_ = before_;
      before_ = now;
    }
  }
}

/// Begins to copy the thread's vectors of a plane of level 0.
template <class T, bool aligned, bool with_sides>
__device__ void March<T, aligned, with_sides>::fetch_plane(int plane) {
  sides_.spot.fetch_patch(put_, 16 * warp_size,
                          a_.in + a_.points[0] * a_.points[1] * sides_.spot.z_of(plane));
  close_group();
  put_ += ring_step_;
  if (put_ >= ring_end_) put_ -= ring_end_;
}

/// Plane number `plane` of level 0 has come: every level goes on by a plane.
template <class T, bool aligned, bool with_sides>
__device__ void March<T, aligned, with_sides>::take_plane(int plane) {
  await_groups<ring_planes - 2>();
  Plane fresh;
#pragma unroll
  for (int r = 0; r < lines; ++r)
    fresh.line[r] = *reinterpret_cast<Line const*>(volume_memory + take_ + r * 16 * warp_size);
  take_ += ring_step_;
  if (take_ >= ring_end_) take_ -= ring_end_;
  if (with_sides) sides_.fetch_values(plane + 1);
  fetch_plane(plane + ring_planes - 1);
  climb<0>(fresh, plane);
  __syncthreads();
}

/// Given a plane of `level`, computes the plane below it of the next level, and so on.
template <class T, bool aligned, bool with_sides>
template <int level>
__device__ void March<T, aligned, with_sides>::climb(Plane const& fresh, int plane) {
  if constexpr (level == steps) {
    store(fresh, plane);
  } else {
    publish<level>(fresh);
    Plane const next = step<level>(fresh, plane - 1);
    center_[level] = fresh;
    climb<level + 1>(next, plane - 1);
  }
}

/// Leaves for others what they need of a plane of `level`.
template <class T, bool aligned, bool with_sides>
template <int level>
__device__ void March<T, aligned, with_sides>::publish(Plane const& plane) const {
  unsigned char* const own = volume_memory + now_ + 2 * level * Memory::turn_bytes;
  if (!is_spare_) {
    *reinterpret_cast<Line*>(own) = plane.line[0];
    *reinterpret_cast<Line*>(own + Memory::line_bytes) = plane.line[lines - 1];
  }
  T* const seam = reinterpret_cast<T*>(own + seam_);
#pragma unroll
  for (int r = 0; r < lines; ++r) {
    if (at_left_) seam[r] = plane.line[r].at[0];
    if (at_right_) seam[lines + r] = plane.line[r].at[width - 1];
  }
}

/// Plane k of level + 1, from the one of `level` below it, the one beside it, and the one above it,
/// `fresh`.
template <class T, bool aligned, bool with_sides>
template <int level>
__device__ auto March<T, aligned, with_sides>::step(Plane const& fresh, int k) -> Plane {
  unsigned char const* const own = volume_memory + before_ + 2 * level * Memory::turn_bytes;
  Line const under = *reinterpret_cast<Line const*>(own + Memory::line_bytes - Memory::group_bytes);
  Line const over = *reinterpret_cast<Line const*>(own + Memory::group_bytes);
  T const* const seam = reinterpret_cast<T const*>(own + seam_);
  Plane& center = center_[level];
  Plane next;  // what changes, at first
#pragma unroll
  for (int r = 0; r < lines; ++r) {
    Line const& c = center.line[r];
    T left = __shfl_up_sync(whole_warp, c.at[width - 1], 1);
    T right = __shfl_down_sync(whole_warp, c.at[0], 1);
    if (at_left_) left = seam[r - lines];
    if (at_right_) right = seam[r + 2 * lines];
#pragma unroll
    for (int e = 0; e < width; ++e) {
      T const before_x = e > 0 ? c.at[e > 0 ? e - 1 : 0] : left;
      T const after_x = e < width - 1 ? c.at[e < width - 1 ? e + 1 : 0] : right;
      next.line[r].at[e] = add_axis(T(0), a_.weight[0], before_x, c.at[e], after_x);
    }
  }
  if (with_sides && sides_.changes_x()) [[unlikely]]
    sides_.change_x(center, seam - lines, k, next);
#pragma unroll
  for (int r = 0; r < lines; ++r) {
    Line const& c = center.line[r];
    Line const& lower = r > 0 ? center.line[r > 0 ? r - 1 : 0] : under;
    Line const& upper = r < lines - 1 ? center.line[r < lines - 1 ? r + 1 : 0] : over;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      T& change = next.line[r].at[e];
      change = add_axis(change, a_.weight[1], lower.at[e], c.at[e], upper.at[e]);
    }
  }
  if (with_sides && sides_.changes_y()) [[unlikely]]
    sides_.change_y(k, next);
#pragma unroll
  for (int r = 0; r < lines; ++r)
#pragma unroll
    for (int e = 0; e < width; ++e) {
      T& change = next.line[r].at[e];
      T& below = rise_[level].line[r].at[e];
      T const above = fresh.line[r].at[e] - center.line[r].at[e];
      change = add_differences(change, a_.weight[2], below, above);
      below = above;
    }
  if (with_sides && sides_.changes_z(k)) [[unlikely]]
    sides_.template change_z<level == 0>(k, center, next);
#pragma unroll
  for (int r = 0; r < lines; ++r)
#pragma unroll
    for (int e = 0; e < width; ++e) next.line[r].at[e] += center.line[r].at[e];
  return next;
}

template <class T, bool aligned, bool with_sides>
__device__ void March<T, aligned, with_sides>::store(Plane const& plane, int k) const {
  if (k < first_plane_ || k >= last_plane_) return;
  T* line = a_.out + sides_.spot.i + a_.points[0] * (sides_.spot.j + a_.points[1] * k);
#pragma unroll
  for (int r = 0; r < lines; ++r, line += a_.points[0]) {
    if ((written_ >> r & 1u) == 0) continue;
    if constexpr (aligned) {
      *reinterpret_cast<Line*>(line) = plane.line[r];
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (sides_.spot.i + e < points(0)) line[e] = plane.line[r].at[e];
    }
  }
}

template <class T, bool aligned, bool with_sides>
__global__ void __launch_bounds__(warp_size*(most_groups + 1), 1)
    temporal_volume_kernel(__grid_constant__ DiffusionArguments<T> const a,
                           __grid_constant__ Work const work, bool imposed) {
  March<T, aligned, with_sides>(a, work, imposed).run();
}

constexpr int least_groups = 2 * steps / lines + 1;  // such that a tile has a line of its own

/// The blocks that take the least time: so many groups and planes each that the multiprocessors,
/// which take one block at a time, are busy for the fewest warps and planes, what tiles and marches
/// repeat of each other included. Those that the last blocks leave idle are busy with other passes where
/// these are beside, as long as all together fill the device.
template <class T>
Work share_out(Stream& stream, DiffusionArguments<T> const& a) {
  using Memory = Layout<T>;
  auto const shared = static_cast<int>(stream.device().capabilities().shared_bytes);
  long long const processors = stream.device().processors(), nz = a.made[1] - a.made[0];
  long long const columns = tiles(a.points[0], Memory::width);
  long long const x_tiles = tiles(columns - (is_open(a, 0) ? 2 * Memory::halo : 0), warp_size);
  Work best{};
  double least = 0;
  for (int groups = most_groups; groups >= least_groups; --groups) {
    if (Memory::bytes(a, groups) > shared) continue;
    long long const y_tiles = tiles(a.points[1], groups * lines - 2 * steps);
    for (long long rounds = 1; rounds <= 8; ++rounds) {
      long long z_tiles = rounds * processors / (x_tiles * y_tiles);
      z_tiles = z_tiles < 1 ? 1 : z_tiles > nz ? nz : z_tiles;
      long long const length = tiles(nz, z_tiles);
      z_tiles = tiles(nz, length);
      long long const blocks = x_tiles * y_tiles * z_tiles;
      double const turns = a.beside > 0
                               ? std::max(static_cast<double>(blocks) / processors, 1.0 / a.beside)
                               : static_cast<double>(tiles(blocks, processors));
      double const cost = turns * static_cast<double>(length + 2 * steps + 2) * (groups + 1);
      if (best.groups != 0 && cost >= least) continue;
      least = cost;
      best = {static_cast<unsigned>(x_tiles), static_cast<unsigned>(y_tiles),
              static_cast<unsigned>(z_tiles), groups, static_cast<int>(length)};
    }
  }
  return best;
}

template <class T, bool aligned, bool with_sides>
void launch(Stream& stream, DiffusionArguments<T> const& a, bool imposed) {
  Work const work = share_out(stream, a);
  int const bytes = Layout<T>::bytes(a, work.groups);
  auto const kernel = temporal_volume_kernel<T, aligned, with_sides>;
  allow_shared_bytes(kernel, static_cast<std::size_t>(bytes));
  kernel<<<work.x_tiles * work.y_tiles * work.z_tiles, warp_size*(work.groups + 1), bytes,
           native(stream)>>>(a, work, imposed);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil temporal_volume");
}

template <class T>
bool is_aligned(DiffusionArguments<T> const& a) {
  auto const aligned = [](T const* p) { return misalignment(p) == 0; };
  bool all = a.points[0] % vector_width<T> == 0 && aligned(a.in) && aligned(a.out);
  for (int axis = 1; axis < 3; ++axis)
    for (T const* values : a.side_value[axis]) all = all && aligned(values);
  return all;
}

}  // namespace

template <class T>
bool cuda_fits_volume(Device const& device, DiffusionArguments<T> const& a) {
  return Layout<T>::bytes(a, least_groups) <= static_cast<int>(device.capabilities().shared_bytes);
}

template <class T>
void cuda_temporal_volume(Stream& stream, DiffusionArguments<T> const& a, int wanted,
                          bool imposed) {
  check_pass(a, wanted, most_volume_steps);
  if (wanted == 1) return cuda_register_queue(stream, 3, a);
  for (long long points : a.points)
    if (points > longest_axis)
      throw std::invalid_argument("stencil: an axis of " + std::to_string(points) + " points, " +
                                  std::to_string(longest_axis) +
                                  " are the most that several steps at once take in 3D");
  bool const with_sides = is_open(a, 0) || is_open(a, 1) || is_open(a, 2);
  auto* const pass = is_aligned(a) ? with_sides ? launch<T, true, true> : launch<T, true, false>
                     : with_sides ? launch<T, false, true>
                                   : launch<T, false, false>;
  pass(stream, a, imposed);
}

template bool cuda_fits_volume(Device const&, DiffusionArguments<float> const&);
template bool cuda_fits_volume(Device const&, DiffusionArguments<double> const&);
template void cuda_temporal_volume(Stream&, DiffusionArguments<float> const&, int, bool);
template void cuda_temporal_volume(Stream&, DiffusionArguments<double> const&, int, bool);

}  // namespace gridstride::stencil
