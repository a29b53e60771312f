#pragma once

#include <cstdint>
#include <string>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "core/csr.hpp"
#include "simulations/linear_system_preconditioning.hpp"
#include "simulations/linear_system_scaled.hpp"

/// Sparse systems that are filled up with zeros, for `linear_system` alone.
namespace gridstride::linear_system {

/// The elements of a sparse matrix in device memory, row-major, with zeros between them.
template <class T, class U>
Buffer<T> filled_up(Stream& stream, Csr<U> const& matrix);

/// The most rows of a system that `auto` fills up where iterations do not converge: 128 MiB in float64, and
/// less than a minute of a processor on the host.
inline constexpr std::int64_t most_filled_rows = 4096;

/// Whether a run may come to that.
bool may_fill_up(config::RunConfig const& run, std::int64_t rows);

/// What is said of it behind the advice of another method that has not converged; empty where `auto` would
/// not come to it either.
std::string hint_of_filling(config::RunConfig const& run, std::int64_t rows);

/// Products with (L·U)⁻¹·P of the filled matrix, P·A' = L·U with partial pivoting: what is left of b after
/// one is rounding. Without `apply` where a pivot is exactly zero or not a number.
///
/// Vectors are solved one by one, and on the host by the rung without threads: each has the bits that it
/// has alone, whatever the number of threads.
template <class T>
Preconditioning<T> by_filled_factors(Stream& stream, ScaledSystem<T> const& system);

}  // namespace gridstride::linear_system
