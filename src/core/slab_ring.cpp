#include "core/slab_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/pipeline.hpp"
#include "core/timer.hpp"

namespace gridstride {

namespace {

/// One run of a ring. Filling n of all is in slab n modulo their number.
class RingRun {
 public:
  RingRun(Stream& stream, Stream& copies, SlabRing::Shape const& shape, SlabRing::Work const& work,
          std::vector<Event>& copied, std::vector<Event>& taken)
      : stream_(stream),
        copies_(copies),
        shape_(shape),
        work_(work),
        copied_(copied),
        taken_(taken),
        missing_(static_cast<std::size_t>(shape.fillings())),
        sent_(missing_.size(), 0) {
    for (std::int64_t n = 0; n < shape.fillings(); ++n) {
      auto const filling = filling_of(n);
      missing_[static_cast<std::size_t>(n)] = filling.last - filling.first;
    }
  }

  /// The life of a thread.
  void work() noexcept {
    bool const on_gpu = stream_.backend() == Backend::cuda;
    if (on_gpu) attempt(0, [&] { gpu::use_device(stream_.device().ordinal()); });
    for (std::int64_t piece; goes_on(piece = next_++);) {
      std::int64_t const n = piece / shape_.slab_pieces;
      attempt(piece, [&] {
        if (!await_room(n, piece)) return;
        {
          gpu::Range const range("read");
          work_.fill(piece, slab_of(n));
        }
        if (--missing_[static_cast<std::size_t>(n)] == 0) send(n);
      });
    }
    std::lock_guard const lock(mutex_);
    read_seconds_ = std::max(read_seconds_, clock_.seconds());
  }

  /// Tells all threads to stop.
  void give_up() { fail(-1, nullptr); }

  /// To be called when no thread is at work any more.
  void finish() {
    try {
      copies_.synchronize();
    } catch (std::exception const&) {
      if (!failure_) throw;  // what failed before is what is told
    }
    if (failure_) std::rethrow_exception(failure_);
  }
  double read_seconds() const { return read_seconds_; }

 private:
  SlabRing::Filling filling_of(std::int64_t n) const {
    std::int64_t const first = n * shape_.slab_pieces;
    return {first, std::min(first + shape_.slab_pieces, shape_.pieces), slab_of(n)};
  }
  std::size_t slab_of(std::int64_t n) const { return static_cast<std::size_t>(n % shape_.slabs); }
  bool goes_on(std::int64_t piece) const { return piece < shape_.pieces && piece < failed_; }

  template <class Step>
  void attempt(std::int64_t piece, Step const& step) noexcept {
    try {
      step();
    } catch (...) {
      fail(piece, std::current_exception());
    }
  }

  void fail(std::int64_t piece, std::exception_ptr failure) {
    std::lock_guard const lock(mutex_);
    if (piece >= failed_) return;
    failed_ = piece;
    failure_ = std::move(failure);
    changed_.notify_all();
  }

  /// Waits until the slab of filling n is empty again; false where its turn does not come any more.
  /// One of the threads that wait does so for the device, and wakes the others.
  bool await_room(std::int64_t n, std::int64_t piece) {
    std::unique_lock lock(mutex_);
    while (emptied_ <= n - shape_.slabs) {
      if (failed_ <= piece) return false;
      if (someone_waits_ || sent_[static_cast<std::size_t>(emptied_)] == 0) {
        changed_.wait(lock);
        continue;
      }
      someone_waits_ = true;
      std::size_t const slab = slab_of(emptied_);
      lock.unlock();
      if (!copied_.empty()) attempt(piece, [&] { copied_[slab].synchronize(); });
      lock.lock();
      someone_waits_ = false;
      ++emptied_;
      changed_.notify_all();
    }
    return true;
  }

