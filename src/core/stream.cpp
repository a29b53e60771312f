#include "core/stream.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "core/gpu.hpp"

namespace gridstride {

namespace {

constexpr std::size_t ticket_bytes = 256;
constexpr std::size_t scratch_bytes = std::size_t{512} << 10;

double host_seconds() {
  auto const now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

/// Made when it is first asked for.
struct Stream::Companion {
  std::once_flag made;
  std::optional<Stream> stream;
};

Stream::Stream(Device const& device) : Stream(device, false) {
  companion_ = std::make_shared<Companion>();
}

Stream::Stream(Device const& device, bool urgent) : device_(device) {
  if (device.backend() != Backend::cuda) return;
  native_ = gpu::make_stream(device.ordinal(), urgent);
  scratch_ = gpu::allocate_device(native_, device.ordinal(), ticket_bytes + scratch_bytes);
  gpu::zero_async(scratch_.get(), ticket_bytes, native());
}

Stream Stream::urgent() const {
  if (companion_ == nullptr) return *this;
  std::call_once(companion_->made, [&] { companion_->stream = Stream(device_, true); });
  return *companion_->stream;
}

Stream::Scratch Stream::scratch() const {
  if (scratch_ == nullptr) return {};
  auto* const begin = static_cast<std::byte*>(scratch_.get());
  return {reinterpret_cast<unsigned*>(begin), {begin + ticket_bytes, scratch_bytes}};
}

void Stream::record(Event& event) {
  if (native() == nullptr)
    event.host_time_ = host_seconds();
  else
    gpu::record(event.native(), native());
}

void Stream::wait(Event const& event) {
  if (native() != nullptr) gpu::wait(native(), event.native());
}

void Stream::synchronize() {
  if (native() != nullptr) gpu::synchronize(native());
}

Event::Event(Device const& device) : device_(device) {
  if (device.backend() == Backend::cuda) native_ = gpu::make_event(device.ordinal(), false);
}

void Event::synchronize() const {
  if (native() != nullptr) gpu::synchronize_event(native());
}

double elapsed_seconds(Event const& start, Event const& stop) {
  if (start.native() == nullptr) return stop.host_time_ - start.host_time_;
  return gpu::elapsed_seconds(start.native(), stop.native());
}

}  // namespace gridstride
