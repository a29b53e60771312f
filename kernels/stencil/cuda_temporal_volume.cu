// Temporal blocking of the diffusion step in 3D: two steps in one pass over memory, and a second
// kernel for the few points that this leaves wrong.
//
// The pass. Level s is the grid after s steps: level 0 is read, level 2 is written. A block owns a
// tile of x and y and marches along z. When plane p of level 0 arrives, it computes plane p − 1 of
// level 1 and p − 2 of level 2: a level needs of the one below the plane that has just come, the
// one before, and what lies beside that one in x and y.
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
// Sides: all warps of the pass run the same few instructions, without a thought of sides. Code for
// a few warps alone has to be fetched for them alone while the others wait at the barrier: with the
// sides in it, the pass took three times as long. So what it writes within two points of a
// Dirichlet or Neumann side is wrong, and the kernel of temporal_volume_sides.cuh writes these
// points again.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/stencil/temporal.cuh"
#include "kernels/stencil/temporal_volume_sides.cuh"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::stencil {

namespace {

constexpr int steps = volume_steps;
constexpr int warp_size = 32;
constexpr unsigned whole_warp = 0xffffffffu;
constexpr int lines = 4;         // of a thread
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
  static constexpr int bytes(int groups) { return ring_bytes(groups) + (groups + 2) * group_bytes; }
};

/// What the blocks of the pass share out.
struct Work {
  unsigned x_tiles, y_tiles, z_tiles;
  int groups;  // warps of a block, without the border warp
  int length;  // planes that a block writes
};

/// The point that is read for index `at`: on a periodic axis the one that it repeats, else the
/// nearest.
template <class T>
__device__ int inside(DiffusionArguments<T> const& a, int axis, int at) {
  int const points = static_cast<int>(a.points[axis]);
  if (is_open(a, axis)) return max(0, min(at, points - 1));
  return static_cast<int>(wrapped_index(at, points));
}

template <int bytes>
__device__ void fetch(unsigned char* target, void const* source) {
#if __CUDA_ARCH__ >= 800
  begin_copy<bytes>(static_cast<unsigned>(__cvta_generic_to_shared(target)), source);
#else
  struct alignas(bytes) Element {
    unsigned words[bytes / 4];
  };
  *reinterpret_cast<Element*>(target) = *static_cast<Element const*>(source);
#endif
}

extern __shared__ __align__(16) unsigned char memory[];

/// One thread's part of a block's march.
template <class T, bool aligned>
class March {
 public:
  __device__ March(DiffusionArguments<T> const& a, Work const& work);
  __device__ void run();

 private:
  using Memory = Layout<T>;
  static constexpr int width = Memory::width, halo = Memory::halo;
  using Line = Vector<T, width>;
  struct Plane {
    Line line[lines];
  };

  __device__ int points(int axis) const { return static_cast<int>(a_.points[axis]); }
  __device__ void take_columns(Work const& work, int tile, bool border);
  __device__ void take_lines(Work const& work, int tile);

  /// Where element e of the thread's vectors is read along x, and line r along y.
  __device__ int x_of(int e) const {
    int const x = x_ + e;
    return x < points(0) ? x : is_open(a_, 0) ? points(0) - 1 : x - points(0);
  }
  __device__ int y_of(int r) const {
    static_assert(lines <= 4, "no index repeats more than once on an axis of three points");
    int const y = y_ + r;
    return y < points(1) ? y : is_open(a_, 1) ? points(1) - 1 : y - points(1);
  }

  __device__ void fetch_plane();
  template <int turn>
  __device__ void take_plane(int plane);
  template <int level, int turn>
  __device__ void climb(Plane const& fresh, int plane);
  template <int level, int turn>
  __device__ void publish(Plane const& plane) const;
  template <int level, int turn>
  __device__ Plane step(Plane const& fresh);
  __device__ void store(Plane const& plane, int k) const;

  DiffusionArguments<T> const& a_;
  int group_;                // the warp's, or in the border warp the thread's, of lines
  int i_, j_;                // of the first point, maybe beyond the grid
  int x_, y_;                // where that is read
  bool at_left_, at_right_;  // whether the neighbours along x are another warp's
  bool writes_;              // whether the warp writes anything
  unsigned written_;         // a bit for each of the thread's lines that it writes
  int first_plane_, last_plane_;
  int next_plane_;  // the next to fetch
  // Places in shared memory:
  int ring_step_, ring_end_;  // from one plane of the ring to the next; behind the last
  int take_, put_;            // of the thread's vectors of the plane to take, and to fetch
  int own_;                   // of its vector in its group's first line, of level 0, turn 0
  int seam_;                  // of the first elements of its column there

