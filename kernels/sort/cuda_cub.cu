// The rung `cub` of the ladder in cuda.cu: cub::DeviceRadixSort, a sort by digits of 8 bits from
// the lowest, stable in every pass. It reads and writes all keys once a digit, whatever they are.
//
// CUB orders floating-point numbers as order.hpp does, by turning over their bits, but takes −0 and
// 0 for equal. It sorts from one array to another and back; what ends in the second is copied.

#include <cub/device/device_radix_sort.cuh>
#include <limits>

#include "core/buffer.hpp"
#include "kernels/sort/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::sort {

namespace {

/// The array, and a second one of the same size.
template <class T>
struct TwoArrays {
  Buffer<T> other;
  cub::DoubleBuffer<T> both;

  TwoArrays(Stream& stream, T* array, std::int64_t size)
      : other(stream, MemorySpace::device, array == nullptr ? 0 : static_cast<std::size_t>(size)),
        both(array, other.data()) {}

  /// Queues the copy, if one is needed, that makes `array` the result.
  void finish(Stream& stream, T* array) {
    if (both.Current() != array) copy_async(std::span(array, other.size()), other.span(), stream);
  }
};

/// `Size` is the type of CUB's indices.
template <class Size, class T>
void radix_sort(Stream& stream, Arguments<T> const& a) {
  TwoArrays<T> keys(stream, a.keys, a.size);
  TwoArrays<std::uint32_t> values(stream, a.values, a.size);
  auto const sort = [&](void* memory, std::size_t& bytes) {
    auto const size = static_cast<Size>(a.size);
    constexpr int bits = 8 * sizeof(T);
    if (a.values == nullptr)
      return cub::DeviceRadixSort::SortKeys(memory, bytes, keys.both, size, 0, bits,
                                            native(stream));
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys.both, values.both, size, 0, bits,
                                           native(stream));
  };
  std::size_t bytes = 0;
  GRIDSTRIDE_CUDA(sort(nullptr, bytes));
  Buffer<unsigned char> memory(stream, MemorySpace::device, bytes);
  GRIDSTRIDE_CUDA(sort(memory.data(), bytes));
  keys.finish(stream, a.keys);
  if (a.values != nullptr) values.finish(stream, a.values);
}

}  // namespace

template <class T>
void cuda_cub(Stream& stream, Arguments<T> const& a) {
  if (a.size <= std::numeric_limits<std::uint32_t>::max())
    radix_sort<std::uint32_t>(stream, a);
  else
    radix_sort<std::uint64_t>(stream, a);
}

template void cuda_cub(Stream&, Arguments<std::int32_t> const&);
template void cuda_cub(Stream&, Arguments<std::int64_t> const&);
template void cuda_cub(Stream&, Arguments<float> const&);
template void cuda_cub(Stream&, Arguments<double> const&);

}  // namespace gridstride::sort
