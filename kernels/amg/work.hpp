#pragma once

#include <algorithm>
#include <cstdint>

#include "core/stream.hpp"
#include "kernels/amg/amg.hpp"
#include "kernels/amg/steps.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_groups.hpp"

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
void cuda_each(Stream& stream, std::int64_t count, std::int64_t vectors, Step const& step);
template <class T, class Finish>
void cuda_products(Stream& stream, Rows<T> const& a, std::int64_t vectors, T const* x,
                   Finish const& finish);
#endif

/// A step for element `row` of the vector number `vector` of `count` elements each.
template <class Step>
GRIDSTRIDE_HOST_DEVICE void do_step(Step const& step, std::int64_t count, std::int64_t vector,
                                    std::int64_t row) {
  if constexpr (requires { step(row, row); })
    step(vector * count + row, row);
  else
    step(row);
}

/// Calls `step(i)` for i in [0, count), each about `work` operations; queued. Of several vectors, which
/// lie one after the other, it calls `step(v·count + i, i)` for all.
template <class Step>
void each(Stream& stream, std::int64_t count, std::int64_t work, Step const& step,
          std::int64_t vectors = 1) {
  if (stream.backend() == Backend::cpu) {
    for (std::int64_t v = 0; v < vectors; ++v)
      parallel_for(count, work, [&](std::int64_t i) { do_step(step, count, v, i); });
    return;
  }
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_each(stream, count, vectors, step);
#endif
}

template <int vectors, class T, class Finish>
void host_products(Rows<T> const& a, std::int64_t first, T const* x, Finish const& finish) {
  auto const rows = view(a);
  std::int64_t const work = vectors * (2 * a.nonzeros() / std::max<std::int64_t>(a.rows, 1) + 4);
  parallel_for(a.rows, work, [&](std::int64_t i) {
    T sums[vectors] = {};
    for (std::int64_t k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k)
      for (int v = 0; v < vectors; ++v)
        sums[v] += rows.values[k] * x[(first + v) * a.columns + rows.columns[k]];
    for (int v = 0; v < vectors; ++v) finish.finish((first + v) * a.rows + i, i, sums[v]);
  });
}

/// Calls `finish.finish(v·rows + i, i, Σ_k a_ik·x_k)` for all rows i and vectors x, which lie one after
/// the other; queued. Each sum is what it is of one vector.
template <class T, class Finish>
void products(Stream& stream, Rows<T> const& a, std::int64_t vectors, T const* x,
              Finish const& finish) {
  if (stream.backend() != Backend::cpu) {
#ifdef GRIDSTRIDE_WITH_CUDA
    cuda_products(stream, a, vectors, x, finish);
#endif
    return;
  }
  for_groups(vectors, [&]<int count>(std::integral_constant<int, count>, std::int64_t first) {
    host_products<count>(a, first, x, finish);
  });
}
}  // namespace gridstride::amg
