// Several stages and steps of a system in one pass over memory, in 1D and 2D. After what compiled.cuh asks
// for stand
//
//   constexpr int steps, stages, lane_points, vector_points, turns, halo, ghosts, stored,
//       most_rows, kept_values, parts, inner_results;   // the most that a part makes
//   constexpr bool divides[parts];                    // part p has quotients or roots
//   constexpr int lasting, lasting_left[], lasting_right[];   // arrays, and columns beside a thread's
//   constexpr int early_levels[2];                    // of loops that a chunk begins with; 0: none
//   constexpr bool has_time;                          // the program asks for it
//   constexpr bool stores;                            // the state that the last stage makes
//   constexpr int found_numbers;                      // of a stage, that are found beforehand
//   constexpr int summed, summed_lag, first_summed;   // what is found of the last state; programs
//   constexpr bool summed_divides[], finds_least[], finds_greatest[];
//   using Vector = float4;                            // vector_points values
//   using Index = unsigned;                           // that counts the bytes of an array
//   struct StageShape { int base; bool mixes_in; int addends, addend[most_addends]; };
//   constexpr StageShape stage_shapes[stages];        // states are numbered as in march.hpp
//   constexpr int rows_held[levels], lags[programs], first_kept[programs],
//       left[programs·(2·reach_y + 1)][sources], right[…][…];   // programs: march_programs
//   constexpr int first_inner[parts], inner_held[…], part_of_inner[…];  // of what parts make
//   struct SideRule { bool wraps, given; Real sign, own; bool slopes, has_g, has_a; };
//   constexpr SideRule side_rules[components][2][2];  // by axis and end
//   constexpr int side_pieces;
//   template <int part, class At>
//   __device__ void inner_program(At const& at, Real (&result)[inner_results]);
//   template <class At> __device__ void program_near_sides(At const& at, Real (&result)[results]);
//   template <int number, class At>
//   __device__ void summed_program(At const& at, Real (&result)[1]);
//   template <class At> __device__ void find_columns(At const& at, Real (&all)[kept_values]);
//
// where programs ask for at.kept<i>(), too: what is the same all along a column, for quotients and
// roots (arithmetic.cuh), and for unknowns beyond the components: `lasting` arrays that stay as
// they are, then what parts before have made (inner_levels.hpp).
//
// Thread-to-data: a warp owns a strip, 32·lane_points columns wide, and marches along y over a chunk
// of rows. A level is a stage of a step. Row r of the old values comes from memory; of it and the
// rows before, level 0 makes row r − reach of its state, of which level 1 makes row r − 2·reach of
// the next, and so on down to the row that is stored, all within one turn of the march. Of each
// state, a thread keeps the rows that the levels after it still look at, in registers: 2·reach + 1
// for the level that it goes into, more where a later stage of the step asks for it again. Values
// beside a thread's columns come by shuffles. A warp waits for nobody else.
//
// A stage may be made in parts: each but the last makes rows of what is found once at each point,
// from the state's rows and those of parts before, `lags` rows behind the newest of the state, and
// these are kept and shared by shuffles as those of a state. Where a level may look beyond a side of
// y the whole program is taken: it reads states alone, of which it is known what follows there. Rows
// of parts are made meanwhile, from rows of which some may be no good; those inside take none of
// these.
//
// Of an array that lasts a row is loaded once, with what lies beside a thread's columns, and goes down
// all levels: a thread keeps those from the newest to the oldest that the last level looks at.
// Beyond sides it is known, and loaded as it is.
//
// In the first turns of a chunk no row of a level is asked for that looks at rows before the chunk's first
// ones: of level l, so many as 2·(l + 1)·reach. As long as that is so of all levels but the first, a loop of
// its own makes this one alone, and then another one half of them, where they are many. Loops for more of them
// would be longer for less.
//
// Columns at the ends of a strip are wrong, with each level `reach` more of them, and are not
// stored: strips overlap, and so do chunks, by as many rows as all levels reach. What lies beyond a
// side is found when a level asks for it (march_sides.cuh); only a warp that comes near one goes
// through the text for that.
//
// A pass may find numbers over the grid of its last state, and then need not store that: each thread
// keeps those of its columns for some rows, and stores them (march_sums.cuh).
//
// A line of points is a row: a warp makes all levels of its strip of it, one turn and no march.
//
// Bytes: 2·sizeof(Real) a component, point and pass, and sizeof(Real) for what overlaps; half of it
// for an array that lasts. Flops: the program's, for each level.

