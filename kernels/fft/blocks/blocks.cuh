#pragma once

// Lines of a pass that stay on the chip: a block of threads has some of them, from their first read
// to their last write. For NVRTC, which finds before this: `Real`, and in namespace gridstride::fft
// the constants
//
//   task, kind, line_points   what is done, of which lines, of how many points
//   points, radices, passes   of the complex transform; their product is points
//   padding                   of numbers in shared memory, see BlockPlan
//   line_threads              that a line has
//   block_lines               lines of a block
//   neighbours                whether lines lie closer together than their elements
//   convolves                 whether the transform is one of fewer points, `short_points`, by
//                             Bluestein's convolution
//   pairs_in, pairs_out       see Line
//   Place                     see Line
//   twists                    whether results are turned to join steps of a longer transform
//   convolution_step          of one that is too long for a block
//
// A pass of radix r (N. K. Govindaraju and others, SC 2008): thread j of a line takes elements
// j + i·points/r into registers, turns and transforms them, and puts result k to
// (j/s)·s·r + j mod s + k·s, where s is the product of the radices before. The last pass leaves
// results in their order. The first reads from memory, the last writes there, and what is between
// goes through shared memory. Where lines are neighbours, neighbouring threads have neighbouring
// lines: they then read and write whole sectors.

#include "kernels/fft/blocks/butterflies.cuh"

namespace gridstride::fft {

using Numeral = Number<Real>;
using Lined = Line<Real, Place>;

constexpr int product_before(int pass) {
  int product = 1;
  for (int p = 0; p < pass; ++p) product *= radices[p];
  return product;
}

constexpr int padded(int place) {
  return padding > 0 ? place + place / (padding > 0 ? padding : 1) : place;
}
constexpr int room = padding > 0 ? padded(points) + 1 : points;

struct Worker {
  Numeral* shared;
  Numeral const* roots;
  int thread, line;  ///< of its line, of the block

  __device__ __forceinline__ Numeral& at(int place) const {
    return shared[neighbours ? padded(place) * block_lines + line : line * room + padded(place)];
  }
  /// The same memory while it holds a line of reals.
  __device__ __forceinline__ Real& real_at(int place) const {
    return reinterpret_cast<Real*>(
        shared)[neighbours ? place * block_lines + line : line * 2 * room + place];
  }

  /// Element i of v[i] times root^(i·k), k < points/s. Roots of four neighbours come from the one of
  /// the first and from the first three, which keeps them accurate.
  template <bool inverse, int radix>
  __device__ __forceinline__ void turn(Numeral (&v)[radix], int k) const {
    auto const root = [&](int place) {
      Numeral const w = roots[place];
      return inverse ? conjugate(w) : w;
    };
    Numeral const first = root(k);
    if constexpr (radix > 1) v[1] = v[1] * first;
    Numeral const second = first * first;
    if constexpr (radix > 2) v[2] = v[2] * second;
    Numeral const third = second * first;
    if constexpr (radix > 3) v[3] = v[3] * third;
    unrolled<(radix - 1) / 4>([&](auto group) {
      constexpr int start = 4 * (decltype(group)::value + 1);
      Numeral const far = root(start * k);
      v[start] = v[start] * far;
      if constexpr (start + 1 < radix) v[start + 1] = v[start + 1] * (far * first);
      if constexpr (start + 2 < radix) v[start + 2] = v[start + 2] * (far * second);
      if constexpr (start + 3 < radix) v[start + 3] = v[start + 3] * (far * third);
    });
  }

