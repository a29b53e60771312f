#pragma once

#include <cstdint>

#include "kernels/multigrid/steps.hpp"

/// What goes between large levels whose equations are stored. For the family's own files only.
namespace gridstride::multigrid {

/// A `Weight` as it is loaded: of two numbers each would be waited for to be told from the other.
struct LoadedWeight {
  unsigned bits = 0;
  /// On side 0 or 1.
  __device__ float of(int side) const {
    unsigned const steps = side == 0 ? bits & 0xffffu : bits >> 16;
    return __uint_as_float(0x43800000u | steps) - 256.0f;
  }
};
/// Of what the kernel does not write.
__device__ inline LoadedWeight load_weight(Weight const* source) {
  static_assert(sizeof(Weight) == sizeof(LoadedWeight));
  return {__ldg(reinterpret_cast<unsigned const*>(source))};
}

/// Which coarse points a fine one lies between along an axis, or -1; where it is kept that is the
/// first.
struct Ends {
  int at[2];
  bool is_kept;

  template <class S>
  __device__ static Ends of(TransferView<S> const& transfer, int at) {
    int const left = __ldg(transfer.left + at);
    return {{left, __ldg(transfer.right + at)}, left >= 0 && __ldg(transfer.kept + left) == at};
  }
};

/// The fine points around a coarse one along an axis, or -1.
struct Around {
  int at[3];
  template <class S>
  __device__ Around(Weights<S> const& weights, int axis, int kept) {
    for (int a = 0; a < 3; ++a) at[a] = weights.around(axis, kept, a - 1);
  }
};

/// What a point around a kept one gives it: `place` is that of the weights.
__device__ inline float given(Weight const* weights, int around, std::int64_t place) {
  if (around == 1 || weights == nullptr) return around == 1 ? 1.0f : 0.0f;
  // What is behind a kept point has it on its left.
  return load_weight(weights + place).of(around == 0 ? 1 : 0);
}

}  // namespace gridstride::multigrid
