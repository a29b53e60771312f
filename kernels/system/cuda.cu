// What stands beside the stages of a system: values that are given on sides, those of fields there, and vectors whose
// components lie side by side in files and apart here. A thread for each point; the neighbours of
// a warp's points lie beside each other in every array that it reads or writes, but for the
// vectors, of which it takes whole sectors.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/support/launch.cuh"
#include "kernels/system/rows.hpp"

namespace gridstride::system {

namespace {

constexpr int block_threads = 256;

unsigned blocks_of(long long points) {
  constexpr long long most = 1 << 20;
  return static_cast<unsigned>(std::clamp((points + block_threads - 1) / block_threads, 1LL, most));
}

template <class T>
struct Imposed {
  long long points[3];
  int dims;
  Sides<T> sides;
  T* values;
};

template <class T>
__global__ void __launch_bounds__(block_threads)
    impose_kernel(__grid_constant__ Imposed<T> const a) {
  long long const size = a.points[0] * a.points[1] * a.points[2];
  for (long long n = static_cast<long long>(blockIdx.x) * block_threads + threadIdx.x; n < size;
       n += static_cast<long long>(gridDim.x) * block_threads) {
    long long const i = n % a.points[0], line = n / a.points[0];
    long long const j = line % a.points[1], k = line / a.points[1];
    Held const held = held_by<T>(a.sides, a.dims, a.points, i, j, k);
    if (held.axis < 3) a.values[n] = held_value<T>(a.sides, a.points, held, i, j, k);
  }
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    copy_face_kernel(__grid_constant__ FaceCopy<T> const copy, long long size) {
  for (long long n = static_cast<long long>(blockIdx.x) * block_threads + threadIdx.x; n < size;
       n += static_cast<long long>(gridDim.x) * block_threads)
    copy(n);
}

inline constexpr int most_numbers = 3;  // of a vector

template <class T>
struct Apart {
  T* arrays[most_numbers];
};

template <bool apart, class T>
__global__ void __launch_bounds__(block_threads)
    vectors_kernel(__grid_constant__ Apart<T> const a, T* vectors, int numbers, long long points) {
  for (long long n = static_cast<long long>(blockIdx.x) * block_threads + threadIdx.x; n < points;
       n += static_cast<long long>(gridDim.x) * block_threads)
#pragma unroll
    for (int c = 0; c < most_numbers; ++c)
      if (c < numbers) {
        if (apart)
          a.arrays[c][n] = vectors[n * numbers + c];
        else
          vectors[n * numbers + c] = a.arrays[c][n];
      }
}

template <bool apart, class T, class Pointer>
void launch_vectors(Stream& stream, std::span<Pointer const> arrays, T* vectors,
                    std::size_t values) {
  if (arrays.size() > most_numbers)
    throw std::invalid_argument("system: a vector has at most three components");
  Apart<T> a{};
  for (std::size_t c = 0; c < arrays.size(); ++c) a.arrays[c] = const_cast<T*>(arrays[c]);
  auto const points = static_cast<long long>(values / arrays.size());
  if (points == 0) return;
  vectors_kernel<apart, T><<<blocks_of(points), block_threads, 0, native(stream)>>>(
      a, vectors, static_cast<int>(arrays.size()), points);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system vectors");
}

}  // namespace

template <class T>
void cuda_impose_sides(Stream& stream, Grid const& grid, Sides<T> const& sides, T* values) {
  Imposed<T> a{};
  std::ranges::copy(grid.points, a.points);
  a.dims = grid.dims;
  for (int axis = 0; axis < 3; ++axis)
    for (int side = 0; side < 2; ++side) a.sides[axis][side] = sides[axis][side];
  a.values = values;
  impose_kernel<T><<<blocks_of(grid.size()), block_threads, 0, native(stream)>>>(a);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system sides");
}

template <class T>
void cuda_copy_face(Stream& stream, FaceCopy<T> const& copy) {
  copy_face_kernel<T>
      <<<blocks_of(copy.size()), block_threads, 0, native(stream)>>>(copy, copy.size());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system face");
}

template <class T>
void cuda_interleave(Stream& stream, std::span<T const* const> arrays, std::span<T> result) {
  launch_vectors<false, T>(stream, arrays, result.data(), result.size());
}

template <class T>
void cuda_separate(Stream& stream, std::span<T const> vectors, std::span<T* const> arrays) {
  launch_vectors<true, T>(stream, arrays, const_cast<T*>(vectors.data()), vectors.size());
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                  \
  template void cuda_impose_sides(Stream&, Grid const&, Sides<T> const&, T*);      \
  template void cuda_copy_face(Stream&, FaceCopy<T> const&);                       \
  template void cuda_interleave(Stream&, std::span<T const* const>, std::span<T>); \
  template void cuda_separate(Stream&, std::span<T const>, std::span<T* const>);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::system
