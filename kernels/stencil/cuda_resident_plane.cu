// The rung `resident` of the ladder in cuda.cu, for planes; cuda_resident_line.cu has that for
// lines.
//
// A small grid is done with a step before the next kernel has started: 256² points of float32 are
// half a megabyte to move, and a launch takes more than a microsecond, also from a graph. So one
// kernel does all steps, and keeps the grid where it is computed, in registers. One cluster of 16
// blocks holds it, whose blocks write into each other's shared memory, in a fraction of the time
// that a way through global memory takes.
//
// Thread-to-data: a block has neighbouring lines of the grid, a warp two of them, a lane `width`
// neighbouring points of each, so that a warp spans the whole line: 32·width points at most. x
// neighbours come by shuffle. Each step, a warp puts its first and last line into shared memory,
// the block meets, and the warps above and below read them. Two sets of these borders alternate, so
// that one barrier a step is enough.
//
// A block also computes `depth` lines beyond its own on either side, one less in each step, so that
// blocks need each other only every `depth` steps: then each sends its outermost lines to the
// blocks beside with st.async, data and signal in one. Two sets of these halos and their barriers
// alternate: a block sends what comes two exchanges later only after it has the one between, which
// the block beside sends after all its warps have read the first.
//
// Arithmetic: 7 instructions a point and step, for 16 multiprocessors 0.12 µs for 256² points of
// float32; the lines beyond the own ones, 1 + (depth − 1)/own lines times as much, are the price of
// fewer exchanges. Points on Dirichlet sides keep what the step before this kernel gave them.

#include <cooperative_groups.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/stencil/resident.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::stencil {

namespace {

using namespace resident;

constexpr int most_warps = 16;  // of a block
constexpr int lines = 2;        // of a warp

/// How the lines of a plane are shared out.
struct Cut {
  int steps;  // of this kernel
  int depth;  // of them between two exchanges
};

/// The lines of a block: its own, and those above and below that it computes as well.
struct Tile {
  int above, own, below;
  int height;       // all of them
  long long first;  // line of the grid that is the first of the tile
};

template <class T>
__device__ Tile tile_of(DiffusionArguments<T> const& a, int rank, int blocks, int depth) {
  bool const periodic = a.side[1][0] == SideRule::periodic;
  long long const first = a.points[1] * rank / blocks, end = a.points[1] * (rank + 1) / blocks;
  Tile tile;
  tile.above = periodic || rank > 0 ? depth : 0;
  tile.below = periodic || rank + 1 < blocks ? depth : 0;
  tile.own = static_cast<int>(end - first);
  tile.height = tile.above + tile.own + tile.below;
  tile.first = first - tile.above;
  return tile;
}

/// A line of 32·width points in shared memory. A warp moves it in pieces of 16 bytes a lane,
/// without bank conflicts.
template <class T, int width>
struct Line {
  static constexpr int bytes = warp_size * width * static_cast<int>(sizeof(T));
  static constexpr int points = vector_width<T>;  // of a piece
  using Piece = Vector<T, points>;

  static __device__ Piece piece_of(T const (&u)[width], int p) {
    Piece piece;
#pragma unroll
    for (int e = 0; e < points; ++e) piece.at[e] = u[p * points + e];
    return piece;
  }
  static __device__ unsigned place(unsigned line, int p) {
    return line + 16 * static_cast<unsigned>(p * warp_size + lane_index());
  }
  static __device__ void store(unsigned line, T const (&u)[width]) {
#pragma unroll
    for (int p = 0; p < width / points; ++p)
      store_shared(place(line, p), __builtin_bit_cast(uint4, piece_of(u, p)));
  }
  /// To another block, whose `barrier` counts the bytes.
  static __device__ void send(unsigned line, T const (&u)[width], unsigned barrier) {
#pragma unroll
    for (int p = 0; p < width / points; ++p)
      resident::send(place(line, p), __builtin_bit_cast(uint4, piece_of(u, p)), barrier);
  }
  static __device__ void load(unsigned line, T (&u)[width]) {
#pragma unroll
    for (int p = 0; p < width / points; ++p) {
      auto const piece = __builtin_bit_cast(Piece, load_shared(place(line, p)));
#pragma unroll
      for (int e = 0; e < points; ++e) u[p * points + e] = piece.at[e];
    }
  }
};

/// Where things are in a block's shared memory: two borders of each warp in each of two sets, halos
/// above and below in each of two sets, and ∂u/∂n on the sides normal to y.
template <class T, int width>
struct Memory {
  using L = Line<T, width>;
  unsigned begin;
  int warps, depth;

