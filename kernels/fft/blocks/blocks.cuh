// Lines of a pass that stay on the chip: a block of threads has some of them, from their first read
// to their last write. For NVRTC, which finds before this: `Real`, and in the namespace that
// worker.cuh names the constants
//
//   task, kind, line_points   what is done, of which lines, of how many points
//   points, radices, passes   of the complex transform; their product is points
//   padding                   of numbers in shared memory, see BlockPlan
//   line_threads              that a line has
//   block_lines               lines of a block
//   neighbours                whether lines lie closer together than their elements
//   convolves                 whether the transform is one of `short_points` by a convolution:
//                             Bluestein's of at least twice as many points, or
//   reorders                  Rader's of one less
//   pairs_in, pairs_out       see Line
//   twists, twist_axis        whether results are turned to join steps of a longer transform, and
//                             by which of the axes across
//   slab_axis                 along which the lines of a pair of passes are in slabs
//   convolution_step          of one that is too long for a block

#include "kernels/fft/blocks/worker.cuh"

namespace GRIDSTRIDE_FFT_NAMESPACE {

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

/// The line's own numbers come to shared memory: each once, and neighbours together.
__device__ __forceinline__ void fetch_reals(Worker const& worker, Lined const& line) {
  for (int i = worker.thread; i < line_points; i += line_threads)
    worker.real_at(i) = line.real({i, 1});
  meet();
}

/// The numbers that a real transform forward begins with, for `take`. Lines that are not taken in
/// their order are read to shared memory first.
template <class Take>
__device__ __forceinline__ void with_packed(Worker const& worker, Lined const& line,
                                            Take const& take) {
  if constexpr (kind == LineKind::periodic) {
    take([&](int j) { return line.packed(j); });
  } else {
    fetch_reals(worker, line);
    auto const element = [&](int i) {
      Element const e = element_of(kind, line_points, i);
      Real const value = worker.real_at(static_cast<int>(e.index));
      return e.sign > 0 ? value : -value;
    };
    take([&](int j) {
      return is_packed ? Numeral{element(2 * j), element(2 * j + 1)} : Numeral{element(j), 0};
    });
  }
}

constexpr bool is_sine = kind == LineKind::sine;
/// Whether the line is continued to 2N reals x, N = own_points, of which x_(j+N) is −x_(N−j) for
/// sines, and x_(N−j) for cosines.
constexpr bool is_mirrored = is_sine || kind == LineKind::cosine;

/// The transform of those 2N reals is one of N numbers: e_j = x_j + x_(j+N) has its even results,
/// o_j = (x_j − x_(j+N))·exp(−πi·j/N) the odd ones. All are real (cosines), or i times reals (sines),
/// so that the transform of e + i·o has the even ones in one part and the odd ones in the other.
/// Number j of e + i·o, of the line in shared memory:
__device__ __forceinline__ Numeral mirrored(Worker const& worker, Lined const& line, int j) {
  auto const value = [&](int i) {
    if constexpr (is_sine)
      return i == 0 || i == own_points ? Real(0) : worker.real_at(i - 1);
    else
      return worker.real_at(i);
  };
  Real const near = value(j), far = value(own_points - j);
  Real const sum = near + far, gap = near - far;
  bool const is_second = 2 * j > own_points;
  Numeral const w = line.work.halving[is_second ? own_points - j : j];
  Real const odd = is_sine ? sum : gap;
  return {fma(odd, -w.im, is_sine ? gap : sum), odd * (is_second ? -w.re : w.re)};
}

/// Calls `put(k, X)` for the coefficients that result m has. Those of the second half are the same.
template <class Put>
__device__ __forceinline__ void put_mirrored(int m, Numeral result, Put const& put) {
  if (2 * m > own_points) return;
  if constexpr (is_sine) {
    if (2 * m < line_points) put(2 * m, result.re);
    if (m > 0 && 2 * m <= line_points) put(2 * m - 1, -result.im);
  } else {
    put(2 * m, result.re);
    if (2 * m + 1 < line_points) put(2 * m + 1, result.im);
  }
}

/// From the line in shared memory to `put(k, X)`, which may write there.
template <class Put>
__device__ __forceinline__ void run_mirrored(Worker const& worker, Lined const& line,
                                             Put const& put) {
  worker.run<false>(
      line.work, [&](int j) { return mirrored(worker, line, j); },
      [&](int m, Numeral value) { put_mirrored(m, value, put); });
}

/// Lines whose coefficients come from a transform forward.
__device__ __forceinline__ void analyse(Worker const& worker, Lined const& line) {
  if constexpr (is_mirrored) {
    fetch_reals(worker, line);
    run_mirrored(worker, line, [&](int k, Real value) { line.put_real({k, 1}, value); });
  } else {
    with_packed(worker, line, [&](auto const& packed) {
      worker.run<false>(line.work, packed, [&](int k, Numeral value) { worker.at(k) = value; });
    });
    meet();
    put_results(worker, line, [&](int k, Numeral value) {
      if constexpr (task == Task::halve)
        line.put_number(line.complex_out(), k, line.paired(k, value));
      else
        line.put_result(k, value);
    });
  }
}

/// Lines whose elements come from a transform back.
__device__ __forceinline__ void synthesise(Worker const& worker, Lined const& line) {
  if constexpr (task == Task::complete)
    take_results(worker, line,
                 [&](int k) { return line.paired(k, line.number(line.complex_in(), k)); });
  else
    take_results(worker, line, [&](int k) { return line.result(k); });
  meet();
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
    meet();
    worker.run<true>(line.work, get, [&](int k, Numeral value) {
      worker.at(k) = line.divided_packed(across, k, value);
    });
    meet();
    worker.run<false>(line.work, get, put);
    meet();
    put_results(worker, line, [&](int k, Numeral value) { line.put_result(k, value); });
  } else if constexpr (is_mirrored) {
    Real const across = line.eigenvalue_across();
    fetch_reals(worker, line);
    run_mirrored(worker, line,
                 [&](int k, Real value) { worker.real_at(k) = value * line.factor(across, k); });
    meet();
    run_mirrored(worker, line, [&](int k, Real value) { line.put_real({k, 1}, value); });
  } else {
    with_packed(worker, line,
                [&](auto const& packed) { worker.run<false>(line.work, packed, put); });
    meet();
    divide_results(worker, line);
    meet();
    worker.run<true>(line.work, get, [&](int k, Numeral value) { line.put_packed(k, value); });
  }
}

