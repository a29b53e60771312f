#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/stream.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/system/system.hpp"
#include "model/rank_arrays.hpp"

/// Vectors whose components lie apart, in the host's memory.
namespace gridstride {

/// Calls `use` for the vectors of a slab, with components side by side, some points after the other.
template <class T, class Use>
void for_vectors(typename RankArrays<T>::Slab const& slab, Use const& use) {
  Stream host(Device::open(Backend::cpu));
  std::size_t const components = slab.values.size(), all = slab.values.front().size();
  auto const piece = std::min(all, static_cast<std::size_t>(reduce::host_block));
  std::vector<T> vectors(piece * components);
  for (std::size_t done = 0; done < all; done += piece) {
    auto const some = std::span(vectors).first(std::min(piece, all - done) * components);
    std::vector<T const*> arrays;
    for (auto const& values : slab.values) arrays.push_back(values.data() + done);
    system::interleave<T>(host, arrays, some);
    use(slab.first + static_cast<std::int64_t>(done), std::span<T const>(some));
  }
}

template <class T>
std::vector<T> lengths_of(std::span<T const> vectors, std::size_t components) {
  Stream host(Device::open(Backend::cpu));
  std::vector<T> lengths(vectors.size() / components);
  elementwise::magnitude<T>(host, vectors, static_cast<int>(components), lengths);
  return lengths;
}

}  // namespace gridstride