  __device__ unsigned line(int number) const {
    return begin + static_cast<unsigned>(number * L::bytes);
  }
  __device__ unsigned border_set() const { return static_cast<unsigned>(2 * warps * L::bytes); }
  __device__ unsigned border(int warp, int which) const { return line(2 * warp + which); }
  __device__ unsigned halo(int set, int which) const {
    return line(4 * warps + (2 * set + which) * depth);
  }
  __device__ unsigned derivatives(int which) const { return line(4 * (warps + depth) + which); }

  static std::size_t bytes(int warps, int depth) {
    return static_cast<std::size_t>(L::bytes) * static_cast<std::size_t>(4 * (warps + depth) + 2);
  }
};

/// A warp's lines.
template <class T, int width>
struct Strip {
  T u[lines][width];
  T derivative[lines];  // at the end of the line that the lane has, on a Neumann side
};

/// Which of a warp's lines are on sides of the grid; −1 for none.
struct Sides {
  int lower, upper;
  bool keeps_lower, keeps_upper;  // u is given there
};

template <class T>
__device__ Sides sides_of(DiffusionArguments<T> const& a, Tile const& tile, int first_line) {
  auto const within = [&](int line) {
    return line >= first_line && line < first_line + lines ? line - first_line : -1;
  };
  return {tile.above == 0 ? within(0) : -1, tile.below == 0 ? within(tile.height - 1) : -1,
          a.side[1][0] == SideRule::dirichlet, a.side[1][1] == SideRule::dirichlet};
}

/// Whether what x changes is computed before the block meets, which hides waiting; wider strips
/// have no registers for that.
template <class T, int width>
constexpr bool x_first = lines* width * sizeof(T) <= 64;

/// What a warp computes before it knows the lines above and below.
template <bool ragged, class T, int width>
__device__ void begin_step(DiffusionArguments<T> const& a, Strip<T, width> const& strip,
                           LineEnds const& ends, T (&change)[lines][width]) {
  if constexpr (x_first<T, width>) {
#pragma unroll
    for (int l = 0; l < lines; ++l)
      change_along_x<ragged>(a, strip.u[l], ends, strip.derivative[l], change[l]);
  }
}

/// Makes the step from what `begin_step` has left, and the lines `above` and `below` in shared
/// memory. On a side normal to y, `derivatives` is the line of ∂u/∂n.
template <bool ragged, bool on_side, class T, int width>
__device__ void finish_step(DiffusionArguments<T> const& a, Strip<T, width>& strip,
                            LineEnds const& ends, T (&changes)[lines][width], unsigned above,
                            unsigned below, Sides const& sides, Memory<T, width> const& memory) {
  T before[width], after[width];  // the lines above and below a line, before their step
  Line<T, width>::load(above, before);
#pragma unroll
  for (int l = 0; l < lines; ++l) {
    T(&u)[width] = strip.u[l];
    T(&change)[width] = changes[x_first<T, width> ? l : 0];
    if constexpr (!x_first<T, width>)
      change_along_x<ragged>(a, u, ends, strip.derivative[l], change);
    if (l == lines - 1) {
      Line<T, width>::load(below, after);
    } else {
#pragma unroll
      for (int e = 0; e < width; ++e) after[e] = strip.u[l < lines - 1 ? l + 1 : l][e];
    }
    bool const on_lower = on_side && l == sides.lower, on_upper = on_side && l == sides.upper;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      T lower = before[e], upper = after[e];
      if (on_lower) lower = upper;
      if (on_upper) upper = lower;
      before[e] = u[e];
      change[e] = add_axis(change[e], a.weight[1], lower, u[e], upper);
    }
    if (on_lower || on_upper) {
      if (on_lower ? sides.keeps_lower : sides.keeps_upper) continue;
      T derivatives[width];
      Line<T, width>::load(memory.derivatives(on_lower ? 0 : 1), derivatives);
#pragma unroll
      for (int e = 0; e < width; ++e)
        change[e] = add_side(change[e], a.side_weight[1], derivatives[e]);
    }
    update_line<ragged>(u, change, ends);
  }
}