template <bool inverse>
__device__ __forceinline__ void transform_complex(Worker const& worker, Lined const& line) {
  auto const get = [&](int j) { return line.number(line.in, j); };
  auto const put = [&](int k, Numeral value) { line.put_number(line.out, k, value); };
  if constexpr (twists)
    worker.run_passes<inverse>(get, put, Twist<inverse, twist_axis>(line));
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
    meet();
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

/// Registers for a thread: those of its numbers and some for the rest, of which lines that come from
/// memory as they are, one after the other, want more, and so do waves of float64 on most ways.
constexpr int thread_registers() {
  int numbers = 0;
  for (int const radix : radices) {
    int const each = (points / radix + line_threads - 1) / line_threads;
    if (numbers < each * radix) numbers = each * radix;
  }
  constexpr bool is_plain =
      kind == LineKind::periodic && sizeof(Real) == 8
          ? !neighbours || task != Task::inverse
          : !neighbours && (kind == LineKind::complex || (kind == LineKind::periodic && analyses));
  int const words = numbers * static_cast<int>(sizeof(Numeral) / 4);
  if (words > 80) return words + 48;
  return words > 48 ? 128 : words + (is_plain || words > 32 ? 48 : 32);
}
/// Blocks of a multiprocessor that registers have to suffice for.
constexpr int resident_blocks() {
  constexpr int warps = (line_threads * block_lines + 31) / 32;
  int const blocks = 65536 / (32 * warps * thread_registers());
  return blocks > 1 ? blocks : 1;
}

constexpr int threads = line_threads * block_lines;

/// A part of complex lines that begins elsewhere; it ends at `left` along `slab_axis`.
struct Slab {
  long long in = 0, out = 0;  ///< from the beginning of the arrays, in numbers
  long long left = 0;
};

/// The lines from `first` on, as many as a block has.
template <bool has_slab = false>
__device__ __forceinline__ void run_lines(LineWork<Real> const& work, unsigned char* memory,
                                          long long first, Slab const& slab = {}) {
  int const place = static_cast<int>(threadIdx.x);
  int const of_block = neighbours ? place % block_lines : place / line_threads;
  Worker const worker{reinterpret_cast<Numeral*>(memory), work.roots,
                      neighbours ? place / block_lines : place % line_threads, of_block};
  Lined line(work, kind, line_points, pairs_in, pairs_out, first + of_block);
  line.streams = !has_slab && !neighbours && kind == LineKind::complex;
  if constexpr (has_slab) {
    line.is_there = line.is_there && line.index[slab_axis] < slab.left;
    line.in += 2 * slab.in;
    line.out += 2 * slab.out;
  }
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

}  // namespace GRIDSTRIDE_FFT_NAMESPACE
