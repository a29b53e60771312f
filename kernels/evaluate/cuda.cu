// A formula at every point of a grid, on a GPU.
//
// The formula comes as postfix code, one Instruction (16 bytes) per node of its syntax tree.
//
// interpreter: one thread per point, grid-stride. Each thread finds its coordinates from its
// offset and runs the stack machine of expression/operations.hpp in float64. All threads run the
// same instruction at the same time, so no warp diverges on the code, and the code is one
// broadcast load per instruction that hits the cache from the second warp on. The top of the stack
// is a register; the rest is local memory, indexed at run time and so kept in L1. Its size is a
// template parameter (8, 16 or 64 values), because local memory is taken for every resident
// thread: usual formulas need fewer than 8. Bytes moved: sizeof(T) written per point; the work is
// the arithmetic and about ten instructions of dispatch per node.
//
// set_clock, advance_clock: one thread writes the clock, which later kernels of the stream read.

#include <algorithm>

#include "expression/operations.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::evaluate::cuda {
namespace {

constexpr int block_threads = 128;
constexpr std::int64_t blocks_per_processor = 64;

/// A grid in plain arrays, which device code can index.
struct Points {
  std::int64_t size;
  std::int64_t count[3];
  double origin[3];
  double spacing[3];
};

Points points_of(Grid const& grid) {
  Points points;
  points.size = grid.size();
  std::copy_n(grid.points.begin(), 3, points.count);
  std::copy_n(grid.origin.begin(), 3, points.origin);
  std::copy_n(grid.spacing.begin(), 3, points.spacing);
  return points;
}

__device__ double coordinate(Points const& points, int axis, std::int64_t i) {
  return add_product(points.origin[axis], static_cast<double>(i), points.spacing[axis]);
}

template <int capacity, class T>
__global__ void __launch_bounds__(block_threads)
    interpret(Instruction const* __restrict__ code, int length, Points points,
              DeviceClock const* __restrict__ clock, double fraction, T* __restrict__ result) {
  double const t = clock == nullptr ? 0 : clock->time(fraction);
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       k < points.size; k += stride) {
    std::int64_t const row = k / points.count[0];
    std::int64_t const plane = row / points.count[1];
    double const x = coordinate(points, 0, k - row * points.count[0]);
    double const y = coordinate(points, 1, row - plane * points.count[1]);
    double const z = coordinate(points, 2, plane);
    result[k] = static_cast<T>(expression::evaluate_point<capacity>(code, length, x, y, z, t));
  }
}

__global__ void set(DeviceClock* clock, DeviceClock value) { *clock = value; }

__global__ void advance(DeviceClock* clock) { ++clock->steps; }

}  // namespace

template <class T>
void interpreter(Stream& stream, Evaluation<T> const& evaluation) {
  Points const points = points_of(evaluation.grid);
  if (points.size == 0) return;
  auto const kernel = evaluation.stack_depth <= 8    ? interpret<8, T>
                      : evaluation.stack_depth <= 16 ? interpret<16, T>
                                                     : interpret<expression::max_stack_depth, T>;
  std::int64_t const wanted = (points.size + block_threads - 1) / block_threads;
  auto const blocks =
      static_cast<unsigned>(std::min(wanted, blocks_per_processor * stream.device().processors()));
  kernel<<<blocks, block_threads, 0, native(stream)>>>(
      evaluation.code.data(), static_cast<int>(evaluation.code.size()), points, evaluation.clock,
      evaluation.fraction, evaluation.result);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "interpret");
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
