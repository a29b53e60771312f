// Filters with the fast Fourier transform, two blocks of a signal in one block of threads: `fft`.
//
// Overlap-save (fft_blocks.cuh) reads and writes each element about once when a block stays on chip
// from its load to its store. Here it does. Two blocks a and b are one complex signal a + i·b: a
// filter with real taps keeps real and imaginary parts apart, so that
//
//   F⁻¹(F(a + i·b)·F(taps)) = (what becomes of a) + i·(what becomes of b)
//
// and no transform for reals is needed. The first pass of a transform (block_transform.cuh) takes
// its elements from `in`, the last pass of the inverse puts them to `out`, and the first pass of
// the inverse works in the registers that the last pass of the forward transform has left. The
// filter's spectrum lies in reversed order of digits, too.
//
// For each output: 4·n/useful bytes read (half of them by a neighbour too, out of the second-level
// cache), 4 written, 8·(passes − 1)·2·n/useful moved in shared memory, 10·n·log2(n)/(2·useful)
// operations; n = 16384 and 8191 taps: 64 bytes and 140 operations.
//
// Signals along y and z are turned into rows of a work memory, filtered there and turned back.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/convolve/fft_blocks.cuh"
#include "kernels/fft/block_transform.cuh"
#include "kernels/fft/cufft_plan.cuh"
#include "kernels/support/preparation.cuh"
#include "kernels/support/shared_bytes.cuh"

namespace gridstride::convolve {

namespace {

using fft::Complex;
using fft::Passes;
using fft::Worker;

extern __shared__ __align__(16) unsigned char shared_bytes[];

/// The spectrum of the taps, divided by the number of points: number k of transform u of the last
/// pass is at [k][u].
template <class S, class T = typename S::Value>
__global__ void __launch_bounds__(S::threads)
    spectrum_of(T const* taps, int count, Complex<T> const* roots, Complex<T>* spectrum) {
  constexpr int last = S::passes - 1, apart = S::points / S::radix(last);
  Worker<S> worker{reinterpret_cast<Complex<T>*>(shared_bytes), roots, {}};
  worker.template for_each<0>([&](int u, int k, Complex<T>& x) {
    int const j = Worker<S>::template place<0>(u, k);
    x = {j < count ? taps[j] / S::points : T(0), T(0)};
  });
  worker.forward();
  worker.template for_each<last>([&](int u, int k, Complex<T>& x) { spectrum[k * apart + u] = x; });
}

/// A block of threads per pair of blocks, the second of which may be missing.
template <class S, class T = typename S::Value>
__global__ void __launch_bounds__(S::threads, S::resident)
    filter_pairs(Blocks<T> const blocks, Complex<T> const* __restrict__ spectrum,
                 Complex<T> const* __restrict__ roots, T const* in, T* out) {
  constexpr int last = S::passes - 1, apart = S::points / S::radix(last);
  Worker<S> worker{reinterpret_cast<Complex<T>*>(shared_bytes), roots, {}};
  long long const pair = 2 * static_cast<long long>(blockIdx.x);
  bool const two = pair + 1 < blocks.count;
  auto const a = blocks.place(pair);
  auto b = blocks.place(two ? pair + 1 : pair);
  if (!two) b.outputs = 1 - blocks.taps;  // none, and no input

  auto const inside = [&](auto const& block) {
    return blocks.at(block, 0) >= 0 && blocks.at(block, S::points) <= blocks.length;
  };
  if (inside(a) && inside(b) && two) {
    T const* const from_a = in + a.origin + blocks.at(a, 0);
    T const* const from_b = in + b.origin + blocks.at(b, 0);
    worker.template for_each<0>([&](int u, int k, Complex<T>& x) {
      int const j = Worker<S>::template place<0>(u, k);
      x = {from_a[j], from_b[j]};
    });
  } else {
#pragma unroll 1
    for (int j = threadIdx.x; j < S::points; j += S::threads)
      worker.shared[Worker<S>::padded(j)] = {blocks.element(in, a, j), blocks.element(in, b, j)};
    __syncthreads();
    worker.template for_each<0>([&](int u, int k, Complex<T>& x) {
      x = worker.shared[Worker<S>::padded(Worker<S>::template place<0>(u, k))];
    });
  }
  worker.forward();
  worker.template for_each<last>(
      [&](int u, int k, Complex<T>& x) { x = x * spectrum[k * apart + u]; });
  worker.inverse();
  T* const to_a = out + a.origin + a.start;
  T* const to_b = out + b.origin + b.start;
  int const skip = static_cast<int>(blocks.taps - 1);
  worker.template for_each<0>([&](int u, int k, Complex<T>& x) {
    int const j = Worker<S>::template place<0>(u, k) - skip;
    if (j >= 0 && j < a.outputs) to_a[j] = x.re;
    if (j >= 0 && j < b.outputs) to_b[j] = x.im;
  });
}

// ---------------------------------------------------------------------------- what a filter keeps

/// A shape with what is launched for it.
template <class T>
struct Row {
  int points, threads;
  std::size_t shared_bytes;
  double cost;  ///< of a pair of blocks: ns, on an H200 that has many of them
  decltype(&spectrum_of<Passes<T, 16, 16, 16>>) spectrum;
  decltype(&filter_pairs<Passes<T, 16, 16, 16>>) filter;

