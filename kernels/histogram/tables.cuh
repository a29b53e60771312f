#pragma once

#include <cuda_runtime.h>

#include "core/buffer.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/histogram/weights.hpp"

/// What the GPU's rungs share: the sums of weights in device memory.
namespace gridstride::histogram {

/// The sums of weights while they are made, as a kernel sees them.
struct SumTable {
  Fixed* sums;           ///< of each bin
  unsigned* spoilt;      ///< of each bin: not 0 when it met a weight that is not finite
  int const* exponent;   ///< the largest exponent field of a finite weight
  std::int64_t weights;  ///< how many there are

  __device__ WeightScale scale() const { return WeightScale(*exponent, weights); }
};

/// Adds to a bin of a table in shared or global memory. The threads that add to it meanwhile may
/// come in any order: low words lose nothing, for each wrap-around is carried over by the thread
/// that sees it.
__device__ inline void add_atomically(Fixed& bin, Fixed value) {
  if (value.low != 0) {
    unsigned long long const before = atomicAdd(&bin.low, value.low);
    if (before + value.low < before) ++value.high;
  }
  if (value.high != 0) atomicAdd(&bin.high, value.high);
}

/// Adds weight w of bin `bin` to `sum`: the one of the table, or a block's own.
__device__ inline void add_weight(SumTable const& table, WeightScale const& scale, Fixed& sum,
                                  int bin, double w) {
  if (exponent_field(w) == not_finite)
    atomicOr(&table.spoilt[bin], 1u);
  else
    add_atomically(sum, scale.split(w));
}

/// The memory of a SumTable.
template <class T>
class DeviceSums {
 public:
  /// Queues a table of zeros, and the search for the largest exponent.
  DeviceSums(Stream& stream, Arguments<T> const& arguments);

  SumTable table();

  /// Queues sums_b = the table's, or NaN.
  void finish(Stream& stream, double* sums);

 private:
  Buffer<Fixed> sums_;
  Buffer<unsigned> spoilt_;
  Buffer<int> exponent_;
  std::int64_t weights_;
};

}  // namespace gridstride::histogram
