#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "core/host_device.hpp"
#include "core/stream.hpp"
#include "core/variant.hpp"

/// Kernel family `spectrum`: the power spectral density of a signal by Welch's method, with the
/// conventions of scipy.signal.welch. T is float or double.
///
/// The signal is cut into segments of N samples, each `overlap` samples into the one before. A
/// segment's mean, or its line of least squares, is taken away, it is multiplied by the window w,
/// and transformed; of S segments and a sampling rate r
///
///   density_k = c_k/(r·Σw²)·(1/S)·Σ_s |Σ_j w_j·x_s,j·exp(−2πi·jk/N)|²        k = 0 … ⌊N/2⌋
///
/// with c = 2, for the negative frequencies, but 1 at 0 and at r/2. Its frequency is k·r/N. Samples
/// that no whole segment has left are not used.
namespace gridstride::spectrum {

/// Of the period N (scipy's `sym=False`).
enum class Window { boxcar, hann, hamming, blackman };
enum class Detrend { none, constant, linear };

constexpr std::int64_t max_segment = std::int64_t{1} << 20;

struct Options {
  std::int64_t segment = 256;  ///< N, 2 to `max_segment`
  std::int64_t overlap = 128;  ///< samples, 0 to N − 1
  Window window = Window::hann;
  Detrend detrend = Detrend::constant;
  double sampling_rate = 1;

  GRIDSTRIDE_HOST_DEVICE std::int64_t hop() const { return segment - overlap; }
  std::int64_t bins() const { return segment / 2 + 1; }
  /// How many segments so many samples have.
  std::int64_t segments_of(std::int64_t samples) const {
    return samples < segment ? 0 : (samples - segment) / hop() + 1;
  }
};

/// w_0 … w_(N−1)
std::vector<double> window_values(Window window, std::int64_t segment);

/// Samples that lie in two pieces, one after the other.
template <class T>
struct Samples {
  T const* kept;
  T const* further;
  std::int64_t kept_count;
};

/// One piece of work for a rung: the first `segments` segments of some samples.
template <class T>
struct Arguments {
  Options options;
  Samples<T> samples;
  std::int64_t segments = 0;
  T const* window = nullptr;
  double* sums = nullptr;  ///< of |…|² over segments, for each k, added to in a fixed order
  std::shared_ptr<void>* prepared = nullptr;  ///< what the row keeps from call to call
};

template <class T>
using Function = void(Stream&, Arguments<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();

/// What `auto` means: the fastest that gives the same bits every time. On a GPU `auto` is `fused`
/// for those segments that it takes.
std::string_view default_variant(Backend backend);

/// The power spectral density of a signal that comes piece by piece, one piece after the other. Its
/// bits do not depend on how the signal is cut: segments go together in groups of a fixed size.
template <class T>
class Welch {
 public:
  /// Throws `std::invalid_argument` for options out of their range, and for a variant that this
  /// backend does not have or that does not take such segments.
  Welch(Stream const& stream, Options const& options, std::string_view variant = "auto");

  /// Queues the next samples, which lie in the stream's device memory. A call begins, in the order
  /// of the device's work, after the one before. It synchronises at most once, for what a row
  /// prepares.
  void add(Stream& stream, std::span<T const> samples);

  /// Queues the densities, `options.bins()` of them. It is the last call. Throws
  /// `std::invalid_argument` for another number, and where there was no whole segment.
  void finish(Stream& stream, std::span<double> densities);

  /// What it keeps in device memory.
  static std::size_t device_bytes(Options const& options);

 private:
  void run(Stream& stream, std::span<T const> further, std::int64_t segments);

  Options options_;
  Function<T>* row_;
  std::shared_ptr<void> prepared_;
  double window_squares_ = 0;
  std::int64_t segments_ = 0, kept_count_ = 0;
  Buffer<T> window_, kept_, spare_;
  Buffer<double> sums_;
};

}  // namespace gridstride::spectrum
