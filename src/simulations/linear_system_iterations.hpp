#pragma once

#include <string>

#include "config/run_config.hpp"
#include "kernels/krylov/krylov.hpp"

/// What a config asks of iterations, for `linear_system` alone.
namespace gridstride::linear_system {

/// The Krylov method of a name; that of `amg_cg` is `cg`.
krylov::Method method_called(std::string const& name);

/// That of a system that goes without rows, whose matrix is symmetric positive definite.
krylov::Method method_without_rows(config::RunConfig const& run);

krylov::Options options_of(config::RunConfig const& run);

}  // namespace gridstride::linear_system
