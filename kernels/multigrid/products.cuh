#pragma once

#include <cstdint>
#include <limits>

#include "kernels/multigrid/level.hpp"
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

/// Of a tile a thread has two points, one behind the other.
constexpr int tile_width = 64, tile_rows = 8, threads_of_tile = tile_width * tile_rows / 2;

/// Values u of the grid's own arrays, and of a level's, where a point's place in a plane is that of its colour with
/// what tells which that is in the plane 0.
template <class U>
struct GridValues {
  using Value = U;
  U const* u;
  __device__ int place(int, int) const { return 0; }
  __device__ U at(int in_plane, int, std::int64_t of_plane, int) const {
    return (u + of_plane)[in_plane];
  }
};
template <class S>
struct LevelValues {
  using Value = S;
  S const* u;
  std::int64_t colour, over_plane;
  int half;
  __device__ LevelValues(Level<S> const& level, S const* values)
      : u(values),
        colour(level.colour),
        over_plane(level.half * level.count[1]),
        half(level.half) {}
  __device__ int place(int i, int j) const { return 2 * (j * half + (i >> 1)) + ((i + j) & 1); }
  __device__ S at(int, int place, std::int64_t, int k) const {
    S const* const plane = u + k * over_plane + (((place + k) & 1) != 0 ? colour : 0);
    return plane[place >> 1];
  }
};

/// Of the grid's u, along a direction that it has not gone yet and that lies as a level's values do.
template <class S>
struct ValuesAhead {
  struct Value {
    double u;
    S p;
  };
  GridValues<double> of_u;
  LevelValues<S> of_p;
  double factor;
  __device__ int place(int i, int j) const { return of_p.place(i, j); }
  __device__ Value at(int in_plane, int place, std::int64_t of_plane, int k) const {
    return {of_u.at(in_plane, place, of_plane, k), of_p.at(in_plane, place, of_plane, k)};
  }
  /// With the roundings of `Advance`, which u has where it is kept.
  __device__ double whole(Value const& value) const {
    return value.u + poisson::rounded_product(factor, value.p);
  }
};

/// What a tile's equations have in the place of those of the grid's arrays, in another type or unit: a and what that
/// is multiplied by along the axes, and what draws to 0, `reaction(place)`.
template <class Real, class Field, class Reaction>
struct TileEquations {
  Field const* field;
  Real weights[3];
  Reaction reaction;
};
template <class Field, class Real, class Reaction>
__device__ TileEquations<Real, Field, Reaction> tile_equations(Field const* field,
                                                               Real const (&weights)[3],
                                                               Reaction const& reaction) {
  return {field, {weights[0], weights[1], weights[2]}, reaction};
}

/// Where a point of the grid along an axis lies whose number may be beyond its ends: beyond a side without flux at what
/// is inside of it, on a ring at the other end. What is further is nobody's, and somewhere.
template <bool all_given, class T>
__device__ int within(poisson::Operator<T> const& a, int axis, int at) {
  int const last = static_cast<int>(a.points[axis]) - 1;
  if constexpr (all_given) return min(at, last);
  int const before = a.side[axis][0] == poisson::Rule::periodic ? last : min(1, last),
            behind = a.side[axis][1] == poisson::Rule::periodic ? 0 : max(last - 1, 0);
  return at < 0 ? before : at <= last ? at : at == last + 1 ? behind : last;
}
template <bool all_given, class T>
__device__ bool is_given(poisson::Operator<T> const& a, int axis, int at) {
  return (at == 0 && (all_given || a.side[axis][0] == poisson::Rule::dirichlet)) ||
         (at == static_cast<int>(a.points[axis]) - 1 &&
          (all_given || a.side[axis][1] == poisson::Rule::dirichlet));
}

/// The plane before a rank's first one, or behind its last one, where the grid ends there: its number from its first
/// unknowns' on, whether it is given, and else how many planes on it lies.
template <bool all_given>
struct PlaneBeyond {
  int number, skips = 0;
  bool is_given = true;

