#include "core/device.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "core/architecture.hpp"
#include "core/error.hpp"
#include "core/gpu.hpp"
#include "core/host_limits.hpp"
#include "core/processors.hpp"

namespace gridstride {

namespace {

/// A `key: value kB` line of a file under /proc, in bytes; 0 when there is none.
std::size_t proc_kilobytes(char const* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::stoull(line.substr(line.find(':') + 1)) * 1024;
  return 0;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "host";
}

std::string code_missing_for(int ordinal) {
  auto const found = gpu::properties(ordinal);
  return missing_code(built_architectures(), found.name, found.compute_capability);
}

}  // namespace

std::string Device::cuda_unavailable_reason() {
  std::string reason;
  int const count = gpu::count(reason);
  for (int i = count - 1; i >= 0; --i) {
    reason = code_missing_for(i);
    if (reason.empty()) break;
  }
  return reason;
}

Device Device::open(Backend backend, int ordinal) {
  Device device;
  device.backend_ = backend;
  device.ordinal_ = ordinal;
  if (backend == Backend::cpu) {
    if (ordinal != 0) throw Error("there is one cpu device, cpu:0");
    device.name_ = processor_name();
    device.total_memory_ = proc_kilobytes("/proc/meminfo", "MemTotal");
    device.processors_ = host_threads();
    return device;
  }
  std::string reason;
  int const count = gpu::count(reason);
  if (count == 0) throw Error(fmt::format("no GPU can be used ({})", reason));
  if (ordinal < 0 || ordinal >= count)
    throw Error(fmt::format("there is no cuda:{} (this machine has {})", ordinal,
                            count == 1 ? "one GPU, cuda:0" : fmt::format("{} GPUs", count)));
  if (std::string const missing = code_missing_for(ordinal); !missing.empty())
    throw Error(fmt::format("cuda:{} cannot be used ({})", ordinal, missing));
  auto const found = gpu::properties(ordinal);
  device.name_ = found.name;
  device.total_memory_ = found.total_memory;
  device.processors_ = found.multiprocessors;
  device.compute_capability_ = found.compute_capability;
  device.capabilities_ = found.capabilities;
  device.clock_hz_ = found.clock_hz;
  return device;
}

Device Device::imagined(int compute_capability, int processors) {
  Device device;
  device.backend_ = Backend::cuda;
  device.name_ = fmt::format("an imagined GPU of compute capability {}.{}", compute_capability / 10,
                             compute_capability % 10);
  device.processors_ = processors;
  device.compute_capability_ = compute_capability;
  device.capabilities_ = capabilities_of(compute_capability);
  return device;
}

std::vector<Device> Device::available() {
  std::vector<Device> devices = {open(Backend::cpu)};
  std::string reason;
  for (int i = 0, count = gpu::count(reason); i < count; ++i)
    if (code_missing_for(i).empty()) devices.push_back(open(Backend::cuda, i));
  return devices;
}

double Device::arithmetic_rate(Precision precision) const {
  struct Lanes {
    int compute_capability;
    double float32, float64;  // of a multiprocessor
  };
  // CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions".
  constexpr Lanes table[] = {{75, 64, 2},   {80, 64, 32},   {86, 128, 2}, {89, 128, 2},
                             {90, 128, 64}, {100, 128, 64}, {120, 128, 2}};
  for (Lanes const& row : table)
    if (row.compute_capability == compute_capability_)
      return (precision == Precision::float32 ? row.float32 : row.float64) * processors_ *
             clock_hz_;
  return 0;
}

std::size_t Device::free_memory() const {
  return backend_ == Backend::cpu ? free_host_memory() : gpu::free_memory(ordinal_);
}

}  // namespace gridstride
