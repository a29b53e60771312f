#pragma once

#include "kernels/eigen/eigen.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::eigen {

void host_reference(Stream&, std::int64_t n, double* matrix, double* values);
void host_lapack(Stream&, std::int64_t n, double* matrix, double* values);
/// Whether the library behind `lapack` is there.
bool lapack_available();
void cuda_cusolver(Stream&, std::int64_t n, double* matrix, double* values);

/// Those of a small matrix, ascending, and its modes as rows, by `reference`.
std::vector<double> decompose_small(Small& matrix);

}  // namespace gridstride::eigen
