#include "kernels/machine/machine.hpp"

#include <fmt/format.h>

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "kernels/machine/parts.hpp"

namespace gridstride::machine {

namespace {

/// The best rate of some runs, after one to warm up. Each is in the queue before it may begin, so
/// that the host's launch latency does not count.
double best_rate(Stream& stream, Probe const& probe) {
  constexpr int runs = 6;
  constexpr double launch_seconds = 100e-6;
  Event start(stream.device()), stop(stream.device());
  probe.run(stream);
  double best = 0;
  for (int i = 0; i < runs; ++i) {
    occupy(stream, launch_seconds);
    stream.record(start);
    probe.run(stream);
    stream.record(stop);
    best = std::max(best, probe.amount / elapsed_seconds(start, stop));
  }
  return best;
}

std::vector<Roof> measured(Stream& stream, std::vector<Probe> const& probes) {
  std::vector<Roof> roofs;
  for (auto const& probe : probes) {
    Roof found = probe.roof;
    found.rate = best_rate(stream, probe);
    auto const known = std::ranges::find(roofs, found.name, &Roof::name);
    if (known == roofs.end())
      roofs.push_back(found);
    else if (known->rate < found.rate)
      *known = found;
  }
  return roofs;
}

}  // namespace

std::vector<Roof> measure(Stream& stream) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return measured(stream, cuda_probes(stream));
#endif
  return measured(stream, host_probes(stream));
}

std::vector<Roof> measure_details(Stream& stream) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return measured(stream, cuda_detail_probes(stream));
#endif
  return measured(stream, host_detail_probes());
}

std::size_t cache_bytes(Device const& device) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (device.backend() == Backend::cuda) return cuda_cache_bytes(device);
#else
  static_cast<void>(device);
#endif
  constexpr std::size_t usual = std::size_t{32} << 20;
  long const found = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return found > 0 ? static_cast<std::size_t>(found) : usual;
}

std::string driver_version() {
  // NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return {};
}

void occupy([[maybe_unused]] Stream& stream, [[maybe_unused]] double seconds) {
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) cuda_occupy(stream, seconds);
#endif
}

template <class T>
void fill_random(Stream& stream, std::span<T> values, std::uint64_t seed,
                 Distribution const& distribution) {
  if constexpr (std::is_floating_point_v<T>) {
    if (distribution.bits < 1 || distribution.bits > std::numeric_limits<T>::digits)
      throw std::invalid_argument(fmt::format("machine: bits is {}, this type has 1 to {}",
                                              distribution.bits, std::numeric_limits<T>::digits));
  }
  auto const zeros =
      static_cast<std::uint64_t>(std::ldexp(std::clamp(distribution.zeros, 0.0, 1.0), 32));
  Generator<T> const generator{seed, distribution.bits, distribution.below, distribution.positive,
                               zeros};
  if (values.empty()) return;
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_fill(stream, values, generator);
#endif
  host_fill(stream, values, generator);
}

#define GRIDSTRIDE_INSTANTIATE(T) \
  template void fill_random(Stream&, std::span<T>, std::uint64_t, Distribution const&);
GRIDSTRIDE_INSTANTIATE(std::uint8_t)
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::uint32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::machine
