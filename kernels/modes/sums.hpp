#pragma once

/// Sums of quantities, each times the symbol of an operator in space. Free of other headers, so that
/// kernels that are compiled at run time use it too.
namespace gridstride::modes {

/// coefficient·(Π symbol of ∂^orders[axis])·(i or 1); coefficients have the sign that powers of i
/// leave.
struct Monomial {
  double coefficient;
  int orders[3];
  int is_imaginary;
};
/// Places in a list: Σ monomials.
struct Range {
  int first, last;
};
/// numerator/denominator·quantity, 0 where the denominator is; an empty denominator is 1.
struct Part {
  int quantity;    ///< number of an unknown, or of a product
  int is_product;  ///< products are as transforms leave them: `full` modes
  Range numerator, denominator;
  long long begin[3], end[3];  ///< of the kept modes, those that the quantity has; else it is 0
};

/// Sums of parts, in device memory.
struct Sums {
  double const* along[3] =
      {};  ///< symbols: that of order m of kept mode i is along[axis][m·kept + i]
  Monomial const* monomials = nullptr;
  Part const* parts = nullptr;
  int const* ends = nullptr;  ///< sum s has the parts from ends[s] on, up to ends[s + 1]
};

}  // namespace gridstride::modes
