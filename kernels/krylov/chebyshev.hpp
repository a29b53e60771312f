#pragma once

#include "kernels/krylov/krylov.hpp"

namespace gridstride::krylov {

/// z = p(D⁻¹A)·D⁻¹·r with the polynomial p for which 1 − λ·p(λ) is the smallest on
/// [bound/ratio, bound]: so many products with A and no sums, for few eigenvalues that are left. A is
/// symmetric with the positive diagonal D, and no eigenvalue of D⁻¹A exceeds `bound`; then it is
/// symmetric, and positive definite where A is. Keeps a copy of the operator. Takes several vectors
/// where that does, with memory that is made when they come for the first time. Throws
/// `std::invalid_argument` for a diagonal of another size or with elements that are not positive, a
/// bound that is not positive and finite, a ratio that does not exceed 1 and less than one product.
/// Source: Saad, "Iterative Methods for Sparse Linear Systems", 2nd ed., section 12.3.2.
template <class T>
Preconditioner<T> chebyshev(Stream& stream, Operator<T> const& a,
                            std::type_identity_t<std::span<T const>> diagonal_on_host, double bound,
                            int products = 3, double ratio = 30);

}  // namespace gridstride::krylov
