#pragma once

#include <memory>

#include "core/gpu.hpp"
#include "core/stream.hpp"

namespace gridstride {

/// A point in a stream, or what has happened where none was recorded. Who waits for it sleeps, but where
/// that is told otherwise: there may be more threads than processors. On the CPU, where work is done when
/// it is queued, a time.
class Mark {
 public:
  explicit Mark(Device const& device, bool sleeps = true) {
    if (device.backend() == Backend::cuda) event_ = gpu::make_event(device.ordinal(), sleeps);
  }

  /// `now`, on the host's clock, is what counts on the CPU.
  void record(Stream& stream, double now = 0) {
    if (event_ == nullptr)
      seconds_ = now;
    else
      gpu::record(event_.get(), stream.native());
  }
  void await() const {
    if (event_ != nullptr) gpu::synchronize_event(event_.get());
  }
  void hold(Stream& stream) const {
    if (event_ != nullptr) gpu::wait(stream.native(), event_.get());
  }
  /// On the run's clock, which began with `zero`. Waits for both.
  double seconds(Mark const& zero) const {
    return event_ == nullptr ? seconds_ : gpu::elapsed_seconds(zero.event_.get(), event_.get());
  }

 private:
  std::shared_ptr<void> event_;
  double seconds_ = 0;
};

}  // namespace gridstride
