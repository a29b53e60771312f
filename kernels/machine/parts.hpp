#pragma once

#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/machine/machine.hpp"

/// What the family's files have in common; for them only.
namespace gridstride::machine {

/// A way to find a roof: work to be timed. Of several probes for one roof the fastest counts.
struct Probe {
  Roof roof;      // without the rate
  double amount;  // bytes or operations of a run
  std::function<void(Stream&)> run;
};

std::vector<Probe> host_probes(Stream& stream);
std::vector<Probe> cuda_probes(Stream& stream);
std::vector<Probe> host_detail_probes();
std::vector<Probe> cuda_detail_probes(Stream& stream);

std::size_t cuda_cache_bytes(Device const& device);
void cuda_occupy(Stream& stream, double seconds);

/// A bijection of 32-bit numbers that looks random (the finalizer of MurmurHash3).
GRIDSTRIDE_HOST_DEVICE constexpr std::uint32_t mix(std::uint32_t h) {
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

/// Draws the value of one element; the same on every device, for all its arithmetic is exact.
template <class T>
struct Generator {
  std::uint64_t seed;
  int bits;
  std::uint64_t below;
  bool positive;
  std::uint64_t zeros_below;  // of 2^32: an element whose draw is below is 0

  GRIDSTRIDE_HOST_DEVICE constexpr T operator()(std::int64_t i) const {
    auto const index = static_cast<std::uint64_t>(i);
    if (zeros_below > 0 && random_bits(~seed, index) >> 32 < zeros_below) return 0;
    if constexpr (std::is_integral_v<T>) {
      if (below > 0) return static_cast<T>(random_bits(seed, index) % below);
    }
    if constexpr (std::is_integral_v<T> && sizeof(T) == 4) {
      return static_cast<T>(mix(static_cast<std::uint32_t>(index) ^
                                static_cast<std::uint32_t>(random_bits(seed, 0))));
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(random_bits(seed, index));
    } else {
      auto const draw = static_cast<std::int64_t>(random_bits(seed, index) >> (64 - bits));
      auto const scale = std::int64_t{1} << bits;
      T const value = static_cast<T>(2 * draw + 1 - scale) / static_cast<T>(scale);
      return positive && value < 0 ? -value : value;
    }
  }
};

template <class T>
void host_fill(Stream&, std::span<T> values, Generator<T> const& generator);
template <class T>
void cuda_fill(Stream&, std::span<T> values, Generator<T> const& generator);

}  // namespace gridstride::machine
