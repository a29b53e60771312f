#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ranks.hpp"
#include "core/stream.hpp"

/// What goes between the arrays of a rank and those of the ranks beside it.
namespace gridstride {

/// Two ways on which all ranks send at a time: down, each to the one below it and from the one above
/// it, and up, the other way round. What a rank sends on a way comes in that order.
class RankLinks {
 public:
  static constexpr int down = 0, up = 1;
  using Pieces = std::vector<std::span<std::byte>>;
  /// What comes on a way, and where it goes.
  struct Arrival {
    int way = down;
    Pieces pieces;
  };

  virtual ~RankLinks() = default;

  virtual std::string name() const = 0;
  /// Sends on a way what the pieces hold when all is done that `stream` has queued. They are not to
  /// change before what the next `finish` of that way queues is done, which comes after as many
  /// others. At most two are on the way at a time.
  virtual void start(int way, Pieces const& pieces, Stream& stream) = 0;
  /// Queues on `stream` what comes next on these ways. All ranks call it, and may wait for what the
  /// ranks beside them have queued, but for no work of a device that they have queued last.
  virtual void finish(std::span<Arrival const> arrivals, Stream& stream) = 0;
  /// Waits until all that was started has gone.
  virtual void rest() = 0;
};

/// The ranks below and above this one; −1: there is none.
using RanksBeside = std::array<int, 2>;

struct OpenedLinks {
  std::unique_ptr<RankLinks> links;
  std::string remark;  ///< why it is not a faster one, or empty
};

/// The fastest that all ranks have: all call it. For pieces of up to `bytes` on each way. Of the host
/// `mpi`: the arrays themselves go through MPI. Of GPUs
///
///   p2p     a rank writes into the memory of the GPU beside it, through CUDA's handles for other
///           processes, over NVLink where there is one; events of both tell when
///   staged  through pinned memory of the host, and MPI
///
/// GRIDSTRIDE_TRANSPORT in the environment names one of these that is to be taken. Throws `Error`
/// where it is another name, and on all ranks where `p2p` is wanted and one of them cannot.
OpenedLinks open_links(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                       std::size_t bytes);

}  // namespace gridstride
