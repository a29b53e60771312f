// The rung `resident` of the ladder in cuda.cu, for lines: one kernel does all steps and keeps the
// grid in the registers of one cluster. cuda_resident_plane.cu tells why.
//
// Thread-to-data: a lane has `width` neighbouring points, a warp 32 lanes of them. Those of the
// outer lanes are a halo: the warp computes them as well, and in each step one more of them on
// either side is no longer right, so that a warp does as many steps as its halo has points with
// two shuffles each and without waiting for anyone. Then all warps put their own points into shared
// memory, the cluster meets, and each warp reads its halo from the two beside, which may be in
// another block. Two sets of points alternate: nobody writes the set of an exchange before the
// barrier of the next one.
//
// Warps are spread evenly and overlap rather than to leave the last one a rest, so that the ends of
// the grid are ends of lanes. Up to 32 points are a warp's own, without a halo.
//
// Arithmetic: 4 instructions a point and step, 1/(1 − halo/(16·width)) times as often as there are
// points.

#include <cooperative_groups.h>

#include <algorithm>

#include "kernels/stencil/resident.cuh"

namespace gridstride::stencil {

namespace {

using namespace resident;
namespace cg = cooperative_groups;

constexpr int most_warps = 16;  // of a block

/// How the points of a line are shared out.
struct Cut {
  int steps;  // of this kernel
  int warps;  // that have points
  int halo;   // points on either side of a warp's own, and steps between two exchanges
  int own;    // points of a warp
};

/// The first of a warp's own points.
template <class T>
__device__ int start_of(DiffusionArguments<T> const& a, Cut const& cut, int warp) {
  if (cut.warps == 1) return 0;
  return static_cast<int>((a.points[0] - cut.own) * warp / (cut.warps - 1));
}

/// Where a warp finds its halo: the warps beside, and what to add to a point's place among the
/// lanes' for its place among those warps' own. Warps −1 are none.
struct Beside {
  int left, right;
  int left_shift, right_shift;
};

template <class T>
__device__ Beside beside(DiffusionArguments<T> const& a, Cut const& cut, int warp) {
  bool const periodic = a.side[0][0] == SideRule::periodic;
  int const begin = start_of(a, cut, warp) - cut.halo, points = static_cast<int>(a.points[0]);
  Beside result;
  result.left = warp > 0 ? warp - 1 : periodic ? cut.warps - 1 : -1;
  result.right = warp + 1 < cut.warps ? warp + 1 : periodic ? 0 : -1;
  result.left_shift = begin - start_of(a, cut, result.left) + (warp > 0 ? 0 : points);
  result.right_shift = begin - start_of(a, cut, result.right) - (warp + 1 < cut.warps ? 0 : points);
  return result;
}

template <int width, class T>
__device__ LineEnds ends_of(DiffusionArguments<T> const& a, Cut const& cut, int begin) {
  bool const open = a.side[0][0] != SideRule::periodic || cut.warps == 1;
  int const last = static_cast<int>(a.points[0]) - 1 - begin;
  int const first_lane = open && begin <= 0 ? -begin / width : -1;
  int const last_lane = open && last < warp_size * width ? last / width : -1;
  return line_ends(a, first_lane, last_lane, width - 1);
}

template <class T, int width>
__global__ void __launch_bounds__(warp_size* most_warps, 1)
    line_kernel(__grid_constant__ DiffusionArguments<T> const a, __grid_constant__ Cut const cut) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  T* const own_points = reinterpret_cast<T*>(dynamic_shared);
  auto const cluster = cg::this_cluster();
  int const warps = static_cast<int>(blockDim.x) / warp_size;
  int const warp = static_cast<int>(cluster.block_rank()) * warps + warp_index();
  bool const works = warp < cut.warps;
  int const points = static_cast<int>(a.points[0]);
  int const begin = start_of(a, cut, warp) - cut.halo;
  LineEnds const ends = ends_of<width>(a, cut, begin);
  bool const has_end = __any_sync(
      whole_warp, ends.mirrors() || ends.keeps_first || ends.keeps_last || cut.warps == 1);

  T u[width];
#pragma unroll
  for (int e = 0; e < width; ++e) {
    int const i = begin + lane_index() * width + e;
    bool const periodic = a.side[0][0] == SideRule::periodic;
    int const source = !periodic ? i : i < 0 ? i + points : i >= points ? i - points : i;
    u[e] = works && source >= 0 && source < points ? a.out[source] : T(0);
  }
  T derivative = 0;
  if (ends.mirrors()) derivative = *a.side_value[0][ends.mirrors_first ? 0 : 1];
  cluster.sync();  // nobody writes before all have read, nor reads from a block that is not there

