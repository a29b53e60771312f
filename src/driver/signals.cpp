#include "driver/signals.hpp"

#include <csignal>
#include <ctime>

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

volatile std::sig_atomic_t first_signal = 0;
volatile std::sig_atomic_t wants_checkpoint = 0;
timespec first_came = {};

/// Key presses and schedulers send several at once, which are one wish.
bool soon_after_first() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  double const seconds = static_cast<double>(now.tv_sec - first_came.tv_sec) +
                         1e-9 * static_cast<double>(now.tv_nsec - first_came.tv_nsec);
  return seconds < 1;
}

extern "C" void note_signal(int signal) {
  if (signal == SIGUSR2) {
    wants_checkpoint = 1;
  } else if (first_signal == 0) {
    clock_gettime(CLOCK_MONOTONIC, &first_came);
    first_signal = signal;
  } else if (!soon_after_first()) {
    for (auto const& one : watched)
      if (one.number == signal && one.ends_at_once_when_repeated) {
        ::signal(signal, SIG_DFL);
        ::raise(signal);  // comes when this function has returned
      }
  }
}

}  // namespace

SignalWatch::SignalWatch() {
  first_signal = 0;
  wants_checkpoint = 0;
  struct sigaction noting = {};
  noting.sa_handler = note_signal;
  noting.sa_flags = SA_RESTART;
  sigemptyset(&noting.sa_mask);
  // One handler at a time: they share what they note.
  for (auto const& one : watched) sigaddset(&noting.sa_mask, one.number);
  for (std::size_t i = 0; i < watched.size(); ++i) {
    sigaction(watched[i].number, nullptr, &before_[i]);
    if (watched[i].number == SIGHUP && before_[i].sa_handler == SIG_IGN) continue;
    sigaction(watched[i].number, &noting, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  for (std::size_t i = 0; i < watched.size(); ++i)
    sigaction(watched[i].number, &before_[i], nullptr);
}

int SignalWatch::pending() const { return first_signal; }

bool SignalWatch::checkpoint_requested() const { return wants_checkpoint != 0; }

bool SignalWatch::take_checkpoint_request() {
  bool const requested = checkpoint_requested();
  wants_checkpoint = 0;
  return requested;
}

std::string_view signal_name(int signal) {
  for (auto const& one : watched)
    if (one.number == signal) return one.name;
  return "a signal";
}

}  // namespace gridstride