  template <class S>
  static Row make(double cost) {
    return {S::points, S::threads, S::shared_bytes, cost, spectrum_of<S>, filter_pairs<S>};
  }
};

template <class T>
std::span<Row<T> const> rows();
template <>
std::span<Row<float> const> rows() {
  static Row<float> const all[] = {
      Row<float>::make<Passes<float, 8, 8, 8>>(3.1),
      Row<float>::make<Passes<float, 8, 8, 16>>(9),
      Row<float>::make<Passes<float, 8, 16, 16>>(17),
      Row<float>::make<Passes<float, 16, 16, 16>>(33),
      Row<float>::make<Passes<float, 32, 32, 16>>(210),
  };
  return all;
}
template <>
std::span<Row<double> const> rows() {
  static Row<double> const all[] = {
      Row<double>::make<Passes<double, 8, 8, 8>>(7),
      Row<double>::make<Passes<double, 8, 8, 16>>(15),
      Row<double>::make<Passes<double, 8, 16, 16>>(36),
      Row<double>::make<Passes<double, 16, 16, 16>>(56),
      Row<double>::make<Passes<double, 8, 8, 8, 16>>(226),
  };
  return all;
}

/// The cheapest for a filter; null where it is too long for all: cuFFT is faster than blocks that
/// are outputs in less than a quarter of their points.
template <class T>
Row<T> const* cheapest(Device const& device, std::int64_t taps, std::int64_t length) {
  std::size_t const most_bytes = device.capabilities().shared_bytes;
  Row<T> const* best = nullptr;
  double best_cost = 0;
  for (auto const& row : rows<T>()) {
    std::int64_t const useful = std::min(row.points - taps + 1, length);
    bool const wasteful = 4 * useful < row.points && useful < length;
    if (useful < 1 || wasteful || row.shared_bytes > most_bytes) continue;
    double const cost = row.cost * static_cast<double>((length + useful - 1) / useful);
    if (best == nullptr || cost < best_cost) best = &row, best_cost = cost;
  }
  return best;
}

/// A filter's spectrum and the roots of one, for one number of points.
template <class T>
struct Spectrum {
  Spectrum(Stream& stream, Filter<T> const& filter, Row<T> const& row);

