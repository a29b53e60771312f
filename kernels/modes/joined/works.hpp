#pragma once

#include "kernels/fft/lines.hpp"
#include "kernels/system/arguments.cuh"

/// What the kernels of joined.hpp are given. Free of other headers.
namespace gridstride::modes {

template <class T>
struct ColumnsWork {
  fft::Number<T> const* unknowns;
  fft::Number<T>* columns;  ///< arrays between the passes
  fft::Number<T>* out;      ///< sums, on the way to the modes
  fft::Number<T> const* roots;
  double const* along[3];            ///< symbols, as `Sums` has them
  long long kept_size, column_size;  ///< of an array
};

template <class T>
struct RowsWork {
  fft::Number<T>* columns;  ///< arrays, then products
  long long size;           ///< of an array
  fft::Number<T> const *roots, *halving;
  system::Place place;
  double fraction;  ///< of the step, that the time is taken at
};

}  // namespace gridstride::modes
