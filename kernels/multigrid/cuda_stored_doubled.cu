// Between large levels whose equations are stored, of which every second point is kept along x and y, from
// the second one on, as it is between held sides that an even number of intervals lies between. What
// stands around a point is known then, and tables tell of z alone.
//
// Places are added to from plane to plane, and points that are none are loaded from where there is one, and
// not stored: what is decided point by point takes longer than memory.

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
struct TakenOfDoubled {
  S centre[3], sides[3][2];
  Weight before[3], behind[3], of_before, of_behind;  // of points, and of rows

  __device__ S sum() const {
    S line[3];
#pragma unroll
    for (int b = 0; b < 3; ++b)
      line[b] = centre[b] + (before[b].of(1) * sides[b][0] + behind[b].of(0) * sides[b][1]);
    return line[1] + (of_before.of(1) * line[0] + of_behind.of(0) * line[2]);
  }
};

template <bool both, class S>
__global__ void __launch_bounds__(threads_of_columns, sizeof(S) == sizeof(float) ? 4 : 3)
    gather_doubled_kernel(__grid_constant__ Level<S> const fine,
                          __grid_constant__ Level<S> const coarse, S const* values, int piece) {
  __shared__ int planes[Columns::longest][3];
  Column const column(piece, coarse.count[2]);
  int const x = column.x, y = column.across;
  int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  if (thread < column.last - column.first) {
    Around const along(Weights<S>{fine, coarse}, 2, column.first + thread);
    for (int c = 0; c < 3; ++c) planes[thread][c] = along.at[c];
  }
  __syncthreads();
  wait_for_kernel_before();
  if (x >= coarse.count[0] || y >= coarse.count[1]) return;
  int const n = fine.count[0], m = fine.count[1], coarse_n = coarse.count[0], half = fine.half;
  // Of the first of three rows in the plane 0, and from plane to plane.
  S const* const all_values = values + (2 * y * half + x);
  Weight const *const of_x = fine.weight[0] + (2 * y * n + 2 * x), *const of_y =
                                                                       fine.weight[1] +
                                                                       (2 * y * coarse_n + x);
  int const in_z = y * coarse_n + x;
  std::int64_t const over_values = std::int64_t{half} * m, over_x = std::int64_t{n} * m,
                     over_y = std::int64_t{coarse_n} * m,
                     over_z = std::int64_t{coarse_n} * coarse.count[1];
  auto const take = [&](std::int64_t k) {
    TakenOfDoubled<S> taken{};
    S const* const of_first = all_values + k * over_values;
    Weight const *const in_row = of_x + k * over_x, *const of_rows = of_y + k * over_y;
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      bool const sides_first = ((k + b) & 1) == 0;
      S const* const row = of_first + b * half;
      S const first = row[0];
      if (sides_first) {
        taken.sides[b][0] = first;
        taken.sides[b][1] = row[1];
        if constexpr (both) taken.centre[b] = row[fine.colour];
      } else {
        taken.centre[b] = first;
        if constexpr (both)
          for (int a = 0; a < 2; ++a) taken.sides[b][a] = row[fine.colour + a];
      }
      if (!both && !sides_first) continue;
      taken.before[b] = load_weight(in_row + b * n);
      taken.behind[b] = load_weight(in_row + (b * n + 2));
    }
    taken.of_before = load_weight(of_rows);
    taken.of_behind = load_weight(of_rows + 2 * coarse_n);
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
    TakenOfDoubled<S> const of_kept = take(kept), of_behind = take(behind >= 0 ? behind : kept);
    if (before >= 0 && before != known) last = take(before).sum();
    S sum = before >= 0 ? factor_before * last : S{0};
    sum += of_kept.sum();
    known = behind;
    last = of_behind.sum();
    if (behind >= 0) sum += factor_behind * last;
    coarse.f[coarse.place(x, y, z)] = sum;
  }
}

/// What the points of a plane take that a lane has: two rows of two.
template <class S>
struct FineQuad {
  S u[2][2];
  Weight of_x[2], of_y, of_z[2];
  S coming[2];  ///< what comes to be known of the coarse level, of both its rows
  bool moves, comes_left, comes_right, is_kept, ends;
};

/// A lane has the coarse column at the second point of its pairs, and the first one of a warp no pairs.
/// Of two rows of pairs the second one is kept: what it takes is part of what the first one does.
constexpr int quads_of_warp = warp_size - 1, quad_rows_of_block = threads_of_columns / warp_size;