  Buffer<Complex<T>> roots, values;
  LastUse last_use;
};

template <class T>
Spectrum<T>::Spectrum(Stream& stream, Filter<T> const& filter, Row<T> const& row)
    : last_use(stream) {
  OutsideOfCapture const now;
  Stream beside = stream.urgent();
  auto const points = static_cast<std::size_t>(row.points);
  roots = Buffer<Complex<T>>(beside, MemorySpace::device, points);
  values = Buffer<Complex<T>>(beside, MemorySpace::device, points);
  Buffer<T> taps(beside, MemorySpace::device, filter.taps().size());
  copy_async(taps.span(), filter.taps(), beside);
  std::vector<Complex<T>> on_host;
  for (int k = 0; k < row.points; ++k) {
    double const angle = -2 * std::numbers::pi * k / row.points;
    on_host.push_back({static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))});
  }
  copy_async(roots.span(), std::span<Complex<T> const>(on_host), beside);
  allow_shared_bytes(row.spectrum, row.shared_bytes);
  row.spectrum<<<1, row.threads, row.shared_bytes, native(beside)>>>(
      taps.data(), static_cast<int>(taps.size()), roots.data(), values.data());
  GRIDSTRIDE_CHECK_LAUNCH(beside, "spectrum_of");
  beside.synchronize();
}

template <class T>
void launch(Stream& stream, Row<T> const& row, Blocks<T> const& blocks, Spectrum<T> const& spectrum,
            T const* in, T* out) {
  allow_shared_bytes(row.filter, row.shared_bytes);
  row.filter<<<blocks_for(blocks.count, 2), row.threads, row.shared_bytes, native(stream)>>>(
      blocks, spectrum.values.data(), spectrum.roots.data(), in, out);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "filter_pairs");
}

/// As rows of a work memory: each row becomes a signal of its own, of one block.
template <class T>
void filter_across(Stream& stream, Arguments<T> const& a, Row<T> const& row, Tiling const& tiling,
                   Spectrum<T> const& spectrum) {
  Buffer<T> work(stream, MemorySpace::device,
                 static_cast<std::size_t>(tiling.batch * tiling.row<T>()));
  std::int64_t const all = tiling.per_signal * Signals::of(a.shape).count();
  for (std::int64_t first = 0; first < all; first += tiling.batch) {
    auto turned = Blocks<T>::make(a, tiling, first, std::min(tiling.batch, all - first));
    gather(stream, turned, a.in, work.data());
    auto in_rows = turned;
    in_rows.first = 0;
    in_rows.inner = in_rows.per_signal = 1;
    in_rows.length = in_rows.row;
    in_rows.signals = in_rows.count;
    in_rows.center = in_rows.taps - 1;
    launch(stream, row, in_rows, spectrum, work.data(), work.data());
    turned.skip = 0;
    crop(stream, turned, work.data(), a.out);
  }
}

}  // namespace

template <class T>
void cuda_fft(Stream& stream, Arguments<T> const& a) {
  auto const signals = Signals::of(a.shape);
  auto const* const row = cheapest<T>(stream.device(), a.filter->count(), signals.length);
  if (row == nullptr) throw std::invalid_argument("convolve: fft does not take so many taps");
  auto& slot = a.filter->prepared().fft;
  using Kept = std::map<int, Spectrum<T>>;
  if (!slot) slot = std::make_shared<Kept>();
  auto& kept = *static_cast<Kept*>(slot.get());
  auto found = kept.find(row->points);
  if (found == kept.end()) found = kept.try_emplace(row->points, stream, *a.filter, *row).first;
  found->second.last_use.is(stream);
  constexpr std::int64_t most_bytes = std::int64_t{32} << 20;
  std::int64_t const useful = std::min(row->points - a.filter->count() + 1, signals.length);
  auto const tiling = Tiling::make<T>(row->points, useful, signals, most_bytes);
  if (signals.inner > 1) return filter_across(stream, a, *row, tiling, found->second);
  auto const all = Blocks<T>::make(a, tiling, 0, tiling.per_signal * signals.count());
  launch(stream, *row, all, found->second, a.in, a.out);
}

template <class T>
bool cuda_takes_fft(Device const& device, std::int64_t taps, std::int64_t length) {
  return cheapest<T>(device, taps, length) != nullptr;
}

bool cuda_has_fft() { return fft::has_cufft(); }

template void cuda_fft(Stream&, Arguments<float> const&);
template void cuda_fft(Stream&, Arguments<double> const&);
template bool cuda_takes_fft<float>(Device const&, std::int64_t, std::int64_t);
template bool cuda_takes_fft<double>(Device const&, std::int64_t, std::int64_t);

}  // namespace gridstride::convolve
