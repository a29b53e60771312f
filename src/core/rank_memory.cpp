#include "core/rank_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/rank_sums.hpp"

namespace gridstride {

namespace {

/// What a rank offers to the others.
struct MemoryOffer {
  GpuIdentity gpu = {};
  gpu::IpcHandle memory = {};
};

/// What others may still have open: it goes when all ranks make memory anew, after which nobody has
/// the one before.
std::vector<std::shared_ptr<void>>& memory_left() {
  thread_local std::vector<std::shared_ptr<void>> memory;
  return memory;
}

}  // namespace

bool is_one_shared(std::vector<GpuIdentity> gpus) {
  std::ranges::sort(gpus);
  return std::ranges::adjacent_find(gpus) != gpus.end();
}

RankMemory::RankMemory(Ranks& ranks, Stream const& stream, std::size_t bytes, Owners owners)
    : own_(ranks.rank()), memory_(static_cast<std::size_t>(ranks.count())) {
  int const ordinal = stream.device().ordinal();
  auto const own = static_cast<std::size_t>(own_);
  MemoryOffer offer;
  std::string failure;
  if (owners == Owners::all && ranks.local_count() != ranks.count())
    failure = "the ranks are on several machines";
  try {
    offer.gpu = gpu::identity(ordinal);
    memory_[own] = gpu::allocate_shared(ordinal, bytes);
    gpu::zero_async(memory_[own].get(), bytes, stream.native());
    gpu::synchronize(stream.native());
    offer.memory = gpu::handle_of_memory(memory_[own].get());
  } catch (Error const& error) {
    failure = error.what();
  }
  auto const offers = of_all_ranks(ranks, offer);
  memory_left().clear();
  std::vector<GpuIdentity> gpus;
  for (MemoryOffer const& one : offers) gpus.push_back(one.gpu);
  if (is_one_shared(std::move(gpus))) failure = "ranks share a GPU";
  failure_ = first_text(ranks, failure);
  if (!failure_.empty()) return;
  try {
    for (std::size_t rank = 0; rank < memory_.size(); ++rank)
      if (rank != own && ranks.is_here(static_cast<int>(rank)))
        memory_[rank] = gpu::open_memory(ordinal, offers[rank].memory);
  } catch (Error const& error) {
    failure = error.what();
  }
  failure_ = first_text(ranks, failure);
}

RankMemory::~RankMemory() {
  memory_left().push_back(std::move(memory_[static_cast<std::size_t>(own_)]));
}

}  // namespace gridstride
