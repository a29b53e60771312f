// Complex transforms of the lines of a block. For NVRTC, which finds the constants of blocks.cuh before
// this.
//
// A pass of radix r (N. K. Govindaraju and others, SC 2008): thread j of a line takes elements
// j + i·points/r into registers, turns and transforms them, and puts result k to
// (j/s)·s·r + j mod s + k·s, where s is the product of the radices before. The last pass leaves
// results in their order. The first reads from memory, the last writes there, and what is between
// goes through shared memory. Where lines are neighbours, neighbouring threads have neighbouring
// lines: they then read and write whole sectors.
//
// The constants are in the namespace GRIDSTRIDE_FFT_NAMESPACE, which is gridstride::fft where nothing
// else is said. A kernel of several steps includes this for each, in a namespace of its own.

#include "kernels/fft/blocks/butterflies.cuh"
#include "kernels/fft/blocks/roots.cuh"

#ifndef GRIDSTRIDE_FFT_NAMESPACE
#define GRIDSTRIDE_FFT_NAMESPACE gridstride::fft
#endif

namespace GRIDSTRIDE_FFT_NAMESPACE {

using Numeral = Number<Real>;
using Lined = Line<Real>;

constexpr int product_before(int pass) {
  int product = 1;
  for (int p = 0; p < pass; ++p) product *= radices[p];
  return product;
}

/// Where the roots of a pass are, see root_rows.
constexpr int roots_before(int pass) {
  int rows = 0;
  for (int p = 1; p < pass; ++p) rows += root_rows(radices[p]) * product_before(p);
  return rows;
}

/// Of places that are not negative.
constexpr int padded(int place) {
  constexpr unsigned piece = padding > 0 ? padding : 1;
  return padding > 0 ? place + static_cast<int>(static_cast<unsigned>(place) / piece) : place;
}
constexpr int held = reorders ? short_points : points;  ///< numbers that a line has there
constexpr int room = padding > 0 ? padded(held) + 1 : held;

/// Threads that share a line meet: a warp's, or all of the block.
__device__ __forceinline__ void meet() {
  if constexpr (!neighbours && 32 % line_threads == 0)
    __syncwarp();
  else
    __syncthreads();
}

template <class A, class B>
constexpr bool is_same = false;
template <class A>
constexpr bool is_same<A, A> = true;

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

  /// Element i of v[i] times root^(i·k), k = j mod s. Roots of four neighbours come from the one of
  /// the first and from the first three, which keeps them accurate.
  template <bool inverse, int pass, int radix>
  __device__ __forceinline__ void turn(Numeral (&v)[radix], int j) const {
    constexpr int stride = product_before(pass);
    Numeral const* const table = roots + roots_before(pass) + j % stride;
    auto const root = [&](int row) {
      Numeral const w = table[row * stride];
      return inverse ? conjugate(w) : w;
    };
    Numeral const first = root(0);
    if constexpr (radix > 1) v[1] = v[1] * first;
    Numeral const second = first * first;
    if constexpr (radix > 2) v[2] = v[2] * second;
    Numeral const third = second * first;
    if constexpr (radix > 3) v[3] = v[3] * third;
    unrolled<(radix - 1) / 4>([&](auto group) {
      constexpr int start = 4 * (decltype(group)::value + 1);
      Numeral const far = root(start / 4);
      v[start] = v[start] * far;
      if constexpr (start + 1 < radix) v[start + 1] = v[start + 1] * (far * first);
      if constexpr (start + 2 < radix) v[start + 2] = v[start + 2] * (far * second);
      if constexpr (start + 3 < radix) v[start + 3] = v[start + 3] * (far * third);
    });
  }

  /// The line in shared memory as a source and a sink. A place is first + apart, of which `apart` is
  /// known when this is compiled; where the paddings of both are that of the sum, `adds` says so, so is
  /// the distance of their addresses, which leaves most of what indices take.
  struct Shared {
    Worker const& worker;