  template <class T>
  __device__ PlaneBeyond(poisson::Operator<T> const& a, int side) {
    if constexpr (!all_given) {
      auto const rule = a.side[2][side];
      is_given = rule == poisson::Rule::dirichlet;
      // In one process the other end is the last plane from the first one, and of ranks the plane beside it.
      int const around = static_cast<int>(a.around[2] / a.stride[2]);
      int const on = is_given ? 0 : rule == poisson::Rule::neumann ? 2 : around + 1;
      skips = side == 0 ? on : -on;
    }
    std::int64_t const end = side == 0 ? (is_given ? 0 : -1) : a.points[2] - (is_given ? 1 : 0);
    // Planes that are further than that from the rank's own are not asked for.
    number = static_cast<int>(max(std::int64_t{-3}, min(end - a.first[2], std::int64_t{1 << 30})));
  }
};

/// A·u of an equation that goes by tiles at the unknowns of a block's columns, from plane `first` to before `last`.
/// Of a plane u and a of the tile, and of what is around it, lie in shared memory; what lies before and
/// behind is in registers, and is asked for two planes ahead. `ask(k, plane, r, in_plane)` is what a point
/// of row r of the thread's two needs besides, a plane ahead; `take(k, plane, r, in_plane, A·u, u, that)` is
/// called in the order of planes. A point lies in_plane behind a plane's beginning in the grid's arrays. Beyond a side
/// without flux lies what is inside of it, and a ring goes on at its other end.
/// What has been asked for stays in its type until it is used: to convert it would be to wait for it.
template <bool all_given, class T, class Real, class Field, class Reaction, class Values, class Ask,
          class Take>
