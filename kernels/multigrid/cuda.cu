// Cycles on the GPU: what steps.hpp has for each point, by a thread. Values lie colour by colour, so
// that relaxation of a colour moves 1.5 numbers a point of the level (that colour's f and u, the
// other's u), each once from memory: neighbours along y and z come from the caches, since a block
// is a brick of points.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/multigrid/march.cuh"
#include "kernels/multigrid/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int threads = 256;

/// A brick of threads, and bricks enough for the points; where blocks are to be few, each takes
/// several along z, or y.
struct Bricks {
  dim3 block, grid;

  static Bricks of(Extent points, bool few) {
    Bricks bricks;
    bricks.block = points.z > 1 ? dim3(32, 4, 2) : points.y > 1 ? dim3(32, 8, 1) : dim3(256, 1, 1);
    auto const count = [](int all, unsigned each) {
      return (static_cast<unsigned>(all) + each - 1) / each;
    };
    constexpr unsigned most = 65535;
    unsigned const x = count(points.x, bricks.block.x);
    unsigned y = std::min(most, count(points.y, bricks.block.y));
    unsigned z = std::min(most, count(points.z, bricks.block.z));
    constexpr unsigned enough = 4096;  // a number that depends on no device
    if (few) {
      y = std::min(y, std::max(1u, enough / x));
      z = std::min(z, std::max(1u, enough / (x * y)));
    }
    bricks.grid = dim3(x, y, z);
    return bricks;
  }
};

/// Steps whose points are loaded several at a time, so that more is on its way from memory.
template <class Step>
concept Loads = requires {
  typename Step::Loaded;
};

/// A walk along rows of points, from one to the next but so many.
struct Walk {
  int first, by, end;
};

/// Makes a step at i and what two walks, the inner one along y, come to; `take`s what it finds.
template <class Step, class Take>
__device__ void for_walks(Step const& step, int i, Walk const& y, Walk const& z, Take const& take) {
  if constexpr (Loads<Step>) {
    constexpr int at_once = 4;
    int j = y.first, k = y.first < y.end ? z.first : z.end;
    while (k < z.end) {
      typename Step::Loaded loaded[at_once];
      Spot spots[at_once];
      bool is_point[at_once];
#pragma unroll
      for (int one = 0; one < at_once; ++one) {
        is_point[one] = k < z.end;
        if (is_point[one]) {
          spots[one] = step.spot(i, j, k);
          loaded[one] = step.load(spots[one]);
        }
        j += y.by;
        if (j < y.end) continue;
        j = y.first;
        k += z.by;
      }
#pragma unroll
      for (int one = 0; one < at_once; ++one)
        if (is_point[one]) take([&] { return step.finish(spots[one], loaded[one]); });
    }
  } else {
    for (int k = z.first; k < z.end; k += z.by)
      for (int j = y.first; j < y.end; j += y.by) take([&] { return step(i, j, k); });
  }
}

/// Those of a brick's threads.
template <class Step, class Take>
__device__ void for_own_points(Step const& step, Take const& take) {
  Extent const points = step.extent();
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= points.x) return;
  for_walks(step, i,
            {static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y),
             static_cast<int>(gridDim.y * blockDim.y), points.y},
            {static_cast<int>(blockIdx.z * blockDim.z + threadIdx.z),
             static_cast<int>(gridDim.z * blockDim.z), points.z},
            take);
}

template <class Step>
__global__ void __launch_bounds__(threads) each_kernel(__grid_constant__ Step const step) {
  for_own_points(step, [](auto const& result) { result(); });
}

