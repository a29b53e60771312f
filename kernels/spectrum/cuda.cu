// Welch's method on the GPU.
//
//   cufft  A group of segments goes through four kernels: their trends, windowed samples, cuFFT,
//          and squares added up by pieces of 16 segments. Any number of samples. The plan is for
//          whole groups, so that every segment is transformed alike; what a group lacks is 0.
//   fused  In a file of its own: cuda_fused.cu.
//
// In the end the pieces' sums of a group are added in their order, and the groups' in theirs, in
// float64.
//
// Bytes of `cufft`, for each sample of a segment: 2·sizeof(T) read for trend and window and as much
// written, 2·sizeof(T) and more in the transform, and its results read once.

#include <cuda_runtime_api.h>

#include <cstddef>

#include "core/buffer.hpp"
#include "kernels/fft/cufft_plan.cuh"
#include "kernels/spectrum/pieces.cuh"
#include "kernels/spectrum/rows.hpp"
#include "kernels/support/collectives.cuh"

namespace gridstride::spectrum {

// ------------------------------------------------------------------------- from pieces to the sums

namespace {

constexpr int threads = 256;

/// A thread has one k of a group.
template <bool folded, class T>
__global__ void __launch_bounds__(threads)
    add_pieces_kernel(T const* powers, std::int64_t pieces, int per_group, std::int64_t segment,
                      double* groups) {
  std::int64_t const bins = segment / 2 + 1, width = folded ? segment : bins;
  std::int64_t const k = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (k >= bins) return;
  std::int64_t const first = std::int64_t{blockIdx.y} * per_group;
  std::int64_t const last = min(first + per_group, pieces);
  std::int64_t const mirrored = k == 0 ? 0 : segment - k;
  double sum = 0;
  for (std::int64_t piece = first; piece < last; ++piece) {
    T const* const power = powers + piece * width;
    if constexpr (folded)
      sum += (static_cast<double>(power[k]) + static_cast<double>(power[mirrored])) / 2;
    else
      sum += static_cast<double>(power[k]);
  }
  groups[blockIdx.y * bins + k] = sum;
}

__global__ void __launch_bounds__(threads)
    add_groups_kernel(double const* groups, int count, std::int64_t bins, double* sums) {
  std::int64_t const k = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (k >= bins) return;
  double sum = sums[k];
  for (int group = 0; group < count; ++group) sum += groups[group * bins + k];
  sums[k] = sum;
}

__global__ void __launch_bounds__(threads) densities_kernel(Densities densities) {
  std::int64_t const k = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (k <= densities.segment / 2) densities.set(k);
}

}  // namespace

template <bool folded, class T>
void add_pieces(Stream& stream, T const* powers, std::int64_t pieces, Arguments<T> const& a) {
  std::int64_t const segment = a.options.segment, bins = a.options.bins();
  auto const per_group = static_cast<int>(group_segments(segment) / piece_segments);
  unsigned const count = blocks_for(pieces, per_group), blocks = blocks_for(bins, threads);
  Buffer<double> groups(stream, MemorySpace::device, count * static_cast<std::size_t>(bins));
  add_pieces_kernel<folded><<<dim3(blocks, count), threads, 0, native(stream)>>>(
      powers, pieces, per_group, segment, groups.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "spectrum: pieces");
  add_groups_kernel<<<blocks, threads, 0, native(stream)>>>(groups.data(), static_cast<int>(count),
                                                            bins, a.sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "spectrum: groups");
}

void cuda_densities(Stream& stream, Densities const& densities) {
  densities_kernel<<<blocks_for(densities.segment / 2 + 1, threads), threads, 0, native(stream)>>>(
      densities);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "spectrum: densities");
}

// ---------------------------------------------------------------------------------------- cufft

