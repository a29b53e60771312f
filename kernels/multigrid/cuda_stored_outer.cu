// What stands around cycles of fields, by columns of points on the grid's own arrays: u's residual, and
// the product with a direction of conjugate gradients.
//
// Of most points all neighbours are in the arrays one step away, and what lies on a Dirichlet side
// counts as 0: their equations are written out. Those on periodic and Neumann sides are as family
// `poisson` has them. What is needed next is asked for before what is here is waited for. From point to
// point places are added to: found anew they would take longer than memory.

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/found.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/multigrid/products.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

/// The points of a column one after the other: where they lie, and their shares of cells.
template <bool volume, class T, class S>
class ColumnSpots {
 public:
  static constexpr int along = volume ? 2 : 1;

  /// From the one with the number k on; `halves` tells whether there are parts of cells.
  __device__ ColumnSpots(poisson::Operator<T> const& a, Level<S> const& level, int i, int j, int k,
                         bool halves)
      : a_(a), halves_(halves) {
    at_[0] = a.first[0] + i;
    at_[1] = a.first[1] + (volume ? j : k);
    at_[2] = a.first[2] + (volume ? k : 0);
    over_row_ = volume ? std::int64_t{level.half} * level.count[1] : std::int64_t{level.half};
    bool const odd = ((i + (volume ? j : 0) + k) & 1) != 0;
    std::int64_t const row = k * over_row_ + (volume ? std::int64_t{j} * level.half : 0) + (i >> 1);
    grid_ = at_[0] + at_[1] * a.stride[1] + (volume ? at_[2] * a.stride[2] : 0);
    level_ = row + (odd ? level.colour : 0);
    to_other_ = odd ? -level.colour : level.colour;
  }
  __device__ std::int64_t const (&at() const)[3] { return at_; }
  /// So many points on.
  __device__ Spot spot(int on) const {
    Spot spot{grid_ + on * a_.stride[along],
              level_ + on * over_row_ + (on % 2 == 0 ? 0 : to_other_), 1};
    if (halves_) {
      std::int64_t at[3] = {at_[0], at_[1], at_[2]};
      at[along] += on;
      spot.share = poisson::share_of(a_, at);
    }
    return spot;
  }
  __device__ void go_on() {
    ++at_[along];
    grid_ += a_.stride[along];
    level_ += over_row_ + to_other_;
    to_other_ = -to_other_;
  }

 private:
  poisson::Operator<T> const& a_;
  bool halves_;
  std::int64_t at_[3], grid_, level_, over_row_, to_other_;
};

template <bool volume, class T, class S>
__global__ void __launch_bounds__(threads_of_columns)
    residual_kernel(__grid_constant__ TakeResidual<T, S> const step, int piece, bool halves,
                    Found* largest) {
  auto const& level = step.level;
  Column const column(piece, level.count[volume ? 2 : 1]);
  int const i = column.x, j = column.across;
  std::uint64_t found = 0;
  if (i < level.count[0] && (!volume || j < level.count[1])) {
    ColumnSpots<volume, T, S> spots(step.a, level, i, j, column.first, halves);
    ColumnProduct<volume, T, double> product(step.a, step.u, spots.at(), spots.spot(0).grid);
    double right = step.right[spots.spot(0).grid];
    for (int k = column.first; k < column.last; ++k) {
      double next_right = 0;
      if (k + 1 < column.last) {
        product.look_ahead();
        next_right = step.right[spots.spot(1).grid];
      }
      Spot const at = spots.spot(0);
      double const residual = (right - product()) - step.shift;
      level.f[at.level] = static_cast<S>(residual * at.share * step.scale);
      poisson::raise(found, poisson::bits_of_magnitude(residual));
      right = next_right;
      product.go_on();
      spots.go_on();
    }
  }
  raise_by_block(Found{found}, largest);
}

/// Where the values of a tile's points lie in those of a level: of a thread's two, one behind the other.
template <class S>
class LevelTile {
 public:
  __device__ explicit LevelTile(Level<S> const& level)
      : colour_(level.colour), over_plane_(level.half * level.count[1]), half_(level.half) {
    in_plane_ = y() * half_ + (x() >> 1);
    parity_ = x() + y();
  }
  /// The unknown.
  __device__ static int x() { return static_cast<int>(blockIdx.x * tile_width + threadIdx.x); }
  __device__ static int y() { return static_cast<int>(blockIdx.y * tile_rows + 2 * threadIdx.y); }
  __device__ S* of(S* values, int k, int r) const {
    S* const plane = values + std::int64_t{k} * over_plane_;
    return (((parity_ + k + r) & 1) != 0 ? plane + colour_ : plane) + (in_plane_ + r * half_);
  }

