#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/buffer.hpp"
#include "core/rank_links.hpp"
#include "core/rank_memory.hpp"
#include "core/rank_sums.hpp"
#include "core/stream.hpp"

namespace gridstride {

/// How several ranks share the planes of a grid along its slowest axis, for kernels that need what is
/// beside theirs, and sums over all: each rank has the planes from its cut to the next one's. Arrays of
/// a grid have those planes and one more on each side, whose values are those of the rank beside it.
class RankPlanes {
 public:
  /// All ranks make one. Along an axis that goes `around`, the first rank is above the last one. Planes
  /// have up to `plane_bytes`, and `share` takes up to `most_sums` numbers.
  RankPlanes(Ranks& ranks, Stream const& stream, RankCuts cuts, bool around,
             std::size_t plane_bytes, std::size_t most_sums);

  Ranks& ranks() const { return ranks_; }
  RanksBeside const& beside() const { return beside_; }
  /// Whether kernels write into the memory of the other ranks' GPUs.
  bool by_kernels() const { return boxes_ != nullptr; }
  RankCuts const& cuts() const { return cuts_; }
  std::int64_t all() const { return cuts_.back(); }
  std::int64_t lower() const { return cuts_[rank_]; }
  std::int64_t upper() const { return cuts_[rank_ + 1]; }
  /// Planes of an array, of which the first one is `lower() − 1`.
  std::int64_t held() const { return upper() - lower() + 2; }
  /// Which elements each rank has of as many as `of_planes` of all planes make, for every number of
  /// planes that no rank cuts.
  template <class Count>
  RankCuts cuts_of(Count const& of_planes) const {
    RankCuts cuts;
    for (std::int64_t const plane : cuts_) cuts.push_back(of_planes(plane));
    return cuts;
  }

  /// Queues that the planes on each side of the rank's own have what the ranks beside it have there.
  template <class T>
  void exchange(Stream& stream, std::span<T> values) {
    exchange_bytes(stream, std::as_writable_bytes(values));
  }
  /// The first half of it, so that what is queued meanwhile has not to wait. Values may change again
  /// once something is shared after the exchange.
  template <class T>
  void start(Stream& stream, std::span<T> values) {
    start_bytes(stream, std::as_writable_bytes(values));
  }
  /// Queues that all ranks have all of `sums`, in device memory: so many `sets` of as many numbers as
  /// `cuts` has elements, one set after the other, of each of which a rank has made its part.
  void share(Stream& stream, double* sums, int sets, RankCuts const& cuts);

  /// How planes and sums go, in words.
  std::string transport() const;

 private:
  void open_boxes(Stream stream, std::size_t plane_bytes);
  void start_bytes(Stream& stream, std::span<std::byte> values);
  void finish_bytes(Stream& stream);
  void exchange_bytes(Stream& stream, std::span<std::byte> values);
  void share_through_host(Stream& stream, double* sums, int sets, RankCuts const& cuts);

  Ranks& ranks_;
  std::size_t rank_;
  RankCuts cuts_;
  RanksBeside beside_;
  OpenedLinks links_;
  std::unique_ptr<RankMemory> boxes_;  // of GPUs whose kernels reach each other's
  std::string boxes_lack_;             // why there are none
  Buffer<double> staging_;             // for sums of a GPU then
  std::size_t most_sums_, plane_bytes_;
  std::uint64_t shared_ = 0, sent_ = 0;  // so many times
  std::uint64_t shared_before_ = 0;      // the last time that something was sent
  std::span<std::byte> started_ = {};    // whose exchange is under way
};

#ifdef GRIDSTRIDE_WITH_CUDA
/// Memory that the kernels of all ranks write to. Of each rank: what says how often another one has
/// sent its sums, and with them what it had written before; sums; and a plane from each side. All but
/// the first take turns.
struct PeerBoxes {
  static constexpr int most_ranks = 64;
  std::byte* of[most_ranks];
  int rank, count;
  std::size_t most_sums, plane_bytes;

  static constexpr std::size_t flag_bytes = most_ranks * sizeof(std::uint64_t);
  static std::size_t bytes(std::size_t most_sums, std::size_t plane_bytes) {
    return padded(flag_bytes + 2 * most_sums * sizeof(double)) + 4 * padded(plane_bytes);
  }
  static std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  /// What is sent on a way (`RankLinks`) to a rank.
  std::byte* plane(int of_rank, int way, std::uint64_t turn) const {
    return of[of_rank] + padded(flag_bytes + 2 * most_sums * sizeof(double)) +
           (static_cast<std::size_t>(way) + 2 * (turn % 2)) * padded(plane_bytes);
  }
};
/// `number` counts from 1 on. With a `patience`, in nanoseconds, what does not come by then is left.
void cuda_share(Stream& stream, PeerBoxes const& boxes, double* sums, int sets,
                RankCuts const& cuts, std::uint64_t number, std::uint64_t patience);
/// Several copies at a time.
struct PlaneCopies {
  struct Copy {
    std::byte const* from;
    std::byte* to;
    std::size_t bytes;
  };
  static constexpr int most = 16;
  Copy list[most];
  int count = 0;

  void add(Copy const& copy) { list[count++] = copy; }
};
void cuda_copy_planes(Stream& stream, PlaneCopies const& copies);
#endif

}  // namespace gridstride
