// Between large levels whose equations are stored. Which points are kept is known by tables, whatever the sides:
// mostly every second one, but where a number of intervals is odd two that are beside each other. What they say of
// the rows and columns around a thread is looked up once, and places are added to from plane to plane.
//
// Down: a plane of the fine level that lies between two coarse ones is gathered once, for both. Up: a lane of a warp
// has a coarse column, interpolated along y and z, and what stands before it, in its row and in the one before.
//
// Points that are none are loaded from where there is one, and not stored: what is decided point by point takes
// longer than memory.

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/follow.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/multigrid/transfers.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

/// What a coarse point takes of a plane of the fine level. In rows where the kept point is of the first
/// colour, it alone is; in others it is none, and both beside it are.
template <class S>
struct TakenOfPlane {
  S centre[3], sides[3][2];
  LoadedWeight before[3], behind[3], of_before, of_behind;  // of points, and of rows

  __device__ S sum() const {
    S line[3];
#pragma unroll
    for (int b = 0; b < 3; ++b)
      line[b] = centre[b] + (before[b].of(1) * sides[b][0] + behind[b].of(0) * sides[b][1]);
    return line[1] + (of_before.of(1) * line[0] + of_behind.of(0) * line[2]);
  }
};

/// Which points are kept: every second one of an odd number, from the second one on, as between held sides that an even
/// number of intervals lies between, along x and y; or any.
enum class Kept { every_second, any };
/// Registers that a thread may have are more where it has to know.
template <Kept kept, class S>
constexpr int blocks_of = (sizeof(S) == sizeof(float) ? 4 : 3) - (kept == Kept::any ? 1 : 0);

/// A point that is kept along an axis, and how far what is around it lies from it; of what is not there 0.
template <Kept which>
class Centre {
 public:
  template <class S>
  __device__ Centre(Weights<S> const& weights, int axis, int number) {
    if constexpr (which == Kept::every_second) {
      at_ = 2 * number + 1;
    } else {
      Around const around(weights, axis, number);
      at_ = around.at[1];
      for (int side = 0; side < 2; ++side)
        by_[side] = around.at[2 * side] < 0 ? 0 : around.at[2 * side] - at_;
    }
  }
  __device__ int at() const { return at_; }
  __device__ int by(int side) const { return which == Kept::any ? by_[side] : side == 0 ? -1 : 1; }
  __device__ bool has(int side) const { return by(side) != 0; }
  __device__ std::int64_t to(int side, int each) const { return std::int64_t{by(side)} * each; }
  /// In half rows.
  __device__ int in_half(int side) const {
    return which == Kept::any ? ((at_ + by(side)) >> 1) - (at_ >> 1) : side;
  }

 private:
  int at_, by_[2];
};

/// Of points that are there, or where some are not of those alone.
template <Kept which>
__device__ LoadedWeight weight_if(bool counts, Weight const* source) {
  return which == Kept::every_second || counts ? load_weight(source) : LoadedWeight{};
}

