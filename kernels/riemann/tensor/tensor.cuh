// Products of one-dimensional rules with the integrand compiled in.
//
// Thread-to-data: every thread takes an equal run of neighbouring pieces, each up to 64 samples
// along axis 0, for which only one coordinate changes; between two pieces it counts on through the
// nodes of the other axes (`TensorCursor`). Piece sums are added with compensation, thread by
// thread, then in the fixed order of a tree in each block.
//
// A sample costs the integrand, one multiply-add and a load of 16 bytes that all threads of a warp
// share, as they are at the same node of axis 0 most of the time. Arithmetic is the roof.

#include "kernels/integrand/block_totals.cuh"
#include "kernels/integrand/integral_result.hpp"
#include "kernels/riemann/tensor/lines.hpp"

/// partials[block] = the sums of the block's pieces, `run` for each thread.
extern "C" __global__ void __launch_bounds__(256)
    sum_tensor(gridstride::quadrature::TensorAxes axes, double const* given, long long run,
               gridstride::quadrature::TensorSums* partials) {
  using namespace gridstride::quadrature;
  ParameterRow const row(given, 0);
  long long const first = thread_number() * run;
  long long const last = first + run < axes.pieces ? first + run : axes.pieces;
  TensorSums sums;
  if (first < last) {
    TensorCursor<Real, dimensions> cursor(axes, dimensions, first);
    for (long long piece = first; piece < last; ++piece) {
      double sum = 0;
      int const end = cursor.end(axes);
#pragma unroll 4
      for (int i = cursor.begin(); i < end; ++i) {
        TensorNode const node = axes.nodes[i];
        Real v[dimensions];
        v[0] = static_cast<Real>(node.position);
#pragma unroll
        for (int k = 1; k < dimensions; ++k) v[k] = cursor.v[k];
        sum += node.weight * static_cast<double>(integrand(v, row.values));
      }
      sums.add(cursor.weight() * sum);
      cursor.advance(axes, dimensions);
    }
  }
  sums = added_in_block(sums);
  if (threadIdx.x == 0) partials[blockIdx.x] = sums;
}

#ifdef LOCATE_NON_FINITE
/// The least number of a sample that is not finite: 64 times its piece, and its place in it.
extern "C" __global__ void __launch_bounds__(256)
    locate_in_tensor(gridstride::quadrature::TensorAxes axes, double const* given, long long run,
                     unsigned long long* found) {
  using namespace gridstride::quadrature;
  ParameterRow const row(given, 0);
  long long const first = thread_number() * run;
  long long const last = first + run < axes.pieces ? first + run : axes.pieces;
  if (first >= last) return;
  TensorCursor<Real, dimensions> cursor(axes, dimensions, first);
  for (long long piece = first; piece < last; ++piece) {
    for (int i = cursor.begin(); i < cursor.end(axes); ++i) {
      cursor.v[0] = static_cast<Real>(axes.nodes[i].position);
      if (is_finite(integrand(cursor.v, row.values))) continue;
      atomicMin(found, static_cast<unsigned long long>(piece * tensor_piece + i - cursor.begin()));
      return;
    }
    cursor.advance(axes, dimensions);
  }
}
#endif