template <bool adds, class S>
__global__ void __launch_bounds__(threads_of_columns, sizeof(S) == sizeof(float) ? 4 : 3)
    correct_quads_kernel(__grid_constant__ Level<S> const fine,
                         __grid_constant__ Level<S> const coarse, int piece) {
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
  bool const has_column = x >= 0 && x < coarse_n;
  bool const has_row[2] = {has_column && y >= 1 && y <= coarse_m, has_column && y < coarse_m};
  bool const is_pair = lane > 0 && x <= coarse_n && y <= coarse_m;
  bool const is_odd = is_pair && x < coarse_n, is_second = is_pair && y < coarse_m;
  // Places of points that there are.
  int const near_x = min(max(x, 0), coarse_n - 1), pair_x = min(max(x, 0), coarse_n);
  int const pair_y = min(y, coarse_m);
  int near_y[2];
  for (int b = 0; b < 2; ++b) near_y[b] = min(max(y - 1 + b, 0), coarse_m - 1);
  // From the first row of pairs to the second one, and of weights along z to those of the row before.
  int const in_u = y < coarse_m ? fine.half : 0, in_x = y < coarse_m ? n : 0;
  int const in_z = (near_y[0] - near_y[1]) * coarse_n;
  std::int64_t const over_u = row_stride(fine, 2), over_coarse = row_stride(coarse, 2);
  std::int64_t const over_x = std::int64_t{m} * n, over_y = std::int64_t{m} * coarse_n,
                     over_z = std::int64_t{coarse_m} * coarse_n;
  // A row's first point is of a colour, as its plane is, and the second one of the other; in the second
  // row it is the other way round.
  S* const of_first = fine.u + first * over_u + (2 * pair_y * fine.half + pair_x);
  S *even = of_first + ((first & 1) != 0 ? fine.colour : 0),
    *odd = of_first + ((first & 1) != 0 ? 0 : fine.colour);
  Weight const* of_x = fine.weight[0] + first * over_x + (2 * pair_y * n + 2 * pair_x);
  Weight const* of_y = fine.weight[1] + first * over_y + (2 * pair_y * coarse_n + near_x);
  bool const interpolates = fine.weight[2] != nullptr;
  Weight const* of_z = of_y;  // which nobody looks at
  if (interpolates) of_z = fine.weight[2] + first * over_z + (near_y[1] * coarse_n + near_x);
  auto const of_coarse = [&](int z, int b) {
    std::int64_t const other = ((near_x + near_y[b] + z) & 1) != 0 ? coarse.colour : 0;
    return has_row[b]
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
    has.of_y = load_weight(of_y);
    has.of_x[0] = load_weight(of_x);
    has.of_x[1] = load_weight(of_x + in_x);
    of_x += over_x;
    of_y += over_y;
    of_z += over_z;
    if constexpr (adds) {
      has.u[0][0] = *even;
      has.u[0][1] = *odd;
      has.u[1][0] = odd[in_u];
      has.u[1][1] = even[in_u];
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
    if (is_pair) *to_even = on_even[0];
    if (is_odd) *to_odd = on_odd[0];
    if (is_second) to_odd[in_u] = on_even[1];
    if (is_odd && is_second) to_even[in_u] = on_odd[1];
  }
}

}  // namespace

template <class S>
void gather_doubled(Stream& stream, Level<S> const& fine, Level<S> const& coarse, S const* values,
                    bool both) {
  auto* const kernel = both ? gather_doubled_kernel<true, S> : gather_doubled_kernel<false, S>;
  auto const columns = Columns::in_blocks(32, 8, coarse.count[0], coarse.count[1], coarse.count[2])
                           .fitted(stream, kernel, coarse.count[2]);
  follow(stream, kernel, columns.grid, columns.block, 0, fine, coarse, values, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid gather");
}

template <class S>
void correct_doubled(Stream& stream, Correct<S> const& step) {
  auto const& fine = step.fine;
  auto columns = Columns::in_blocks(warp_size, quad_rows_of_block, fine.half,
                                    (fine.count[1] + 1) / 2, fine.count[2]);
  columns.grid.x = blocks_for((fine.count[0] + 1) / 2, quads_of_warp);
  auto* const kernel = step.adds ? correct_quads_kernel<true, S> : correct_quads_kernel<false, S>;
  columns = columns.fitted(stream, kernel, fine.count[2]);
  follow(stream, kernel, columns.grid, columns.block, 0, fine, step.coarse, columns.piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid correct");
}

#define GRIDSTRIDE_INSTANTIATE(S)                                                          \
  template void gather_doubled(Stream&, Level<S> const&, Level<S> const&, S const*, bool); \
  template void correct_doubled(Stream&, Correct<S> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::multigrid
