// The rung `cub` of the ladder in cuda.cu: cub::DeviceSelect, one pass by decoupled look-back. With
// indices, values and indices go through it as pairs.

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>

#include <cstddef>
#include <cub/device/device_select.cuh>

#include "core/buffer.hpp"
#include "kernels/select/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::select {

namespace {

template <class T>
struct IsSet {
  __host__ __device__ bool operator()(T flag) const { return flag != 0; }
};

template <class T, class Input, class Output>
void select_with(Stream& stream, Arguments<T> const& a, Input input, Output output) {
  auto const flags = thrust::make_transform_iterator(a.flags, IsSet<T>{});
  auto const run = [&](void* temporary, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(temporary, bytes, input, flags, output, a.count, a.size,
                                      native(stream));
  };
  std::size_t bytes = 0;
  GRIDSTRIDE_CUDA(run(nullptr, bytes));
  Buffer<std::byte> temporary(stream, MemorySpace::device, bytes);
  GRIDSTRIDE_CUDA(run(temporary.data(), bytes));
}

}  // namespace

template <class T>
void cuda_cub(Stream& stream, Arguments<T> const& a) {
  if (a.indices == nullptr) return select_with(stream, a, a.values, a.selected);
  select_with(stream, a,
              thrust::make_zip_iterator(a.values, thrust::make_counting_iterator(a.first)),
              thrust::make_zip_iterator(a.selected, a.indices));
}

template void cuda_cub(Stream&, Arguments<float> const&);
template void cuda_cub(Stream&, Arguments<double> const&);

}  // namespace gridstride::select
