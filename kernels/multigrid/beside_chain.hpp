#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "core/stream.hpp"
#include "kernels/multigrid/outer.hpp"

/// For the family's own files only.
namespace gridstride::multigrid {

/// What u comes to beside a chain of directions: no cycle looks at u, so that it goes along a direction
/// while the next one is found, where that leaves a GPU idle. The chain goes first where both have work.
class BesideChain {
 public:
  explicit BesideChain(Stream const& stream)
      : stream_(stream),
        chain_(stream.urgent()),
        known_(stream.device()),
        done_(stream.device()),
        found_(stream_, MemorySpace::device, 1),
        seen_(stream_, MemorySpace::pinned, 2) {}

  Stream& chain() { return chain_; }
  /// The chain, of a solve that begins behind what has been queued on a stream.
  Stream& begin(Stream& stream) {
    stream.record(known_);
    chain_.wait(known_);
    return chain_;
  }
  /// What is queued on a stream from now on waits for the chain.
  void end(Stream& stream) {
    chain_.record(known_);
    stream.wait(known_);
  }
  /// Queues work behind what is on the chain: `work(stream, found)`, which raises what is 0. What is found by
  /// the one before is there to be asked for until the next one.
  template <class Work>
  void queue(Work const& work) {
    chain_.record(known_);
    stream_.wait(known_);
    zero_async(found_.span(), stream_);
    work(stream_, found_.data());
    turn_ = 1 - turn_;
    copy_async(seen_.span().subspan(turn_, 1), std::as_const(found_).span(), stream_);
    stream_.record(done_);
  }
  /// What is on the chain from now on waits for all of that.
  void join() { chain_.wait(done_); }
  /// Which of two places what the last work finds goes to.
  std::size_t place() const { return turn_; }
  /// What is there. Waits for all that has been queued.
  Found found(std::size_t place) const {
    done_.synchronize();
    return std::as_const(seen_).span()[place];
  }
  /// The same of work that the chain has joined, and the host waited for.
  Found found_before(std::size_t place) const { return std::as_const(seen_).span()[place]; }

 private:
  Stream stream_, chain_;
  Event known_, done_;
  Buffer<Found> found_, seen_;
  std::size_t turn_ = 0;
};

}  // namespace gridstride::multigrid
