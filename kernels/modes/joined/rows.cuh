// The kernel `rows` of joined.hpp: a block has the rows of some points along y, of all arrays. For
// NVRTC, which finds before this what kernels/fft/blocks/worker.cuh, places.cuh and
// kernels/system/compiled.cuh ask for, and in namespace gridstride::modes
//
//   arrays, products   what comes from modes, and what the program makes of it at the points
//
// Half of a row's waves become the real row as in blocks.cuh: even and odd points are the parts of
// complex numbers. Rows stay in shared memory, each array in its own.

#include "kernels/fft/blocks/worker.cuh"
#include "kernels/modes/joined/places.cuh"
#include "kernels/modes/joined/works.hpp"
#include "kernels/system/compiled.cuh"

namespace gridstride::modes {

using fft::line_threads, fft::Numeral, fft::unrolled, fft::Worker;

constexpr int half = fft::points;  ///< as many complex numbers as half of the points

/// What the program sees.
struct AtPoint : system::Point {
  Real const (&values)[arrays];

  template <int array, int, int, int>
  __device__ __forceinline__ Real unknown() const {
    return values[array];
  }
};

/// Its own complex conjugate has no imaginary part.
__device__ __forceinline__ Numeral paired(int k, Numeral value) {
  return k == 0 || k == half ? Numeral{value.re, 0} : value;
}

/// Waves k and half − k, for k ≤ half/2: how many of them a thread has at most, and at a time.
constexpr int thread_pairs = (half / 2 + line_threads) / line_threads,
              pairs_together = thread_pairs < 4 ? thread_pairs : 4;

/// From waves to what the complex transform begins with.
__device__ __forceinline__ void take_row(RowsWork<Real> const& work, Worker const& worker,
                                         Numeral const* columns, bool is_there) {
  auto const given = [&](int k) {
    return is_there && k < kept_x ? paired(k, columns[column_of(k)]) : Numeral{0, 0};
  };
#pragma unroll 1
  for (int first = 0; first < thread_pairs; first += pairs_together) {
    Numeral x[pairs_together], y[pairs_together];
    unrolled<pairs_together>([&](auto m) {
      int const k = worker.thread + (first + m.value) * line_threads;
      x[m.value] = 2 * k <= half ? given(k) : Numeral{0, 0};
      y[m.value] = 2 * k <= half ? given(half - k) : Numeral{0, 0};
    });
    unrolled<pairs_together>([&](auto m) {
      int const k = worker.thread + (first + m.value) * line_threads;
      if (2 * k > half) return;
      Numeral const w = work.halving[k];
      Numeral &a = x[m.value], &b = y[m.value];
      fft::combine(a.re, a.im, b.re, b.im, w.re, w.im);
      worker.at(k) = a;
      if (2 * k != half && k > 0) worker.at(half - k) = b;
    });
  }
}

/// From the results of the complex transform to waves.
__device__ __forceinline__ void put_row(RowsWork<Real> const& work, Worker const& worker,
                                        Numeral* columns, bool is_there) {
  auto const put = [&](int k, Numeral value) {
    if (is_there && k < kept_x) columns[column_of(k)] = paired(k, value);
  };
  for (int k = worker.thread; 2 * k <= half; k += line_threads) {
    Numeral const w = work.halving[k];
    Numeral x = worker.at(k), y = worker.at(k == 0 ? 0 : half - k);
    fft::separate(x.re, x.im, y.re, y.im, w.re, w.im);
    put(k, x);
    if (2 * k != half) put(half - k, y);
  }
}

constexpr int block_rows = fft::block_lines;
/// Registers of a thread, for its numbers and the rest, and blocks of a multiprocessor for which these
/// have to suffice.
constexpr int registers = 2 * static_cast<int>(sizeof(Real)) / 4 * half / line_threads + 48,
              most_blocks = 65536 / registers / (line_threads * block_rows),
              resident_blocks = most_blocks > 1 ? most_blocks : 1;

extern "C" __global__ void __launch_bounds__(line_threads* block_rows, resident_blocks)
    rows(__grid_constant__ RowsWork<Real> const work) {
  extern __shared__ __align__(16) unsigned char memory[];
  int const thread = static_cast<int>(threadIdx.x) % line_threads,
            of_block = static_cast<int>(threadIdx.x) / line_threads,
            row = static_cast<int>(blockIdx.x) * block_rows + of_block;
  bool const is_there = row < points_y;
  Numeral* const columns = work.columns + in_column(row);
  auto const worker_of = [&](int array) {
    return Worker{reinterpret_cast<Numeral*>(memory) + (array * block_rows + of_block) * fft::room,
                  work.roots, thread, 0};
  };
#pragma unroll 1
  for (int array = 0; array < arrays; ++array) {
    Worker const worker = worker_of(array);
    take_row(work, worker, columns + array * work.size, is_there);
    __syncthreads();
    worker.run_passes<true>(Worker::Shared{worker}, Worker::Shared{worker});
  }
  __syncthreads();
  for (int j = thread; j < half; j += line_threads) {
    Numeral numbers[arrays];
    Real results[2][products];
    unrolled<arrays>([&](auto array) { numbers[array.value] = worker_of(array.value).at(j); });
    unrolled<2>([&](auto part) {
      constexpr bool is_odd = decltype(part)::value == 1;
      Real values[arrays];
      unrolled<arrays>([&](auto array) {
        values[array.value] = is_odd ? numbers[array.value].im : numbers[array.value].re;
      });
      long long const i = 2 * j + part.value;
      system::program(AtPoint{{work.place, work.fraction, {i, row, 0}}, values},
                      results[part.value]);
    });
    unrolled<products>([&](auto product) {
      worker_of(product.value).at(j) = {results[0][product.value], results[1][product.value]};
    });
  }
  __syncthreads();
#pragma unroll 1
  for (int product = 0; product < products; ++product) {
    Worker const worker = worker_of(product);
    worker.run_passes<false>(Worker::Shared{worker}, Worker::Shared{worker});
    __syncthreads();
    put_row(work, worker, columns + product * work.size, is_there);
  }
}

}  // namespace gridstride::modes
