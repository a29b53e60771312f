// What a pass of march.cuh does where a system's grid has sides, as value_at and held_by say
// (sides.cuh). A component's rules are known when this is compiled (side_rules), its slope
// and arrays are found in the arguments.
//
// Along x, where it does not wrap, the first strip begins beyond the first side and the last one
// ends beyond the last, by whole threads, which get what lies there of each row of a state as soon
// as it is made. So whatever else a stage makes there, parts too, is what a program would make
// beyond the side. Where x wraps with a sign, threads beyond a side have what lies around it
// without, and get it with what they are handed across. Along y, rows beyond the sides are never
// made: what a program asks for there comes of rows inside, at any column, so that x goes first at
// corners. Columns and rows that nothing inside asks for hold whatever comes of this.

namespace gridstride::system {

__device__ constexpr bool is_sided(int axis) {
  for (auto const& of_component : side_rules)
    for (auto const& side : of_component[axis])
      if (!side.wraps || side.sign != 1) return true;
  return false;
}
/// Whether beyond an axis anything but the same values follows.
constexpr bool sided[2] = {is_sided(0), is_sided(1)};

constexpr bool has_sides = sided[0] || sided[1];

/// Whether something else follows around x than the same values.
constexpr bool turns_around_x = wraps[0] && sided[0];

/// A turn inside, where the loop is written out; in a strip at a side of x; and where a level may
/// look beyond a side of y, in any strip. Few turns are of the last two, so that the text for one
/// stands there once.
enum class Way { inside, beside, near };

/// What a warp marches over: rows [first, last) of one of `strips` strips.
struct Share {
  long long strip, strips, first, last;
};

/// The share of warp `number`. Warps at a side of x take longer for a row, so that each of
/// `side_pieces` has a piece of the chunk; they come first, and of others those at the sides of y.
__device__ __forceinline__ Share share_of(MarchArguments<Real> const& a, long long number) {
  auto const first_of = [&](long long n) {
    return a.base + (n + a.chunks - 1) % a.chunks * a.rows;
  };
  auto const share_at = [&](long long first, long long last) {
    return Share{0, a.strips, max(first, a.lower), min(last, a.upper)};
  };
  if constexpr (wraps[0]) {
    long long const first = first_of(number / a.strips);
    Share share = share_at(first, first + a.rows);
    share.strip = number % a.strips;
    return share;
  } else {
    int const ends = a.strips > side_pieces ? 2 : 1, at_sides = ends * side_pieces;
    long long const between = a.strips - at_sides;
    bool const is_at_side = number < at_sides * a.chunks;
    long long const n = is_at_side ? number : number - at_sides * a.chunks;
    long long first = first_of(n / (is_at_side ? at_sides : between)), last = first + a.rows;
    if (is_at_side) {
      long long const together = summed > 0 ? a.summed.rows : 1, parts = a.rows / together;
      long long const rows = (parts + side_pieces - 1) / side_pieces * together;
      first += n % at_sides / ends * rows;
      last = min(first + rows, last);
    }
    Share share = share_at(first, last);
    share.strips = between + ends;
    share.strip = is_at_side ? n % ends * (share.strips - 1) : 1 + n % between;
    return share;
  }
}

/// The columns of a strip, and those that it stores.
struct Columns {
  long long start, from, until;
  bool touch_side;
};

/// Where x does not wrap, the first strip begins `ghosts` columns before the first side, and the
/// last one ends as many after the last, a whole number of threads. Those between lie inside.
__device__ __forceinline__ Columns columns_of(MarchArguments<Real> const& a, Share const& share) {
  long long const strip = share.strip;
  long long const points = a.place.points[0];
  constexpr int width = 32 * lane_points;
  if constexpr (wraps[0]) {
    long long const start = strip * stored - halo;
    return {start, start + halo, min(start + halo + stored, points),
            sided[0] && (start < 0 || start + width > points)};
  } else {
    bool const is_first = strip == 0, is_last = strip + 1 == share.strips;
    // The last of those between ends at the last side at most.
    long long const shift =
        max(static_cast<long long>(ghosts), (share.strips - 1) * stored + 2 * halo - points);
    long long const start = strip * stored - shift;
    return {is_first  ? -static_cast<long long>(ghosts)
            : is_last ? points + ghosts - width
                      : start,
            is_first ? 0 : start + halo, is_last ? points : start + halo + stored,
            is_first || is_last};
  }
}

/// Whether a level comes to a side of y within as many turns as the loop is written out for.
__device__ __forceinline__ bool comes_to_rows_beyond(Strip const& strip) {
  if constexpr (!sided[1]) return false;
  constexpr int near = reach_y > 0 ? reach_y : 1;  // the side's own points may be given
  constexpr int newest = levels > 0 ? reach_y : summed_lag;
  return strip.row + 1 - lag < near || strip.row + turns - newest >= strip.a.place.points[1] - near;
}

/// The row or column of the grid's own that a thread stands for, the nearest where there is none.
template <int axis>
__device__ __forceinline__ long long inner(MarchArguments<Real> const& a, long long i) {
  long long const points = a.place.points[axis];
  if constexpr (wraps[axis]) return wrapped(i, points);
  return min(max(i, 0LL), points - 1);
}

/// A side's rule with what the pass is given.
__device__ __forceinline__ Side<Real> rule_of(Strip const& strip, int component, int axis,
                                              int end) {
  SideRule const& rule = side_rules[component][axis][end];
  Side<Real> const& given = strip.a.inputs[component].sides[axis][end];
  return {rule.wraps,
          rule.given,
          rule.sign,
          rule.own,
          rule.slopes ? given.slope : 0,
          rule.has_g ? given.g : nullptr,
          rule.has_a ? given.a : nullptr};
}

/// A row of an array that lasts, and what is known beside it: `left` of columns below 0, `right` of
/// those after the last, counted from there. `is_beyond`: the row lies beyond a side of y itself.
struct KnownRow {
  bool is_beyond;
  Real const *row, *left, *right;