/// From values of the first colour, or of both. All that two planes give is asked for before the first of
/// it is waited for.
template <bool both, Kept which, class S>
__global__ void __launch_bounds__(threads_of_columns, blocks_of<which, S>)
    gather_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                  S const* values, int piece) {
  __shared__ int planes[Columns::longest][3];
  Column const column(piece, coarse.count[2]);
  int const x = column.x, y = column.across;
  int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  Weights<S> const weights{fine, coarse};
  if (thread < column.last - column.first) {
    Around const along(weights, 2, column.first + thread);
    for (int c = 0; c < 3; ++c) planes[thread][c] = along.at[c];
  }
  __syncthreads();
  wait_for_kernel_before();
  if (x >= coarse.count[0] || y >= coarse.count[1]) return;
  int const n = fine.count[0], coarse_n = coarse.count[0];
  Centre<which> const points(weights, 0, x), rows(weights, 1, y);
  int const i = points.at(), j = rows.at();
  int const beside[2] = {points.in_half(0), points.in_half(1)};
  // Of the kept point in the plane 0, and from plane to plane.
  S const* const of_values = values + (std::int64_t{j} * fine.half + (i >> 1));
  Weight const* const of_x = fine.weight[0] + (std::int64_t{j} * n + i);
  Weight const* const of_y = fine.weight[1] + (std::int64_t{j} * coarse_n + x);
  int const in_z = y * coarse_n + x, parity = i + j;
  std::int64_t const over_values = std::int64_t{fine.half} * fine.count[1],
                     over_x = std::int64_t{n} * fine.count[1],
                     over_y = std::int64_t{coarse_n} * fine.count[1],
                     over_z = std::int64_t{coarse_n} * coarse.count[1];
  auto const take = [&](std::int64_t k) {
    TakenOfPlane<S> taken{};
    S const* const in_plane = of_values + k * over_values;
    Weight const *const of_points = of_x + k * over_x, *const of_rows = of_y + k * over_y;
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      bool const sides_first = ((parity + k + b) & 1) == 0;
      S const* const row = b == 1 ? in_plane : in_plane + rows.to(b / 2, fine.half);
      S const first = row[sides_first ? beside[0] : 0];
      if (sides_first) {
        taken.sides[b][0] = first;
        taken.sides[b][1] = row[beside[1]];
        if constexpr (both) taken.centre[b] = row[fine.colour];
      } else {
        taken.centre[b] = first;
        if constexpr (both)
          for (int a = 0; a < 2; ++a) taken.sides[b][a] = row[fine.colour + beside[a]];
      }
      if (!both && !sides_first) continue;
      Weight const* const of_row = b == 1 ? of_points : of_points + rows.to(b / 2, n);
      taken.before[b] = weight_if<which>(points.has(0), of_row + points.by(0));
      taken.behind[b] = weight_if<which>(points.has(1), of_row + points.by(1));
    }
    taken.of_before = weight_if<which>(rows.has(0), of_rows + rows.to(0, coarse_n));
    taken.of_behind = weight_if<which>(rows.has(1), of_rows + rows.to(1, coarse_n));
    return taken;
  };
  int known = -1;
  S last = 0;
  for (int z = column.first; z < column.last; ++z) {
    auto const& [before, kept, behind] = planes[z - column.first];
    auto const factor = [&](int c, std::int64_t k) {
      return given(fine.weight[2], c, k * over_z + in_z);
    };
    // All that is asked for is under way at once, also what counts for nothing.
    float const factor_before = before >= 0 ? factor(0, before) : 0,
                factor_behind = behind >= 0 ? factor(2, behind) : 0;
    TakenOfPlane<S> const of_kept = take(kept), of_behind = take(behind >= 0 ? behind : kept);
    if (before >= 0 && before != known) last = take(before).sum();
    S sum = before >= 0 ? factor_before * last : S{0};
    sum += of_kept.sum();
    known = behind;
    last = of_behind.sum();
    if (behind >= 0) sum += factor_behind * last;
    coarse.f[coarse.place(x, y, z)] = sum;
  }
}

/// Of the fine points along an axis the one that a coarse one keeps and the one before it that stands between two;
/// behind the last coarse one, what stands there. −1: none.
template <Kept which>
struct Group {
  int between, kept;
  int left, right;  ///< the coarse points around what stands between, and at what is kept

