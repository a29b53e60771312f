// Welch's method on the GPU with everything on chip, `fused`: each sample is read once for each
// segment that it is in (the second time from the second-level cache), and nothing but the sums of
// squares is written.
//
// Thread-to-data: a block has a piece of 16 segments, and takes two at a time as one complex signal
// a + i·b, whose transform Z (fft/block_transform.cuh) has all that is needed:
// |A_k|² + |B_k|² = (|Z_k|² + |Z_(N−k)|²)/2. A thread loads its samples in the places where the
// first pass wants them, the block finds the trends, and |Z_k|² is added up in registers, in the
// order in which the last pass leaves the frequencies. Only the piece's sums are put in order.
//
// Bytes for each segment: N·sizeof(T) read, and N·sizeof(T)/16 written and read again.
// Operations: 5·N·log2(N)/2, and shared memory moves 2·(passes − 1)·N·sizeof(T).

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/fft/block_transform.cuh"
#include "kernels/spectrum/pieces.cuh"
#include "kernels/support/collectives.cuh"

namespace gridstride::spectrum {

namespace {

using fft::Complex;
using fft::Passes;
using fft::Worker;

extern __shared__ __align__(16) unsigned char shared_bytes[];

/// Sums of both segments of a pair.
struct PairSums {
  TrendSums a, b;
};
struct AddPairSums {
  __device__ PairSums operator()(PairSums const& x, PairSums const& y) const {
    return {AddTrendSums{}(x.a, y.a), AddTrendSums{}(x.b, y.b)};
  }
};

/// The frequency that the last pass leaves at number k of its transform u: with the digits of the
/// place, the first one the most significant, in reversed order.
template <class S>
__device__ int frequency(int u, int k) {
  int place = Worker<S>::template place<S::passes - 1>(u, k), result = 0, weight = 1;
#pragma unroll
  for (int pass = 0; pass < S::passes; ++pass) {
    result += place / S::stride(pass) * weight;
    place %= S::stride(pass);
    weight *= S::radix(pass);
  }
  return result;
}

/// Blocks that a multiprocessor takes, of those that small segments want.
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ >= 890
constexpr int most_blocks = 24;
#else
constexpr int most_blocks = 16;
#endif

template <class S, class T = typename S::Value>
__global__ void __launch_bounds__(S::threads, std::min(S::resident, most_blocks))
    powers_kernel(Arguments<T> a, std::int64_t first_piece, Complex<T> const* __restrict__ roots,
                  T* powers) {
  constexpr int last = S::passes - 1;
  __shared__ PairSums sums_of_warps[S::threads / warp_size];
  Worker<S> worker{reinterpret_cast<Complex<T>*>(shared_bytes), roots, {}};
  T sums[S::most] = {};
  std::int64_t const hop = a.options.hop(), piece = first_piece + blockIdx.x;
  for (int pair = 0; pair < piece_segments / 2; ++pair) {
    std::int64_t const segment = piece * piece_segments + 2 * pair;
    if (segment >= a.segments) break;
    bool const two = segment + 1 < a.segments;
    std::int64_t const first = segment * hop, second = first + hop;
    worker.template for_each<0>([&](int u, int k, Complex<T>& x) {
      int const j = Worker<S>::template place<0>(u, k);
      x = {sample_at(a.samples, first + j), two ? sample_at(a.samples, second + j) : T(0)};
    });
    Trend of_first, of_second;
    if (a.options.detrend != Detrend::none) {
      PairSums trends;
      worker.template for_each<0>([&](int u, int k, Complex<T>& x) {
        double const from_middle = Worker<S>::template place<0>(u, k) - (S::points - 1) / 2.0;
        trends.a.x += static_cast<double>(x.re);
        trends.b.x += static_cast<double>(x.im);
        trends.a.moment += static_cast<double>(x.re) * from_middle;
        trends.b.moment += static_cast<double>(x.im) * from_middle;
      });
      trends = block_reduce<S::threads>(trends, AddPairSums{}, sums_of_warps);
      of_first = Trend::of(trends.a, a.options.detrend, S::points);
      of_second = Trend::of(trends.b, a.options.detrend, S::points);
    }
    worker.template for_each<0>([&](int u, int k, Complex<T>& x) {
      int const j = Worker<S>::template place<0>(u, k);
      T const w = a.window[j];
      x = {of_first.without(x.re, j) * w, of_second.without(x.im, j) * w};
    });
    worker.forward();
    int number = 0;
    worker.template for_each<last>(
        [&](int, int, Complex<T>& x) { sums[number++] += x.re * x.re + x.im * x.im; });
    __syncthreads();  // before the next pair writes where others may still be reading
  }
  int number = 0;
  worker.template for_each<last>([&](int u, int k, Complex<T>&) {
    powers[std::int64_t{blockIdx.x} * S::points + frequency<S>(u, k)] = sums[number++];
  });
}

/// Sums of pieces that wait to be added, at most, in whole groups.
constexpr std::int64_t most_powers = std::int64_t{1} << 24;

/// A shape with what is launched for it.
template <class T>
struct Row {
  int points, threads;
  std::size_t shared_bytes;
  decltype(&powers_kernel<Passes<T, 8, 8, 8>>) powers;