  Plane center_[steps], rise_[steps];  // of each level the last plane, and it less the one before
};

template <class T, bool aligned>
__device__ March<T, aligned>::March(DiffusionArguments<T> const& a, Work const& work) : a_(a) {
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
  first_plane_ = tile / work.y_tiles * work.length;
  last_plane_ = min(first_plane_ + work.length, points(2));
}

/// Finds the thread's column of vectors, and where it leaves what others need of it.
template <class T, bool aligned>
__device__ void March<T, aligned>::take_columns(Work const& work, int tile, bool border) {
  bool const open = is_open(a_, 0);
  int const lane = threadIdx.x % warp_size;
  int const columns = (points(0) + width - 1) / width;
  int const left = columns - (open ? 2 * halo : 0) - warp_size * tile;
  int const inner = left < 0 ? 0 : left < warp_size ? left : warp_size;  // not the border warp's
  int column = halo + lane, place = column, seam = halo;
  at_left_ = border || (lane == 0 && inner > 0);
  at_right_ = border || lane == inner - 1;
  bool writes = lane < inner;
  if (border) {
    int number = lane / work.groups;
    group_ = lane % work.groups;
    if (number >= 2 * halo) number = group_ = 0;  // does what lane 0 does
    bool const before = number < halo;
    column = before ? number : inner + number;
    place = before ? number : warp_size + number;
    seam = before || inner == 0 ? number : number + 1;
    writes = open && tile == (before ? 0 : static_cast<int>(work.x_tiles) - 1);
  }
  column += warp_size * tile - (open ? 0 : halo);
  i_ = column * width;
  written_ = writes && (!open || i_ < points(0));
  x_ = inside(a_, 0, i_);
  if (aligned && x_ == points(0) - 1) x_ = points(0) - width;
  int const group = Memory::ring_bytes(work.groups) + (group_ + 1) * Memory::group_bytes;
  own_ = group + 16 * place;
  seam_ = group + 2 * Memory::line_bytes + seam * Memory::seam_bytes;
}

/// Finds the thread's lines, and which of them are written.
template <class T, bool aligned>
__device__ void March<T, aligned>::take_lines(Work const& work, int tile) {
  bool const open = is_open(a_, 1);
  int const inner = lines * work.groups - 2 * steps;
  int const first = tile * inner - (open ? 0 : steps);
  j_ = first + group_ * lines;
  y_ = inside(a_, 1, j_);
  int const from = open && tile == 0 ? 0 : first + steps;
  bool const ends = open && tile == static_cast<int>(work.y_tiles) - 1;
  int const until = ends ? points(1) : min(first + steps + inner, points(1));
  bool const writes = written_ != 0;
  written_ = 0;
  for (int r = 0; r < lines; ++r)
    if (writes && j_ + r >= from && j_ + r < until) written_ |= 1u << r;
  writes_ = __any_sync(whole_warp, written_ != 0);
}

template <class T, bool aligned>
__device__ void March<T, aligned>::run() {
  int const begin = first_plane_ - steps < 0 && is_open(a_, 2) ? 0 : first_plane_ - steps;
  next_plane_ = inside(a_, 2, begin);
#pragma unroll
  for (int ahead = 0; ahead < ring_planes - 1; ++ahead) fetch_plane();
  for (int plane = begin; plane < last_plane_ + steps; plane += 2) {
    take_plane<0>(plane);
    take_plane<1>(plane + 1);
  }
}

/// Begins to copy the thread's vectors of the next plane of level 0.
template <class T, bool aligned>
__device__ void March<T, aligned>::fetch_plane() {
  unsigned char* const target = memory + put_;
  T const* const plane = a_.in + a_.points[0] * a_.points[1] * next_plane_;
#pragma unroll(aligned ? lines : 1)
  for (int r = 0; r < lines; ++r) {
    T const* const line = plane + a_.points[0] * y_of(r);
    if constexpr (aligned) {
      fetch<16>(target + r * 16 * warp_size, line + x_);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e)
        fetch<sizeof(T)>(target + r * 16 * warp_size + e * sizeof(T), line + x_of(e));
    }
  }
  close_group();
  put_ += ring_step_;
  if (put_ >= ring_end_) put_ -= ring_end_;
  if (++next_plane_ == points(2)) next_plane_ = is_open(a_, 2) ? points(2) - 1 : 0;
}

