#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// What checkpoints are checked by.
namespace gridstride::io {

/// FNV-1a over words of eight bytes in four independent lanes, which keeps up with the memory.
/// Every step is a bijection of a lane: no single damaged word goes unseen. All parts but the last
/// have a multiple of `granule` bytes.
class Checksum {
 public:
  static constexpr std::size_t granule = 4 * sizeof(std::uint64_t);

  void add(std::span<std::byte const> bytes) {
    for (std::size_t start = 0; start < bytes.size(); start += sizeof(std::uint64_t)) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + start, std::min(sizeof value, bytes.size() - start));
      lanes_[lane_] = (lanes_[lane_] ^ value) * prime;
      lane_ = (lane_ + 1) % lanes_.size();
    }
    size_ += bytes.size();
  }

  std::int64_t value() const {
    std::uint64_t sum = basis ^ size_;
    for (auto const lane : lanes_) sum = (sum ^ (lane ^ lane >> 32)) * prime;
    return static_cast<std::int64_t>(sum);
  }

 private:
  static constexpr std::uint64_t basis = 0xcbf29ce484222325U;
  static constexpr std::uint64_t prime = 0x100000001b3U;
  std::array<std::uint64_t, 4> lanes_ = {basis, basis + 1, basis + 2, basis + 3};
  std::size_t lane_ = 0;
  std::uint64_t size_ = 0;
};

inline std::int64_t checksum(std::span<std::byte const> bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

}  // namespace gridstride::io
