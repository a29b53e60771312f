#pragma once

#include "kernels/evaluate/points.hpp"
#include "kernels/system/sides.cuh"

/// What kernels that are compiled at run time are given. Free of other headers.
namespace gridstride::system {

inline constexpr int most_components = 24, most_addends = 2, most_stages = 4;
inline constexpr int most_summed = 8;  // of a pass

/// The points, the time that formulas see, and what is found beforehand. Coordinates and random
/// numbers are those of a grid of `whole` points, whose point `first` is the first one here.
struct Place {
  long long points[3];
  long long first[3], whole[3];
  double origin[3], spacing[3];
  evaluate::DeviceClock const* clock;
  double const* found;
};

/// out = base + (factor·L + in_weight·(in − base) + Σ weight·(addend − base)).
template <class T>
struct Weights {
  T factor, in_weight, addend_weight[most_addends];
  int addends;
  double fraction;  ///< of the step, that the time is taken at
};

/// One evaluation for the whole grid; `System::Step` in plain arrays.
template <class T>
struct StageArguments {
  Place place;
  Weights<T> weights;
  bool is_stage;
  bool needs_step;  ///< of the clock; nothing is done without
  Input<T> inputs[most_components];
  T* out[most_components];
  T const* base[most_components];
  T const* addends[most_components][most_addends];
};

/// What is found of the values in each column of some rows: null for what is not asked for.
struct ColumnArrays {
  double *sums, *least, *greatest;
};

/// What a pass finds of its last state: numbers of each column of parts of `rows` rows, of those from
/// `lower` on and before `upper`. Stages look at `Place::found`, of which each has its own.
struct SummedRows {
  ColumnArrays columns[most_summed];
  long long lower, upper, rows;
  double fraction;  ///< of the step, that the time is taken at
  int steps_ahead;  ///< the step that it is of
};

/// A pass of `march` over a grid, of which rows from `lower` on and before `upper` are made: these are
/// cut into strips of columns and chunks of `rows` rows, the first of which begins at `base`.
template <class T>
struct MarchArguments {
  Place place;
  Weights<T> weights[most_stages];
  Input<T> inputs[most_components];
  T* out[most_components];
  long long strips, chunks, rows, base, lower, upper;
  SummedRows summed;
};

/// A stage by `planes`. The core is what lies `margin` points inside each side: tiles of threads,
/// chunks of `planes` planes. `shell_blocks` have the points that are not in it.
template <class T>
struct PlanesArguments {
  StageArguments<T> stage;
  long long margin[3];
  long long planes;
  unsigned x_tiles, y_tiles, shell_blocks;
};

}  // namespace gridstride::system