  /// Filling n is whole.
  void send(std::int64_t n) {
    auto const filling = filling_of(n);
    if (stream_.backend() == Backend::cpu) {
      work_.copy(filling, copies_);
      work_.take(filling, stream_);
    } else {
      std::lock_guard const lock(sending_);
      copies_.wait(taken_[filling.slab]);
      {
        gpu::Range const range("copy in");
        work_.copy(filling, copies_);
      }
      copies_.record(copied_[filling.slab]);
      stream_.wait(copied_[filling.slab]);
      gpu::Range const range("convert");
      work_.take(filling, stream_);
      stream_.record(taken_[filling.slab]);
    }
    std::lock_guard const lock(mutex_);
    sent_[static_cast<std::size_t>(n)] = 1;
    changed_.notify_all();
  }

  Stream& stream_;
  Stream& copies_;
  SlabRing::Shape shape_;
  SlabRing::Work const& work_;
  std::vector<Event>& copied_;
  std::vector<Event>& taken_;
  std::vector<std::atomic<std::int64_t>> missing_;  ///< pieces of each filling
  std::atomic<std::int64_t> next_ = 0;              ///< piece that no thread has yet
  std::atomic<std::int64_t> failed_ = std::numeric_limits<std::int64_t>::max();
  std::mutex sending_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::vector<char> sent_;      ///< fillings that are queued
  std::int64_t emptied_ = 0;    ///< fillings from the first on that are out of their slabs
  bool someone_waits_ = false;  ///< for the device
  std::exception_ptr failure_;
  double read_seconds_ = 0;
  Timer clock_;
};

}  // namespace

std::size_t SlabRing::piece_bytes(Backend backend) {
  // Beside the device threads share a slab; on the host a piece stays in a processor's cache.
  constexpr std::size_t on_host = std::size_t{1} << 20, on_gpu = std::size_t{256} << 10;
  return backend == Backend::cuda ? on_gpu : on_host;
}

SlabRing::Shape SlabRing::shape_for(Backend backend, std::int64_t pieces, std::size_t piece_bytes) {
  // One slab is filled and one copied; one more makes up for threads that are late. Of little data
  // only a part has to go by at a time.
  constexpr std::int64_t fewest = 3, rounds = 4;
  Shape shape;
  shape.pieces = pieces;
  shape.threads = Pipeline::lanes_for(LaneUse::files, pieces);
  if (backend == Backend::cuda) {
    auto const fit = static_cast<std::int64_t>(slab_bytes / std::max<std::size_t>(piece_bytes, 1));
    shape.slab_pieces = std::clamp<std::int64_t>(
        fit, 1, std::max<std::int64_t>(1, (pieces + rounds * fewest - 1) / (rounds * fewest)));
  }
  std::int64_t const ahead = (2 * shape.threads + shape.slab_pieces - 1) / shape.slab_pieces;
  shape.slabs = std::clamp<std::int64_t>(std::max(fewest, ahead), 1,
                                         std::max<std::int64_t>(1, shape.fillings()));
  return shape;
}

SlabRing::SlabRing(Stream const& stream, Shape const& shape)
    : stream_(stream), copies_(stream.device()), shape_(shape) {
  if (stream.backend() == Backend::cpu) return;
  for (std::int64_t n = 0; n < shape.slabs; ++n) {
    copied_.emplace_back(stream.device());
    taken_.emplace_back(stream.device());
  }
}

double SlabRing::run(Work const& work) {
  if (shape_.pieces == 0) return 0;
  RingRun run(stream_, copies_, shape_, work, copied_, taken_);
  Event begun(stream_.device());
  stream_.record(begun);
  copies_.wait(begun);
  {
    std::vector<std::jthread> threads;
    try {
      for (int t = 1; t < shape_.threads; ++t) threads.emplace_back([&run] { run.work(); });
    } catch (std::system_error const& refusal) {
      run.give_up();
      throw Error(fmt::format("thread {} of {} that read cannot be started ({})",
                              threads.size() + 2, shape_.threads, refusal.what()));
    }
    run.work();
  }
  run.finish();
  return run.read_seconds();
}

}  // namespace gridstride
