// Matrix products with warps as a level of their own between block and thread: the rung warp_tiled,
// the float32 default.
//
// Thread-to-data: a block of 4 warps has a tile of 128 x 128 of C, each warp 64 x 64 of it, each
// thread 16 x 8 in registers, as 4 x 2 groups of 4 x 4. Per place along k a thread reads 6 vectors
// of 16 bytes from shared memory for 128 multiply-adds. A warp's threads lie 4 x 8, so that most of
// what they read is the same, and one access of all banks serves half a warp.
//
// The operands come by asynchronous copies (cp.async), which need no registers, two stages of 16
// places along k ahead of their use; one barrier per stage. In shared memory both lie with k across
// rows. What is contiguous along k in global memory is transposed by copies of single elements, in
// runs of 32 bytes; what is contiguous the other way comes 16 bytes at a time where it is aligned.
// The odd places of k come first, filled up with zeros, so that the loop knows whole stages only.
//
// Demand: 1/16 byte of global memory per multiply-add in float32. What binds are the instructions
// that a multiprocessor can issue, 128 multiply-adds per clock if nothing else: of the 2230 of a
// stage 2048 are multiply-adds, and those wait where their operands are in one bank of the register
// file. On an H200 87 % of all clocks issue an instruction, 80 % a multiply-add; shared memory is
// busy for 41 %. Two blocks on a multiprocessor fill each other's gaps.
//
// Small products take smaller tiles, and several layers of blocks, each with its piece of k, whose
// sums a second kernel adds up in a fixed order: see make_plan.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "core/buffer.hpp"
#include "kernels/matmul/cuda_warp_tiled_tiles.cuh"
#include "kernels/matmul/rows.hpp"
#include "kernels/matmul/work.cuh"

namespace gridstride::matmul {

namespace {

using warp_tiled::Product;
using warp_tiled::Shape;

template <class T, class S, bool a_along_k, bool b_along_k, int width>
void launch(Stream& stream, Product<T> const& x, unsigned layers) {
  constexpr int bytes = warp_tiled::shared_bytes<T, S>;
  static_assert(bytes <= warp_tiled_shared_bytes);
  auto const kernel = warp_tiled::product_kernel<T, S, a_along_k, b_along_k, width>;
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  dim3 const blocks(blocks_for(x.m, S::rows) * blocks_for(x.n, S::columns), layers);
  kernel<<<blocks, S::threads, bytes, native(stream)>>>(x);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multiply: warp_tiled");
}

/// Whether rows of `count` elements can be read and written 16 bytes at a time.
template <class T>
bool in_vectors(T const* data, std::int64_t leading, std::int64_t count) {
  constexpr int width = vector_width<T>;
  return misalignment(data) == 0 && leading % width == 0 && count % width == 0;
}

template <class S, class T>
void launch(Stream& stream, Product<T> const& x, Op op_a, Op op_b, unsigned layers) {
  constexpr int width = vector_width<T>;
  bool const a_along_k = op_a == Op::none, b_along_k = op_b == Op::transpose;
  bool const vectors =
      (a_along_k || in_vectors(x.a, x.lda, x.m)) && (b_along_k || in_vectors(x.b, x.ldb, x.n));
  if (a_along_k && b_along_k)
    launch<T, S, true, true, 1>(stream, x, layers);
  else if (a_along_k)
    vectors ? launch<T, S, true, false, width>(stream, x, layers)
            : launch<T, S, true, false, 1>(stream, x, layers);
  else if (b_along_k)
    vectors ? launch<T, S, false, true, width>(stream, x, layers)
            : launch<T, S, false, true, 1>(stream, x, layers);
  else
    vectors ? launch<T, S, false, false, width>(stream, x, layers)
            : launch<T, S, false, false, 1>(stream, x, layers);
}

/// The product in tiles of shape S, by about `layers` layers of blocks.
template <class S, class T>
void multiply_in(Stream& stream, Arguments<T> const& x, std::int64_t layers) {
  constexpr std::int64_t depth = warp_tiled::depth, width = vector_width<T>;
  std::int64_t const stages = (x.k + depth - 1) / depth;
  std::int64_t const piece = (stages + layers - 1) / layers * depth;
  layers = (x.k + piece - 1) / piece;
  Product<T> product{x.m,     x.n,    x.k, x.a,   x.lda, x.b, x.ldb,
                     x.alpha, x.beta, x.c, x.ldc, piece, 0,   in_vectors(x.c, x.ldc, x.n)};
  if (layers == 1) return launch<S>(stream, product, x.op_a, x.op_b, 1);
  product.alpha = 1;
  product.beta = 0;
  product.ldc = (x.n + width - 1) / width * width;
  product.layer = x.m * product.ldc;
  product.vectors = true;
  Buffer<T> parts(stream, MemorySpace::device, static_cast<std::size_t>(layers * product.layer));
  product.c = parts.data();
  launch<S>(stream, product, x.op_a, x.op_b, static_cast<unsigned>(layers));
  constexpr int threads = 256;
  unsigned const most = 8u * static_cast<unsigned>(stream.device().processors());
  unsigned const blocks = std::min(blocks_for(x.m * x.n, threads), most);
  warp_tiled::add_layers_kernel<<<blocks, threads, 0, native(stream)>>>(
      product, static_cast<int>(layers), x.alpha, x.beta, x.c, x.ldc);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multiply: warp_tiled, sum of the layers");
}

/// A shape of tiles, and its multiply-adds per clock on a multiprocessor: with many blocks, and
/// with a single one.
template <class T>
struct Candidate {
  void (*multiply)(Stream&, Arguments<T> const&, std::int64_t layers);
  int rows, columns, resident;
  double full, alone;

