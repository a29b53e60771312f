#pragma once

#include <algorithm>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/transfer/transfer.hpp"
#include "support/elementwise_cases.hpp"

/// Round trips on any device, compared with the reference on the host.
namespace gridstride::test {

/// The arrays of one round trip in some memory space, `offset` elements in; what surrounds y is
/// poisoned.
template <class T>
class RoundTrip {
 public:
  RoundTrip(Stream& stream, MemorySpace space, std::size_t size, std::size_t offset)
      : stream_(stream),
        size_(size),
        offset_(offset),
        x_(stream, space, size + offset + padding),
        y_(stream, space, size + offset + padding) {
    std::mt19937_64 generator(11);
    auto const values = wild_values<T>(x_.size(), generator);
    std::copy(values.begin(), values.end(), x_.data());
    std::fill_n(y_.data(), y_.size(), poison);
  }

  std::span<T> x() { return x_.span().subspan(offset_, size_); }
  std::span<T> y() { return y_.span().subspan(offset_, size_); }

  /// All memory of y after the round trip, and after what was queued before it.
  std::vector<T> run(std::string_view variant, int pieces = 4) {
    transfer::round_trip<T>(stream_, a, b, x(), y(), variant, pieces);
    return result();
  }
  std::vector<T> result() {
    stream_.synchronize();
    return {y_.data(), y_.data() + y_.size()};
  }

  static constexpr T a = T(1.7), b = T(-0.3), poison = T(-77);

 private:
  static constexpr std::size_t padding = 5;
  Stream stream_;
  std::size_t size_, offset_;
  Buffer<T> x_, y_;
};

/// What the reference makes of the same arrays.
template <class T>
std::vector<T> expected_round_trip(std::size_t size, std::size_t offset) {
  Stream host(Device::open(Backend::cpu));
  return RoundTrip<T>(host, MemorySpace::host, size, offset).run("reference");
}

}  // namespace gridstride::test
