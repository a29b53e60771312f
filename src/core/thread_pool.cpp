#include "core/thread_pool.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/processors.hpp"

namespace gridstride {

namespace {

/// What a thread waits for awake: less than it costs to fall asleep and be woken, so that loops
/// that follow each other find their threads ready, and little where processors are shared.
constexpr auto patience = std::chrono::microseconds(30);
/// The pieces of a thread's part: what is left of it may go to others.
constexpr std::int64_t pieces_of_part = 16;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits awake for a while. Returns whether it came true.
template <class Condition>
bool came_soon(Condition const& condition) {
  auto const end = std::chrono::steady_clock::now() + patience;
  do {
    for (int i = 0; i < 32; ++i) {
      if (condition()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// Whether this thread is within a body.
thread_local bool within_body = false;

/// One loop, on the stack of the thread that called for it.
class Loop {
 public:
  Loop(std::int64_t count, int threads, LoopBody body)
      : body_(body),
        first_(host_share().first),
        threads_(threads),
        parts_(std::make_unique<Part[]>(unsigned(threads))) {
    for (int k = 0; k < threads; ++k) {
      parts_[unsigned(k)].next = count * k / threads;
      parts_[unsigned(k)].end = count * (k + 1) / threads;
    }
    piece_ = std::max<std::int64_t>(1, count / threads / pieces_of_part);
  }

  /// The place of its own thread among those of the pool; the others follow.
  int first() const { return first_; }

  /// Works as the thread at `place`, until no piece is left.
  void work(int place) noexcept {
    within_body = true;
    try {
      for (int k = 0; k < threads_; ++k) take(parts_[unsigned((place - first_ + k) % threads_)]);
    } catch (...) {
      std::lock_guard const lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
      for (int k = 0; k < threads_; ++k)
        parts_[unsigned(k)].next.store(parts_[unsigned(k)].end, std::memory_order_relaxed);
    }
    within_body = false;
    exhausted_.store(true, std::memory_order_relaxed);
  }

  bool takes(int place) const {
    return place > first_ && place < first_ + threads_ &&
           !exhausted_.load(std::memory_order_relaxed);
  }
  void throw_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  std::atomic<int> helpers = 0;  ///< at work; the pool's mutex is held where it grows

 private:
  struct alignas(64) Part {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };

  void take(Part& part) {
    while (part.next.load(std::memory_order_relaxed) < part.end) {
      std::int64_t const first = part.next.fetch_add(piece_, std::memory_order_relaxed);
      if (first >= part.end) return;
      body_(first, std::min(first + piece_, part.end));
    }
  }

  LoopBody body_;
  int first_;
  int threads_;
  std::int64_t piece_;
  std::unique_ptr<Part[]> parts_;
  std::atomic<bool> exhausted_ = false;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

class ThreadPool {
 public:
  void run(Loop& loop, int threads) {
    {
      std::lock_guard const lock(mutex_);
      while (started_ < loop.first() + threads - 1) start_one();
      loops_.push_back(&loop);
      news_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    loop.work(loop.first());
    {
      std::lock_guard const lock(mutex_);
      std::erase(loops_, &loop);  // from here on nobody joins it
    }
    auto const all_left = [&] { return loop.helpers.load(std::memory_order_acquire) == 0; };
    if (came_soon(all_left)) return;
    std::unique_lock lock(mutex_);
    left_.wait(lock, all_left);
  }

 private:
  struct Start {
    ThreadPool* pool;
    int place;
  };

  void start_one() {
    // As much as programs usually have, whatever `ulimit -s` leaves.
    constexpr std::size_t stack_bytes = std::size_t{8} << 20;
    auto start = std::make_unique<Start>(Start{this, started_ + 1});
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread{};
    int const fault = pthread_create(
        &thread, &attributes,
        [](void* given) -> void* {
          auto const [pool, place] = *std::unique_ptr<Start>(static_cast<Start*>(given));
          pool->help(place);
          return nullptr;
        },
        start.get());
    pthread_attr_destroy(&attributes);
    if (fault != 0)
      throw Error(fmt::format(
          "thread {} of {} cannot be started ({}); OMP_NUM_THREADS says how many there are",
          started_ + 2, host_threads(), std::strerror(fault)));
    static_cast<void>(start.release());  // the thread's own now
    ++started_;
  }

  /// The life of a thread.
  [[noreturn]] void help(int place) {
    std::unique_lock lock(mutex_);
    while (true) {
      auto const found =
          std::ranges::find_if(loops_, [&](Loop const* loop) { return loop->takes(place); });
      if (found == loops_.end()) {
        std::uint64_t const known = news_.load(std::memory_order_relaxed);
        auto const is_news = [&] { return news_.load(std::memory_order_acquire) != known; };
        lock.unlock();
        bool const soon = came_soon(is_news);
        lock.lock();
        if (!soon) wake_.wait(lock, is_news);
        continue;
      }
      Loop& loop = **found;
      loop.helpers.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      loop.work(place);
      lock.lock();
      // The loop's own thread may go on as soon as this is 0.
      if (loop.helpers.fetch_sub(1, std::memory_order_release) == 1) left_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, left_;
  std::atomic<std::uint64_t> news_ = 0;  ///< grows with each loop
  std::vector<Loop*> loops_;             ///< those that threads may join
  int started_ = 0;
};

}  // namespace

void share_out(std::int64_t count, int threads, LoopBody body) {
  if (threads < 2 || within_body) return body(0, count);
  // Never destroyed: its threads wait in it until the process ends.
  static auto& pool = *new ThreadPool;
  Loop loop(count, threads, body);
  pool.run(loop, threads);
  loop.throw_failure();
}

}  // namespace gridstride
