#pragma once

#include <cstdint>
#include <string>

#include "config/run_config.hpp"
#include "core/csr.hpp"
#include "kernels/krylov/krylov.hpp"
#include "model/simulation.hpp"

/// What a config asks of iterations, for `linear_system` alone.
namespace gridstride::linear_system {

/// The Krylov method of a name; that of `amg_cg` is `cg`.
krylov::Method method_called(std::string const& name);

/// What iterations for a matrix with rows begin by.
struct FirstMethod {
  krylov::Method method;
  bool aggregates = false;     ///< `amg_cg`
  bool may_aggregate = false;  ///< `auto`, once `cg` has shown that it takes long
};

/// Throws `ConfigError` where a method that was asked for does not take a matrix: `cg` and `minres` need a
/// symmetric one, `amg_cg` also a positive diagonal.
FirstMethod first_method(config::RunConfig const& run, Csr<double> const& matrix,
                         CsrFindings const& found);

/// That of a system that goes without rows, whose matrix is symmetric positive definite.
krylov::Method method_without_rows(config::RunConfig const& run);

krylov::Options options_of(config::RunConfig const& run);

/// How many right-hand sides are solved together, at most, where no stencil takes the place of rows: 1 by
/// gmres, else eight, which one read of an element of A serves, or more where launches cost more than
/// that; fewer where a device of this kind has no memory free for them.
std::int64_t columns_together(config::RunConfig const& run, Inputs const& inputs, Backend backend);

}  // namespace gridstride::linear_system
