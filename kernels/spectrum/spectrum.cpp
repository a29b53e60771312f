#include "kernels/spectrum/spectrum.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/spectrum/rows.hpp"
#include "kernels/support/arguments.hpp"

namespace gridstride::spectrum {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>,
       "one segment after the other in float64, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "two segments make one complex transform; eight of those go side by side, in vectors"},
      {"cufft", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cufft<T>),
       "windowed segments, their transforms by NVIDIA's cuFFT, then the squares: three passes"},
      {"fused", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_fused<T>),
       "all within a block of threads, two segments a transform; segments of 256, 512, … 4096"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "cufft";
}

namespace {

template <class T>
bool takes_fused([[maybe_unused]] Device const& device, [[maybe_unused]] std::int64_t segment) {
#ifdef GRIDSTRIDE_WITH_CUDA
  return cuda_takes_fused<T>(device, segment);
#else
  return false;
#endif
}

void require(bool condition, std::string const& fault) {
  if (!condition) throw std::invalid_argument("spectrum: " + fault);
}

template <class T>
Function<T>* row_for(Device const& device, Options const& options, std::string_view variant) {
  if (variant == "auto")
    variant = device.backend() == Backend::cuda && takes_fused<T>(device, options.segment)
                  ? "fused"
                  : default_variant(device.backend());
  auto* const row = find_variant("spectrum", variants<T>(), device, variant).run;
  require(variant != "fused" || takes_fused<T>(device, options.segment),
          fmt::format("variant 'fused' does not take segments of {} samples", options.segment));
  return row;
}

}  // namespace

std::vector<double> window_values(Window window, std::int64_t segment) {
  // Σ_k (−1)^k·a_k·cos(2πjk/N)
  static constexpr double factors[][3] = {
      {1, 0, 0}, {0.5, 0.5, 0}, {0.54, 0.46, 0}, {0.42, 0.5, 0.08}};
  auto const& a = factors[static_cast<int>(window)];
  std::vector<double> values;
  for (std::int64_t j = 0; j < segment; ++j) {
    double const angle =
        2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(segment);
    values.push_back(a[0] - a[1] * std::cos(angle) + a[2] * std::cos(2 * angle));
  }
  return values;
}

namespace {

/// Samples that wait for the rest of their group.
std::size_t capacity_of(Options const& options) {
  return static_cast<std::size_t>((group_segments(options.segment) - 1) * options.hop() +
                                  options.segment);
}

}  // namespace

template <class T>
std::size_t Welch<T>::device_bytes(Options const& options) {
  return (2 * capacity_of(options) + static_cast<std::size_t>(options.segment)) * sizeof(T) +
         static_cast<std::size_t>(options.bins()) * sizeof(double);
}

template <class T>
Welch<T>::Welch(Stream const& stream, Options const& options, std::string_view variant)
    : options_(options) {
  require(options.segment >= 2 && options.segment <= max_segment,
          fmt::format("a segment has {} samples (from 2 to {} are possible)", options.segment,
                      max_segment));
  require(options.overlap >= 0 && options.overlap < options.segment,
          fmt::format("segments of {} samples overlap by {}", options.segment, options.overlap));
  require(options.sampling_rate > 0 && std::isfinite(options.sampling_rate),
          fmt::format("the sampling rate is {}", options.sampling_rate));
  row_ = row_for<T>(stream.device(), options, variant);
  auto const exact = window_values(options.window, options.segment);
  std::vector<T> const rounded(exact.begin(), exact.end());
  for (T const w : rounded) window_squares_ += static_cast<double>(w) * static_cast<double>(w);
  std::size_t const capacity = capacity_of(options);
  window_ = Buffer<T>(stream, MemorySpace::device, rounded.size());
  kept_ = Buffer<T>(stream, MemorySpace::device, capacity);
  spare_ = Buffer<T>(stream, MemorySpace::device, capacity);
  sums_ = Buffer<double>(stream, MemorySpace::device, static_cast<std::size_t>(options.bins()));
  Stream own = stream;
  zero_async(sums_.span(), own);
  copy_async(window_.span(), std::span(rounded), own);
  own.synchronize();
}

/// The first segments of what is kept and what follows it.
template <class T>
void Welch<T>::run(Stream& stream, std::span<T const> further, std::int64_t segments) {
  if (segments == 0) return;
  row_(stream, {options_,
                {kept_.data(), further.data(), kept_count_},
                segments,
                window_.data(),
                sums_.data(),
                &prepared_});
  segments_ += segments;
}

template <class T>
void Welch<T>::add(Stream& stream, std::span<T const> samples) {
  std::int64_t const group = group_segments(options_.segment);
  std::int64_t const whole =
      options_.segments_of(kept_count_ + std::ssize(samples)) / group * group;
  run(stream, samples, whole);
  // What the next segment begins with, and on: less than a group's samples.
  auto const kept = static_cast<std::size_t>(kept_count_);
  auto const done = static_cast<std::size_t>(whole * options_.hop());
  if (done > 0) {
    std::size_t const stays = done < kept ? kept - done : 0;
    copy_async(spare_.span().first(stays), std::as_const(kept_).span().subspan(kept - stays, stays),
               stream);
    if (done > kept) samples = samples.subspan(done - kept);
    kept_.swap(spare_);
    kept_count_ = static_cast<std::int64_t>(stays);
  }
  copy_async(kept_.span().subspan(static_cast<std::size_t>(kept_count_), samples.size()), samples,
             stream);
  kept_count_ += std::ssize(samples);
}

template <class T>
void Welch<T>::finish(Stream& stream, std::span<double> densities) {
  require_size("spectrum", named("densities", densities),
               static_cast<std::size_t>(options_.bins()));
  run(stream, {}, options_.segments_of(kept_count_));
  require(segments_ > 0, "there are fewer samples than a segment has");
  double const factor =
      2 / (options_.sampling_rate * window_squares_ * static_cast<double>(segments_));
  Densities const all{sums_.data(), options_.segment, factor, densities.data()};
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda_densities(stream, all);
#endif
  for (std::int64_t k = 0; k < options_.bins(); ++k) all.set(k);
}

#define GRIDSTRIDE_INSTANTIATE(T)                               \
  template std::span<Variant<Function<T>> const> variants<T>(); \
  template class Welch<T>;
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::spectrum
