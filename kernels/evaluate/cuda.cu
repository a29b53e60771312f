// A formula at every point of a grid, on a GPU.
//
// The formula comes as postfix code, one Instruction (16 bytes) per node of its syntax tree.
//
// interpreter: one thread per point, grid-stride. Each thread finds the indices of its first point
// by division, those of the next by adding with carries, and runs the stack machine of
// expression/operations.hpp in float64. All threads run the same instruction at the same time, so
// no warp diverges on the code, and the code is one broadcast load per instruction that hits the
// cache from the second warp on. The top of the stack is a register; the rest is local memory,
// indexed at run time and so kept in L1. Its size is a template parameter (8, 16 or 64 values),
// because local memory is taken for every resident thread: usual formulas need fewer than 8. Bytes
// moved: sizeof(T) written per point, and a value read of each array that the formula names; the
// work is the arithmetic and about ten instructions of dispatch per node. Formulas without arrays
// have a kernel of their own.
//
// set_clock, advance_clock: one thread writes the clock, which later kernels of the stream read.

#include "expression/operations.hpp"
#include "kernels/evaluate/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::evaluate::cuda {
namespace {

/// The variables of a formula at a point, in registers: they have no address.
struct Place {
  double x, y, z, t;
  __device__ double operator[](int variable) const {
    return variable == 0 ? x : variable == 1 ? y : variable == 2 ? z : t;
  }
};

/// The same of a formula of arrays, too.
struct PlaceInArrays {
  Place place;
  ArraysAt arrays;
  __device__ double operator[](int variable) const {
    return variable < expression::first_array ? place[variable]
                                              : arrays[variable - expression::first_array];
  }
};

__device__ Place place_of(Place const& place, long long) { return place; }

__device__ PlaceInArrays place_of(Place const& place, long long point, Arrays const& arrays) {
  return {place, {arrays, point}};
}

/// `arrays` is an `Arrays`, or nothing for a formula without.
template <int capacity, class T, class... Some>
__global__ void __launch_bounds__(block_threads)
    interpret(Instruction const* __restrict__ code, int length, Points points,
              DeviceClock const* __restrict__ clock, double fraction, T* __restrict__ result,
              Some... arrays) {
  double const t = clock == nullptr ? 0 : clock->time(fraction);
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t const first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  Walk walk(points, first, stride);
  for (std::int64_t k = first; k < points.size; k += stride, walk.next()) {
    Place const place = {walk.coordinate(0), walk.coordinate(1), walk.coordinate(2), t};
    result[k] = static_cast<T>(
        expression::evaluate_point<capacity>(code, length, place_of(place, k, arrays...)));
  }
}

__global__ void set(DeviceClock* clock, DeviceClock value) { *clock = value; }

__global__ void advance(DeviceClock* clock) { ++clock->steps; }

}  // namespace

namespace {

template <class T, class... Some>
void launch(Stream& stream, Evaluation<T> const& evaluation, Some const&... arrays) {
  Points const points = points_of(evaluation.grid);
  if (points.size == 0) return;
  Program const& program = *evaluation.program;
  auto const kernel = program.stack_depth() <= 8 ? interpret<8, T, Some...>
                      : program.stack_depth() <= 16
                          ? interpret<16, T, Some...>
                          : interpret<expression::max_stack_depth, T, Some...>;
  kernel<<<blocks_for(stream, points), block_threads, 0, native(stream)>>>(
      program.code().data(), static_cast<int>(program.code().size()), points, evaluation.clock,
      evaluation.fraction, evaluation.result, arrays...);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "interpret");
}

}  // namespace

template <class T>
void interpreter(Stream& stream, Evaluation<T> const& evaluation) {
  if (evaluation.program->array_count() == 0) return launch(stream, evaluation);
  launch(stream, evaluation, evaluation.arrays);
}

void set_clock(Stream& stream, DeviceClock* clock, DeviceClock const& value) {
  set<<<1, 1, 0, native(stream)>>>(clock, value);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "set");
}

void advance_clock(Stream& stream, DeviceClock* clock) {
  advance<<<1, 1, 0, native(stream)>>>(clock);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "advance");
}

template void interpreter(Stream&, Evaluation<float> const&);
template void interpreter(Stream&, Evaluation<double> const&);

}  // namespace gridstride::evaluate::cuda
