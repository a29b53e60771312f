#pragma once

#include <span>

/// What conjugate gradients find out about eigenvalues; for the family's own files only.
namespace gridstride::krylov {

/// The largest over the smallest eigenvalue of the matrix that Lanczos' method has after the same
/// iterations, from the α and β of each, all α positive: the condition of M⁻¹·A as far as its
/// eigenvectors are in the residual, so at most that of all. 1 for no iterations.
double ritz_condition(std::span<double const> alphas, std::span<double const> betas);

}  // namespace gridstride::krylov
