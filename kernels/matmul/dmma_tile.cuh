#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/support/async_copy.cuh"

/// The kernel of the rung `dmma`; cuda_dmma.cu explains it.
namespace gridstride::matmul::dmma {

/// Elements along k of a stage, and the 128 bytes that they are: a line of shared memory.
constexpr int depth = 16, line_bytes = 128;
/// An operand lies in strips of 16 of its rows (columns for B) by `depth`.
constexpr int strip = 16, strip_bytes = strip * line_bytes;

/// A block's tile of C is `rows` x `columns`. Its warps stand `warps_down` in a column and have
/// down x across products of 8 x 16 each. Shared memory has room for `stages`.
template <int rows_, int columns_, int warps_down_, int warps_across_, int stages_, int resident_>
struct Shape {
  static constexpr int rows = rows_, columns = columns_;
  static constexpr int warps_down = warps_down_;
  static constexpr int threads = 32 * warps_down_ * warps_across_;
  static constexpr int warp_rows = rows / warps_down_, warp_columns = columns / warps_across_;
  static constexpr int down = warp_rows / 8, across = warp_columns / 16;
  static constexpr int stages = stages_;
  static constexpr int resident = resident_;  ///< blocks of a multiprocessor at the same time
  static constexpr int stage_bytes = (rows + columns) * line_bytes;
  static constexpr int shared_bytes = stages * stage_bytes;
  static_assert(down % 2 == 0 && warp_rows % strip == 0 && warp_columns % strip == 0);
};

/// C = α·op(A)·op(B) + β·C, in tiles. Where k is split, split number s is a product of its own and
/// goes to c + s·m·n.
struct Task {
  std::int64_t m, n, k;
  double const* a;
  std::int64_t lda;
  double const* b;
  std::int64_t ldb;
  double* c;
  std::int64_t ldc;
  double alpha, beta;
  bool a_aligned, b_aligned, c_aligned;  ///< every row to 16 bytes
  unsigned tiles_down, tiles_across;
  int stages, split_stages;  ///< along all of k, and of a split
};

/// Where a block works.
template <class S>
struct Place {
  /// Blocks that run at the same time have tiles near each other: down bands of about 512 rows.
  static constexpr unsigned band = 512 / S::rows;
  unsigned split;
  std::int64_t row, column;

  __device__ explicit Place(Task const& task) {
    unsigned const tiles = task.tiles_down * task.tiles_across, tile = blockIdx.x % tiles;
    unsigned const top = tile / (band * task.tiles_across) * band;
    unsigned const height = min(task.tiles_down - top, band);
    unsigned const within = tile - top * task.tiles_across;
    split = blockIdx.x / tiles;
    row = std::int64_t{top + within % height} * S::rows;
    column = std::int64_t{within / height} * S::columns;
  }
};

// ------------------------------------------------------------------------------------ instructions

__device__ inline void copy_16(unsigned to, double const* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
/// The first `bytes` of 16, or of 8, are copied and the others become zero.
__device__ inline void copy_16(unsigned to, double const* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}
__device__ inline void copy_8(unsigned to, double const* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}
__device__ inline double2 load_shared(unsigned from) {
  double2 v;
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "r"(from) : "memory");
  return v;
}

__device__ inline void store_global(double* to, double x, double y) {
  asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(x), "d"(y) : "memory");
}

/// D (16 x 8) += X (16 x 8)·Y (8 x 8). Of lane 4g + t: x are X(g, t), X(g + 8, t), X(g, t + 4) and
/// X(g + 8, t + 4), y are Y(t, g) and Y(t + 4, g), d are D(g, 2t), D(g, 2t + 1) and the same of
/// row g + 8.
__device__ inline void multiply_add(double (&d)[4], double const (&x)[4], double const (&y)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]), "d"(y[0]), "d"(y[1]));
}

// ------------------------------------------------------------------------------------------ panels

