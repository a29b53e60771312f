// The pass along x: lines lie in rows of memory.
//
// Thread-to-data: a line belongs to one warp for each 4 KiB of it, 128 bytes to a thread in
// registers, and a block's warps march in step through strips of lines. A line's right-hand side
// needs the lines below and above: what the one adds is still in registers, the other arrives. Warps
// bring what they need themselves, two lines ahead, through shared memory, where the 16-byte pieces of a
// thread lie turned by its number, so that neither rows nor columns of them meet in a bank; what they
// make of it goes the same way back. Of each line warps exchange their sums: one barrier. With
// d = (1 − L_x) v, (1 + L_x) v is 2v − d, so that the other pass has nothing to do along x.
//
// Bytes, of n unknowns: 2·n·sizeof(T). The roof is the copy bandwidth.

#include "kernels/stencil/alternating.cuh"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"

namespace gridstride::stencil {

namespace {

constexpr int most_threads = 512, slots = 3, pieces = 8;

template <class T>
constexpr int width = piece_bytes / static_cast<int>(sizeof(T));
template <class T>
constexpr int chunk_rows = rows_of_thread<T>(0);
template <class T>
constexpr int warp_rows = rows_of_warp<T>;
static_assert(pieces * width<double> == chunk_rows<double>);

/// Where a piece of a warp's 256 lies.
__device__ int place_of(int piece) { return piece ^ (piece >> 3 & 7); }

template <class T>
struct alignas(piece_bytes) Piece {
  T at[width<T>];
};

/// What the warps of a block know of one line each: sums, and what is at the ends.
template <class T>
struct Sums {
  T forward[most_threads / 32], backward[most_threads / 32];
  T first[most_threads / 32], last[most_threads / 32], z_last[most_threads / 32];
};

/// A warp's part of a line.
template <class T>
struct Part {
  LineSweep<T> const& sweep;
  T* memory;
  std::int64_t base;  ///< of the line, its first unknown
  int lane, count;

  __device__ void bring(std::int64_t line, int slot) const {
    T const* const from = sweep.in + line_at(sweep, line) * sweep.size + base;
    T* const to = memory + slot * warp_rows<T>;
    auto const address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    if (sweep.vectors) {
#pragma unroll
      for (int i = 0; i < pieces; ++i) {
        int const piece = i * 32 + lane;
        if (piece * width<T> < count)
          begin_copy<piece_bytes>(address + place_of(piece) * piece_bytes, from + piece * width<T>);
      }
    } else {
      for (int i = lane; i < count; i += 32)
        begin_copy<sizeof(T)>(
            address + place_of(i / width<T>) * piece_bytes + i % width<T> * sizeof(T), from + i);
    }
  }

  __device__ Piece<T>& piece(int slot, int i) const {
    return reinterpret_cast<Piece<T>*>(memory + slot * warp_rows<T>)[place_of(i)];
  }

  /// The line beside one at a Neumann side is its mirror image, and what the derivative adds.
  __device__ void add_slope(int slot, int side) const {
    if (sweep.sides[side] != SideRule::neumann) return;
    for (int i = lane; i < count; i += 32) {
      T& value = piece(slot, i / width<T>).at[i % width<T>];
      value = multiply_add(sweep.side_weight, sweep.side_values[side][base + i], value);
    }
    __syncwarp();
  }

