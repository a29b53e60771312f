// Filters with the fast Fourier transform, by cuFFT: `overlap_save` and `cufft`.
//
// A filter is a product of spectra: out = F⁻¹(F(in)·F(taps)), for signals that are periodic. The
// method of overlap-save cuts a signal into blocks of `points` elements, each of which
// begins taps − 1 elements before its outputs. The product of a block and the filter is wrong in
// those first taps − 1 places, where it runs around the block's end, and right in all others. So a
// block yields points − taps + 1 outputs for two transforms, about 5·points·log2(points) operations
// however many taps there are.
//
// Blocks go through these steps, 64 MiB of them at a time:
//
//   gather    work ← in        a row of `work` per block; the boundary is made here
//   forward   work ← F(work)   cuFFT, in place: points reals become points/2 + 1 complex numbers
//   product   work *= spectrum the filter's spectrum, divided by points; 16 bytes a thread
//   inverse   work ← F⁻¹(work) cuFFT, in place
//   crop      out ← work       the outputs that are right
//
// Blocks within a long signal are transformed out of `in` where they lie, although they overlap:
// cuFFT takes transforms that begin `useful` elements apart. Signals along y and z are turned in
// tiles of 32 × 32 in shared memory on the way in and out, so that both sides move whole lines.
// Memory or the second-level cache moves about 8·points/useful elements per output.
//
// `cufft` is the same with one block for the whole of a signal: how one writes it with the library.

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/convolve/fft_blocks.cuh"
#include "kernels/fft/cufft_plan.cuh"
#include "kernels/support/preparation.cuh"

namespace gridstride::convolve {

namespace {

/// What two transforms and a product of a block cost, in any unit: per point the same as long as
/// one kernel transforms a block, then more.
double cost_of(std::int64_t points) {
  constexpr double most_cheap = 4096;
  auto const n = static_cast<double>(points);
  return n * (1 + 0.18 * std::max(0.0, std::log2(n / most_cheap)));
}

/// The cheapest blocks for a filter.
template <class T>
Tiling cut(std::int64_t taps, Signals const& signals, std::int64_t most_bytes) {
  constexpr std::int64_t fewest_points = 64, most_points = 1 << 18;
  std::int64_t const whole = signals.length + taps - 1;
  std::int64_t best = 0, best_useful = 0;
  double best_cost = 0;
  for (std::int64_t points = fewest_points; points <= most_points; points *= 2) {
    // Where blocks are read in place, up to a vector less one element before them is read too.
    std::int64_t useful = (points - taps + 2) / vector_width<T> * vector_width<T> - vector_width<T>;
    if (points >= whole) useful = signals.length;
    if (useful < 1) continue;
    double const cost =
        cost_of(points) * static_cast<double>((signals.length + useful - 1) / useful);
    if (best == 0 || cost < best_cost) {
      best = points;
      best_useful = useful;
      best_cost = cost;
    }
    if (points >= whole) break;
  }
  return Tiling::make<T>(best, best_useful, signals, most_bytes);
}

/// One block for all of a signal, of the next number of points that is fast: 4·2^a·3^b·5^c·7^d.
template <class T>
Tiling whole(std::int64_t taps, Signals const& signals) {
  std::int64_t const needed = signals.length + taps - 1;
  std::int64_t points = std::int64_t{4} << std::bit_width(static_cast<std::uint64_t>(needed) / 4);
  for (std::int64_t sevens = 4; sevens < points; sevens *= 7)
    for (std::int64_t fives = sevens; fives < points; fives *= 5)
      for (std::int64_t threes = fives; threes < points; threes *= 3) {
        std::int64_t twos = threes;
        while (twos < needed) twos *= 2;
        points = std::min(points, twos);
      }
  constexpr std::int64_t most_bytes = std::int64_t{1} << 32;
  return Tiling::make<T>(points, signals.length, signals, most_bytes);
}

// ----------------------------------------------------------------------------------- the kernels

constexpr int threads = 256;

/// work[n][k] *= spectrum[k]: a thread has 16 bytes of the spectrum, and those of every
/// gridDim.y-th row.
template <class T>
__global__ void multiply(long long rows, long long row, T const* spectrum, T* work) {
  using Numbers = Vector<T, vector_width<T>>;
  long long const k = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
  if (k >= row / vector_width<T>) return;
  auto const factor = reinterpret_cast<Numbers const*>(spectrum)[k];
  for (long long n = blockIdx.y; n < rows; n += gridDim.y) {
    auto& place = reinterpret_cast<Numbers*>(work + n * row)[k];
    Numbers v = place;
#pragma unroll
    for (int i = 0; i < vector_width<T>; i += 2) {
      T const re = v.at[i] * factor.at[i] - v.at[i + 1] * factor.at[i + 1];
      v.at[i + 1] = v.at[i] * factor.at[i + 1] + v.at[i + 1] * factor.at[i];
      v.at[i] = re;
    }
    place = v;
  }
}

/// The filter's spectrum in T, divided by the number of points; zero behind its end.
template <class T>
__global__ void scale(long long row, long long points, double const* spectrum, T* scaled) {
  long long const k = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
  if (k < row)
    scaled[k] = k < points + 2 ? static_cast<T>(spectrum[k] / static_cast<double>(points)) : T(0);
}

// ---------------------------------------------------------------------------- what a filter keeps

/// Blocks that go through the steps together.
template <class T>
struct Run {
  std::int64_t first, count;
  T const* direct = nullptr;  ///< where the first begins in the input, if they are read in place
  std::int64_t shift = 0;     ///< elements that these begin before what they need
};

/// All that signals of one shape need: made at the first use.
template <class T>
class Transforms {
 public:
  Transforms(Stream& stream, Filter<T> const& filter, Signals const& signals, Tiling const& tiling);

