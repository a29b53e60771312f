// Adaptive cubature with the integrand compiled in: evaluates boxes by the rule of Genz and Malik
// (genz_malik.hpp), each the half of a box that is cut.
//
// Thread-to-data: `threads_of_box` neighbouring threads, a group, take one box that is cut, and
// evaluate first its lower, then its upper half. Thread j of a group takes the samples j,
// j + group, …; the sums over the orbits are combined by exchanges in a fixed order. The samples on
// the axes through the centre go to shared memory too, for the fourth differences that say which
// axis is cut next. The lower half replaces the box, the upper one goes to the end of the list.
//
// A sample costs the integrand and 3 to 6 instructions for each coordinate (one of them an
// addition or multiply-add in Real), and a box moves 2·(16·d + 17) bytes for 2·(2^d + 2d² + 4d + 1)
// samples. So arithmetic is the roof.

#include "kernels/cubature/boxes.hpp"

namespace cubature {

using namespace gridstride::quadrature;

constexpr int group = threads_of_box(dimensions);
constexpr int groups = box_block / group;
constexpr int samples_of_box = genz_malik::points(dimensions);
constexpr int warp = 32, warps = box_block / warp;
constexpr double rounding = rounding_of<Real>();
/// So few registers that as many blocks fit a multiprocessor, as long as the coordinates fit too.
constexpr int blocks_at_least = dimensions <= 13 ? 3 : 1;

constexpr int corners = genz_malik::orbit_points(dimensions, 4);
constexpr int others = samples_of_box - corners;  // the samples before the corners

/// Where a sample lies, as `genz_malik::Point` has it.
struct Place {
  unsigned moved, downwards;
  Real step;
  int orbit;
};

/// What a group shares.
struct GroupMemory {
  double center[dimensions], half_width[dimensions];
  double samples[genz_malik::axis_points(dimensions)];
  genz_malik::AxisCheck axes[dimensions];
};

/// Waits for the group's threads; what they wrote to memory before is there.
__device__ inline void synchronize_group() {
  if constexpr (group > warp)
    __syncthreads();
  else
    __syncwarp();
}

/// The sums of all threads of the group, in each of them.
__device__ inline void add_up(double (&sums)[genz_malik::orbits]) {
#pragma unroll
  for (int distance = 1; distance < group && distance < warp; distance *= 2) {
#pragma unroll
    for (double& sum : sums) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if constexpr (group > warp) {
    __shared__ double of_warps[genz_malik::orbits][warps];
    int const thread = static_cast<int>(threadIdx.x);
    if (thread % warp == 0)
      for (int k = 0; k < genz_malik::orbits; ++k) of_warps[k][thread / warp] = sums[k];
    __syncthreads();
    for (int k = 0; k < genz_malik::orbits; ++k) {
      sums[k] = 0;
      for (int w = 0; w < warps; ++w) sums[k] += of_warps[k][w];
    }
    __syncthreads();
  }
}

/// Looks at the samples on each axis of the box in `memory`; all threads see what it finds.
__device__ inline void check_axes(GroupMemory& memory, int lane) {
  synchronize_group();
  for (int k = lane; k < dimensions; k += group)
    memory.axes[k] = genz_malik::check_axis(memory.samples, k, rounding);
  synchronize_group();
}

/// Puts the places of all samples but the corners into shared memory, for all boxes of the block.
__device__ inline void find_places(Place (&places)[others]) {
  for (int index = static_cast<int>(threadIdx.x); index < others; index += box_block) {
    genz_malik::Point const point = genz_malik::point(dimensions, index, rounding);
    places[index] = {point.moved, point.downwards, static_cast<Real>(point.step), point.orbit};
  }
  __syncthreads();
}

/// Evaluates the box in `memory`.
__device__ inline genz_malik::Value evaluate(GroupMemory& memory, Place const (&places)[others],
                                             int lane, Real const* given) {
  Real center[dimensions], half_width[dimensions];
  double volume = 1;
#pragma unroll
  for (int k = 0; k < dimensions; ++k) {
    center[k] = static_cast<Real>(memory.center[k]);
    half_width[k] = static_cast<Real>(memory.half_width[k]);
    volume *= 2 * memory.half_width[k];
  }
  double sums[genz_malik::orbits] = {};
  Real v[dimensions];
#pragma unroll 1
  for (int index = lane; index < others; index += group) {
    Place const place = places[index];
#pragma unroll
    for (int k = 0; k < dimensions; ++k)
      v[k] = genz_malik::coordinate(place, k, center[k], half_width[k]);
    double const sample = integrand(v, given);
    if (index < genz_malik::axis_points(dimensions)) memory.samples[index] = sample;
#pragma unroll
    for (int k = 0; k < 4; ++k) sums[k] += place.orbit == k ? sample : 0;
  }
#pragma unroll
  for (int k = 0; k < dimensions; ++k) half_width[k] *= static_cast<Real>(genz_malik::corner_step);
#pragma unroll 1
  for (int corner = lane; corner < corners; corner += group) {
#pragma unroll
    for (int k = 0; k < dimensions; ++k)
      v[k] = center[k] + ((corner >> k & 1) != 0 ? -half_width[k] : half_width[k]);
    sums[4] += static_cast<double>(integrand(v, given));
  }
  add_up(sums);
  check_axes(memory, lane);
  return genz_malik::value_of(dimensions, sums, memory.axes, volume, rounding);
}

}  // namespace cubature

/// Cuts the `count` boxes of the list `cut` and evaluates both halves; the upper ones become boxes
/// `first_new`, …. Without a list it evaluates the first `count` boxes as they are.
extern "C" __global__ void __launch_bounds__(gridstride::quadrature::box_block,
                                             cubature::blocks_at_least)
    evaluate_boxes(gridstride::quadrature::BoxArrays arrays, int const* cut, int first_new,
                   int count, gridstride::quadrature::BoxExtents extents,
                   gridstride::quadrature::ParameterValues<Real> given) {
  using namespace cubature;
  __shared__ GroupMemory memories[groups];
  __shared__ Place places[others];
  int const lane = static_cast<int>(threadIdx.x) % group;
  GroupMemory& memory = memories[threadIdx.x / group];
  long long const turn = static_cast<long long>(blockIdx.x) * groups + threadIdx.x / group;
  bool const writes = turn < count;  // groups without a box do the last one's work, for nobody
  int const item = writes ? static_cast<int>(turn) : count - 1;
  int const source = cut != nullptr ? cut[item] : item;
  int const halves = cut != nullptr ? 2 : 1;
  int const axis = cut != nullptr ? arrays.axes[source] : -1;
  genz_malik::Value whole = {0, 0, false};
  if (cut != nullptr) whole = {arrays.values[source], arrays.errors[source], false};

  double const* const box = arrays.boxes + 2ll * dimensions * source;
  for (int k = lane; k < dimensions; k += group) {
    double const half_width = box[dimensions + k];
    memory.center[k] = k == axis ? box[k] - half_width / 2 : box[k];
    memory.half_width[k] = k == axis ? half_width / 2 : half_width;
  }
  find_places(places);

  genz_malik::Value found[2];
  int next[2];
#pragma unroll 1
  for (int side = 0; side < halves; ++side) {
    genz_malik::Value const value = evaluate(memory, places, lane, given.at);
    int const widest = genz_malik::axis_to_cut(dimensions, memory.axes, memory.center,
                                               memory.half_width, extents.of, rounding);
    int const across = value.only_rounding ? only_rounding : widest;
    found[1] = side == 1 ? value : found[1];
    found[0] = side == 0 ? value : found[0];
    next[1] = side == 1 ? across : next[1];
    next[0] = side == 0 ? across : next[0];
    int const target = side == 0 ? source : first_new + item;
    double* const result = arrays.boxes + 2ll * dimensions * target;
    for (int k = lane; k < dimensions; k += group) {
      if (writes) result[k] = memory.center[k];
      if (writes) result[dimensions + k] = memory.half_width[k];
    }
    synchronize_group();
    if (lane == 0 && axis >= 0) memory.center[axis] += 2 * memory.half_width[axis];
    synchronize_group();
  }
  if (lane != 0 || !writes) return;
  double const sum = halves == 2 ? found[0].integral + found[1].integral : 0;
  for (int side = 0; side < halves; ++side) {
    int const target = side == 0 ? source : first_new + item;
    genz_malik::Value const value = side == 0 ? found[0] : found[1];
    arrays.values[target] = value.integral;
    arrays.errors[target] =
        halves == 2 ? genz_malik::corrected_error(value.error, whole, sum) : value.error;
    arrays.axes[target] = static_cast<signed char>(side == 0 ? next[0] : next[1]);
  }
}

#ifdef LOCATE_NON_FINITE
/// The least number of a sample that is not finite among the boxes whose integral or error is not:
/// 2^32 times its box, and its index in it. One block for each box.
extern "C" __global__ void __launch_bounds__(gridstride::quadrature::box_block)
    locate_non_finite(gridstride::quadrature::BoxArrays arrays,
                      gridstride::quadrature::ParameterValues<Real> given,
                      unsigned long long* found) {
  using namespace cubature;
  if (is_finite(arrays.values[blockIdx.x]) && is_finite(arrays.errors[blockIdx.x])) return;
  double const* const box = arrays.boxes + 2ll * dimensions * blockIdx.x;
  for (int index = static_cast<int>(threadIdx.x); index < samples_of_box; index += box_block) {
    genz_malik::Point const point = genz_malik::point(dimensions, index, rounding);
    Real v[dimensions];
    for (int k = 0; k < dimensions; ++k)
      v[k] = genz_malik::coordinate(point, k, static_cast<Real>(box[k]),
                                    static_cast<Real>(box[dimensions + k]));
    if (is_finite(integrand(v, given.at))) continue;
    atomicMin(found, static_cast<unsigned long long>(blockIdx.x) << 32 | index);
    return;
  }
}
#endif