  template <class S>
  static Row make() {
    static_assert(S::threads % warp_size == 0);
    return {S::points, S::threads, S::shared_bytes, powers_kernel<S>};
  }
};

template <class T>
Row<T> const* row_of(Device const& device, std::int64_t segment) {
  static Row<T> const rows[] = {
      Row<T>::template make<Passes<T, 8, 8, 4>>(),    Row<T>::template make<Passes<T, 8, 8, 8>>(),
      Row<T>::template make<Passes<T, 8, 8, 16>>(),   Row<T>::template make<Passes<T, 8, 16, 16>>(),
      Row<T>::template make<Passes<T, 16, 16, 16>>(),
  };
  for (auto const& row : rows)
    if (row.points == segment && row.shared_bytes <= device.capabilities().shared_bytes)
      return &row;
  return nullptr;
}

template <class T>
struct Roots {
  Buffer<Complex<T>> values;

  Roots(Stream& stream, int points)
      : values(stream, MemorySpace::device, static_cast<std::size_t>(points)) {
    std::vector<Complex<T>> host;
    for (int k = 0; k < points; ++k) {
      double const angle = -2 * std::numbers::pi * k / points;
      host.push_back({static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))});
    }
    copy_async(values.span(), std::span<Complex<T> const>(host), stream);
    stream.synchronize();
  }
};

}  // namespace

template <class T>
bool cuda_takes_fused(Device const& device, std::int64_t segment) {
  return row_of<T>(device, segment) != nullptr;
}

template <class T>
void cuda_fused(Stream& stream, Arguments<T> const& a) {
  auto const& row = *row_of<T>(stream.device(), a.options.segment);
  if (*a.prepared == nullptr) *a.prepared = std::make_shared<Roots<T>>(stream, row.points);
  auto const& roots = *static_cast<Roots<T> const*>(a.prepared->get());
  std::int64_t const n = a.options.segment, pieces = blocks_for(a.segments, piece_segments);
  std::int64_t const per_group = group_segments(n) / piece_segments;
  std::int64_t const together =
      std::max(most_powers / (per_group * n), std::int64_t{1}) * per_group;
  Buffer<T> powers(stream, MemorySpace::device,
                   static_cast<std::size_t>(std::min(pieces, together) * n));
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(row.powers, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(row.shared_bytes)));
  for (std::int64_t first = 0; first < pieces; first += together) {
    std::int64_t const count = std::min(together, pieces - first);
    row.powers<<<static_cast<unsigned>(count), row.threads, row.shared_bytes, native(stream)>>>(
        a, first, roots.values.data(), powers.data());
    GRIDSTRIDE_CHECK_LAUNCH(stream, "spectrum fused");
    add_pieces<true>(stream, powers.data(), count, a);
  }
}

template bool cuda_takes_fused<float>(Device const&, std::int64_t);
template bool cuda_takes_fused<double>(Device const&, std::int64_t);
template void cuda_fused(Stream&, Arguments<float> const&);
template void cuda_fused(Stream&, Arguments<double> const&);

}  // namespace gridstride::spectrum
