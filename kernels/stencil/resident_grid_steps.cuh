#pragma once

#include <cooperative_groups.h>

#include "kernels/stencil/resident_exchange.cuh"

/// Steps of tiles that blocks keep in registers; cuda_resident_grid.cu tells how they work.
namespace gridstride::stencil::resident {

template <class T, int width>
__device__ void differences(T const (&upper)[width], T const (&lower)[width], T (&result)[width]) {
#pragma unroll
  for (int e = 0; e < width; ++e) result[e] = upper[e] - lower[e];
}

template <class T, int width>
__device__ void copy_line(T const (&from)[width], T (&to)[width]) {
#pragma unroll
  for (int e = 0; e < width; ++e) to[e] = from[e];
}

/// A block's tile, as its warps make steps of it.
template <class Shape>
class TileSteps {
  using T = typename Shape::T;
  using Memory = TileMemory<Shape>;
  using Line = typename Memory::Line;
  static constexpr int width = Shape::width, lines = Shape::lines, last = lines - 1;

 public:
  __device__ TileSteps(DiffusionArguments<T> const& a, int warps, Memory const& memory)
      : a_(a), memory_(memory) {
    auto const& map = memory.map();
    bool const at_left = map.x.left == 0, at_right = map.x.right == 0;
    ends_ = line_ends(a, at_left ? 0 : -1, at_right ? map.x.end() - 1 : -1, width - 1);
    on_lower_ = map.y.above == 0 && warp_index() == 0;
    on_upper_ = map.y.below == 0 && warp_index() + 1 == warps;
  }

  /// Makes a step of the warp's lines, once `meet` returns with those above and below.
  template <bool mirrors, class Meet>
  __device__ void make(typename Shape::Points& u, unsigned char const* above,
                       unsigned char const* below, Meet const& meet) const {
    T first_up[width], down[width], up[width];
    differences(u[1], u[0], first_up);
    copy_line(first_up, down);
#pragma unroll
    for (int l = 1; l < last; ++l) {
      differences(u[l + 1], u[l], up);
      T change[width];
      change_line<mirrors>(l, u[l], down, up, change);
      update_line<false>(u[l], change, ends_);
      copy_line(up, down);
    }
    meet();
    make_outer<mirrors>(1, u[last], below, down);
    make_outer<mirrors>(0, u[0], above, first_up);
  }

 private:
  template <bool mirrors>
  __device__ void change_line(int l, T const (&u)[width], T const (&down)[width],
                              T const (&up)[width], T (&change)[width]) const {
    LineEnds ends = ends_;
    T derivative = 0;
    if (!mirrors)
      ends.mirrors_first = ends.mirrors_last = false;
    else if (ends.mirrors())
      derivative = *memory_.end_derivative(ends.mirrors_first ? 0 : 1, warp_index() * lines + l);
    change_along_x<false>(a_, u, ends, derivative, change);
#pragma unroll
    for (int e = 0; e < width; ++e)
      change[e] = add_differences(change[e], a_.weight[1], down[e], up[e]);
  }

  /// The warp's first (0) or last (1) line, which differs so much from the one within, upper − lower.
  template <bool mirrors>
  __device__ void make_outer(int side, T (&u)[width], unsigned char const* beside,
                             T const (&within)[width]) const {
    bool const on_side = side == 0 ? on_lower_ : on_upper_;
    T outer[width], change[width];
    if (on_side) {
#pragma unroll
      for (int e = 0; e < width; ++e) outer[e] = -within[e];
    } else {
      Line::load(beside, outer);
      if (side == 0)
        differences(u, outer, outer);
      else
        differences(outer, u, outer);
    }
    if (side == 0)
      change_line<mirrors>(0, u, outer, within, change);
    else
      change_line<mirrors>(last, u, within, outer, change);
    if (on_side) {
      if (a_.side[1][side] == SideRule::dirichlet) return;
      Line::load(memory_.derivatives(side), outer);
#pragma unroll
      for (int e = 0; e < width; ++e) change[e] = add_side(change[e], a_.side_weight[1], outer[e]);
    }
    update_line<false>(u, change, ends_);
  }

