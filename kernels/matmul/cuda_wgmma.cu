// Products of float32 matrices on the tensor cores of Hopper, which multiply TF32: 8 bits of
// exponent as float32 has, 11 of the significand in place of 24.
//
// A block has three groups of four warps. One thread of the first asks TMA for boxes of A and B,
// 32 places along k at a time, into a ring of stages in shared memory; barriers say when a stage is
// full and when it is free again. The other two groups multiply, each for its half of the columns
// of the block's tile of C, and hold its sums in registers, of which the first group gives up its
// share. There are as many blocks as multiprocessors; each takes one tile after the other, so that
// the next tile's first stages come in while the last one's sums are stored.
//
// wgmma multiplies a 64 x 8 matrix from registers by one from shared memory which, for TF32, has to
// be K-major: k runs along its rows of 128 bytes. In row-major matrices that is so for A and not
// for B. So the groups compute the transpose, C^T = B^T·A^T: B is read from shared memory into
// registers in the places in which wgmma wants B^T, and A stays in shared memory. The sums of a
// thread then lie in pairs of neighbours in rows of C. What does not lie like that, since it is
// transposed or not aligned to 16 bytes, is copied first.
//
// With a short k, as in factorizations, it is C that takes the time: 8 bytes for 2k operations. So
// TMA fetches a tile of 128 x 128 of C into shared memory while its products are summed, and stores
// it again, asked by two more threads of the first group, while the next ones are. Tiles without
// room for that, or where C is not aligned, are read and written by the groups themselves.
//
// tf32: TMA rounds A and B to the nearest TF32 on the way. A tile of C is 256 x 128: 48 KiB come
// from the second-level cache for 2 MiFLOP, for which the tensor cores of a multiprocessor need
// 1024 clocks. They read 64 bytes of A per clock meanwhile, the warps 16 bytes of B, and 48 come
// in: all of the 128 that shared memory has. Where k is short or tiles are few they are 128 x 128.
//
// tf32x3: x = high + low, both TF32, up to an error of 2^-23·|x|. a·b = low·high + high·low +
// high·high, in this order; the product of the low parts, 2^-22·|a·b| at most, is left out. B is
// split in registers. The high part of A comes from TMA, the low one was stored by a kernel before.
// Tensor cores cut sums off where they should round, so that long sums drift towards zero; hence
// those of 32 places along k are added to others in registers. 48 KiB of shared memory for a tile
// of 128 x 128 are 3 MiFLOP of the tensor cores, three times those that count. See H. Ootomo and
// R. Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32
// theoretical peak performance", International Journal of High Performance Computing Applications
// 36 (2022).
//
// What is not finite gives what it should in tf32; in tf32x3 an infinity in A or B gives NaN, and
// so does what rounds to one in TF32.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/matmul/rows.hpp"
#include "kernels/matmul/wgmma_operands.cuh"
#include "kernels/matmul/wgmma_sums.cuh"

namespace gridstride::matmul {

namespace {

using namespace wgmma;

struct Product {
  int m, n, k;
  float alpha, beta;
  float* c;
  std::int64_t ldc;
  bool pairs;  ///< whether C can be read and written in pairs
  int spared;  ///< multiprocessors to leave free

  template <class Tile>
  __host__ __device__ int tiles_down() const {
    return (m + Tile::rows - 1) / Tile::rows;
  }
  template <class Tile>
  __host__ __device__ int tiles() const {
    return tiles_down<Tile>() * ((n + Tile::columns - 1) / Tile::columns);
  }
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

struct Corner {
  int row, column;
};

/// Of a tile. Those that are in work together form about a square, so that they share what the
/// second-level cache has of A and B: down 8 rows of tiles, then to the right.
template <class Tile>
__device__ Corner corner(Product const& product, int tile) {
  constexpr int most = 8;
  int const down = product.tiles_down<Tile>(), across = product.tiles<Tile>() / down;
  int const above = tile / (most * across) * most, rest = tile % (most * across);
  int const height = min(most, down - above);
  return {(above + rest % height) * Tile::rows, rest / height * Tile::columns};
}

/// The strips of C in shared memory of one multiplying group, and when they have been fetched and
/// are done.
template <class Tile>
struct Exchange {
  static constexpr int count = Tile::columns / box_columns / multiplying_groups;
  int column;
  unsigned begin, fetched, done;

