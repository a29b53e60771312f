#pragma once

#include "core/host_device.hpp"

/// Random numbers by counting: Philox4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror and
/// D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11 (2011). A block cipher, weakened
/// to what statistics needs, maps a counter of 128 bits to four random words. There is no state:
/// any thread computes any block, on host and device alike.
///
/// A block takes ten rounds of two multiplications 32 × 32 → 64 and two exclusive ors of three
/// operands: 40 instructions for 4 words, of which a multiprocessor's integer multipliers (64
/// lanes) take half and its logic units (64 lanes) half, so about 3.2 blocks a clock at most.
namespace gridstride::quadrature {

struct PhiloxBlock {
  unsigned word[4];
};

/// The seed, as two words.
struct PhiloxKey {
  unsigned low, high;
};

/// What a key is used for: blocks of different tags differ.
enum class PhiloxTag : unsigned { samples, scrambling, uniform_field, normal_field, noise };

GRIDSTRIDE_HOST_DEVICE constexpr PhiloxKey philox_key(unsigned long long seed) {
  return {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
}

/// The four words of a counter.
GRIDSTRIDE_HOST_DEVICE constexpr PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    unsigned long long const first = 0xD2511F53ull * counter.word[0];
    unsigned long long const second = 0xCD9E8D57ull * counter.word[2];
    counter = {{static_cast<unsigned>(second >> 32) ^ counter.word[1] ^ key.low,
                static_cast<unsigned>(second),
                static_cast<unsigned>(first >> 32) ^ counter.word[3] ^ key.high,
                static_cast<unsigned>(first)}};
    key.low += 0x9E3779B9u;
    key.high += 0xBB67AE85u;
  }
  return counter;
}

/// Block `part` of item number `index`. Blocks of one item share most of the first two rounds.
GRIDSTRIDE_HOST_DEVICE constexpr PhiloxBlock philox_block(unsigned long long index, unsigned part,
                                                          PhiloxKey key,
                                                          PhiloxTag tag = PhiloxTag::samples) {
  return philox({{static_cast<unsigned>(index), static_cast<unsigned>(index >> 32), part,
                  static_cast<unsigned>(tag)}},
                key);
}

}  // namespace gridstride::quadrature