 private:
  std::int64_t colour_;
  int over_plane_, half_, in_plane_, parity_;
};

/// The same of equations that go by tiles, of u as it is or of what it comes to.
template <bool all_given, class T, class S, class Values>
__device__ void take_residual(TakeResidual<T, S> const& step, Values const& values, int piece,
                              Found* largest) {
  auto const& level = step.level;
  Column const column(piece, level.count[2]);
  std::uint64_t found = 0;
  LevelTile<S> const of_level(level);
  auto const& first = step.a.first;
  // How many times the cells of both rows are halved.
  int halved[2] = {};
  if constexpr (!all_given)
    for (int r = 0; r < 2; ++r)
      halved[r] = halvings(step.a, 0, first[0] + of_level.x()) +
                  halvings(step.a, 1, first[1] + of_level.y() + r);
  auto const equations =
      tile_equations(step.a.diffusivities, step.a.weight,
                     [&](std::int64_t place) { return step.a.reaction_at(place); });
  for_tile<all_given>(
      step.a, equations, values, column.first, column.last,
      [&](int, std::int64_t plane, int, int in_plane) { return (step.right + plane)[in_plane]; },
      [&](int k, std::int64_t, int r, int, double product, double, T right) {
        double const residual = (double{right} - product) - step.shift;
        double scale = step.scale;
        if constexpr (!all_given)
          scale *= half_to_the(halved[r] + halvings(step.a, 2, first[2] + k));
        *of_level.of(level.f, k, r) = static_cast<S>(residual * scale);
        poisson::raise(found, poisson::bits_of_magnitude(residual));
      });
  raise_by_block(Found{found}, largest);
}

template <bool all_given, class T, class S>
__global__ void __launch_bounds__(threads_of_tile, 3)
    residual_tile_kernel(__grid_constant__ TakeResidual<T, S> const step, int piece,
                         Found* largest) {
  take_residual<all_given>(step, GridValues<double>{step.u}, piece, largest);
}

template <bool all_given, class T, class S>
__global__ void __launch_bounds__(threads_of_tile, 3)
    residual_ahead_kernel(__grid_constant__ TakeResidual<T, S> const step, S const* p,
                          Along const* along, double unit, int piece, Found* largest) {
  ValuesAhead<S> const values{{step.u}, LevelValues<S>(step.level, p), along->alpha * unit};
  take_residual<all_given>(step, values, piece, largest);
}

