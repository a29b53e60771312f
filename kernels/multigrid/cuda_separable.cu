// A level of at most 64 unknowns along each axis by the modes of its axes: six products with matrices
// of 64 rows, of which two that follow one another are made by a block, with what is between them in
// shared memory.
//
//   volumes   x and y of a plane; z there and back, with the division between, of 32 columns; y and x
//             back of a plane: three kernels, whose blocks have half a plane each
//   planes    all by one block
//
// A thread has four rows by four columns of a product: of a step of its sum it loads four numbers of
// the matrix and four of what is multiplied. Latencies count, and not operations: a block first asks for
// all that it needs, the matrices too, and has it in shared memory.

#include <cuda_runtime_api.h>

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/shared_bytes.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int most = AxisModes::most_along, half = most / 2;
constexpr int each = 4;              ///< rows and columns of a thread
constexpr int groups = most / each;  ///< of rows, or columns
constexpr int threads_of_half = groups * groups / 2, threads_of_plane = groups * groups;

/// Places of a row in shared memory: whole strips, and rows begin at different banks.
template <class S>
constexpr int wide = most + vector_width<S>;
template <class S>
constexpr int narrow = half + vector_width<S>;

template <class S>
__device__ S* shared_values() {
  extern __shared__ __align__(16) unsigned char shared_of_modes[];
  return reinterpret_cast<S*>(shared_of_modes);
}

template <class S>
struct Four {
  Strip<S> parts[each / vector_width<S>];

  __device__ static Four load_global(S const* source) {
    Four four;
#pragma unroll
    for (int p = 0; p < each / vector_width<S>; ++p)
      four.parts[p] = load_strip(source + p * vector_width<S>);
    return four;
  }
  __device__ static Four load(S const* source) {
    Four four;
#pragma unroll
    for (int p = 0; p < each / vector_width<S>; ++p)
      four.parts[p] = reinterpret_cast<Strip<S> const*>(source)[p];
    return four;
  }
  __device__ void store(S* target) const {
#pragma unroll
    for (int p = 0; p < each / vector_width<S>; ++p)
      reinterpret_cast<Strip<S>*>(target)[p] = parts[p];
  }
  __device__ S& at(int i) { return parts[i / vector_width<S>].at[i % vector_width<S>]; }
  __device__ S at(int i) const { return parts[i / vector_width<S>].at[i % vector_width<S>]; }
};

/// Σ_q matrix_q,row·values_q,column, for the rows and columns behind the given places.
template <class S>
struct Product {
  S at[each][each] = {};

  /// `rows(q)` gives the thread's four of the matrix.
  template <class Rows>
  __device__ Product(Rows const& rows, S const* values, int pitch, int depth) {
#pragma unroll 8
    for (int q = 0; q < depth; ++q) {
      Four<S> const of_rows = rows(q);
      auto const of_columns = Four<S>::load(values + q * pitch);
#pragma unroll
      for (int r = 0; r < each; ++r)
#pragma unroll
        for (int c = 0; c < each; ++c) at[r][c] += of_rows.at(r) * of_columns.at(c);
    }
  }
  /// Rows as rows.
  __device__ void store(S* target, int pitch) const {
#pragma unroll
    for (int r = 0; r < each; ++r) {
      Four<S> four;
#pragma unroll
      for (int c = 0; c < each; ++c) four.at(c) = at[r][c];
      four.store(target + r * pitch);
    }
  }
  /// Columns as rows.
  __device__ void store_turned(S* target, int pitch) const {
#pragma unroll
    for (int c = 0; c < each; ++c) {
      Four<S> four;
#pragma unroll
      for (int r = 0; r < each; ++r) four.at(r) = at[r][c];
      four.store(target + c * pitch);
    }
  }
  template <class Visit>
  __device__ void for_each(int row, int column, Visit const& visit) {
#pragma unroll
    for (int r = 0; r < each; ++r)
#pragma unroll
      for (int c = 0; c < each; ++c) visit(row + r, column + c, at[r][c]);
  }
};

/// Of a matrix in global memory, and of one in shared memory with so many columns.
template <class S>
__device__ auto rows_of(S const* matrix) {
  return [=](int q) { return Four<S>::load_global(matrix + q * most); };
}
template <int columns, class S>
__device__ auto shared_rows_of(S const* matrix) {
  return [=](int q) { return Four<S>::load(matrix + q * columns); };
}

/// A thread's share of `most` rows of so many values, in registers: all is under way before any of it
/// is stored.
template <int columns, int threads, class Value>
struct Share {
  static constexpr int size = most * columns / threads;
  Value values[size];

  template <class Load>
  __device__ explicit Share(Load const& load) {
#pragma unroll
    for (int i = 0; i < size; ++i) {
      int const at = static_cast<int>(threadIdx.x) + i * threads;
      values[i] = load(at / columns, at % columns);
    }
  }
  template <class Store>
  __device__ void give(Store const& store) const {
#pragma unroll
    for (int i = 0; i < size; ++i) {
      int const at = static_cast<int>(threadIdx.x) + i * threads;
      store(at / columns, at % columns, values[i]);
    }
  }
};

/// So many rows and columns of a matrix.
template <int columns, class S>
struct MatrixShare : Share<columns / vector_width<S>, threads_of_half, Strip<S>> {
  static constexpr int width = vector_width<S>;
  __device__ MatrixShare(S const* matrix, int rows)
      : Share<columns / width, threads_of_half, Strip<S>>([&](int row, int strip) {
          return row < rows ? load_strip(matrix + row * most + strip * width) : Strip<S>{};
        }) {}
  __device__ void to(S* shared) const {
    this->give([&](int row, int strip, Strip<S> const& strip_values) {
      reinterpret_cast<Strip<S>*>(shared)[row * (columns / width) + strip] = strip_values;
    });
  }
};

/// A plane of f, and how it is kept: turned, so that rows are those of x.
template <int threads, class S>
__device__ Share<most, threads, S> plane_of(SolveByModes<S> const& solve, int k) {
  auto const& level = solve.level;
  int const n = level.count[0], m = level.count[1];
  return Share<most, threads, S>(
      [&](int j, int i) { return i < n && j < m ? level.f[level.place(i, j, k)] : S{0}; });
}
template <int threads, class S>
__device__ void keep_turned(Share<most, threads, S> const& plane, S* shared) {
  plane.give([&](int j, int i, S value) { shared[i * wide<S> + j] = value; });
}

/// r ← F_x⊗F_y·f of a plane, a half of the modes along x.
template <class S>
__global__ void __launch_bounds__(threads_of_half)
    planes_kernel(__grid_constant__ SolveByModes<S> const solve) {
  S* const plane = shared_values<S>();
  S* const between = plane + most * wide<S>;
  S* const along_x = between + most * narrow<S>;
  S* const along_y = along_x + most * half;
  auto const& level = solve.level;
  int const n = level.count[0], m = level.count[1], k = static_cast<int>(blockIdx.y);
  int const first = static_cast<int>(blockIdx.x) * half, t = static_cast<int>(threadIdx.x);
  auto const right = plane_of<threads_of_half>(solve, k);
  MatrixShare<half, S> const of_x(solve.modes.forward[0] + first, n);
  MatrixShare<most, S> const of_y(solve.modes.forward[1], m);
  keep_turned(right, plane);
  of_x.to(along_x);
  of_y.to(along_y);
  __syncthreads();
  {
    int const mode = each * (t % (groups / 2)), j = each * (t / (groups / 2));
    Product<S>(shared_rows_of<half>(along_x + mode), plane + j, wide<S>, n)
        .store_turned(between + j * narrow<S> + mode, narrow<S>);
  }
  __syncthreads();
  int const row = each * (t % groups), column = each * (t / groups);
  Product<S>(shared_rows_of<most>(along_y + row), between + column, narrow<S>, m)
      .for_each(row, first + column, [&](int y, int x, S value) {
        if (x < n && y < m) level.r[level.point(x, y, k)] = value;
      });
}

/// r ← B_z·(Λ_x + Λ_y + Λ_z + κ)⁻¹·F_z·r of columns.
template <class S>
__global__ void __launch_bounds__(threads_of_half)
    columns_kernel(__grid_constant__ SolveByModes<S> const solve) {
  S* const values = shared_values<S>();
  S* const between = values + most * narrow<S>;
  S* const forward = between + most * narrow<S>;
  S* const backward = forward + most * most;
  auto const& level = solve.level;
  auto const& eigenvalues = solve.modes.eigenvalues;
  int const n = level.count[0], p = level.count[2], all = n * level.count[1];
  int const first = static_cast<int>(blockIdx.x) * half, t = static_cast<int>(threadIdx.x);
  Share<half, threads_of_half, S> const right([&](int k, int column) {
    return k < p && first + column < all ? level.r[k * all + first + column] : S{0};
  });
  MatrixShare<most, S> const there(solve.modes.forward[2], p), back(solve.modes.backward[2], p);
  right.give([&](int k, int column, S value) { values[k * narrow<S> + column] = value; });
  there.to(forward);
  back.to(backward);
  __syncthreads();
  int const row = each * (t % groups), column = each * (t / groups);
  Product<S> of_modes(shared_rows_of<most>(forward + row), values + column, narrow<S>, p);
  of_modes.for_each(row, first + column, [&](int z, int at, S& value) {
    if (z < p && at < all)
      value *= reciprocal(eigenvalues[0][at % n], eigenvalues[1][at / n], eigenvalues[2][z],
                          level.reaction);
  });
  of_modes.store(between + row * narrow<S> + column, narrow<S>);
  __syncthreads();
  Product<S>(shared_rows_of<most>(backward + row), between + column, narrow<S>, p)
      .for_each(row, first + column, [&](int k, int at, S value) {
        if (k < p && at < all) level.r[k * all + at] = value;
      });
}

