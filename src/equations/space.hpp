#pragma once

#include <limits>

namespace gridstride::equations {

/// How convection is discretised.
enum class Convection {
  central,
  upwind,  ///< of first order
  weno5,   ///< of fifth order where all is smooth
};

/// What takes the place of derivatives.
struct Space {
  int order = 2;  ///< of central differences: 2, 4 or 6
  Convection convection = Convection::central;
  /// Values of the run's type below it count as nothing, in whatever unit they are.
  double least_normal = std::numeric_limits<double>::min();
};

}  // namespace gridstride::equations
