// What stands around cycles of fields, by columns of points on the grid's own arrays: u's residual, and
// the product with a direction of conjugate gradients.
//
// Of most points all neighbours are in the arrays one step away, and what lies on a Dirichlet side
// counts as 0: their equations are written out, so that places and sides cost a comparison each, and what
// is needed at the next point is asked for before this one's is waited for. Those
// on periodic and Neumann sides are as family `poisson` has them.

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

/// A·u at the points of a column one after the other, in the order of `poisson::product_with`. What lies
/// before and behind is kept from point to point.
template <bool volume, class T>
class ColumnProduct {
 public:
  static constexpr int along = volume ? 2 : 1;

  /// At the column's point with the number k.
  __device__ ColumnProduct(poisson::Operator<T> const& a, double const* u, int i, int j, int k)
      : a_(a), u_(u) {
    at_[0] = a.first[0] + i;
    at_[1] = a.first[1] + (volume ? j : k);
    at_[2] = a.first[2] + (volume ? k : 0);
    place_ = at_[0] + at_[1] * a.stride[1] + (volume ? at_[2] * a.stride[2] : 0);
    is_inner_ = a.diffusivities != nullptr && is_inner(0) && (!volume || is_inner(1));
#pragma unroll
    for (int axis = 0; axis <= along; ++axis) {
      find_known(axis);
      for (int side = 0; side < 2; ++side)
        has_halves_ = has_halves_ || a.side[axis][side] == poisson::Rule::neumann;
    }
    before_ = beside(-1);
    here_ = beside(0);
    behind_ = beside(1);
  }
  __device__ std::int64_t place() const { return place_; }
  __device__ double here() const { return here_.u; }
  /// Asks for what is behind the next point, which has to be an unknown of this rank.
  __device__ void look_ahead() { ahead_ = beside(2); }
  /// To the next point, after that.
  __device__ void go_on() {
    ++at_[along];
    place_ += a_.stride[along];
    find_known(along);
    before_ = here_;
    here_ = behind_;
    behind_ = ahead_;
  }
  __device__ double share() const {
    if (!has_halves_) return 1;
    std::int64_t const at[3] = {at_[0], at_[1], at_[2]};
    return poisson::share_of(a_, at);
  }

  __device__ double operator()() const {
    if (!is_inner_ || !is_inner(along)) {
      std::int64_t const at[3] = {at_[0], at_[1], at_[2]};  // else they would be in memory
      return poisson::product_of(a_, u_, at).product;
    }
    double sum = a_.reaction_at(place_) * here_.u;
#pragma unroll
    for (int axis = 0; axis < along; ++axis) {
      std::int64_t const stride = axis == 0 ? 1 : a_.stride[axis];
      take(sum, axis, value(place_ - stride), value(place_ + stride));
    }
    take(sum, along, before_, behind_);
    return sum;
  }

 private:
  struct Value {
    double u, a;
  };

  __device__ bool is_inner(int axis) const {
    return at_[axis] >= 1 && at_[axis] <= a_.points[axis] - 2;
  }
  __device__ void find_known(int axis) {
    known_[axis][0] = a_.side[axis][0] == poisson::Rule::dirichlet && at_[axis] == 1;
    known_[axis][1] =
        a_.side[axis][1] == poisson::Rule::dirichlet && at_[axis] == a_.points[axis] - 2;
  }
  __device__ Value value(std::int64_t place) const {
    return {u_[place], double{a_.diffusivities[place]}};
  }
  /// So many points behind this one, or the last one of the line on that side.
  __device__ Value beside(int steps) const {
    if (a_.diffusivities == nullptr) return {u_[place_], 0};
    std::int64_t const last = a_.points[along] - 1 - at_[along];
    std::int64_t const step = max(-at_[along], min(std::int64_t{steps}, last));
    return value(place_ + step * a_.stride[along]);
  }
  __device__ void take(double& sum, int axis, Value const& before, Value const& behind) const {
    double const lower = a_.weight[axis] * (here_.a + before.a),
                 upper = a_.weight[axis] * (here_.a + behind.a);
    double const below = known_[axis][0] ? 0.0 : before.u, above = known_[axis][1] ? 0.0 : behind.u;
    sum += lower * (here_.u - below) - upper * (above - here_.u);
  }

  poisson::Operator<T> const& a_;
  double const* u_;
  std::int64_t at_[3], place_;
  bool is_inner_, has_halves_ = false;
  bool known_[along + 1][2];
  Value before_, here_, behind_, ahead_{};
};

constexpr int most_warps = threads_of_columns / warp_size;

/// What the threads of a block have, put together in the order of their numbers by the first one,
/// which `take`s it.
template <class Value, class Join, class Take>
__device__ void join_block(Value own, Join const& join, Take const& take) {
  __shared__ Value shared[most_warps];
  int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    own = join(own, shuffle_down(own, distance));
  if (thread % warp_size == 0) shared[thread / warp_size] = own;
  __syncthreads();
  if (thread != 0) return;
  for (int warp = 1; warp < static_cast<int>(blockDim.x * blockDim.y) / warp_size; ++warp)
    own = join(own, shared[warp]);
  take(own);
}

template <bool volume, class T, class S>
__global__ void __launch_bounds__(threads_of_columns)
    residual_kernel(__grid_constant__ TakeResidual<T, S> const step, int piece, Found* largest) {
  auto const& level = step.level;
  Column const column(piece, level.count[volume ? 2 : 1]);
  int const i = column.x, j = column.across;
  std::uint64_t found = 0;
  if (i < level.count[0] && (!volume || j < level.count[1])) {
    ColumnProduct<volume, T> product(step.a, step.u, i, j, column.first);
    double right = step.right[product.place()];
    for (int k = column.first; k < column.last; ++k) {
      bool const goes_on = k + 1 < column.last;
      double next_right = 0;
      if (goes_on) {
        product.look_ahead();
        next_right = step.right[product.place() + step.a.stride[product.along]];
      }
      double const residual = (right - product()) - step.shift;
      level.f[level.place(i, volume ? j : k, volume ? k : 0)] =
          static_cast<S>(residual * product.share() * step.scale);
      poisson::raise(found, poisson::bits_of_magnitude(residual));
      right = next_right;
      product.go_on();
    }
  }
  join_block(
      found, [](std::uint64_t a, std::uint64_t b) { return a > b ? a : b; },
      [&](std::uint64_t all) {
        atomicMax(reinterpret_cast<unsigned long long*>(&largest->first),
                  static_cast<unsigned long long>(all));
      });
}

template <bool volume, class T, class S>
__global__ void __launch_bounds__(threads_of_columns)
    direction_kernel(__grid_constant__ ApplyToDirection<T, S> const step, int piece, int before,
                     Summed* sums) {
  auto const& level = step.level;
  Column const column(piece, before + level.count[volume ? 2 : 1]);
  int const i = column.x, j = column.across;
  Summed own;
  if (i < level.count[0] && (!volume || j < level.count[1])) {
    int const first = max(column.first - before, 0), last = column.last - before;
    ColumnProduct<volume, T> product(step.a, step.p, i, j, first);
    auto const residual_at = [&](int k) {
      return double{level.f[level.place(i, volume ? j : k, volume ? k : 0)]};
    };
    double r = residual_at(first);
    for (int k = first; k < last; ++k) {
      bool const goes_on = k + 1 < last;
      double next_r = 0;
      if (goes_on) {
        product.look_ahead();
        next_r = residual_at(k + 1);
      }
      double const q = step.scale * product(), p = product.here();
      step.q[product.place()] = q;
      own = own + Summed{product.share() * p * q, p * r};
      r = next_r;
      product.go_on();
    }
  }
  join_block(
      own, [](Summed const& a, Summed const& b) { return a + b; },
      [&](Summed const& all) {
        sums[(std::int64_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = all;
      });
}

template <class Step>
Columns columns_of(Step const& step) {
  auto const [x, y, z] = step.extent();
  return step.a.dims == 3 ? Columns::in_blocks(64, 4, x, y, z)
                          : Columns::in_blocks(256, 1, x, 1, y);
}

/// Those of sums. Pieces are as long as those of the whole grid, and begin at planes whose numbers are
/// multiples of that: of a rank as of one process. `before` is how many planes of the first one are
/// none of its unknowns.
struct SumColumns {
  Columns columns;
  int before;

  template <class Step>
  static SumColumns of(Step const& step, Planes const& planes) {
    auto const [x, y, z] = step.extent();
    bool const volume = step.a.dims == 3;
    auto columns = columns_of(step);
    columns.piece = piece_of_columns(std::int64_t{x} * (volume ? y : 1) * planes.count);
    int const before = static_cast<int>(step.a.first[planes.axis] % columns.piece);
    columns.grid.z = blocks_for(before + (volume ? z : y), static_cast<unsigned>(columns.piece));
    return {columns, before};
  }
};

}  // namespace

template <class T, class S>
void march_stored(Stream& stream, TakeResidual<T, S> const& step, Found* largest) {
  auto* const kernel =
      step.a.dims == 3 ? residual_kernel<true, T, S> : residual_kernel<false, T, S>;
  auto const columns = columns_of(step).fitted(stream, kernel, step.level.count[step.a.dims - 1]);
  kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, columns.piece, largest);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid residual");
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
  auto* const kernel =
      step.a.dims == 3 ? direction_kernel<true, T, S> : direction_kernel<false, T, S>;
  kernel<<<columns.grid, columns.block, 0, native(stream)>>>(step, columns.piece, before, sums);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid direction");
}

#define GRIDSTRIDE_INSTANTIATE(T, S)                                            \
  template void march_stored(Stream&, TakeResidual<T, S> const&, Found*);       \
  template std::size_t blocks_of(ApplyToDirection<T, S> const&, Planes const&); \
  template void march_stored(Stream&, ApplyToDirection<T, S> const&, Planes const&, Summed*);
GRIDSTRIDE_INSTANTIATE(float, float)
GRIDSTRIDE_INSTANTIATE(float, double)
GRIDSTRIDE_INSTANTIATE(double, float)
GRIDSTRIDE_INSTANTIATE(double, double)

}  // namespace gridstride::multigrid
