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

  virtual std::string name() const = 0;
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
  std::string remark;  ///< why it is not a faster one, or empty
};

/// A way between GPUs.
struct Transport {
  std::string_view name;
  /// Why this rank cannot use it, as far as it knows by itself; or empty.
  std::string (*lack)(Ranks const&);
  /// All ranks call it, none of which lacks it, and wait for each other. Tells in the last one why
  /// what it returns is of no use, or leaves it empty.
  std::unique_ptr<RankLinks> (*make)(Ranks&, Stream const&, RanksBeside const&, std::size_t,
                                     std::string&);
};

/// Those that need no kernels, the faster one first:
///
///   p2p     a rank writes into the memory of the GPU beside it, through CUDA's handles for other
///           processes, over NVLink where there is one; events of both tell when
///   nccl    by NVIDIA's library, which is loaded where it is wanted; a GPU for each rank
std::span<Transport const> core_transports();
/// What always is, after those: through pinned memory of the host, which a rank of the same machine
/// maps; else by MPI.
inline constexpr std::string_view staged_transport = "staged";

/// The first transport that all ranks have, which brings what is sent: all call it. For pieces of up
/// to `bytes` on each way. Of the host `mpi`: the arrays themselves go through MPI.
///
/// `wanted`, or without it GRIDSTRIDE_TRANSPORT in the environment, names the one that is to be taken.
/// Throws `Error` where it is none of them, and on all ranks where one of them cannot.
OpenedLinks open_links(Ranks& ranks, Stream const& stream, RanksBeside const& beside,
                       std::size_t bytes, std::span<Transport const> transports = core_transports(),
                       std::string_view wanted = {});

}  // namespace gridstride
