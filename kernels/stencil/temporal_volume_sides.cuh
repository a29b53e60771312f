#pragma once

// The sides of a 3D grid for the pass of two steps in cuda_temporal_volume.cu: a kernel that writes
// the points within two of a Dirichlet or Neumann side, 2.3 % of 512³ with six such sides.
//
// Thread-to-data: a block takes a piece beside one side: 30 points along x (along y beside a side
// normal to x), 16 along the other axis of the side, 2 deep. Its warps compute level 1 of the piece
// and a point around it into shared memory, a lane for each of the 32 points of a line, and level 2
// from there. Less than two points of level 1 are computed for one of level 2.

#include <cuda_runtime_api.h>

#include "kernels/stencil/temporal.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::stencil {

constexpr int volume_steps = 2;

/// Tiles of so many points that cover an axis, at least one.
constexpr long long tiles(long long points, long long tile) {
  return points <= tile ? 1 : (points + tile - 1) / tile;
}

template <class T>
GRIDSTRIDE_HOST_DEVICE bool is_open(DiffusionArguments<T> const& a, int axis) {
  return a.side[axis][0] != SideRule::periodic;
}

constexpr int piece_lanes = 30, piece_lines = 16, side_warps = 8;

/// The points near one side, in pieces of one block each.
struct Box {
  int axis;  // that the side is normal to
  int begin[3], end[3];
  unsigned lane_pieces, first_block;
};

/// Those of all open sides, which share no point.
struct Boxes {
  int count;
  unsigned blocks;
  Box box[6];
};

/// Which axis runs along the lanes in pieces beside a side normal to `axis`; and the third.
constexpr int lane_axis(int axis) { return axis == 0 ? 1 : 0; }
constexpr int line_axis(int axis) { return axis == 2 ? 1 : 2; }

/// A point among values that lie `stride` apart along the axes: those of the grid, or some of them
/// with all their neighbours.
template <class T, class Offset, bool is_grid>
struct Spot {
  int at[3];
  int side[3];  // 0 or 1 on an open side, else −1
  T const* center;
  Offset lower[3], upper[3];  // from there to the neighbours; on an open side both the inner one

  __device__ Spot(DiffusionArguments<T> const& a, int const (&index)[3], T const* value,
                  Offset const (&stride)[3])
      : center(value) {
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      int const last = static_cast<int>(a.points[axis]) - 1;
      at[axis] = index[axis];
      side[axis] = -1;
      lower[axis] = -stride[axis];
      upper[axis] = stride[axis];
      if (at[axis] != 0 && at[axis] != last) continue;
      bool const below = at[axis] == 0;
      if (is_open(a, axis)) {
        side[axis] = below ? 0 : 1;
        lower[axis] = upper[axis] = below ? stride[axis] : -stride[axis];
      } else if (is_grid) {
        if (below) lower[axis] = last * stride[axis];
        if (!below) upper[axis] = -last * stride[axis];
      }
    }
  }
};

/// The value after one more step: `update_point`, for values that lie anywhere.
template <class T, class Offset, bool is_grid>
__device__ T stepped(DiffusionArguments<T> const& a, Spot<T, Offset, is_grid> const& spot) {
  T const c = *spot.center;
  T change = 0;
  T const* fixed = nullptr;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    change = add_axis(change, a.weight[axis], spot.center[spot.lower[axis]], c,
                      spot.center[spot.upper[axis]]);
    if (spot.side[axis] < 0) continue;
    T const* const value = a.side_value[axis][spot.side[axis]] +
                           face_offset(axis, a.points, spot.at[0], spot.at[1], spot.at[2]);
    if (a.side[axis][spot.side[axis]] == SideRule::neumann)
      change = add_side(change, a.side_weight[axis], *value);
    else if (!fixed)
      fixed = value;
  }
  return fixed ? *fixed : c + change;
}