  /// Reads element e of the line from source(e), writes result k to sink(k, value). Where both are
  /// shared memory, all have read before any writes. finish(j, v) has results j + i·points/radix of
  /// the last pass before they are written.
  template <int pass, bool inverse, class Source, class Sink, class Finish>
  __device__ __forceinline__ void run_pass(Source const& source, Sink const& sink,
                                           Finish const& finish) const {
    constexpr int radix = radices[pass], stride = product_before(pass);
    constexpr int butterflies = points / radix;
    constexpr int each = (butterflies + line_threads - 1) / line_threads;
    constexpr bool is_even = butterflies % line_threads == 0;
    Numeral v[each][radix];
    unrolled<each>([&](auto m) {
      int const j = thread + m.value * line_threads;
      if (is_even || j < butterflies)
        unrolled<radix>([&](auto i) { v[m.value][i.value] = source(j + i.value * butterflies); });
    });
    __syncthreads();
    unrolled<each>([&](auto m) {
      int const j = thread + m.value * line_threads;
      if (is_even || j < butterflies) {
        if constexpr (stride > 1)
          turn<inverse>(v[m.value], j % stride * (points / (stride * radix)));
        transform<radix, inverse>(v[m.value]);
        if constexpr (pass + 1 == passes) finish(j, v[m.value]);
        unrolled<radix>([&](auto i) {
          sink(j / stride * stride * radix + j % stride + i.value * stride, v[m.value][i.value]);
        });
      }
    });
  }
  struct Nothing {
    template <int radix>
    __device__ __forceinline__ void operator()(int, Numeral (&)[radix]) const {}
  };
  /// From the first pass to the last.
  template <bool inverse, int pass = 0, class Source, class Sink, class Finish = Nothing>
  __device__ __forceinline__ void run_passes(Source const& source, Sink const& sink,
                                             Finish const& finish = {}) const {
    if constexpr (pass + 1 == passes) {
      run_pass<pass, inverse>(source, sink, finish);
    } else {
      run_pass<pass, inverse>(
          source, [&](int k, Numeral value) { at(k) = value; }, finish);
      __syncthreads();
      run_passes<inverse, pass + 1>([&](int j) { return at(j); }, sink, finish);
    }
  }

  /// The complex transform of a line, of Bluestein's kind where it needs to be.
  template <bool inverse, class Source, class Sink>
  __device__ __forceinline__ void run(LineWork<Real> const& work, Source const& source,
                                      Sink const& sink) const {
    if constexpr (!convolves) {
      run_passes<inverse>(source, sink);
    } else {
      // The conjugate of the transform of conjugates is the inverse.
      auto const chirped = [&](int j, Numeral x) {
        return (inverse ? conjugate(x) : x) * work.chirp[j];
      };
      run_passes<false>(
          [&](int j) {
            return j < short_points ? chirped(j, source(j)) : Numeral{0, 0};
          },
          [&](int k, Numeral value) { at(k) = value * work.filter[k]; });
      __syncthreads();
      run_passes<true>([&](int j) { return at(j); },
                       [&](int k, Numeral value) {
                         if (k >= short_points) return;
                         Numeral const result = value * work.chirp[k];
                         sink(k, inverse ? conjugate(result) : result);
                       });
    }
  }
};

/// Results are turned to join steps of a longer transform: result k of line t by root^(k·t·twist).
/// Again roots of four neighbours come from that of the first.
template <bool inverse>
struct Twist {
  LineWork<Real> const& work;
  unsigned t;  ///< times twist

