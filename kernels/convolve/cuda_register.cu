// The rung `register` of the ladder in cuda.cu, along x, and what it leaves to its other files.
//
// What limits the rungs below it are loads: each multiply-add there has one of its own. Here a
// thread computes 64 bytes of neighbouring outputs (16 of float32, 8 of float64) and holds the data
// that they meet in registers, as a window that moves by as many data at a time (window.cuh). So
// an element that comes from shared memory takes part in 16 multiply-adds, and a tap costs no load
// of its own at all: it is an operand from the constant bank.
//
// Thread-to-data: a block of 128 threads stages its part of a signal, 2048 outputs (1024 of
// float64) and the taps − 1 data beside them, by asynchronous copies of 16 bytes; of signals
// shorter than that it takes several. Threads read 16-byte vectors that are 64 bytes apart, which
// would meet in the same banks; so each fifth vector of shared memory is left out. Outputs go back
// through shared memory, for a warp's stores to be contiguous. The window begins at a vector, up to
// 3 data before the first tap's; the taps are shifted as much, and those places are no taps.
//
// Bytes: sizeof(T)·(2 + taps/2048) per output, of which the last come from L2. Multiply-adds: taps,
// with about a tenth as many other instructions for long filters. Two more kernels take the
// cases where this one would be slower: cuda_register_short.cu a few taps, where memory is the
// roof; cuda_register_across.cu the other axes.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/convolve/window.cuh"
#include "kernels/support/async_copy.cuh"
#include "kernels/support/vector.cuh"

namespace gridstride::convolve {

namespace {

constexpr int register_threads = 128;
constexpr int vectors = 4;          // of outputs that a thread has
constexpr int pitch = vectors + 1;  // from thread to thread in shared memory
/// Vectors that the parts of several signals share, so that enough blocks fit a multiprocessor.
constexpr int shared_vectors = 2500;

template <class T>
constexpr int outputs = vectors* vector_width<T>;

__device__ int place_of(int vector) { return vector + vector / vectors; }

/// How the blocks of a launch share out the signals.
struct Cut {
  unsigned parts;  // of a signal
  int signals;     // that a block has parts of
  int units;       // threads that work on one of them
  int slots;       // vectors that it has in shared memory
  int skip;        // places before the first tap