  auto const make_steps = [&](int count, LineEnds const& e) {
#pragma unroll 2
    for (int s = 0; s < count; ++s) {
      T change[width];
      change_along_x<false>(a, u, e, derivative, change);
      update_line<false>(u, change, e);
    }
  };
  LineEnds const no_ends = {lane_index() - 1, lane_index() + 1, -1, false, false, false, false};

  auto const place = [&](int set, int of_warp) {
    return own_points + (set * warps + of_warp) * cut.own;
  };
  auto const is_own = [&](int point) { return point >= 0 && point < cut.own; };
  auto const exchange = [&](int set) {
    int const first = lane_index() * width;
    if (works && is_own(first - cut.halo)) {
#pragma unroll
      for (int e = 0; e < width; ++e) place(set, warp_index())[first + e - cut.halo] = u[e];
    }
    cluster.sync();
    if (!works || is_own(first - cut.halo)) return;
    auto const sources = beside(a, cut, warp);
    bool const is_left = first < cut.halo;
    int const source = is_left ? sources.left : sources.right;
    if (source < 0) return;
    T const* const values =
        cluster.map_shared_rank(place(set, source % warps), static_cast<unsigned>(source / warps)) +
        first + (is_left ? sources.left_shift : sources.right_shift);
#pragma unroll
    for (int e = 0; e < width; ++e) u[e] = values[e];
  };

  int set = 0;
  for (int left = cut.steps;;) {
    int const count = cut.warps == 1 ? left : min(left, cut.halo);
    if (has_end)
      make_steps(count, ends);
    else
      make_steps(count, no_ends);
    left -= count;
    if (left == 0) break;
    exchange(set);
    set ^= 1;
  }
  cluster.sync();  // nobody leaves while its points are read

  if (!works) return;
#pragma unroll
  for (int e = 0; e < width; ++e) {
    int const place_in_warp = lane_index() * width + e - cut.halo;
    if (is_own(place_in_warp)) a.out[begin + cut.halo + place_in_warp] = u[e];
  }
#endif
}

// ----------------------------------------------------------------------------------- the host

/// A kernel whose warps have up to 32·width points, halo included.
template <class T>
struct Shape {
  int width, halo;
  void (*kernel)(DiffusionArguments<T>, Cut);
  bool (*can_hold)(Device const&, Layout const& most);

  int own() const { return warp_size * width - 2 * halo; }
  std::size_t shared_bytes(int warps) const {
    return sizeof(T) * static_cast<std::size_t>(2 * warps * own());
  }
};

template <class T, int width, int halo>
constexpr Shape<T> make_shape() {
  return {width, halo, line_kernel<T, width>, can_hold_on<line_kernel<T, width>>};
}

/// How a line lies on a cluster.
template <class T>
struct Plan {
  Shape<T> const* shape;  // null where it does not fit
  Cut cut;
};

template <class T>
Plan<T> plan_for(long long points, int steps) {
  static constexpr Shape<T> shapes[] = {make_shape<T, 1, 8>(), make_shape<T, 4, 16>(),
                                        make_shape<T, 16, 32>()};
  if (points <= warp_size) return {&shapes[0], {steps, 1, 0, static_cast<int>(points)}};
  if (points > most_blocks * most_warps * warp_size * 16) return {};
  Plan<T> plan{};
  for (auto const& shape : shapes) {
    int const own = shape.own(), count = static_cast<int>((points + own - 1) / own);
    // Neighbours start a halo apart, so that no halo reaches beyond the warp beside.
    bool const overlaps =
        count > 1 && points - own >= static_cast<long long>(count - 1) * shape.halo;
    if (!overlaps || count > most_blocks * most_warps) continue;
    plan = {&shape, {steps, count, shape.halo, own}};
    if (shape.width > 1) break;
  }
  return plan;
}

}  // namespace

template <class T>
bool cuda_fits_line(Device const& device, long long const (&points)[3]) {
  auto const* const shape = plan_for<T>(points[0], 0).shape;
  return shape != nullptr &&
         shape->can_hold(device, {most_blocks, most_warps, shape->shared_bytes(most_warps)});
}

template <class T>
void cuda_resident_line(Stream& stream, DiffusionArguments<T> const& a, int steps) {
  auto const [shape, cut] = plan_for<T>(a.points[0], steps);
  int const blocks = std::min(cut.warps, most_blocks);
  int const warps = (cut.warps + blocks - 1) / blocks;
  launch(stream, shape->kernel, Layout{blocks, warps, shape->shared_bytes(warps)}, a, cut);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                              \
  template bool cuda_fits_line<T>(Device const&, long long const(&points)[3]); \
  template void cuda_resident_line(Stream&, DiffusionArguments<T> const&, int);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::stencil
