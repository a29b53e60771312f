#pragma once

#include <vector>

#include "core/buffer.hpp"
#include "kernels/convolve/convolve.hpp"

/// What a filter holds and the functions behind the rows of the family's table; for the family's
/// own files only.
namespace gridstride::convolve {

template <class T>
struct Filter<T>::Prepared {
  Backend backend;  ///< of the stream that it was made for
  std::vector<T> taps;
  Buffer<T> device_taps;
  std::shared_ptr<void> fft;                ///< what the row `fft` has made, null before
  std::shared_ptr<void> cufft;              ///< the same of the row `cufft`
  std::shared_ptr<void> overlap_save = {};  ///< the same of the row `overlap_save`
};

/// An array as signals along the filtered axis: point `along` of a signal is `inner` elements after
/// the one before, and signal (o, i) begins at element o·length·inner + i.
struct Signals {
  std::int64_t inner, length, outer;

  std::int64_t count() const { return inner * outer; }
  static Signals of(Shape const& shape) {
    Signals signals{1, shape.length(), 1};
    for (int axis = 0; axis < 3; ++axis) {
      if (axis < shape.axis) signals.inner *= shape.points[axis];
      if (axis > shape.axis) signals.outer *= shape.points[axis];
    }
    return signals;
  }
};

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);
template <class T>
void host_fft(Stream&, Arguments<T> const&);

template <class T>
void cuda_global(Stream&, Arguments<T> const&);
template <class T>
void cuda_shared(Stream&, Arguments<T> const&);
template <class T>
void cuda_constant(Stream&, Arguments<T> const&);
template <class T>
void cuda_persistent(Stream&, Arguments<T> const&);
template <class T>
void cuda_register(Stream&, Arguments<T> const&);
/// Parts of it: along y and z; a few taps along x, and whether it takes this.
template <class T>
void cuda_register_across(Stream&, Arguments<T> const&);
template <class T>
void cuda_register_short(Stream&, Arguments<T> const&);
template <class T>
bool takes_short(Arguments<T> const&);
void cuda_tensor_core(Stream&, Arguments<double> const&);
template <class T>
void cuda_overlap_save(Stream&, Arguments<T> const&);
template <class T>
void cuda_fft(Stream&, Arguments<T> const&);
template <class T>
void cuda_cufft(Stream&, Arguments<T> const&);
/// Whether a block of the device holds enough points for so many taps. Beyond, cuFFT is faster.
template <class T>
bool cuda_takes_fft(Device const&, std::int64_t taps, std::int64_t length);
/// Whether there is a cuFFT, which `overlap_save` and `cufft` need.
bool cuda_has_fft();

}  // namespace gridstride::convolve