/// A thread's share of the copies of one operand: `width` rows of op(A), or columns of op(B), by
/// `depth`. Lines of memory go along k or across it. Chunk number x of 16 bytes in line l of a
/// strip is stored at place x XOR l % 8.
template <bool along_k, int width, int threads>
struct Panel {
  static constexpr int chunks = along_k ? depth / 2 : width / 2;  // in a line of memory
  static constexpr int lines = along_k ? width : depth;
  static constexpr int step = threads / chunks;  // lines that the block copies at once
  static constexpr int copies = lines / step;
  static_assert(copies * step == lines);

  double const* from;  // the thread's first chunk of the next stage to be copied
  unsigned place;      // of that chunk in the panel
  int across;          // how many lines (along k) or elements of a line (else) begin there
  bool whole;

  __device__ static int line() { return static_cast<int>(threadIdx.x) / chunks; }
  __device__ static int chunk() { return static_cast<int>(threadIdx.x) % chunks; }

  /// Begins with row or column `first` of `end`, and at `k`.
  __device__ Panel(double const* data, std::int64_t leading, bool aligned, std::int64_t first,
                   std::int64_t end, std::int64_t k) {
    int const own = along_k ? line() : 2 * chunk();
    from = along_k ? data + (first + own) * leading + k + 2 * chunk()
                   : data + (k + line()) * leading + first + own;
    whole = aligned && end - first >= width;
    across = static_cast<int>(min(end - first, std::int64_t{width})) - own;
    place = chunk() / 8 * strip_bytes + line() * line_bytes + ((chunk() % 8) ^ (line() % 8)) * 16;
  }

  __device__ unsigned target(unsigned panel, int copy) const {
    int const below = copy * step;
    return panel + (place ^ (below % 8 * 16)) + below * line_bytes;
  }
  __device__ void advance(std::int64_t leading) { from += along_k ? depth : depth * leading; }

  /// Copies a stage of a whole panel.
  __device__ void copy(unsigned panel, std::int64_t leading) {
    double const* at = from;
#pragma unroll
    for (int i = 0; i < copies; ++i, at += step * leading) copy_16(target(panel, i), at);
    advance(leading);
  }

  /// Copies what there is of a stage of which `k_left` exist along k; the rest becomes zero.
  __device__ void copy(unsigned panel, std::int64_t leading, bool aligned, int k_left) {
    int const lines_left = along_k ? across : k_left - line();
    int const elements_left = along_k ? k_left - 2 * chunk() : across;
    double const* at = from;
#pragma unroll
    for (int i = 0; i < copies; ++i, at += step * leading) {
      int const elements = i * step < lines_left ? elements_left : 0;
      unsigned const to = target(panel, i);
      if (aligned) {
        copy_16(to, at, elements <= 0 ? 0 : elements == 1 ? 8 : 16);
      } else {
        copy_8(to, at, elements > 0 ? 8 : 0);
        copy_8(to + 8, at + 1, elements > 1 ? 8 : 0);
      }
    }
    advance(leading);
  }
};

// --------------------------------------------------------------------------------------- fragments

/// Row 2·pair(x) + h of a strip is row x of the instruction's operand in its half h (of X), or in
/// its neighbour h (of Y). Neighbours x differ in both low bits of the pair.
__device__ inline int pair(int x) { return ((x >> 1 & 1) | (x & 4)) ^ (x & 1) * 3; }

/// A lane's places in the strips of one operand. Along k the instruction's t and t + 4 are 2t and
/// 2t + 1 of its 8, so that they lie in one chunk.
template <bool along_k>
struct View {
  unsigned at[2];

  __device__ explicit View(int first_strip) {
    int const lane = static_cast<int>(threadIdx.x) % 32, row = pair(lane / 4), k = lane % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      int const line = 2 * (along_k ? row : k) + h, chunk = along_k ? k : row;
      at[h] = first_strip * strip_bytes + line * line_bytes + (chunk ^ (line % 8)) * 16;
    }
  }
  /// v[h][e], from half `step` of the stage: row h of the pair, and t or t + 4 along k.
  __device__ void load(double (&v)[2][2], unsigned stage, int number, int step) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      unsigned const place = along_k ? at[i] ^ (step * 64) : at[i] + step * 8 * line_bytes;
      double2 const both = load_shared(stage + place + number * strip_bytes);
      (along_k ? v[i][0] : v[0][i]) = both.x;
      (along_k ? v[i][1] : v[1][i]) = both.y;
    }
  }
};

// -------------------------------------------------------------------------------------------- tile

/// A thread's part of a tile's product.
template <class S, bool a_along_k, bool b_along_k>
struct Tile {
  static constexpr int ahead = S::stages - 1;  // stages under way while one is multiplied
  static constexpr int a_bytes = S::rows * line_bytes;

  Task const& task;
  Panel<a_along_k, S::rows, S::threads> panel_a;
  Panel<b_along_k, S::columns, S::threads> panel_b;
  View<a_along_k> view_a;
  View<b_along_k> view_b;
  int stages, last_depth;     // of this split, and along k of its last stage
  unsigned memory;            // shared
  unsigned reading, writing;  // the stages that are multiplied and copied
  double sums[S::across][S::down][4];
  double x[2][4], y[2][S::down][2];  // operands: B's for this and the next products, A's of a step

  __device__ Tile(Task const& work, Place<S> const& place, int warp_row, int warp_column,
                  unsigned shared)
      : task(work),
        panel_a(work.a, work.lda, work.a_aligned, place.row, work.m, first_k(work, place)),
        panel_b(work.b, work.ldb, work.b_aligned, place.column, work.n, first_k(work, place)),
        view_a(warp_row / strip),
        view_b((S::rows + warp_column) / strip),
        memory(shared),
        reading(shared),
        writing(shared + ahead * S::stage_bytes),
        sums{} {
    stages =
        min(task.split_stages, task.stages - static_cast<int>(place.split) * task.split_stages);
    std::int64_t const left = task.k - first_k(task, place);
    last_depth =
        static_cast<int>(min(left - std::int64_t{stages - 1} * depth, std::int64_t{depth}));
  }
  __device__ static std::int64_t first_k(Task const& task, Place<S> const& place) {
    return std::int64_t{place.split} * task.split_stages * depth;
  }

  __device__ bool inside() const { return panel_a.whole && panel_b.whole; }
  __device__ int full_stages() const { return last_depth == depth ? stages : stages - 1; }
  __device__ unsigned after(unsigned stage) const {
    return stage == memory + ahead * S::stage_bytes ? memory : stage + S::stage_bytes;
  }

  /// Copies stage `number`, if there is one.
  __device__ void copy(unsigned stage, int number) {
    if (inside() && number < full_stages()) {
      panel_a.copy(stage, task.lda);
      panel_b.copy(stage + a_bytes, task.ldb);
    } else if (number < stages) {
      int const k_left = number + 1 < stages ? depth : last_depth;
      panel_a.copy(stage, task.lda, task.a_aligned, k_left);
      panel_b.copy(stage + a_bytes, task.ldb, task.b_aligned, k_left);
    }
    close_group();
  }

  /// Waits until the stage after the one that was read is there, and all warps have read this one.
  __device__ static void await_stage() {
    await_groups<S::stages - 2>();
    __syncthreads();
  }

  __device__ void load_a(unsigned stage, int step) {
#pragma unroll
    for (int j = 0; j < S::down; j += 2) {
      double v[2][2];
      view_a.load(v, stage, j / 2, step);
#pragma unroll
      for (int e = 0; e < 4; ++e) y[step][j + e / 2][e % 2] = v[e / 2][e % 2];
    }
  }
  __device__ void load_b(double (&to)[4], unsigned stage, int number, int step) const {
    double v[2][2];
    view_b.load(v, stage, number, step);
#pragma unroll
    for (int e = 0; e < 4; ++e) to[e] = v[e % 2][e / 2];
  }

