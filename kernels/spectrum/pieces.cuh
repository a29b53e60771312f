#pragma once

#include "kernels/spectrum/rows.hpp"
#include "kernels/support/launch.cuh"

/// What the rungs of the GPU have in common.
namespace gridstride::spectrum {

struct AddTrendSums {
  __device__ TrendSums operator()(TrendSums const& a, TrendSums const& b) const {
    return {a.x + b.x, a.moment + b.moment};
  }
};

/// Adds what pieces of segments have for each k to the sums. `folded`: a piece has all N of k, of
/// pairs of segments; otherwise those up to N/2, of single ones.
template <bool folded, class T>
void add_pieces(Stream& stream, T const* powers, std::int64_t pieces, Arguments<T> const& a);

}  // namespace gridstride::spectrum
