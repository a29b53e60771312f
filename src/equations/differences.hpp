#pragma once

#include <stdexcept>
#include <vector>

namespace gridstride::equations {

/// Weights of pairs of points, from the nearest on, over a common divisor.
struct Pairs {
  double divisor;
  std::vector<double> weights;
};
/// Central differences of an order.
struct Differences {
  Pairs first;
  Pairs second;
  Pairs across;  ///< from points to the face between two of them, or from faces to a point
  std::vector<double> mean;  ///< at a face, beside the mean of the nearest two, of each further
                             ///< pair's distance from them
};

inline Differences const& differences_of(int order) {
  static Differences const all[] = {
      {{2, {1}}, {1, {1}}, {1, {1}}, {}},
      {{12, {8, -1}}, {12, {16, -1}}, {24, {27, -1}}, {1.0 / 16}},
      {{60, {45, -9, 1}}, {180, {270, -27, 2}}, {1920, {2250, -125, 9}}, {25.0 / 256, -3.0 / 256}}};
  if (order != 2 && order != 4 && order != 6)
    throw std::invalid_argument("discretise: differences are of order 2, 4 or 6");
  return all[order / 2 - 1];
}

}  // namespace gridstride::equations
