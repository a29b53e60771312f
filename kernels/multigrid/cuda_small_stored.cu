// Small levels whose equations are stored, of two colours, by one block in one kernel, as in cuda_fused.cu.
// There a step takes what it needs of a level apart at every point, in code that a kernel as short as this
// one mostly waits for. Here a point's faces, and where its neighbours are, are 32 bytes in shared memory,
// found once; and between levels values go along one axis after the other.

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/multigrid/march.cuh"
#include "kernels/multigrid/small.cuh"
#include "kernels/multigrid/transfers.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int threads_of_small = 1024;

/// Where in shared memory a block has what, in bytes from its beginning.
template <class S>
struct SmallPlaces {
  int points[Small<S>::most];  ///< of each level two words of 16 bytes for each place of a value,
  int values[Small<S>::most];  ///< and u, f and r, each with a place behind them that holds 0
  int between[2], inverse, numbers, end;

  static int places(Level<S> const& level) { return static_cast<int>(2 * level.colour); }
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
    }
    for (int& one : result.between)
      one = take(sizeof(S) * static_cast<std::size_t>(small.levels[0].size()));
    result.inverse = take(sizeof(S) * static_cast<std::size_t>(small.inverse_size));
    result.numbers = take(sizeof(int) * static_cast<std::size_t>(small.number_size));
    result.end = static_cast<int>(at);
    return result;
  }
};

/// A level as a block has it.
template <class S>
struct InBlock {
  uint4* points;
  S *u, *f, *r;
  int colour;  ///< values of a colour

  __device__ InBlock(unsigned char* shared, SmallPlaces<S> const& at, Level<S> const& level, int l)
      : points(reinterpret_cast<uint4*>(shared + at.points[l])),
        u(reinterpret_cast<S*>(shared + at.values[l])),
        f(u + (2 * level.colour + 1)),
        r(f + (2 * level.colour + 1)),
        colour(static_cast<int>(level.colour)) {}
};

/// A point's equation, and what its neighbours have.
template <class S>
struct SmallRow {
  S face[3][2], beside[3][2], mass, diagonal;

  __device__ SmallRow(uint4 const* point, S const* u) {
    uint4 const faces = point[0], places = point[1];
    unsigned const pairs[3] = {faces.x, faces.y, faces.z},
                   where[3] = {places.x, places.y, places.z};
    mass = S{__uint_as_float(faces.w)};
    diagonal = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      face[axis][0] = S{__uint_as_float(pairs[axis] << 16)};
      face[axis][1] = S{__uint_as_float(pairs[axis] & 0xffff0000u)};
      beside[axis][0] = u[where[axis] & 0xffffu];
      beside[axis][1] = u[where[axis] >> 16];
      diagonal += face[axis][0] + face[axis][1];
    }
    diagonal += mass;
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
    block.points[2 * at] = {faces[0], faces[1], faces[2], mass};
    block.points[2 * at + 1] = {places[0], places[1], places[2], 0};
  }
}

/// As `Relax` has it.
template <class S>
__device__ void relax_small(InBlock<S> const& block, int colour, S over, bool from_zero) {
  for (int one = static_cast<int>(threadIdx.x); one < block.colour; one += threads_of_small) {
    int const at = colour * block.colour + one;
    SmallRow<S> const row(block.points + 2 * at, block.u);
    bool const goes_over = colour == 0 && over != 1;
    S const by = goes_over ? over : S{1}, f = block.f[at];
    S const nearest = row.face[0][0] >= row.face[0][1] ? row.beside[0][0] : row.beside[0][1];
    S const from = from_zero ? S{0} : goes_over ? block.u[at] : nearest;
    S const left = from_zero ? f : f + row.drawn(from);
    block.u[at] = row.diagonal == 0 ? S{0} : from + by * (left / row.diagonal);
  }
}

template <class S>
__device__ void keep_residual_small(InBlock<S> const& block) {
  for (int at = static_cast<int>(threadIdx.x); at < 2 * block.colour; at += threads_of_small)
    block.r[at] = block.f[at] + SmallRow<S>(block.points + 2 * at, block.u).drawn(block.u[at]);
}

/// Between two levels, along one axis after the other: counts are the coarse level's along the axes that
/// have been gone along, and tables those of the axis.
template <class S>
struct SmallTransfer {
  Level<S> const &fine, &coarse;
  int const* numbers;  ///< of tables, in shared memory
  int const* of_numbers;

  __device__ int in_shared(int const* table, int at) const {
    return numbers[table - of_numbers + at];
  }
  __device__ int count(int axis, int coarse_axes) const {
    return axis < coarse_axes ? coarse.count[axis] : fine.count[axis];
  }
  __device__ bool is_kept(int axis, int at) const {
    int const left = in_shared(fine.transfer[axis].left, at);
    return left >= 0 && in_shared(fine.transfer[axis].kept, left) == at;
  }

