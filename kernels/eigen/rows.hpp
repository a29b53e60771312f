#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

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

/// The same of the symmetric part of products ⟨u_i, A·u_j⟩, the wanted end of the spectrum first.
/// Throws `NumericalError` where they are not finite.
Small modes_of(Small const& products, bool largest, std::vector<double>& values);

/// What is left of A·u − λ·u by rounding alone, at most, with ‖u‖ = 1.
inline double roundings(double norm) { return 32 * std::numeric_limits<double>::epsilon() * norm; }

/// Throws `std::invalid_argument` for more modes than unknowns, or than `most_modes`.
void require_modes(std::string_view method, Operator const& a, Options const& options);

/// The residual with which a mode counts as found (`Options::tolerance`), by the eigenvalues of its
/// block.
double largest_residual(Options const& options, double norm, std::span<double const> values,
                        int mode);
/// How many modes from the first on have no larger one, up to `Options::modes`.
int count_found(Options const& options, double norm, std::span<double const> values,
                std::span<double const> residuals);

}  // namespace gridstride::eigen
