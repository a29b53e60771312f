// Small levels whose equations are stored, of two colours, by one block in one kernel, as in cuda_fused.cu.
// There a step takes what it needs of a level apart at every point, in code that a kernel as short as this
// one mostly waits for. Here a point's faces, and where its neighbours are, are 32 bytes in shared memory,
// found once; and between levels values go along one axis after the other.

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/multigrid/follow.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/multigrid/small.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int threads_of_small = 1024;

/// A level as a block has it, itself in shared memory: what kernels are given would come from further away.
template <class S>
struct InBlock {
  uint4* points;
  S *u, *f, *r;
  Weight const* weights[3];  ///< null: no change along the axis
  int const *left[3], *right[3], *kept[3];
  int count[3], half, colour;
  bool periodic[3];

  __device__ int place(int i, int j, int k) const {
    return ((i + j + k) & 1) * colour + (k * count[1] + j) * half + (i >> 1);
  }
};

/// Where in shared memory a block has what, in bytes from its beginning.
template <class S>
struct SmallPlaces {
  int points[Small<S>::most];  ///< of each level two words of 16 bytes for each place of a value,
  int values[Small<S>::most];  ///< and u, f and r, each with a place behind them that holds 0
  int weights[Small<S>::most][3];
  int between[2], inverse, numbers, levels, orders, end;

  GRIDSTRIDE_HOST_DEVICE static int places(Level<S> const& level) {
    return static_cast<int>(2 * level.colour);
  }
  /// Points that are coarse along the axes before one.
  GRIDSTRIDE_HOST_DEVICE static int points_between(Level<S> const& fine, Level<S> const& coarse,
                                                   int axis) {
    int const n = axis > 0 ? coarse.count[0] : fine.count[0];
    int const m = axis > 1 ? coarse.count[1] : fine.count[1];
    return n * m * fine.count[2];
  }
  /// Of the weights of an axis.
  GRIDSTRIDE_HOST_DEVICE static int weights_of(Small<S> const& small, int l, int axis) {
    Level<S> const& level = small.levels[l];
    if (l + 1 == small.count || level.weight[axis] == nullptr) return 0;
    return points_between(level, small.levels[l + 1], axis);
  }
  static SmallPlaces of(Small<S> const& small) {
    SmallPlaces result{};
    std::size_t at = 0;
    auto const take = [&](std::size_t bytes) {
      auto const begin = static_cast<int>(at);
      at += (bytes + 15) / 16 * 16;
      return begin;
    };
    for (int l = 0; l < small.count; ++l) {
      auto const size = static_cast<std::size_t>(places(small.levels[l]));
      result.points[l] = take(2 * sizeof(uint4) * size);
      result.values[l] = take(3 * sizeof(S) * (size + 1));
      for (int axis = 0; axis < 3; ++axis)
        result.weights[l][axis] =
            take(sizeof(Weight) * static_cast<std::size_t>(weights_of(small, l, axis)));
    }
    for (int axis = 1; axis < 3; ++axis) {
      int const most = points_between(small.levels[0], small.levels[small.count > 1 ? 1 : 0], axis);
      result.between[axis - 1] = take(sizeof(S) * static_cast<std::size_t>(most));
    }
    result.inverse = take(sizeof(S) * static_cast<std::size_t>(small.inverse_size));
    result.numbers = take(sizeof(int) * static_cast<std::size_t>(small.number_size));
    result.levels = take(sizeof(InBlock<S>) * static_cast<std::size_t>(small.count));
    result.orders = take(sizeof(Order) * most_orders);
    result.end = static_cast<int>(at);
    return result;
  }
};

/// A point's equation, and what its neighbours have.
template <class S>
struct SmallRow {
  S face[3][2], beside[3][2], mass;
  float reciprocal;  ///< of the diagonal, or 0

