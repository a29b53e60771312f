#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <cstring>
#include <type_traits>

#include "kernels/factorize/panel.hpp"
#include "kernels/support/barrier.cuh"
#include "kernels/support/collectives.cuh"

/// What the blocks of a cluster do to factor a leaf; cuda_panel.cu tells how.
namespace gridstride::factorize::leaf {

constexpr int threads = 256;
constexpr int warps = threads / warp_size;
constexpr int most_blocks = cluster_processors;

/// A row on its way, from the present column on. Aligned for 16-byte reads.
template <class T, int width>
struct alignas(16) Candidate {
  T row[width];
  int position, origin;  // among the rows of the leaf: as if exchanged, and in memory
};

/// What a warp offers.
template <class T>
struct Offer {
  T value;
  int position;
};

constexpr int no_position = INT_MAX;

#if __CUDA_ARCH__ >= 900

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ inline unsigned cluster_size() {
  unsigned size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

__device__ inline void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

template <class Word>
__device__ void send(unsigned address, Word word, unsigned barrier) {
  if constexpr (sizeof(Word) == 8)
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(
            address),
        "l"(word), "r"(barrier)
        : "memory");
  else
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
            address),
        "r"(word), "r"(barrier)
        : "memory");
}

/// Of the lanes' values, the lane of the largest magnitude, and of equal ones of the lowest
/// position, as a mask with one bit.
template <class T>
__device__ unsigned winner(T value, int position) {
  auto const only_one = [](unsigned mask) { return (mask & (mask - 1)) == 0; };
  bool candidate;
  if constexpr (sizeof(T) == 8) {
    unsigned const high = static_cast<unsigned>(__double2hiint(value)) & 0x7fffffffu;
    candidate = high == __reduce_max_sync(whole_warp, high);
    unsigned const tied = __ballot_sync(whole_warp, candidate);
    if (only_one(tied)) return tied;
    unsigned const low = candidate ? static_cast<unsigned>(__double2loint(value)) : 0;
    unsigned const largest = __reduce_max_sync(whole_warp, low);
    candidate = candidate && low == largest;
  } else {
    unsigned const bits = __float_as_uint(value) & 0x7fffffffu;
    candidate = bits == __reduce_max_sync(whole_warp, bits);
  }
  unsigned const tied = __ballot_sync(whole_warp, candidate);
  if (only_one(tied)) return tied;
  int const place = candidate ? position : no_position;
  int const lowest = __reduce_min_sync(whole_warp, place);
  unsigned const first = __ballot_sync(whole_warp, candidate && place == lowest);
  return first & (0 - first);
}

/// Whether the first value wins against the second.
template <class T>
__device__ bool beats(T value, int position, T other, int other_position) {
  using Bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
  constexpr Bits magnitude = ~Bits{0} >> 1;
  Bits a, b;
  memcpy(&a, &value, sizeof(T));
  memcpy(&b, &other, sizeof(T));
  a &= magnitude;
  b &= magnitude;
  return a > b || (a == b && position < other_position);
}

#endif

/// The strip of a block in shared memory: a row's stride is odd, so that a warp reads a column
/// without bank conflicts.
template <class T, int width>
struct Staging {
  static constexpr int stride = width + 1;
  T* rows;
  __device__ T& operator()(int row, int column) const { return rows[row * stride + column]; }
};

/// Moves between global memory and the staging rows of the own warp, coalesced: lane → column.
/// `place(row)` is the row of the leaf that the staging row `row` belongs to, −1 for none.
template <class T, int width, int per_thread, bool out, class Place>
__device__ void transfer(Staging<T, width> staging, T* leaf, std::int64_t leading, int columns,
                         Place const& place) {
  constexpr int rows_at_once = warp_size / width;
  int const column = lane_index() % width, sub = lane_index() / width;
#pragma unroll 1
  for (int part = 0; part < per_thread; ++part) {
    int const first = part * threads + warp_index() * warp_size;
#pragma unroll 16
    for (int r = 0; r < warp_size; r += rows_at_once) {
      int const row = first + r + sub;
      int const target = place(row);
      bool const inside = target >= 0 && column < columns;
      if constexpr (out) {
        if (inside) leaf[target * leading + column] = staging(row, column);
      } else {
        staging(row, column) = inside ? leaf[target * leading + column] : T(0);
      }
    }
  }
}

#if __CUDA_ARCH__ >= 900

/// What the blocks of a cluster have in shared memory, in two sets that alternate.
template <class T, int width>
struct Exchange {
  Offer<T> of_warps[2][warps];
  Candidate<T, width> of_block[2], of_blocks[2][most_blocks];
  std::uint64_t barriers[2];

