#pragma once

#include <string_view>

namespace gridstride {

/// While it lives, the signals that ask a program to end (SIGINT, SIGTERM, SIGHUP, and what batch
/// systems send before a limit: SIGXCPU, SIGUSR1) are noted, so that a run can stop between two
/// steps and keep its state. SIGUSR2 asks for a checkpoint alone. SIGHUP stays ignored where it
/// was, as under nohup.
///
/// More than a second after the first, another SIGINT, SIGTERM or SIGHUP ends the program at once.
///
/// Several may live at a time, in any threads: what comes is for each of them.
class SignalWatch {
 public:
  SignalWatch();
  SignalWatch(SignalWatch const&) = delete;
  SignalWatch& operator=(SignalWatch const&) = delete;
  ~SignalWatch();

  /// The first signal that came and asks to end since there is a watch, or 0.
  int pending() const;
  /// Whether a checkpoint was asked for since this watch began, or since its last call of
  /// `take_checkpoint_request`.
  bool checkpoint_requested() const;
  bool take_checkpoint_request();

 private:
  int requests_taken_;
};

/// `SIGTERM`.
std::string_view signal_name(int signal);

}  // namespace gridstride
