// The ladder of tridiagonal solvers on a GPU, for n unknowns in all.
//
// thomas_batch: a thread for each system walks down its rows and up again. Where systems lie side by
//   side, a warp reads neighbouring addresses; where they lie one after the other, 32 cache lines at
//   a time. What elimination makes of c goes to memory and comes back, as does that of d, in the
//   place of x. Bytes: 9·n·sizeof(T); and a thread for each of few long systems leaves the GPU idle.
// cyclic_reduction: a block for each system, in shared memory. Of the rows that are left each second
//   one is eliminated from its neighbours, log2 n times, and found again on the way back. n steps of
//   work, but fewer and fewer threads have any, at addresses ever further apart in the same banks
//   (R. Hockney 1965; Y. Zhang, J. Cohen and J. Owens, "Fast tridiagonal solvers on the GPU", PPoPP
//   2010). Bytes: 5·n·sizeof(T), for systems that shared memory holds.
// parallel_cyclic_reduction: every row reaches for the rows twice as far away in each step, until
//   there are none: n·log2 n work, all threads busy, no way back, no bank conflicts. Bytes as before,
//   for systems of at most a thread for each row.
// hybrid: cuda_hybrid.cu.

#include <algorithm>
#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"
#include "kernels/tridiagonal/reduction.cuh"
#include "kernels/tridiagonal/rows.hpp"

namespace gridstride::tridiagonal {

namespace {

__device__ void note(Findings* findings, Places const& places, std::int64_t system,
                     std::int64_t row) {
  raise(findings->bad_pivot, word_of(places.size, system, row));
}

// ----------------------------------------------------------------------------------- thomas_batch

constexpr int batch_threads = 128;

template <class T>
__global__ void __launch_bounds__(batch_threads)
    thomas_batch_kernel(Arguments<T> const work, Places const places, T* uppers) {
  std::int64_t const system = std::int64_t{blockIdx.x} * batch_threads + threadIdx.x;
  if (system >= places.count) return;
  std::int64_t const coefficients = places.coefficients(system), values = places.values(system);
  bool dominant = true, good = true;
  Relation<T> x = before_piece<T>();
  for (std::int64_t i = 0; i < places.size; ++i) {
    auto const row = row_of(work, places, coefficients, values, i);
    dominant = dominant && row.dominant();
    bool const before = good;
    x = solved(without_lower(row, x), good);
    if (before && !good) note(work.findings, places, system, i);
    uppers[i * places.count + system] = x.right;
    work.solution[values + i * places.value_stride] = x.constant;
  }
  T next = 0;
  for (std::int64_t i = places.size; i-- > 0;) {
    T& value = work.solution[values + i * places.value_stride];
    value = next = value - uppers[i * places.count + system] * next;
  }
  if (!dominant) raise(work.findings->measured, 1);
}

// ------------------------------------------------------------------------------- in shared memory

constexpr int most_block_threads = 1024;

/// A system's rows in shared memory, as four arrays.
template <class T>
struct SharedRows {
  T* memory;
  int size;

