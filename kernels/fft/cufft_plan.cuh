#pragma once

#include <cufft.h>

#include <cstddef>
#include <mutex>
#include <span>
#include <type_traits>

#include "core/stream.hpp"

/// cuFFT, NVIDIA's library of fast Fourier transforms, loaded when it is first called.
namespace gridstride::fft {

/// Whether there is one.
bool has_cufft();

template <class T>
constexpr cufftType forward_transform = std::is_same_v<T, float> ? CUFFT_R2C : CUFFT_D2Z;
template <class T>
constexpr cufftType complex_transform = std::is_same_v<T, float> ? CUFFT_C2C : CUFFT_Z2Z;
template <class T>
constexpr cufftType inverse_transform = std::is_same_v<T, float> ? CUFFT_C2R : CUFFT_Z2D;

/// `batch` transforms of `points` reals into points/2 + 1 complex numbers, or back and times the
/// number of points. The distances, from one transform to the next, are in elements of their side.
/// Threads may share a plan: its stream and its area are those of one of them at a time.
/// Throws `Error` where there is no cuFFT, `CudaError` for what it reports.
class Plan {
 public:
  Plan(cufftType type, long long points, long long in_distance, long long out_distance,
       long long batch);
  /// Of arrays of up to three axes, the slowest first, without gaps.
  Plan(cufftType type, std::span<long long const> points, long long batch);
  ~Plan();
  Plan(Plan const&) = delete;
  Plan& operator=(Plan const&) = delete;

  /// Device memory that the transforms work in.
  std::size_t area_bytes() const { return area_bytes_; }

  /// Queues the transforms from `in` to `out`, which may be the same array. They read `in` as it
  /// lies, also where transforms overlap.
  void forward(Stream& stream, void* area, float const* in, float* out) const;
  void forward(Stream& stream, void* area, double const* in, double* out) const;
  /// The same back, in place.
  void inverse(Stream& stream, void* area, float* data) const;
  void inverse(Stream& stream, void* area, double* data) const;
  /// From one array to another, which may be the same; it may use up `in`.
  void inverse(Stream& stream, void* area, float* in, float* out) const;
  void inverse(Stream& stream, void* area, double* in, double* out) const;
  /// Complex ones, by exp(−2πi·jk/n) or the conjugates.
  void transform(Stream& stream, void* area, bool inverse, float const* in, float* out) const;
  void transform(Stream& stream, void* area, bool inverse, double const* in, double* out) const;

 private:
  Plan();
  [[nodiscard]] std::unique_lock<std::mutex> prepare(Stream& stream, void* area) const;

  mutable std::mutex mutex_;
  cufftHandle handle_ = 0;
  std::size_t area_bytes_ = 0;
};

}  // namespace gridstride::fft
