#pragma once

namespace gridstride {

/// While it lives, SIGINT and SIGTERM no longer end the program but are noted, so that a run can
/// stop between two steps and keep its state. A second signal ends the program at once.
class SignalWatch {
 public:
  SignalWatch();
  SignalWatch(SignalWatch const&) = delete;
  SignalWatch& operator=(SignalWatch const&) = delete;
  ~SignalWatch();

  /// The signal that came, or 0.
  int pending() const;
};

}  // namespace gridstride
