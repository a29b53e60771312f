#pragma once

#include <optional>

#include "core/error.hpp"
#include "core/stream.hpp"

namespace gridstride {

/// The stream that halos are exchanged on: that of the steps, or from some time on one beside it.
class HaloLane {
 public:
  /// `made`: the stream beside is there from the beginning, for it takes a while to make.
  HaloLane(Stream const& steps, bool made)
      : steps_(steps), before_(steps.device()), after_(steps.device()) {
    if (made) make_beside();
  }
  HaloLane(HaloLane const&) = delete;
  HaloLane& operator=(HaloLane const&) = delete;
  /// What goes next may be memory that halos are brought to.
  ~HaloLane() {
    try {
      lead();
    } catch (Error const&) {  // a device that has failed does no more
    }
  }

  Stream& stream() { return is_beside_ ? *beside_ : steps_; }
  bool is_beside() const { return is_beside_; }
  void go_beside() {
    if (is_beside_) return;
    if (!beside_) make_beside();
    is_beside_ = true;
    follow();
  }
  /// What is queued on it after this comes after all that steps have queued.
  void follow() {
    if (!is_beside_) return;
    steps_.record(before_);
    beside_->wait(before_);
  }
  /// The other way round.
  void lead() {
    if (!is_beside_) return;
    beside_->record(after_);
    steps_.wait(after_);
  }

 private:
  void make_beside() { beside_ = Stream(steps_.device()).urgent(); }

  Stream steps_;
  std::optional<Stream> beside_;
  bool is_beside_ = false;
  Event before_, after_;
};

}  // namespace gridstride
