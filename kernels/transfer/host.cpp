// The round trip on the host, where nothing has to travel: y = a·x + b from one array to the other.
//
// `reference` is the formula, one element after the other: the oracle. `threads` shares pieces of
// 16,384 elements among the threads, each a loop that the compiler vectorises.

#include <algorithm>

#include "kernels/support/parallel_for.hpp"
#include "kernels/transfer/rows.hpp"

namespace gridstride::transfer {

template <class T>
void host_reference(Stream&, Arguments<T> const& arguments) {
  for (std::int64_t i = 0; i < arguments.size; ++i)
    arguments.y[i] = arguments.a * arguments.x[i] + arguments.b;
}

namespace {

constexpr std::int64_t piece = 16384;

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& arguments) {
  auto const [a, b, x, y, size, pieces] = arguments;
  auto const compute = [a = a, b = b, x = x, y = y, size = size](std::int64_t p) {
    std::int64_t const last = std::min(size, (p + 1) * piece);
#pragma omp simd
    for (std::int64_t i = p * piece; i < last; ++i) y[i] = a * x[i] + b;
  };
  parallel_for((size + piece - 1) / piece, piece, compute);
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::transfer