template <class Step>
__global__ void __launch_bounds__(threads)
    find_kernel(__grid_constant__ Step const step, Found* largest) {
  __shared__ Found shared[threads / warp_size];
  Found own;
  for_own_points(step, [&](auto const& result) { raise(own, result()); });
  // Threads of a brick in the order of their numbers: the largest of all is the same in any.
  int const lane =
      static_cast<int>((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    raise(own, shuffle_down(own, distance));
  if (lane % warp_size == 0) shared[lane / warp_size] = own;
  __syncthreads();
  if (lane != 0) return;
  for (int warp = 1; warp < threads / warp_size; ++warp) raise(own, shared[warp]);
  using Word = unsigned long long;
  atomicMax(reinterpret_cast<Word*>(&largest->first), static_cast<Word>(own.first));
  atomicMax(reinterpret_cast<Word*>(&largest->second), static_cast<Word>(own.second));
}

/// Blocks of a plane along the slowest axis, or of a row in planes, so many that they are enough with
/// those of all others.
struct PlaneBlocks {
  dim3 block;
  int x, y;
  bool in_space;
  std::int64_t count;

  static PlaneBlocks of(Extent points, Planes const& planes) {
    constexpr int enough = 4096;  // a number that depends on no device
    bool const in_space = planes.axis == 2;
    PlaneBlocks blocks{in_space ? dim3(32, 8) : dim3(threads, 1), 1, 1, in_space, 0};
    auto const needed = [](int all, unsigned each) {
      return (all + static_cast<int>(each) - 1) / static_cast<int>(each);
    };
    int const wanted = std::max(1, enough / planes.count);
    blocks.x = std::min(needed(points.x, blocks.block.x), wanted);
    if (in_space) blocks.y = std::clamp(wanted / blocks.x, 1, needed(points.y, blocks.block.y));
    blocks.count = std::int64_t{blocks.x} * blocks.y * (in_space ? points.z : points.y);
    return blocks;
  }
};

/// A sum for each block.
template <class Step>
__global__ void __launch_bounds__(threads)
    sum_kernel(__grid_constant__ Step const step, __grid_constant__ PlaneBlocks const blocks,
               Summed* sums) {
  __shared__ Summed shared[threads / warp_size];
  Summed own;
  Extent const points = step.extent();
  int const of_plane = blocks.x * blocks.y, at = static_cast<int>(blockIdx.x) % of_plane;
  int const plane = static_cast<int>(blockIdx.x) / of_plane;
  int const width = static_cast<int>(blockDim.x), rows = static_cast<int>(blockDim.y);
  int const first = at % blocks.x * width + static_cast<int>(threadIdx.x);
  int const row = at / blocks.x * rows + static_cast<int>(threadIdx.y);
  int const begin = blocks.in_space ? row : plane, end = blocks.in_space ? points.y : plane + 1;
  int const of_z = blocks.in_space ? plane : 0;
  for (int i = first; i < points.x; i += blocks.x * width)
    for_walks(step, i, {begin, blocks.y * rows, end}, {of_z, 1, of_z + 1},
              [&](auto const& result) { own = own + result(); });
  int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    own = own + shuffle_down(own, distance);
  if (thread % warp_size == 0) shared[thread / warp_size] = own;
  __syncthreads();
  if (thread != 0) return;
  for (int warp = 1; warp < threads / warp_size; ++warp) own = own + shared[warp];
  sums[blockIdx.x] = own;
}

template <class Step>
void launch(Stream& stream, Step const& step) {
  auto const bricks = Bricks::of(step.extent(), Loads<Step>);
  each_kernel<<<bricks.grid, bricks.block, 0, native(stream)>>>(step);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid step");
}

}  // namespace

template <class S>
void cuda_steps(Stream& stream, CycleWork<S> const& work) {
  auto const run = [&](auto const& step) { launch(stream, step); };
  Cycles<S, decltype(run)>(work, run).all();
}

/// Whether a step goes by columns (cuda_march.cu).
template <class Step>
bool goes_by_columns(Step const&) {
  return false;
}
template <class T, class S>
bool goes_by_columns(TakeResidual<T, S> const& step) {
  return step.lower[0] != nullptr && can_march(step.level);
}

template <class T, class S>
bool goes_by_columns(BeginResidual<T, S> const& step) {
  return can_march(step.level);
}

template <class Step>
void cuda_each(Stream& stream, Step const& step) {
  if constexpr (requires { march(stream, step); })
    if (goes_by_columns(step)) return march(stream, step);
  if constexpr (requires { step.level, march_stored(stream, step); })
    if (can_march_stored(step.level)) return march_stored(stream, step);
  launch(stream, step);
}

template <class Step>
void cuda_find(Stream& stream, Step const& step, Found* largest) {
  if constexpr (requires { march(stream, step, largest); })
    if (goes_by_columns(step)) return march(stream, step, largest);
  if constexpr (requires { march_stored(stream, step, largest); })
    if (can_march_stored(step.level)) return march_stored(stream, step, largest);
  auto const bricks = Bricks::of(step.extent(), true);
  find_kernel<<<bricks.grid, bricks.block, 0, native(stream)>>>(step, largest);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid step");
}

template <class Step>
std::size_t cuda_parts(Step const& step, Planes const& planes) {
  if constexpr (requires { blocks_of(step, planes); })
    if (can_march_stored(step.level)) return blocks_of(step, planes);
  return static_cast<std::size_t>(PlaneBlocks::of(step.extent(), planes).count);
}

template <class Step>
void cuda_sums(Stream& stream, Step const& step, Planes const& planes, Summed* sums) {
  if constexpr (requires { blocks_of(step, planes); })
    if (can_march_stored(step.level)) return march_stored(stream, step, planes, sums);
  auto const blocks = PlaneBlocks::of(step.extent(), planes);
  sum_kernel<<<static_cast<unsigned>(blocks.count), blocks.block, 0, native(stream)>>>(step, blocks,
                                                                                       sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid sum");
}

namespace {

/// By one block: each thread takes parts that lie as far apart as there are threads.
__global__ void __launch_bounds__(threads)
    take_sum_kernel(Summed const* parts, std::int64_t count, Finds what, Along* along) {
  __shared__ Summed shared[threads / warp_size];
  int const thread = static_cast<int>(threadIdx.x);
  Summed own;
  for (std::int64_t part = thread; part < count; part += threads) own = own + parts[part];
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    own = own + shuffle_down(own, distance);
  if (thread % warp_size == 0) shared[thread / warp_size] = own;
  __syncthreads();
  if (thread != 0) return;
  for (int warp = 1; warp < threads / warp_size; ++warp) own = own + shared[warp];
  take_sum(*along, what, own);
}

}  // namespace

void cuda_take_sum(Stream& stream, std::span<Summed const> parts, Finds what, Along* along) {
  take_sum_kernel<<<1, threads, 0, native(stream)>>>(
      parts.data(), static_cast<std::int64_t>(parts.size()), what, along);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid sum of parts");
}

template void cuda_steps(Stream&, CycleWork<float> const&);
template void cuda_steps(Stream&, CycleWork<double> const&);
#define GRIDSTRIDE_EACH(...) template void cuda_each(Stream&, __VA_ARGS__ const&);
#define GRIDSTRIDE_FIND(...) template void cuda_find(Stream&, __VA_ARGS__ const&, Found*);
#define GRIDSTRIDE_SUM(...)                                           \
  template std::size_t cuda_parts(__VA_ARGS__ const&, Planes const&); \
  template void cuda_sums(Stream&, __VA_ARGS__ const&, Planes const&, Summed*);
GRIDSTRIDE_MULTIGRID_STEPS(GRIDSTRIDE_EACH, GRIDSTRIDE_FIND, GRIDSTRIDE_SUM)
#undef GRIDSTRIDE_SUM
GRIDSTRIDE_MULTIGRID_CYCLE(GRIDSTRIDE_EACH, float)
GRIDSTRIDE_MULTIGRID_CYCLE(GRIDSTRIDE_EACH, double)
#undef GRIDSTRIDE_EACH
#undef GRIDSTRIDE_FIND

}  // namespace gridstride::multigrid
