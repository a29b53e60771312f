// Integrals along an axis (line_integrals.hpp) on the GPU.
//
// Thread-to-data: a thread has one strand of one integral, every S-th point of its line, and keeps
// its sum in a register; neighbours have neighbouring values or, where there is one value at each
// point, neighbouring strands, so that a warp loads whole lines of memory. A second kernel adds up
// the strands, a thread for each integral.
//
// Bytes: 8·n read, and both ways the strands, at most an eighth of that.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/reduce/line_integrals.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::reduce {

namespace {

constexpr int threads = 256;

__global__ void __launch_bounds__(threads) strands_kernel(LinePiece p) {
  std::int64_t const place = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (place >= p.strand_values()) return;
  std::int64_t const block_values = p.strands * p.inner;
  std::int64_t const block = place / block_values, in_block = place - block * block_values;
  std::int64_t const strand = in_block / p.inner, i = in_block - strand * p.inner;
  double const* const x = p.input + block * p.length * p.inner + i;
  double sum = p.goes_on ? p.partials[place] : 0.0;
#pragma unroll 4
  for (std::int64_t k = (strand - p.first) & (p.strands - 1); k < p.length; k += p.strands)
    sum += p.operation.along(p.axis, p.first + k) * x[k * p.inner];
  p.partials[place] = sum;
}

__global__ void __launch_bounds__(threads) values_kernel(LinePiece p, double* values) {
  std::int64_t const place = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (place >= p.outer * p.inner) return;
  std::int64_t const block = place / p.inner, i = place - block * p.inner;
  double const* const sums = p.partials + block * p.strands * p.inner + i;
  double sum = 0;
#pragma unroll 8
  for (std::int64_t s = 0; s < p.strands; ++s) sum += sums[s * p.inner];
  values[place] = sum * (p.operation.spacing[p.axis] / 12);
}

}  // namespace

void cuda_line_strands(Stream& stream, LinePiece const& piece) {
  strands_kernel<<<blocks_for(piece.strand_values(), threads), threads, 0, native(stream)>>>(piece);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "line integrals: strands");
}

void cuda_line_values(Stream& stream, LinePiece const& piece, double* values) {
  values_kernel<<<blocks_for(piece.outer * piece.inner, threads), threads, 0, native(stream)>>>(
      piece, values);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "line integrals: values");
}

}  // namespace gridstride::reduce
