// A leaf of LU, a tall strip of at most 32 columns, factored by one cluster of blocks.
//
// What a column costs is latency: find the largest of all rows, tell everyone, eliminate. So the
// leaf stays in registers, a thread has 1 to 32 whole rows, and blocks talk through
// distributed shared memory:
//
//   1. Each warp finds its largest by redux.sync on the bits of the magnitude (those of positive
//      numbers are in their order), the block that of its warps. The thread that has it puts its
//      row into shared memory.
//   2. The warps share out the blocks and send that row to each, a lane per element, with st.async:
//      data and signal in one.
//   3. A block that has a row from each block finds the winner of those. Every thread eliminates
//      its rows with it.
//
// Rows are not exchanged. A thread keeps the position that its row would have, and rows go to their
// positions on the way out, through shared memory, so that reads and writes of global memory are of
// whole lines. Registers are shifted by one at each step (a_k ← a_(k+1) − l·u_(k+1)), so that the
// loop over columns need not be unrolled. Of equal magnitudes the lowest position wins, as in
// LAPACK.
//
// Two sets of buffers and barriers alternate: a block sends for step j + 2 only after it has all
// of step j + 1, which each block sends after it is done with step j.
//
// A column moves 8·(columns + 1) bytes from each block to each, and every thread computes at most
// 31 multiply-adds per row.

#include <cuda_runtime.h>

#include <span>

#include "kernels/factorize/leaf.cuh"
#include "kernels/factorize/panel.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::factorize {

namespace {

using namespace leaf;

template <class T, int per_thread, int width>
__global__ void __launch_bounds__(threads, 1)
    leaf_kernel([[maybe_unused]] T* leaf, [[maybe_unused]] std::int64_t leading,
                [[maybe_unused]] int leaf_rows, [[maybe_unused]] int columns,
                [[maybe_unused]] LeafResults results) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  __shared__ Exchange<T, width> exchange;
  __shared__ int places[per_thread * threads];

  Staging<T, width> const staging{reinterpret_cast<T*>(dynamic_shared)};
  int const rank = static_cast<int>(cluster_rank()), blocks = static_cast<int>(cluster_size());
  int const first_row = rank * per_thread * threads;
  if (threadIdx.x == 0) {
    for (auto& barrier : exchange.barriers) barrier_init(shared_address(&barrier), 1);
    publish_barriers();
    for (auto& barrier : exchange.barriers)
      barrier_arrive_expecting(shared_address(&barrier), exchange.bytes(blocks));
  }
  transfer<T, width, per_thread, false>(staging, leaf, leading, columns, [&](int row) {
    return first_row + row < leaf_rows ? first_row + row : -1;
  });
  __syncwarp();
  Rows<T, per_thread, width> rows;
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    int const row = i * threads + static_cast<int>(threadIdx.x);
    rows.position[i] = first_row + row;
    rows.active[i] = rows.position[i] < leaf_rows;
#pragma unroll
    for (int k = 0; k < width; ++k) rows.a[i][k] = staging(row, k);
  }
  if (blocks > 1)
    cluster_barrier();  // nobody is sent anything before its barriers are there
  else
    __syncthreads();

  // In a few stretches, so that columns that are done cost less and the code stays small.
  Targets const targets(&exchange, blocks);
  Best best = make_offer(rows, exchange, 0);
  constexpr int stretch = width >= 16 ? width / 4 : width;
  auto const run = [&](auto remaining) {
    int const first = width - remaining();
    eliminate<remaining()>(rows, best, exchange, staging, first, min(first + stretch, columns),
                           rank, blocks, targets, results);
  };
  run(std::integral_constant<int, width>{});
  if constexpr (stretch < width) {
    run(std::integral_constant<int, width - stretch>{});
    run(std::integral_constant<int, width - 2 * stretch>{});
    run(std::integral_constant<int, width - 3 * stretch>{});
  }
  __syncthreads();

#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    int const row = i * threads + static_cast<int>(threadIdx.x), origin = first_row + row;
    int const place = rows.position[i];
    places[row] = origin < leaf_rows ? place : -1;
    if (origin >= leaf_rows) continue;
    auto const note = [&](int entry, bool moved) {
      results.moves->from[entry] = moved ? results.first + origin : -1;
      results.moves->to[entry] = moved ? results.first + place : -1;
    };
    if (place < columns) note(place, origin != place);
    if (origin < columns) note(leaf_limit + origin, place >= columns);
  }
  if (rank == 0)
    for (int entry = static_cast<int>(threadIdx.x); entry < 2 * leaf_limit; entry += threads)
      if (entry % leaf_limit >= columns) results.moves->from[entry] = results.moves->to[entry] = -1;
  __syncwarp();
  transfer<T, width, per_thread, true>(staging, leaf, leading, columns,
                                       [&](int row) { return places[row]; });