  __device__ SmallRow(InBlock<S> const& block, int at) {
    uint4 const faces = block.points[at], places = block.points[2 * block.colour + at];
    S const* const u = block.u;
    unsigned const pairs[3] = {faces.x, faces.y, faces.z},
                   where[3] = {places.x, places.y, places.z};
    mass = S{__uint_as_float(faces.w)};
    reciprocal = __uint_as_float(places.w);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      face[axis][0] = S{__uint_as_float(pairs[axis] << 16)};
      face[axis][1] = S{__uint_as_float(pairs[axis] & 0xffff0000u)};
      beside[axis][0] = u[where[axis] & 0xffffu];
      beside[axis][1] = u[where[axis] >> 16];
    }
  }
  /// Something over the diagonal.
  __device__ S quotient(S something) const {
    if constexpr (sizeof(S) == sizeof(float)) return something * reciprocal;
    S diagonal = mass;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) diagonal += face[axis][0] + face[axis][1];
    return something / diagonal;
  }
  __device__ S drawn(S from) const {
    S sum = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
      sum += face[axis][0] * (beside[axis][0] - from) + face[axis][1] * (beside[axis][1] - from);
    return sum - mass * from;
  }
};

struct Spot3 {
  int i, j, k;
};
/// Of the point with a number, of so many in a row and rows in a plane.
__device__ inline Spot3 spot3_of(int number, int n, int m) {
  // Of numbers up to some ten thousand this is exact.
  int const line =
      static_cast<int>(__fdividef(static_cast<float>(number) + 0.5f, static_cast<float>(n)));
  int const plane =
      static_cast<int>(__fdividef(static_cast<float>(line) + 0.5f, static_cast<float>(m)));
  return {number - line * n, line - plane * m, plane};
}

template <class S>
__device__ InBlock<S> in_block_of(Small<S> const& small, SmallPlaces<S> const& at, int l,
                                  unsigned char* shared) {
  Level<S> const& level = small.levels[l];
  InBlock<S> block{};
  int const size = SmallPlaces<S>::places(level) + 1;
  block.points = reinterpret_cast<uint4*>(shared + at.points[l]);
  block.u = reinterpret_cast<S*>(shared + at.values[l]);
  block.f = block.u + size;
  block.r = block.f + size;
  block.half = level.half;
  block.colour = static_cast<int>(level.colour);
  int const* const numbers = reinterpret_cast<int const*>(shared + at.numbers);
  for (int axis = 0; axis < 3; ++axis) {
    block.count[axis] = level.count[axis];
    block.periodic[axis] = level.periodic[axis];
    if (l + 1 == small.count) continue;
    if (level.weight[axis] != nullptr)
      block.weights[axis] = reinterpret_cast<Weight const*>(shared + at.weights[l][axis]);
    auto const& transfer = level.transfer[axis];
    block.left[axis] = numbers + (transfer.left - small.numbers);
    block.right[axis] = numbers + (transfer.right - small.numbers);
    block.kept[axis] = numbers + (transfer.kept - small.numbers);
  }
  return block;
}

/// Faces of a level's points, and where their neighbours are: where there is none what is 0.
template <class S>
__device__ void find_points(Level<S> const& level, InBlock<S> const& block) {
  int const size = 2 * block.colour;
  for (int at = static_cast<int>(threadIdx.x); at < size; at += threads_of_small) {
    int const colour = at < block.colour ? 0 : 1;
    auto const [x, j, k] = spot3_of(at - colour * block.colour, level.half, level.count[1]);
    int const here[3] = {2 * x + ((colour + j + k) & 1), j, k};
    auto const none = static_cast<unsigned>(size);
    unsigned faces[3] = {0, 0, 0},
             places[3] = {none | none << 16, none | none << 16, none | none << 16};
    unsigned mass = 0;
    if (here[0] < level.count[0]) {
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        int const count = level.count[axis];
        if (level.face[axis] == nullptr) continue;
        std::int64_t const place = level.face_place(axis, here[0], j, k);
        faces[axis] = level.face[axis][place].bits |
                      unsigned{level.face[axis][place + level.face_stride(axis)].bits} << 16;
        unsigned beside[2];
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          int next = here[axis] + (side == 0 ? -1 : 1);
          if (level.periodic[axis] && count > 1)
            next = next < 0 ? count - 1 : next == count ? 0 : next;
          bool const is_point = next >= 0 && next < count;
          beside[side] =
              !is_point
                  ? none
                  : static_cast<unsigned>(level.place(axis == 0 ? next : here[0],
                                                      axis == 1 ? next : j, axis == 2 ? next : k));
        }
        places[axis] = beside[0] | beside[1] << 16;
      }
      if (level.mass != nullptr)
        mass = unsigned{level.mass[level.mass_place(here[0], j, k)].bits} << 16;
    }
    float diagonal = __uint_as_float(mass);
    for (unsigned const pair : faces)
      diagonal += __uint_as_float(pair << 16) + __uint_as_float(pair & 0xffff0000u);
    block.points[at] = {faces[0], faces[1], faces[2], mass};
    block.points[size + at] = {places[0], places[1], places[2],
                               __float_as_uint(diagonal == 0 ? 0.0f : 1 / diagonal)};
  }
}

