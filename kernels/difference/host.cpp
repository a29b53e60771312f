// Differences on the host.
//
// `reference` takes first differences of the whole array, order times: the oracle.
// `threads` makes one pass: of neighbouring results along x, each from all that it depends on, so
// that the compiler has vectors of them.

#include <algorithm>
#include <vector>

#include "kernels/difference/rows.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::difference {

template <class T>
void host_reference(Stream&, Arguments<T> const& a) {
  std::int64_t const stride = a.shape.stride(), slabs = a.shape.size() / stride / a.shape.length();
  std::vector<T> values(a.input, a.input + a.shape.size());
  for (std::int64_t length = a.shape.length() - 1; length >= a.shape.length() - a.order; --length) {
    std::vector<T> less;
    for (std::int64_t s = 0; s < slabs; ++s)
      for (std::int64_t q = 0; q < length * stride; ++q) {
        T const* const x = values.data() + s * (length + 1) * stride + q;
        less.push_back(x[stride] - x[0]);
      }
    values.swap(less);
  }
  std::ranges::copy(values, a.output);
}

namespace {

template <int order, class T>
GRIDSTRIDE_VECTOR_WIDTHS void results(T const* in, std::int64_t stride, std::int64_t count,
                                      T* out) {
#pragma omp simd
  for (std::int64_t q = 0; q < count; ++q) {
    T x[order + 1];
    for (int k = 0; k <= order; ++k) x[k] = in[q + k * stride];
    out[q] = difference_of<order>(x);
  }
}

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& a) {
  // Short slabs go together; long ones are cut.
  constexpr std::int64_t wanted = 1 << 15;
  Slabs const s = Slabs::of(a);
  std::int64_t const pieces = (s.result + wanted - 1) / wanted;
  std::int64_t const together = std::max<std::int64_t>(1, wanted / s.result);
  std::int64_t const groups = (s.slabs + together - 1) / together;
  with_order(a.order, [&](auto order) {
    parallel_for(groups * pieces, std::min(wanted, s.result) * together, [&](std::int64_t part) {
      std::int64_t const first = part / pieces * together;
      std::int64_t const q = part % pieces * wanted, count = std::min(wanted, s.result - q);
      for (std::int64_t slab = first; slab < std::min(first + together, s.slabs); ++slab)
        results<order()>(a.input + slab * s.slab + q, s.stride, count,
                         a.output + slab * s.result + q);
    });
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::difference
