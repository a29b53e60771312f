// Stages of systems without a compiler at run time: a program as code for a machine of slots
// (interpreter.hpp).
//
// A thread a point, neighbours in x beside each other. All threads run the same instruction at the
// same time, so no warp diverges on the code, which is one broadcast load of 16 bytes for each
// instruction. Slots lie in shared memory: those that hold the same at all points once for the
// block, which loads them first, all others slot by slot with a value for each thread beside those
// of its neighbours, so that no banks collide. A block has as many threads as its slots leave room
// for. It takes rows one after the other. Bytes as `points`; the work is the arithmetic and some
// twenty instructions of dispatch for each of the program.
//
// Compiled without contraction, so that what is fused is what the code says, and the bits are those
// of `points`.

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"
#include "kernels/system/interpreter.hpp"
#include "kernels/system/point_values.cuh"
#include "kernels/system/rows.hpp"

namespace gridstride::system {

namespace {

template <class T>
struct Interpreted {
  StageArguments<T> stage;
  Instruction const* code;
  Lasting const* lasting;
  int length, lasting_count;
  int dims, reach[3];
  bool wraps[3];
};

/// The slots as a thread sees them.
template <class T>
struct ThreadSlots {
  T* shared;
  int lasting;

  __device__ T* place(int slot) const {
    int const own =
        lasting + (slot - lasting) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
    return shared + (slot < lasting ? slot : own);
  }
  __device__ T operator[](int slot) const { return *place(slot); }
  __device__ void set(int slot, T value) { *place(slot) = value; }
};

/// One function for all, since it is long and seldom called.
template <class T>
__device__ __noinline__ T value_beyond(Input<T> const& input, long long const (&points)[3],
                                       long long i, long long j, long long k) {
  return value_at<3>(input, points, i, j, k);
}

/// What a program sees of its point, and what becomes of its results there.
template <class T>
struct ProgramPoint {
  Interpreted<T> const& a;
  long long at[3];
  long long offset;
  bool is_inside;  ///< with all that the program reads
  bool on_side;

  __device__ T unknown(int component, int dx, int dy, int dz) const {
    auto const& points = a.stage.place.points;
    auto const& input = a.stage.inputs[component];
    if (is_inside) return __ldg(input.values + offset + dx + points[0] * (dy + points[1] * dz));
    return value_beyond(input, points, at[0] + dx, at[1] + dy, at[2] + dz);
  }
  __device__ T coordinate(int axis, int along) const {
    return coordinate_of<T>(a.stage.place, a.wraps[axis], axis, at[axis] + along);
  }
  __device__ T lies_on(int side, int along) const {
    int const axis = side / 2;
    auto const& place = a.stage.place;
    return T(place.first[axis] + at[axis] + along == inside(side % 2, place.whole[axis], 0));
  }
  __device__ T random(Code code, int seed, int dx, int dy, int dz) const {
    auto const& place = a.stage.place;
    long long const point = random_place(place, a.wraps, at, dx, dy, dz);
    if (code == Code::uniform) return uniform_at<T>(seed, point);
    if (code == Code::normal) return normal_at<T>(seed, point);
    return noise_at<T>(seed, point, *place.clock);
  }
  __device__ void take(int result, T rate) const {
    a.stage.out[result][offset] = stored_value(a.stage, a.dims, result, rate, at, offset, on_side);
  }
};

template <class T>
__device__ ProgramPoint<T> point_at(Interpreted<T> const& a, long long i, long long j,
                                    long long k) {
  auto const& points = a.stage.place.points;
  ProgramPoint<T> point = {a, {i, j, k}, i + points[0] * (j + points[1] * k), true, false};
  for (int axis = 0; axis < a.dims; ++axis) {
    long long const n = point.at[axis], last = points[axis] - 1;
    point.is_inside = point.is_inside && n >= a.reach[axis] && n <= last - a.reach[axis];
    point.on_side = point.on_side || (!a.wraps[axis] && (n == 0 || n == last));
  }
  return point;
}

template <class T>
__device__ T lasting_value(Interpreted<T> const& a, Lasting const& one) {
  if (one.kind == equations::Kind::time)
    return static_cast<T>(a.stage.place.clock->time(a.stage.weights.fraction));
  if (one.kind == equations::Kind::found) return static_cast<T>(a.stage.place.found[one.index]);
  return static_cast<T>(one.value);
}

template <class T>
__global__ void __launch_bounds__(most_interpreter_threads)
    interpret(__grid_constant__ Interpreted<T> const a) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto const& place = a.stage.place;
  if (a.stage.needs_step && place.clock->step_size == 0) return;
  ThreadSlots<T> slots = {reinterpret_cast<T*>(memory), a.lasting_count};
  for (int n = static_cast<int>(threadIdx.x); n < a.lasting_count;
       n += static_cast<int>(blockDim.x))
    slots.shared[n] = lasting_value(a, a.lasting[n]);
  __syncthreads();
  long long const i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= place.points[0]) return;
  for (long long k = blockIdx.z; k < place.points[2]; k += gridDim.z)
    for (long long j = blockIdx.y; j < place.points[1]; j += gridDim.y)
      run_program<T>(a.code, a.length, slots, point_at(a, i, j, k));
}

/// Bytes of shared memory that a block may have.
std::size_t shared_bytes(Stream& stream) {
  int bytes = 0;
  GRIDSTRIDE_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                         stream.device().ordinal()));
  return static_cast<std::size_t>(bytes);
}

/// Blocks along y and z: about so many that each multiprocessor has some for itself, with as many
/// rows each as that leaves.
dim3 blocks_of(Stream& stream, Grid const& grid, int threads) {
  constexpr std::int64_t most = 65'535, blocks_per_processor = 32;
  std::int64_t const x = (grid.points[0] + threads - 1) / threads;
  std::int64_t const z = std::min(grid.points[2], most);
  std::int64_t const wanted = blocks_per_processor * stream.device().processors();
  std::int64_t const y =
      std::clamp<std::int64_t>(wanted / (x * z), 1, std::min(grid.points[1], most));
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

}  // namespace

template <class T>
void cuda_interpreter(Stream& stream, Step<T> const& step) {
  InterpreterCode const& code = *step.prepared->code;
  Interpreted<T> a{};
  a.stage = arguments_of(step);
  a.code = code.code.data();
  a.lasting = code.lasting.data();
  a.length = static_cast<int>(code.code.size());
  a.lasting_count = static_cast<int>(code.lasting.size());
  a.dims = step.grid.dims;
  std::ranges::copy(step.program->reach, a.reach);
  std::ranges::copy(wraps_of(step), a.wraps);
  auto const [threads, bytes] =
      interpreter_block(a.lasting_count, code.slots, sizeof(T), shared_bytes(stream));
  allow_shared_bytes(interpret<T>, bytes);
  interpret<T><<<blocks_of(stream, step.grid, threads), threads, bytes, native(stream)>>>(a);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "system interpreter");
}

template void cuda_interpreter(Stream&, Step<float> const&);
template void cuda_interpreter(Stream&, Step<double> const&);

}  // namespace gridstride::system
