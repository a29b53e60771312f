#pragma once

#include <cstddef>
#include <functional>
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
    work_ = {};  // of a solve that has failed
    stream.record(known_);
    chain_.wait(known_);
    return chain_;
  }
  /// What is queued on a stream from now on waits for the chain.
  void end(Stream& stream) {
    chain_.record(known_);
    stream.wait(known_);
  }
  /// Work that is to be queued: `work(stream, found)`, which raises what is 0. What is found by the one before is
  /// there to be asked for until the next one.
  void put(std::function<void(Stream&, Found*)> work) {
    work_ = std::move(work);
    turn_ = 1 - turn_;
  }
  /// Queues it behind what is on the chain, if there is some.
  void release() {
    auto const work = std::exchange(work_, {});
    if (!work) return;
    chain_.record(known_);
    stream_.wait(known_);
    zero_async(found_.span(), stream_);
    work(stream_, found_.data());
    copy_async(seen_.span().subspan(turn_, 1), std::as_const(found_).span(), stream_);
    stream_.record(done_);
  }
  /// Copies what the chain has found; `done` tells when it is there.
  void copy(std::span<Found> to, std::span<Found const> from, Event& done) {
    chain_.record(known_);
    stream_.wait(known_);
    copy_async(to, from, stream_);
    stream_.record(done);
  }
  /// What is on the chain from now on waits for all of that.
  void join() {
    release();
    chain_.wait(done_);
  }
  /// Which of two places what the last work finds goes to.
  std::size_t place() const { return turn_; }
  /// What is there. Waits for all of that.
  Found found(std::size_t place) {
    release();
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
  std::function<void(Stream&, Found*)> work_;
};

}  // namespace gridstride::multigrid