#include "kernels/system/arithmetic.cuh"
#include "kernels/system/compiled.cuh"

namespace gridstride::system {

constexpr int levels = steps * stages, reach_y = reach[1], ages = 2 * reach_y + 1;
constexpr int states = levels + (summed > 0 ? 1 : 0);  // of which rows are kept
constexpr int lag = levels * reach_y + summed_lag;
constexpr int sources = components + first_inner[parts - 1];
constexpr int rates = parts - 1;                // the part that makes them
constexpr int loaded_rows = turns > 1 ? 2 : 1;  // ahead of their use
constexpr int arrays = components + lasting;    // that are loaded
constexpr int lasting_rows = levels * reach_y + (summed_lag > 0 ? ages : reach_y + 1);
constexpr int lasting_arrays = lasting > 0 ? lasting : 1;
constexpr int numbers_of_stage = found_numbers > 0 ? found_numbers : 1;

__device__ constexpr bool is_lasting(int component) {
  return component >= components && component < arrays;
}

/// How far the newest row of what a part takes is below that of its stage.
__device__ constexpr int lag_of(int source) {
  return source < components ? 0 : lags[part_of_inner[source - components]];
}

/// The rows that a thread keeps, by level, age and source: the components of the state that the
/// level takes, then what its parts have made.
struct Rows {
  Real at[states][most_rows][sources][lane_points];
  /// Of what lasts, for all levels, from `reach` columns before the thread's own on.
  Real lasting_at[lasting_rows][lasting_arrays][lane_points + 2 * reach[0]];
};

/// Values beside a thread's columns, of what a part takes: the nearest first.
struct Beside {
  Real left[ages][sources][reach[0] + 1];
  Real right[ages][sources][reach[0] + 1];
};

/// The place of a warp's march in the grid.
struct Strip {
  MarchArguments<Real> const& a;
  evaluate::DeviceClock clock;
  long long column;  // a thread's first, which may lie beyond the grid
  long long row;     // the newest that was loaded, which may too
  bool is_at_side;   // of x, of the whole warp
  Real kept[lane_points][kept_values];
  Real found[levels + 1][numbers_of_stage];
};

}  // namespace gridstride::system

#include "kernels/system/march_sides.cuh"

namespace gridstride::system {

/// The program that makes rates where a level may look beyond a side: parts know no sides.
constexpr int whole = parts > 1 && has_sides ? parts : rates;

/// Takes the newest row of a source in, of which so many are held.
template <int most, int count, int columns>
__device__ __forceinline__ void push(Real (&rows)[most][count][columns], int held, int source,
                                     Real const (&newest)[columns]) {
#pragma unroll
  for (int e = 0; e < columns; ++e) {
#pragma unroll
    for (int age = most - 1; age > 0; --age)
      if (age < held) rows[age][source][e] = rows[age - 1][source][e];
    rows[0][source][e] = newest[e];
  }
}

template <int level, int part, bool near>
__device__ __forceinline__ void exchange(Strip const& strip, Rows const& rows, Beside& beside) {
#pragma unroll
  for (int age = 0; age < ages; ++age)
#pragma unroll
    for (int c = 0; c < sources; ++c) {
#pragma unroll
      for (int j = 0; j < reach[0]; ++j) {
        int const lanes = 1 + j / lane_points, column = j % lane_points;
        auto const& row = rows.at[level][age][c];
        if (j < left[part * ages + age][c]) {
          Real const value = __shfl_up_sync(~0u, row[lane_points - 1 - column], lanes);
          beside.left[age][c][j] = near && turns_around_x ? around_x<0>(strip, c, j, value) : value;
        }
        if (j < right[part * ages + age][c]) {
          Real const value = __shfl_down_sync(~0u, row[column], lanes);
          beside.right[age][c][j] =
              near && turns_around_x ? around_x<1>(strip, c, j, value) : value;
        }
      }
    }
}

/// What a program sees of a thread's column in the row that a part of a level makes.
template <int level, int part, int column, bool near, class Arithmetic>
struct ColumnSource : Point {
  Rows const& rows;
  Beside const& beside;
  Strip const& strip;
  Arithmetic& arithmetic;

