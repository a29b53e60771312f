// What goes point by point around cycles of fields: by rows in the order of memory, one of a warp, several
// points of a lane on their way at once.

#include <cstddef>

#include "kernels/multigrid/found.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int warps_of_block = threads_of_columns / warp_size;

/// Makes a step at the points of a row, and `take`s what it finds.
template <bool halves, class Step, class Take>
__device__ void for_row(Step const& step, int j, int k, Take const& take) {
  constexpr int at_once = sizeof(typename Step::Loaded) <= 16 ? 8 : 4;
  auto const& a = step.a;
  auto const& level = step.level;
  int const lane = static_cast<int>(threadIdx.x) % warp_size, n = level.count[0];
  std::int64_t const at[3] = {a.first[0], a.first[1] + j, a.first[2] + k};
  std::int64_t const of_grid = at[0] + at[1] * a.stride[1] + at[2] * a.stride[2];
  RowShares const shares(a, at);
  // Points of a lane are all of one colour.
  std::int64_t const of_level = level.place(lane, j, k) - (lane >> 1);
  for (int first = lane; first < n; first += at_once * warp_size) {
    typename Step::Loaded loaded[at_once];
    auto const for_points = [&](auto const& visit) {
#pragma unroll
      for (int one = 0; one < at_once; ++one) {
        int const i = first + one * warp_size;
        if (i >= n) continue;
        Spot spot{of_grid + i, of_level + (i >> 1), 1};
        if constexpr (halves) spot.share = shares.of(i, n);
        visit(loaded[one], spot);
      }
    };
    for_points([&](auto& has, Spot const& spot) { has = step.load(spot); });
    for_points(
        [&](auto const& has, Spot const& spot) { take([&] { return step.finish(spot, has); }); });
  }
}

/// Of a block's rows, `of_block` from the one with a number on and before `end`, each warp takes every so
/// manyth.
template <bool halves, class Step, class Take>
__device__ void for_rows(Step const& step, int first, int of_block, int end, Take const& take) {
  int const warp = static_cast<int>(threadIdx.x) / warp_size, m = step.level.count[1];
  for (int row = first + warp; row < min(first + of_block, end); row += warps_of_block)
    for_row<halves>(step, row % m, row / m, take);
}

/// Rows of a block: enough that what it takes to begin counts little, and of those that find a sum that
/// there are not too many of these.
constexpr int rows_of_block = 2 * warps_of_block, rows_of_sum = 4 * rows_of_block;

__device__ int first_row() { return static_cast<int>(blockIdx.x) * rows_of_block; }

template <bool halves, class Step>
__global__ void __launch_bounds__(threads_of_columns, 3)
    points_kernel(__grid_constant__ Step const step, int rows) {
  for_rows<halves>(step, first_row(), rows_of_block, rows, [](auto const& result) { result(); });
}

template <bool halves, class Step>
__global__ void __launch_bounds__(threads_of_columns, 3)
    find_points_kernel(__grid_constant__ Step const step, int rows, Found* largest) {
  Found own;
  for_rows<halves>(step, first_row(), rows_of_block, rows,
                   [&](auto const& result) { raise(own, result()); });
  raise_by_block(own, largest);
}

/// Rows whose sums are put together with those of no others: of as many planes as a thread would go along
/// in columns, from a plane on whose number is a multiple of that. `before` is how many of the first ones
/// are none of the unknowns.
struct SumRows {
  int together, before, groups, blocks_of_group;

  template <class Step>
  static SumRows of(Step const& step, Planes const& planes) {
    auto const [x, y, z] = step.extent();
    bool const volume = planes.axis == 2;
    int const of_plane = volume ? y : 1;
    int const piece = piece_of_columns(std::int64_t{x} * of_plane * planes.count);
    int const skipped = static_cast<int>(step.a.first[planes.axis] % piece);
    return {piece * of_plane, skipped * of_plane, (skipped + (volume ? z : y) + piece - 1) / piece,
            (piece * of_plane + rows_of_sum - 1) / rows_of_sum};
  }
  std::size_t blocks() const { return static_cast<std::size_t>(groups) * blocks_of_group; }
};

template <bool halves, class Step>
__global__ void __launch_bounds__(threads_of_columns, 3)
    sum_points_kernel(__grid_constant__ Step const step, __grid_constant__ SumRows const of,
                      int rows, Summed* sums) {
  int const group = static_cast<int>(blockIdx.x) / of.blocks_of_group;
  int const in_group = (static_cast<int>(blockIdx.x) - group * of.blocks_of_group) * rows_of_sum;
  // From the first row of the unknowns on.
  int const begin = group * of.together - of.before, first = begin + in_group;
  int const skipped = max(-first, 0), own_rows = min(rows_of_sum, of.together - in_group);
  Summed own;
  if (skipped < own_rows)
    for_rows<halves>(step, first + skipped, own_rows - skipped, rows,
                     [&](auto const& result) { own = own + result(); });
  sum_by_block(own, sums + blockIdx.x);
}

template <class Step>
int rows_of(Step const& step) {
  return step.level.count[1] * step.level.count[2];
}

template <class Step>
void launch_points(Stream& stream, Step const& step) {
  int const rows = rows_of(step);
  auto* const kernel =
      halves_cells(step.a) ? points_kernel<true, Step> : points_kernel<false, Step>;
  kernel<<<blocks_for(rows, rows_of_block), threads_of_columns, 0, native(stream)>>>(step, rows);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid points");
}

template <class Step>
void launch_points(Stream& stream, Step const& step, Found* largest) {
  int const rows = rows_of(step);
  auto* const kernel =
      halves_cells(step.a) ? find_points_kernel<true, Step> : find_points_kernel<false, Step>;
  kernel<<<blocks_for(rows, rows_of_block), threads_of_columns, 0, native(stream)>>>(step, rows,
                                                                                     largest);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid points");
}

}  // namespace

template <class T, class S>
std::size_t blocks_of(SumAlongBefore<T, S> const& step, Planes const& planes) {
  return SumRows::of(step, planes).blocks();
}

template <class T, class S>
void march_stored(Stream& stream, SumAlongBefore<T, S> const& step, Planes const& planes,
                  Summed* sums) {
  auto const of = SumRows::of(step, planes);
  using Step = SumAlongBefore<T, S>;
  auto* const kernel =
      halves_cells(step.a) ? sum_points_kernel<true, Step> : sum_points_kernel<false, Step>;
  kernel<<<static_cast<unsigned>(of.blocks()), threads_of_columns, 0, native(stream)>>>(
      step, of, rows_of(step), sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid sum");
}

template <class T, class S>
void march_stored(Stream& stream, TakeDirection<T, S> const& step) {
  launch_points(stream, step);
}
template <class T, class S>
void march_stored(Stream& stream, BeginResidual<T, S> const& step) {
  launch_points(stream, step);
}
template <class T, class S>
void march_stored(Stream& stream, AddCorrection<T, S> const& step, Found* largest) {
  launch_points(stream, step, largest);
}
template <class T, class S>
void march_stored(Stream& stream, Advance<T, S> const& step, Found* largest) {
  launch_points(stream, step, largest);
}
template <class T, class S>
void march_stored(Stream& stream, AdvanceResidual<T, S> const& step, Found* largest) {
  launch_points(stream, step, largest);
}

#define GRIDSTRIDE_INSTANTIATE(T, S)                                                        \
  template std::size_t blocks_of(SumAlongBefore<T, S> const&, Planes const&);               \
  template void march_stored(Stream&, SumAlongBefore<T, S> const&, Planes const&, Summed*); \
  template void march_stored(Stream&, TakeDirection<T, S> const&);                          \
  template void march_stored(Stream&, BeginResidual<T, S> const&);                          \
  template void march_stored(Stream&, AddCorrection<T, S> const&, Found*);                  \
  template void march_stored(Stream&, Advance<T, S> const&, Found*);                        \
  template void march_stored(Stream&, AdvanceResidual<T, S> const&, Found*);
GRIDSTRIDE_INSTANTIATE(float, float)
GRIDSTRIDE_INSTANTIATE(float, double)
GRIDSTRIDE_INSTANTIATE(double, float)
GRIDSTRIDE_INSTANTIATE(double, double)

}  // namespace gridstride::multigrid