  DiffusionArguments<T> const& a_;
  Memory memory_;
  LineEnds ends_;
  bool on_lower_, on_upper_;
};

/// The GPU's line that is number `line` of a tile, or one of a tile across a periodic side.
template <class Shape>
__device__ int line_of_grid(DiffusionArguments<typename Shape::T> const& a, int line) {
  if constexpr (Shape::shared) return line;
  int const all = static_cast<int>(a.points[1]);
  return line < 0 ? line + all : line >= all ? line - all : line;
}

/// The points of a line that a lane has; −1: there is none.
template <class Shape>
__device__ void find_points(DiffusionArguments<typename Shape::T> const& a, TileLanes const& x,
                            int (&place)[Shape::width]) {
  int const points = static_cast<int>(a.points[0]);
  bool const periodic = a.side[0][0] == SideRule::periodic;
#pragma unroll
  for (int e = 0; e < Shape::width; ++e) {
    int const number = lane_index() * Shape::width + e;
    int i = x.first + number;
    if (periodic) i = i < 0 ? i + points : i >= points ? i - points : i;
    place[e] = i < points ? i : -1;
  }
}

/// Whether one of the lane's points is the tile's own.
template <class Shape>
__device__ bool is_own(TileLanes const& x, int e) {
  int const number = lane_index() * Shape::width + e;
  return number >= x.left * Shape::width + x.pad && number < x.end() * Shape::width;
}

/// Reads a warp's lines, and ∂u/∂n on sides into shared memory. Of planes that GPUs share only the tile's
/// own points are read: all others come by exchange.
template <class Shape, class T>
__device__ void read_tile(DiffusionArguments<T> const& a, TileMemory<Shape> const& memory,
                          int first, typename Shape::Points& u) {
  auto const& map = memory.map();
  TileLines const& y = map.y;
  constexpr int width = Shape::width;
  bool const periodic = a.side[0][0] == SideRule::periodic;
  int place[width];
  find_points<Shape>(a, map.x, place);
  int const from_line = Shape::shared ? y.own_at() : y.top;
  int const to_line = Shape::shared ? y.own_at() + y.own : y.end();
#pragma unroll
  for (int l = 0; l < Shape::lines; ++l) {
    int const line = first + l;
    bool const exists = line >= from_line && line < to_line;
    T const* const from =
        a.out + (exists ? line_of_grid<Shape>(a, y.first + line) : 0) * a.points[0];
#pragma unroll
    for (int e = 0; e < width; ++e) {
      bool const is_read = exists && place[e] >= 0 && (!Shape::shared || is_own<Shape>(map.x, e));
      u[l][e] = is_read ? from[place[e]] : T(0);
    }
  }
  int const thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int side = 0; side < 2 && !periodic; ++side)
    for (int line = y.top + thread; line < y.end(); line += threads)
      *memory.end_derivative(side, line) =
          a.side_value[0][side][line_of_grid<Shape>(a, y.first + line)];
  if (warp_index() > 0) return;
  for (int side = 0; side < 2; ++side) {
    if (map.halo_lines(side) > 0) continue;
    T derivatives[width];
#pragma unroll
    for (int e = 0; e < width; ++e)
      derivatives[e] = place[e] >= 0 ? a.side_value[1][side][place[e]] : T(0);
    TileMemory<Shape>::Line::store(memory.derivatives(side), derivatives);
  }
}

