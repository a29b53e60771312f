#pragma once

#include <optional>

#include "core/error.hpp"
#include "core/stream.hpp"

namespace gridstride {

/// The stream that halos are exchanged on: that of the steps, or from some time on one beside it.
class HaloLane {
 public:
  explicit HaloLane(Stream const& steps)
      : steps_(steps), before_(steps.device()), after_(steps.device()) {}
  HaloLane(HaloLane const&) = delete;
  HaloLane& operator=(HaloLane const&) = delete;
  /// What goes next may be memory that halos are brought to.
  ~HaloLane() {
    try {
      lead();
    } catch (Error const&) {  // a device that has failed does no more
    }
  }

  Stream& stream() { return beside_ ? *beside_ : steps_; }
  bool is_beside() const { return beside_.has_value(); }
  void go_beside() {
    if (beside_) return;
    beside_ = Stream(steps_.device()).urgent();
    follow();
  }
  /// What is queued on it after this comes after all that steps have queued.
  void follow() {
    if (!beside_) return;
    steps_.record(before_);
    beside_->wait(before_);
  }
  /// The other way round.
  void lead() {
    if (!beside_) return;
    beside_->record(after_);
    steps_.wait(after_);
  }

 private:
  Stream steps_;
  std::optional<Stream> beside_;
  Event before_, after_;
};

}  // namespace gridstride