/// Reads a warp's lines, and ∂u/∂n at the ends of them; the first warp also fills the lines of
/// ∂u/∂n in shared memory.
template <class T, int width>
__device__ void read_strip(DiffusionArguments<T> const& a, Tile const& tile, int first,
                           LineEnds const& ends, Memory<T, width> const& memory,
                           Strip<T, width>& strip) {
  int const first_point = lane_index() * width;
#pragma unroll
  for (int l = 0; l < lines; ++l) {
    bool const exists = first + l < tile.height;
    long long const j = (tile.first + first + l + a.points[1]) % a.points[1];
#pragma unroll
    for (int e = 0; e < width; ++e) {
      int const i = first_point + e;
      strip.u[l][e] = exists && i < a.points[0] ? a.out[j * a.points[0] + i] : T(0);
    }
    strip.derivative[l] = 0;
    if (exists && ends.mirrors())
      strip.derivative[l] = a.side_value[0][ends.mirrors_first ? 0 : 1][j];
  }
  if (warp_index() > 0 || a.side[1][0] == SideRule::periodic) return;
  for (int side = 0; side < 2; ++side) {
    T derivatives[width];
#pragma unroll
    for (int e = 0; e < width; ++e) {
      int const i = first_point + e;
      derivatives[e] = i < a.points[0] ? a.side_value[1][side][i] : T(0);
    }
    Line<T, width>::store(memory.derivatives(side), derivatives);
  }
}

/// Writes those of a warp's lines that are the block's own.
template <class T, int width>
__device__ void write_strip(DiffusionArguments<T> const& a, Tile const& tile, int first,
                            Strip<T, width> const& strip) {
#pragma unroll
  for (int l = 0; l < lines; ++l) {
    int const line = first + l;
    if (line < tile.above || line >= tile.above + tile.own) continue;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      int const i = lane_index() * width + e;
      if (i < a.points[0]) a.out[(tile.first + line) * a.points[0] + i] = strip.u[l][e];
    }
  }
}

#if __CUDA_ARCH__ >= 900

/// A block's way of trading its outermost lines for its halos.
template <class T, int width>
struct Exchange {
  using L = Line<T, width>;
  Memory<T, width> memory;
  unsigned barriers;      // one for each set
  unsigned above, below;  // blocks
  int bytes;              // that come in an exchange

  __device__ Exchange(Memory<T, width> const& m, std::uint64_t const* own_barriers,
                      Tile const& tile, int rank, int blocks)
      : memory(m),
        barriers(shared_address(own_barriers)),
        above(static_cast<unsigned>((rank + blocks - 1) % blocks)),
        below(static_cast<unsigned>((rank + 1) % blocks)),
        bytes((tile.above + tile.below) * L::bytes) {}

  __device__ unsigned barrier(int set) const {
    return barriers + static_cast<unsigned>(set * sizeof(std::uint64_t));
  }
  __device__ void arm(int set) const { barrier_arrive_expecting(barrier(set), bytes); }

