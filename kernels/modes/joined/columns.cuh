// The kernel `columns` of joined.hpp: lines along y, a block some beside each other. For NVRTC, which
// finds before this what kernels/fft/blocks/worker.cuh and places.cuh ask for, and in namespace
// gridstride::modes
//
//   is_back                  to the points, from sums of modes; else to sums of modes
//   arrays                   at the points, one for each sum
//   kept_y, below_y          waves along y: how many are kept, and how many of them are the first ones
//   monomials, parts, ends   of the sums, as `Sums` has them
//
// Waves along y that are not kept are neither read nor written. On the way back a thread makes its
// numbers from symbols, in float64, and unknowns. On the way to the modes the only product of a sum
// is what comes from the points of its array.

#include "kernels/fft/blocks/worker.cuh"
#include "kernels/modes/joined/places.cuh"
#include "kernels/modes/joined/works.hpp"
#include "kernels/modes/sums.hpp"

namespace gridstride::modes {

using fft::line_threads, fft::Numeral, fft::unrolled, fft::Worker;

/// The row of kept modes that has wave k along y; −1: it is not kept.
__device__ __forceinline__ int kept_row(int k) {
  constexpr int above = kept_y - below_y;
  if (k < below_y) return k;
  return k >= points_y - above ? k - (points_y - kept_y) : -1;
}

struct Symbol {
  double re = 0, im = 0;
};

/// Whether monomials of a range have a part that is real, or imaginary.
constexpr bool has(Range range, bool imaginary) {
  for (int i = range.first; i < range.last; ++i)
    if ((monomials[i].is_imaginary != 0) == imaginary) return true;
  return false;
}

__device__ __forceinline__ Numeral read(Numeral const* number) {
  if constexpr (sizeof(Real) == 4) {
    float2 const x = __ldg(reinterpret_cast<float2 const*>(number));
    return {x.x, x.y};
  } else {
    double2 const x = __ldg(reinterpret_cast<double2 const*>(number));
    return {x.x, x.y};
  }
}

struct Mode {
  ColumnsWork<Real> const& work;
  int wave, row;

