#pragma once

#include <exception>
#include <utility>

#include "core/stream.hpp"
#include "kernels/support/launch.cuh"

/// What a kernel prepares at its first use. It is queued on `stream.urgent()`, and waited for,
/// since the stream itself may be being captured.
namespace gridstride {

/// Lets a thread work at once while one of its streams is being captured.
class OutsideOfCapture {
 public:
  OutsideOfCapture() { GRIDSTRIDE_CUDA(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~OutsideOfCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  OutsideOfCapture(OutsideOfCapture const&) = delete;
  OutsideOfCapture& operator=(OutsideOfCapture const&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The stream that used prepared memory last. When it goes, the memory, which goes back in the
/// order of `stream.urgent()`, waits for that use. To be declared after the memory.
class LastUse {
 public:
  explicit LastUse(Stream stream) : stream_(std::move(stream)) {}
  ~LastUse() {
    try {
      Event last(stream_.device());
      stream_.record(last);
      stream_.urgent().wait(last);
    } catch (std::exception const&) {
      // The device has failed: the next call on it says so.
    }
  }
  LastUse(LastUse const&) = delete;
  LastUse& operator=(LastUse const&) = delete;

  void is(Stream const& stream) { stream_ = stream; }

 private:
  Stream stream_;
};

}  // namespace gridstride
