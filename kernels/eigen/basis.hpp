#pragma once

#include <vector>

#include "kernels/eigen/block.hpp"

/// Orthonormal bases of blocks; for the family's own files only.
namespace gridstride::eigen {

/// All of so many rows: 0, 1, 2 …
std::vector<int> all_of(int count);

/// Makes `rows` orthonormal to each other and to the rows of `against`, which are so already, as far
/// as roundings leave anything of them: what is left becomes the first rows. Only those of `used`
/// count. Returns how many there are. The Gram matrix's modes, over the roots of its eigenvalues, are
/// the new rows (SVQB: Stathopoulos and Wu, SIAM J. Sci. Comput. 23 (2002)), as often as it takes.
int orthonormalise(Stream& stream, Space const& space, Rows const& against, Rows::Piece const& rows,
                   std::vector<int> used);

/// The same for rows of coefficients, in the plain product: of `rows`, what is orthogonal to the
/// orthonormal rows of `against`.
Small orthonormal_part(Small const& against, Small rows);

}  // namespace gridstride::eigen