  __device__ void send(Strip<T, width> const& strip, Tile const& tile, int first, int set) const {
    unsigned const halo_above = address_in(memory.halo(set, 1), above);
    unsigned const halo_below = address_in(memory.halo(set, 0), below);
    unsigned const barrier_above = address_in(barrier(set), above);
    unsigned const barrier_below = address_in(barrier(set), below);
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      int const from_first = first + l - tile.above;
      int const from_last = from_first - tile.own + memory.depth;
      if (tile.above > 0 && from_first >= 0 && from_first < memory.depth)
        L::send(halo_above + static_cast<unsigned>(from_first * L::bytes), strip.u[l],
                barrier_above);
      if (tile.below > 0 && from_last >= 0 && from_last < memory.depth)
        L::send(halo_below + static_cast<unsigned>(from_last * L::bytes), strip.u[l],
                barrier_below);
    }
  }

  /// `parity` is that of the set's uses before this one.
  __device__ void receive(Strip<T, width>& strip, Tile const& tile, int first, int set,
                          unsigned parity) const {
    barrier_wait_for_cluster(barrier(set), parity);
    if (threadIdx.x == 0) arm(set);
#pragma unroll
    for (int l = 0; l < lines; ++l) {
      int const line = first + l, beyond = line - tile.above - tile.own;
      if (line < tile.above)
        L::load(memory.halo(set, 0) + static_cast<unsigned>(line * L::bytes), strip.u[l]);
      if (beyond >= 0 && beyond < tile.below)
        L::load(memory.halo(set, 1) + static_cast<unsigned>(beyond * L::bytes), strip.u[l]);
    }
  }
};

#endif

template <class T, int width, bool ragged>
__global__ void __launch_bounds__(warp_size* most_warps, 1)
    plane_kernel(__grid_constant__ DiffusionArguments<T> const a, __grid_constant__ Cut const cut) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  __shared__ std::uint64_t barriers[2];
  auto const cluster = cooperative_groups::this_cluster();
  int const rank = static_cast<int>(cluster.block_rank());
  int const blocks = static_cast<int>(cluster.num_blocks());
  int const warps = static_cast<int>(blockDim.x) / warp_size, warp = warp_index();
  Memory<T, width> const memory{shared_address(dynamic_shared), warps, cut.depth};

  Tile const tile = tile_of(a, rank, blocks, cut.depth);
  bool const has_neighbours = tile.above + tile.below > 0;
  Exchange<T, width> const exchange(memory, barriers, tile, rank, blocks);
  if (threadIdx.x == 0) {
    for (int set = 0; set < 2; ++set) barrier_init(exchange.barrier(set), 1);
    publish_barriers();
    for (int set = 0; has_neighbours && set < 2; ++set) exchange.arm(set);
  }
  int const first = warp * lines;
  Sides const sides = sides_of(a, tile, first);
  bool const on_side = sides.lower >= 0 || sides.upper >= 0;
  int const last = static_cast<int>(a.points[0]) - 1;
  LineEnds const ends = line_ends(a, 0, last / width, last % width);
  Strip<T, width> strip;
  read_strip(a, tile, first, ends, memory, strip);
  cluster.sync();  // nobody writes before all have read, nor sends to a block that is not there

  // So many steps after an exchange, none of the warp's lines is right any more.
  int const until_above = tile.above > 0 ? first + lines : cut.steps + 1;
  int const until_below = tile.below > 0 ? tile.height - first : cut.steps + 1;
  int const good = first < tile.height ? min(until_above, until_below) : 0;
  unsigned const own = memory.border(warp, 0);
  // The outermost warps read what is not used.
  unsigned const above = memory.border(max(warp - 1, 0), 1);
  unsigned const below = memory.border(min(warp + 1, warps - 1), 0);
  unsigned border_set = 0;
  auto const make_step = [&](int before) {
    T change[lines][width];
    bool const computes = before + 1 < good;
    if (before < good) {
      Line<T, width>::store(own + border_set, strip.u[0]);
      Line<T, width>::store(own + border_set + Line<T, width>::bytes, strip.u[lines - 1]);
    }
    if (computes) begin_step<ragged>(a, strip, ends, change);
    __syncthreads();
    if (!computes) return;
    if (on_side)
      finish_step<ragged, true>(a, strip, ends, change, above + border_set, below + border_set,
                                sides, memory);
    else
      finish_step<ragged, false>(a, strip, ends, change, above + border_set, below + border_set,
                                 sides, memory);
  };

  int left = cut.steps;
  for (unsigned number = 0;; ++number) {
    int const count = has_neighbours ? min(left, cut.depth) : left;
#pragma unroll 1
    for (int s = 0; s < count; ++s) {
      make_step(s);
      border_set = memory.border_set() - border_set;
    }
    left -= count;
    if (left == 0) break;
    int const set = static_cast<int>(number % 2);
    exchange.send(strip, tile, first, set);
    exchange.receive(strip, tile, first, set, number / 2 % 2);
  }
  write_strip(a, tile, first, strip);