  __device__ void begin() {
#pragma unroll 1
    for (int s = 0; s < ahead; ++s) copy(memory + s * S::stage_bytes, s);
    await_stage();
    load_b(x[0], memory, 0, 0);
    load_a(memory, 0);
  }

  /// Multiplies a stage: 2·across groups of products that share an operand of B. In each the next
  /// group's operands are loaded. `steady`: the tile lies inside, and the stage to be copied
  /// meanwhile is full; its copies are spread over the groups.
  template <bool steady>
  __device__ void multiply(int number) {
    constexpr int groups = 2 * S::across, copies = panel_a.copies + panel_b.copies;
    unsigned const next = after(reading);
    double const *from_a = panel_a.from, *from_b = panel_b.from;
    if constexpr (!steady) copy(writing, number + ahead);
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      int const step = g / S::across, i = g % S::across;
      bool const ends = g + 1 == groups, ends_step = i + 1 == S::across;
      if (ends) await_stage();
      load_b(x[(g + 1) % 2], ends ? next : reading, ends_step ? 0 : i + 1,
             ends ? 0 : (g + 1) / S::across);
      if (ends_step) load_a(ends ? next : reading, ends ? 0 : 1);
      if (steady && !ends) {
#pragma unroll
        for (int u = g * copies / (groups - 1); u < (g + 1) * copies / (groups - 1); ++u) {
          if (u < panel_a.copies) {
            copy_16(panel_a.target(writing, u), from_a);
            from_a += panel_a.step * task.lda;
          } else {
            copy_16(panel_b.target(writing + a_bytes, u - panel_a.copies), from_b);
            from_b += panel_b.step * task.ldb;
          }
        }
        if (g + 2 == groups) close_group();
      }
#pragma unroll
      for (int j = 0; j < S::down; ++j) multiply_add(sums[i][j], x[g % 2], y[step][j]);
      // Keeps the compiler from moving products past loads until these are in the way.
      __syncwarp();
    }
    if constexpr (steady) {
      panel_a.advance(task.lda);
      panel_b.advance(task.ldb);
    }
    writing = reading;
    reading = next;
  }
};

// ----------------------------------------------------------------------------------------------- C

/// A thread's part in a tile's results.
template <class S>
struct Store {
  Task const& task;
  double const (&sums)[S::across][S::down][4];
  double* c;                  // the tile's first element
  int warp_row, warp_column;  // in the tile
  int rows, columns;          // of the tile, that exist