  template <class T>
  static Cut make(Work<T> const& work) {
    constexpr int width = vector_width<T>;
    Cut cut;
    cut.skip = static_cast<int>((work.lowest % width + width) % width);
    cut.units =
        static_cast<int>(std::min<long long>(register_threads, tiles_of(work.length, outputs<T>)));
    cut.parts = static_cast<unsigned>(tiles_of(work.length, cut.units * outputs<T>));
    auto const taps = static_cast<int>(tiles_of(cut.skip + work.count, outputs<T>));
    cut.slots = (cut.units + taps) * pitch;
    int const most =
        std::min(register_threads / cut.units, std::max(1, shared_vectors / cut.slots));
    cut.signals = static_cast<int>(std::min<long long>(most, work.outer));
    return cut;
  }
};

/// Begins to copy a vector to shared memory.
template <bool aligned, class T>
__device__ void copy(Vector<T, vector_width<T>>& target, T const* source) {
#if __CUDA_ARCH__ >= 800
  auto const address = static_cast<unsigned>(__cvta_generic_to_shared(&target));
  constexpr int bytes = aligned ? 16 : sizeof(T);
  for (int done = 0; done < 16; done += bytes)
    begin_copy<bytes>(address + done, source + done / static_cast<int>(sizeof(T)));
#else
  for (int j = 0; j < vector_width<T>; ++j) target.at[j] = source[j];
#endif
}

/// Brings the data of a part to shared memory, which those of its threads do that have `unit`.
template <bool aligned, class T>
__device__ void stage(Work<T> const& work, Cut const& cut, T const* signal, long long x, int unit,
                      Vector<T, vector_width<T>>* segment) {
  constexpr int width = vector_width<T>;
  long long const lowest = x + work.lowest - cut.skip;
  int const used = (cut.units * outputs<T> + cut.skip + work.count - 1 + width - 1) / width;
  // Vectors from `first` to before `last` lie within the signal.
  auto const clamped = [&](long long k) {
    return static_cast<int>(max(0ll, min(k, (long long)used)));
  };
  int const first = clamped((-lowest + width - 1) / width);
  int const last = clamped((work.length - lowest) / width);
  for (int k = unit; k < used; k += cut.units) {
    auto* const target = segment + place_of(k);
    if (k >= first && k < last) {
      copy<aligned>(*target, signal + lowest + k * width);
    } else {
      for (int j = 0; j < width; ++j) target->at[j] = work.at(signal, lowest + k * width + j);
    }
  }
}

/// Writes a vector of outputs, of which `left` exist, or adds it.
template <bool aligned, class T>
__device__ void store(Work<T> const& work, T* out, long long left,
                      Vector<T, vector_width<T>> value) {
  if (aligned && left > 0) {
    auto* const target = reinterpret_cast<Vector<T, vector_width<T>>*>(out);
    if (work.add) {
      auto const before = *target;
#pragma unroll
      for (int j = 0; j < vector_width<T>; ++j) value.at[j] += before.at[j];
    }
    *target = value;
  } else {
    for (int j = 0; j < vector_width<T> && j < left; ++j)
      out[j] = work.add ? out[j] + value.at[j] : value.at[j];
  }
}

template <bool aligned, class T>
__global__ void __launch_bounds__(register_threads, 8)
    along_kernel(__grid_constant__ Work<T> const work,
                 __grid_constant__ ParameterTaps<T> const taps, __grid_constant__ Cut const cut) {
  constexpr int width = vector_width<T>;
  extern __shared__ __align__(16) unsigned char memory[];
  int const t = static_cast<int>(threadIdx.x);
  int const s = t / cut.units, unit = t % cut.units;
  long long const n = static_cast<long long>(blockIdx.x / cut.parts) * cut.signals + s;
  long long const x = static_cast<long long>(blockIdx.x % cut.parts) * (cut.units * outputs<T>);
  bool const works = s < cut.signals && n < work.outer;
  auto* const segment = reinterpret_cast<Vector<T, width>*>(memory) + s * cut.slots;
  if (works) stage<aligned>(work, cut, work.in + n * work.length, x, unit, segment);
  close_group();
  await_groups<0>();
  __syncthreads();

  T sum[outputs<T>] = {};
  auto* const own = segment + unit * pitch;
  if (works)
    slide(sum, taps, cut.skip, cut.skip + work.count, [&](T* target, int part) {
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        auto const vector = own[part * pitch + v];
#pragma unroll
        for (int j = 0; j < width; ++j) target[v * width + j] = vector.at[j];
      }
    });
  __syncthreads();
  if (works)
#pragma unroll
    for (int v = 0; v < vectors; ++v)
#pragma unroll
      for (int j = 0; j < width; ++j) own[v].at[j] = sum[v * width + j];
  __syncthreads();
  if (works)
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      int const k = unit + v * cut.units;
      long long const i = x + k * width;
      store<aligned>(work, work.out + n * work.length + i, work.length - i, segment[place_of(k)]);
    }
}

template <class T>
void along(Stream& stream, Arguments<T> const& a) {
  constexpr int most = most_parameter_taps<T> - (vector_width<T> - 1);
  for_each_piece(a, most, [&](Work<T> const& work, std::span<T const> piece) {
    auto const cut = Cut::make(work);
    auto const taps = ParameterTaps<T>::of(piece, cut.skip);
    auto const kernel =
        takes_vectors(a, work.length) ? along_kernel<true, T> : along_kernel<false, T>;
    kernel<<<grid_of(tiles_of(work.outer, cut.signals) * cut.parts), register_threads,
             cut.signals * cut.slots * 16, native(stream)>>>(work, taps, cut);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "convolve register");
  });
}

}  // namespace

template <class T>
void cuda_register(Stream& stream, Arguments<T> const& a) {
  if (takes_short(a)) return cuda_register_short(stream, a);
  if (Signals::of(a.shape).inner == 1) return along(stream, a);
  cuda_register_across(stream, a);
}

template void cuda_register(Stream&, Arguments<float> const&);
template void cuda_register(Stream&, Arguments<double> const&);

}  // namespace gridstride::convolve