  void filter(Stream& stream, Arguments<T> const& a);

 private:
  enum class Step { forward, forward_in_place, inverse };
  using Runs = std::vector<Run<T>>;

  Runs runs(Arguments<T> const& a) const;
  void add_runs(Runs& runs, std::int64_t first, std::int64_t last, T const* direct,
                std::int64_t shift) const;
  fft::Plan const& plan(Step step, std::int64_t batch);
  std::size_t area_bytes(Runs const& runs);
  void go(Stream& stream, Arguments<T> const& a, Run<T> const& run, T* work, void* area);

  Signals signals_;
  Tiling tiling_;
  std::int64_t row_;
  Buffer<T> spectrum_;
  std::map<std::pair<Step, std::int64_t>, fft::Plan> plans_;
  LastUse last_use_;
};

/// The spectrum is computed in float64.
template <class T>
Transforms<T>::Transforms(Stream& stream, Filter<T> const& filter, Signals const& signals,
                          Tiling const& tiling)
    : signals_(signals), tiling_(tiling), row_(tiling.row<T>()), last_use_(stream) {
  OutsideOfCapture const relaxed;
  Stream beside = stream.urgent();
  auto const points = static_cast<std::size_t>(tiling.points);
  Buffer<double> spectrum(beside, MemorySpace::device, points + 2);
  zero_async(spectrum.span(), beside);
  std::vector<double> const taps(filter.taps().begin(), filter.taps().end());
  copy_async(spectrum.span().first(taps.size()), std::span(taps), beside);
  fft::Plan const plan(CUFFT_D2Z, tiling.points, tiling.points, tiling.points / 2 + 1, 1);
  Buffer<std::byte> area(beside, MemorySpace::device, plan.area_bytes());
  plan.forward(beside, area.data(), spectrum.data(), spectrum.data());
  spectrum_ = Buffer<T>(beside, MemorySpace::device, static_cast<std::size_t>(row_));
  scale<<<blocks_for(row_, threads), threads, 0, native(beside)>>>(
      row_, tiling.points, spectrum.data(), spectrum_.data());
  GRIDSTRIDE_CHECK_LAUNCH(beside, "scale");
  beside.synchronize();
}

template <class T>
fft::Plan const& Transforms<T>::plan(Step step, std::int64_t batch) {
  std::int64_t const points = tiling_.points, half = row_ / 2;
  auto const key = std::pair(step, batch);
  if (step == Step::inverse)
    return plans_.try_emplace(key, fft::inverse_transform<T>, points, half, row_, batch)
        .first->second;
  std::int64_t const distance = step == Step::forward ? tiling_.useful : row_;
  return plans_.try_emplace(key, fft::forward_transform<T>, points, distance, half, batch)
      .first->second;
}

template <class T>
void Transforms<T>::add_runs(Runs& runs, std::int64_t first, std::int64_t last, T const* direct,
                             std::int64_t shift) const {
  for (std::int64_t block = first; block < last; block += tiling_.batch) {
    T const* const here = direct ? direct + (block - first) * tiling_.useful : nullptr;
    runs.push_back({block, std::min(tiling_.batch, last - block), here, shift});
  }
}

/// Long signals one after the other, their inner blocks read in place; else all blocks as they
/// come.
template <class T>
auto Transforms<T>::runs(Arguments<T> const& a) const -> Runs {
  Runs runs;
  auto const [points, useful, per_signal, batch] = tiling_;
  std::int64_t const reach = a.filter->count() - 1, lead = a.filter->center() - reach;
  if (signals_.inner > 1 || per_signal < batch || per_signal < 8) {
    add_runs(runs, 0, per_signal * signals_.count(), nullptr, 0);
    return runs;
  }
  constexpr std::int64_t width = vector_width<T>;
  for (std::int64_t signal = 0; signal < signals_.outer; ++signal) {
    std::int64_t const origin = signal * signals_.length;
    std::int64_t const shift = ((misalignment(a.in) + origin + lead) % width + width) % width;
    std::int64_t const begin = lead - shift;  // of block 0, in the signal
    std::int64_t const inside = begin >= 0 ? 0 : (useful - 1 - begin) / useful;
    std::int64_t const end = (signals_.length - points - begin) / useful + 1;
    std::int64_t const first = signal * per_signal;
    add_runs(runs, first, first + inside, nullptr, 0);
    add_runs(runs, first + inside, first + end, a.in + origin + begin + inside * useful, shift);
    add_runs(runs, first + end, first + per_signal, nullptr, 0);
  }
  return runs;
}

template <class T>
std::size_t Transforms<T>::area_bytes(Runs const& runs) {
  std::size_t bytes = 0;
  for (auto const& run : runs) {
    auto const step = run.direct ? Step::forward : Step::forward_in_place;
    bytes = std::max(
        {bytes, plan(step, run.count).area_bytes(), plan(Step::inverse, run.count).area_bytes()});
  }
  return bytes;
}

template <class T>
void Transforms<T>::go(Stream& stream, Arguments<T> const& a, Run<T> const& run, T* work,
                       void* area) {
  auto blocks = Blocks<T>::make(a, tiling_, run.first, run.count);
  blocks.skip += run.shift;
  if (run.direct) {
    plan(Step::forward, run.count).forward(stream, area, run.direct, work);
  } else {
    gather(stream, blocks, a.in, work);
    plan(Step::forward_in_place, run.count).forward(stream, area, work, work);
  }
  dim3 const grid(blocks_for(row_ / vector_width<T>, threads),
                  static_cast<unsigned>(std::min<std::int64_t>(run.count, 64)));
  multiply<<<grid, threads, 0, native(stream)>>>(run.count, row_, spectrum_.data(), work);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multiply");
  plan(Step::inverse, run.count).inverse(stream, area, work);
  crop(stream, blocks, work, a.out);
}

template <class T>
void Transforms<T>::filter(Stream& stream, Arguments<T> const& a) {
  last_use_.is(stream);
  auto const all = runs(a);
  Buffer<std::byte> area(stream, MemorySpace::device, area_bytes(all));
  Buffer<T> work(stream, MemorySpace::device, static_cast<std::size_t>(tiling_.batch * row_));
  for (auto const& run : all) go(stream, a, run, work.data(), area.data());
}

/// Of each shape that the filter has met: inner, length and outer of its signals.
template <class T>
using Kept = std::map<std::array<std::int64_t, 3>, Transforms<T>>;

template <class T, class Cut>
void filter_by_transforms(Stream& stream, Arguments<T> const& a, std::shared_ptr<void>& slot,
                          Cut const& cut) {
  if (!slot) slot = std::make_shared<Kept<T>>();
  auto& kept = *static_cast<Kept<T>*>(slot.get());
  auto const signals = Signals::of(a.shape);
  std::array<std::int64_t, 3> const key = {signals.inner, signals.length, signals.outer};
  auto found = kept.find(key);
  if (found == kept.end())
    found = kept.try_emplace(key, stream, *a.filter, signals, cut(signals)).first;
  found->second.filter(stream, a);
}

}  // namespace

template <class T>
void cuda_overlap_save(Stream& stream, Arguments<T> const& a) {
  constexpr std::int64_t most_bytes = std::int64_t{64} << 20;
  filter_by_transforms(stream, a, a.filter->prepared().overlap_save, [&](Signals const& signals) {
    return cut<T>(a.filter->count(), signals, most_bytes);
  });
}

template <class T>
void cuda_cufft(Stream& stream, Arguments<T> const& a) {
  filter_by_transforms(stream, a, a.filter->prepared().cufft, [&](Signals const& signals) {
    return whole<T>(a.filter->count(), signals);
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                \
  template void cuda_overlap_save(Stream&, Arguments<T> const&); \
  template void cuda_cufft(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::convolve