  static __device__ int bytes(int blocks) {
    return blocks * static_cast<int>(width * sizeof(T) + 8);
  }
};

/// A thread's rows, from the present column on.
template <class T, int per_thread, int width>
struct Rows {
  T a[per_thread][width];
  int position[per_thread];
  bool active[per_thread];
};

/// 1/x to an ulp or two, and 0 for 0; x is the same in a whole warp. Newton steps from the
/// hardware's estimate are much shorter than a division; at the ends of the range they fail, and
/// there it is one.
__device__ inline double reciprocal_of(double x) {
  if (x == 0) return 0;
  int const exponent = (__double2hiint(x) >> 20) & 0x7ff;
  if (exponent < 0x010 || exponent > 0x7e0) return 1 / x;
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  double error = fma(-x, r, 1.0);
  error = fma(error, error, error);
  r = fma(r, error, r);
  return fma(r, fma(-x, r, 1.0), r);
}

__device__ inline float reciprocal_of(float x) {
  if (x == 0) return 0;
  int const exponent = (__float_as_int(x) >> 23) & 0xff;
  if (exponent < 0x08 || exponent > 0xf0) return 1 / x;
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return fmaf(r, fmaf(-x, r, 1.0f), r);
}

/// The row to eliminate with, chosen by all threads of the cluster.
template <class T, int width>
struct Pivot {
  Candidate<T, width> const& candidate;
  T reciprocal;
  int position;
};

/// Where a warp sends to: the addresses that `exchange` has in the blocks.
struct Targets {
  static constexpr unsigned nowhere = ~0u;
  unsigned exchange[most_blocks / warps];

  __device__ Targets(void const* own, int blocks) {
#pragma unroll
    for (int t = 0; t < most_blocks / warps; ++t) {
      int const target = warp_index() + t * warps;
      auto const rank = static_cast<unsigned>(min(target, blocks - 1));
      unsigned const address = address_in(shared_address(own), rank);
      exchange[t] = target < blocks ? address : nowhere;
    }
  }
};

/// Of the candidates that lanes have, the winner's lane; tells every lane about it.
template <class T>
__device__ int elect(T& value, int& position) {
  int const lane = 31 - __clz(static_cast<int>(winner(value, position)));
  value = __shfl_sync(whole_warp, value, lane);
  position = __shfl_sync(whole_warp, position, lane);
  return lane;
}

/// Sends the block's candidate to every block.
template <class T, int width>
__device__ void send_candidate(Exchange<T, width> const& exchange, int parity, int rank,
                               Targets const& targets) {
  using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
  int const lane = lane_index();
  auto const offset = [&](void const* part) {
    return static_cast<unsigned>(static_cast<char const*>(part) -
                                 reinterpret_cast<char const*>(&exchange));
  };
  auto const& mine = exchange.of_block[parity];
  auto const& slot = exchange.of_blocks[parity][rank];
  Word word;
  memcpy(&word, &mine.row[lane % width], sizeof(T));
  unsigned long long place;
  memcpy(&place, &mine.position, sizeof(place));
#pragma unroll
  for (unsigned const base : targets.exchange) {
    if (base == Targets::nowhere) continue;
    unsigned const barrier = base + offset(&exchange.barriers[parity]);
    if (lane < width) send(base + offset(&slot.row[lane]), word, barrier);
    if (lane == 0) send(base + offset(&slot.position), place, barrier);
  }
}

/// What a thread offers for the next pivot.
struct Best {
  int of_thread;  // which of its rows
  bool of_warp;   // whether it is the warp's
};

/// Finds the warp's best row for step j, and puts it up for the block.
template <class T, int per_thread, int width>
__device__ Best make_offer(Rows<T, per_thread, width> const& rows, Exchange<T, width>& exchange,
                           int j) {
  int best = 0, position = rows.active[0] ? rows.position[0] : no_position;
  T value = rows.active[0] ? rows.a[0][0] : T(0);
#pragma unroll
  for (int i = 1; i < per_thread; ++i) {
    if (!rows.active[i] || !beats(rows.a[i][0], rows.position[i], value, position)) continue;
    best = i;
    value = rows.a[i][0];
    position = rows.position[i];
  }
  bool const of_warp = winner(value, position) == 1u << lane_index();
  if (of_warp) exchange.of_warps[j % 2][warp_index()] = {value, position};
  return {best, of_warp};
}

