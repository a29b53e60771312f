#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/stream.hpp"
#include "kernels/support/matrix.hpp"

/// Rows and columns of matrices in a stream's device memory, brought to the host to compute with
/// there. T is float or double; matrices have no gaps between rows. These wait.
namespace gridstride::bench {

/// Numbers below `size`: all, or 64 at even distances, the first and the last included.
std::vector<std::int64_t> spread(std::int64_t size);

/// The rows `chosen`, one after the other.
template <class T>
std::vector<T> sampled_rows(Stream& stream, Matrix<T const> matrix,
                            std::span<std::int64_t const> chosen);

/// The columns `chosen`, one after the other.
template <class T>
std::vector<T> sampled_columns(Stream& stream, Matrix<T const> matrix,
                               std::span<std::int64_t const> chosen);

}  // namespace gridstride::bench