/// As `Relax` has it.
template <class S>
__device__ void relax_small(InBlock<S> const& block, int colour, S over, bool from_zero) {
  for (int one = static_cast<int>(threadIdx.x); one < block.colour; one += threads_of_small) {
    int const at = colour * block.colour + one;
    SmallRow<S> const row(block, at);
    bool const goes_over = colour == 0 && over != 1;
    S const by = goes_over ? over : S{1}, f = block.f[at];
    S const nearest = row.face[0][0] >= row.face[0][1] ? row.beside[0][0] : row.beside[0][1];
    S const from = from_zero ? S{0} : goes_over ? block.u[at] : nearest;
    S const left = from_zero ? f : f + row.drawn(from);
    block.u[at] = row.reciprocal == 0 ? S{0} : from + by * row.quotient(left);
  }
}

template <class S>
__device__ void keep_residual_small(InBlock<S> const& block) {
  for (int at = static_cast<int>(threadIdx.x); at < 2 * block.colour; at += threads_of_small)
    block.r[at] = block.f[at] + SmallRow<S>(block, at).drawn(block.u[at]);
}

/// Between two levels, along one axis after the other: counts are the coarse level's along the axes that
/// have been gone along, and tables those of the axis.
template <class S>
struct SmallTransfer {
  InBlock<S> const &fine, &coarse;

  __device__ int count(int axis, int coarse_axes) const {
    return axis < coarse_axes ? coarse.count[axis] : fine.count[axis];
  }
  __device__ bool is_kept(int axis, int at) const {
    int const left = fine.left[axis][at];
    return left >= 0 && fine.kept[axis][left] == at;
  }

  /// to(i, j, k) from what is on the side of the coarse level along an axis: what it counts.
  template <class From, class To>
  __device__ void up(int axis, From const& from, To const& to) const {
    int const n = count(0, axis), m = count(1, axis), p = count(2, axis);
    for (int point = static_cast<int>(threadIdx.x); point < n * m * p; point += threads_of_small) {
      auto const [i, j, k] = spot3_of(point, n, m);
      int const at = axis == 0 ? i : axis == 1 ? j : k;
      int const left = fine.left[axis][at], right = fine.right[axis][at];
      bool const is_kept =
          fine.weights[axis] == nullptr || (left >= 0 && fine.kept[axis][left] == at);
      auto const value = [&](int coarse_at) {
        return coarse_at < 0 ? S{0}
                             : from(axis == 0 ? coarse_at : i, axis == 1 ? coarse_at : j,
                                    axis == 2 ? coarse_at : k);
      };
      if (is_kept) {
        to(i, j, k, value(left));
        continue;
      }
      Weight const weight = fine.weights[axis][point];
      to(i, j, k, weight.of(0) * value(left) + weight.of(1) * value(right));
    }
  }
  /// And the other way.
  template <class From, class To>
  __device__ void down(int axis, From const& from, To const& to) const {
    int const n = count(0, axis + 1), m = count(1, axis + 1), p = count(2, axis + 1);
    int const fine_n = count(0, axis), fine_m = count(1, axis), all = fine.count[axis];
    for (int point = static_cast<int>(threadIdx.x); point < n * m * p; point += threads_of_small) {
      auto const [i, j, k] = spot3_of(point, n, m);
      int const kept = fine.kept[axis][axis == 0 ? i : axis == 1 ? j : k];
      S sum = 0;
#pragma unroll 1
      for (int step = -1; step <= 1; ++step) {
        int at = kept + step;
        if (step != 0) {
          if (fine.periodic[axis] && all > 1) at = at < 0 ? at + all : at >= all ? at - all : at;
          if (at < 0 || at >= all || is_kept(axis, at)) continue;
        }
        int const x = axis == 0 ? at : i, y = axis == 1 ? at : j, z = axis == 2 ? at : k;
        // What is behind a kept point has it on its left.
        sum += step == 0 ? from(x, y, z)
                         : fine.weights[axis][(z * fine_m + y) * fine_n + x].of(step < 0 ? 1 : 0) *
                               from(x, y, z);
      }
      to(i, j, k, sum);
    }
  }
};