/// One block's piece of a box beside a side normal to `axis`.
template <int axis, class T>
__device__ void write_piece(DiffusionArguments<T> const& a, Box const& box, T* first_step) {
  constexpr int lanes = lane_axis(axis), along = line_axis(axis);
  unsigned const piece = blockIdx.x - box.first_block;
  int const lane = threadIdx.x, warp = threadIdx.y;
  int begin[3];
  begin[axis] = box.begin[axis] - 1;
  begin[lanes] = box.begin[lanes] - 1 + piece % box.lane_pieces * piece_lanes;
  begin[along] = box.begin[along] - 1 + piece / box.lane_pieces * piece_lines;
  long long stride[3] = {1, a.points[0], a.points[0] * a.points[1]};
  // Level 1: lines are numbered through the depth first, and lie so in shared memory.
  for (int line = warp; line < 4 * (piece_lines + 2); line += side_warps) {
    int at[3];
    at[axis] = begin[axis] + line % 4;
    at[lanes] = begin[lanes] + lane;
    at[along] = begin[along] + line / 4;
    bool exists = true;
#pragma unroll
    for (int other = 0; other < 3; ++other) {
      int const points = static_cast<int>(a.points[other]);
      exists = exists && at[other] <= box.end[other];
      if (at[other] >= 0 && at[other] < points) continue;
      exists = exists && !is_open(a, other);
      at[other] += at[other] < 0 ? points : -points;
    }
    if (!exists) continue;
    T const* const value = a.in + at[0] + at[1] * stride[1] + at[2] * stride[2];
    first_step[32 * line + lane] = stepped(a, Spot<T, long long, true>(a, at, value, stride));
  }
  __syncthreads();
  int shared_stride[3];
  shared_stride[axis] = 32;
  shared_stride[lanes] = 1;
  shared_stride[along] = 128;
  for (int line = warp; line < 2 * piece_lines; line += side_warps) {
    int at[3];
    at[axis] = begin[axis] + 1 + line % 2;
    at[lanes] = begin[lanes] + lane;
    at[along] = begin[along] + 1 + line / 2;
    if (lane < 1 || lane > piece_lanes || at[lanes] >= box.end[lanes]) continue;
    if (at[axis] >= box.end[axis] || at[along] >= box.end[along]) continue;
    T const* const value = first_step + 128 * (line / 2 + 1) + 32 * (line % 2 + 1) + lane;
    a.out[at[0] + at[1] * stride[1] + at[2] * stride[2]] =
        stepped(a, Spot<T, int, false>(a, at, value, shared_stride));
  }
}

template <class T>
__global__ void __launch_bounds__(32 * side_warps)
    temporal_volume_sides_kernel(__grid_constant__ DiffusionArguments<T> const a,
                                 __grid_constant__ Boxes const boxes) {
  __shared__ T first_step[4 * (piece_lines + 2) * 32];
  int number = 0;
  while (number + 1 < boxes.count && blockIdx.x >= boxes.box[number + 1].first_block) ++number;
  Box const& box = boxes.box[number];
  if (box.axis == 0)
    write_piece<0>(a, box, first_step);
  else if (box.axis == 1)
    write_piece<1>(a, box, first_step);
  else
    write_piece<2>(a, box, first_step);
}

/// The first and last planes, what they leave of the first and last lines, and so on.
template <class T>
Boxes boxes_of(DiffusionArguments<T> const& a) {
  Boxes boxes{};
  int begin[3] = {}, end[3];
  for (int axis = 0; axis < 3; ++axis) end[axis] = static_cast<int>(a.points[axis]);
  for (int axis = 2; axis >= 0; --axis) {
    if (!is_open(a, axis)) continue;
    int const last = end[axis] > 2 * volume_steps ? end[axis] - volume_steps : volume_steps;
    for (int side = 0; side < 2; ++side) {
      Box box{axis, {begin[0], begin[1], begin[2]}, {end[0], end[1], end[2]}, 0, boxes.blocks};
      (side == 0 ? box.end : box.begin)[axis] = side == 0 ? volume_steps : last;
      bool empty = false;
      for (int other = 0; other < 3; ++other) empty = empty || box.begin[other] >= box.end[other];
      if (empty) continue;
      int const lanes = lane_axis(axis), along = line_axis(axis);
      box.lane_pieces =
          static_cast<unsigned>(tiles(box.end[lanes] - box.begin[lanes], piece_lanes));
      boxes.blocks += box.lane_pieces *
                      static_cast<unsigned>(tiles(box.end[along] - box.begin[along], piece_lines));
      boxes.box[boxes.count++] = box;
    }
    begin[axis] = volume_steps;
    end[axis] = last;
  }
  return boxes;
}

/// Queues the kernel, where there are such sides.
template <class T>
void write_sides(Stream& stream, DiffusionArguments<T> const& a) {
  Boxes const boxes = boxes_of(a);
  if (boxes.count == 0) return;
  temporal_volume_sides_kernel<<<boxes.blocks, dim3(32, side_warps), 0, native(stream)>>>(a, boxes);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "stencil temporal_volume sides");
}

}  // namespace gridstride::stencil
