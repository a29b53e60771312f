#pragma once

#include "kernels/matmul/tensor_map.cuh"
#include "kernels/matmul/wgmma.cuh"

/// How the groups of a block multiply: from stages in shared memory to sums in registers.
namespace gridstride::matmul::wgmma {

constexpr int warp = 32, group_warps = 4, group_threads = group_warps * warp;
constexpr int multiplying_groups = 2;
constexpr int threads = (1 + multiplying_groups) * group_threads;

/// A block's tile of C, and the stages in which its operands come. `split`: operands have a low
/// part. `c_shared`: C's tile has room in shared memory, after the stages.
template <int rows_, int stages_, bool split_, bool c_shared_>
struct Tile {
  static constexpr int rows = rows_, columns = 64 * multiplying_groups;
  static constexpr int depth = box_columns;
  static constexpr int stages = stages_;
  static constexpr bool split = split_, c_shared = c_shared_;
  /// A stage has A, its low part, and B in strips of 32 columns.
  static constexpr int a_bytes = rows * depth * sizeof(float);
  static constexpr int strip_bytes = box_columns * depth * sizeof(float);
  static constexpr int b_begin = split ? 2 * a_bytes : a_bytes;
  static constexpr int stage_bytes = b_begin + columns / box_columns * strip_bytes;
  /// C has strips too.
  static constexpr int c_begin = stages * stage_bytes;
  static constexpr int c_strip_bytes = rows * box_columns * sizeof(float);
  static constexpr int c_bytes = c_shared ? columns / box_columns * c_strip_bytes : 0;
  static constexpr unsigned alignment = 1024;
  static constexpr int shared_bytes = c_begin + c_bytes + alignment;

  using Sums = float[rows / 2];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// The stages in shared memory, as a thread goes round them.
template <class Tile>
struct Ring {
  unsigned memory, full, free;
  int stage = 0;
  unsigned parity = 0;

  __device__ Ring(void* dynamic, std::uint64_t (&barriers)[2][Tile::stages])
      : memory((shared_address(dynamic) + Tile::alignment - 1) & ~(Tile::alignment - 1)),
        full(shared_address(barriers[0])),
        free(shared_address(barriers[1])) {}

  __device__ unsigned begin() const { return memory + stage * Tile::stage_bytes; }
  __device__ unsigned full_barrier() const { return full + stage * 8; }
  __device__ void wait_full() const { barrier_wait(full_barrier(), parity); }
  __device__ void wait_free() const { barrier_wait(free + stage * 8, parity ^ 1); }
  __device__ int before() const { return stage == 0 ? Tile::stages - 1 : stage - 1; }
  __device__ void advance() {
    if (++stage < Tile::stages) return;
    stage = 0;
    parity ^= 1;
  }
  /// A warp has done with the stage.
  __device__ void release(int which) const {
    __syncwarp();
    if (threadIdx.x % warp == 0) barrier_arrive(free + which * 8);
  }
};

/// A warp's 16 columns of the tile are the rows of B^T that it gives to wgmma: a thread has its
/// elements (g, t), (g + 8, t), (g, t + 4) and (g + 8, t + 4), where g = lane / 4, t = lane % 4.
/// Rows g and g + 8 are two neighbouring columns, half a piece of 16 bytes in a strip's row. Which
/// pieces, for each g, is chosen so that 16 lanes meet no bank conflicts when they read 8 bytes
/// each of B, from rows t, nor of C, from rows 2t: those of g and of g + 2 differ by 5, as bits.
template <class Tile>
struct Lane {
  int column;          ///< of the pair, in the tile
  int row;             ///< of the first sum, in the tile
  unsigned even, odd;  ///< the pairs of places t and t + 4 along k, in a stage
  unsigned c, c_next;  ///< the pairs of the first two rows of sums, among the strips of C

