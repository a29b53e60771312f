// Sums of all ranks come to all GPUs: one block writes its rank's into the memory of the others, over
// NVLink where there is one, says so there, waits until all others have, and takes theirs. Planes are
// written there by kernels before it. What takes turns is free again: who writes the next but one has
// had the next sums of all others, who had then taken what came before.

#include <algorithm>

#include "kernels/support/flags.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/rank_planes.hpp"

namespace gridstride {

namespace {

constexpr int share_threads = 512;

struct SharedCuts {
  long long cuts[PeerBoxes::most_ranks + 1];
};

__global__ void __launch_bounds__(share_threads)
    share_kernel(__grid_constant__ PeerBoxes const boxes, __grid_constant__ SharedCuts const cuts,
                 double* sums, int sets, std::uint64_t number, std::uint64_t patience) {
  int const thread = static_cast<int>(threadIdx.x), own = boxes.rank;
  long long const all = cuts.cuts[boxes.count];
  auto const flags = [&](int rank) { return reinterpret_cast<std::uint64_t*>(boxes.of[rank]); };
  auto const values = [&](int rank) {
    return reinterpret_cast<double*>(flags(rank) + PeerBoxes::most_ranks) +
           number % 2 * boxes.most_sums;
  };
  for (int set = 0; set < sets; ++set)
    for (long long i = cuts.cuts[own] + thread; i < cuts.cuts[own + 1]; i += share_threads) {
      double const sum = sums[set * all + i];
      for (int rank = 0; rank < boxes.count; ++rank)
        if (rank != own) values(rank)[set * all + i] = sum;
    }
  __threadfence_system();
  __syncthreads();
  if (thread < boxes.count && thread != own) {
    store_release(flags(thread) + own, number);
    std::uint64_t const begin = nanoseconds();
    while (load_acquire(flags(own) + thread) < number)
      if (patience != 0 && nanoseconds() - begin > patience) break;
  }
  __syncthreads();
  double const* const came = values(own);
  for (long long i = thread; i < sets * all; i += share_threads) {
    long long const at = i % all;
    if (at < cuts.cuts[own] || at >= cuts.cuts[own + 1]) sums[i] = __ldcv(came + i);
  }
}

constexpr int copy_threads = 256, words_at_once = 4;

template <class Word>
__global__ void __launch_bounds__(copy_threads)
    copy_kernel(__grid_constant__ PlaneCopies const copies) {
  auto const& copy = copies.list[blockIdx.y];
  auto const* const from = reinterpret_cast<Word const*>(copy.from);
  auto* const to = reinterpret_cast<Word*>(copy.to);
  std::size_t const words = copy.bytes / sizeof(Word), step = gridDim.x * copy_threads;
  for (std::size_t i = blockIdx.x * copy_threads + threadIdx.x; i < words;
       i += words_at_once * step) {
    Word some[words_at_once];
#pragma unroll
    for (std::size_t w = 0; w < words_at_once; ++w)
      if (i + w * step < words) some[w] = __ldcg(from + i + w * step);
#pragma unroll
    for (std::size_t w = 0; w < words_at_once; ++w)
      if (i + w * step < words) to[i + w * step] = some[w];
  }
  __threadfence_system();
}

template <class Word>
void copy_by(Stream& stream, PlaneCopies const& copies) {
  constexpr std::size_t most = 132;
  std::size_t bytes = 0;
  for (int i = 0; i < copies.count; ++i) bytes = std::max(bytes, copies.list[i].bytes);
  std::size_t const words = bytes / sizeof(Word);
  dim3 const blocks(static_cast<unsigned>(std::clamp<std::size_t>(words / copy_threads, 1, most)),
                    static_cast<unsigned>(copies.count));
  copy_kernel<Word><<<blocks, copy_threads, 0, native(stream)>>>(copies);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "copy_kernel");
}

}  // namespace

void cuda_copy_planes(Stream& stream, PlaneCopies const& copies) {
  if (copies.count == 0) return;
  std::size_t bits = 0;
  for (int i = 0; i < copies.count; ++i) {
    auto const& [from, to, bytes] = copies.list[i];
    bits |= reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to) | bytes;
  }
  if (bits % sizeof(uint4) == 0) return copy_by<uint4>(stream, copies);
  copy_by<unsigned>(stream, copies);
}

void cuda_share(Stream& stream, PeerBoxes const& boxes, double* sums, int sets,
                RankCuts const& cuts, std::uint64_t number, std::uint64_t patience) {
  SharedCuts shared{};
  for (std::size_t i = 0; i < cuts.size(); ++i) shared.cuts[i] = cuts[i];
  share_kernel<<<1, share_threads, 0, native(stream)>>>(boxes, shared, sums, sets, number,
                                                        patience);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "share_kernel");
}

}  // namespace gridstride