#endif
}

// ----------------------------------------------------------------------------------- the host

template <class T>
using PlaneKernel = void(DiffusionArguments<T>, Cut);

/// A kernel for lines of up to 32·width points.
template <class T>
struct Shape {
  int width;
  int depth;             // at most
  PlaneKernel<T>* even;  // where the width divides the points of a line
  PlaneKernel<T>* ragged;
  bool (*can_hold)(Device const&, Layout const& most);
  std::size_t (*shared_bytes)(int warps, int depth);
};

template <class T, int width>
constexpr Shape<T> make_shape(int depth) {
  return {width,
          depth,
          plane_kernel<T, width, false>,
          plane_kernel<T, width, true>,
          [](Device const& device, Layout const& most) {
            return can_hold_on<plane_kernel<T, width, false>>(device, most) &&
                   can_hold_on<plane_kernel<T, width, true>>(device, most);
          },
          Memory<T, width>::bytes};
}

/// The depths are the fastest of 4 and 8, measured on an H200.
template <class T>
std::span<Shape<T> const> shapes() {
  if constexpr (sizeof(T) == 4) {
    static constexpr Shape<T> table[] = {make_shape<T, 4>(8), make_shape<T, 8>(4)};
    return table;
  } else {
    static constexpr Shape<T> table[] = {make_shape<T, 2>(8), make_shape<T, 4>(4),
                                         make_shape<T, 8>(4)};
    return table;
  }
}

/// How a plane lies on a cluster.
template <class T>
struct Plan {
  Shape<T> const* shape;  // null where it does not fit
  int blocks, warps, depth;
};

template <class T>
Plan<T> plan_for(long long const (&points)[3]) {
  constexpr int least_own = 4;  // lines of a block
  auto const blocks = std::min<long long>(points[1] / least_own, most_blocks);
  if (blocks < 2) return {};  // a block cannot send to itself
  auto const own_least = points[1] / blocks, own_most = (points[1] + blocks - 1) / blocks;
  for (auto const& shape : shapes<T>()) {
    bool const too_narrow = points[0] <= shape.width;  // a lane would have both ends
    if (too_narrow || points[0] > warp_size * shape.width) continue;
    auto const depth = std::min<long long>(own_least, shape.depth);
    auto const warps = (own_most + 2 * depth + lines - 1) / lines;
    if (warps > most_warps) continue;
    return {&shape, static_cast<int>(blocks), static_cast<int>(warps), static_cast<int>(depth)};
  }
  return {};
}

}  // namespace

template <class T>
bool cuda_fits_plane(Device const& device, long long const (&points)[3]) {
  auto const* const shape = plan_for<T>(points).shape;
  return shape != nullptr &&
         shape->can_hold(device,
                         {most_blocks, most_warps, shape->shared_bytes(most_warps, shape->depth)});
}

template <class T>
void cuda_resident_plane(Stream& stream, DiffusionArguments<T> const& a, int steps) {
  auto const [shape, blocks, warps, depth] = plan_for<T>(a.points);
  auto* const kernel = a.points[0] % shape->width == 0 ? shape->even : shape->ragged;
  launch(stream, kernel, Layout{blocks, warps, shape->shared_bytes(warps, depth)}, a,
         Cut{steps, depth});
}

#define GRIDSTRIDE_INSTANTIATE(T)                                               \
  template bool cuda_fits_plane<T>(Device const&, long long const(&points)[3]); \
  template void cuda_resident_plane(Stream&, DiffusionArguments<T> const&, int);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil
