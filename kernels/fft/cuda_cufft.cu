// cuFFT, to compare with. Arrays without gaps; all axes longer than 1, or the first one. To solve,
// there is a kernel between real transforms of periodic axes: five passes for three axes, and one
// more for the division.

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/fft/cufft_plan.cuh"
#include "kernels/fft/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::fft {

namespace {

constexpr int threads = 256;

/// A thread for each result of the half spectrum.
template <class T>
__global__ void __launch_bounds__(threads)
    divide_spectrum_kernel(T* spectrum, long long half, long long y, long long size, T const* of_x,
                           T const* of_y, T const* of_z, T constant, T scale) {
  long long const place = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
  if (place >= size) return;
  long long const line = place / half;
  T value = constant;
  if (of_x != nullptr) value += of_x[place - line * half];
  if (of_y != nullptr) value += of_y[line % y];
  if (of_z != nullptr) value += of_z[line / y];
  T const factor = value == 0 ? T(0) : scale / value;
  spectrum[2 * place] *= factor;
  spectrum[2 * place + 1] *= factor;
}

struct Axes {
  std::vector<long long> points;  ///< the slowest first
  long long batch;
};

bool is_dense(Strides const& strides, std::array<std::int64_t, 3> const& points,
              std::int64_t batch) {
  Strides const wanted = dense(points);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (points[axis] > 1 && strides.axes[axis] != wanted.axes[axis]) return false;
  return batch == 1 || strides.batch == wanted.batch;
}

/// Throws `std::invalid_argument` for what this row does not take.
template <class T>
Axes axes_of(Arguments<T> const& a) {
  auto const& shape = a.shape;
  auto half = shape.points;
  half[0] = half[0] / 2 + 1;
  bool const from_half = a.form == Form::complex_to_real, to_half = a.form == Form::real_to_complex;
  bool taken = is_dense(shape.in, from_half ? half : shape.points, shape.batch) &&
               is_dense(shape.out, to_half ? half : shape.points, shape.batch);
  Kind const first = a.form == Form::complex ? Kind::complex : Kind::periodic;
  Kind const others = a.form == Form::solve ? Kind::periodic : Kind::complex;
  taken = taken && shape.kinds[0] == first && a.form != Form::real;
  Axes axes{{shape.points[0]}, shape.batch};
  bool is_batch = false;
  for (std::size_t axis = 1; axis < 3; ++axis) {
    if (shape.points[axis] == 1 && shape.kinds[axis] == Kind::none) continue;
    is_batch = is_batch || shape.kinds[axis] == Kind::none;
    taken = taken && shape.kinds[axis] == (is_batch ? Kind::none : others);
    if (is_batch)
      axes.batch *= shape.points[axis];
    else
      axes.points.insert(axes.points.begin(), shape.points[axis]);
  }
  if (!taken || (a.form == Form::solve && axes.batch > 1))
    throw std::invalid_argument(
        "fft: 'cufft' takes Fourier transforms of arrays without gaps, from the first axis on");
  return axes;
}

Plan const& plan_of(Stream& stream, cufftType type, Axes const& axes) {
  static std::mutex mutex;
  // The driver may be gone before static objects are.
  static auto& plans =
      *new std::map<std::tuple<int, cufftType, std::vector<long long>, long long>, Plan>;
  std::lock_guard const lock(mutex);
  return plans
      .try_emplace({stream.device().ordinal(), type, axes.points, axes.batch}, type,
                   std::span<long long const>(axes.points), axes.batch)
      .first->second;
}

template <class T>
void solve_by_cufft(Stream& stream, Arguments<T> const& a, Axes const& axes) {
  auto const& points = a.shape.points;
  long long const half = points[0] / 2 + 1, size = half * points[1] * points[2];
  Plan const& there = plan_of(stream, forward_transform<T>, axes);
  Plan const& back = plan_of(stream, inverse_transform<T>, axes);
  Buffer<std::byte> area(stream, MemorySpace::device,
                         std::max(there.area_bytes(), back.area_bytes()));
  Buffer<T> spectrum(stream, MemorySpace::device, static_cast<std::size_t>(2 * size));
  there.forward(stream, area.data(), a.in, spectrum.data());
  auto const values = [&](std::size_t axis) {
    return a.eigenvalues.axes[axis].empty() ? nullptr : a.eigenvalues.axes[axis].data();
  };
  divide_spectrum_kernel<<<blocks_for(size, threads), threads, 0, native(stream)>>>(
      spectrum.data(), half, points[1], size, values(0), values(1), values(2),
      a.eigenvalues.constant, static_cast<T>(1 / (round_trip(a.shape) * a.eigenvalues.round_trip)));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "fft divide");
  back.inverse(stream, area.data(), spectrum.data(), a.out);
}

}  // namespace

template <class T>
void cuda_cufft(Stream& stream, Arguments<T> const& a) {
  auto const axes = axes_of(a);
  if (a.form == Form::solve) return solve_by_cufft(stream, a, axes);
  cufftType const type = a.form == Form::complex           ? complex_transform<T>
                         : a.form == Form::real_to_complex ? forward_transform<T>
                                                           : inverse_transform<T>;
  Plan const& plan = plan_of(stream, type, axes);
  Buffer<std::byte> area(stream, MemorySpace::device, plan.area_bytes());
  if (a.form == Form::complex)
    plan.transform(stream, area.data(), a.direction == Direction::inverse, a.in, a.out);
  else if (a.form == Form::real_to_complex)
    plan.forward(stream, area.data(), a.in, a.out);
  else
    plan.inverse(stream, area.data(), a.in, a.out);
}

template void cuda_cufft(Stream&, Arguments<float> const&);
template void cuda_cufft(Stream&, Arguments<double> const&);

}  // namespace gridstride::fft