/// Plane number `plane` of level 0 has come: every level goes on by a plane.
template <class T, bool aligned>
template <int turn>
__device__ void March<T, aligned>::take_plane(int plane) {
  await_groups<ring_planes - 2>();
  Plane fresh;
#pragma unroll
  for (int r = 0; r < lines; ++r)
    fresh.line[r] = *reinterpret_cast<Line const*>(memory + take_ + r * 16 * warp_size);
  take_ += ring_step_;
  if (take_ >= ring_end_) take_ -= ring_end_;
  fetch_plane();
  climb<0, turn>(fresh, plane);
  __syncthreads();
}

/// Given a plane of `level`, computes the plane below it of the next level, and so on.
template <class T, bool aligned>
template <int level, int turn>
__device__ void March<T, aligned>::climb(Plane const& fresh, int plane) {
  if constexpr (level == steps) {
    store(fresh, plane);
  } else {
    publish<level, turn>(fresh);
    if (level == steps - 1 && !writes_) return;
    Plane const next = step<level, turn>(fresh);
    center_[level] = fresh;
    climb<level + 1, turn>(next, plane - 1);
  }
}

/// Leaves for others what they need of a plane of `level`.
template <class T, bool aligned>
template <int level, int turn>
__device__ void March<T, aligned>::publish(Plane const& plane) const {
  unsigned char* const own = memory + own_ + (2 * level + turn) * Memory::turn_bytes;
  *reinterpret_cast<Line*>(own) = plane.line[0];
  *reinterpret_cast<Line*>(own + Memory::line_bytes) = plane.line[lines - 1];
  T* const seam = reinterpret_cast<T*>(memory + seam_ + (2 * level + turn) * Memory::turn_bytes);
#pragma unroll
  for (int r = 0; r < lines; ++r) {
    if (at_left_) seam[r] = plane.line[r].at[0];
    if (at_right_) seam[lines + r] = plane.line[r].at[width - 1];
  }
}

/// A plane of level + 1, from the one of `level` below it, the one beside it, and the one above it,
/// `fresh`.
template <class T, bool aligned>
template <int level, int turn>
__device__ auto March<T, aligned>::step(Plane const& fresh) -> Plane {
  constexpr int before = 2 * level + 1 - turn;  // where the last plane was left
  unsigned char const* const own = memory + own_ + before * Memory::turn_bytes;
  Line const under = *reinterpret_cast<Line const*>(own + Memory::line_bytes - Memory::group_bytes);
  Line const over = *reinterpret_cast<Line const*>(own + Memory::group_bytes);
  T const* const seam = reinterpret_cast<T const*>(memory + seam_ + before * Memory::turn_bytes);
  Plane const& center = center_[level];
  Plane next;
#pragma unroll
  for (int r = 0; r < lines; ++r) {
    Line const& c = center.line[r];
    Line const& lower = r > 0 ? center.line[r > 0 ? r - 1 : 0] : under;
    Line const& upper = r < lines - 1 ? center.line[r < lines - 1 ? r + 1 : 0] : over;
    T left = __shfl_up_sync(whole_warp, c.at[width - 1], 1);
    T right = __shfl_down_sync(whole_warp, c.at[0], 1);
    if (at_left_) left = seam[r - lines];
    if (at_right_) right = seam[r + 2 * lines];
#pragma unroll
    for (int e = 0; e < width; ++e) {
      T const before_x = e > 0 ? c.at[e > 0 ? e - 1 : 0] : left;
      T const after_x = e < width - 1 ? c.at[e < width - 1 ? e + 1 : 0] : right;
      T& below = rise_[level].line[r].at[e];
      T const above = fresh.line[r].at[e] - c.at[e];
      T change = add_axis(T(0), a_.weight[0], before_x, c.at[e], after_x);
      change = add_axis(change, a_.weight[1], lower.at[e], c.at[e], upper.at[e]);
      change = add_differences(change, a_.weight[2], below, above);
      next.line[r].at[e] = c.at[e] + change;
      below = above;
    }
  }
  return next;
}

