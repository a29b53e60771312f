#pragma once

#include <cstdint>

namespace gridstride {

/// On the host, on one thread: the eigenvalues of a symmetric matrix of n rows, ascending, and in its
/// place its modes, of length 1, as rows. Throws `NumericalError` where one is not found.
void diagonalise(std::int64_t n, double* matrix, double* values);

}  // namespace gridstride
