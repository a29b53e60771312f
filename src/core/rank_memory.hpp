#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/ranks.hpp"
#include "core/stream.hpp"

namespace gridstride {

/// What one GPU is known by among all, of any machine.
using GpuIdentity = std::array<std::byte, 16>;

/// Whether ranks share one of the GPUs that they have: where one of them waits in a kernel for another,
/// it keeps that one from its work.
bool is_one_shared(std::vector<GpuIdentity> gpus);

/// Memory of each rank's GPU that the GPUs of all others write to: of processes of one machine, each
/// with a GPU of its own. Full of zeros at first.
class RankMemory {
 public:
  /// Whose a rank reaches: that of all others, who have to be on its machine, or of those who are.
  enum class Owners { all, of_machine };

  /// All ranks make one, of so many bytes.
  RankMemory(Ranks& ranks, Stream const& stream, std::size_t bytes, Owners owners = Owners::all);
  RankMemory(RankMemory const&) = delete;
  RankMemory& operator=(RankMemory const&) = delete;
  ~RankMemory();

  /// Why there is none, the same on all ranks; empty where there is.
  std::string const& failure() const { return failure_; }
  /// That of a rank, as this one's GPU reaches it; null of another machine.
  std::byte* of(int rank) const {
    return static_cast<std::byte*>(memory_[static_cast<std::size_t>(rank)].get());
  }

 private:
  int own_;
  std::vector<std::shared_ptr<void>> memory_;
  std::string failure_;
};

}  // namespace gridstride
