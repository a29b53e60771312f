// Matrix products in float64 on the tensor cores of compute capability 9.0 (mma.sync.m16n8k8.f64).
//
// A block of four warps has a tile of 64 x 64 of C, or of 32 x 32 where there would be too few of
// the larger ones, and a warp a quarter of it in registers. The tile's panels of op(A) and op(B)
// come to shared memory in stages of 16 along k by cp.async, three to five stages ahead, and a
// barrier per stage is all that the warps wait for. There are three blocks on a multiprocessor
// (four of the small ones): while some begin, or end with their part of C, the others keep the
// tensor cores at work. That, and C on its way to the second-level cache before it is asked for, is
// what counts in the updates of a factorization, whose k is small. No block stays for more than one
// tile, so that work of an urgent stream finds its place soon.
//
// Shared memory has lines of 16 elements, along k or across it, as the operand lies in global
// memory: nothing is transposed on the way. An operand's elements that an instruction wants are
// read 16 bytes at a time. The order of k in an instruction is free as long as both operands agree:
// the elements t and t + 4 of a lane are neighbours in memory, 2t and 2t + 1. Where lines go across
// k, neighbours belong to two rows of the product. Which rows those are is free as well: it is
// settled so (pair) that the 8 lanes which shared memory serves at once find their chunks in
// different banks with chunk number x of line l at place x XOR l % 8, for both kinds of lines, and
// so that 8 lanes write 128 bytes of a row of C side by side. The instruction's first operand is
// op(B)ᵀ, its second op(A)ᵀ, its result a part of Cᵀ: then the pairs that row-major matrices give
// are pairs of registers that it takes; in other cases elements are moved first.
//
// Each stage has 2·across groups of products. In the steady state, in a whole tile, a group is
// preceded by loads for the next one and by its share of the copies, since an instruction that
// waits for the queue of memory delays the products behind it. At edges, and where an operand is
// not aligned to 16 bytes, copies are masked or of 8 bytes, and zeros fill the rest; C then goes
// through shared memory, so that whole lines are written.
//
// Where tiles are few and k is long, k is split: the parts go to a workspace, and a second kernel
// adds them in their order. Tile and splits are those with the least time by a model (expected).
//
// Demand of the large tile at the full rate of the tensor cores, which bind: 128 multiply-adds per
// clock and multiprocessor take 32 bytes from the second-level cache, and move 96 of the 128 bytes
// that shared memory can.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/buffer.hpp"
#include "kernels/matmul/dmma_tile.cuh"
#include "kernels/matmul/rows.hpp"
#include "kernels/matmul/work.cuh"

namespace gridstride::matmul {

namespace {

using dmma::depth;
using Large = dmma::Shape<64, 64, 2, 2, 4, 3>;
using Small = dmma::Shape<32, 32, 2, 2, 6, 4>;

/// C = α·(the sum of the parts) + β·C, each part m x n without gaps.
__global__ void __launch_bounds__(256)
    add_parts_kernel(double const* parts, int splits, std::int64_t m, std::int64_t n, double alpha,
                     double beta, double* c, std::int64_t ldc) {
  Place const place(n, 1, 256);
  std::int64_t const j = place.j + threadIdx.x;
  if (j >= n) return;
  double sum = 0;
  for (int s = 0; s < splits; ++s) sum += parts[(s * m + place.i) * n + j];
  double* const element = c + place.i * ldc + j;
  *element = combine(alpha, sum, beta, element);
}

template <class S, bool a_along_k, bool b_along_k>
void launch(Stream& stream, dmma::Task const& task, int splits) {
  auto const kernel = dmma::dmma_kernel<S, a_along_k, b_along_k>;
  static_assert(S::shared_bytes <= dmma_shared_bytes);
  GRIDSTRIDE_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes));
  kernel<<<task.tiles_down * task.tiles_across* static_cast<unsigned>(splits), S::threads,
           S::shared_bytes, native(stream)>>>(task);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "matmul dmma");
}