  template <class S>
  __device__ Group(Level<S> const& fine, Level<S> const& coarse, int axis, int number) {
    auto const& transfer = fine.transfer[axis];
    int const count = coarse.count[axis];
    if constexpr (which == Kept::every_second) {
      bool const is_any = number >= 0 && number <= count;
      kept = is_any && number < count ? 2 * number + 1 : -1;
      between = is_any ? 2 * number : -1;
      left = is_any ? number - 1 : -1;
      right = number < count ? number : -1;
      return;
    }
    auto const kept_of = [&](int one) {
      return one >= 0 && one < count ? __ldg(transfer.kept + one) : -1;
    };
    auto const stands_between = [&](int at) {
      if (at < 0 || at >= fine.count[axis]) return false;
      return kept_of(__ldg(transfer.left + at)) != at;
    };
    kept = kept_of(number);
    int const before = kept_of(number - 1);
    between = kept >= 0 ? kept - 1 : before >= 0 ? before + 1 : -1;
    if (!stands_between(between)) between = -1;
    // What another one keeps is behind it.
    if (kept < 0 && between >= 0 && kept_of(__ldg(transfer.right + between)) == between + 1)
      between = -1;
    left = between >= 0 ? __ldg(transfer.left + between) : -1;
    right = kept >= 0 ? number : between >= 0 ? __ldg(transfer.right + between) : -1;
  }
  /// Where what stands between is, or would be.
  __device__ int first() const { return kept >= 0 ? kept - 1 : between; }
};

/// What the points of a plane take that a lane has: two rows of two.
template <class S>
struct FineQuad {
  S u[2][2];
  LoadedWeight of_x[2], of_y, of_z[2];
  S coming[2];  ///< what comes to be known of the coarse level, of both its rows
  bool moves, comes_left, comes_right, is_kept, ends;
};

/// A lane has the coarse column at the second point of its pairs, and the first one of a warp no pairs.
/// Of two rows of pairs the second one is kept: what it takes is part of what the first one does.
constexpr int quads_of_warp = warp_size - 1, rows_of_block = threads_of_columns / warp_size;