  template <int first, int last>
  __device__ __forceinline__ Symbol polynomial() const {
    Symbol sum;
    unrolled<last - first>([&](auto i) {
      constexpr Monomial one = monomials[first + decltype(i)::value];
      double value = one.coefficient;
      if constexpr (one.orders[0] != 0)
        value *= __ldg(work.along[0] + one.orders[0] * kept_x + wave);
      if constexpr (one.orders[1] != 0)
        value *= __ldg(work.along[1] + one.orders[1] * kept_y + row);
      if constexpr (one.is_imaginary != 0)
        sum.im += value;
      else
        sum.re += value;
    });
    return sum;
  }
  template <int number>
  __device__ __forceinline__ Symbol symbol() const {
    constexpr Part part = parts[number];
    Symbol above = polynomial<part.numerator.first, part.numerator.last>();
    if constexpr (part.denominator.first != part.denominator.last) {
      Symbol const below = polynomial<part.denominator.first, part.denominator.last>();
      if constexpr (has(part.denominator, true)) {
        double const size = below.re * below.re + below.im * below.im;
        double const scale = size == 0 ? 0 : 1 / size;
        above = {(above.re * below.re + above.im * below.im) * scale,
                 (above.im * below.re - above.re * below.im) * scale};
      } else {
        double const scale = below.re == 0 ? 0 : 1 / below.re;
        above = {above.re * scale, above.im * scale};
      }
    }
    return above;
  }
  /// Σ symbol·unknown, or symbol·product
  template <int sum>
  __device__ __forceinline__ Numeral value(Numeral product) const {
    int const place = row * kept_x + wave;
    Numeral result{0, 0};
    unrolled<ends[sum + 1] - ends[sum]>([&](auto n) {
      constexpr int number = ends[sum] + decltype(n)::value;
      constexpr Part part = parts[number];
      constexpr bool is_mixed = has(part.denominator, true);
      constexpr bool has_re = is_mixed || has(part.numerator, false),
                     has_im = is_mixed || has(part.numerator, true);
      Symbol const symbol = this->template symbol<number>();
      Numeral const x = part.is_product != 0
                            ? product
                            : read(work.unknowns + part.quantity * work.kept_size + place);
      if constexpr (has_re) {
        auto const factor = static_cast<Real>(symbol.re);
        result = {fma(factor, x.re, result.re), fma(factor, x.im, result.im)};
      }
      if constexpr (has_im) {
        auto const factor = static_cast<Real>(symbol.im);
        result = {fma(-factor, x.im, result.re), fma(factor, x.re, result.im)};
      }
    });
    return result;
  }
};

/// Number k of the column of a sum.
template <int sum>
__device__ __forceinline__ Numeral number_of(ColumnsWork<Real> const& work, int wave, int k) {
  int const row = kept_row(k);
  if (wave >= kept_x || row < 0) return {0, 0};
  return Mode{work, wave, row}.value<sum>({0, 0});
}

__device__ __forceinline__ void run_back(ColumnsWork<Real> const& work, Worker const& worker,
                                         int array, int wave) {
  Numeral* const out = work.columns + array * work.column_size + column_of(wave);
  auto const put = [&](int point, Numeral value) {
    if (wave < kept_x) out[in_column(point)] = value;
  };
  if constexpr (fft::points / fft::radices[0] % line_threads == 0) {
    // A thread takes every so many of the numbers.
    constexpr int count = fft::points / line_threads;
    Numeral v[count];
    unrolled<arrays>([&](auto sum) {
      if (sum.value == array)
        unrolled<count>([&](auto m) {
          v[m.value] =
              number_of<decltype(sum)::value>(work, wave, worker.thread + m.value * line_threads);
        });
    });
    worker.run_passes<true>([&](int k) { return v[(k - worker.thread) / line_threads]; }, put);
  } else {
    unrolled<arrays>([&](auto sum) {
      if (sum.value == array)
        for (int k = worker.thread; k < points_y; k += line_threads)
          worker.at(k) = number_of<decltype(sum)::value>(work, wave, k);
    });
    __syncthreads();
    worker.run_passes<true>(Worker::Shared{worker}, put);
  }
}

__device__ __forceinline__ void run_forward(ColumnsWork<Real> const& work, Worker const& worker,
                                            int array, int wave) {
  Numeral const* const in = work.columns + array * work.column_size + column_of(wave);
  Numeral* const out = work.out + array * work.kept_size + wave;
  worker.run_passes<false>(
      [&](int point) {
        return wave < kept_x ? in[in_column(point)] : Numeral{0, 0};
      },
      [&](int k, Numeral product) {
        int const row = kept_row(k);
        if (wave >= kept_x || row < 0) return;
        unrolled<arrays>([&](auto sum) {
          if (sum.value == array)
            out[row * kept_x] = Mode{work, wave, row}.template value<decltype(sum)::value>(product);
        });
      });
}

extern "C" __global__ void __launch_bounds__(line_threads* fft::block_lines)
    columns(__grid_constant__ ColumnsWork<Real> const work) {
  extern __shared__ __align__(16) unsigned char memory[];
  int const place = static_cast<int>(threadIdx.x);
  Worker const worker{reinterpret_cast<Numeral*>(memory), work.roots, place / fft::block_lines,
                      place % fft::block_lines};
  // Blocks of the same columns follow each other: what they read is in the cache.
  int const block = static_cast<int>(blockIdx.x);
  int const array = block % arrays, wave = block / arrays * fft::block_lines + worker.line;
  if constexpr (is_back)
    run_back(work, worker, array, wave);
  else
    run_forward(work, worker, array, wave);
}

}  // namespace gridstride::modes
