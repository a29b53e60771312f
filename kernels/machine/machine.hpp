#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/host_device.hpp"
#include "core/stream.hpp"

/// Kernel family `machine`: what a device can do at most, and what else a measurement needs: random
/// data and a full queue. It has no variants to choose from.
namespace gridstride::machine {

/// A ceiling that no program on the device gets past.
struct Roof {
  std::string_view name;  ///< one of the names below
  std::string_view unit;  ///< "B/s", "FLOP/s", or "1/s" where the time of each one is of interest
  double rate;
  std::string_view how;  ///< what was run to find it
};

/// Bytes read plus bytes written by a copy of device memory.
inline constexpr std::string_view copy_roof = "copy";
/// Bytes read where nothing is written.
inline constexpr std::string_view read_roof = "read";
/// Bytes between pinned host memory and the device, one way at a time. Not on the host.
inline constexpr std::string_view to_device_roof = "host_to_device";
inline constexpr std::string_view to_host_roof = "device_to_host";
/// The same with both ways at once, counted together.
inline constexpr std::string_view duplex_roof = "duplex";
/// Arithmetic of the ordinary units; a fused multiply-add counts two.
inline constexpr std::string_view float32_roof = "float32";
inline constexpr std::string_view float64_roof = "float64";
/// Arithmetic of the tensor cores, where there are some.
inline constexpr std::string_view float16_tensor_roof = "float16_tensor";
inline constexpr std::string_view tf32_tensor_roof = "tf32_tensor";
inline constexpr std::string_view float64_tensor_roof = "float64_tensor";

/// Measures every roof that the stream's device has, each as the best of some runs. Takes a few
/// seconds at most and waits for its own work, as no other family does.
std::vector<Roof> measure(Stream& stream);

/// What lies between and beside those: bytes read from L2 and from shared memory; loads that wait
/// for each other (of device or host memory, L2, shared memory); kernels launched, and launched and
/// waited for, or on the host loops shared out among its threads.
inline constexpr std::string_view l2_roof = "l2_read";
inline constexpr std::string_view shared_roof = "shared_read";
inline constexpr std::string_view memory_latency = "memory_latency";
inline constexpr std::string_view l2_latency = "l2_latency";
inline constexpr std::string_view shared_latency = "shared_latency";
inline constexpr std::string_view launch_latency = "launch";
inline constexpr std::string_view wait_latency = "launch_and_wait";
std::vector<Roof> measure_details(Stream& stream);

/// Bytes of the device's last cache.
std::size_t cache_bytes(Device const& device);

/// The version of the NVIDIA driver, as 580.95.05; empty where there is none.
std::string driver_version();

/// Queues a wait of about `seconds`, so that what is queued meanwhile runs without gaps. Nothing on
/// the host, where there is no queue.
void occupy(Stream& stream, double seconds);

/// Number `index` of the sequence SplitMix64 of a seed (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014). It never repeats for one seed.
GRIDSTRIDE_HOST_DEVICE constexpr std::uint64_t random_bits(std::uint64_t seed,
                                                           std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// What random values are.
struct Distribution {
  /// Floating point is uniform over the odd multiples of 2^−bits in (−1, 1): the mean is 0, no
  /// value is, and a sum of n values is exact in a type with `bits` + log2 n digits. 1 to 24 for
  /// float32, 1 to 53 for float64.
  int bits = 24;
  /// Integers are uniform over [0, below). For 0 they are so over their whole type, and those of 32
  /// and 64 bits are all different in an array of up to 2^32 elements.
  std::uint64_t below = 0;
  /// Floating point without its sign: uniform over (0, 1).
  bool positive = false;
  /// The share of elements that have the value 0 instead, chosen at random.
  double zeros = 0;
};

/// Queues values_i = a random value that depends on `seed`, i and the distribution alone, whatever
/// the device. T is std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, float or double.
/// Throws `std::invalid_argument` for bits that T has not.
template <class T>
void fill_random(Stream& stream, std::span<T> values, std::uint64_t seed,
                 Distribution const& distribution = {});

}  // namespace gridstride::machine