/// u ← B_x⊗B_y·r of half a plane.
template <class S>
__global__ void __launch_bounds__(threads_of_half)
    planes_back_kernel(__grid_constant__ SolveByModes<S> const solve) {
  S* const plane = shared_values<S>();
  S* const between = plane + most * wide<S>;
  S* const along_y = between + most * narrow<S>;
  S* const along_x = along_y + most * half;
  auto const& level = solve.level;
  int const n = level.count[0], m = level.count[1], k = static_cast<int>(blockIdx.y);
  int const first = static_cast<int>(blockIdx.x) * half, t = static_cast<int>(threadIdx.x);
  Share<most, threads_of_half, S> const found(
      [&](int y, int x) { return x < n && y < m ? level.r[level.point(x, y, k)] : S{0}; });
  MatrixShare<half, S> const of_y(solve.modes.backward[1] + first, m);
  MatrixShare<most, S> const of_x(solve.modes.backward[0], n);
  found.give([&](int y, int x, S value) { plane[y * wide<S> + x] = value; });
  of_y.to(along_y);
  of_x.to(along_x);
  __syncthreads();
  {
    int const j = each * (t % (groups / 2)), x = each * (t / (groups / 2));
    Product<S>(shared_rows_of<half>(along_y + j), plane + x, wide<S>, m)
        .store_turned(between + x * narrow<S> + j, narrow<S>);
  }
  __syncthreads();
  int const row = each * (t % groups), column = each * (t / groups);
  Product<S>(shared_rows_of<most>(along_x + row), between + column, narrow<S>, n)
      .for_each(row, first + column, [&](int i, int j, S value) {
        if (i < n && j < m) level.u[level.place(i, j, k)] = value;
      });
}

/// All of it, of a level that is a plane.
template <class S>
__global__ void __launch_bounds__(threads_of_plane)
    plane_kernel(__grid_constant__ SolveByModes<S> const solve) {
  S* const plane = shared_values<S>();
  S* const between = plane + most * wide<S>;
  auto const& level = solve.level;
  auto const &forward = solve.modes.forward, &backward = solve.modes.backward,
             &eigenvalues = solve.modes.eigenvalues;
  int const n = level.count[0], m = level.count[1], t = static_cast<int>(threadIdx.x);
  int const row = each * (t % groups), column = each * (t / groups);
  keep_turned(plane_of<threads_of_plane>(solve, 0), plane);
  __syncthreads();
  Product<S>(rows_of(forward[0] + row), plane + column, wide<S>, n)
      .store_turned(between + column * wide<S> + row, wide<S>);
  __syncthreads();
  Product<S> of_modes(rows_of(forward[1] + row), between + column, wide<S>, m);
  of_modes.for_each(row, column, [&](int y, int x, S& value) {
    if (x < n && y < m)
      value *= reciprocal(eigenvalues[0][x], eigenvalues[1][y], eigenvalues[2][0], level.reaction);
  });
  of_modes.store(plane + row * wide<S> + column, wide<S>);
  __syncthreads();
  Product<S>(rows_of(backward[1] + row), plane + column, wide<S>, m)
      .store_turned(between + column * wide<S> + row, wide<S>);
  __syncthreads();
  Product<S>(rows_of(backward[0] + row), between + column, wide<S>, n)
      .for_each(row, column, [&](int i, int j, S value) {
        if (i < n && j < m) level.u[level.place(i, j, 0)] = value;
      });
}

}  // namespace

template <class S>
void march(Stream& stream, SolveByModes<S> const& solve) {
  auto const launch = [&](auto* kernel, dim3 grid, int threads, int places) {
    int const bytes = places * static_cast<int>(sizeof(S));
    allow_shared_bytes(kernel, static_cast<std::size_t>(bytes));
    kernel<<<grid, threads, bytes, native(stream)>>>(solve);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid modes");
  };
  auto const& count = solve.level.count;
  if (count[2] == 1) return launch(plane_kernel<S>, 1, threads_of_plane, 2 * most * wide<S>);
  auto const planes = static_cast<unsigned>(count[2]);
  constexpr int of_planes = most * (wide<S> + narrow<S> + half + most),
                of_columns = 2 * most * (narrow<S> + most);
  static_assert(of_planes * sizeof(S) <= modes_bytes<S> &&
                of_columns * sizeof(S) <= modes_bytes<S>);
  launch(planes_kernel<S>, {blocks_for(count[0], half), planes}, threads_of_half, of_planes);
  launch(columns_kernel<S>, blocks_for(count[0] * count[1], half), threads_of_half, of_columns);
  launch(planes_back_kernel<S>, {blocks_for(count[1], half), planes}, threads_of_half, of_planes);
}

template void march(Stream&, SolveByModes<float> const&);
template void march(Stream&, SolveByModes<double> const&);

}  // namespace gridstride::multigrid