template <class S>
__global__ void __launch_bounds__(threads_of_small)
    small_stored_kernel(__grid_constant__ Orders const orders,
                        __grid_constant__ Small<S> const small,
                        __grid_constant__ SmallPlaces<S> const places) {
  extern __shared__ __align__(16) unsigned char in_block[];
  S* const inverse = reinterpret_cast<S*>(in_block + places.inverse);
  int* const numbers = reinterpret_cast<int*>(in_block + places.numbers);
  S* const between[2] = {reinterpret_cast<S*>(in_block + places.between[0]),
                         reinterpret_cast<S*>(in_block + places.between[1])};
  auto* const levels = reinterpret_cast<InBlock<S>*>(in_block + places.levels);
  auto* const list = reinterpret_cast<Order*>(in_block + places.orders);
  int const thread = static_cast<int>(threadIdx.x);
  if (thread < small.count) levels[thread] = in_block_of(small, places, thread, in_block);
  copy_all(inverse, small.inverse, small.inverse_size);
  copy_all(numbers, small.numbers, small.number_size);
  copy_all(list, orders.list, orders.count);
  __syncthreads();
  for (int l = 0; l < small.count; ++l) {
    find_points(small.levels[l], levels[l]);
    for (int axis = 0; axis < 3; ++axis)
      copy_all(reinterpret_cast<Weight*>(in_block + places.weights[l][axis]),
               small.levels[l].weight[axis], SmallPlaces<S>::weights_of(small, l, axis));
  }
  wait_for_kernel_before();
  for (int l = 0; l < small.count; ++l) {
    Level<S> const& level = small.levels[l];
    InBlock<S> const& block = levels[l];
    int const size = 2 * block.colour;
    bool const known = l == 0 || orders.begins_amid;
    for (int at = thread; at <= size; at += threads_of_small) {
      bool const is_value = known && at < size;
      block.u[at] = is_value ? level.u[at] : S{0};
      block.f[at] = is_value ? level.f[at] : S{0};
      block.r[at] = is_value && orders.begins_amid ? level.r[at] : S{0};
    }
  }
  __syncthreads();
  for (int number = 0; number < orders.count; ++number) {
    Order const order = list[number];
    InBlock<S> const& level = levels[order.level];
    InBlock<S> const& coarse = levels[min(order.level + 1, small.count - 1)];
    SmallTransfer<S> const transfer{level, coarse};
    int const n = level.count[0], coarse_n = coarse.count[0], m = level.count[1],
              coarse_m = coarse.count[1];
    // What goes between levels is coarse along x, or along x and y.
    auto const of_x = [&](int i, int j, int k) -> S& {
      return between[0][(k * m + j) * coarse_n + i];
    };
    auto const of_plane = [&](int i, int j, int k) -> S& {
      return between[1][(k * coarse_m + j) * coarse_n + i];
    };
    switch (order.kind) {
      case Kind::relax:
        relax_small(level, order.number, static_cast<S>(order.over), order.flag);
        break;
      case Kind::keep_residual:
        keep_residual_small(level);
        break;
      case Kind::gather:
      case Kind::gather_f: {
        S const* const values = order.kind == Kind::gather ? level.r : level.f;
        transfer.down(
            0, [&](int i, int j, int k) { return values[level.place(i, j, k)]; },
            [&](int i, int j, int k, S sum) { of_x(i, j, k) = sum; });
        __syncthreads();
        transfer.down(1, of_x, [&](int i, int j, int k, S sum) { of_plane(i, j, k) = sum; });
        __syncthreads();
        transfer.down(2, of_plane,
                      [&](int i, int j, int k, S sum) { coarse.f[coarse.place(i, j, k)] = sum; });
        break;
      }
      case Kind::correct:
        transfer.up(
            2, [&](int i, int j, int k) { return coarse.u[coarse.place(i, j, k)]; },
            [&](int i, int j, int k, S sum) { of_plane(i, j, k) = sum; });
        __syncthreads();
        transfer.up(1, of_plane, [&](int i, int j, int k, S sum) { of_x(i, j, k) = sum; });
        __syncthreads();
        transfer.up(0, of_x, [&](int i, int j, int k, S sum) {
          if ((order.number >> ((i + j + k) & 1) & 1) == 0) return;
          S& u = level.u[level.place(i, j, k)];
          u = order.flag ? u + sum : sum;
        });
        break;
      case Kind::solve: {
        int const size = n * m * level.count[2], lane = static_cast<int>(threadIdx.x) % warp_size;
        auto const solve = [&](auto const* by) {
          for (int row = static_cast<int>(threadIdx.x) / warp_size; row < size;
               row += threads_of_small / warp_size) {
            decltype(*by * S{}) sum = 0;
            for (int column = lane; column < size; column += warp_size) {
              auto const [i, j, k] = spot3_of(column, n, m);
              sum += by[row * size + column] * level.f[level.place(i, j, k)];
            }
            for (int distance = warp_size / 2; distance > 0; distance /= 2)
              sum += __shfl_down_sync(~0u, sum, distance);
            auto const [i, j, k] = spot3_of(row, n, m);
            if (lane == 0) level.u[level.place(i, j, k)] = static_cast<S>(sum);
          }
        };
        if (small.inverse_size > 0)
          solve(inverse);
        else
          solve(small.inverse);
        break;
      }
      default:
        break;  // of seams
    }
    __syncthreads();
  }
  for (int l = 0; l < (orders.ends_amid ? small.count : 1); ++l) {
    Level<S> const& level = small.levels[l];
    InBlock<S> const& block = levels[l];
    copy_all(level.u, block.u, 2 * block.colour);
    copy_all(level.f, block.f, 2 * block.colour);
    if (orders.ends_amid) copy_all(level.r, block.r, 2 * block.colour);
  }
}

}  // namespace

template <class S>
bool has_small_stored(Stream const& stream, Small<S> const& small) {
  for (int l = 0; l < small.count; ++l)
    if (!small.levels[l].is_stored() || small.levels[l].has_seam()) return false;
  auto const bytes = static_cast<int>(stream.device().capabilities().shared_bytes);
  return SmallPlaces<S>::of(small).end <= bytes;
}

template <class S>
void small_stored(Stream& stream, Orders const& orders, Small<S> const& small) {
  auto const places = SmallPlaces<S>::of(small);
  allow_shared_bytes(small_stored_kernel<S>, static_cast<std::size_t>(places.end));
  follow(stream, small_stored_kernel<S>, 1, threads_of_small, static_cast<std::size_t>(places.end),
         orders, small, places);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid small levels");
}

#define GRIDSTRIDE_INSTANTIATE(S)                                 \
  template bool has_small_stored(Stream const&, Small<S> const&); \
  template void small_stored(Stream&, Orders const&, Small<S> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid
