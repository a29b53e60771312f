// Transposes and products of three matrices on the GPU.
//
// Transpose: elements are counted and put into their rows in whatever order they come; then each row
// is ordered by the rank of its elements.
//
// R·A·P: a group of threads has a row of the result. It goes through the row's r_ij and a_jk one after
// the other, and takes row k of P side by side, whose columns differ, so that each sum has its terms
// in the same order every time. Columns are found in a table in shared memory that tells their place
// in a list; what is new is appended in the order of the threads. Rows that are longer than the list
// go to warps with longer lists, and those longer still to warps that have a place for every column.
// The first round counts, the second one sums.

#include <algorithm>

#include "kernels/amg/work.hpp"
#include "kernels/scan/scan.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::amg {

namespace {

using Count = unsigned long long;

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class U>
U read_one(Stream& stream, Buffer<U> const& array, std::int64_t at) {
  U value{};
  copy_async(std::span(&value, 1), array.span().subspan(place(at), 1), stream);
  stream.synchronize();
  return value;
}

// ---------------------------------------------------------------------------------------- transposes

constexpr int threads = 256;

__global__ void __launch_bounds__(threads)
    count_kernel(std::int64_t elements, std::int32_t const* columns, Count* counts) {
  std::int64_t const k = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (k < elements) atomicAdd(counts + columns[k], Count{1});
}

template <class T>
__global__ void __launch_bounds__(threads)
    place_kernel(View<T> a, Count* next, std::int32_t* rows, T* values) {
  std::int64_t const i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= a.rows) return;
  for (std::int64_t k = a.offsets[i]; k < a.offsets[i + 1]; ++k) {
    auto const at = atomicAdd(next + a.columns[k], Count{1});
    rows[at] = static_cast<std::int32_t>(i);
    values[at] = a.values[k];
  }
}

/// A warp for each row, whose elements have different columns.
template <class T>
__global__ void __launch_bounds__(threads)
    order_kernel(View<T> a, std::int32_t* columns, T* values) {
  std::int64_t const row = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (row >= a.rows) return;
  std::int64_t const first = a.offsets[row], last = a.offsets[row + 1];
  for (std::int64_t k = first + lane_index(); k < last; k += warp_size) {
    std::int32_t const own = a.columns[k];
    std::int64_t rank = 0;
    for (std::int64_t other = first; other < last; ++other) rank += a.columns[other] < own ? 1 : 0;
    columns[first + rank] = own;
    values[first + rank] = a.values[k];
  }
}

// ---------------------------------------------------------------------------------- products of three

template <class T>
struct Factors {
  View<T> r, a, p;
};

/// Calls `add(there, column, value)` for all terms of a row, by all threads of a group, until it
/// returns false. `lanes` are the group's in its warp.
template <class T, int group, class Add>
__device__ bool for_each_term(Factors<T> const& f, std::int64_t row, unsigned lanes,
                              Add const& add) {
  int const lane = static_cast<int>(threadIdx.x) % group;
  for (std::int64_t t = f.r.offsets[row]; t < f.r.offsets[row + 1]; ++t) {
    std::int32_t const j = f.r.columns[t];
    double const left = static_cast<double>(f.r.values[t]);
    std::int64_t const end = f.a.offsets[j + 1];
    for (std::int64_t base = f.a.offsets[j]; base < end; base += group) {
      double own_factor = 0;
      long long own_first = 0, own_last = 0;
      if (base + lane < end) {
        std::int32_t const k = f.a.columns[base + lane];
        own_factor = left * static_cast<double>(f.a.values[base + lane]);
        own_first = f.p.offsets[k];
        own_last = f.p.offsets[k + 1];
      }
      int const here = static_cast<int>(min(static_cast<std::int64_t>(group), end - base));
      for (int e = 0; e < here; ++e) {
        double const factor = __shfl_sync(lanes, own_factor, e, group);
        long long const first = __shfl_sync(lanes, own_first, e, group);
        long long const last = __shfl_sync(lanes, own_last, e, group);
        for (long long q = first; q < last; q += group) {
          bool const there = q + lane < last;
          std::int32_t const column = there ? f.p.columns[q + lane] : 0;
          double const value = there ? factor * static_cast<double>(f.p.values[q + lane]) : 0;
          if (!add(there, column, value)) return false;
        }
      }
    }
  }
  return true;
}

/// What a round of the products has: lengths of rows, −1 where they are not known yet, or where rows
/// begin and what they become.
template <class T>
struct Result {
  std::int64_t* lengths;
  std::int64_t const* offsets;
  std::int32_t* columns;
  T* values;
  std::int32_t* longer;  ///< becomes 1 where a row is longer than the list
};

