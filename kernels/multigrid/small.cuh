#pragma once

#include <cstddef>

#include "core/stream.hpp"
#include "kernels/multigrid/cycle.hpp"

/// Levels of up to a few thousand points, which one block has in shared memory. For the family's own files
/// only.
namespace gridstride::multigrid {

enum class Kind : unsigned char {
  relax,
  relax_phase,
  clear,
  keep_residual,
  gather,
  gather_f,
  correct,
  solve
};

/// A step on a small level, counted from the first one that is, and on the next coarser one.
struct Order {
  Kind kind;
  unsigned char level, number;  ///< of colours
  bool flag;
  double over;  ///< of relaxation: how far points of the first colour go
};

constexpr int most_orders = 500;
struct Orders {
  int count = 0;
  /// Whether there were orders before, or are to be more, on what all levels have come to.
  bool begins_amid = false, ends_amid = false;
  Order list[most_orders];
};

/// The small levels, and what of them goes to shared memory.
template <class S>
struct Small {
  static constexpr int most = 12;
  int first = 0, count = 0;
  Level<S> levels[most];
  S const* tables = nullptr;
  int const* numbers = nullptr;
  double const* inverse = nullptr;
  int table_size = 0, number_size = 0, values = 0, inverse_size = 0;

  GRIDSTRIDE_HOST_DEVICE std::size_t bytes() const {
    return count * sizeof(Level<S>) +
           sizeof(S) * (std::size_t(values) + table_size + inverse_size) +
           sizeof(int) * std::size_t(number_size);
  }
};

/// Those for which `is_small(level)` is true and whose bytes fit; there is always the coarsest.
template <class S, class IsSmall>
Small<S> small_levels(CycleWork<S> const& work, std::size_t most_bytes, IsSmall const& is_small) {
  Small<S> small;
  auto const all = static_cast<int>(work.levels.size());
  int first = all;
  for (int l = all - 1; l >= 0 && all - l <= Small<S>::most; --l) {
    auto const& level = work.levels[static_cast<std::size_t>(l)];
    if (l + 1 < all && !is_small(level)) break;
    Small<S> next = small;
    next.first = l;
    next.count = all - l;
    next.tables = level.lower[0];
    next.table_size = static_cast<int>(work.tables_end - level.lower[0]);
    next.numbers = l + 1 < all ? level.transfer[0].left : work.numbers_end;
    next.number_size = static_cast<int>(work.numbers_end - next.numbers);
    next.values += static_cast<int>(3 * 2 * level.colour);
    next.inverse = work.inverse;
    auto const unknowns = static_cast<int>(work.levels.back().size());
    next.inverse_size = unknowns <= most_inverted_of_few ? unknowns * unknowns : 0;
    if (l + 1 < all && next.bytes() > most_bytes) break;
    small = next;
    first = l;
  }
  for (int l = first; l < all; ++l)
    small.levels[l - first] = work.levels[static_cast<std::size_t>(l)];
  return small;
}

/// Whether the equations of all levels are stored, these are of two colours, and they fit in shared memory
/// with what their points take.
template <class S>
bool has_small_stored(Stream const&, Small<S> const&);
/// Does what is ordered on such levels.
template <class S>
void small_stored(Stream&, Orders const&, Small<S> const&);

template <class Value, class From>
__device__ void copy_all(Value* to, From const* from, int size) {
  for (int at = static_cast<int>(threadIdx.x); at < size; at += static_cast<int>(blockDim.x))
    to[at] = static_cast<Value>(from[at]);
}

/// Of small levels in shared memory.
template <class S>
struct InShared {
  Level<S>* levels;
  S const* inverse;  ///< null: it is not there
};

/// Copies them there, with the first one's u and f, or all values of all. What is stored of equations
/// stays where it is.
template <class S>
__device__ InShared<S> take_to_shared(Small<S> const& small, Orders const& orders) {
  extern __shared__ __align__(16) unsigned char shared_levels[];
  auto* const levels = reinterpret_cast<Level<S>*>(shared_levels);
  auto* const values = reinterpret_cast<S*>(levels + small.count);
  S* const tables = values + small.values;
  S* const inverse = tables + small.table_size;
  int* const numbers = reinterpret_cast<int*>(inverse + small.inverse_size);
  copy_all(tables, small.tables, small.table_size);
  copy_all(inverse, small.inverse, small.inverse_size);
  copy_all(numbers, small.numbers, small.number_size);
  int const size = static_cast<int>(2 * small.levels[0].colour);
  copy_all(values, small.levels[0].u, size);
  copy_all(values + size, small.levels[0].f, size);
  // Where rows have no points there are zeros.
  for (int at = 2 * size + static_cast<int>(threadIdx.x); at < small.values;
       at += static_cast<int>(blockDim.x))
    values[at] = 0;
  __syncthreads();
  S* of_level = values;
  for (int l = 0; orders.begins_amid && l < small.count; ++l) {
    Level<S> const& level = small.levels[l];
    int const each = static_cast<int>(2 * level.colour);
    copy_all(of_level, level.u, each);
    copy_all(of_level + each, level.f, each);
    copy_all(of_level + 2 * each, level.r, each);
    of_level += 3 * each;
  }
  int const own = static_cast<int>(threadIdx.x);
  if (own < small.count) {
    Level<S> level = small.levels[own];
    int before = 0;
    for (int l = 0; l < own; ++l) before += static_cast<int>(6 * small.levels[l].colour);
    int const of_level = static_cast<int>(2 * level.colour);
    level.u = values + before;
    level.f = level.u + of_level;
    level.r = level.f + of_level;
    auto const moved = [&](auto const*& pointer, auto const* from, auto const* to) {
      pointer = to + (pointer - from);
    };
    for (int axis = 0; axis < 3; ++axis) {
      moved(level.lower[axis], small.tables, tables);
      moved(level.upper[axis], small.tables, tables);
      moved(level.sum[axis], small.tables, tables);
      if (own + 1 == small.count) continue;
      auto& transfer = level.transfer[axis];
      moved(transfer.left, small.numbers, numbers);
      moved(transfer.right, small.numbers, numbers);
      moved(transfer.kept, small.numbers, numbers);
      moved(transfer.to_left, small.tables, tables);
      moved(transfer.to_right, small.tables, tables);
      moved(transfer.gather, small.tables, tables);
    }
    levels[own] = level;
  }
  __syncthreads();
  return {levels, small.inverse_size > 0 ? inverse : nullptr};
}

/// The first level's u and f go back, or all values of all.
template <class S>
__device__ void put_back(Small<S> const& small, Orders const& orders, InShared<S> const& shared) {
  for (int l = 0; l < (orders.ends_amid ? small.count : 1); ++l) {
    int const size = static_cast<int>(2 * small.levels[l].colour);
    copy_all(small.levels[l].u, shared.levels[l].u, size);
    copy_all(small.levels[l].f, shared.levels[l].f, size);
    if (orders.ends_amid) copy_all(small.levels[l].r, shared.levels[l].r, size);
  }
}

/// A step at all its points; ends without a barrier.
template <class Step>
__device__ void call_all(Step const& step) {
  Extent const points = step.extent();
  int const all = points.x * points.y * points.z;
  for (int at = static_cast<int>(threadIdx.x); at < all; at += static_cast<int>(blockDim.x)) {
    int const line = at / points.x;
    step(at - line * points.x, line % points.y, line / points.y);
  }
}

}  // namespace gridstride::multigrid
