#pragma once

#include <cstdint>

#include "core/stream.hpp"
#include "kernels/support/matrix.hpp"

/// What a mixed-precision solve needs between the types, on either backend. Matrices lie in the
/// stream's device memory; nothing synchronises.
namespace gridstride::factorize {

/// to = scale·from + weight·to in float64, rounded; `to` is not read where weight is 0. With an
/// `order`, row i of `from` is the one that order_i names.
template <class From, class To>
void accumulate(Stream& stream, double scale, Matrix<From const> from, double weight, Matrix<To> to,
                std::int32_t const* order = nullptr);

#ifdef GRIDSTRIDE_WITH_CUDA
template <class From, class To>
void cuda_accumulate(Stream& stream, double scale, Matrix<From const> from, double weight,
                     Matrix<To> to, std::int32_t const* order);
#endif

}  // namespace gridstride::factorize
