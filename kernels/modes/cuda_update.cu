// Updates on the GPU. Fields by themselves, the common case: a thread has two modes, and all numbers
// and table entries that these take are on their way before the first is used; a mode after the other
// would wait for each in turn. Coupled fields: a thread has one mode, with the code of the host's rows.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/modes/point.hpp"
#include "kernels/modes/rows.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::modes {

namespace {

constexpr int threads_of_updates = 256, modes_of_thread = 2;

/// An update of one field by itself, of modes in the order of memory. Bit t of `terms_of[g]`: term t is
/// of group g.
template <class T>
struct FieldUpdate {
  BlockUpdate<T> update;
  unsigned terms_of[max_groups];
  long long field;  ///< where its numbers begin
  long long table;  ///< and those of its tables

  FieldUpdate(Update<T> const& work, Block const& block)
      : update(BlockUpdate<T>::of(work)),
        field(work.layout.numbers() * block.fields[0] * work.layout.kept_size()),
        table(block.table) {
    int first = 0;
    for (int g = 0; g < max_groups; ++g) {
      int const end = g < work.groups ? work.group[g].end : first;
      terms_of[g] = (1U << end) - (1U << first);
      first = end;
    }
  }
};

/// Entries of tables, real or complex.
template <bool is_complex_table, bool is_complex, class T>
__device__ __forceinline__ void add_product(Number<T, is_complex>& sum,
                                            Number<T, is_complex_table> entry,
                                            Number<T, is_complex> value) {
  if constexpr (is_complex_table)
    sum.add(entry.re, entry.im, value);
  else
    sum.add(entry.re, value);
}

template <bool is_complex, bool is_complex_table, class T>
__global__ void __launch_bounds__(threads_of_updates)
    fields_kernel(__grid_constant__ FieldUpdate<T> const work, __grid_constant__ Folds const folds,
                  unsigned size) {
  using Value = Number<T, is_complex>;
  using Entry = Number<T, is_complex_table>;
  BlockUpdate<T> const& update = work.update;
  unsigned const first = blockIdx.x * threads_of_updates * modes_of_thread + threadIdx.x;
  Value terms[modes_of_thread][max_terms];
  Entry entries[modes_of_thread][max_groups][2];
#pragma unroll
  for (int m = 0; m < modes_of_thread; ++m) {
    unsigned const mode = first + m * threads_of_updates;
    if (mode >= size) break;
#pragma unroll
    for (int t = 0; t < max_terms; ++t)
      if (t < update.group[update.groups - 1].end)
        terms[m][t] = load<is_complex>(update.terms[t].values + work.field, mode);
    auto const nx = static_cast<unsigned>(folds.kept[0]), ny = static_cast<unsigned>(folds.kept[1]);
    unsigned const row = mode / nx;
    std::int64_t const place = folds.place(Place{{mode % nx, row % ny, row / ny}});
#pragma unroll
    for (int g = 0; g < max_groups; ++g)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (g < update.groups && i < update.group[g].targets &&
            update.group[g].target[i].matrix != nullptr)
          entries[m][g][i] =
              load<is_complex_table>(update.group[g].target[i].matrix + work.table, place);
  }
#pragma unroll
  for (int m = 0; m < modes_of_thread; ++m) {
    unsigned const mode = first + m * threads_of_updates;
    if (mode >= size) break;
    Value sums[max_updates] = {};
#pragma unroll
    for (int g = 0; g < max_groups; ++g) {
      if (g >= update.groups) break;
      Value value{};
#pragma unroll
      for (int t = 0; t < max_terms; ++t)
        if ((work.terms_of[g] >> t & 1U) != 0) value.add(update.terms[t].weight, terms[m][t]);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (i >= update.group[g].targets) break;
        auto const& target = update.group[g].target[i];
#pragma unroll
        for (int o = 0; o < max_updates; ++o) {
          if (o != target.out) continue;
          if (target.matrix == nullptr)
            sums[o].add(T(1), value);
          else
            add_product<is_complex_table>(sums[o], entries[m][g][i], value);
        }
      }
    }
#pragma unroll
    for (int o = 0; o < max_updates; ++o)
      if (o < update.outputs) store(update.out[o] + work.field, mode, sums[o]);
  }
}

template <int m, bool is_complex, class T>
__global__ void __launch_bounds__(threads_of_updates)
    blocks_kernel(__grid_constant__ BlockUpdate<T> const work, __grid_constant__ Block const block,
                  __grid_constant__ Folds const folds) {
  std::int64_t const nx = folds.kept[0], ny = folds.kept[1], size = nx * ny * folds.kept[2];
  auto const step = std::int64_t{gridDim.x} * threads_of_updates;
  for (auto n = std::int64_t{blockIdx.x} * threads_of_updates + threadIdx.x; n < size; n += step)
    update_at<m, is_complex>(work, block, n,
                             folds.place(Place{{n % nx, n / nx % ny, n / (nx * ny)}}));
}

template <class T>
void update_field(Stream& stream, Update<T> const& work, Block const& block, Folds const& folds) {
  auto const size = work.layout.kept_size();
  auto* const kernel = !work.layout.is_complex ? fields_kernel<false, false, T>
                       : block.is_complex != 0 ? fields_kernel<true, true, T>
                                               : fields_kernel<true, false, T>;
  kernel<<<blocks_for(size, threads_of_updates * modes_of_thread), threads_of_updates, 0,
           native(stream)>>>(FieldUpdate<T>(work, block), folds, static_cast<unsigned>(size));
  GRIDSTRIDE_CHECK_LAUNCH(stream, "modes update");
}

template <int m, class T>
void update_block(Stream& stream, Update<T> const& work, Block const& block, Folds const& folds) {
  constexpr std::int64_t most = 1 << 16;
  auto const blocks = static_cast<unsigned>(
      std::min<std::int64_t>(most, blocks_for(work.layout.kept_size(), threads_of_updates)));
  auto* const kernel =
      work.layout.is_complex ? blocks_kernel<m, true, T> : blocks_kernel<m, false, T>;
  kernel<<<blocks, threads_of_updates, 0, native(stream)>>>(BlockUpdate<T>::of(work), block, folds);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "modes update");
}

}  // namespace

template <class T>
void cuda_update(Stream& stream, Update<T> const& work) {
  Folds const folds = Folds::of(work.layout, work.tables);
  bool const is_counted_in_32_bits = work.layout.kept_size() < std::int64_t{1} << 31;
  for (Block const& block : work.blocks) {
    if (block.size == 1 && work.groups > 0 && is_counted_in_32_bits)
      update_field(stream, work, block, folds);
    else
      with_size(block.size, [&](auto m) { update_block<m>(stream, work, block, folds); });
  }
}

template void cuda_update(Stream&, Update<float> const&);
template void cuda_update(Stream&, Update<double> const&);

}  // namespace gridstride::modes
