// Transforms on the GPU, as a ladder.
//
//   stages  Lines become complex ones in memory of their own, without gaps; then there is a kernel
//           for each prime factor, or 4, with a thread for each butterfly: r elements that lie
//           points/r apart become r results (Stockham). Neighbouring threads read neighbouring
//           numbers, and write them so from the second step on. Each step moves all numbers there
//           and back, and two more do what is not a complex transform. Any length of any kind:
//           others than 2, 3, 5 and 7 by Bluestein's convolution.
//   blocks  In files of its own: cuda_blocks.cpp, blocks.cuh. A line stays on the chip.
//   cufft   cuda_cufft.cu

#include <algorithm>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/fft/blocks/butterflies.cuh"
#include "kernels/fft/cuda_lines.hpp"
#include "kernels/fft/host.hpp"
#include "kernels/fft/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::fft {

namespace {

constexpr int threads = 128;

/// Lines as complex transforms see them, `room` numbers apart.
template <class T>
struct Stage {
  LineWork<T> work;
  LineKind kind;
  Task task;
  long long n;             ///< points of a line
  long long own;           ///< of its complex transform
  long long room;          ///< of the convolution, or the same
  bool swaps;              ///< real and imaginary parts change places: it is the inverse
  bool synthesises;        ///< results of a real transform are given
  long long first, count;  ///< lines
};

template <class T>
__device__ Number<T> swapped(Number<T> x, bool swaps) {
  return swaps ? Number<T>{x.im, x.re} : x;
}

template <class T>
__device__ Line<T> line_of(Stage<T> const& s, long long line) {
  return Line<T>(s.work, s.kind, s.n, false, false, s.first + line);
}

template <class T>
__device__ Number<T> given(Stage<T> const& s, Line<T> const& line, long long k) {
  if (s.task == Task::complete) return line.paired(k, line.number(line.complex_in(), k));
  return line.result(k);
}

template <class T>
__device__ Number<T> number_of(Stage<T> const& s, Line<T> const& line, long long j) {
  if (s.kind == LineKind::complex) return line.number(line.in, j);
  if (!s.synthesises) return line.packed(j);
  if (line.length() % 2 != 0)
    return 2 * j <= s.own ? given(s, line, j) : conjugate(given(s, line, s.own - j));
  bool const is_second = 2 * j > s.own;
  long long const k = is_second ? s.own - j : j;
  Number<T> a = given(s, line, k), b = given(s, line, s.own - k);
  Number<T> const w = s.work.halving[k];
  combine(a.re, a.im, b.re, b.im, w.re, w.im);
  return is_second ? b : a;
}

/// A thread for each number.
template <class T>
__global__ void __launch_bounds__(threads)
    gather_kernel(__grid_constant__ Stage<T> const s, Number<T>* to) {
  long long const place = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
  if (place >= s.count * s.room) return;
  long long const j = place % s.room;
  Number<T> value{0, 0};
  if (j < s.own) {
    value = swapped(number_of(s, line_of(s, place / s.room), j), s.swaps);
    if (s.room != s.own) value = value * s.work.chirp[j];
  }
  to[place] = value;
}

/// A thread for each butterfly.
template <int radix, class T>
__global__ void __launch_bounds__(threads)
    stage_kernel(Number<T> const* in, Number<T>* out, long long points, long long stride,
                 long long butterflies, Number<T> const* roots) {
  long long const place = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
  if (place >= butterflies) return;
  long long const part = points / radix, line = place / part, j = place % part;
  long long const turn = j % stride, to = line * points + (j / stride) * stride * radix + turn;
  Number<T> v[radix];
  unrolled<radix>([&](auto i) {
    v[i.value] = in[line * points + j + i.value * part] *
                 roots[i.value * turn * (points / (stride * radix))];
  });
  transform<radix, false>(v);
  unrolled<radix>([&](auto i) { out[to + i.value * stride] = v[i.value]; });
}

/// Between the transforms of a convolution, the second of which is an inverse.
template <class T>
__global__ void __launch_bounds__(threads)
    filter_kernel(Number<T>* data, long long room, long long size, Number<T> const* filter) {
  long long const place = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
  if (place < size) data[place] = swapped(data[place] * filter[place % room], true);
}

/// A thread for each result, or pair of results of a real transform.
template <class T>
__global__ void __launch_bounds__(threads)
    scatter_kernel(__grid_constant__ Stage<T> const s, long long each, Number<T> const* from) {
  long long const place = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
  if (place >= s.count * each) return;
  long long const k = place % each, which = place / each;
  Line<T> const line = line_of(s, which);
  auto const at = [&](long long j) {
    Number<T> value = from[which * s.room + j];
    if (s.room != s.own) value = swapped(value, true) * s.work.chirp[j];
    return swapped(value, s.swaps);
  };
  auto const put = [&](long long result, Number<T> value) {
    if (s.task == Task::halve)
      line.put_number(line.complex_out(), result, line.paired(result, value));
    else
      line.put_result(result, value);
  };
  if (s.kind == LineKind::complex) return line.put_number(line.out, k, at(k));
  if (s.synthesises) return line.put_packed(k, at(k));
  if (line.length() % 2 != 0) return put(k, at(k));
  long long const other = s.own - k;
  Number<T> a = at(k), b = at(k == 0 ? 0 : other);
  Number<T> const w = s.work.halving[k];
  separate(a.re, a.im, b.re, b.im, w.re, w.im);
  put(k, a);
  if (other != k) put(other, b);
}

/// Coefficients over eigenvalues, a thread for each.
template <class T>
__global__ void __launch_bounds__(threads)
    divide_kernel(__grid_constant__ LineWork<T> const work, LineKind kind, long long n) {
  long long const place = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
  if (place >= work.lines * n) return;
  Line<T> const line(work, kind, n, false, false, place / n);
  long long const c = place % n;
  line.out[c * work.out_stride] *= line.factor(line.eigenvalue_across(), c);
}

template <class T>
class Stages {
 public:
  Stages(Stream& stream, Pass<T> const& pass) : stream_(stream) {
    s_.work = work_of(pass);
    s_.kind = line_kind(pass.kind);
    s_.task = pass.task;
    s_.n = pass.points;
    s_.own = complex_length(s_.kind, s_.n);
    s_.room = is_smooth(s_.own) ? s_.own : next_smooth(2 * s_.own - 1);
    bool const is_inverse = pass.task == Task::inverse || pass.task == Task::complete;
    s_.synthesises =
        s_.kind == LineKind::periodic ? is_inverse : is_quarter(s_.kind) && !is_inverse;
    s_.swaps = s_.kind == LineKind::complex ? is_inverse : s_.synthesises;
    set_roots(stream, s_.room, s_.work);
    set_tables(stream, s_.kind, s_.n, s_.room == s_.own ? 0 : s_.room, s_.work);
  }

