// The rung `vectorized` of the ladder in cuda.cu: the whole reduction in one launch, at the speed
// of memory, and in an order that depends only on the size, the alignment and the device.
//
// Thread-to-data: a tile is 512 threads x 8 vectors of 16 bytes, which a thread loads before it
// uses any of them, so that 128 bytes a thread are on their way at once: on an H200 128 KiB in each
// multiprocessor, several times what the latency of memory needs. Tiles are dealt out to blocks in
// turn (support/tiles.cuh). Elements before the first and after the last whole vector go to block
// 0.
//
// A block combines its threads by shuffles, stores its partial result and takes a ticket; the block
// that draws the last ticket combines all partial results, thread t those of blocks t, t + 512, ...
// Whichever block that is, the order is the same, so that the bits are.
//
// Bytes: n·sizeof(T) read. The roof is the bandwidth of reading; there is one floating-point
// addition, and for float32 one conversion, per element.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/reduce/operations.hpp"
#include "kernels/reduce/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/tiles.cuh"

namespace gridstride::reduce {

namespace {

constexpr int threads = 512;

/// Vectors of each input that a thread loads at once: eight in all.
template <class Operation>
constexpr int group = Operation::two_inputs ? 4 : 8;

/// Rounds of blocks: a multiprocessor that is slower than others gets fewer.
constexpr int rounds = 16;

template <class Operation>
struct Combine {
  using Value = typename Operation::Value;
  __device__ Value operator()(Value a, Value const& b) const {
    Operation::combine(a, b);
    return a;
  }
};

template <int width, class Operation>
__global__ void __launch_bounds__(threads, 2)
    vectorized_kernel(Operation operation, typename Operation::Element const* x,
                      typename Operation::Element const* y, VectorCut cut,
                      typename Operation::Value* partials, unsigned* ticket,
                      typename Operation::Value* result) {
  using T = typename Operation::Element;
  using Value = typename Operation::Value;
  __shared__ Value shared[threads / warp_size];
  __shared__ bool is_last;
  Value value = Operation::identity();
  if constexpr (Operation::two_inputs) {
    T const* const inputs[2] = {x, y};
    for_each_vector<threads, group<Operation>, width>(
        inputs, cut, [&]<int count>(Vector<T, count> const(&v)[2], std::int64_t index) {
          for (int j = 0; j < count; ++j) operation.add(value, v[0].at[j], v[1].at[j], index + j);
        });
  } else {
    T const* const inputs[1] = {x};
    for_each_vector<threads, group<Operation>, width>(
        inputs, cut, [&]<int count>(Vector<T, count> const(&v)[1], std::int64_t index) {
          for (int j = 0; j < count; ++j) operation.add(value, v[0].at[j], T{}, index + j);
        });
  }
  value = block_reduce<threads>(value, Combine<Operation>{}, shared);

  if (threadIdx.x == 0) {
    partials[blockIdx.x] = value;
    __threadfence();  // the value is there before the ticket is drawn
    is_last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  value = Operation::identity();
  for (unsigned block = threadIdx.x; block < gridDim.x; block += threads)
    Operation::combine(value, partials[block]);
  value = block_reduce<threads>(value, Combine<Operation>{}, shared);
  if (threadIdx.x != 0) return;
  *result = Operation::finish(value);
  *ticket = 0;
}

template <int width, class Operation, class T>
void launch(Stream& stream, Operation const& operation, Arguments<T> const& arguments) {
  using Value = typename Operation::Value;
  auto const kernel = vectorized_kernel<width, Operation>;
  auto const cut = VectorCut::make(arguments.input, arguments.size, width);
  auto const [ticket, bytes] = stream.scratch();
  auto const blocks =
      std::min(blocks_of_pass<threads, group<Operation>>(stream, kernel, cut, rounds),
               static_cast<unsigned>(bytes.size() / sizeof(Value)));
  kernel<<<blocks, threads, 0, native(stream)>>>(operation, arguments.input, arguments.second, cut,
                                                 reinterpret_cast<Value*>(bytes.data()), ticket,
                                                 static_cast<Value*>(arguments.result));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "reduce vectorized");
}

}  // namespace

template <class T>
void cuda_vectorized(Stream& stream, Arguments<T> const& arguments) {
  with_operation(arguments, [&]<class Operation>(Operation const& operation) {
    // Two inputs that are not aligned alike leave no common cut into vectors.
    if constexpr (Operation::two_inputs)
      if (misalignment(arguments.input) != misalignment(arguments.second))
        return launch<1>(stream, operation, arguments);
    launch<vector_width<T>>(stream, operation, arguments);
  });
}

template void cuda_vectorized(Stream&, Arguments<std::int32_t> const&);
template void cuda_vectorized(Stream&, Arguments<std::int64_t> const&);
template void cuda_vectorized(Stream&, Arguments<float> const&);
template void cuda_vectorized(Stream&, Arguments<double> const&);

}  // namespace gridstride::reduce