  __device__ Exchange(Ring<Tile> const& ring, std::uint64_t (&barriers)[2][multiplying_groups],
                      int group)
      : column(group * count * box_columns),
        begin(ring.memory + Tile::c_begin + group * count * Tile::c_strip_bytes),
        fetched(shared_address(&barriers[0][group])),
        done(shared_address(&barriers[1][group])) {}
};

// ------------------------------------------------------------------------------- the first group

/// Fills the stages for a tile. One thread.
template <class Tile>
__device__ void load(Ring<Tile>& ring, Corner const& at, int k, CUtensorMap const& a,
                     CUtensorMap const& a_low, CUtensorMap const& b) {
  for (int p = 0; p < k; p += Tile::depth) {
    ring.wait_free();
    unsigned const stage = ring.begin(), full = ring.full_barrier();
    barrier_arrive_expecting(full, Tile::stage_bytes);
    load_box(stage, a, at.row, p, full);
    if constexpr (Tile::split) load_box(stage + Tile::a_bytes, a_low, at.row, p, full);
#pragma unroll
    for (int s = 0; s < Tile::columns / box_columns; ++s)
      load_box(stage + Tile::b_begin + s * Tile::strip_bytes, b, p, at.column + s * box_columns,
               full);
    ring.advance();
  }
}

/// Fetches the strips of C that a multiplying group has to do with, unless β = 0, and stores what
/// the group makes of them. One thread for each group.
template <class Tile>
__device__ void exchange(Exchange<Tile> const& strips, Corner const& at, CUtensorMap const& c,
                         bool fetch, unsigned parity) {
  barrier_arrive_expecting(strips.fetched, fetch ? strips.count * Tile::c_strip_bytes : 0);
  if (fetch)
    for (int s = 0; s < strips.count; ++s)
      load_box(strips.begin + s * Tile::c_strip_bytes, c, at.row,
               at.column + strips.column + s * box_columns, strips.fetched);
  barrier_wait(strips.done, parity);
  for (int s = 0; s < strips.count; ++s)
    store_box(strips.begin + s * Tile::c_strip_bytes, c, at.row,
              at.column + strips.column + s * box_columns);
  wait_stores_read();
}

// ------------------------------------------------------------------------- the multiplying groups

/// Of the sums of a thread those from 4j on are elements (8j, 0), (8j + 1, 0), (8j, 1) and
/// (8j + 1, 1) of C, seen from `c`, where C goes on for `rows` and `columns`. With `add`, what C
/// has is fetched for 32 of them at a time. `pairs`: all are there, and can be fetched in twos.
template <bool add, bool pairs, class Sums>
__device__ __forceinline__ void store(Product const& product, Sums& sums, float* c, int rows,
                                      int columns) {
  constexpr int batch = 8, blocks = sizeof(Sums) / sizeof(float) / 4;
#pragma unroll
  for (int first = 0; first < blocks; first += batch) {
    float2 old[batch][2];
    auto const each = [&](auto const& work) {
#pragma unroll
      for (int j = 0; j < batch; ++j)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          int const row = 8 * (first + j) + r;
          work(old[j][r], c + row * product.ldc, sums + 4 * (first + j) + r, row < rows);
        }
    };
    if constexpr (add)
      each([&](float2& there, float const* at, float const*, bool exists) {
        if constexpr (pairs) {
          there = __ldcg(reinterpret_cast<float2 const*>(at));
        } else {
          if (exists && columns > 0) there.x = __ldcg(at);
          if (exists && columns > 1) there.y = __ldcg(at + 1);
        }
      });
    each([&](float2 const& there, float* at, float const* sum, bool exists) {
      float2 result{product.alpha * sum[0], product.alpha * sum[2]};
      if constexpr (add) {
        result.x += product.beta * there.x;
        result.y += product.beta * there.y;
      }
      if constexpr (pairs) {
        *reinterpret_cast<float2*>(at) = result;
      } else {
        if (exists && columns > 0) at[0] = result.x;
        if (exists && columns > 1) at[1] = result.y;
      }
    });
  }
}

/// The same for C in shared memory, whose pairs of rows 8j are at `c + 1024 j`, those of 8j + 1 at
/// `c_next + 1024 j`.
template <bool add, class Sums>
__device__ __forceinline__ void store_shared(Product const& product, Sums& sums, unsigned c,
                                             unsigned c_next) {
  constexpr int batch = 8, blocks = sizeof(Sums) / sizeof(float) / 4, eight_rows = 1024;
#pragma unroll
  for (int first = 0; first < blocks; first += batch) {
    float2 old[batch][2];
    auto const each = [&](auto const& work) {
#pragma unroll
      for (int j = 0; j < batch; ++j)
#pragma unroll
        for (int r = 0; r < 2; ++r)
          work(old[j][r], (r == 0 ? c : c_next) + (first + j) * eight_rows,
               sums + 4 * (first + j) + r);
    };
    if constexpr (add)
      each([&](float2& there, unsigned at, float const*) { there = load_pair(at); });
    each([&](float2 const& there, unsigned at, float const* sum) {
      float2 result{product.alpha * sum[0], product.alpha * sum[2]};
      if constexpr (add) {
        result.x += product.beta * there.x;
        result.y += product.beta * there.y;
      }
      store_pair(at, result);
    });
  }
}

/// Whether a tile can be stored in pairs.
template <class Tile>
__device__ bool inside(Product const& product, Corner const& at) {
  return product.pairs && at.row + Tile::rows <= product.m &&
         at.column + Tile::columns <= product.n;
}

template <bool pairs, class Tile>
__device__ __forceinline__ void store_tile(Product const& product, Corner const& at,
                                           Lane<Tile> const& lane, typename Tile::Sums& sums) {
  int const row = at.row + lane.row, column = at.column + lane.column;
  float* const c = product.c + row * product.ldc + column;
  if (product.beta == 0)
    store<false, pairs>(product, sums, c, product.m - row, product.n - column);
  else
    store<true, pairs>(product, sums, c, product.m - row, product.n - column);
}

#endif

/// The first group's registers go to the others. Builds for other architectures leave the kernel
/// empty, without its barriers: `cuda_has_tf32` sees it by that.
template <class Tile>
__global__ void __launch_bounds__(threads, 1)
    product_kernel([[maybe_unused]] __grid_constant__ CUtensorMap const a,
                   [[maybe_unused]] __grid_constant__ CUtensorMap const a_low,
                   [[maybe_unused]] __grid_constant__ CUtensorMap const b,
                   [[maybe_unused]] __grid_constant__ CUtensorMap const c,
                   [[maybe_unused]] Product const product) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char dynamic[];
  __shared__ std::uint64_t barriers[2][Tile::stages], c_barriers[2][multiplying_groups];
  Ring<Tile> ring(dynamic, barriers);
  int const thread_warp = threadIdx.x / warp;
  int const group = thread_warp < group_warps ? thread_warp - 1 : thread_warp / group_warps - 1;
  if (threadIdx.x < Tile::stages) {
    barrier_init(ring.full + threadIdx.x * 8, 1);
    barrier_init(ring.free + threadIdx.x * 8, multiplying_groups * group_warps);
  }
  if (threadIdx.x < multiplying_groups) {
    barrier_init(shared_address(&c_barriers[0][threadIdx.x]), 1);
    barrier_init(shared_address(&c_barriers[1][threadIdx.x]), group_warps);
  }
  publish_barriers();
  __syncthreads();
  int const tiles = product.tiles<Tile>();
  unsigned parity = 0;
  if (thread_warp < group_warps) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;" ::: "memory");
    if (threadIdx.x % warp > 0) return;
    if (thread_warp == 0) {
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
        load(ring, corner<Tile>(product, tile), product.k, a, a_low, b);
    } else if (Tile::c_shared && thread_warp <= multiplying_groups) {
      Exchange<Tile> const strips(ring, c_barriers, group);
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, parity ^= 1)
        exchange(strips, corner<Tile>(product, tile), c, product.beta != 0, parity);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;" ::: "memory");
    Lane<Tile> const lane;
    Exchange<Tile> const strips(ring, c_barriers, group);
    int const rounds = (product.k + Tile::depth - 1) / Tile::depth;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, parity ^= 1) {
      typename Tile::Sums sums = {};
      if constexpr (Tile::split)
        multiply_split(ring, lane, rounds, sums);
      else
        multiply_rounded(ring, lane, rounds, sums);
      if constexpr (Tile::c_shared) {
        barrier_wait(strips.fetched, parity);
        unsigned const begin = ring.memory + Tile::c_begin;
        if (product.beta == 0)
          store_shared<false>(product, sums, begin + lane.c, begin + lane.c_next);
        else
          store_shared<true>(product, sums, begin + lane.c, begin + lane.c_next);
        publish_to_copies();
        __syncwarp();
        if (threadIdx.x % warp == 0) barrier_arrive(strips.done);
      } else {
        Corner const at = corner<Tile>(product, tile);
        if (inside<Tile>(product, at))
          store_tile<true>(product, at, lane, sums);
        else
          store_tile<false>(product, at, lane, sums);
      }
    }
  }
