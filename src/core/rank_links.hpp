#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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
  /// What comes on a way, where it goes, and the stream that brings it there.
  struct Arrival {
    int way = down;
    Pieces pieces;
    Stream* stream = nullptr;
  };

  virtual ~RankLinks() = default;

  /// The pieces go on a way once all is done that `stream` has queued. Work queued on it after the next
  /// start on that way, or on any stream after `let_go`, may change them, of the host not before as many
  /// are finished on that way. `stream` has what came before from the rank that they go to: so that one
  /// has taken all but the last of what it was sent, and at most two are on the way at a time.
  virtual void start(int way, Pieces const& pieces, Stream& stream) = 0;
  virtual void let_go(Stream& stream) = 0;
  /// Queues what comes next on these ways, and hands on what this rank has started to those that it
  /// comes from. Two ranks beside each other finish what goes between them at a time: they may wait for
  /// what the other one has queued, and for what was started.
  virtual void finish(std::span<Arrival const> arrivals) = 0;
};

/// The ranks below and above this one; −1: there is none.
using RanksBeside = std::array<int, 2>;

struct OpenedLinks {
  std::unique_ptr<RankLinks> links;
  std::string transport;  ///< of all ranks: which, and what each is for where there are several
  std::string remark;     ///< why it is not a faster one, or empty
};

/// Why what goes between this rank and those beside it does not come; empty of a side where nothing is
/// known against it.
using SideFaults = std::array<std::string, 2>;

/// A way between GPUs.
struct Transport {
  /// Which ranks it goes between: those of one machine, or any.
  enum class Reach { machine, all };

  std::string_view name;
  Reach reach;
  /// All ranks call it, none of which lacks it, with those beside them that it is to go to (some have
  /// none), and wait for each other. `link` is a stream beside those that compute. Null where there are
  /// faults on both sides.
  std::unique_ptr<RankLinks> (*make)(Ranks&, Stream const& link, RanksBeside const&, std::size_t,
                                     SideFaults&);
  /// Why this rank cannot use it, as far as it knows by itself; or empty. Null: nothing is needed.
  std::string (*lack)() = nullptr;
};

/// Those that need no kernels, the faster one first:
///
///   p2p     a rank writes into the memory of the GPU beside it, through CUDA's handles for other
///           processes, over NVLink where there is one; events of both tell when. Of one machine
///   nccl    by NVIDIA's library, which is loaded where it is wanted; a GPU for each rank
///   staged  through pinned memory of the host, which a rank of the same machine maps; else by MPI.
///           Always is
std::span<Transport const> core_transports();

/// Of each pair of ranks beside each other the first transport that goes between them and brings what
/// is sent: all ranks call it. So those of one machine may go by another one than those of two. For
/// pieces of up to `bytes` on each way. Of the host `mpi`: the arrays themselves go through MPI.
///
/// `wanted`, or without it GRIDSTRIDE_TRANSPORT in the environment, names the one that all are to take.
/// Throws `Error` where it is none of them, and on all ranks where it cannot be between some of them.
OpenedLinks open_links(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                       std::size_t bytes, std::span<Transport const> transports = core_transports(),
                       std::string_view wanted = {});

/// The same of any device and without a wish.
OpenedLinks open_pairs(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                       std::size_t bytes, std::span<Transport const> transports);

}  // namespace gridstride