  __device__ void write(std::int64_t line, int slot) const {
    T* const to = sweep.out + line * sweep.size + base;
    if (sweep.vectors) {
#pragma unroll
      for (int i = 0; i < pieces; ++i) {
        int const p = i * 32 + lane;
        if (p * width<T> < count) *reinterpret_cast<Piece<T>*>(to + p * width<T>) = piece(slot, p);
      }
    } else {
      for (int i = lane; i < count; i += 32) to[i] = piece(slot, i / width<T>).at[i % width<T>];
    }
  }
};

/// What a line has, and what one beside it adds.
template <class T>
__device__ T with_beside(LineSweep<T> const& sweep, T here, T beside) {
  return multiply_add(sweep.beside, beside, product(sweep.center, here));
}

/// `plain`: lines by themselves; out = v, and what `in` has at a Dirichlet end is v there; without what Neumann ends let in.
template <bool whole, bool plain, class T>
__global__ void __launch_bounds__(most_threads, 1)
    rows_kernel(__grid_constant__ LineSweep<T> const sweep, int teams, int height) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char rows_memory[];
  __shared__ Sums<T> all_sums[2];
  constexpr int rows = chunk_rows<T>;
  auto const& m = sweep.matrix;
  int const thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  int const team = warp / sweep.parts, part = warp % sweep.parts, lead = team * sweep.parts;
  std::int64_t const base = std::int64_t{part} * warp_rows<T>, k = base + lane * rows;
  std::int64_t const begin = (std::int64_t{blockIdx.x} * teams + team) * height;
  std::int64_t const left = sweep.lines - begin;
  int const lines = left < height ? static_cast<int>(left > 0 ? left : 0) : height;
  Part<T> const mine{
      sweep, reinterpret_cast<T*>(rows_memory) + warp * slots * warp_rows<T>, base, lane,
      static_cast<int>(sweep.size - base < warp_rows<T> ? sweep.size - base : warp_rows<T>)};
  bool const periodic = sweep.ends[0] == SideRule::periodic;
  bool const opens = k == 0, ends = k < sweep.size && k + rows >= sweep.size;
  int const end = ends ? sweep.last_row : -1;
  T const from_first = power(m, static_cast<double>(k));
  T const from_last =
      k + rows > sweep.size ? T{0} : power(m, static_cast<double>(sweep.size - k - rows));
  T const in_warp = power(m, lane * rows), to_warp_end = power(m, (31 - lane) * rows);

  auto const bring = [&](int line, int slot) {
    if (line <= lines && lines > 0) mine.bring(begin + line, slot);
    close_group();
  };
  bring(-1, 0);
  bring(0, 1);
  bring(1, 2);
  await_groups<1>();
  __syncwarp();
  if (begin == 0) mine.add_slope(0, 0);
  T known[rows];
#pragma unroll
  for (int i = 0; i < pieces; ++i) {
    auto const below = mine.piece(0, lane * pieces + i), here = mine.piece(1, lane * pieces + i);
#pragma unroll
    for (int j = 0; j < width<T>; ++j)
      known[i * width<T> + j] = with_beside(sweep, here.at[j], below.at[j]);
  }
  __syncwarp();
  bring(2, 0);

