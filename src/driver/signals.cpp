#include "driver/signals.hpp"

#include <signal.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <utility>

namespace gridstride {

namespace {

struct Watched {
  int number;
  std::string_view name;
  bool ends_at_once_when_repeated;
};

constexpr std::array<Watched, 6> watched = {{{SIGINT, "SIGINT", true},
                                             {SIGTERM, "SIGTERM", true},
                                             {SIGHUP, "SIGHUP", true},
                                             {SIGXCPU, "SIGXCPU", false},
                                             {SIGUSR1, "SIGUSR1", false},
                                             {SIGUSR2, "SIGUSR2", false}}};

std::atomic<int> first_signal = 0;
std::atomic<int> checkpoint_requests = 0;
std::atomic<std::int64_t> first_came = 0;  // ns
static_assert(std::atomic<int>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);  // as handlers need it

std::int64_t nanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Key presses and schedulers send several at once, which are one wish.
bool soon_after_first() { return nanoseconds() - first_came < 1'000'000'000; }

extern "C" void note_signal(int signal) {
  if (signal == SIGUSR2) {
    ++checkpoint_requests;
  } else if (first_signal == 0) {
    first_came = nanoseconds();
    first_signal = signal;
  } else if (!soon_after_first()) {
    for (auto const& one : watched)
      if (one.number == signal && one.ends_at_once_when_repeated) {
        ::signal(signal, SIG_DFL);
        ::raise(signal);  // comes when this function has returned
      }
  }
}

/// The watches that live, and what the signals did before the first of them.
struct Watches {
  std::mutex mutex;
  int count = 0;
  std::array<struct sigaction, watched.size()> before = {};
};

Watches& watches() {
  static Watches all;
  return all;
}

void begin_noting(Watches& all) {
  first_signal = 0;
  struct sigaction noting = {};
  noting.sa_handler = note_signal;
  noting.sa_flags = SA_RESTART;
  sigemptyset(&noting.sa_mask);
  // One handler at a time: they share what they note.
  for (auto const& one : watched) sigaddset(&noting.sa_mask, one.number);
  for (std::size_t i = 0; i < watched.size(); ++i) {
    sigaction(watched[i].number, nullptr, &all.before[i]);
    if (watched[i].number == SIGHUP && all.before[i].sa_handler == SIG_IGN) continue;
    sigaction(watched[i].number, &noting, nullptr);
  }
}

}  // namespace

SignalWatch::SignalWatch() : requests_taken_(checkpoint_requests) {
  auto& all = watches();
  std::lock_guard const lock(all.mutex);
  if (all.count++ == 0) begin_noting(all);
}

SignalWatch::~SignalWatch() {
  auto& all = watches();
  std::lock_guard const lock(all.mutex);
  if (--all.count > 0) return;
  for (std::size_t i = 0; i < watched.size(); ++i)
    sigaction(watched[i].number, &all.before[i], nullptr);
}

int SignalWatch::pending() const { return first_signal; }

bool SignalWatch::checkpoint_requested() const { return checkpoint_requests != requests_taken_; }

bool SignalWatch::take_checkpoint_request() {
  int const requests = checkpoint_requests;
  return std::exchange(requests_taken_, requests) != requests;
}

std::string_view signal_name(int signal) {
  for (auto const& one : watched)
    if (one.number == signal) return one.name;
  return "a signal";
}

}  // namespace gridstride
