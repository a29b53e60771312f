#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "kernels/sort/out_of_core.hpp"
#include "support/sort_cases.hpp"

namespace gridstride::test {

/// With little device memory, keys get the bits that the variant gives them at once.
template <class T>
void expect_sorted_out_of_core(Stream& stream, SortData data, std::int64_t size,
                               std::size_t device_bytes, std::string_view variant) {
  auto keys = sort_keys<T>(data, size);
  auto const expected = sorted(stream, keys, false, variant).keys;
  std::vector<T> found(keys.size());
  sort::out_of_core<T>(stream, keys, found, device_bytes, variant);
  EXPECT_EQ(key_bits(found), key_bits(expected))
      << name_of(data) << ' ' << size << " with " << device_bytes << " bytes by " << variant;
}

}  // namespace gridstride::test
