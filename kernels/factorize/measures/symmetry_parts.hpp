#pragma once

#include <cstdint>

#include "core/stream.hpp"
#include "kernels/support/matrix.hpp"

/// What symmetry.cpp asks of the backends; for the family's own files only.
namespace gridstride::factorize {

/// The first place i·n + j of an n × n matrix with a_ij ≠ a_ji, or n²; and the first i with a_ii
/// that is not positive, or n.
struct SymmetryPlaces {
  std::int64_t difference;
  std::int64_t diagonal;
};

/// `a` is not empty. They wait for their results.
template <class T>
SymmetryPlaces host_symmetry(Stream&, Matrix<T const> const& a);
template <class T>
SymmetryPlaces cuda_symmetry(Stream&, Matrix<T const> const& a);

}  // namespace gridstride::factorize