#endif
}

template <class Tile>
void multiply_packed(Stream& stream, Packed const& a, Packed const& b, Product const& product,
                     int processors) {
  auto const kernel = product_kernel<Tile>;
  static_assert(Tile::shared_bytes <= wgmma_shared_bytes);
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       Tile::shared_bytes));
  Rounding const rounding_b = Tile::split ? Rounding::none : Rounding::to_tf32;
  Matrix<float const> const c(product.c, product.m, product.n, product.ldc);
  int const blocks = std::min(product.tiles<Tile>(), processors);
  kernel<<<blocks, threads, Tile::shared_bytes, native(stream)>>>(
      tensor_map(a.matrix, Tile::rows, Rounding::to_tf32),
      tensor_map(a.low, Tile::rows, Rounding::none), tensor_map(b.matrix, Tile::depth, rounding_b),
      tensor_map(Tile::c_shared ? c : a.matrix, Tile::rows, Rounding::none), product);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "matmul wgmma");
}

using LargeTile = Tile<256, 4, false, false>;
using SmallTile = Tile<128, 5, false, true>;
using SplitUnaligned = Tile<128, 4, true, false>;
using Split = Tile<128, 3, true, true>;

/// Where C is what takes the time, or by the clocks of the busiest multiprocessor: a small tile
/// costs 0.7 of a large one.
bool prefer_small(Product const& product, int processors) {
  constexpr int short_k = 512;
  return product.k <= short_k || 7 * blocks_for(product.tiles<SmallTile>(), processors) <
                                     10 * blocks_for(product.tiles<LargeTile>(), processors);
}