  __device__ __forceinline__ explicit Twist(Lined const& line)
      : work(line.work),
        t(static_cast<unsigned>(line.index[line.work.twist_axis == 0 ? 0 : 1]) *
          static_cast<unsigned>(line.work.twist)) {}
  __device__ __forceinline__ Numeral root(int k) const {
    unsigned const m = static_cast<unsigned>(k) * t;
    Numeral const value =
        work.twist_high[m >> work.twist_shift] * work.twist_low[m & ((1U << work.twist_shift) - 1)];
    return inverse ? conjugate(value) : value;
  }
  template <int radix>
  __device__ __forceinline__ void operator()(int j, Numeral (&v)[radix]) const {
    constexpr int apart = points / radix;
    Numeral const first = root(apart), second = first * first, third = second * first;
    unrolled<(radix + 3) / 4>([&](auto group) {
      constexpr int start = 4 * decltype(group)::value;
      Numeral const here = root(j + start * apart);
      v[start] = v[start] * here;
      if constexpr (start + 1 < radix) v[start + 1] = v[start + 1] * (here * first);
      if constexpr (start + 2 < radix) v[start + 2] = v[start + 2] * (here * second);
      if constexpr (start + 3 < radix) v[start + 3] = v[start + 3] * (here * third);
    });
  }
};

/// Of the transform itself.
constexpr int own_points = convolves ? short_points : points;

/// Calls `body(a, b, w)` for results a = k and b = length/2 − k in shared memory and their root.
template <class Body>
__device__ __forceinline__ void for_pairs(Worker const& worker, Lined const& line,
                                          Body const& body) {
  for (int k = worker.thread; 2 * k <= own_points; k += line_threads)
    body(k, own_points - k, line.work.halving[k]);
}
/// Result `length/2` of the complex transform is result 0.
__device__ __forceinline__ int wrapped(int k) { return k == own_points ? 0 : k; }

constexpr bool is_packed = length_of(kind, line_points) % 2 == 0;

/// Results of the real transform, from those of the complex one in shared memory, for `put(k, Y)`.
template <class Put>
__device__ __forceinline__ void put_results(Worker const& worker, Lined const& line,
                                            Put const& put) {
  if constexpr (is_packed) {
    for_pairs(worker, line, [&](int a, int b, Numeral w) {
      Numeral x = worker.at(a), y = worker.at(wrapped(b));
      separate(x.re, x.im, y.re, y.im, w.re, w.im);
      put(a, x);
      if (a != b) put(b, y);
    });
  } else {
    for (int k = worker.thread; 2 * k <= own_points; k += line_threads) put(k, worker.at(k));
  }
}

/// The way back, from `given(k)`.
template <class Given>
__device__ __forceinline__ void take_results(Worker const& worker, Lined const& line,
                                             Given const& given) {
  if constexpr (is_packed) {
    for_pairs(worker, line, [&](int a, int b, Numeral w) {
      Numeral x = given(a), y = given(b);
      combine(x.re, x.im, y.re, y.im, w.re, w.im);
      worker.at(a) = x;
      if (a != b && b < own_points) worker.at(b) = y;
    });
  } else {
    for (int k = worker.thread; 2 * k <= own_points; k += line_threads) {
      Numeral const value = given(k);
      worker.at(k) = value;
      if (k > 0) worker.at(own_points - k) = conjugate(value);
    }
  }
}

/// Divided in between, each pair by its thread.
__device__ __forceinline__ void divide_results(Worker const& worker, Lined const& line) {
  Real const across = line.eigenvalue_across();
  if constexpr (is_packed) {
    for_pairs(worker, line, [&](int a, int b, Numeral w) {
      Numeral x = worker.at(a), y = worker.at(wrapped(b));
      separate(x.re, x.im, y.re, y.im, w.re, w.im);
      x = line.divided(across, a, x);
      y = line.divided(across, b, y);
      combine(x.re, x.im, y.re, y.im, w.re, w.im);
      worker.at(a) = x;
      if (a != b && b < own_points) worker.at(b) = y;
    });
  } else {
    for (int k = worker.thread; 2 * k <= own_points; k += line_threads) {
      Numeral const value = line.divided(across, k, worker.at(k));
      worker.at(k) = value;
      if (k > 0) worker.at(own_points - k) = conjugate(value);
    }
  }
}

/// The numbers that a real transform forward begins with, for `take`. Lines that are continued, or
/// not taken in their order, are read to shared memory first: each number once, and neighbours
/// together.
template <class Take>
__device__ __forceinline__ void with_packed(Worker const& worker, Lined const& line,
                                            Take const& take) {
  if constexpr (kind == LineKind::periodic) {
    take([&](int j) { return line.packed(j); });
  } else {
    for (int i = worker.thread; i < line_points; i += line_threads)
      worker.real_at(i) = line.real({i, 1});
    __syncthreads();
    auto const element = [&](int i) {
      Element const e = element_of(kind, line_points, i);
      Real const value = worker.real_at(static_cast<int>(e.index));
      return e.sign == 0 ? Real(0) : e.sign > 0 ? value : -value;
    };
    take([&](int j) {
      return is_packed ? Numeral{element(2 * j), element(2 * j + 1)} : Numeral{element(j), 0};
    });
  }
}

/// Lines whose coefficients come from a transform forward.
__device__ __forceinline__ void analyse(Worker const& worker, Lined const& line) {
  with_packed(worker, line, [&](auto const& packed) {
    worker.run<false>(line.work, packed, [&](int k, Numeral value) { worker.at(k) = value; });
  });
  __syncthreads();
  if constexpr (task == Task::halve)
    put_results(worker, line, [&](int k, Numeral value) {
      line.put_number(line.complex_out(), k, line.paired(k, value));
    });
  else
    put_results(worker, line, [&](int k, Numeral value) { line.put_result(k, value); });
}

/// Lines whose elements come from a transform back.
__device__ __forceinline__ void synthesise(Worker const& worker, Lined const& line) {
  if constexpr (task == Task::complete)
    take_results(worker, line,
                 [&](int k) { return line.paired(k, line.number(line.complex_in(), k)); });
  else
    take_results(worker, line, [&](int k) { return line.result(k); });
  __syncthreads();
  worker.run<true>(
      line.work, [&](int j) { return worker.at(j); },
      [&](int k, Numeral value) { line.put_packed(k, value); });
}

__device__ __forceinline__ void solve(Worker const& worker, Lined const& line) {
  auto const put = [&](int k, Numeral value) { worker.at(k) = value; };
  auto const get = [&](int j) { return worker.at(j); };
  if constexpr (is_quarter(kind)) {
    Real const across = line.eigenvalue_across();
    take_results(worker, line, [&](int k) { return line.result(k); });
    __syncthreads();
    worker.run<true>(line.work, get, [&](int k, Numeral value) {
      worker.at(k) = line.divided_packed(across, k, value);
    });
    __syncthreads();
    worker.run<false>(line.work, get, put);
    __syncthreads();
    put_results(worker, line, [&](int k, Numeral value) { line.put_result(k, value); });
  } else {
    with_packed(worker, line,
                [&](auto const& packed) { worker.run<false>(line.work, packed, put); });
    __syncthreads();
    divide_results(worker, line);
    __syncthreads();
    worker.run<true>(line.work, get, [&](int k, Numeral value) { line.put_packed(k, value); });
  }
}

template <bool inverse>
__device__ __forceinline__ void transform_complex(Worker const& worker, Lined const& line) {
  auto const get = [&](int j) { return line.number(line.in, j); };
  auto const put = [&](int k, Numeral value) { line.put_number(line.out, k, value); };
  if constexpr (twists)
    worker.run_passes<inverse>(get, put, Twist<inverse>(line));
  else
    worker.run<inverse>(line.work, get, put);
}

/// A step of Bluestein's convolution over lines that are the axes of a matrix.
template <bool inverse>
__device__ __forceinline__ void convolve(Worker const& worker, Lined const& line) {
  auto const& work = line.work;
  auto const place = [&](int j) { return j * work.stretch + line.index[0]; };
  auto const get = [&](int j) { return line.number(line.in, j); };
  auto const put = [&](int k, Numeral value) { line.put_number(line.out, k, value); };
  if constexpr (convolution_step == ConvolutionStep::chirp) {
    worker.run_passes<false>(
        [&](int j) {
          if (place(j) >= work.short_points) return Numeral{0, 0};
          Numeral const value = get(j);
          return (inverse ? conjugate(value) : value) * work.chirp[place(j)];
        },
        put, Twist<false>(line));
  } else if constexpr (convolution_step == ConvolutionStep::filter) {
    // Results lie row by row, and so does the filter.
    Numeral const* const filter = work.filter + line.index[0] * work.stretch;
    worker.run_passes<false>(get, [&](int k, Numeral value) { worker.at(k) = value * filter[k]; });
    __syncthreads();
    worker.run_passes<true>([&](int j) { return worker.at(j); }, put, Twist<true>(line));
  } else {
    worker.run_passes<true>(get, [&](int k, Numeral value) {
      if (place(k) >= work.short_points) return;
      Numeral const result = value * work.chirp[place(k)];
      line.put_number(line.out, k, inverse ? conjugate(result) : result);
    });
  }
}

/// Whether coefficients come from a transform forward.
constexpr bool analyses =
    task == Task::halve ||
    (task != Task::complete && (is_quarter(kind)             ? task == Task::inverse
                                : kind == LineKind::periodic ? task == Task::forward
                                                             : true));

/// Blocks of a multiprocessor that registers have to suffice for: those of a thread's numbers, and
/// some 48 for the rest.
constexpr int resident_blocks() {
  int numbers = 0;
  for (int const radix : radices) {
    int const each = (points / radix + line_threads - 1) / line_threads;
    if (numbers < each * radix) numbers = each * radix;
  }
  constexpr int warps = (line_threads * block_lines + 31) / 32, words = sizeof(Numeral) / 4;
  int const blocks = 65536 / (32 * warps * (numbers * words + 48));
  return blocks > 1 ? blocks : 1;
}

extern "C" __global__ void __launch_bounds__(line_threads* block_lines, resident_blocks())
    lines(__grid_constant__ LineWork<Real> const work) {
  extern __shared__ __align__(16) unsigned char memory[];
  int const place = static_cast<int>(threadIdx.x);
  int const of_block = neighbours ? place % block_lines : place / line_threads;
  Worker const worker{reinterpret_cast<Numeral*>(memory), work.roots,
                      neighbours ? place / block_lines : place % line_threads, of_block};
  Lined const line(work, kind, line_points, pairs_in, pairs_out,
                   static_cast<long long>(blockIdx.x) * block_lines + of_block);
  if constexpr (convolution_step != ConvolutionStep::none)
    convolve<task == Task::inverse>(worker, line);
  else if constexpr (kind == LineKind::complex)
    transform_complex<task == Task::inverse>(worker, line);
  else if constexpr (task == Task::solve)
    solve(worker, line);
  else if constexpr (analyses)
    analyse(worker, line);
  else
    synthesise(worker, line);
}

}  // namespace gridstride::fft
