// Sums of all ranks come to all GPUs: one block writes its rank's into the memory of the others, over
// NVLink where there is one, says so there, waits until all others have, and takes theirs. What takes
// turns is free again: who writes the next but one has had the next one of all others, who had then
// taken the one before.

#include "kernels/support/flags.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/rank_planes.hpp"

namespace gridstride {

namespace {

constexpr int share_threads = 512;

struct SharedCuts {
  long long cuts[SumBoxes::most_ranks + 1];
};

__global__ void __launch_bounds__(share_threads)
    share_kernel(__grid_constant__ SumBoxes const boxes, __grid_constant__ SharedCuts const cuts,
                 double* sums, int sets, std::uint64_t number) {
  int const thread = static_cast<int>(threadIdx.x), own = boxes.rank;
  long long const all = cuts.cuts[boxes.count];
  auto const flags = [&](int rank) { return reinterpret_cast<std::uint64_t*>(boxes.of[rank]); };
  auto const values = [&](int rank) {
    return reinterpret_cast<double*>(flags(rank) + SumBoxes::most_ranks) +
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
    while (load_acquire(flags(own) + thread) < number) {
    }
  }
  __syncthreads();
  double const* const came = values(own);
  for (long long i = thread; i < sets * all; i += share_threads) {
    long long const at = i % all;
    if (at < cuts.cuts[own] || at >= cuts.cuts[own + 1]) sums[i] = __ldcv(came + i);
  }
}

}  // namespace

void cuda_share(Stream& stream, SumBoxes const& boxes, double* sums, int sets, RankCuts const& cuts,
                std::uint64_t number) {
  SharedCuts shared{};
  for (std::size_t i = 0; i < cuts.size(); ++i) shared.cuts[i] = cuts[i];
  share_kernel<<<1, share_threads, 0, native(stream)>>>(boxes, shared, sums, sets, number);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "share_kernel");
}

}  // namespace gridstride