/// `rows` x `columns` of op(X) from (i, j) on.
Operand<float> part(Op op, float const* x, std::int64_t ldx, std::int64_t i, std::int64_t j,
                    std::int64_t rows, std::int64_t columns) {
  if (op == Op::none) return {Matrix<float const>(x + i * ldx + j, rows, columns, ldx), op};
  return {Matrix<float const>(x + j * ldx + i, columns, rows, ldx), op};
}

void multiply_piece(Stream& stream, Packed const& a, Packed const& b, Product const& product,
                    bool split, int processors) {
  bool const shared = can_be_exchanged(product.c, product.ldc, product.n);
  if (split && shared)
    multiply_packed<Split>(stream, a, b, product, processors);
  else if (split)
    multiply_packed<SplitUnaligned>(stream, a, b, product, processors);
  else if (shared && prefer_small(product, processors))
    multiply_packed<SmallTile>(stream, a, b, product, processors);
  else
    multiply_packed<LargeTile>(stream, a, b, product, processors);
}

/// In pieces, so that what is packed stays within 4 GiB each, and numbers within TMA's coordinates.
/// The last columns of C are a piece of their own where they are what TMA cannot store.
void multiply_pieces(Stream& stream, Arguments<float> const& x, bool split) {
  constexpr std::int64_t most = 1 << 15;
  bool const aligned = can_be_copied(x.c, x.ldc);
  int const processors = std::max(1, stream.device().processors() - x.spared);
  for (std::int64_t p = 0; p < x.k; p += most)
    for (std::int64_t j = 0, n; j < x.n; j += n) {
      std::int64_t const k = std::min(most, x.k - p);
      n = std::min(most, x.n - j);
      if (aligned && n > stored_columns) n -= n % stored_columns;
      Packed const b(stream, part(x.op_b, x.b, x.ldb, p, j, k, n), false);
      for (std::int64_t i = 0; i < x.m; i += most) {
        std::int64_t const m = std::min(most, x.m - i);
        Packed const a(stream, part(x.op_a, x.a, x.lda, i, p, m, k), split);
        float* const c = x.c + i * x.ldc + j;
        multiply_piece(stream, a, b,
                       {.m = static_cast<int>(m),
                        .n = static_cast<int>(n),
                        .k = static_cast<int>(k),
                        .alpha = x.alpha,
                        .beta = p == 0 ? x.beta : 1,
                        .c = c,
                        .ldc = x.ldc,
                        .pairs = misalignment(c) % 2 == 0 && x.ldc % 2 == 0,
                        .spared = x.spared},
                       split, processors);
      }
    }
}

void require_wgmma(Device const& device, std::string_view name) {
  if (!cuda_has_tf32(device))
    throw std::invalid_argument("multiply: " + std::string(name) +
                                " needs wgmma (of compute capability 9.0, in a build for 90a)");
}

}  // namespace

bool cuda_has_tf32(Device const& device) {
  if (!device.capabilities().wgmma) return false;
  static bool const in_build = [] {
    cudaFuncAttributes attributes;
    GRIDSTRIDE_CUDA(cudaFuncGetAttributes(&attributes, product_kernel<LargeTile>));
    return attributes.sharedSizeBytes > 0;
  }();
  return in_build;
}

void cuda_tf32(Stream& stream, Arguments<float> const& x) {
  require_wgmma(stream.device(), "tf32");
  multiply_pieces(stream, x, false);
}

void cuda_tf32x3(Stream& stream, Arguments<float> const& x) {
  require_wgmma(stream.device(), "tf32x3");
  multiply_pieces(stream, x, true);
}

}  // namespace gridstride::matmul