template <class T, bool aligned>
__device__ void March<T, aligned>::store(Plane const& plane, int k) const {
  if (k < first_plane_ || k >= last_plane_) return;
  T* line = a_.out + i_ + a_.points[0] * (j_ + a_.points[1] * k);
#pragma unroll
  for (int r = 0; r < lines; ++r, line += a_.points[0]) {
    if ((written_ >> r & 1u) == 0) continue;
    if constexpr (aligned) {
      *reinterpret_cast<Line*>(line) = plane.line[r];
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e)
        if (i_ + e < points(0)) line[e] = plane.line[r].at[e];
    }
  }
}

template <class T, bool aligned>
__global__ void __launch_bounds__(warp_size*(most_groups + 1), 1)
    temporal_volume_kernel(__grid_constant__ DiffusionArguments<T> const a,
                           __grid_constant__ Work const work) {
  March<T, aligned>(a, work).run();
}

/// The blocks that take the least time: so many groups and planes each that the multiprocessors,
/// which take one block at a time, are busy for the fewest warps and planes, what tiles and marches
/// repeat of each other included.
template <class T>
Work share_out(Stream& stream, DiffusionArguments<T> const& a) {
  using Memory = Layout<T>;
  int shared = 0;
  GRIDSTRIDE_CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                         stream.device().ordinal()));
  auto const overlap = [&](int axis, int size) { return is_open(a, axis) ? size : 0; };
  long long const processors = stream.device().processors(), nz = a.points[2];
  long long const columns = tiles(a.points[0], Memory::width);
  long long const x_tiles = tiles(columns - overlap(0, 2 * Memory::halo), warp_size);
  Work best{};
  double least = 0;
  for (int groups = most_groups; groups * lines > 2 * steps; --groups) {
    if (Memory::bytes(groups) > shared) continue;
    long long const y_tiles =
        tiles(a.points[1] - overlap(1, 2 * steps), groups * lines - 2 * steps);
    for (long long rounds = 1; rounds <= 8; ++rounds) {
      long long z_tiles = rounds * processors / (x_tiles * y_tiles);
      z_tiles = z_tiles < 1 ? 1 : z_tiles > nz ? nz : z_tiles;
      long long const length = tiles(nz, z_tiles);
      z_tiles = tiles(nz, length);
      double const cost = static_cast<double>(tiles(x_tiles * y_tiles * z_tiles, processors)) *
                          static_cast<double>(length + 2 * steps + 2) * (groups + 1);
      if (best.groups != 0 && cost >= least) continue;
      least = cost;
      best = {static_cast<unsigned>(x_tiles), static_cast<unsigned>(y_tiles),
              static_cast<unsigned>(z_tiles), groups, static_cast<int>(length)};
    }
  }
  return best;
}

template <class T, bool aligned>
void launch(Stream& stream, DiffusionArguments<T> const& a) {
  Work const work = share_out(stream, a);
  int const bytes = Layout<T>::bytes(work.groups);
  auto const kernel = temporal_volume_kernel<T, aligned>;
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<work.x_tiles * work.y_tiles * work.z_tiles, warp_size*(work.groups + 1), bytes,
           native(stream)>>>(a, work);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil temporal_volume");
  write_sides(stream, a);
}

template <class T>
bool is_aligned(DiffusionArguments<T> const& a) {
  auto const aligned = [](void const* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  return a.points[0] * sizeof(T) % 16 == 0 && aligned(a.in) && aligned(a.out);
}

}  // namespace

template <class T>
void cuda_temporal_volume(Stream& stream, DiffusionArguments<T> const& a, int wanted) {
  check_pass(a, wanted, most_volume_steps);
  if (wanted == 1) return cuda_register_queue(stream, 3, a);
  for (long long points : a.points)
    if (points > longest_axis)
      throw std::invalid_argument("stencil: an axis of " + std::to_string(points) + " points, " +
                                  std::to_string(longest_axis) +
                                  " are the most that several steps at once take in 3D");
  if (is_aligned(a))
    launch<T, true>(stream, a);
  else
    launch<T, false>(stream, a);
}

template void cuda_temporal_volume(Stream&, DiffusionArguments<float> const&, int);
template void cuda_temporal_volume(Stream&, DiffusionArguments<double> const&, int);

}  // namespace gridstride::stencil
