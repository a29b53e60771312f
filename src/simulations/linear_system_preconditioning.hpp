#pragma once

#include <cstdint>
#include <string>

#include "config/run_config.hpp"
#include "kernels/krylov/krylov.hpp"
#include "kernels/sparse/blocks.hpp"
#include "kernels/sparse/incomplete.hpp"
#include "simulations/linear_system_scaled.hpp"

/// What sparse systems are preconditioned by, for `linear_system` alone. All of it takes several vectors,
/// one after the other.
namespace gridstride::linear_system {

template <class T>
struct Preconditioning {
  krylov::Preconditioner<T> apply = {};
  std::string name = "none";
  std::string note = {};  ///< what a user may want to know of it
};

inline bool needs_symmetry(krylov::Method method) {
  return method == krylov::Method::cg || method == krylov::Method::minres;
}

/// Why a preconditioner that was asked for does not go with a method, or with a matrix; empty where it may.
std::string preconditioner_refusal(std::string const& asked, krylov::Method method,
                                   CsrFindings const& found);

/// Division by the diagonal, of `minres` by its magnitude; none where an element is 0, or where
/// `definite` does not hold.
template <class T>
Preconditioning<T> by_diagonal(Stream& stream, ScaledSystem<T> const& system, krylov::Method method,
                               bool definite);

/// A polynomial of the matrix, for a symmetric one with a positive diagonal, by the sums of its rows.
template <class T>
Preconditioning<T> by_polynomial(Stream& stream, ScaledSystem<T> const& system,
                                 krylov::Operator<T> const& a);

/// Inverses of blocks of so many consecutive rows, of `definite` for a method that needs a symmetric
/// positive definite preconditioner. Without `apply` where a block has none, which the note tells.
template <class T>
Preconditioning<T> by_blocks(Stream& stream, ScaledSystem<T> const& system, std::int64_t block_rows,
                             sparse::Blocks kind);

/// Incomplete factors: IC(0), for a symmetric matrix with a positive diagonal, or ILU(0), for one
/// without rows of zeros.
template <class T>
Preconditioning<T> by_factors(Stream& stream, ScaledSystem<T> const& system,
                              sparse::Incomplete kind);

/// A cycle of algebraic multigrid, for a symmetric matrix with a positive diagonal. It interpolates
/// constants in the units in which rows have the more diagonal: the given ones or the system's own. It has
/// memory for so many vectors at once.
template <class T>
Preconditioning<T> by_aggregation(Stream& stream, ScaledSystem<T> const& system,
                                  std::int64_t vectors);

/// What a config asks for, for a method and right-hand sides that are solved together. Throws `ConfigError`
/// where it does not go with the method or the matrix.
template <class T>
Preconditioning<T> as_asked(config::RunConfig const& run, Stream& stream,
                            ScaledSystem<T> const& system, CsrFindings const& found,
                            krylov::Operator<T> const& a, krylov::Method method,
                            std::int64_t together);

/// The fewest rows for which a hierarchy may be worth its set-up, and how many iterations that costs.
inline constexpr std::int64_t least_aggregated = 10000;
inline constexpr std::int64_t worth_a_hierarchy = 500;

/// Whether a symmetric matrix with a positive diagonal is like those of diffusion: no positive element
/// beside the diagonal, and the others of a row sum up to no more than it.
bool suits_aggregation(Csr<double> const& matrix);

}  // namespace gridstride::linear_system
