#pragma once

#include "kernels/evaluate/points.hpp"
#include "kernels/system/sides.cuh"

/// What kernels that are compiled at run time are given. Free of other headers.
namespace gridstride::system {

inline constexpr int most_components = 24, most_addends = 2, most_stages = 4;

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

/// A pass of `march` over a grid, of which rows from `lower` on and before `upper` are stored: these are
/// cut into strips of columns and chunks of `rows` rows.
template <class T>
struct MarchArguments {
  Place place;
  Weights<T> weights[most_stages];
  Input<T> inputs[most_components];
  T* out[most_components];
  long long strips, chunks, rows, lower, upper;
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
