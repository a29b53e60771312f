#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/rank_links.hpp"
#include "core/rank_memory.hpp"
#include "core/stream.hpp"
#include "kernels/support/rank_planes.hpp"

namespace gridstride {

/// Pieces of any arrays that ranks send each other, as their planes go (`RankPlanes`): in kernels'
/// order on the stream, without the host where GPUs reach each other's memory.
class RankPieces {
 public:
  using Pieces = std::vector<std::span<std::byte>>;

  /// What it takes of a device's memory.
  static std::size_t bytes(std::size_t beside_bytes, std::size_t all_bytes, int ranks);

  /// All ranks make one. A rank sends up to `beside_bytes` to each rank beside it, and all of them
  /// have up to `all_bytes` to be gathered.
  RankPieces(RankPlanes const& planes, Stream const& stream, std::size_t beside_bytes,
             std::size_t all_bytes);

  /// Queues that `own` goes to the ranks below and above, and that what they send comes to `beside`,
  /// from below and above. Sizes are those of the other side; what has no rank beside it is empty.
  void exchange(Stream& stream, std::array<Pieces, 2> const& own,
                std::array<Pieces, 2> const& beside);
  /// Queues that all ranks have the pieces of each rank, of sizes that all know.
  void gather(Stream& stream, std::vector<Pieces> const& of_ranks);

 private:
  void exchange_by_links(Stream& stream, std::array<Pieces, 2> const& own,
                         std::array<Pieces, 2> const& beside);
  void gather_on_host(std::vector<Pieces> const& of_ranks);
  void gather_through_host(Stream& stream, std::vector<Pieces> const& of_ranks);

  Ranks& ranks_;
  RanksBeside beside_;
  std::size_t beside_bytes_, box_bytes_;
  std::unique_ptr<RankMemory> boxes_;  // of GPUs whose kernels reach each other's
  std::uint64_t turn_ = 0;             // so many times
  OpenedLinks links_;                  // without those
  Buffer<std::byte> staging_;          // of a GPU then
};

}  // namespace gridstride