  __device__ Lane() {
    int const lane = threadIdx.x % warp, g = lane / 4, t = lane % 4;
    int const place = threadIdx.x / warp - group_warps;
    int const strip = place / 2;
    int const piece = (place % 2 * 2 + g / 4) ^ (g / 2 % 2 * 5);
    column = strip * box_columns + piece * 4 + g % 2 * 2;
    row = 2 * t;
    c = strip * Tile::c_strip_bytes + row * 128 + (piece ^ row) * 16 + g % 2 * 8;
    c_next = strip * Tile::c_strip_bytes + (row + 1) * 128 + (piece ^ (row + 1)) * 16 + g % 2 * 8;
    unsigned const begin = Tile::b_begin + strip * Tile::strip_bytes + g % 2 * 8;
    even = begin + t * 128 + (piece ^ t) * 16;
    odd = begin + (t + 4) * 128 + (piece ^ (t + 4)) * 16;
  }
};

using Fragment = unsigned[4];  // of B^T: 16 x 8 elements a warp

template <class Tile>
__device__ __forceinline__ void load(Fragment& b, Lane<Tile> const& lane, unsigned stage, int k) {
  constexpr int eight_rows = 1024;
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(stage + lane.even + k * eight_rows)
               : "memory");
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
               : "=r"(b[2]), "=r"(b[3])
               : "r"(stage + lane.odd + k * eight_rows)
               : "memory");
}

/// wgmmas along k in a stage, and between the places where A begins for them.
constexpr int eights = box_columns / 8;
constexpr std::uint64_t eight_columns = 32 >> 4;

/// One wgmma is always under way while the next one's part of B is read.
template <class Tile>
__device__ __forceinline__ void multiply_rounded(Ring<Tile>& ring, Lane<Tile> const& lane,
                                                 int rounds, typename Tile::Sums& sums) {
  Fragment b[2];
  ring.wait_full();
  load(b[0], lane, ring.begin(), 0);
  for (int round = 0; round < rounds; ++round) {
    unsigned const stage = ring.begin();
    std::uint64_t const a = operand(stage);
#pragma unroll
    for (int k = 0; k < eights; ++k) {
      begin_products();
      multiply_add(sums, b[k % 2], a + k * eight_columns, round + k > 0);
      commit_products();
      wait_products<1>();
      if (k == 0 && round > 0) ring.release(ring.before());
      if (k + 1 < eights) {
        load(b[(k + 1) % 2], lane, stage, k + 1);
      } else {
        ring.advance();
        if (round + 1 < rounds) {
          ring.wait_full();
          load(b[0], lane, ring.begin(), 0);
        }
      }
    }
  }
  wait_products<0>();
  settle(sums);
  ring.release(ring.before());
}

/// The other group keeps the tensor cores busy while this one waits for its sums and adds them.
template <class Tile>
__device__ __forceinline__ void multiply_split(Ring<Tile>& ring, Lane<Tile> const& lane, int rounds,
                                               typename Tile::Sums& sums) {
  Fragment high[eights], low[eights], next[eights];
  ring.wait_full();
#pragma unroll
  for (int k = 0; k < eights; ++k) load(high[k], lane, ring.begin(), k);
  typename Tile::Sums part = {};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < eights; ++k)
#pragma unroll
      for (int e = 0; e < 4; ++e) low[k][e] = split_off_low(high[k][e]);
    std::uint64_t const a = operand(ring.begin()), a_low = operand(ring.begin() + Tile::a_bytes);
    begin_products();
#pragma unroll
    for (int k = 0; k < eights; ++k) {
      multiply_add(part, low[k], a + k * eight_columns, k > 0);
      multiply_add(part, high[k], a_low + k * eight_columns, true);
    }
#pragma unroll
    for (int k = 0; k < eights; ++k) multiply_add(part, high[k], a + k * eight_columns, true);
    commit_products();
    ring.advance();
    if (round + 1 < rounds) {
      ring.wait_full();
#pragma unroll
      for (int k = 0; k < eights; ++k) load(next[k], lane, ring.begin(), k);
    }
    wait_products<0>();
    settle(part);
    ring.release(ring.before());
#pragma unroll
    for (int i = 0; i < Tile::rows / 2; ++i) sums[i] += part[i];
#pragma unroll
    for (int k = 0; k < eights; ++k)
#pragma unroll
      for (int e = 0; e < 4; ++e) high[k][e] = next[k][e];
  }
}

#endif

}  // namespace gridstride::matmul::wgmma
