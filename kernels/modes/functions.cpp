#include "kernels/modes/functions.hpp"

#include <algorithm>

namespace gridstride::modes {

MatrixFunction entire(double argument, double w0, double w1, double w2, double w3) {
  MatrixFunction f;
  f.argument = argument;
  double const weights[] = {w0, w1, w2, w3};
  std::ranges::copy(weights, f.weights);
  auto const over_factorial = [](double value, int n) {
    for (int i = 2; i <= n; ++i) value /= i;
    return value;
  };
  for (int l = 0; l < 4; ++l) {
    for (int p = 1; p <= l; ++p) f.tail[p] += over_factorial(weights[l], l - p);
    for (int k = 0; k < MatrixFunction::series_terms; ++k)
      f.series[k] += over_factorial(weights[l], k + l);
  }
  return f;
}

MatrixFunction rational(double above0, double above1, double below0, double below1) {
  MatrixFunction f;
  f.is_rational = true;
  f.above[0] = above0;
  f.above[1] = above1;
  f.below[0] = below0;
  f.below[1] = below1;
  return f;
}

}  // namespace gridstride::modes