  /// to(i, j, k) from what is on the side of the coarse level along an axis: what it counts.
  template <class From, class To>
  __device__ void up(int axis, From const& from, To const& to) const {
    int const n = count(0, axis), m = count(1, axis), p = count(2, axis);
    for (int point = static_cast<int>(threadIdx.x); point < n * m * p; point += threads_of_small) {
      auto const [i, j, k] = spot3_of(point, n, m);
      int const at = axis == 0 ? i : axis == 1 ? j : k;
      int const left = in_shared(fine.transfer[axis].left, at),
                right = in_shared(fine.transfer[axis].right, at);
      Weight const* const weights = fine.weight[axis];
      bool const is_kept =
          weights == nullptr || (left >= 0 && in_shared(fine.transfer[axis].kept, left) == at);
      auto const value = [&](int coarse_at) {
        return coarse_at < 0 ? S{0}
                             : from(axis == 0 ? coarse_at : i, axis == 1 ? coarse_at : j,
                                    axis == 2 ? coarse_at : k);
      };
      Weight const weight = is_kept ? Weight(1, 0) : load_weight(weights + point);
      S const sum = weight.of(0) * value(left) + (is_kept ? S{0} : weight.of(1) * value(right));
      to(i, j, k, sum);
    }
  }
  /// And the other way.
  template <class From, class To>
  __device__ void down(int axis, From const& from, To const& to) const {
    int const n = count(0, axis + 1), m = count(1, axis + 1), p = count(2, axis + 1);
    int const fine_n = count(0, axis), fine_m = count(1, axis), all = fine.count[axis];
    for (int point = static_cast<int>(threadIdx.x); point < n * m * p; point += threads_of_small) {
      auto const [i, j, k] = spot3_of(point, n, m);
      int const kept = in_shared(fine.transfer[axis].kept, axis == 0 ? i : axis == 1 ? j : k);
      S sum = 0;
#pragma unroll 1
      for (int step = -1; step <= 1; ++step) {
        int at = kept + step;
        if (step != 0) {
          if (fine.periodic[axis] && all > 1) at = at < 0 ? at + all : at >= all ? at - all : at;
          if (at < 0 || at >= all || is_kept(axis, at)) continue;
        }
        int const x = axis == 0 ? at : i, y = axis == 1 ? at : j, z = axis == 2 ? at : k;
        sum += given(fine.weight[axis], step + 1, (z * fine_m + y) * fine_n + x) * from(x, y, z);
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
  copy_all(inverse, small.inverse, small.inverse_size);
  copy_all(numbers, small.numbers, small.number_size);
  for (int l = 0; l < small.count; ++l) {
    Level<S> const& level = small.levels[l];
    InBlock<S> const block(in_block, places, level, l);
    find_points(level, block);
    bool const known = l == 0 || orders.begins_amid;
    for (int at = static_cast<int>(threadIdx.x); at <= 2 * block.colour; at += threads_of_small) {
      bool const is_value = known && at < 2 * block.colour;
      block.u[at] = is_value ? level.u[at] : S{0};
      block.f[at] = is_value ? level.f[at] : S{0};
      block.r[at] = is_value && orders.begins_amid ? level.r[at] : S{0};
    }
  }
  __syncthreads();
  for (int number = 0; number < orders.count; ++number) {
    Order const order = orders.list[number];
    Level<S> const& level = small.levels[order.level];
    int const next = min(order.level + 1, small.count - 1);
    Level<S> const& coarse = small.levels[next];
    InBlock<S> const block(in_block, places, level, order.level),
        below(in_block, places, coarse, next);
    SmallTransfer<S> const transfer{level, coarse, numbers, small.numbers};
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
        relax_small(block, order.number, static_cast<S>(order.over), order.flag);
        break;
      case Kind::keep_residual:
        keep_residual_small(block);
        break;
      case Kind::gather:
      case Kind::gather_f: {
        S const* const values = order.kind == Kind::gather ? block.r : block.f;
        transfer.down(
            0, [&](int i, int j, int k) { return values[level.place(i, j, k)]; },
            [&](int i, int j, int k, S sum) { of_x(i, j, k) = sum; });
        __syncthreads();
        transfer.down(1, of_x, [&](int i, int j, int k, S sum) { of_plane(i, j, k) = sum; });
        __syncthreads();
        transfer.down(2, of_plane,
                      [&](int i, int j, int k, S sum) { below.f[coarse.place(i, j, k)] = sum; });
        break;
      }
      case Kind::correct:
        transfer.up(
            2, [&](int i, int j, int k) { return below.u[coarse.place(i, j, k)]; },
            [&](int i, int j, int k, S sum) { of_plane(i, j, k) = sum; });
        __syncthreads();
        transfer.up(1, of_plane, [&](int i, int j, int k, S sum) { of_x(i, j, k) = sum; });
        __syncthreads();
        transfer.up(0, of_x, [&](int i, int j, int k, S sum) {
          if ((order.number >> ((i + j + k) & 1) & 1) == 0) return;
          S& u = block.u[level.place(i, j, k)];
          u = order.flag ? u + sum : sum;
        });
        break;
      case Kind::solve: {
        int const size = static_cast<int>(level.size()),
                  lane = static_cast<int>(threadIdx.x) % warp_size;
        for (int row = static_cast<int>(threadIdx.x) / warp_size; row < size;
             row += threads_of_small / warp_size) {
          S sum = 0;
          for (int column = lane; column < size; column += warp_size) {
            auto const [i, j, k] = spot3_of(column, n, m);
            sum += inverse[row * size + column] * block.f[level.place(i, j, k)];
          }
          for (int distance = warp_size / 2; distance > 0; distance /= 2)
            sum += __shfl_down_sync(~0u, sum, distance);
          auto const [i, j, k] = spot3_of(row, n, m);
          if (lane == 0) block.u[level.place(i, j, k)] = sum;
        }
        break;
      }
      default:
        break;  // of seams
    }
    __syncthreads();
  }
  for (int l = 0; l < (orders.ends_amid ? small.count : 1); ++l) {
    Level<S> const& level = small.levels[l];
    InBlock<S> const block(in_block, places, level, l);
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
  GRIDSTRIDE_CUDA(cudaFuncSetAttribute(small_stored_kernel<S>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, places.end));
  small_stored_kernel<<<1, threads_of_small, static_cast<std::size_t>(places.end),
                        native(stream)>>>(orders, small, places);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid small levels");
}

#define GRIDSTRIDE_INSTANTIATE(S)                                 \
  template bool has_small_stored(Stream const&, Small<S> const&); \
  template void small_stored(Stream&, Orders const&, Small<S> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid
