#pragma once

#include "kernels/matmul/matmul.hpp"

/// The rungs, for the family's table alone.
namespace gridstride::matmul {

template <class T>
void host_reference(Stream&, Arguments<T> const&);
template <class T>
void host_threads(Stream&, Arguments<T> const&);
template <class T>
void host_openblas(Stream&, Arguments<T> const&);
/// Whether OpenBLAS is there, and whether its 32-bit sizes hold these.
bool openblas_available();
template <class T>
bool openblas_takes(Arguments<T> const&);

template <class T>
void cuda_naive(Stream&, Arguments<T> const&);
template <class T>
void cuda_coalesced(Stream&, Arguments<T> const&);
template <class T>
void cuda_tiled_16(Stream&, Arguments<T> const&);
template <class T>
void cuda_tiled_32(Stream&, Arguments<T> const&);
template <class T>
void cuda_tiled_padded(Stream&, Arguments<T> const&);
template <class T>
void cuda_register_blocked(Stream&, Arguments<T> const&);
template <class T>
void cuda_vectorized(Stream&, Arguments<T> const&);
template <class T>
void cuda_warp_tiled(Stream&, Arguments<T> const&);
/// The longest leading dimension that it takes: the rows of a tile are within the reach of 32 bits.
template <class T>
inline constexpr std::int64_t warp_tiled_longest_row = (std::int64_t{1} << 27) / sizeof(T);
/// The shared memory that blocks take at most.
inline constexpr std::size_t warp_tiled_shared_bytes = 52 << 10, dmma_shared_bytes = 64 << 10,
                             wgmma_shared_bytes = 227 << 10;
/// For products with few columns or few rows, bound by the read of the other matrix.
template <class T>
void cuda_thin(Stream&, Arguments<T> const&);
void cuda_dmma(Stream&, Arguments<double> const&);
void cuda_tf32(Stream&, Arguments<float> const&);
void cuda_tf32x3(Stream&, Arguments<float> const&);
/// Whether the two can run.
bool cuda_has_tf32(Device const& device);
template <class T>
void cuda_cublas(Stream&, Arguments<T> const&);
void cuda_cublas_tf32(Stream&, Arguments<float> const&);

/// C = β·C, and zeros where β = 0 whatever C holds.
template <class T>
void cuda_scale(Stream&, T beta, Matrix<T> c);

}  // namespace gridstride::matmul
