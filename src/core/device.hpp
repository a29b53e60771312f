#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/capabilities.hpp"
#include "core/precision.hpp"

namespace gridstride {

enum class Backend { cpu, cuda };

constexpr std::string_view name_of(Backend backend) {
  return backend == Backend::cpu ? "cpu" : "cuda";
}

/// What work runs on: the host's processors, or one GPU. A cheap value; copies name the same
/// device.
class Device {
 public:
  /// Throws `Error` when the program was built without CUDA, or there is no such GPU.
  static Device open(Backend backend, int ordinal = 0);

  /// A GPU that is not there, for tests of what would be chosen for one; nothing runs on it.
  static Device imagined(int compute_capability, int processors);

  /// Every device of this machine: the host first, then each usable GPU.
  static std::vector<Device> available();

  /// Why no GPU is available ("built without CUDA", what the driver said); empty when one is.
  static std::string cuda_unavailable_reason();

  Backend backend() const { return backend_; }
  int ordinal() const { return ordinal_; }
  std::string const& name() const { return name_; }
  std::size_t total_memory() const { return total_memory_; }
  /// Bytes that can be allocated now, within the limits that the system sets.
  std::size_t free_memory() const;
  /// Host threads, or multiprocessors of the GPU.
  int processors() const { return processors_; }
  /// Compute capability as 10·major + minor; 0 on the host.
  int compute_capability() const { return compute_capability_; }
  /// What kernels may ask of it; on the host nothing of this.
  Capabilities const& capabilities() const { return capabilities_; }
  /// Instructions of the arithmetic units that a GPU can do in a second, such as fused
  /// multiply-adds, at its highest clock; 0 where that is not known, as on the host.
  double arithmetic_rate(Precision precision) const;

 private:
  Device() = default;
  Backend backend_ = Backend::cpu;
  int ordinal_ = 0;
  std::string name_;
  std::size_t total_memory_ = 0;
  int processors_ = 0;
  int compute_capability_ = 0;
  Capabilities capabilities_;
  double clock_hz_ = 0;
};

}  // namespace gridstride