  /// Most blocks that one multiprocessor gets. When not all fit at once, one that is done with its
  /// blocks takes as many new ones, until there are none left.
  std::int64_t most_blocks(std::int64_t blocks, std::int64_t processors) const {
    std::int64_t const together = blocks <= processors * resident ? 1 : resident;
    return (blocks + processors * together - 1) / (processors * together) * together;
  }

  /// Clocks of a multiprocessor with `blocks` blocks and `k` places along k. Each block keeps it
  /// busy for some share of the time, as if by chance; but not faster than `per_element` clocks per
  /// element of the operands.
  double clocks(double blocks, double k, double per_element) const {
    double const speed = full * (1 - std::pow(1 - alone / full, blocks));
    return blocks * k * std::max(1.0 * rows * columns / speed, (rows + columns) * per_element);
  }
};

template <class T, class S>
constexpr Candidate<T> candidate(double full, double alone) {
  return {multiply_in<S, T>, S::rows, S::columns, S::resident, full, alone};
}

/// From the largest to the smallest; the numbers are an H200's.
template <class T>
std::span<Candidate<T> const> candidates() {
  if constexpr (std::is_same_v<T, float>) {
    static constexpr Candidate<T> list[] = {
        candidate<T, Shape<128, 128, 64, 64, 16, 8, 2>>(100, 88),
        candidate<T, Shape<128, 64, 64, 32, 8, 8, 3>>(88, 76),
        candidate<T, Shape<64, 64, 32, 32, 8, 4, 5>>(78, 55),
        candidate<T, Shape<128, 32, 32, 32, 8, 4, 5>>(74, 50),
        candidate<T, Shape<32, 32, 16, 32, 4, 4, 8>>(66, 28)};
    return list;
  } else {
    static constexpr Candidate<T> list[] = {candidate<T, Shape<64, 64, 32, 32, 8, 4, 3>>(45, 30),
                                            candidate<T, Shape<32, 32, 16, 32, 4, 4, 8>>(35, 14)};
    return list;
  }
}

template <class T>
struct Plan {
  Candidate<T> candidate{};  ///< empty: there is none
  std::int64_t layers = 1;
};

/// The shape and the number of layers that promise the least time: that of the multiprocessor with
/// the most blocks, and that of adding up the layers. Layers are tried that give every
/// multiprocessor the same whole number of blocks, or nearly so.
template <class T>
Plan<T> make_plan(Device const& device, Arguments<T> const& x) {
  constexpr double pass = 8000, bytes_per_clock = 1000;  // to add up layers: launch, reads
  constexpr std::int64_t least_piece = 64, most_blocks = 8;
  constexpr std::int64_t reach = std::int64_t{1} << 32;  // bytes between the rows of a tile: Feed
  std::int64_t const processors = device.processors();
  double const k = static_cast<double>(x.k);
  bool const whole_lines = aligned(x.a, x.lda) && aligned(x.b, x.ldb);
  double const per_element = (whole_lines ? 0.25 : 0.5) * sizeof(T) / 4;
  double const layer_clocks = static_cast<double>(x.m * x.n * sizeof(T)) / bytes_per_clock;
  Plan<T> best;
  double least = std::numeric_limits<double>::infinity();
  for (Candidate<T> const& candidate : candidates<T>()) {
    std::int64_t const side = std::max(candidate.rows, candidate.columns);
    if (std::max(x.lda, x.ldb) > reach / (side * static_cast<std::int64_t>(sizeof(T)))) continue;
    std::int64_t const tiles = ((x.m + candidate.rows - 1) / candidate.rows) *
                               ((x.n + candidate.columns - 1) / candidate.columns);
    auto const consider = [&](std::int64_t layers) {
      auto const blocks = static_cast<double>(candidate.most_blocks(tiles * layers, processors));
      double cost = candidate.clocks(blocks, k / static_cast<double>(layers), per_element);
      if (layers > 1) cost += pass + static_cast<double>(layers) * layer_clocks;
      if (cost >= least) return;
      least = cost;
      best = {candidate, layers};
    };
    consider(1);
    for (std::int64_t blocks = 1; blocks <= most_blocks; ++blocks) {
      std::int64_t const layers = std::min(blocks * processors / tiles, x.k / least_piece);
      if (layers > 1) consider(layers);
    }
  }
  return best;
}

}  // namespace

template <class T>
void cuda_warp_tiled(Stream& stream, Arguments<T> const& x) {
  auto const [candidate, layers] = make_plan(stream.device(), x);
  if (candidate.multiply == nullptr)
    throw std::invalid_argument(
        "multiply: warp_tiled takes rows of up to 128 MiB (vectorized does)");
  candidate.multiply(stream, x, layers);
}

template void cuda_warp_tiled(Stream&, Arguments<float> const&);
template void cuda_warp_tiled(Stream&, Arguments<double> const&);

}  // namespace gridstride::matmul
