#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/device.hpp"

namespace gridstride {

class Event;

/// An in-order queue of one device. On the CPU every piece of work runs at once, when it is queued.
/// Copies share the queue.
class Stream {
 public:
  explicit Stream(Device const& device);

  Device const& device() const { return device_; }
  Backend backend() const { return device().backend(); }

  void record(Event& event);
  /// Work queued after this waits until `event` has happened.
  void wait(Event const& event);
  /// Blocks the host until all queued work is done; throws `CudaError` for what failed in it.
  void synchronize();

  /// A little device memory of the stream's own, on a GPU. Kernels of one stream do not run at the
  /// same time, so that they share it without allocating; a captured graph keeps that of the stream
  /// it was captured on.
  struct Scratch {
    unsigned* ticket;            ///< counts a kernel's blocks: zero before a kernel and after it
    std::span<std::byte> bytes;  ///< aligned to 256 bytes, of any content
  };
  Scratch scratch() const;

  /// A queue beside this one whose work goes first where both have some; the same for every copy.
  Stream urgent() const;

  /// The `cudaStream_t` behind it; null on the CPU.
  void* native() const { return native_.get(); }
  /// The same as an owner, for what must outlive this object in stream order.
  std::shared_ptr<void> const& owner() const { return native_; }

 private:
  struct Companion;
  Stream(Device const& device, bool urgent);

  Device device_;
  std::shared_ptr<void> native_;
  std::shared_ptr<void> scratch_;
  std::shared_ptr<Companion> companion_;
};

/// A point in a stream.
class Event {
 public:
  explicit Event(Device const& device);

  /// Blocks the host until the event has happened.
  void synchronize() const;
  void* native() const { return native_.get(); }

 private:
  friend class Stream;
  friend double elapsed_seconds(Event const& start, Event const& stop);
  Device device_;
  std::shared_ptr<void> native_;
  double host_time_ = 0;
};

/// Time between two recorded events of one device; waits for `stop`.
double elapsed_seconds(Event const& start, Event const& stop);

}  // namespace gridstride
