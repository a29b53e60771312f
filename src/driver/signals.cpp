#include "driver/signals.hpp"

#include <csignal>

namespace gridstride {

namespace {

volatile std::sig_atomic_t noted = 0;

extern "C" void note_signal(int signal) {
  noted = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

SignalWatch::SignalWatch() {
  noted = 0;
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

SignalWatch::~SignalWatch() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int SignalWatch::pending() const { return noted; }

}  // namespace gridstride
