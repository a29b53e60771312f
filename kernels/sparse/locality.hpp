#pragma once

#include <cstdint>

#include "core/csr.hpp"

namespace gridstride::sparse {

/// Vectors, of up to eight, of which 32 MiB of cache hold what a GPU reads of x at a time, 2²¹ elements in
/// the order of rows: the most of 16 looks.
template <class T>
std::int64_t vectors_in_cache(Csr<T> const& matrix);

}  // namespace gridstride::sparse