__device__ void for_tile(poisson::Operator<T> const& a,
                         TileEquations<Real, Field, Reaction> const& equations, Values const& u,
                         int first, int last, Ask const& ask, Take const& take) {
  using U = typename Values::Value;
  constexpr int pitch = tile_width + 2, size = pitch * (tile_rows + 2);
  constexpr int around = 2 * (tile_width + tile_rows);
  __shared__ Real values[2 * size];
  __shared__ Field fields[2 * size];
  int const x = static_cast<int>(threadIdx.x), y = 2 * static_cast<int>(threadIdx.y);
  int const thread = static_cast<int>(threadIdx.y) * tile_width + x;
  // Points around the tile, a thread each: two rows of them, and two columns.
  bool const has_edge = thread < around, in_row = thread < 2 * tile_width;
  int const beyond = thread - 2 * tile_width;
  int const edge_x = in_row ? x : beyond % 2 == 0 ? -1 : tile_width;
  int const edge_y = in_row ? (thread < tile_width ? -1 : tile_rows) : has_edge ? beyond / 2 : 0;
  // Where they lie in a plane; what lies on a given side counts as 0.
  struct Place {
    int in_plane, of_values;
    bool is_given;
  };
  int const first_x = static_cast<int>(a.first[0]), first_y = static_cast<int>(a.first[1]);
  int const tile_x = static_cast<int>(blockIdx.x) * tile_width,
            tile_y = static_cast<int>(blockIdx.y) * tile_rows;
  auto const place_of = [&](int in_row_, int row) -> Place {
    int const i = within<all_given>(a, 0, first_x + tile_x + in_row_),
              j = within<all_given>(a, 1, first_y + tile_y + row);
    return {i + j * static_cast<int>(a.stride[1]), u.place(i - first_x, j - first_y),
            is_given<all_given>(a, 0, i) || is_given<all_given>(a, 1, j)};
  };
  Place const own[2] = {place_of(x, y), place_of(x, y + 1)}, edge = place_of(edge_x, edge_y);
  auto const is_own = [&](int r) {
    if constexpr (all_given) return !own[r].is_given;
    return tile_x + x < a.count[0] && tile_y + y + r < a.count[1];
  };
  int at = (y + 1) * pitch + x + 1, edge_at = (edge_y + 1) * pitch + edge_x + 1, to_other = size;

  struct Value {
    U u;
    Field a;
  };
  std::int64_t const stride = a.stride[2];
  std::int64_t plane = (a.first[2] + first) * stride;
  PlaneBeyond<all_given> const before_first(a, 0), behind_last(a, 1);
  // So many planes from the one with the number k.
  auto const loaded = [&](Place const& place, int k, int on, bool given) -> Value {
    std::int64_t const of_plane = plane + on * stride;
    return {given ? U{} : u.at(place.in_plane, place.of_values, of_plane, k + on),
            (equations.field + of_plane)[place.in_plane]};
  };
  // The same where that may be beyond an end.
  auto const value = [&](Place const& place, int k, int on, auto const& beyond) {
    bool const ends = k + on == beyond.number;
    return loaded(place, k, !all_given && ends ? on + beyond.skips : on,
                  place.is_given || (ends && beyond.is_given));
  };
  auto const whole = [&u](U const& value) -> Real {
    if constexpr (requires { u.whole(value); })
      return u.whole(value);
    else
      return value;
  };
  auto const& weights = equations.weights;
  using Asked = decltype(ask(first, plane, 0, 0));
  Real here_u[2], from_before[2];
  Field here_a[2];
  Value behind[2], on_edge = loaded(edge, first, 0, edge.is_given);
  Asked asked[2]{};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    Value const before = value(own[r], first, -1, before_first);
    Value const here = loaded(own[r], first, 0, own[r].is_given);
    behind[r] = value(own[r], first, 1, behind_last);
    here_u[r] = whole(here.u);
    here_a[r] = here.a;
    from_before[r] = weights[2] * ((Real{here.a} + Real{before.a}) * (here_u[r] - whole(before.u)));
    if (is_own(r)) asked[r] = ask(first, plane, r, own[r].in_plane);
  }
  for (int k = first; k < last; ++k) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      values[at + r * pitch] = here_u[r];
      fields[at + r * pitch] = here_a[r];
    }
    if (has_edge) {
      values[edge_at] = whole(on_edge.u);
      fields[edge_at] = on_edge.a;
    }
    Value next[2]{};
    Asked next_asked[2]{};
    if (k + 1 < last) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        next[r] = value(own[r], k, 2, behind_last);
        if (is_own(r)) next_asked[r] = ask(k + 1, plane + stride, r, own[r].in_plane);
      }
      if (has_edge) on_edge = loaded(edge, k, 1, edge.is_given);
    }
    __syncthreads();
    // From a point to the one before it, and from the one behind it to it.
    auto const flux = [](Real of_one, Real of_other, Real one, Real other) {
      return (of_one + of_other) * (one - other);
    };
    Real across[3];
    across[0] = flux(here_a[0], fields[at - pitch], here_u[0], values[at - pitch]);
    across[1] = flux(here_a[0], here_a[1], here_u[1], here_u[0]);
    across[2] = flux(here_a[1], fields[at + 2 * pitch], values[at + 2 * pitch], here_u[1]);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      int const of_row = at + r * pitch;
      Real const below = flux(here_a[r], fields[of_row - 1], here_u[r], values[of_row - 1]);
      Real const above = flux(here_a[r], fields[of_row + 1], values[of_row + 1], here_u[r]);
      Real const behind_u = whole(behind[r].u);
      Real const to_behind = weights[2] * flux(here_a[r], behind[r].a, behind_u, here_u[r]);
      Real sum = equations.reaction(plane + own[r].in_plane) * here_u[r];
      sum += weights[0] * (below - above);
      sum += weights[1] * (across[r] - across[r + 1]);
      sum += from_before[r] - to_behind;
      if (is_own(r)) take(k, plane, r, own[r].in_plane, sum, here_u[r], asked[r]);
      from_before[r] = to_behind;
      here_u[r] = behind_u;
      here_a[r] = behind[r].a;
      behind[r] = next[r];
      asked[r] = next_asked[r];
    }
    plane += stride;
    at += to_other;
    edge_at += to_other;
    to_other = -to_other;
  }
}

}  // namespace gridstride::multigrid