/// Rows longer than `least` and no longer than `capacity`.
template <class T, int group, int capacity, int block, bool fills>
__global__ void __launch_bounds__(block)
    listed_kernel(Factors<T> factors, Result<T> result, int least) {
  constexpr int groups = block / group, slots = 2 * capacity;
  __shared__ int tables[groups][slots];
  __shared__ int lists[groups][capacity];
  __shared__ double all_sums[fills ? groups : 1][fills ? capacity : 1];
  int const own = static_cast<int>(threadIdx.x) / group;
  int const lane = static_cast<int>(threadIdx.x) % group;
  unsigned const lanes = (group == warp_size ? whole_warp : (1u << group % warp_size) - 1)
                         << (lane_index() - lane);
  std::int64_t const row = std::int64_t{blockIdx.x} * groups + own;
  if (row >= factors.r.rows) return;
  if (fills) {
    std::int64_t const length = result.offsets[row + 1] - result.offsets[row];
    if (length <= least || length > capacity) return;
  } else if (least > 0 && result.lengths[row] != -1) {
    return;
  }
  int* const table = tables[own];
  int* const list = lists[own];
  double* const sums = all_sums[fills ? own : 0];
  for (int s = lane; s < slots; s += group) table[s] = -1;
  __syncwarp(lanes);
  int size = 0;
  bool const fits =
      for_each_term<T, group>(factors, row, lanes, [&](bool there, int column, double value) {
        int slot = static_cast<int>((static_cast<unsigned>(column) * 2654435769u >> 7) % slots);
        int at = -1;
        while (there && table[slot] >= 0) {
          if (list[table[slot]] == column) {
            at = table[slot];
            break;
          }
          slot = (slot + 1) % slots;
        }
        bool const is_new = there && at < 0;
        unsigned const news = __ballot_sync(lanes, is_new);
        if (size + __popc(news) > capacity) return false;
        if (is_new) {
          at = size + __popc(news & ((1u << lane_index()) - 1));
          list[at] = column;
          while (atomicCAS(table + slot, -1, at) != -1) slot = (slot + 1) % slots;
          if (fills) sums[at] = value;
        } else if (there && fills) {
          sums[at] += value;
        }
        size += __popc(news);
        __syncwarp(lanes);
        return true;
      });
  if (fills) {
    std::int64_t const begin = result.offsets[row];
    for (int s = lane; s < size; s += group) {
      result.columns[begin + s] = list[s];
      result.values[begin + s] = static_cast<T>(sums[s]);
    }
  } else if (lane == 0) {
    result.lengths[row] = fits ? size : -1;
    if (!fits) *result.longer = 1;
  }
}

/// Rows longer than `least`: each warp has a mark for every column, which tells the row that has it and
/// its place there.
template <class T, bool fills>
__global__ void __launch_bounds__(threads)
    marked_kernel(Factors<T> factors, Result<T> result, std::int64_t least, Count* all_marks,
                  std::int64_t columns, std::int64_t warps) {
  std::int64_t const warp = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (warp >= warps) return;
  Count* const marks = all_marks + warp * columns;
  for (std::int64_t row = warp; row < factors.r.rows; row += warps) {
    if (fills ? result.offsets[row + 1] - result.offsets[row] <= least : result.lengths[row] != -1)
      continue;
    Count const mark = static_cast<Count>(row + 1) << 32;
    std::int64_t const begin = fills ? result.offsets[row] : 0;
    int size = 0;
    for_each_term<T, warp_size>(
        factors, row, whole_warp, [&](bool there, int column, double value) {
          Count const found = there ? marks[column] : mark;
          bool const is_new = found < mark || found >> 32 != mark >> 32;
          unsigned const news = __ballot_sync(whole_warp, is_new);
          int const at = is_new ? size + __popc(news & ((1u << lane_index()) - 1))
                                : static_cast<int>(found & 0xffffffffu);
          if (is_new) marks[column] = mark | static_cast<Count>(at);
          if (fills && is_new) {
            result.columns[begin + at] = column;
            result.values[begin + at] = static_cast<T>(value);
          } else if (fills && there) {
            result.values[begin + at] += static_cast<T>(value);
          }
          size += __popc(news);
          __syncwarp();
          return true;
        });
    if (!fills && lane_index() == 0) result.lengths[row] = size;
  }
}

constexpr int short_list = 64, long_list = 512;

template <class T, int group, int capacity, int block, bool fills>
void listed(Stream& stream, Factors<T> const& factors, Result<T> const& result, int least) {
  listed_kernel<T, group, capacity, block, fills>
      <<<blocks_for(factors.r.rows, block / group), block, 0, native(stream)>>>(factors, result,
                                                                                least);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "listed_kernel");
}

