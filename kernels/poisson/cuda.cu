// The equations on the GPU: what point.hpp has for each point. A block takes pieces of 2048 points
// of a row along x, a grid of blocks apart; neighbours come from the caches, so that each array is
// read once. Faces are small beside the grid: a thread for each value.

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/poisson/line.hpp"
#include "kernels/poisson/pieces.cuh"

namespace gridstride::poisson {

namespace {

template <class T>
__global__ void __launch_bounds__(threads)
    add_side_kernel(Operator<T> a, FaceUnknowns face, T const* values, T* right) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < face.size()) add_side(a, face, values, i, right);
}

template <class T>
__global__ void __launch_bounds__(threads)
    integrate_kernel(__grid_constant__ Operator<T> const a, __grid_constant__ Parts const parts,
                     T const* values, T const* factors, Sums* sums) {
  __shared__ Sums shared[threads / warp_size];
  Sums own;
  for_each_point_of(a, parts,
                    [&](std::int64_t const(&at)[3]) { add_to(own, a, values, factors, at); });
  auto const combine = [](Sums const& x, Sums const& y) {
    return Sums{x.sum + y.sum, x.magnitude + y.magnitude};
  };
  own = block_reduce<threads>(own, combine, shared);
  if (threadIdx.x == 0) sums[blockIdx.x] = own;
}

template <class T>
__global__ void __launch_bounds__(threads)
    measure_kernel(Operator<T> a, T const* u, T const* right, Largest* found) {
  __shared__ Largest shared[threads / warp_size];
  Largest own;
  for_each_point(a, [&](std::int64_t const(&at)[3]) { judge(a, u, right, at, own); });
  own = block_reduce<threads>(own, LargerOf(), shared);
  if (threadIdx.x == 0) found[blockIdx.x] = own;
}

template <class T>
__global__ void __launch_bounds__(threads)
    subtract_product_kernel(Operator<T> a, T const* u, T* right) {
  for_each_point(a, [&](std::int64_t const(&at)[3]) { subtract_product_at(a, u, right, at); });
}

template <class T>
__global__ void __launch_bounds__(threads) shift_kernel(T c, T* values, std::int64_t size) {
  std::int64_t const step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < size; i += step)
    values[i] += c;
}

template <class T>
__global__ void __launch_bounds__(threads)
    fill_kernel(Operator<T> a, double* lower, double* diagonal, double* upper) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < a.points[0]) fill_row(a, i, lower, diagonal, upper);
}

template <class T>
__global__ void __launch_bounds__(threads)
    line_residual_kernel(Operator<T> a, double const* u, T const* right, double* residual) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < a.count[0]) residual[a.first[0] + i] = line_residual_of(a, u, right, a.first[0] + i);
}

template <class T>
__global__ void __launch_bounds__(threads)
    correct_kernel(std::int64_t size, double const* correction, double* u, T* rounded) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= size) return;
  double const value = u[i] + correction[i];
  u[i] = value;
  rounded[i] = static_cast<T>(value);
}

}  // namespace

template <class T>
void cuda_add_sides(Stream& stream, Operator<T> const& a, SideValues<T> const& values, T* right) {
  for (int axis = 0; axis < a.dims; ++axis)
    for (int side = 0; side < 2; ++side) {
      T const* const given = values[axis][side];
      if (given == nullptr || !has_unknowns_beside(a, axis, side)) continue;
      auto const face = FaceUnknowns::of(a, axis, side);
      add_side_kernel<<<blocks_for(face.size(), threads), threads, 0, native(stream)>>>(
          a, face, given, right);
      GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson sides");
    }
}

template <class T>
std::vector<Sums> cuda_integrate(Stream& stream, Operator<T> const& a, T const* values,
                                 T const* factors) {
  Parts const parts = Parts::of(a);
  auto const blocks = static_cast<unsigned>(parts.own);
  return found_by_blocks<Sums>(stream, blocks, [&](Sums* found) {
    integrate_kernel<<<blocks, threads, 0, native(stream)>>>(a, parts, values, factors, found);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson integrate");
  });
}

template <class T>
void cuda_shift(Stream& stream, T c, std::span<T> values) {
  auto const size = static_cast<std::int64_t>(values.size());
  if (size == 0) return;
  unsigned const blocks = std::min(blocks_for(size, threads), 1u << 20);
  shift_kernel<<<blocks, threads, 0, native(stream)>>>(c, values.data(), size);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson shift");
}

template <class T>
Largest cuda_measure(Stream& stream, Operator<T> const& a, T const* u, T const* right) {
  return largest_of_blocks(stream, a, [&](unsigned blocks, Largest* found) {
    measure_kernel<<<blocks, threads, 0, native(stream)>>>(a, u, right, found);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson measure");
  });
}

template <class T>
void cuda_subtract_product(Stream& stream, Operator<T> const& a, T const* u, T* right) {
  unsigned const blocks = blocks_of(Pieces::of(a));
  if (blocks == 0) return;
  subtract_product_kernel<<<blocks, threads, 0, native(stream)>>>(a, u, right);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson product");
}

template <class T>
void cuda_fill_coefficients(Stream& stream, Operator<T> const& a, double* lower, double* diagonal,
                            double* upper) {
  fill_kernel<<<blocks_for(a.points[0], threads), threads, 0, native(stream)>>>(a, lower, diagonal,
                                                                                upper);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson coefficients");
}

template <class T>
void cuda_line_residual(Stream& stream, Operator<T> const& a, double const* u, T const* right,
                        double* residual) {
  line_residual_kernel<<<blocks_for(a.count[0], threads), threads, 0, native(stream)>>>(a, u, right,
                                                                                        residual);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson residual of a line");
}

template <class T>
void cuda_correct(Stream& stream, std::int64_t size, double const* correction, double* u,
                  T* rounded) {
  if (size == 0) return;
  correct_kernel<<<blocks_for(size, threads), threads, 0, native(stream)>>>(size, correction, u,
                                                                            rounded);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "poisson correction");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                  \
  template void cuda_add_sides(Stream&, Operator<T> const&, SideValues<T> const&, T*);             \
  template std::vector<Sums> cuda_integrate(Stream&, Operator<T> const&, T const*, T const*);      \
  template void cuda_shift(Stream&, T, std::span<T>);                                              \
  template Largest cuda_measure(Stream&, Operator<T> const&, T const*, T const*);                  \
  template void cuda_subtract_product(Stream&, Operator<T> const&, T const*, T*);                  \
  template void cuda_fill_coefficients(Stream&, Operator<T> const&, double*, double*, double*);    \
  template void cuda_line_residual(Stream&, Operator<T> const&, double const*, T const*, double*); \
  template void cuda_correct(Stream&, std::int64_t, double const*, double*, T*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::poisson
