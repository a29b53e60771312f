#pragma once

#include <type_traits>

#include "kernels/convolve/work.cuh"

/// The inner loop of the rung `register`.
namespace gridstride::convolve {

/// Most taps that one launch takes: all parameters of a kernel have 4 KiB.
template <class T>
inline constexpr int most_parameter_taps = 3840 / sizeof(T);

template <class T>
using ParameterTaps = Taps<T, most_parameter_taps<T>>;

/// sum_v += Σ_m taps_m · data_{m + v} for `outputs` neighbouring outputs v and m = skip … end − 1.
///
/// A window of 2·outputs data is in registers. `fetch(target, part)` puts data part·outputs … into
/// one half of it, while the other still serves; the halves swap their roles from part to part, so
/// that nothing is moved. Each of the fetched data takes part in `outputs` multiply-adds, whose
/// other factor is an operand from the constant bank. Data that no tap meets may be anything.
template <int outputs, class T, class Fetch>
__device__ void slide(T (&sum)[outputs], ParameterTaps<T> const& taps, int skip, int end,
                      Fetch const& fetch) {
  T window[2 * outputs];
  int part = 0;
  auto const step = [&](auto half) {
    fetch(window + (1 - half()) * outputs, part + 1);
    int const m = part * outputs;
    auto const add = [&](int c) {
#pragma unroll
      for (int v = 0; v < outputs; ++v)
        sum[v] += taps.at[m + c] * window[(half() * outputs + c + v) % (2 * outputs)];
    };
    if (m >= skip && m + outputs <= end) {
#pragma unroll
      for (int c = 0; c < outputs; ++c) add(c);
    } else {
#pragma unroll
      for (int c = 0; c < outputs; ++c)
        if (m + c >= skip && m + c < end) add(c);
    }
    ++part;
    return m + outputs < end;
  };
  fetch(window, 0);
  while (step(std::integral_constant<int, 0>{}) && step(std::integral_constant<int, 1>{})) {
  }
}

}  // namespace gridstride::convolve
