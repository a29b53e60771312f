#pragma once

#include <signal.h>

#include <array>
#include <string_view>

namespace gridstride {

/// While it lives, the signals that ask a program to end (SIGINT, SIGTERM, SIGHUP, and what batch
/// systems send before a limit: SIGXCPU, SIGUSR1) are noted, so that a run can stop between two
/// steps and keep its state. SIGUSR2 asks for a checkpoint alone. SIGHUP stays ignored where it
/// was, as under nohup.
///
/// More than a second after the first, another SIGINT, SIGTERM or SIGHUP ends the program at once.
class SignalWatch {
 public:
  SignalWatch();
  SignalWatch(SignalWatch const&) = delete;
  SignalWatch& operator=(SignalWatch const&) = delete;
  ~SignalWatch();

  /// The first signal that came and asks to end, or 0.
  int pending() const;
  /// Whether a checkpoint was asked for since the last call of `take_checkpoint_request`.
  bool checkpoint_requested() const;
  bool take_checkpoint_request();

 private:
  std::array<struct sigaction, 6> before_ = {};
};

/// `SIGTERM`.
std::string_view signal_name(int signal);

}  // namespace gridstride