  __device__ Row<T> get(int i) const {
    return {memory[i], memory[size + i], memory[2 * size + i], memory[3 * size + i]};
  }
  __device__ void put(int i, Row<T> const& row) const {
    memory[i] = row.a;
    memory[size + i] = row.b;
    memory[2 * size + i] = row.c;
    memory[3 * size + i] = row.d;
  }
  __device__ T& x(int i) const { return memory[3 * size + i]; }
};

/// Brings the block's system to shared memory. A barrier.
template <class T>
__device__ void load_system(Arguments<T> const& work, Places const& places,
                            SharedRows<T> const& rows) {
  std::int64_t const system = blockIdx.x;
  std::int64_t const coefficients = places.coefficients(system), values = places.values(system);
  bool dominant = true;
  for (int i = static_cast<int>(threadIdx.x); i < rows.size; i += static_cast<int>(blockDim.x)) {
    auto const row = row_of(work, places, coefficients, values, i);
    dominant = dominant && row.dominant();
    rows.put(i, row);
  }
  if (__syncthreads_or(!dominant) && threadIdx.x == 0) raise(work.findings->measured, 1);
}

template <class T>
__global__ void __launch_bounds__(most_block_threads)
    cyclic_reduction_kernel(Arguments<T> const work, Places const places) {
  extern __shared__ __align__(16) unsigned char reduction_memory[];
  int const size = static_cast<int>(places.size), threads = static_cast<int>(blockDim.x);
  SharedRows<T> const rows{reinterpret_cast<T*>(reduction_memory), size};
  load_system(work, places, rows);
  // Row i ≡ distance − 1 modulo 2·distance is left alone from here on; its neighbours at that
  // distance lose their dependence on it.
  int distance = 1;
  for (; distance < size; distance *= 2) {
    for (int i = 2 * distance * (static_cast<int>(threadIdx.x) + 1) - 1; i < size;
         i += 2 * distance * threads) {
      auto row = rows.get(i);
      bool good = true;
      row = without_lower(row, solved(rows.get(i - distance), good));
      if (i + distance < size) row = without_upper(row, solved(rows.get(i + distance), good));
      rows.put(i, row);
    }
    __syncthreads();
  }
  for (; distance > 0; distance /= 2) {
    for (int i = distance - 1 + 2 * distance * static_cast<int>(threadIdx.x); i < size;
         i += 2 * distance * threads) {
      bool good = true;
      auto const relation = solved(rows.get(i), good);
      if (!good) note(work.findings, places, blockIdx.x, i);
      rows.x(i) = relation.at(i >= distance ? rows.x(i - distance) : T{0},
                              i + distance < size ? rows.x(i + distance) : T{0});
    }
    __syncthreads();
  }
  std::int64_t const values = places.values(blockIdx.x);
  for (int i = static_cast<int>(threadIdx.x); i < size; i += threads)
    work.solution[values + i * places.value_stride] = rows.x(i);
}

template <class T>
__global__ void __launch_bounds__(most_block_threads)
    parallel_cyclic_reduction_kernel(Arguments<T> const work, Places const places) {
  extern __shared__ __align__(16) unsigned char reduction_memory[];
  int const size = static_cast<int>(places.size), i = static_cast<int>(threadIdx.x);
  std::int64_t const values = places.values(blockIdx.x);
  T* from = reinterpret_cast<T*>(reduction_memory);
  T* to = from + 3 * size;
  Relation<T> x{};
  bool good = true, dominant = true;
  if (i < size) {
    auto const row = row_of(work, places, places.coefficients(blockIdx.x), values, i);
    dominant = row.dominant();
    x = solved(row, good);
    SharedRelations<T>{from, size}.put(i, x);
  }
  if (__syncthreads_or(!dominant) && i == 0) raise(work.findings->measured, 1);
  for (int distance = 1; distance < size; distance *= 2) {
    if (i < size) {
      x = reach_further(x, SharedRelations<T>{from, size}, i, i >= distance, i + distance < size,
                        distance, good);
      SharedRelations<T>{to, size}.put(i, x);
    }
    __syncthreads();
    T* const next = to;
    to = from;
    from = next;
  }
  if (i >= size) return;
  if (!good) note(work.findings, places, blockIdx.x, i);
  work.solution[values + i * places.value_stride] = x.constant;
}

// ---------------------------------------------------------------------------------------- measure

constexpr int measure_threads = 256;
/// Systems of a block where they lie side by side.
constexpr int measured_across = 8;

/// If rows are to be judged at all, a block for one window after the other, of one system or of
/// several side by side: first for the largest unknown, then for the rows.
template <int systems, class T>
__global__ void __launch_bounds__(measure_threads)
    measure_kernel(Arguments<T> const work, Places const places) {
  constexpr int lanes = measure_threads / systems;
  __shared__ T shared[measure_threads];
  __shared__ double errors[measure_threads / warp_size];
  if (work.findings->measured == 0) return;
  std::int64_t const size = places.size;
  std::int64_t const windows = (size + window_rows - 1) / window_rows;
  std::int64_t const groups = (places.count + systems - 1) / systems;
  double error = 0;
  for (std::int64_t window = blockIdx.x; window < groups * windows; window += gridDim.x) {
    std::int64_t const system = window / windows * systems + threadIdx.x % systems;
    std::int64_t const first = window % windows * window_rows;
    std::int64_t const last = first + window_rows < size ? first + window_rows : size;
    bool const active = system < places.count;
    std::int64_t const values = active ? places.values(system) : 0;
    std::int64_t const coefficients = active ? places.coefficients(system) : 0;
    auto const x = [&](std::int64_t row) {
      return work.solution[values + row * places.value_stride];
    };
    auto const each_row = [&](auto const& body) {
      for (std::int64_t i = first + threadIdx.x / systems; active && i < last; i += lanes) body(i);
    };
    T largest = 0;
    each_row([&](std::int64_t i) { largest = fmax(largest, fabs(x(i))); });
    shared[threadIdx.x] = largest;
    __syncthreads();
    for (int lane = 0; lane < lanes; ++lane)
      largest = fmax(largest, shared[lane * systems + threadIdx.x % systems]);
    each_row([&](std::int64_t i) {
      auto const row = row_of(work, places, coefficients, values, i);
      error = fmax(error, backward_error(row, x(i > 0 ? i - 1 : size - 1), x(i),
                                         x(i + 1 < size ? i + 1 : 0), largest));
    });
    __syncthreads();
  }
  if (work.right == work.solution) error = __builtin_huge_val();
  error = block_reduce<measure_threads>(
      error, [](double a, double b) { return fmax(a, b); }, errors);
  if (threadIdx.x == 0)
    raise(work.findings->backward_error, static_cast<std::uint64_t>(__double_as_longlong(error)));
}

template <class Kernel, class T>
void launch_blocks(Stream& stream, Kernel* kernel, char const* name, Arguments<T> const& work,
                   int threads, std::size_t bytes) {
  allow_shared_bytes(kernel, bytes);
  kernel<<<static_cast<unsigned>(work.shape.count()), threads, bytes, native(stream)>>>(
      work, places_of(work.shape));
  GRIDSTRIDE_CHECK_LAUNCH(stream, name);
}

}  // namespace

template <class T>
void cuda_thomas_batch(Stream& stream, Arguments<T> const& work) {
  require_open("thomas_batch", work.shape);
  auto const places = places_of(work.shape);
  Buffer<T> uppers(stream, MemorySpace::device,
                   static_cast<std::size_t>(places.size * places.count));
  thomas_batch_kernel<<<blocks_for(places.count, batch_threads), batch_threads, 0,
                        native(stream)>>>(work, places, uppers.data());
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal thomas_batch");
}

template <class T>
void cuda_cyclic_reduction(Stream& stream, Arguments<T> const& work) {
  constexpr auto name = "cyclic_reduction";
  require_open(name, work.shape);
  auto const most = stream.device().capabilities().shared_bytes / (4 * sizeof(T));
  require_at_most(name, work.shape, static_cast<std::int64_t>(most));
  auto const size = static_cast<int>(work.shape.size);
  int const threads = std::clamp((size / 2 + 31) / 32 * 32, 32, most_block_threads);
  launch_blocks(stream, cyclic_reduction_kernel<T>, name, work, threads, 4 * sizeof(T) * size);
}

template <class T>
void cuda_parallel_cyclic_reduction(Stream& stream, Arguments<T> const& work) {
  constexpr auto name = "parallel_cyclic_reduction";
  require_open(name, work.shape);
  require_at_most(name, work.shape, most_block_threads);
  auto const size = static_cast<int>(work.shape.size);
  launch_blocks(stream, parallel_cyclic_reduction_kernel<T>, name, work, (size + 31) / 32 * 32,
                6 * sizeof(T) * size);
}

template <class T>
void cuda_measure(Stream& stream, Arguments<T> const& work) {
  auto const places = places_of(work.shape);
  bool const across = places.values_of[0] > 0 && places.values_of[0] < places.value_stride;
  unsigned const most = 4 * static_cast<unsigned>(stream.device().processors());
  auto* const kernel = across ? measure_kernel<measured_across, T> : measure_kernel<1, T>;
  kernel<<<std::min(most, blocks_for(places.size * places.count, measure_threads)), measure_threads,
           0, native(stream)>>>(work, places);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "tridiagonal measure");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                             \
  template void cuda_thomas_batch(Stream&, Arguments<T> const&);              \
  template void cuda_cyclic_reduction(Stream&, Arguments<T> const&);          \
  template void cuda_parallel_cyclic_reduction(Stream&, Arguments<T> const&); \
  template void cuda_measure(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::tridiagonal