namespace {

/// A block for each segment.
template <class T>
__global__ void __launch_bounds__(threads)
    trends_kernel(Arguments<T> a, std::int64_t first_segment, Trend* trends) {
  __shared__ TrendSums shared[threads / warp_size];
  std::int64_t const n = a.options.segment;
  std::int64_t const first = (first_segment + blockIdx.x) * a.options.hop();
  double const middle = static_cast<double>(n - 1) / 2;
  TrendSums sums;
  for (std::int64_t j = threadIdx.x; j < n; j += threads) {
    auto const x = static_cast<double>(sample_at(a.samples, first + j));
    sums.x += x;
    sums.moment += x * (static_cast<double>(j) - middle);
  }
  sums = block_reduce<threads>(sums, AddTrendSums{}, shared);
  if (threadIdx.x == 0) trends[blockIdx.x] = Trend::of(sums, a.options.detrend, n);
}

/// Row `blockIdx.y` of `rows` becomes that segment of the group, or 0.
template <class T>
__global__ void __launch_bounds__(threads)
    windowed_kernel(Arguments<T> a, std::int64_t first_segment, Trend const* trends, T* rows) {
  std::int64_t const n = a.options.segment, segment = first_segment + blockIdx.y;
  std::int64_t const j = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (j >= n) return;
  T value = 0;
  if (segment < a.segments) {
    value = sample_at(a.samples, segment * a.options.hop() + j);
    if (trends != nullptr) value = trends[blockIdx.y].without(value, j);
    value *= a.window[j];
  }
  rows[blockIdx.y * n + j] = value;
}

/// A thread has one k of a piece.
template <class T>
__global__ void __launch_bounds__(threads)
    squares_kernel(T const* transforms, std::int64_t bins, T* powers) {
  std::int64_t const k = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (k >= bins) return;
  T sum = 0;
  for (int s = 0; s < piece_segments; ++s) {
    std::int64_t const place = 2 * ((std::int64_t{blockIdx.y} * piece_segments + s) * bins + k);
    T const re = transforms[place], im = transforms[place + 1];
    sum += re * re + im * im;
  }
  powers[blockIdx.y * bins + k] = sum;
}

}  // namespace

template <class T>
void cuda_cufft(Stream& stream, Arguments<T> const& a) {
  std::int64_t const n = a.options.segment, bins = a.options.bins(), group = group_segments(n);
  if (*a.prepared == nullptr)
    *a.prepared = std::make_shared<fft::Plan>(fft::forward_transform<T>, n, n, bins, group);
  auto const& plan = *static_cast<fft::Plan const*>(a.prepared->get());
  auto const per_group = static_cast<std::size_t>(group);
  std::int64_t const groups = (a.segments + group - 1) / group;
  Buffer<std::byte> area(stream, MemorySpace::device, plan.area_bytes());
  Buffer<T> rows(stream, MemorySpace::device, per_group * static_cast<std::size_t>(n));
  Buffer<T> transforms(stream, MemorySpace::device, 2 * per_group * static_cast<std::size_t>(bins));
  Buffer<T> powers(stream, MemorySpace::device,
                   per_group / piece_segments * static_cast<std::size_t>(bins));
  bool const has_trend = a.options.detrend != Detrend::none;
  Buffer<Trend> trends(stream, MemorySpace::device, has_trend ? per_group : 0);
  for (std::int64_t g = 0; g < groups; ++g) {
    std::int64_t const first = g * group, count = std::min(group, a.segments - first);
    if (has_trend) {
      trends_kernel<<<static_cast<unsigned>(count), threads, 0, native(stream)>>>(a, first,
                                                                                  trends.data());
      GRIDSTRIDE_CHECK_LAUNCH(stream, "spectrum cufft: trends");
    }
    windowed_kernel<<<dim3(blocks_for(n, threads), static_cast<unsigned>(group)), threads, 0,
                      native(stream)>>>(a, first, trends.data(), rows.data());
    GRIDSTRIDE_CHECK_LAUNCH(stream, "spectrum cufft: windows");
    plan.forward(stream, area.data(), rows.data(), transforms.data());
    auto const pieces = static_cast<unsigned>(group / piece_segments);
    squares_kernel<<<dim3(blocks_for(bins, threads), pieces), threads, 0, native(stream)>>>(
        transforms.data(), bins, powers.data());
    GRIDSTRIDE_CHECK_LAUNCH(stream, "spectrum cufft: squares");
    add_pieces<false>(stream, powers.data(), pieces, a);
  }
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                       \
  template void add_pieces<true>(Stream&, T const*, std::int64_t, Arguments<T> const&); \
  template void cuda_cufft(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::spectrum