  void run() {
    constexpr std::int64_t most = std::int64_t{1} << 24;  // numbers that are under way
    std::int64_t const lines = s_.work.lines,
                       together = std::clamp<std::int64_t>(most / s_.room, 1, lines);
    auto const numbers = static_cast<std::size_t>(together * s_.room);
    Buffer<Number<T>> first(stream_, MemorySpace::device, numbers),
        second(stream_, MemorySpace::device, numbers);
    for (s_.first = 0; s_.first < lines; s_.first += together) {
      s_.count = std::min<std::int64_t>(together, lines - s_.first);
      run(first.data(), second.data());
    }
  }

 private:
  std::int64_t size() const { return s_.count * s_.room; }

  void run(Number<T>* data, Number<T>* spare) {
    gather_kernel<<<blocks_for(size(), threads), threads, 0, native(stream_)>>>(s_, data);
    GRIDSTRIDE_CHECK_LAUNCH(stream_, "fft gather");
    steps(data, spare);
    if (s_.room != s_.own) {
      filter_kernel<<<blocks_for(size(), threads), threads, 0, native(stream_)>>>(
          data, s_.room, size(), s_.work.filter);
      GRIDSTRIDE_CHECK_LAUNCH(stream_, "fft filter");
      steps(data, spare);
    }
    bool const makes_pairs = s_.kind != LineKind::complex && !s_.synthesises;
    long long const each = makes_pairs ? s_.own / 2 + 1 : s_.own;
    scatter_kernel<<<blocks_for(s_.count * each, threads), threads, 0, native(stream_)>>>(s_, each,
                                                                                          data);
    GRIDSTRIDE_CHECK_LAUNCH(stream_, "fft scatter");
  }

  void steps(Number<T>*& data, Number<T>*& spare) {
    std::int64_t stride = 1;
    auto const all_of = [&]<int radix>() {
      for (; s_.room / stride % radix == 0; stride *= radix) {
        std::int64_t const butterflies = size() / radix;
        stage_kernel<radix><<<blocks_for(butterflies, threads), threads, 0, native(stream_)>>>(
            data, spare, s_.room, stride, butterflies, s_.work.roots);
        GRIDSTRIDE_CHECK_LAUNCH(stream_, "fft stage");
        std::swap(data, spare);
      }
    };
    all_of.template operator()<4>();
    all_of.template operator()<2>();
    all_of.template operator()<3>();
    all_of.template operator()<5>();
    all_of.template operator()<7>();
  }

  Stream& stream_;
  Stage<T> s_{};
};

}  // namespace

template <class T>
void run_stages(Stream& stream, Pass<T> const& pass) {
  if (pass.task != Task::solve) return Stages<T>(stream, pass).run();
  auto step = pass;
  step.task = Task::forward;
  Stages<T>(stream, step).run();
  step.in = step.out;
  step.in_stride = step.out_stride;
  step.in_strides = step.out_strides;
  auto const work = work_of(step);
  divide_kernel<<<blocks_for(work.lines * pass.points, threads), threads, 0, native(stream)>>>(
      work, line_kind(pass.kind), pass.points);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "fft divide");
  step.task = Task::inverse;
  Stages<T>(stream, step).run();
}

template <class T>
void cuda_stages(Stream& stream, Arguments<T> const& work) {
  for (auto const& pass : passes_of(work)) run_stages(stream, pass);
}

#define GRIDSTRIDE_INSTANTIATE(T)                    \
  template void run_stages(Stream&, Pass<T> const&); \
  template void cuda_stages(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::fft
