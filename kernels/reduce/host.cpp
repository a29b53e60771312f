// Reductions on the host.
//
// `reference` takes one element after the other: the oracle.
// `threads` cuts the input into blocks of a fixed size, which are shared among the threads, and
// combines their results in order, so that the bits do not depend on the number of threads. Within
// a block, element i belongs to accumulator i mod 32: 32 independent chains of operations, which
// the compiler turns into vectors, hide how long each operation takes. It reads the input once.

#include <algorithm>
#include <vector>

#include "kernels/reduce/lanes.hpp"
#include "kernels/reduce/rows.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::reduce {

template <class T>
void host_reference(Stream&, Arguments<T> const& arguments) {
  with_operation(arguments, [&](auto operation) {
    using Op = decltype(operation);
    auto value = Op::identity();
    for (std::int64_t i = 0; i < arguments.size; ++i)
      operation.add(value, arguments.input[i], second<Op>(arguments.second, i), i);
    *static_cast<Value<Op>*>(arguments.result) = Op::finish(value);
  });
}

namespace {
constexpr std::int64_t block_size = 1 << 16;
}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& arguments) {
  with_operation(arguments, [&](auto operation) {
    using Op = decltype(operation);
    std::int64_t const blocks = (arguments.size + block_size - 1) / block_size;
    std::vector<Value<Op>> partials(static_cast<std::size_t>(blocks));
    parallel_for(blocks, [&](std::int64_t block) {
      std::int64_t const first = block * block_size;
      std::int64_t const last = std::min(first + block_size, arguments.size);
      partials[static_cast<std::size_t>(block)] =
          reduce_block(operation, arguments.input, arguments.second, first, last);
    });
    auto value = Op::identity();
    for (auto const& partial : partials) Op::combine(value, partial);
    *static_cast<Value<Op>*>(arguments.result) = Op::finish(value);
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(std::int32_t)
GRIDSTRIDE_INSTANTIATE(std::int64_t)
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::reduce
