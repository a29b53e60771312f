#pragma once

#include "kernels/riemann/riemann.hpp"

/// The functions behind the rows of the family's table; for the family's own files only.
namespace gridstride::quadrature {

template <class T>
void host_rule_reference(Stream&, RuleArguments const&);
template <class T>
void host_rule_threads(Stream&, RuleArguments const&);

template <class T>
void cuda_naive(Stream&, RuleArguments const&);
template <class T>
void cuda_grid_stride(Stream&, RuleArguments const&);
template <class T>
void cuda_unrolled(Stream&, RuleArguments const&);
template <class T>
void cuda_warp(Stream&, RuleArguments const&);
template <class T>
void cuda_shared(Stream&, RuleArguments const&);
template <class T>
void cuda_compensated(Stream&, RuleArguments const&);

/// The source of row `compensated`: compensated.cuh with the integrand as the contract of
/// `source_of` has it, and once more with the functions of fast_math.cuh.
template <class T>
RuntimeSource compensated_source(Integrand const& integrand);

/// As `non_finite_sample`, arguments checked; `parameters` are on the host.
template <class T>
std::optional<double> host_non_finite_sample(RuleArguments const&);
template <class T>
std::optional<double> cuda_non_finite_sample(Stream&, RuleArguments const&);

}  // namespace gridstride::quadrature