  /// Brings the old elements to the second-level cache.
  __device__ void prefetch() const {
    constexpr int line = line_bytes / sizeof(double), lines = S::columns / line;
    if (task.beta == 0) return;
#pragma unroll
    for (int first = 0; first < S::rows * lines; first += S::threads) {
      int const number = first + static_cast<int>(threadIdx.x);
      int const x = number / lines, y = number % lines * line;
      if (x < rows && y < columns)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(c + x * task.ldc + y));
    }
  }

  /// Where the lane's result u of products j, and its pair of results of products i, belong.
  __device__ int row(int j, int u) const {
    int const t = static_cast<int>(threadIdx.x) % 4;
    return warp_row + j / 2 * strip + 2 * pair(2 * t + u) + j % 2;
  }
  __device__ int column(int i) const {
    int const g = static_cast<int>(threadIdx.x) % 32 / 4;
    return warp_column + i * strip + 2 * pair(g);
  }
  __device__ double result(double sum, double old) const {
    return task.beta == 0 ? task.alpha * sum : task.alpha * sum + task.beta * old;
  }

  /// A whole tile of an aligned C, straight from the registers. The old elements for the next
  /// products come while these are written.
  __device__ void whole() const {
    double2 old[2][2][S::across] = {};
    load(old[0], 0);
#pragma unroll
    for (int j = 0; j < S::down; ++j) {
      if (j + 1 < S::down) load(old[(j + 1) % 2], j + 1);
#pragma unroll
      for (int u = 0; u < 2; ++u) {
        double* const to = c + row(j, u) * task.ldc + column(0);
#pragma unroll
        for (int i = 0; i < S::across; ++i) {
          double2 const before = old[j % 2][u][i];
          store_global(to + i * strip, result(sums[i][j][u], before.x),
                       result(sums[i][j][2 + u], before.y));
        }
      }
    }
  }
  __device__ void load(double2 (&old)[2][S::across], int j) const {
    if (task.beta == 0) return;
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      double const* const from = c + row(j, u) * task.ldc + column(0);
#pragma unroll
      for (int i = 0; i < S::across; ++i)
        old[u][i] = *reinterpret_cast<double2 const*>(from + i * strip);
    }
  }

  /// Any other tile, through shared memory, so that a warp writes a row's elements side by side.
  __device__ void parts(double* shared) const {
    constexpr int pitch = S::columns + 2;
    static_assert(S::rows * pitch * sizeof(double) <= S::shared_bytes);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < S::down; ++j)
#pragma unroll
      for (int u = 0; u < 2; ++u)
#pragma unroll
        for (int i = 0; i < S::across; ++i)
          *reinterpret_cast<double2*>(shared + row(j, u) * pitch + column(i)) = {sums[i][j][u],
                                                                                 sums[i][j][2 + u]};
    __syncthreads();
    constexpr int at_once = 8;  // elements that a thread loads before it writes any
    for (int first = static_cast<int>(threadIdx.x); first < S::rows * S::columns;
         first += at_once * S::threads) {
      double old[at_once] = {};
#pragma unroll
      for (int e = 0; e < at_once; ++e) {
        int const x = (first + e * S::threads) / S::columns, y = first % S::columns;
        if (task.beta != 0 && x < rows && y < columns) old[e] = c[x * task.ldc + y];
      }
#pragma unroll
      for (int e = 0; e < at_once; ++e) {
        int const x = (first + e * S::threads) / S::columns, y = first % S::columns;
        if (x < rows && y < columns) c[x * task.ldc + y] = result(shared[x * pitch + y], old[e]);
      }
    }
  }
};

template <class S, bool a_along_k, bool b_along_k>
__global__ void __launch_bounds__(S::threads, S::resident)
    dmma_kernel([[maybe_unused]] Task const __grid_constant__ task) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  int const warp = static_cast<int>(threadIdx.x) / 32;
  int const warp_row = warp % S::warps_down * S::warp_rows;
  int const warp_column = warp / S::warps_down * S::warp_columns;
  Place<S> const place(task);
  Tile<S, a_along_k, b_along_k> tile(task, place, warp_row, warp_column,
                                     static_cast<unsigned>(__cvta_generic_to_shared(memory)));
  tile.begin();
  int number = 0;
  if (tile.inside()) {
#pragma unroll 1
    for (; number < tile.full_stages() - tile.ahead; ++number) tile.template multiply<true>(number);
  }
  Store<S> const store{task,
                       tile.sums,
                       task.c + place.split * task.m * task.n + place.row * task.ldc + place.column,
                       warp_row,
                       warp_column,
                       static_cast<int>(min(task.m - place.row, std::int64_t{S::rows})),
                       static_cast<int>(min(task.n - place.column, std::int64_t{S::columns}))};
  store.prefetch();
#pragma unroll 1
  for (; number < tile.stages; ++number) tile.template multiply<false>(number);

  if (task.c_aligned && store.rows == S::rows && store.columns == S::columns)
    store.whole();
  else
    store.parts(reinterpret_cast<double*>(memory));
#endif
}

}  // namespace gridstride::matmul::dmma
