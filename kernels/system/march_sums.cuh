// What a pass of march.cuh finds over the grid of its last state: for each column of a part, some rows
// that follow from the grid alone, the sum of what a program makes there, in float64 and row after row,
// and where they are asked for the least and the greatest. A thread has those of its columns, whatever
// its strip and its chunk; no chunk cuts a part. Rows on sides that do not wrap count half.
//
// Bytes: 8 for each column of a part and number.

namespace gridstride::system {

/// Takes the newest row of the last state, of which the programs look at some.
template <Way way>
__device__ __forceinline__ void take_state(Strip const& strip, Rows& rows,
                                           Real (&row)[components][lane_points]) {
  mirror_x<way>(strip, strip.row - levels * reach_y, row);
#pragma unroll
  for (int c = 0; c < components; ++c) push(rows.at[levels], rows_held[levels], c, row[c]);
}

template <int number, int column, bool near, class Arithmetic>
__device__ __forceinline__ void find_summed_columns(Strip const& strip, Rows const& rows,
                                                    Beside const& beside, Arithmetic& arithmetic,
                                                    Real (&found)[lane_points]) {
  if constexpr (column < lane_points) {
    Real result[1];
    summed_program<number>(
        source_at<levels, first_summed + number, column, near>(strip, rows, beside, arithmetic),
        result);
    found[column] = result[0];
    find_summed_columns<number, column + 1, near>(strip, rows, beside, arithmetic, found);
  }
}

/// The numbers of a thread's columns, of the part that its march is in.
struct Totals {
  static constexpr int count = summed > 0 ? summed : 1;
  double sums[count][lane_points], least[count][lane_points], greatest[count][lane_points];
  int part;  // its number
  int from, until,
      end;  // rows that count, and the row after the part's last one, from the chunk's first

  __device__ __forceinline__ Totals(MarchArguments<Real> const& a, long long first,
                                    long long last) {
    if constexpr (summed == 0) return;
    SummedRows const& of = a.summed;
    from = static_cast<int>(max(of.lower - first, 0LL));
    until = static_cast<int>(min(of.upper, last) - first);
    part = static_cast<int>((first + from - of.lower) / of.rows);
    end = static_cast<int>(
        min(of.lower + (part + 1) * of.rows - first, static_cast<long long>(until)));
    clear();
  }

  /// Takes in the row that the march has come to, the chunk's `number`, where it counts.
  template <Way way>
  __device__ __forceinline__ void add(Strip const& strip, Rows const& rows, int number,
                                      bool const (&is_stored)[lane_points]) {
    bool const counts = number >= from && number < until;
    double weight = 1;
    if constexpr (way == Way::near && !wraps[1]) {
      long long const at = strip.a.place.first[1] + strip.row - lag;
      if (at == 0 || at == strip.a.place.whole[1] - 1) weight = 0.5;
    }
    add_fields<0, way>(strip, rows, weight, counts);
    if (!counts || number + 1 != end) return;
    store(strip, is_stored);
    ++part;
    end = min(end + static_cast<int>(strip.a.summed.rows), until);
    clear();
  }

 private:
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int n = 0; n < count; ++n)
#pragma unroll
      for (int e = 0; e < lane_points; ++e) {
        sums[n][e] = 0;
        least[n][e] = __longlong_as_double(0x7ff0000000000000);
        greatest[n][e] = __longlong_as_double(0xfff0000000000000);
      }
  }
  /// What programs make is found by all lanes.
  template <int number, Way way>
  __device__ __forceinline__ void add_fields(Strip const& strip, Rows const& rows, double weight,
                                             bool counts) {
    if constexpr (number < summed) {
      constexpr bool near = way == Way::near;
      Beside beside;
      exchange<levels, first_summed + number, near>(strip, rows, beside);
      Real found[lane_points];
      bool is_good = false;
      if constexpr (!near && summed_divides[number]) {
        QuickArithmetic<Real> quick;
        find_summed_columns<number, 0, near>(strip, rows, beside, quick, found);
        is_good = quick.is_good;
      }
      if (__builtin_expect(!is_good, 0)) {
        CarefulArithmetic<Real> careful;
        find_summed_columns<number, 0, near>(strip, rows, beside, careful, found);
      }
      if (counts) {
#pragma unroll
        for (int e = 0; e < lane_points; ++e) {
          double const value = static_cast<double>(found[e]);
          sums[number][e] += weight * value;
          if (finds_least[number] && value < least[number][e]) least[number][e] = value;
          if (finds_greatest[number] && greatest[number][e] < value) greatest[number][e] = value;
        }
      }
      add_fields<number + 1, way>(strip, rows, weight, counts);
    }
  }
  __device__ __forceinline__ void store(Strip const& strip,
                                        bool const (&is_stored)[lane_points]) const {
    long long const points = strip.a.place.points[0];
#pragma unroll
    for (int e = 0; e < lane_points; ++e) {
      if (!is_stored[e / vector_points]) continue;
      long long const to = part * points + strip.column + e;
#pragma unroll
      for (int n = 0; n < summed; ++n) {
        ColumnArrays const& columns = strip.a.summed.columns[n];
        columns.sums[to] = sums[n][e];
        if (finds_least[n]) columns.least[to] = least[n][e];
        if (finds_greatest[n]) columns.greatest[to] = greatest[n][e];
      }
    }
  }
};

}  // namespace gridstride::system