  template <int component, int dx, int dy, int dz>
  __device__ __forceinline__ Real unknown() const {
    if constexpr (is_lasting(component))
      return rows.lasting_at[level * reach_y + lags[part] - dy][component - components]
                            [reach[0] + column + dx];
    else if constexpr (near && sided[1] && dy != 0)
      return beyond_y<component, dx, dy>(*this);
    else
      return held<component, dx, dy>();
  }
  /// What the thread has or was handed.
  template <int component, int dx, int dy>
  __device__ __forceinline__ Real held() const {
    constexpr int source = component < components ? component : component - lasting;
    constexpr int x = column + dx, age = lags[part] - lag_of(source) - dy;
    if constexpr (x < 0)
      return beside.left[age][source][-1 - x];
    else if constexpr (x >= lane_points)
      return beside.right[age][source][x - lane_points];
    else
      return rows.at[level][age][source][x];
  }
  __device__ __forceinline__ Real time() const {
    auto clock = strip.clock;
    if constexpr (level < levels)
      clock.steps += level / stages;
    else
      clock.steps += strip.a.summed.steps_ahead;
    return static_cast<Real>(clock.time(fraction));
  }
  template <int number>
  __device__ __forceinline__ Real found() const {
    return strip.found[level][number];
  }
  template <int i>
  __device__ __forceinline__ Real kept() const {
    return strip.kept[column][first_kept[part] + i];
  }
  __device__ __forceinline__ auto divisor(Real b) const { return arithmetic.divisor(b); }
  template <class Divisor>
  __device__ __forceinline__ Real quotient(Real a, Divisor const& by) const {
    return arithmetic.quotient(a, by);
  }
  template <class Divisor>
  __device__ __forceinline__ Real reciprocal(Divisor const& of) const {
    return arithmetic.reciprocal(of);
  }
  __device__ __forceinline__ Real root(Real a) const { return arithmetic.root(a); }
};

/// The part of the step that a level looks at the time at.
template <int level>
__device__ __forceinline__ double fraction_of(Strip const& strip) {
  if constexpr (level < levels)
    return strip.a.weights[level % stages].fraction;
  else
    return strip.a.summed.fraction;
}

template <int level, int part, int column, bool near, class Arithmetic>
__device__ __forceinline__ ColumnSource<level, part, column, near, Arithmetic> source_at(
    Strip const& strip, Rows const& rows, Beside const& beside, Arithmetic& arithmetic) {
  return {{strip.a.place,
           fraction_of<level>(strip),
           {strip.column + column, strip.row - level * reach_y - lags[part], 0}},
          rows,
          beside,
          strip,
          arithmetic};
}

/// What an inner part of a level makes of the row.
using InnerRow = Real[inner_results][lane_points];

template <int level, int part, int column, class Arithmetic>
__device__ __forceinline__ void make_inner_columns(Strip const& strip, Rows const& rows,
                                                   Beside const& beside, Arithmetic& arithmetic,
                                                   InnerRow& made) {
  if constexpr (column < lane_points) {
    Real result[inner_results];
    inner_program<part>(source_at<level, part, column, false>(strip, rows, beside, arithmetic),
                        result);
#pragma unroll
    for (int r = 0; r < first_inner[part + 1] - first_inner[part]; ++r) made[r][column] = result[r];
    make_inner_columns<level, part, column + 1>(strip, rows, beside, arithmetic, made);
  }
}

/// The newest rows of the inner parts of a level from `part` on.
template <int level, int part>
__device__ __forceinline__ void make_inner_rows(Strip const& strip, Rows& rows) {
  if constexpr (part < rates) {
    Beside beside;
    exchange<level, part, false>(strip, rows, beside);
    InnerRow made;
    bool is_good = false;
    if constexpr (divides[part]) {
      QuickArithmetic<Real> quick;
      make_inner_columns<level, part, 0>(strip, rows, beside, quick, made);
      is_good = quick.is_good;
    }
    if (__builtin_expect(!is_good, 0)) {
      CarefulArithmetic<Real> careful;
      make_inner_columns<level, part, 0>(strip, rows, beside, careful, made);
    }
#pragma unroll
    for (int r = 0; r < first_inner[part + 1] - first_inner[part]; ++r)
      push(rows.at[level], inner_held[first_inner[part] + r], components + first_inner[part] + r,
           made[r]);
    make_inner_rows<level, part + 1>(strip, rows);
  }
}

/// The columns from `column` on of the row that a level makes.
template <int level, int column, bool near, class Arithmetic>
__device__ __forceinline__ void make_columns(Strip const& strip, Rows const& rows,
                                             Beside const& beside, Arithmetic& arithmetic,
                                             Real (&made)[components][lane_points]) {
  if constexpr (column < lane_points) {
    constexpr int stage = level % stages, first = level - stage;
    constexpr StageShape shape = stage_shapes[stage];
    Real result[results];
    auto const source = source_at < level, near ? whole : rates, column,
               near > (strip, rows, beside, arithmetic);
    if constexpr (near && whole != rates)
      program_near_sides(source, result);
    else
      program(source, result);
    // State i of the step is the input of level first + i, and its newest row lies
    // (level − first − i)·reach_y above that of this level's input.
    auto const state = [&](int i, int c) {
      return rows.at[first + i][(stage + 1 - i) * reach_y][c][column];
    };
#pragma unroll
    for (int c = 0; c < results; ++c)
      made[c][column] = stage_value(strip.a.weights[stage], shape.mixes_in, shape.addends,
                                    result[c], state(stage, c), state(shape.base, c),
                                    [&](int n) { return state(shape.addend[n], c); });
    if constexpr (near) hold_y<column>(strip, source.at, made);
    make_columns<level, column + 1, near>(strip, rows, beside, arithmetic, made);
  }
}

/// Takes the newest row of a level's input, and leaves that of the last level's state in its place. Level
/// `end` takes its input in and makes nothing of it, and those after it have none.
template <int level, int end, Way way>
__device__ __forceinline__ void advance_levels(Strip const& strip, Rows& rows,
                                               Real (&row)[components][lane_points]) {
  if constexpr (level < levels) {
    constexpr bool near = way == Way::near;
    mirror_x<way>(strip, strip.row - level * reach_y, row);
#pragma unroll
    for (int c = 0; c < components; ++c) push(rows.at[level], rows_held[level], c, row[c]);
    if (!near || !turns_around_x || !strip.is_at_side) make_inner_rows<level, 0>(strip, rows);
    if constexpr (level == end) return;
    Beside beside;
    exchange<level, near ? whole : rates, near>(strip, rows, beside);
    bool is_good = false;
    if constexpr (!near && divides[rates]) {
      QuickArithmetic<Real> quick;
      make_columns<level, 0, near>(strip, rows, beside, quick, row);
      is_good = quick.is_good;
    }
    if (__builtin_expect(!is_good, 0)) {
      CarefulArithmetic<Real> careful;
      make_columns<level, 0, near>(strip, rows, beside, careful, row);
    }
    hold_x<way>(strip, strip.row - (level + 1) * reach_y, row);
    advance_levels<level + 1, end, way>(strip, rows, row);
  }
}

}  // namespace gridstride::system