    static constexpr bool adds(int first_multiple, int apart_multiple) {
      constexpr int piece = padding > 0 ? padding : 1;
      return first_multiple % piece == 0 || apart_multiple % piece == 0;
    }
    __device__ __forceinline__ Numeral& at(int first, int apart) const {
      int const place = padded(first) + padded(apart);
      return worker
          .shared[neighbours ? place * block_lines + worker.line : worker.line * room + place];
    }
    __device__ __forceinline__ Numeral operator()(int j) const { return worker.at(j); }
    __device__ __forceinline__ void operator()(int k, Numeral value) const { worker.at(k) = value; }
  };

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
      auto const j = static_cast<int>(static_cast<unsigned>(thread) + m.value * line_threads);
      if (is_even || j < butterflies)
        unrolled<radix>([&](auto i) {
          constexpr int apart = decltype(i)::value * butterflies;
          if constexpr (is_same<Source, Shared> && Shared::adds(1, butterflies))
            v[m.value][i.value] = source.at(j, apart);
          else
            v[m.value][i.value] = source(j + apart);
        });
    });
    meet();
    unrolled<each>([&](auto m) {
      auto const j = static_cast<int>(static_cast<unsigned>(thread) + m.value * line_threads);
      if (is_even || j < butterflies) {
        if constexpr (stride > 1) turn<inverse, pass>(v[m.value], j);
        transform<radix, inverse>(v[m.value]);
        if constexpr (pass + 1 == passes) finish(j, v[m.value]);
        int const first = j / stride * stride * radix + j % stride;
        unrolled<radix>([&](auto i) {
          constexpr int apart = decltype(i)::value * stride;
          if constexpr (is_same<Sink, Shared> && Shared::adds(stride == 1 ? radix : 1, stride))
            sink.at(first, apart) = v[m.value][i.value];
          else
            sink(first + apart, v[m.value][i.value]);
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
      run_pass<pass, inverse>(source, Shared{*this}, finish);
      meet();
      run_passes<inverse, pass + 1>(Shared{*this}, sink, finish);
    }
  }

  /// Of a prime number of points p (C. M. Rader, Proc. IEEE 56, 1968, 1107–1108). With a root g
  /// whose powers are 1 … p − 1, X of g^(−m) is x_0 and the sum over q of x of g^q times
  /// exp(−2πi·g^(q − m)/p): a convolution of p − 1 points. The conjugate of the transform of
  /// conjugates is the inverse.
  template <bool inverse, class Source, class Sink>
  __device__ __forceinline__ void run_reordered(LineWork<Real> const& work, Source const& source,
                                                Sink const& sink) const {
    auto const given = [](Numeral x) { return inverse ? conjugate(x) : x; };
    Numeral const first = given(source(0));
    Numeral sum = first;
    run_passes<false>([&](int q) { return given(source(work.order[q])); },
                      [&](int k, Numeral value) {
                        if (k == 0) sum = sum + value;
                        Numeral const filtered = value * work.filter[k];
                        at(k) = k == 0 ? filtered + first : filtered;
                      });
    meet();
    run_passes<true>(
        [&](int j) { return at(j); },
        [&](int m, Numeral value) { sink(work.order[m == 0 ? 0 : points - m], given(value)); });
    if (thread == 0) sink(0, given(sum));  // who has had result 0 of the first transform
  }

  /// The complex transform of a line, by a convolution where it needs to be.
  template <bool inverse, class Source, class Sink>
  __device__ __forceinline__ void run(LineWork<Real> const& work, Source const& source,
                                      Sink const& sink) const {
    if constexpr (!convolves) {
      run_passes<inverse>(source, sink);
    } else if constexpr (reorders) {
      run_reordered<inverse>(work, source, sink);
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
      meet();
      run_passes<true>([&](int j) { return at(j); },
                       [&](int k, Numeral value) {
                         if (k >= short_points) return;
                         Numeral const result = value * work.chirp[k];
                         sink(k, inverse ? conjugate(result) : result);
                       });
    }
  }
};

/// Results are turned to join steps of a longer transform: result k of a line with index t along
/// this axis across by root^(k·t·twist). Again roots of four neighbours come from that of the first.
template <bool inverse, int axis = 0>
struct Twist {
  Turn const& turn;
  unsigned t;  ///< times twist

  __device__ __forceinline__ explicit Twist(Lined const& line)
      : turn(line.work.turn),
        t(static_cast<unsigned>(line.index[axis]) * static_cast<unsigned>(line.work.twist)) {}
  __device__ __forceinline__ Numeral root(unsigned k) const {
    Numeral const value = root_at(k * t, turn, Real{});
    return inverse ? conjugate(value) : value;
  }
  template <int radix>
  __device__ __forceinline__ void operator()(int j, Numeral (&v)[radix]) const {
    constexpr int apart = points / radix;
    Numeral const first = root(apart), second = first * first, third = second * first;
    unrolled<(radix + 3) / 4>([&](auto group) {
      constexpr int start = 4 * decltype(group)::value;
      Numeral const here = root(static_cast<unsigned>(j + start * apart));
      v[start] = v[start] * here;
      if constexpr (start + 1 < radix) v[start + 1] = v[start + 1] * (here * first);
      if constexpr (start + 2 < radix) v[start + 2] = v[start + 2] * (here * second);
      if constexpr (start + 3 < radix) v[start + 3] = v[start + 3] * (here * third);
    });
  }
};

}  // namespace GRIDSTRIDE_FFT_NAMESPACE