template <class T, bool fills>
void marked(Stream& stream, Factors<T> const& factors, Result<T> const& result,
            std::int64_t columns) {
  constexpr std::int64_t most_marks = std::int64_t{1} << 25;
  std::int64_t const warps = std::clamp<std::int64_t>(most_marks / columns, 1, 1024);
  Buffer<Count> marks(stream, MemorySpace::device, place(warps * columns));
  zero_async(marks.span(), stream);
  marked_kernel<T, fills><<<blocks_for(warps * warp_size, threads), threads, 0, native(stream)>>>(
      factors, result, long_list, marks.data(), columns, warps);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "marked_kernel");
}

/// One round; `lists` is how many kinds of rows there are, and becomes it in the first one.
template <class T, bool fills>
void round(Stream& stream, Factors<T> const& factors, Result<T> const& result,
           Buffer<std::int32_t>& longer, std::int64_t columns, int& kinds) {
  auto const is_longer = [&] {
    if constexpr (fills) return true;
    bool const found = read_one(stream, longer, 0) != 0;
    zero_async(longer.span(), stream);
    return found;
  };
  listed<T, 8, short_list, 256, fills>(stream, factors, result, 0);
  if (!fills) kinds = is_longer() ? 2 : 1;
  if (kinds >= 2) listed<T, 32, long_list, 128, fills>(stream, factors, result, short_list);
  if (!fills && kinds == 2 && is_longer()) kinds = 3;
  if (kinds >= 3) marked<T, fills>(stream, factors, result, columns);
}

}  // namespace

template <class T>
Rows<T> cuda_transposed(Stream& stream, Rows<T> const& a) {
  auto const elements = a.nonzeros();
  Rows<T> result{a.columns,
                 a.rows,
                 {stream, MemorySpace::device, place(a.columns) + 1},
                 {stream, MemorySpace::device, place(elements)},
                 {stream, MemorySpace::device, place(elements)}};
  zero_async(result.offsets.span(), stream);
  auto const counts = reinterpret_cast<Count*>(result.offsets.data());
  if (elements > 0) {
    count_kernel<<<blocks_for(elements, threads), threads, 0, native(stream)>>>(
        elements, a.column_indices.data(), counts);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "count_kernel");
  }
  scan::exclusive_sum<std::int64_t>(stream, std::as_const(result.offsets).span(),
                                    result.offsets.span());
  if (elements == 0) return result;
  Buffer<std::int64_t> next(stream, MemorySpace::device, result.offsets.size());
  copy_async(next.span(), std::as_const(result.offsets).span(), stream);
  Buffer<std::int32_t> rows(stream, MemorySpace::device, place(elements));
  Buffer<T> values(stream, MemorySpace::device, place(elements));
  place_kernel<<<blocks_for(a.rows, threads), threads, 0, native(stream)>>>(
      view(a), reinterpret_cast<Count*>(next.data()), rows.data(), values.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "place_kernel");
  View<T> const unordered{result.rows, result.offsets.data(), rows.data(), values.data()};
  order_kernel<<<blocks_for(result.rows * warp_size, threads), threads, 0, native(stream)>>>(
      unordered, result.column_indices.data(), result.values.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "order_kernel");
  return result;
}

template <class T>
Rows<T> cuda_galerkin(Stream& stream, Rows<T> const& r, Rows<T> const& a, Rows<T> const& p) {
  Factors<T> const factors{view(r), view(a), view(p)};
  Rows<T> product{r.rows, p.columns, {stream, MemorySpace::device, place(r.rows) + 1}, {}, {}};
  Buffer<std::int32_t> longer(stream, MemorySpace::device, 1);
  zero_async(longer.span(), stream);
  zero_async(product.offsets.span(), stream);
  int kinds = 0;
  auto const result = [&] {
    return Result<T>{product.offsets.data(), product.offsets.data(), product.column_indices.data(),
                     product.values.data(), longer.data()};
  };
  round<T, false>(stream, factors, result(), longer, p.columns, kinds);
  scan::exclusive_sum<std::int64_t>(stream, std::as_const(product.offsets).span(),
                                    product.offsets.span());
  auto const elements = read_one(stream, product.offsets, r.rows);
  product.column_indices = {stream, MemorySpace::device, place(elements)};
  product.values = {stream, MemorySpace::device, place(elements)};
  round<T, true>(stream, factors, result(), longer, p.columns, kinds);
  return product;
}

#define GRIDSTRIDE_INSTANTIATE(T)                            \
  template Rows<T> cuda_transposed(Stream&, Rows<T> const&); \
  template Rows<T> cuda_galerkin(Stream&, Rows<T> const&, Rows<T> const&, Rows<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::amg