#include "kernels/system/march_rows.cuh"
#include "kernels/system/march_sums.cuh"

namespace gridstride::system {

/// What a warp has while it marches, and the rows that it stores.
struct March {
  Strip strip;
  OldRows old;
  Rows rows = {};
  OldRow loaded[loaded_rows];
  bool is_stored[lane_points];
  int to;               // the row that a turn ends with, counted from the first that is stored
  RowPlace place = {};  // of the row that is stored
  unsigned rows_made;
  Totals totals;

  /// From row `first` on, as far as `last`.
  __device__ __forceinline__ March(MarchArguments<Real> const& a, Columns const& columns,
                                   long long first, long long last)
      : strip{a,
              {},
              columns.start + threadIdx.x % 32 * lane_points,
              first - lag - 1,
              columns.touch_side,
              {}},
        old{a,
            strip.column,
            columns.touch_side,
            {},
            static_cast<int>(wrapped(first - lag, a.place.points[1])),
            first - lag},
        to(-2 * lag),
        rows_made(static_cast<unsigned>(last - first)),
        totals(a, first, last) {
    if constexpr (has_time) strip.clock = *a.place.clock;
#pragma unroll
    for (int n = 0; n < (levels + 1) * found_numbers; ++n)
      strip.found[n / numbers_of_stage][n % numbers_of_stage] =
          static_cast<Real>(__ldg(a.place.found + n));
#pragma unroll
    for (int e = 0; e < lane_points; ++e)
      find_columns(Point{a.place, 0, {strip.column + e, 0, 0}}, strip.kept[e]);
#pragma unroll
    for (int v = 0; v < lane_points / vector_points; ++v) {
      long long const column = strip.column + v * vector_points;
      old.columns[v] = static_cast<int>(wrapped(column, a.place.points[0]));
      is_stored[v] = column >= columns.from && column < columns.until;
      // Of rows before the first one, too: it is right again with those that are stored.
      place.at[v] = (static_cast<Index>(first - 2 * lag + summed_lag) *
                         static_cast<Index>(a.place.points[0]) +
                     static_cast<Index>(column)) *
                    Index(sizeof(Real));
    }
    old.begin();
#pragma unroll
    for (int g = 0; g < loaded_rows; ++g) old.load(loaded[g]);
  }