#endif
}

// ----------------------------------------------------------------------------------- the host

/// A way to cut a leaf: rows of a thread, and columns.
template <class T>
struct Cut {
  int per_thread;
  int width;
  void (*kernel)(T*, std::int64_t, int, int, LeafResults);
  std::size_t shared_bytes;
};

template <class T, int per_thread, int width>
constexpr Cut<T> make_cut() {
  return {per_thread, width, leaf_kernel<T, per_thread, width>,
          sizeof(T) * per_thread * threads * (width + 1)};
}

/// For more and more rows; a thread's part fits its registers.
template <class T>
std::span<Cut<T> const> cuts() {
  if constexpr (sizeof(T) == 8) {
    static Cut<T> const table[] = {make_cut<T, 1, 32>(), make_cut<T, 2, 32>(),
                                   make_cut<T, 4, 16>(), make_cut<T, 8, 8>(),
                                   make_cut<T, 16, 4>(), make_cut<T, 32, 2>()};
    return table;
  } else {
    static Cut<T> const table[] = {make_cut<T, 1, 32>(), make_cut<T, 2, 32>(),
                                   make_cut<T, 4, 32>(), make_cut<T, 8, 16>(),
                                   make_cut<T, 16, 8>(), make_cut<T, 32, 4>()};
    return table;
  }
}

cudaLaunchConfig_t launch_configuration(int blocks, std::size_t shared_bytes,
                                        cudaLaunchAttribute* cluster) {
  cluster->id = cudaLaunchAttributeClusterDimension;
  cluster->val.clusterDim.x = static_cast<unsigned>(blocks);
  cluster->val.clusterDim.y = cluster->val.clusterDim.z = 1;
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(threads);
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.attrs = cluster;
  configuration.numAttrs = 1;
  return configuration;
}

/// The most blocks that a cluster of every cut can have on the present device; 0 for none.
template <class T>
int find_blocks_of_cluster(Capabilities const& has) {
  int most = most_blocks;
  for (auto const& cut : cuts<T>()) {
    cudaFuncAttributes attributes;
    GRIDSTRIDE_CUDA(cudaFuncGetAttributes(&attributes, cut.kernel));
    std::size_t const bytes = cut.shared_bytes + attributes.sharedSizeBytes;
    if (bytes > has.shared_bytes) return 0;
    GRIDSTRIDE_CUDA(cudaFuncSetAttribute(cut.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(cut.shared_bytes)));
    GRIDSTRIDE_CUDA(
        cudaFuncSetAttribute(cut.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    for (int clusters = 0; most > 0; most /= 2) {
      cudaLaunchAttribute attribute;
      auto const configuration = launch_configuration(most, cut.shared_bytes, &attribute);
      if (cudaOccupancyMaxActiveClusters(&clusters, cut.kernel, &configuration) != cudaSuccess) {
        cudaGetLastError();
        clusters = 0;
      }
      if (clusters > 0) break;
    }
  }
  return most;
}

template <class T>
int blocks_of_cluster(Device const& device) {
  if (!device.capabilities().clusters) return 0;
  constexpr int devices = 64;
  static int found[devices] = {};  // one more than the number; each device finds the same
  int& entry = found[device.ordinal() % devices];
  if (entry == 0) entry = 1 + find_blocks_of_cluster<T>(device.capabilities());
  return entry - 1;
}

template <class T>
Cut<T> const* find_cut(Device const& device, std::int64_t rows) {
  std::int64_t const most = std::int64_t{threads} * blocks_of_cluster<T>(device);
  for (auto const& cut : cuts<T>())
    if (rows <= most * cut.per_thread) return &cut;
  return nullptr;
}

}  // namespace

template <class T>
int cluster_leaf_columns(Device const& device, std::int64_t rows) {
  auto const* const cut = find_cut<T>(device, rows);
  return cut == nullptr ? 0 : cut->width;
}

template <class T>
void factor_leaf_in_cluster(Stream& stream, Matrix<T> leaf, LeafResults const& results) {
  auto const& cut = *find_cut<T>(stream.device(), leaf.rows);
  int blocks = 1;
  while (std::int64_t{blocks} * threads * cut.per_thread < leaf.rows) blocks *= 2;
  cudaLaunchAttribute attribute;
  auto configuration = launch_configuration(blocks, cut.shared_bytes, &attribute);
  configuration.stream = native(stream);
  GRIDSTRIDE_CUDA(cudaLaunchKernelEx(&configuration, cut.kernel, leaf.data, leaf.leading,
                                     static_cast<int>(leaf.rows), static_cast<int>(leaf.columns),
                                     results));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "factorize leaf");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                    \
  template int cluster_leaf_columns<T>(Device const&, std::int64_t); \
  template void factor_leaf_in_cluster(Stream&, Matrix<T>, LeafResults const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize
