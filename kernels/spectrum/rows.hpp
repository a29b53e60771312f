#pragma once

#include <algorithm>

#include "core/host_device.hpp"
#include "kernels/spectrum/spectrum.hpp"

/// The functions behind the rows of the family's table, and what they have in common; for the
/// family's own files only.
namespace gridstride::spectrum {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);

template <class T>
void cuda_cufft(Stream&, Arguments<T> const&);
template <class T>
void cuda_fused(Stream&, Arguments<T> const&);

/// Whether `fused` takes such segments on a device.
template <class T>
bool cuda_takes_fused(Device const& device, std::int64_t segment);

/// density_k = sums_k·(factor, or half of it where there is no negative frequency)
struct Densities {
  double const* sums;
  std::int64_t segment;
  double factor;
  double* result;

  GRIDSTRIDE_HOST_DEVICE void set(std::int64_t k) const {
    bool const alone = k == 0 || 2 * k == segment;
    result[k] = sums[k] * (alone ? factor / 2 : factor);
  }
};
void cuda_densities(Stream&, Densities const&);

/// Segments whose squares are added up in T, before they go on in float64: two make one transform.
constexpr int piece_segments = 16;

/// Segments that are dealt with together, whatever there is: whole pieces, of about 2^21 samples.
inline std::int64_t group_segments(std::int64_t segment) {
  constexpr std::int64_t samples = std::int64_t{1} << 21, most = 4096;
  return std::clamp(samples / segment, std::int64_t{piece_segments}, most) / piece_segments *
         piece_segments;
}

template <class T>
GRIDSTRIDE_HOST_DEVICE T sample_at(Samples<T> const& samples, std::int64_t i) {
  return i < samples.kept_count ? samples.kept[i] : samples.further[i - samples.kept_count];
}

/// Sums over a segment, for its trend: of x, and of x times the distance from the middle.
struct TrendSums {
  double x = 0, moment = 0;
};

/// The line mean + slope·(j − middle) that is taken away.
struct Trend {
  double mean = 0, slope = 0, middle = 0;

  GRIDSTRIDE_HOST_DEVICE static Trend of(TrendSums const& sums, Detrend detrend,
                                         std::int64_t segment) {
    auto const n = static_cast<double>(segment);
    Trend trend;
    trend.middle = (n - 1) / 2;
    if (detrend != Detrend::none) trend.mean = sums.x / n;
    if (detrend == Detrend::linear) trend.slope = 12 * sums.moment / (n * (n * n - 1));
    return trend;
  }
  template <class T>
  GRIDSTRIDE_HOST_DEVICE T without(T x, std::int64_t j) const {
    return static_cast<T>(static_cast<double>(x) - mean -
                          slope * (static_cast<double>(j) - middle));
  }
};

}  // namespace gridstride::spectrum
