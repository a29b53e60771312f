// Differences on the GPU. Each input is to be read once and each result written once, so that the
// roof is the copy bandwidth: 2·n·sizeof(T) bytes.
//
//   naive     A thread per result loads the order + 1 inputs that it depends on. Along x they come
//             from the cache. Along y and z an input is read again when a block further on comes to
//             it, from L2 where it is still there.
//   marching  Along y and z a thread takes neighbours in x as a vector of 16 bytes and goes along
//             the axis for 8 results: 8 + order vectors are loaded for them, all under way at once.
//             Along x neighbouring threads share what they load in L1, and each has eight results
//             under way, which lie a block's width apart; those of a single row are vectors, whose
//             last inputs the next thread's vector brings to L1.

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/difference/rows.hpp"
#include "kernels/support/launch.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::difference {

namespace {

constexpr int threads = 256;

template <int order, class T>
__device__ T difference_at(T const* in, std::int64_t stride) {
  T x[order + 1];
#pragma unroll
  for (int k = 0; k <= order; ++k) x[k] = in[k * stride];
  return difference_of<order>(x);
}

// ---------------------------------------------------------------------------------------- naive

template <int order, class T>
__global__ void __launch_bounds__(threads) naive_kernel(T const* in, T* out, Slabs s) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= s.slabs * s.result) return;
  std::int64_t const slab = i / s.result;
  out[i] = difference_at<order>(in + slab * s.slab + (i - slab * s.result), s.stride);
}

// ------------------------------------------------------------------------------ marching, along x

constexpr int under_way = 8;

/// Vectors of results of a row, eight of a thread. With a width of 1 also of many rows, that is
/// slabs: where the block's first result is in its row tells how many rows further another one is.
/// Within a block all is counted in 32 bits.
template <int order, int width, class T>
__global__ void __launch_bounds__(threads) along_x_kernel(T const* in, T* out, Slabs s) {
  constexpr int tile = threads * under_way * width;
  std::int64_t const first = std::int64_t{blockIdx.x} * tile, rest = s.slabs * s.result - first;
  std::int64_t const row = first / s.result, left = s.result - (first - row * s.result);
  int const count = static_cast<int>(rest < tile ? rest : tile);
  int const to_next = static_cast<int>(left < tile ? left : tile);
  int const row_size = static_cast<int>(s.result < tile ? s.result : tile);
  // Each row of the result is order elements shorter.
  in += first + row * order;
  out += first;
#pragma unroll
  for (int k = 0; k < under_way; ++k) {
    int const at = (k * threads + static_cast<int>(threadIdx.x)) * width;
    if (at >= count) break;
    int const rows = s.slabs == 1 || at < to_next ? 0 : 1 + (at - to_next) / row_size;
    T const* const x = in + (at + rows * order);
    if (width == 1 || at + width > count) {
      for (int j = 0; j < width && at + j < count; ++j)
        out[at + j] = difference_at<order>(x + j, std::int64_t{1});
      continue;
    }
    T values[width + order];
    auto const vector = *reinterpret_cast<Vector<T, width> const*>(x);
#pragma unroll
    for (int j = 0; j < width; ++j) values[j] = vector.at[j];
#pragma unroll
    for (int j = width; j < width + order; ++j) values[j] = x[j];
    Vector<T, width> result;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      T part[order + 1];
#pragma unroll
      for (int i = 0; i <= order; ++i) part[i] = values[j + i];
      result.at[j] = difference_of<order>(part);
    }
    store_once(out + at, result);
  }
}

// ----------------------------------------------------------------------- marching, along y and z

constexpr int march = 8;

/// The places of a slab's vectors along x (or of planes), and the runs of results along the axis.
struct Columns {
  std::int64_t vectors, runs, results;  ///< results: along the axis
};

template <int order, int width, class T>
__global__ void __launch_bounds__(threads)
    marching_kernel(T const* in, T* out, Slabs s, Columns columns) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  std::int64_t const run = i / columns.vectors, slab = run / columns.runs;
  if (slab >= s.slabs) return;
  std::int64_t const first = (run - slab * columns.runs) * march;
  std::int64_t const place = (i - run * columns.vectors) * width + first * s.stride;
  T const* const x = in + slab * s.slab + place;
  T* const y = out + slab * s.result + place;
  auto const count = static_cast<int>(columns.results - first < march ? columns.results - first
                                                                      : std::int64_t{march});
  Vector<T, width> values[march + order];
#pragma unroll
  for (int k = 0; k < march + order; ++k)
    if (k < count + order) values[k] = *reinterpret_cast<Vector<T, width> const*>(x + k * s.stride);
#pragma unroll
  for (int k = 0; k < march; ++k) {
    if (k >= count) break;
    Vector<T, width> result;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      T part[order + 1];
#pragma unroll
      for (int step = 0; step <= order; ++step) part[step] = values[k + step].at[j];
      result.at[j] = difference_of<order>(part);
    }
    store_once(y + k * s.stride, result);
  }
}

template <int order, int width, class T>
void march_along(Stream& stream, Arguments<T> const& a, Slabs const& s) {
  std::int64_t const results = a.shape.length() - order;
  Columns const columns{s.stride / width, (results + march - 1) / march, results};
  marching_kernel<order, width><<<blocks_for(s.slabs * columns.runs * columns.vectors, threads),
                                  threads, 0, native(stream)>>>(a.input, a.output, s, columns);
}

template <int order, int width, class T>
void along_x(Stream& stream, Arguments<T> const& a, Slabs const& s) {
  along_x_kernel<order, width>
      <<<blocks_for(s.slabs * s.result, threads * under_way * width), threads, 0, native(stream)>>>(
          a.input, a.output, s);
}

}  // namespace

template <class T>
void cuda_naive(Stream& stream, Arguments<T> const& a) {
  Slabs const s = Slabs::of(a);
  with_order(a.order, [&](auto order) {
    naive_kernel<order()><<<blocks_for(s.slabs * s.result, threads), threads, 0, native(stream)>>>(
        a.input, a.output, s);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "difference naive");
  });
}

template <class T>
void cuda_marching(Stream& stream, Arguments<T> const& a) {
  constexpr int width = vector_width<T>;
  Slabs const s = Slabs::of(a);
  bool const aligned = misalignment(a.input) == 0 && misalignment(a.output) == 0;
  with_order(a.order, [&](auto order) {
    if (s.stride > 1 && aligned && s.stride % width == 0)
      march_along<order(), width>(stream, a, s);
    else if (s.stride > 1)
      march_along<order(), 1>(stream, a, s);
    else if (aligned && s.slabs == 1)
      along_x<order(), width>(stream, a, s);
    else
      along_x<order(), 1>(stream, a, s);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "difference marching");
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                         \
  template void cuda_naive(Stream&, Arguments<T> const&); \
  template void cuda_marching(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::difference