  // Of three slots one has the line, one that above it, and one waits for that above both.
  int slot = 1;
  for (int line = 0; line < height; ++line) {
    int const next = slot == 2 ? 0 : slot + 1;
    std::int64_t const y = begin + line;
    bool const live = line < lines;
    auto& sums = all_sums[line & 1];
    await_groups<1>();
    __syncwarp();
    if (live && y == sweep.lines - 1) mine.add_slope(next, 1);
    T e[rows];
#pragma unroll
    for (int i = 0; i < pieces; ++i) {
      auto const above = mine.piece(next, lane * pieces + i);
      auto& here = mine.piece(slot, lane * pieces + i);
#pragma unroll
      for (int j = 0; j < width<T>; ++j) {
        int const at = i * width<T> + j;
        e[at] = plain ? product(sweep.center, here.at[j])
                      : multiply_add(sweep.beside, above.at[j], known[at]);
        known[at] = with_beside(sweep, above.at[j], here.at[j]);
        here.at[j] = e[at];
      }
    }
    T first = 0, last = 0;
    if (!periodic && opens && live) {
      if (plain) {
        first = sweep.ends[0] == SideRule::neumann ? e[0] : product(m.root, e[0]);
      } else {
        first = sweep.end_values[0][y];
        if (sweep.ends[0] == SideRule::neumann) first = multiply_add(m.end_weight, first, e[0]);
      }
      e[0] = 0;
    }
    if (!periodic && ends && live) {
      if (!plain) last = sweep.end_values[1][y];
#pragma unroll
      for (int i = 0; i < rows; ++i)
        if (whole ? i == rows - 1 : i == end) {
          if (plain)
            last = sweep.ends[1] == SideRule::neumann ? e[i] : product(m.root, e[i]);
          else if (sweep.ends[1] == SideRule::neumann)
            last = multiply_add(m.end_weight, last, e[i]);
          e[i] = 0;
        }
    }
    if (whole ? k >= sweep.size : k + rows > sweep.size)
#pragma unroll
      for (int i = 0; i < rows; ++i)
        if (whole || k + i >= sweep.size) e[i] = 0;
    T forward, backward;
    sum_rows(m.q, e, forward, backward);
    auto const carries = sum_chunks(m.chunk_powers, forward, backward, lane, 32);
    if (lane == 31) sums.forward[warp] = carries.up_to;
    if (lane == 0) sums.backward[warp] = carries.from;
    if (opens) sums.first[team] = first;
    if (ends) {
      T at_end = forward;
      if (!whole) {
        at_end = 0;
#pragma unroll
        for (int i = 0; i < rows; ++i)
          if (i <= end) at_end = multiply_add(m.q, at_end, e[i]);
      }
      sums.last[team] = last;
      sums.z_last[team] = multiply_add(m.last_chunk, carries.before, at_end);
    }
    __syncthreads();

    bool const has = lane < sweep.parts;
    auto const parts = sum_chunks(m.part_powers, has ? sums.forward[lead + lane] : T{0},
                                  has ? sums.backward[lead + lane] : T{0}, lane, 32);
    constexpr unsigned all = 0xffffffffu;
    T const before = __shfl_sync(all, parts.before, part);
    T const after = __shfl_sync(all, parts.after, part);
    T const z_first = __shfl_sync(all, parts.from, 0);
    T const z_last = multiply_add(m.last_part, __shfl_sync(all, parts.before, sweep.parts - 1),
                                  sums.z_last[team]);
    auto const [alpha, beta] =
        ends_of(m, periodic, sums.first[team], sums.last[team], z_first, z_last);
    T const from_below = multiply_add(in_warp, before, carries.before);
    T const from_above = multiply_add(to_warp_end, after, carries.after);
    solve_rows<whole>(m, e, multiply_add(m.q, from_below, product(from_first, alpha)),
                      multiply_add(m.q, from_above, product(from_last, beta)), end, beta);
#pragma unroll
    for (int i = 0; i < pieces; ++i) {
      auto& piece = mine.piece(slot, lane * pieces + i);
#pragma unroll
      for (int j = 0; j < width<T>; ++j)
        piece.at[j] = plain ? e[i * width<T> + j]
                            : multiply_add(-m.root, piece.at[j], 2 * e[i * width<T> + j]);
    }
    __syncwarp();
    if (live) mine.write(y, slot);
    __syncwarp();
    bring(line + 3, slot);
    slot = next;
  }
#endif
}

template <bool whole, bool plain, class T>
void launch_rows(Stream& stream, LineSweep<T> const& sweep) {
  int const teams = most_threads / 32 / sweep.parts, threads = teams * sweep.parts * 32;
  std::int64_t const most = std::int64_t{stream.device().processors()} * teams;
  auto const height = static_cast<int>((sweep.lines + most - 1) / most);
  std::int64_t const lines_of_block = std::int64_t{height} * teams;
  auto const blocks = static_cast<unsigned>((sweep.lines + lines_of_block - 1) / lines_of_block);
  std::size_t const bytes = sizeof(T) * slots * warp_rows<T> * (threads / 32);
  auto* const kernel = rows_kernel<whole, plain, T>;
  allow_shared_bytes(kernel, bytes);
  kernel<<<blocks, threads, bytes, native(stream)>>>(sweep, teams, height);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil alternating rows");
}

}  // namespace

template <class T>
void cuda_alternating_rows(Stream& stream, LineSweep<T> const& sweep) {
  if (sweep.last_row + 1 == chunk_rows<T>)
    launch_rows<true, false>(stream, sweep);
  else
    launch_rows<false, false>(stream, sweep);
}

template <class T>
void cuda_solve_rows(Stream& stream, LineSweep<T> const& sweep) {
  if (sweep.last_row + 1 == chunk_rows<T>)
    launch_rows<true, true>(stream, sweep);
  else
    launch_rows<false, true>(stream, sweep);
}

template void cuda_alternating_rows(Stream&, LineSweep<float> const&);
template void cuda_alternating_rows(Stream&, LineSweep<double> const&);
template void cuda_solve_rows(Stream&, LineSweep<float> const&);
template void cuda_solve_rows(Stream&, LineSweep<double> const&);

}  // namespace gridstride::stencil