/// Writes those of a warp's points that are the block's own.
template <class Shape, class T>
__device__ void write_tile(DiffusionArguments<T> const& a, TileMap<Shape> const& map, int first,
                           typename Shape::Points const& u) {
  TileLines const& y = map.y;
  TileLanes const& x = map.x;
  int const own = (lane_index() - x.left) * Shape::width - x.pad;
  int const own_points = x.own * Shape::width - x.pad;
  T* to = a.out + (y.first + first) * a.points[0] + x.first + lane_index() * Shape::width;
#pragma unroll
  for (int l = 0; l < Shape::lines; ++l) {
    int const line = first + l - y.own_at();
    if (line >= 0 && line < y.own) {
#pragma unroll
      for (int e = 0; e < Shape::width; ++e)
        if (own + e >= 0 && own + e < own_points) to[e] = u[l][e];
    }
    to += a.points[0];
  }
}

/// So many steps after an exchange, none of a warp's lines is right any more: with tiles of this GPU, or
/// with others (`across`).
template <class Shape>
__device__ int good_steps(TileMap<Shape> const& map, int first, int all_steps, bool across) {
  TileLines const& y = map.y;
  if (first >= y.end() || first + Shape::lines <= y.top) return 0;
  auto const counts = [&](int side) {
    return map.halo_lines(side) > 0 && map.is_across(side) == across;
  };
  int const above = counts(0) ? first + Shape::lines - y.top : all_steps + 1;
  int const below = counts(1) ? y.end() - first : all_steps + 1;
  return min(above, below);
}

template <class Shape, bool mirrors, class T>
__global__ void __launch_bounds__(warp_size* Shape::warps, 1)
    resident_grid_kernel(__grid_constant__ DiffusionArguments<T> const a,
                         __grid_constant__ GridWork const work) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  using Memory = TileMemory<Shape>;
  using Line = typename Memory::Line;
  constexpr int lines = Shape::lines;
  Memory const memory{dynamic_shared};
  auto& map = memory.map();
  if (threadIdx.x == 0) map.fill(a, work);
  __syncthreads();
  TileCut const& cut = work.cut;
  TileExchange<Shape> const exchange(memory);
  typename Shape::Points u;
  read_tile(a, memory, warp_index() * lines, u);
  Exchanges number = work.before;
  exchange.find_routes();
  if constexpr (Shape::shared) {
    __syncthreads();  // the first exchange has all else that lies around the tile
  } else {
    exchange.empty_box();
    // Nobody writes u before all have read it, nor sends before all boxes are empty.
    cooperative_groups::this_grid().sync();
  }
  int set = 0;
  int left = work.steps, since_across = 0;
  while (true) {
    if constexpr (Shape::shared) {
      bool const with_others = since_across == 0;
      exchange.trade(u, {++number.all, with_others ? ++number.across : number.across}, with_others);
    }
    // All this is found anew after each exchange, which needs the registers.
    int const warps = cut.warps, warp = warp_anew(), first = warp * lines;
    TileSteps<Shape> const steps(a, warps, memory);
    int const good = good_steps(map, first, work.steps, false);
    int const good_across = good_steps(map, first, work.steps, true);
    // The outermost warps read what is not used.
    unsigned char* const own = memory.border(warp, 0);
    unsigned char const* const above = memory.border(max(warp - 1, 0), 1);
    unsigned char const* const below = memory.border(min(warp + 1, warps - 1), 0);
    int const count = map.has_neighbours() ? min(left, cut.depth) : left;
#pragma unroll 1
    for (int s = 0; s < count; ++s) {
      Line::store(own + set, u[0]);
      Line::store(own + set + Line::bytes, u[lines - 1]);
      auto const meet = [] { __syncthreads(); };
      if (s + 1 < good && (!Shape::shared || since_across + s + 1 < good_across))
        steps.template make<mirrors>(u, above + set, below + set, meet);
      else
        meet();
      set = Memory::border_set - set;
    }
    left -= count;
    if (left == 0) break;
    if constexpr (Shape::shared) {
      since_across += count;
      if (since_across == cut.across) since_across = 0;
    } else {
      exchange.trade(u, {++number.all, 0}, false);
    }
  }
  write_tile<Shape>(a, map, warp_index() * lines, u);
}

}  // namespace gridstride::stencil::resident
