// The rung `cub` of the ladder in cuda.cu: what a user of NVIDIA's library would write. It reads
// the input once, in a first kernel whose blocks leave a partial result each, and combines those in
// a second one; the order depends on the size and the device only.
//
//   sum              float32 and float64 in their own type (cub::DeviceReduce::Sum); integers from
//                    an initial value of int64, which makes that the accumulator
//   minimum, maximum with operators that keep NaN, which those of the library do not
//   sum of squares   a transformation on the way in; it accumulates float64
//   dot              the same over an iterator that counts, for the library reads one input

#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_reduce.cuh>

#include "core/buffer.hpp"
#include "kernels/reduce/operations.hpp"
#include "kernels/reduce/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::reduce {

namespace {

/// An operation's `combine` as a function of two values.
template <class Op>
struct Combine {
  using Value = typename Op::Value;
  __device__ Value operator()(Value v, Value w) const {
    Op::combine(v, w);
    return v;
  }
};

/// An operation's contribution of one element.
template <class T>
struct Square {
  SquaresOperation<T> operation;
  __device__ double operator()(T x) const {
    double v = 0;
    operation.add(v, x, x, 0);
    return v;
  }
};

template <class T>
struct Product {
  T const* a;
  T const* b;
  __device__ Sum<T> operator()(std::int64_t i) const {
    Sum<T> v = 0;
    DotOperation<T>{}.add(v, a[i], b[i], i);
    return v;
  }
};

/// Calls `call(scratch, bytes)` as CUB wants it: once for the size of its scratch memory, once for
/// the work.
template <class Call>
void with_scratch(Stream& stream, Call const& call) {
  std::size_t bytes = 0;
  GRIDSTRIDE_CUDA(call(nullptr, bytes));
  Buffer<std::byte> scratch(stream, MemorySpace::device, bytes);
  GRIDSTRIDE_CUDA(call(scratch.data(), bytes));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce cub");
}

template <class Op>
void queue_reduce(Stream& stream, typename Op::Element const* input, std::int64_t size,
                  void* result) {
  with_scratch(stream, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::Reduce(scratch, bytes, input,
                                     static_cast<typename Op::Value*>(result), size, Combine<Op>{},
                                     Op::identity(), native(stream));
  });
}

template <class Op, class Iterator, class Transform>
void queue_transform_reduce(Stream& stream, Iterator input, std::int64_t size, Transform transform,
                            void* result) {
  with_scratch(stream, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::TransformReduce(
        scratch, bytes, input, static_cast<typename Op::Value*>(result), size, Combine<Op>{},
        transform, Op::identity(), native(stream));
  });
}

template <class T>
void queue_native_sum(Stream& stream, Arguments<T> const& a, T* result) {
  with_scratch(stream, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::Sum(scratch, bytes, a.input, result, a.size, native(stream));
  });
}

__global__ void widen_kernel(float const* sum, double* result) { *result = *sum; }

template <class T>
void queue_sum(Stream& stream, Arguments<T> const& a) {
  if constexpr (std::is_integral_v<T>) {
    queue_reduce<SumOperation<T>>(stream, a.input, a.size, a.result);
  } else if constexpr (std::is_same_v<T, double>) {
    queue_native_sum(stream, a, static_cast<double*>(a.result));
  } else {
    Buffer<float> narrow(stream, MemorySpace::device, 1);
    queue_native_sum(stream, a, narrow.data());
    widen_kernel<<<1, 1, 0, native(stream)>>>(narrow.data(), static_cast<double*>(a.result));
    GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce widen");
  }
}

}  // namespace

template <class T>
void cuda_cub(Stream& stream, Arguments<T> const& a) {
  switch (a.operation) {
    case Operation::sum:
      return queue_sum(stream, a);
    case Operation::minimum:
      return queue_reduce<MinimumOperation<T>>(stream, a.input, a.size, a.result);
    case Operation::maximum:
      return queue_reduce<MaximumOperation<T>>(stream, a.input, a.size, a.result);
    case Operation::sum_of_squares:
      return queue_transform_reduce<SquaresOperation<T>>(stream, a.input, a.size,
                                                         Square<T>{{a.shift}}, a.result);
    case Operation::dot:
      return queue_transform_reduce<DotOperation<T>>(
          stream, thrust::counting_iterator<std::int64_t>(0), a.size, Product<T>{a.input, a.second},
          a.result);
    case Operation::moments:
      refuse("cub", a.operation);
  }
}

#define GRIDSTRIDE_INSTANTIATE(T) template void cuda_cub(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::reduce
