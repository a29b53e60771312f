#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace gridstride::test {

/// Whether two arrays of numbers have the same bits, of nans too.
template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

}  // namespace gridstride::test