__device__ std::int64_t number_of_block() {
  return (std::int64_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

template <bool volume, class T, class S>
__global__ void __launch_bounds__(threads_of_columns)
    direction_kernel(__grid_constant__ ApplyToDirection<T, S> const step, int piece, int before,
                     bool halves, Summed* sums) {
  auto const& level = step.level;
  Column const column(piece, before + level.count[volume ? 2 : 1]);
  int const i = column.x, j = column.across;
  Summed own;
  if (i < level.count[0] && (!volume || j < level.count[1])) {
    int const first = max(column.first - before, 0), last = column.last - before;
    ColumnSpots<volume, T, S> spots(step.a, level, i, j, first, halves);
    ColumnProduct<volume, T, S> product(step.a, step.p, spots.at(), spots.spot(0).grid);
    double r = level.f[spots.spot(0).level];
    for (int k = first; k < last; ++k) {
      double next_r = 0;
      if (k + 1 < last) {
        product.look_ahead();
        next_r = level.f[spots.spot(1).level];
      }
      Spot const at = spots.spot(0);
      double const q = step.scale * product(), p = product.here();
      step.q[at.level] = static_cast<S>(q);
      own = own + Summed{at.share * p * q, p * r};
      r = next_r;
      product.go_on();
      spots.go_on();
    }
  }
  sum_by_block(own, sums + number_of_block());
}

template <class Step>
Columns columns_of(Step const& step) {
  auto const [x, y, z] = step.extent();
  return step.a.dims == 3 ? Columns::in_blocks(64, 4, x, y, z)
                          : Columns::in_blocks(256, 1, x, 1, y);
}

/// Of residuals that go by tiles.
template <class Step>
Columns tile_columns_of(Step const& step) {
  auto const [x, y, z] = step.extent();
  auto columns = Columns::in_blocks(tile_width, tile_rows, x, y, z);
  columns.block.y = tile_rows / 2;
  return columns;
}

/// Those of sums. Pieces are as long as those of the whole grid, and begin at planes whose numbers are
/// multiples of that: of a rank as of one process. `before` is how many planes of the first one are
/// none of its unknowns.
struct SumColumns {
  Columns columns;
  int before;

  template <class T, class S>
  static SumColumns of(ApplyToDirection<T, S> const& step, Planes const& planes) {
    auto const [x, y, z] = step.extent();
    auto columns = goes_by_strips(step.a) ? product_columns(step) : columns_of(step);
    bool const volume = step.a.dims == 3;
    columns.piece = piece_of_columns(std::int64_t{x} * (volume ? y : 1) * planes.count);
    int const before = static_cast<int>(step.a.first[planes.axis] % columns.piece);
    columns.grid.z = blocks_for(before + (volume ? z : y), static_cast<unsigned>(columns.piece));
    return {columns, before};
  }
};

}  // namespace

template <class T, class S>
void march_stored(Stream& stream, TakeResidual<T, S> const& step, Found* largest) {
  if (goes_by_tiles(step.a)) {
    auto* const kernel = is_given_all_around(step.a) ? residual_tile_kernel<true, T, S>
                                                     : residual_tile_kernel<false, T, S>;
    auto const columns = tile_columns_of(step).fitted(stream, kernel, step.level.count[2]);
    kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, columns.piece, largest);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid residual");
    return;
  }
  auto* const kernel =
      step.a.dims == 3 ? residual_kernel<true, T, S> : residual_kernel<false, T, S>;
  auto const columns = columns_of(step).fitted(stream, kernel, step.level.count[step.a.dims - 1]);
  kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, columns.piece,
                                                             halves_cells(step.a), largest);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid residual");
}

template <class T, class S>
void cuda_residual_ahead(Stream& stream, TakeResidual<T, S> const& step,
                         Advance<T, S> const& advance, Found* largest) {
  auto* const kernel = is_given_all_around(step.a) ? residual_ahead_kernel<true, T, S>
                                                   : residual_ahead_kernel<false, T, S>;
  auto const columns = tile_columns_of(step).fitted(stream, kernel, step.level.count[2]);
  kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, advance.p, advance.along,
                                                             advance.unit, columns.piece, largest);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid residual ahead");
}

template <class T, class S>
std::size_t blocks_of(ApplyToDirection<T, S> const& step, Planes const& planes) {
  auto const grid = SumColumns::of(step, planes).columns.grid;
  return std::size_t{grid.x} * grid.y * grid.z;
}

template <class T, class S>
void march_stored(Stream& stream, ApplyToDirection<T, S> const& step, Planes const& planes,
                  Summed* sums) {
  auto const [columns, before] = SumColumns::of(step, planes);
  if (goes_by_strips(step.a)) return march_product(stream, step, columns, before, sums);
  auto* const kernel =
      step.a.dims == 3 ? direction_kernel<true, T, S> : direction_kernel<false, T, S>;
  kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, columns.piece, before,
                                                             halves_cells(step.a), sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid direction");
}

#define GRIDSTRIDE_INSTANTIATE(T, S)                                                          \
  template void march_stored(Stream&, TakeResidual<T, S> const&, Found*);                     \
  template void cuda_residual_ahead(Stream&, TakeResidual<T, S> const&, Advance<T, S> const&, \
                                    Found*);                                                  \
  template std::size_t blocks_of(ApplyToDirection<T, S> const&, Planes const&);               \
  template void march_stored(Stream&, ApplyToDirection<T, S> const&, Planes const&, Summed*);
GRIDSTRIDE_INSTANTIATE(float, float)
GRIDSTRIDE_INSTANTIATE(float, double)
GRIDSTRIDE_INSTANTIATE(double, float)
GRIDSTRIDE_INSTANTIATE(double, double)

}  // namespace gridstride::multigrid