  __device__ __forceinline__ bool is_done() const { return to >= static_cast<int>(rows_made); }

  /// `ahead`: the rows that were loaded before the turn's own. Only levels before `end` make one.
  template <Way way, int end = levels>
  __device__ __forceinline__ void turn(int ahead) {
    Real row[components][lane_points];
#pragma unroll
    for (int c = 0; c < components; ++c)
#pragma unroll
      for (int e = 0; e < lane_points; ++e) row[c][e] = loaded[ahead].at[c][e];
#pragma unroll
    for (int array = 0; array < lasting; ++array) {
      Real wide[lane_points + 2 * reach[0]];
      widen(loaded[ahead], array, wide);
      push(rows.lasting_at, lasting_rows, array, wide);
    }
    if constexpr (turns > 1) old.load(loaded[ahead]);
    ++strip.row;
    advance_levels<0, end, way>(strip, rows, row);
    if constexpr (stores) {
      if (end == levels && static_cast<unsigned>(to + summed_lag) < rows_made)
        store_row(strip.a, place, is_stored, row);
      place.add_line(strip.a);
    }
    if constexpr (summed > 0 && end == levels) {
      take_state<way>(strip, rows, row);
      totals.add<way>(strip, rows, to, is_stored);
    }
    ++to;
  }
  __device__ __forceinline__ void turns_inside() {
#pragma unroll
    for (int g = 0; g < turns; ++g) turn<Way::inside>(g % loaded_rows);
  }
  /// As long as no other levels than so many make a row that is asked for.
  template <int some>
  __device__ __forceinline__ void early_turns() {
    if constexpr (some > 0 && turns > 1) {
#pragma unroll 1
      while (to < 2 * (some + 1) * reach_y - 2 * lag) {
#pragma unroll
        for (int g = 0; g < loaded_rows; ++g) turn<Way::inside, some>(g);
      }
    }
  }
  /// One turn by itself, after which the rows that were loaded move up.
  template <Way way>
  __device__ __forceinline__ void single_turn() {
    turn<way>(0);
    OldRow const newest = loaded[0];
#pragma unroll
    for (int ahead = 0; ahead + 1 < loaded_rows; ++ahead) loaded[ahead] = loaded[ahead + 1];
    loaded[loaded_rows - 1] = newest;
  }
};

__device__ __forceinline__ void march_strip(MarchArguments<Real> const& a, long long number) {
  Share const share = share_of(a, number);
  if (share.first >= share.last) return;
  March march(a, columns_of(a, share), share.first, share.last);
  march.early_turns<early_levels[0]>();
  march.early_turns<early_levels[1]>();
#pragma unroll 1
  while (!march.is_done()) {
    if constexpr (has_sides)
      if ((turns_around_x && march.strip.is_at_side) || comes_to_rows_beyond(march.strip)) {
        march.single_turn<Way::near>();
        continue;
      }
    if constexpr (!wraps[0])
      if (march.strip.is_at_side) {
        march.single_turn<Way::beside>();
        continue;
      }
    if constexpr (turns > 1)
      march.turns_inside();
    else
      march.single_turn<Way::inside>();
  }
}

}  // namespace gridstride::system

extern "C" __global__ void __launch_bounds__(32 * MARCH_WARPS, MARCH_BLOCKS)
    march(__grid_constant__ gridstride::system::MarchArguments<Real> const a) {
  long long const number = static_cast<long long>(blockIdx.x) * MARCH_WARPS + threadIdx.x / 32;
  if (number < a.strips * a.chunks) gridstride::system::march_strip(a, number);  // whole warps
}