/// The pivot of step j, from the offers of all warps of the cluster.
template <int remaining, class T, int per_thread, int width>
__device__ Pivot<T, width> choose_pivot(Rows<T, per_thread, width> const& rows, Best best,
                                        Exchange<T, width>& exchange, int j, int rank, int blocks,
                                        Targets const& targets) {
  int const lane = lane_index(), warp = warp_index(), parity = j % 2;
  __syncthreads();
  auto elected = lane < warps ? exchange.of_warps[parity][lane] : Offer<T>{T(0), no_position};
  int const best_warp = elect(elected.value, elected.position);
  auto& mine = exchange.of_block[parity];
  if (best.of_warp && warp == best_warp) {
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      if (best.of_thread != i) continue;
#pragma unroll
      for (int k = 0; k < remaining; ++k) mine.row[k] = rows.a[i][k];
    }
    // A block without active rows offers a zero at no position.
    if (elected.position == no_position) mine.row[0] = T(0);
    mine.position = elected.position;
    mine.origin = (rank * per_thread + best.of_thread) * threads + static_cast<int>(threadIdx.x);
  }
  if (blocks == 1) {
    T const reciprocal = reciprocal_of(elected.value);
    __syncthreads();
    return {mine, reciprocal, elected.position};
  }
  __syncthreads();

  send_candidate(exchange, parity, rank, targets);
  unsigned const barrier = shared_address(&exchange.barriers[parity]);
  barrier_wait_for_cluster(barrier, static_cast<unsigned>(j / 2) % 2);
  if (threadIdx.x == 0) barrier_arrive_expecting(barrier, Exchange<T, width>::bytes(blocks));
  auto const& candidate = exchange.of_blocks[parity][lane % most_blocks];
  elected =
      lane < blocks ? Offer<T>{candidate.row[0], candidate.position} : Offer<T>{T(0), no_position};
  int const best_block = elect(elected.value, elected.position);
  return {exchange.of_blocks[parity][best_block], reciprocal_of(elected.value), elected.position};
}

/// The elements of a row in shared memory, 16 bytes at a time.
template <int count, class T, int width>
__device__ void load_row(Candidate<T, width> const& candidate, T (&row)[count]) {
  constexpr int per_load = 16 / sizeof(T);
  using Word = std::conditional_t<sizeof(T) == 8, double2, float4>;
  auto const* const words = reinterpret_cast<Word const*>(candidate.row);
#pragma unroll
  for (int k = 0; k < count; k += per_load) {
    Word const word = words[k / per_load];
    T const* const values = reinterpret_cast<T const*>(&word);
#pragma unroll
    for (int v = 0; v < per_load; ++v)
      if (k + v < count) row[k + v] = values[v];
  }
}

/// Steps [first, last), with at most `remaining` columns left in each. The offer for the next step
/// is made as soon as its column is there, so that its latency hides behind the other columns.
template <int remaining, class T, int per_thread, int width>
__device__ void eliminate(Rows<T, per_thread, width>& rows, Best& best,
                          Exchange<T, width>& exchange, Staging<T, width> staging, int first,
                          int last, int rank, int blocks, Targets const& targets,
                          LeafResults const& results) {
#pragma unroll 1
  for (int j = first; j < last; ++j) {
    auto const pivot = choose_pivot<remaining>(rows, best, exchange, j, rank, blocks, targets);
    T u[remaining], factor[per_thread];
    load_row(pivot.candidate, u);
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      factor[i] = rows.a[i][0] * pivot.reciprocal;
      bool const is_pivot = rows.position[i] == pivot.position;
      if (rows.active[i] && !is_pivot)
        staging(i * threads + static_cast<int>(threadIdx.x), j) = factor[i];
      if (rows.position[i] == j) rows.position[i] = pivot.position;
      if (is_pivot) rows.position[i] = j;
      rows.active[i] = rows.active[i] && !is_pivot;
      if constexpr (remaining > 1) rows.a[i][0] = rows.a[i][1] - factor[i] * u[1];
    }
    best = make_offer(rows, exchange, j + 1);
#pragma unroll
    for (int k = 1; k + 1 < remaining; ++k) {
#pragma unroll
      for (int i = 0; i < per_thread; ++i) rows.a[i][k] = rows.a[i][k + 1] - factor[i] * u[k + 1];
    }
    if (warp_index() == warps - 1) {  // the pivot's row is final
      int const lane = lane_index();
      int const row = pivot.candidate.origin - rank * per_thread * threads;
      if (row >= 0 && row < per_thread * threads && j + lane < width)
        staging(row, j + lane) = pivot.candidate.row[lane];
      if (rank == 0 && lane == 0) {
        results.pivots[results.first + j] = results.first + pivot.position;
        if (!(u[0] != T(0) && u[0] == u[0]) && *results.status == 0)
          *results.status = results.first + j + 1;
      }
    }
  }
}

#endif

}  // namespace gridstride::factorize::leaf