dmma::Task task_of(Arguments<double> const& x) {
  dmma::Task task{};
  task.m = x.m, task.n = x.n, task.k = x.k;
  task.a = x.a, task.lda = x.lda, task.a_aligned = aligned(x.a, x.lda);
  task.b = x.b, task.ldb = x.ldb, task.b_aligned = aligned(x.b, x.ldb);
  task.c = x.c, task.ldc = x.ldc, task.c_aligned = aligned(x.c, x.ldc);
  task.alpha = x.alpha, task.beta = x.beta;
  return task;
}

template <class S>
void multiply_tiles(Stream& stream, Arguments<double> const& x, int splits) {
  dmma::Task task = task_of(x);
  task.tiles_down = blocks_for(x.m, S::rows);
  task.tiles_across = blocks_for(x.n, S::columns);
  task.stages = static_cast<int>(blocks_for(x.k, depth));
  task.split_stages = (task.stages + splits - 1) / splits;
  splits = (task.stages + task.split_stages - 1) / task.split_stages;
  Buffer<double> parts;
  if (splits > 1) {
    parts =
        Buffer<double>(stream, MemorySpace::device, static_cast<std::size_t>(splits * x.m * x.n));
    task.c = parts.data(), task.ldc = x.n, task.c_aligned = x.n % 2 == 0;
    task.alpha = 1, task.beta = 0;
  }
  bool const a_along_k = x.op_a == Op::none, b_along_k = x.op_b == Op::transpose;
  if (a_along_k)
    b_along_k ? launch<S, true, true>(stream, task, splits)
              : launch<S, true, false>(stream, task, splits);
  else
    b_along_k ? launch<S, false, true>(stream, task, splits)
              : launch<S, false, false>(stream, task, splits);
  if (splits == 1) return;
  add_parts_kernel<<<Place::blocks(x.m, x.n, 1, 256), 256, 0, native(stream)>>>(
      parts.data(), splits, x.m, x.n, x.alpha, x.beta, x.c, x.ldc);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "matmul dmma parts");
}

/// Microseconds that a product takes in tiles of `S` with k in so many splits, about; the constants
/// are an H200's. A stage takes as long as its latency, and on a multiprocessor with several blocks
/// at least the sum of their shares.
template <class S>
double expected(Arguments<double> const& x, int splits, int processors) {
  constexpr bool large = S::rows == Large::rows;
  bool const wide = aligned(x.a, x.lda) && aligned(x.b, x.ldb);
  double const latency = large ? 0.45 : 0.16;
  double const share = large ? (wide ? 0.36 : 0.4) : (wide ? 0.13 : 0.2);
  constexpr double begin_and_end = 2.5, launch = 3, bytes = 2e6;  // per microsecond
  auto const up = [](double a, double b) { return std::ceil(a / b); };
  double const m = static_cast<double>(x.m), n = static_cast<double>(x.n);
  double const stages = up(up(static_cast<double>(x.k), depth), splits);
  double const blocks = up(m, S::rows) * up(n, S::columns) * splits;
  double const busiest = up(blocks, processors), rounds = up(busiest, S::resident);
  double const add = splits == 1 ? 0 : launch + m * n * sizeof(double) * (splits + 2) / bytes;
  return rounds * begin_and_end + stages * std::max(rounds * latency, busiest * share) + add;
}

struct Plan {
  bool large;
  int splits;
};

Plan plan_for(Arguments<double> const& x, int processors) {
  constexpr int least_stages = 4, most_splits = 64;
  auto const stages = static_cast<std::int64_t>(blocks_for(x.k, depth));
  auto const most =
      static_cast<int>(std::clamp<std::int64_t>(stages / least_stages, 1, most_splits));
  Plan best{true, 1};
  double least = expected<Large>(x, 1, processors);
  for (int splits = 1; splits <= most; ++splits)
    for (bool const large : {true, false}) {
      double const time =
          large ? expected<Large>(x, splits, processors) : expected<Small>(x, splits, processors);
      if (time < least) least = time, best = {large, splits};
    }
  return best;
}

}  // namespace

void cuda_dmma(Stream& stream, Arguments<double> const& x) {
  Plan const plan = plan_for(x, stream.device().processors());
  if (plan.large)
    multiply_tiles<Large>(stream, x, plan.splits);
  else
    multiply_tiles<Small>(stream, x, plan.splits);
}

}  // namespace gridstride::matmul