template <bool adds, Kept which, class S>
__global__ void __launch_bounds__(threads_of_columns, blocks_of<which, S>)
    correct_kernel(__grid_constant__ Level<S> const fine, __grid_constant__ Level<S> const coarse,
                   int piece) {
  __shared__ Ends planes[Columns::longest];
  int const lane = static_cast<int>(threadIdx.x);
  int const y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  int const x = static_cast<int>(blockIdx.x) * quads_of_warp + lane - 1;
  int const first = static_cast<int>(blockIdx.z) * piece, end = min(first + piece, fine.count[2]);
  int const thread = static_cast<int>(threadIdx.y) * warp_size + lane;
  if (thread < end - first) planes[thread] = Ends::of(fine.transfer[2], first + thread);
  __syncthreads();
  wait_for_kernel_before();

  int const n = fine.count[0], m = fine.count[1];
  int const coarse_n = coarse.count[0], coarse_m = coarse.count[1];
  Group<which> const pair(fine, coarse, 0, x), rows(fine, coarse, 1, y);
  // What there is of the lane's four points, and of the coarse ones in both rows.
  constexpr unsigned even_0 = 1, odd_0 = 2, even_1 = 4, odd_1 = 8, in_row_0 = 16, in_row_1 = 32,
                     between_rows = 64;
  auto const if_all = [](unsigned bit, auto... numbers) {
    return ((numbers >= 0) && ...) ? bit : 0u;
  };
  unsigned const there =
      kept(if_all(even_0, lane - 1, pair.between, rows.between) |
           if_all(odd_0, lane - 1, pair.kept, rows.between) |
           if_all(even_1, lane - 1, pair.between, rows.kept) |
           if_all(odd_1, lane - 1, pair.kept, rows.kept) | if_all(in_row_0, pair.right, rows.left) |
           if_all(in_row_1, pair.right, rows.right) | if_all(between_rows, rows.between));
  // Places of points that there are.
  int const near_x = max(pair.right, 0), near_y[2] = {max(rows.left, 0), max(rows.right, 0)};
  int const even_x = max(pair.first(), 0), odd_x = pair.kept >= 0 ? pair.kept : even_x;
  int const first_y = max(rows.first(), 0);
  // From the first row of pairs to the second one, in a row from the first point to the second one, and of weights
  // along z to those of the row before.
  int const in_u = rows.kept > 0 ? fine.half : 0,
            in_row = which == Kept::any ? (odd_x >> 1) - (even_x >> 1) : 0;
  int const in_x = rows.kept > 0 ? n : 0, in_z = kept((near_y[0] - near_y[1]) * coarse_n);
  std::int64_t const over_u = row_stride(fine, 2), over_coarse = row_stride(coarse, 2);
  std::int64_t const over_x = std::int64_t{m} * n, over_y = std::int64_t{m} * coarse_n,
                     over_z = std::int64_t{coarse_m} * coarse_n;
  // The first point is of a colour, and the second one of the other; in the second row it is the other way round.
  bool const is_second = ((pair.first() + rows.first() + first) & 1) != 0;
  S* const of_first = fine.u + first * over_u + (std::int64_t{first_y} * fine.half + (even_x >> 1));
  S *even = of_first + (is_second ? fine.colour : 0),
    *odd = of_first + (is_second ? 0 : fine.colour);
  Weight const* of_x = fine.weight[0] + first * over_x + (std::int64_t{first_y} * n + even_x);
  Weight const* of_y =
      fine.weight[1] + first * over_y + (std::int64_t{first_y} * coarse_n + near_x);
  bool const interpolates = fine.weight[2] != nullptr;
  Weight const* of_z = of_y;  // which nobody looks at
  if (interpolates) of_z = fine.weight[2] + first * over_z + (near_y[1] * coarse_n + near_x);
  auto const of_coarse = [&](int z, int b) {
    std::int64_t const other = ((near_x + near_y[b] + z) & 1) != 0 ? coarse.colour : 0;
    return (there & (b == 0 ? in_row_0 : in_row_1)) != 0
               ? coarse.u[z * over_coarse + other + (near_y[b] * coarse.half + (near_x >> 1))]
               : S{0};
  };
  int left = -1, right = -1;  // coarse planes of which something is known
  // And goes on to the next plane.
  auto const ask = [&](int k) {
    Ends const along = planes[k - first];
    FineQuad<S> has{};
    has.is_kept = along.is_kept || !interpolates;
    // Behind a kept plane comes one that lies between it and the next, or the next one.
    has.moves = along.at[0] >= 0 && along.at[0] == right;
    if (has.moves) left = right;
    has.comes_left = along.at[0] >= 0 && along.at[0] != left;
    has.comes_right = along.at[1] >= 0 && along.at[1] != right;
    if (has.comes_left) left = along.at[0];
    if (has.comes_right) right = along.at[1];
    int const coming = has.comes_right ? right : left;
    if (has.comes_left || has.comes_right)
      for (int b = 0; b < 2; ++b) has.coming[b] = of_coarse(coming, b);
    has.ends = along.at[1] < 0;
    if (!has.is_kept) {
      has.of_z[0] = load_weight(of_z + in_z);
      has.of_z[1] = load_weight(of_z);
    }
    has.of_y = weight_if<which>((there & between_rows) != 0, of_y);
    has.of_x[0] = weight_if<which>((there & even_0) != 0, of_x);
    has.of_x[1] = weight_if<which>((there & even_1) != 0, of_x + in_x);
    of_x += over_x;
    of_y += over_y;
    of_z += over_z;
    if constexpr (adds) {
      has.u[0][0] = *even;
      has.u[0][1] = odd[in_row];
      has.u[1][0] = odd[in_u];
      has.u[1][1] = even[in_u + in_row];
    }
    S* const next_even = odd + over_u;
    odd = even + over_u;
    even = next_even;
    return has;
  };

  // Of both rows, of the coarse planes before and behind. The first plane may want both.
  S held[2][2] = {};
  Ends const at_first = planes[0];
  if (at_first.at[0] >= 0 && at_first.at[1] >= 0) {
    left = at_first.at[0];
    for (int b = 0; b < 2; ++b) held[0][b] = of_coarse(left, b);
  }
  FineQuad<S> next = ask(first);
  for (int k = first; k < end; ++k) {
    FineQuad<S> const now = next;
    S *const to_even = odd - over_u, *const to_odd = even - over_u;
    if (k + 1 < end) next = ask(k + 1);
    S line[2];
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      if (now.moves) held[0][b] = held[1][b];
      if (now.comes_left) held[0][b] = now.coming[b];
      if (now.comes_right) held[1][b] = now.coming[b];
      S const behind = now.ends ? S{0} : held[1][b];
      line[b] =
          now.is_kept ? held[0][b] : now.of_z[b].of(0) * held[0][b] + now.of_z[b].of(1) * behind;
    }
    S const found[2] = {now.of_y.of(0) * line[0] + now.of_y.of(1) * line[1], line[1]};
    S const before[2] = {__shfl_up_sync(~0u, found[0], 1), __shfl_up_sync(~0u, found[1], 1)};
    S on_even[2], on_odd[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      on_even[r] = (now.u[r][0] + now.of_x[r].of(0) * before[r]) + now.of_x[r].of(1) * found[r];
      on_odd[r] = now.u[r][1] + found[r];
    }
    if ((there & even_0) != 0) *to_even = on_even[0];
    if ((there & odd_0) != 0) to_odd[in_row] = on_odd[0];
    if ((there & even_1) != 0) to_odd[in_u] = on_even[1];
    if ((there & odd_1) != 0) to_even[in_u + in_row] = on_odd[1];
  }
}

