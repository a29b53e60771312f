// Conjugate gradients are Lanczos' method: with α_k and β_k of their iterations, what A is in the space of
// the residuals is a tridiagonal matrix of 1/α_k + β_k/α_{k−1} and √β_k/α_{k−1} beside it (Saad, "Iterative
// Methods for Sparse Linear Systems", 2003, section 6.7). Its largest and smallest eigenvalues come soon
// near those of A; they are found by counting those below a number (Sturm).

#include "kernels/krylov/ritz.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace gridstride::krylov {

double ritz_condition(std::span<double const> alphas, std::span<double const> betas) {
  if (alphas.empty()) return 1;
  std::vector<double> diagonal, squares;  // of those, and of what is beside them, before each
  double most = 0;
  double const unit = alphas[0];  // so that squares are in range
  for (std::size_t k = 0; k < alphas.size(); ++k) {
    double const before = k == 0 ? 1 : alphas[k - 1] / unit;
    double const carried = k == 0 ? 0 : betas[k] / before;
    diagonal.push_back(unit / alphas[k] + carried);
    squares.push_back(carried / before);
    most = std::max(most, 2 * diagonal.back());  // it is positive definite: its norm is below that
  }
  auto const below = [&](double number) {
    std::size_t count = 0;
    double pivot = 1;
    for (std::size_t k = 0; k < diagonal.size(); ++k) {
      pivot = diagonal[k] - number - squares[k] / pivot;
      if (pivot == 0) pivot = std::numeric_limits<double>::min();
      count += pivot < 0;
    }
    return count;
  };
  // The number above which there are more than so many, by bisection of its logarithm.
  auto const eigenvalue = [&](std::size_t number) {
    double low = most * std::numeric_limits<double>::epsilon() / 16, high = most;
    for (int i = 0; i < 60; ++i) {
      double const middle = std::sqrt(low) * std::sqrt(high);
      (below(middle) > number ? high : low) = middle;
    }
    return high;
  };
  return eigenvalue(diagonal.size() - 1) / eigenvalue(0);
}

}  // namespace gridstride::krylov
