// The rung `cub`: cub::DeviceScan, a scan by decoupled look-back, tuned for each architecture.
// Which totals a tile finds published differs from run to run, and with it the rounding of float
// sums.

#include <cstddef>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>
#include <type_traits>

#include "core/buffer.hpp"
#include "kernels/scan/operations.hpp"
#include "kernels/scan/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::scan {

namespace {

/// Calls `scan(temporary, bytes)` twice, as CUB wants it: for the bytes it needs, and to scan.
template <class Scan>
void with_temporary(Stream& stream, Scan const& scan) {
  std::size_t bytes = 0;
  GRIDSTRIDE_CUDA(scan(nullptr, bytes));
  Buffer<std::byte> temporary(stream, MemorySpace::device, bytes);
  GRIDSTRIDE_CUDA(scan(temporary.data(), bytes));
}

template <class T, class Combine>
void scan_with(Stream& stream, Kind kind, T const* input, T* output, std::int64_t size, T identity,
               Combine combine) {
  with_temporary(stream, [&](void* temporary, std::size_t& bytes) {
    if (kind == Kind::inclusive)
      return cub::DeviceScan::InclusiveScan(temporary, bytes, input, output, combine, size,
                                            native(stream));
    return cub::DeviceScan::ExclusiveScan(temporary, bytes, input, output, combine, identity, size,
                                          native(stream));
  });
}

template <class T>
struct Maximum {
  __device__ T operator()(T a, T b) const { return MaximumOperation<T>::combine(a, b); }
};

}  // namespace

template <class T>
void cuda_cub(Stream& stream, Arguments<T> const& arguments) {
  auto const [operation, kind, input, output, size, none] = arguments;
  if (operation == Operation::maximum) {
    scan_with(stream, kind, input, output, size, MaximumOperation<T>::identity(), Maximum<T>{});
  } else if constexpr (std::is_integral_v<T>) {
    // Unsigned sums are defined to be modulo 2^32 or 2^64. CUB knows `plus` and has tuned for it.
    using Unsigned = std::make_unsigned_t<T>;
    scan_with(stream, kind, reinterpret_cast<Unsigned const*>(input),
              reinterpret_cast<Unsigned*>(output), size, Unsigned{0}, cuda::std::plus<>{});
  } else {
    scan_with(stream, kind, input, output, size, T{0}, cuda::std::plus<>{});
  }
}

#define GRIDSTRIDE_INSTANTIATE(T) template void cuda_cub(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::scan
