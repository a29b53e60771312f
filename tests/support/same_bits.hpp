#pragma once

#include <cstring>
#include <vector>

namespace gridstride::test {

/// Whether two arrays of numbers have the same bits, of nans too. Tests are not optimised: not byte by byte.
template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace gridstride::test
