#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>

#include "kernels/stencil/rows.hpp"
#include "kernels/support/barrier.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"

/// What the kernels that keep a grid on the chip have in common; cuda_resident_plane.cu tells how
/// they work.
namespace gridstride::stencil::resident {

/// Blocks of a cluster: more than eight are not portable, but every Hopper has 16.
constexpr int most_blocks = 16;

/// Stores 16 bytes in a block of the cluster, whose barrier then counts them.
__device__ inline void send([[maybe_unused]] unsigned address, [[maybe_unused]] uint4 value,
                            [[maybe_unused]] unsigned barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(address),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(barrier)
      : "memory");
#endif
}

/// 16 bytes of shared memory, by addresses that are numbers: the compiler would otherwise ask
/// for the block's window of the cluster again at each access.
__device__ inline void store_shared(unsigned address, uint4 value) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}
__device__ inline uint4 load_shared(unsigned address) {
  uint4 value;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

/// How a lane meets the ends of a line along x, of which it holds neighbouring points.
struct LineEnds {
  int left_lane, right_lane;  ///< that have the points beside
  int last;                   ///< which of the lane's points is the line's last; −1 for none
  bool mirrors_first, mirrors_last;  ///< ∂u/∂n is given at the lane's first point, or at `last`
  bool keeps_first, keeps_last;      ///< u is given there

  __device__ bool mirrors() const { return mirrors_first || mirrors_last; }
};

/// The ends of a line whose points 0 and `points` − 1 are the first of `first_lane` and number
/// `last` of `last_lane`.
template <class T>
__device__ LineEnds line_ends(DiffusionArguments<T> const& a, int first_lane, int last_lane,
                              int last) {
  int const lane = lane_index();
  bool const at_first = lane == first_lane, at_last = lane == last_lane;
  LineEnds ends;
  ends.left_lane = at_first && a.side[0][0] == SideRule::periodic ? last_lane : lane - 1;
  ends.right_lane = at_last && a.side[0][1] == SideRule::periodic ? first_lane : lane + 1;
  ends.last = at_last ? last : -1;
  ends.mirrors_first = at_first && a.side[0][0] == SideRule::neumann;
  ends.mirrors_last = at_last && a.side[0][1] == SideRule::neumann;
  ends.keeps_first = at_first && a.side[0][0] == SideRule::dirichlet;
  ends.keeps_last = at_last && a.side[0][1] == SideRule::dirichlet;
  return ends;
}

/// What diffusion along x changes at the lane's points of a line. With `ragged` the line's last
/// point may be any of its lane's, else it is the lane's last. `derivative` is ∂u/∂n at the end
/// that the lane has.
template <bool ragged, int width, class T>
__device__ void change_along_x(DiffusionArguments<T> const& a, T const (&u)[width],
                               LineEnds const& ends, T derivative, T (&change)[width]) {
  T rightmost = u[width - 1];
  if constexpr (ragged) {
#pragma unroll
    for (int e = 0; e < width - 1; ++e)
      if (e == ends.last) rightmost = u[e];
  }
  T left = __shfl_sync(whole_warp, rightmost, ends.left_lane);
  T const right = __shfl_sync(whole_warp, u[0], ends.right_lane);
  if constexpr (width > 1) {
    if (ends.mirrors_first) left = u[1];
  } else {
    if (ends.mirrors_first) left = right;
  }
#pragma unroll
  for (int e = 0; e < width; ++e) {
    T const lower = e == 0 ? left : u[e > 0 ? e - 1 : 0];
    T upper = e == width - 1 ? right : u[e < width - 1 ? e + 1 : e];
    if (ragged && e < width - 1 && e == ends.last) upper = right;
    bool const is_last = (ragged || e == width - 1) && e == ends.last;
    if (is_last && ends.mirrors_last) upper = lower;
    change[e] = add_axis(T(0), a.weight[0], lower, u[e], upper);
    if (e == 0 && ends.mirrors_first) change[e] = add_side(change[e], a.side_weight[0], derivative);
    if (is_last && ends.mirrors_last) change[e] = add_side(change[e], a.side_weight[0], derivative);
  }
}

/// u + change, but for points on Dirichlet sides.
template <bool ragged, int width, class T>
__device__ void update_line(T (&u)[width], T const (&change)[width], LineEnds const& ends) {
#pragma unroll
  for (int e = 0; e < width; ++e) {
    bool const is_last = (ragged || e == width - 1) && e == ends.last;
    bool const keeps = (e == 0 && ends.keeps_first) || (is_last && ends.keeps_last);
    if (!keeps) u[e] += change[e];
  }
}

/// A way to lay a grid out on a cluster: a kernel, and what it needs.
struct Layout {
  int blocks, warps;
  std::size_t shared_bytes;
};

inline cudaLaunchConfig_t launch_configuration(Layout const& layout, cudaLaunchAttribute* cluster) {
  cluster->id = cudaLaunchAttributeClusterDimension;
  cluster->val.clusterDim.x = static_cast<unsigned>(layout.blocks);
  cluster->val.clusterDim.y = cluster->val.clusterDim.z = 1;
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = dim3(static_cast<unsigned>(layout.blocks));
  configuration.blockDim = dim3(static_cast<unsigned>(warp_size * layout.warps));
  configuration.dynamicSmemBytes = layout.shared_bytes;
  configuration.attrs = cluster;
  configuration.numAttrs = 1;
  return configuration;
}

/// Whether the present device can hold a kernel's largest layout.
template <class Kernel>
bool can_hold(Kernel* kernel, Layout const& most) {
  int clusters = 0;
  bool const granted = takes_shared_bytes(kernel, most.shared_bytes) &&
                       cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed,
                                            1) == cudaSuccess;
  if (!granted) {
    cudaGetLastError();
    return false;
  }
  cudaLaunchAttribute attribute;
  auto const configuration = launch_configuration(most, &attribute);
  if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &configuration) == cudaSuccess)
    return clusters > 0;
  cudaGetLastError();
  return false;
}

/// The same, asked once for each device.
template <auto kernel>
bool can_hold_on(Device const& device, Layout const& most) {
  Capabilities const& has = device.capabilities();
  if (!has.clusters || has.shared_bytes < most.shared_bytes) return false;
  constexpr int devices = 64;
  static std::atomic<int> found[devices] = {};  // 1: no, 2: yes; each device finds the same
  std::atomic<int>& entry = found[device.ordinal() % devices];
  if (entry == 0) entry = can_hold(kernel, most) ? 2 : 1;
  return entry == 2;
}

template <class Kernel, class... Arguments>
void launch(Stream& stream, Kernel* kernel, Layout const& layout, Arguments const&... arguments) {
  cudaLaunchAttribute attribute;
  auto configuration = launch_configuration(layout, &attribute);
  configuration.stream = native(stream);
  GRIDSTRIDE_CUDA(cudaLaunchKernelEx(&configuration, kernel, arguments...));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil resident");
}

}  // namespace gridstride::stencil::resident
