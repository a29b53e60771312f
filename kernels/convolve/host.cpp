// Filters on the host.
//
// `reference` is the formula, with the sum in float64: the oracle.
// `threads` shares blocks of neighbouring outputs, along the signal or beside it, among the
// threads. Each tap has an array of the data that it meets in the block: a part of the input, but
// where that is beyond an end, so that the loops know no boundary. A piece of the outputs stays in
// vector registers while all taps are added to it, which takes one load and two operations for each
// vector and tap. Each output has its sum in the order of the taps, in the type of the data.

#include <algorithm>
#include <vector>

#include "kernels/convolve/boundary.hpp"
#include "kernels/convolve/rows.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::convolve {

template <class T>
void host_reference(Stream&, Arguments<T> const& a) {
  auto const [inner, length, outer] = Signals::of(a.shape);
  auto const taps = a.filter->taps();
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < length; ++i)
      for (std::int64_t j = 0; j < inner; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < a.filter->count(); ++k) {
          auto const source = source_of(a.boundary, i + a.filter->center() - k, length);
          auto const value = source < 0 ? a.value : a.in[(o * length + source) * inner + j];
          sum += static_cast<double>(taps[static_cast<std::size_t>(k)]) * value;
        }
        a.out[(o * length + i) * inner + j] = static_cast<T>(sum);
      }
}

namespace {

constexpr std::int64_t block_size = 256;
constexpr int chains = 4;  // independent sums that hide how long an addition takes
/// Elements in 64 bytes, the widest vector.
template <class T>
constexpr int lanes = 64 / sizeof(T);

/// out_j = Σ_k taps_k · data_k[j] for `count` outputs.
template <class T>
GRIDSTRIDE_VECTOR_WIDTHS void filter_block(std::vector<T const*> const& data, T const* taps, T* out,
                                           std::int64_t count) {
  constexpr std::int64_t piece = chains * lanes<T>;
  std::int64_t j = 0;
  for (; j + piece <= count; j += piece) {
    T sums[chains][lanes<T>] = {};
    for (std::size_t k = 0; k < data.size(); ++k)
      for (int c = 0; c < chains; ++c)
#pragma omp simd
        for (int lane = 0; lane < lanes<T>; ++lane)
          sums[c][lane] += taps[k] * data[k][j + c * lanes<T> + lane];
    for (int c = 0; c < chains; ++c) std::copy_n(sums[c], lanes<T>, out + j + c * lanes<T>);
  }
  for (; j < count; ++j) {
    T sum = 0;
    for (std::size_t k = 0; k < data.size(); ++k) sum += taps[k] * data[k][j];
    out[j] = sum;
  }
}

/// The filter at the outputs from `first` on of the signal at `in`, whose elements are neighbours.
template <class T>
void filter_along(Arguments<T> const& a, T const* in, std::int64_t length, std::int64_t first,
                  std::int64_t count, T* out) {
  auto const taps = a.filter->count(), lowest = first + a.filter->center() - (taps - 1);
  T const* window = in + lowest;
  std::vector<T> continued;
  if (lowest < 0 || lowest + count + taps - 1 > length) {
    for (std::int64_t i = 0; i < count + taps - 1; ++i) {
      auto const source = source_of(a.boundary, lowest + i, length);
      continued.push_back(source < 0 ? a.value : in[source]);
    }
    window = continued.data();
  }
  std::vector<T const*> data;
  for (std::int64_t k = 0; k < taps; ++k) data.push_back(window + (taps - 1 - k));
  filter_block(data, a.filter->taps().data(), out + first, count);
}

/// The filter at point `i` of `count` signals side by side, the first of which begins at `in`;
/// their elements are `inner` apart.
template <class T>
void filter_beside(Arguments<T> const& a, T const* in, std::int64_t length, std::int64_t inner,
                   std::int64_t i, std::int64_t count, T* out) {
  std::vector<T> const beyond(static_cast<std::size_t>(count), a.value);
  std::vector<T const*> data;
  for (std::int64_t k = 0; k < a.filter->count(); ++k) {
    auto const source = source_of(a.boundary, i + a.filter->center() - k, length);
    data.push_back(source < 0 ? beyond.data() : in + source * inner);
  }
  filter_block(data, a.filter->taps().data(), out + i * inner, count);
}

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& a) {
  auto const [inner, length, outer] = Signals::of(a.shape);
  bool const along = inner == 1;
  auto const row = along ? length : inner;  // of neighbours in memory
  auto const blocks = (row + block_size - 1) / block_size;
  auto const rows = along ? outer : outer * length;
  auto const work = std::min(block_size, row) * a.filter->count() / 2;  // as vectors do it
  // Point after point of the same signals, so that most of their data are in the caches.
  parallel_for(blocks * rows, work, [&, length = length, inner = inner](std::int64_t n) {
    auto const first = n / rows * block_size, count = std::min(block_size, row - first);
    auto const r = n % rows;
    if (along) {
      filter_along(a, a.in + r * length, length, first, count, a.out + r * length);
    } else {
      auto const signal = r / length * length * inner + first;
      filter_beside(a, a.in + signal, length, inner, r % length, count, a.out + signal);
    }
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                             \
  template void host_reference(Stream&, Arguments<T> const&); \
  template void host_threads(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::convolve