template <class S>
bool keeps_every_second(Level<S> const& fine) {
  return fine.doubles && fine.doubles_across;
}

template <bool both, class S>
void launch_gather(Stream& stream, Level<S> const& fine, Level<S> const& coarse, S const* values) {
  auto* const kernel = keeps_every_second(fine) ? gather_kernel<both, Kept::every_second, S>
                                                : gather_kernel<both, Kept::any, S>;
  auto const columns = Columns::in_blocks(32, 8, coarse.count[0], coarse.count[1], coarse.count[2])
                           .fitted(stream, kernel, coarse.count[2]);
  follow(stream, kernel, columns.grid, columns.block, 0, fine, coarse, values, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid gather");
}

template <bool adds, class S>
void launch_correct(Stream& stream, Level<S> const& fine, Level<S> const& coarse) {
  auto* const kernel = keeps_every_second(fine) ? correct_kernel<adds, Kept::every_second, S>
                                                : correct_kernel<adds, Kept::any, S>;
  // Groups are as many as coarse points, and what may stand behind the last one.
  auto columns = Columns::in_blocks(warp_size, rows_of_block, coarse.count[0] + 1,
                                    coarse.count[1] + 1, fine.count[2]);
  columns.grid.x = blocks_for(coarse.count[0] + 1, quads_of_warp);
  columns = columns.fitted(stream, kernel, fine.count[2]);
  follow(stream, kernel, columns.grid, columns.block, 0, fine, coarse, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid correct");
}

}  // namespace

template <class S>
void gather_stored(Stream& stream, Level<S> const& fine, Level<S> const& coarse) {
  launch_gather<false>(stream, fine, coarse, static_cast<S const*>(fine.r));
}

template <class S>
void march_stored(Stream& stream, Gather<S> const& step) {
  launch_gather<true>(stream, step.fine, step.coarse, step.values);
}

template <class S>
void march_stored(Stream& stream, Correct<S> const& step) {
  if (step.adds)
    launch_correct<true>(stream, step.fine, step.coarse);
  else
    launch_correct<false>(stream, step.fine, step.coarse);
}

#define GRIDSTRIDE_INSTANTIATE(S)                                         \
  template void gather_stored(Stream&, Level<S> const&, Level<S> const&); \
  template void march_stored(Stream&, Gather<S> const&);                  \
  template void march_stored(Stream&, Correct<S> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid
