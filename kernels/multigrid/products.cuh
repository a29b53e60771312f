#pragma once

#include <cstdint>

#include "kernels/poisson/point.hpp"

/// Products with the equations of the grid's own arrays, by columns of points. For the family's own files
/// only.
namespace gridstride::multigrid {

/// A·u at the points of a column one after the other, in the order of `poisson::product_with`. What lies
/// before and behind is kept from point to point.
template <bool volume, class T, class U>
class ColumnProduct {
 public:
  static constexpr int along = volume ? 2 : 1;

  /// At a point, which lies at a place in arrays.
  __device__ ColumnProduct(poisson::Operator<T> const& a, U const* u, std::int64_t const (&at)[3],
                           std::int64_t place)
      : a_(a), all_u_(u), at_{at[0], at[1], at[2]}, place_(place), u_(u + place) {
    has_field_ = a.diffusivities != nullptr;
    if (has_field_) field_ = a.diffusivities + place;
    is_inner_ = has_field_ && is_inner(0) && (!volume || is_inner(1));
#pragma unroll
    for (int axis = 0; axis <= along; ++axis) {
      known_[axis][0] = a.side[axis][0] == poisson::Rule::dirichlet && at_[axis] == 1;
      known_[axis][1] =
          a.side[axis][1] == poisson::Rule::dirichlet && at_[axis] == a.points[axis] - 2;
    }
    last_ = static_cast<int>(min(a.points[along] - 1 - at_[along], std::int64_t{1 << 30}));
    has_first_ = at_[along] > 0;
    before_ = beside(-1);
    here_ = beside(0);
    behind_ = beside(1);
  }
  __device__ double here() const { return here_.u; }
  /// Asks for what is behind the next point, which has to be an unknown of this rank.
  __device__ void look_ahead() { ahead_ = beside(2); }
  /// To the next point, after that.
  __device__ void go_on() {
    std::int64_t const stride = a_.stride[along];
    ++at_[along];
    place_ += stride;
    u_ += stride;
    if (has_field_) field_ += stride;
    --last_;
    has_first_ = true;
    known_[along][0] = false;
    known_[along][1] = a_.side[along][1] == poisson::Rule::dirichlet && last_ == 1;
    before_ = here_;
    here_ = behind_;
    behind_ = ahead_;
  }

  __device__ double operator()() const {
    if (!is_inner_ || !has_first_ || last_ < 1) {
      std::int64_t const at[3] = {at_[0], at_[1], at_[2]};  // else they would be in memory
      return poisson::product_of(a_, all_u_, at).product;
    }
    double sum = a_.reaction_at(place_) * here_.u;
    take(sum, 0, value(-1), value(1));
    if constexpr (volume) take(sum, 1, value(-a_.stride[1]), value(a_.stride[1]));
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
  __device__ Value value(std::int64_t from_here) const {
    return {double{u_[from_here]}, has_field_ ? double{field_[from_here]} : 0.0};
  }
  /// So many points behind this one, or the last one of the line on that side.
  __device__ Value beside(int steps) const {
    int const step = steps < 0 && !has_first_ ? 0 : min(steps, last_);
    return value(step * a_.stride[along]);
  }
  __device__ void take(double& sum, int axis, Value const& before, Value const& behind) const {
    double const lower = a_.weight[axis] * (here_.a + before.a),
                 upper = a_.weight[axis] * (here_.a + behind.a);
    double const below = known_[axis][0] ? 0.0 : before.u, above = known_[axis][1] ? 0.0 : behind.u;
    sum += lower * (here_.u - below) - upper * (above - here_.u);
  }

  poisson::Operator<T> const& a_;
  U const* all_u_;
  std::int64_t at_[3], place_;
  U const* u_;
  T const* field_ = nullptr;
  bool has_field_, is_inner_, has_first_;
  int last_;  ///< points of the line behind this one
  bool known_[along + 1][2];
  Value before_, here_, behind_, ahead_{};
};

constexpr int tile_width = 64, tile_rows = 8, threads_of_tile = tile_width * tile_rows;

/// Of a volume with a field a all of whose sides are given: all neighbours are in the arrays.
template <class T>
bool goes_by_tiles(poisson::Operator<T> const& a) {
  if (a.dims != 3 || a.diffusivities == nullptr) return false;
  for (int axis = 0; axis < 3; ++axis)
    for (int side = 0; side < 2; ++side)
      if (a.side[axis][side] != poisson::Rule::dirichlet) return false;
  return true;
}

/// u and a of a column of points, one plane after the other; what lies on a side counts as 0.
template <class T, class U>
class ColumnValues {
 public:
  struct Value {
    U u;
    T a;
  };
  /// Of the column so far behind the first unknowns in a row and across rows, or the last one that there
  /// is; from a plane on.
  __device__ ColumnValues(poisson::Operator<T> const& a, U const* u, int x, int y, int k) {
    std::int64_t const last_x = a.points[0] - 1, last_y = a.points[1] - 1;
    std::int64_t const i = min(a.first[0] + x, last_x), j = min(a.first[1] + y, last_y);
    is_given_ = i == 0 || j == 0 || i == last_x || j == last_y;
    place_ = i + j * a.stride[1] + (a.first[2] + k) * a.stride[2];
    u_ = u + place_;
    field_ = a.diffusivities + place_;
    over_plane_ = a.stride[2];
    auto const within = [&](std::int64_t plane) {
      return static_cast<int>(max(std::int64_t{-2}, min(plane, std::int64_t{1 << 30})));
    };
    to_first_ = within(a.first[2] + k);
    to_last_ = within(a.points[2] - 1 - a.first[2] - k);
  }
  __device__ bool is_given() const { return is_given_; }
  __device__ std::int64_t place() const { return place_; }
  /// So many planes from here.
  __device__ Value value(int on) const {
    bool const given = is_given_ || to_first_ + on == 0 || to_last_ == on;
    std::int64_t const distance = on * over_plane_;
    return {given ? U{0} : u_[distance], field_[distance]};
  }
  __device__ void go_on() {
    place_ += over_plane_;
    u_ += over_plane_;
    field_ += over_plane_;
    ++to_first_;
    --to_last_;
  }

 private:
  U const* u_;
  T const* field_;
  std::int64_t place_, over_plane_;
  int to_first_, to_last_;  ///< planes from the grid's first one, and to its last
  bool is_given_;
};

/// A·u of such an equation at the unknowns of a block's columns, from plane `first` to before `last`.
/// Of a plane u and a of the tile, and of what is around it, lie in shared memory; what lies before and
/// behind is in registers, and is asked for two planes ahead. `ask(k, place)` is what a point needs
/// besides, a plane ahead; `take(k, place, A·u, u, that)` is called in the order of planes.
template <class T, class U, class Ask, class Take>
__device__ void for_tile(poisson::Operator<T> const& a, U const* u, int first, int last,
                         Ask const& ask, Take const& take) {
  constexpr int pitch = tile_width + 2, size = pitch * (tile_rows + 2);
  constexpr int around = 2 * (tile_width + tile_rows);
  __shared__ double values[2 * size];
  __shared__ T fields[2 * size];
  int const x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  int const thread = y * tile_width + x;
  // Points around the tile, a thread each: two rows of them, and two columns.
  bool const has_edge = thread < around, in_row = thread < 2 * tile_width;
  int const beyond = thread - 2 * tile_width;
  int const edge_x = in_row ? x : beyond % 2 == 0 ? -1 : tile_width;
  int const edge_y = in_row ? (thread < tile_width ? -1 : tile_rows) : has_edge ? beyond / 2 : 0;
  int const at_x = static_cast<int>(blockIdx.x) * tile_width,
            at_y = static_cast<int>(blockIdx.y) * tile_rows;
  ColumnValues<T, U> own(a, u, at_x + x, at_y + y, first),
      edge(a, u, at_x + edge_x, at_y + edge_y, first);
  int at = (y + 1) * pitch + x + 1, edge_at = (edge_y + 1) * pitch + edge_x + 1, to_other = size;
  bool const is_point = !own.is_given();

  auto const before = own.value(-1);
  auto here = own.value(0), behind = own.value(1), on_edge = edge.value(0);
  double const weights[3] = {a.weight[0], a.weight[1], a.weight[2]};
  double here_u = here.u, behind_u = behind.u;
  double from_before =
      weights[2] * ((double{here.a} + double{before.a}) * (here_u - double{before.u}));
  double asked = is_point ? ask(first, own.place()) : 0.0;
  for (int k = first; k < last; ++k) {
    values[at] = here_u;
    fields[at] = here.a;
    if (has_edge) {
      values[edge_at] = on_edge.u;
      fields[edge_at] = on_edge.a;
    }
    typename ColumnValues<T, U>::Value next{};
    double next_asked = 0;
    if (k + 1 < last) {
      next = own.value(2);
      if (has_edge) on_edge = edge.value(1);
      if (is_point) next_asked = ask(k + 1, own.place() + a.stride[2]);
    }
    __syncthreads();
    double const here_a = here.a;
    double sum = a.reaction_at(own.place()) * here_u;
    auto const take_axis = [&](double weight, int step) {
      double const below = (here_a + double{fields[at - step]}) * (here_u - values[at - step]);
      double const above = (here_a + double{fields[at + step]}) * (values[at + step] - here_u);
      sum += weight * (below - above);
    };
    take_axis(weights[0], 1);
    take_axis(weights[1], pitch);
    double const to_behind = weights[2] * ((here_a + double{behind.a}) * (behind_u - here_u));
    if (is_point) take(k, own.place(), sum + (from_before - to_behind), here_u, asked);
    from_before = to_behind;
    here = behind;
    here_u = behind_u;
    behind = next;
    behind_u = next.u;
    asked = next_asked;
    own.go_on();
    edge.go_on();
    at += to_other;
    edge_at += to_other;
    to_other = -to_other;
  }
}

}  // namespace gridstride::multigrid
