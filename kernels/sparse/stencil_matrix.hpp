#pragma once

#include <array>
#include <cstdint>

#include "core/csr.hpp"

/// Matrices of stencils on grids, for those who have no file of one.
namespace gridstride::sparse {

/// The neighbours that a point has: along the axes, or diagonals as well.
enum class Neighbours { axes, all };

/// Points of a grid, x fastest; axes that it does not have are of 1 point.
using GridPoints = std::array<std::int64_t, 3>;

/// n × n for a grid of n points: −1 for each neighbour, and on the diagonal the number of neighbours
/// that a point inside has: 6 of 7 points and 26 of 27 in 3D, 4 of 5 and 8 of 9 in 2D, 2 of 3 in 1D.
/// What lies beyond the sides is 0, so that the matrix is symmetric positive definite. `dims` is how
/// many axes the grid has, some of which may be of one point; 0: those of more, or one. With all
/// neighbours in 3D it is the problem of the HPCG benchmark (Dongarra, Heroux and Luszczek, "HPCG
/// benchmark: a new metric for ranking high performance computing systems", 2015).
/// Throws `std::invalid_argument` for no points, or more than a sparse matrix may have.
template <class T>
Csr<T> stencil_matrix(Neighbours neighbours, GridPoints const& points, int dims = 0);

/// What it has on its diagonal; throws for the same grids.
std::int64_t stencil_diagonal(Neighbours neighbours, GridPoints const& points, int dims = 0);

/// Elements of that matrix.
std::int64_t stencil_elements(Neighbours neighbours, GridPoints const& points);

}  // namespace gridstride::sparse