  /// `inner` is the row of the grid's own that is loaded for `at`, which may lie beyond.
  __device__ __forceinline__ KnownRow(Input<Real> const& input, long long const (&points)[3],
                                      long long inner, long long at) {
    long long const margin = input.margin[0], line = points[0] + 2 * margin;
    long long const layer = at < 0 ? at + input.margin[1] : at - points[1];
    is_beyond = !wraps[1] && (at < 0 || at >= points[1]) && layer >= 0 && layer < input.margin[1];
    // The slabs of y, the lower and the upper, then those of x (margin_slab).
    if (is_beyond) {
      long long const lines = at < 0 ? layer : input.margin[1] + layer;
      row = left = input.beyond + margin + line * lines;
      right = row + points[0];
    } else {
      Real const* const columns = input.beyond + 2 * line * input.margin[1];
      row = input.values + points[0] * inner;
      left = columns + margin * (inner + 1);
      right = columns + margin * (points[1] + inner);
    }
  }
};

/// Component c at j + 1 columns before a thread's own (`end` 0) or after them, where `value` is
/// what its neighbours have there: across a side where x wraps with a sign it gets this.
template <int end>
__device__ __forceinline__ Real around_x(Strip const& strip, int c, int j, Real value) {
  long long const points = strip.a.place.points[0], column = wrapped(strip.column, points);
  bool const is_across = end == 0 ? column <= j : column + lane_points + j >= points;
  return is_across ? side_rules[c][0][end].sign * value : value;
}

/// Gives thread number `threads` beyond a side of x what lies beyond it in row y of component c.
template <int end, int threads>
__device__ __forceinline__ void mirror_at(Strip const& strip, int c, long long y,
                                          Real (&row)[lane_points]) {
  long long const points = strip.a.place.points[0];
  bool const is_there =
      strip.column == (end == 0 ? -threads * lane_points : points + (threads - 1) * lane_points);
  auto const inward = [](Real value, int lanes) {
    return end == 0 ? __shfl_down_sync(~0u, value, lanes) : __shfl_up_sync(~0u, value, lanes);
  };
  Real const own = inward(row[end == 0 ? 0 : lane_points - 1], threads);
  Real made[lane_points];
#pragma unroll
  for (int e = 0; e < lane_points; ++e) {
    // How far beyond the side, and counted from the side inward the column that is as far inside.
    int const by = end == 0 ? threads * lane_points - e : (threads - 1) * lane_points + e + 1;
    if (by > reach[0]) continue;
    int const lanes = threads + by / lane_points, column = by % lane_points;
    Real const mirrored = inward(row[end == 0 ? column : lane_points - 1 - column], lanes);
    made[e] = value_beyond_side(
        rule_of(strip, c, 0, end), by, [&](int steps) { return steps > 0 ? mirrored : own; },
        [&](Real const* g, bool) { return __ldg(g + inner<1>(strip.a, y)); });
  }
#pragma unroll
  for (int e = 0; e < lane_points; ++e) {
    int const by = end == 0 ? threads * lane_points - e : (threads - 1) * lane_points + e + 1;
    if (by <= reach[0] && is_there) row[e] = made[e];
  }
}

template <int end, int threads>
__device__ __forceinline__ void mirror_beyond(Strip const& strip, long long y,
                                              Real (&row)[components][lane_points]) {
  if constexpr (threads * lane_points <= ghosts) {
#pragma unroll
    for (int c = 0; c < components; ++c) mirror_at<end, threads>(strip, c, y, row[c]);
    mirror_beyond<end, threads + 1>(strip, y, row);
  }
}

/// Gives threads beyond the sides of x what lies there in row y of a state.
template <Way way>
__device__ __forceinline__ void mirror_x(Strip const& strip, long long y,
                                         Real (&row)[components][lane_points]) {
  if constexpr (way != Way::inside && !wraps[0] && ghosts > 0) {
    if (!strip.is_at_side) return;
    mirror_beyond<0, 1>(strip, y, row);
    mirror_beyond<1, 1>(strip, y, row);
  }
}

/// The value that a source asks for where `rows` inside lie between its own row and the side.
template <int component, int dx, int dy, int rows, class Source>
__device__ __forceinline__ Real beyond_y_from(Source const& source) {
  constexpr int end = dy < 0 ? 0 : 1, outward = dy < 0 ? -1 : 1, by = dy * outward - rows;
  auto const& a = source.strip.a;
  return value_beyond_side(
      rule_of(source.strip, component, 1, end), by,
      [&](int steps) {
        return steps > 0 ? source.template held<component, dx, outward*(rows - by)>()
                         : source.template held<component, dx, outward * rows>();
      },
      [&](Real const* g, [[maybe_unused]] bool turns) {
        long long const i = inner<0>(a, source.at[0]);
        if constexpr (dx == 0)
          return __ldg(g + i);
        else
          return face_value<1>(a.inputs[component].sides, a.place.points, 1, g, i + dx, 0, 0,
                               turns);
      });
}

template <int component, int dx, int dy, int rows, class Source>
__device__ __forceinline__ Real beyond_y_after(Source const& source, long long inside_rows) {
  constexpr int distance = dy < 0 ? -dy : dy;
  if constexpr (rows == distance)
    return source.template held<component, dx, dy>();
  else
    return inside_rows == rows ? beyond_y_from<component, dx, dy, rows>(source)
                               : beyond_y_after<component, dx, dy, rows + 1>(source, inside_rows);
}

/// What a source's program asks for in another row than its own.
template <int component, int dx, int dy, class Source>
__device__ __forceinline__ Real beyond_y(Source const& source) {
  long long const points = source.place.points[1];
  if constexpr (wraps[1]) {
    long long const row = wrapped(source.at[1], points) + dy;
    Real const value = source.template held<component, dx, dy>();
    return row < 0 || row >= points ? side_rules[component][1][dy < 0 ? 0 : 1].sign * value : value;
  } else {
    return beyond_y_after<component, dx, dy, 0>(source,
                                                dy < 0 ? source.at[1] : points - 1 - source.at[1]);
  }
}

/// Gives a thread's column of a new row what this side holds there.
template <int axis, int end, int column>
__device__ __forceinline__ void hold_at(Strip const& strip, long long const (&at)[3],
                                        Real (&made)[components][lane_points]) {
  if (at[axis] != inside(end, strip.a.place.points[axis], 0)) return;
  long long const place = inner<1 - axis>(strip.a, at[1 - axis]);
#pragma unroll
  for (int c = 0; c < components; ++c) {
    SideRule const& rule = side_rules[c][axis][end];
    Real const* const g = strip.a.inputs[c].sides[axis][end].g;
    if (rule.given) made[c][column] = rule.has_g ? __ldg(g + place) : 0;
  }
}

/// The same of both sides of y.
template <int column>
__device__ __forceinline__ void hold_y(Strip const& strip, long long const (&at)[3],
                                       Real (&made)[components][lane_points]) {
  if constexpr (!wraps[1]) {
    hold_at<1, 1, column>(strip, at, made);
    hold_at<1, 0, column>(strip, at, made);
  }
}

/// The same of both sides of x, of the whole row, after those of y: the first one counts
/// (`held_by`).
template <Way way>
__device__ __forceinline__ void hold_x(Strip const& strip, long long y,
                                       Real (&made)[components][lane_points]) {
  if constexpr (way != Way::inside && !wraps[0]) {
    if (!strip.is_at_side) return;
    hold_at<0, 1, lane_points - 1>(strip, {strip.column + lane_points - 1, y, 0}, made);
    hold_at<0, 0, 0>(strip, {strip.column, y, 0}, made);
  }
}

}  // namespace gridstride::system
