// Rows of a pass of march.cuh as they come from memory and go there.

namespace gridstride::system {

struct Values {
  Real at[vector_points];
};

/// A thread's columns of an old row.
struct OldRow {
  Real at[arrays][lane_points];
};

/// Where a thread's columns of a row are in the arrays, in bytes.
struct RowPlace {
  Index at[lane_points / vector_points];

  __device__ __forceinline__ void add_line(MarchArguments<Real> const& a) {
#pragma unroll
    for (Index& of_vector : at)
      of_vector += static_cast<Index>(a.place.points[0]) * Index(sizeof(Real));
  }
};

/// Old rows, one after the other and the first after the last.
struct OldRows {
  MarchArguments<Real> const& a;
  long long column;  // the thread's first, which may lie beyond the grid
  bool is_at_side;
  int columns[lane_points / vector_points];  // of the grid
  int row;
  long long strip_row;  // the same as the strip counts it
  RowPlace place = {};

  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int v = 0; v < lane_points / vector_points; ++v)
      place.at[v] = (static_cast<Index>(row) * static_cast<Index>(a.place.points[0]) +
                     static_cast<Index>(columns[v])) *
                    Index(sizeof(Real));
  }
  __device__ __forceinline__ void load(OldRow& old) {
#pragma unroll
    for (int c = 0; c < arrays; ++c)
#pragma unroll
      for (int v = 0; v < lane_points / vector_points; ++v) {
        auto const loaded = __builtin_bit_cast(
            Values, __ldcs(reinterpret_cast<Vector const*>(
                        reinterpret_cast<char const*>(a.inputs[c].values) + place.at[v])));
#pragma unroll
        for (int e = 0; e < vector_points; ++e) old.at[c][v * vector_points + e] = loaded.at[e];
      }
    if constexpr (lasting > 0 && (!wraps[0] || !wraps[1]))
#pragma unroll
      for (int array = 0; array < lasting; ++array) load_known(old, array);
    place.add_line(a);
    ++strip_row;
    if (++row == a.place.points[1]) {
      row = 0;
      begin();
    }
  }

 private:
  /// What lies beyond the sides.
  __device__ __forceinline__ void load_known(OldRow& old, int array) const {
    long long const points = a.place.points[0], margin = a.inputs[components + array].margin[0];
    KnownRow const known(a.inputs[components + array], a.place.points, row, strip_row);
    if (known.is_beyond)
#pragma unroll
      for (int e = 0; e < lane_points; ++e)
        old.at[components + array][e] =
            __ldg(known.row + columns[e / vector_points] + e % vector_points);
    if (wraps[0] || !is_at_side) return;
#pragma unroll
    for (int e = 0; e < lane_points; ++e) {
      long long const left = column + e, right = left - points;
      if (left < 0 && left >= -margin) old.at[components + array][e] = __ldg(known.left + left);
      if (right >= 0 && right < margin) old.at[components + array][e] = __ldg(known.right + right);
    }
  }
};

/// The row of an array that lasts, with what lies beside a thread's columns.
__device__ __forceinline__ void widen(OldRow const& old, int array,
                                      Real (&wide)[lane_points + 2 * reach[0]]) {
  auto const& row = old.at[components + array];
#pragma unroll
  for (int e = 0; e < lane_points; ++e) wide[reach[0] + e] = row[e];
#pragma unroll
  for (int j = 0; j < reach[0]; ++j) {
    int const lanes = 1 + j / lane_points, column = j % lane_points;
    Real &left = wide[reach[0] - 1 - j], &right = wide[reach[0] + lane_points + j];
    if (j < lasting_left[array]) left = __shfl_up_sync(~0u, row[lane_points - 1 - column], lanes);
    if (j < lasting_right[array]) right = __shfl_down_sync(~0u, row[column], lanes);
  }
}

/// Stores what a strip has of a row: whole vectors, for lines are a multiple of them.
__device__ __forceinline__ void store_row(MarchArguments<Real> const& a, RowPlace const& place,
                                          bool (&is_stored)[lane_points],
                                          Real (&values)[components][lane_points]) {
#pragma unroll
  for (int v = 0; v < lane_points / vector_points; ++v) {
    if (!is_stored[v]) continue;
#pragma unroll
    for (int c = 0; c < components; ++c) {
      Values stored;
#pragma unroll
      for (int e = 0; e < vector_points; ++e) stored.at[e] = values[c][v * vector_points + e];
      __stcs(reinterpret_cast<Vector*>(reinterpret_cast<char*>(a.out[c]) + place.at[v]),
             __builtin_bit_cast(Vector, stored));
    }
  }
}

}  // namespace gridstride::system
