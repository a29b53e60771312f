#pragma once

#include "core/stream.hpp"
#include "kernels/amg/amg.hpp"
#include "kernels/amg/steps.hpp"
#include "kernels/support/parallel_for.hpp"

/// How steps run, for the family's own files.
namespace gridstride::amg {

template <class T>
View<T> view(Rows<T> const& rows) {
  return {rows.rows, rows.offsets.data(), rows.column_indices.data(), rows.values.data()};
}

/// Aᵀ; the elements of each row in the order of A's rows. Waits for the stream.
template <class T>
Rows<T> host_transposed(Stream& stream, Rows<T> const& a);
/// R·A·P with R = Pᵀ: row i sums r_ij·a_jk·p_kl in the order of j, k. Waits for the stream.
template <class T>
Rows<T> host_galerkin(Stream& stream, Rows<T> const& r, Rows<T> const& a, Rows<T> const& p);

#ifdef GRIDSTRIDE_WITH_CUDA
template <class T>
Rows<T> cuda_transposed(Stream& stream, Rows<T> const& a);
template <class T>
Rows<T> cuda_galerkin(Stream& stream, Rows<T> const& r, Rows<T> const& a, Rows<T> const& p);
template <class Step>
void cuda_each(Stream& stream, std::int64_t count, Step const& step);
template <class T, class Finish>
void cuda_products(Stream& stream, Rows<T> const& a, T const* x, Finish const& finish);
#endif

/// Calls `step(i)` for i in [0, count), each about `work` operations; queued.
template <class Step>
void each(Stream& stream, std::int64_t count, std::int64_t work, Step const& step) {
  if (stream.backend() == Backend::cpu) return parallel_for(count, work, step);
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_each(stream, count, step);
#endif
}

/// Calls `finish.finish(i, Σ_k a_ik·x_k)` for all rows; queued.
template <class T, class Finish>
void products(Stream& stream, Rows<T> const& a, T const* x, Finish const& finish) {
  if (stream.backend() != Backend::cpu) {
#ifdef GRIDSTRIDE_WITH_CUDA
    cuda_products(stream, a, x, finish);
#endif
    return;
  }
  auto const rows = view(a);
  std::int64_t const work = 2 * a.nonzeros() / std::max<std::int64_t>(a.rows, 1) + 4;
  parallel_for(a.rows, work, [&](std::int64_t i) {
    T sum = 0;
    for (std::int64_t k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k)
      sum += rows.values[k] * x[rows.columns[k]];
    finish.finish(i, sum);
  });
}

}  // namespace gridstride::amg
