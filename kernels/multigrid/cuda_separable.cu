// A level of at most 64 unknowns along each axis by the modes of its axes: six products with matrices
// of 64 rows, of which two that follow one another are made by a block, with what is between them in
// shared memory.
//
//   volumes   x and y of a plane; z there and back, with the division between, of 32 columns; y and x
//             back of a plane: three kernels, whose blocks have half a plane each
//   planes    all by one block
//
// A thread has four rows by four columns of a product. Of a step of its sum it loads four numbers of
// the matrix, which lie in caches, and four of what is multiplied, in shared memory.

#include <cuda_runtime_api.h>

#include "kernels/multigrid/columns.cuh"
#include "kernels/multigrid/march.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::multigrid {

namespace {

constexpr int most = AxisModes::most_along, half = most / 2;
constexpr int each = 4;              ///< rows and columns of a thread
constexpr int groups = most / each;  ///< of rows, or columns
constexpr int threads_of_half = groups * groups / 2, threads_of_plane = groups * groups;

/// Places of a row in shared memory: whole strips, and rows of float32 begin at different banks.
template <class S>
constexpr int wide = most + (sizeof(S) == 4 ? 4 : 0);
template <class S>
constexpr int narrow = half + (sizeof(S) == 4 ? 4 : 2);

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

  __device__ Product(S const* matrix, S const* values, int pitch, int depth) {
#pragma unroll 4
    for (int q = 0; q < depth; ++q) {
      auto const of_rows = Four<S>::load_global(matrix + q * most);
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

/// Fills rows of shared memory with what `value(row, column)` gives, and beyond so many with zeros.
template <class S, class Value>
__device__ void fill(S* values, int pitch, int columns, int most_rows, int most_columns,
                     Value const& value) {
  for (int at = static_cast<int>(threadIdx.x); at < most * columns;
       at += static_cast<int>(blockDim.x)) {
    int const row = at / columns, column = at - row * columns;
    values[row * pitch + column] =
        row < most_rows && column < most_columns ? value(row, column) : S{0};
  }
}

/// A plane of f, turned: rows are those of x.
template <class S>
__device__ void fill_turned(SolveByModes<S> const& solve, S* values, int k) {
  auto const& level = solve.level;
  int const n = level.count[0], m = level.count[1];
  for (int at = static_cast<int>(threadIdx.x); at < most * most;
       at += static_cast<int>(blockDim.x)) {
    int const j = at / most, i = at % most;
    values[i * wide<S> + j] = i < n && j < m ? level.f[level.place(i, j, k)] : S{0};
  }
}

/// r ← F_x⊗F_y·f of a plane, a half of the modes along x.
template <class S>
__global__ void __launch_bounds__(threads_of_half)
    planes_kernel(__grid_constant__ SolveByModes<S> const solve) {
  S* const plane = shared_values<S>();
  S* const between = plane + most * wide<S>;
  auto const& level = solve.level;
  int const n = level.count[0], m = level.count[1], k = static_cast<int>(blockIdx.y);
  int const first = static_cast<int>(blockIdx.x) * half, t = static_cast<int>(threadIdx.x);
  fill_turned(solve, plane, k);
  __syncthreads();
  {
    int const mode = each * (t % (groups / 2)), j = each * (t / (groups / 2));
    Product<S>(solve.modes.forward[0] + first + mode, plane + j, wide<S>, n)
        .store_turned(between + j * narrow<S> + mode, narrow<S>);
  }
  __syncthreads();
  int const row = each * (t % groups), column = each * (t / groups);
  Product<S>(solve.modes.forward[1] + row, between + column, narrow<S>, m)
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
  auto const& level = solve.level;
  auto const& eigenvalues = solve.modes.eigenvalues;
  int const n = level.count[0], p = level.count[2], all = n * level.count[1];
  int const first = static_cast<int>(blockIdx.x) * half, t = static_cast<int>(threadIdx.x);
  fill(values, narrow<S>, half, p, all - first,
       [&](int k, int column) { return level.r[std::int64_t{k} * all + first + column]; });
  __syncthreads();
  int const row = each * (t % groups), column = each * (t / groups);
  Product<S> of_modes(solve.modes.forward[2] + row, values + column, narrow<S>, p);
  of_modes.for_each(row, first + column, [&](int z, int at, S& value) {
    if (z < p && at < all)
      value *= reciprocal(eigenvalues[0][at % n], eigenvalues[1][at / n], eigenvalues[2][z],
                          level.reaction);
  });
  of_modes.store(between + row * narrow<S> + column, narrow<S>);
  __syncthreads();
  Product<S>(solve.modes.backward[2] + row, between + column, narrow<S>, p)
      .for_each(row, first + column, [&](int k, int at, S value) {
        if (k < p && at < all) level.r[std::int64_t{k} * all + at] = value;
      });
}

/// u ← B_x⊗B_y·r of half a plane.
template <class S>
__global__ void __launch_bounds__(threads_of_half)
    planes_back_kernel(__grid_constant__ SolveByModes<S> const solve) {
  S* const plane = shared_values<S>();
  S* const between = plane + most * wide<S>;
  auto const& level = solve.level;
  int const n = level.count[0], m = level.count[1], k = static_cast<int>(blockIdx.y);
  int const first = static_cast<int>(blockIdx.x) * half, t = static_cast<int>(threadIdx.x);
  fill(plane, wide<S>, most, m, n, [&](int y, int x) { return level.r[level.point(x, y, k)]; });
  __syncthreads();
  {
    int const j = each * (t % (groups / 2)), x = each * (t / (groups / 2));
    Product<S>(solve.modes.backward[1] + first + j, plane + x, wide<S>, m)
        .store_turned(between + x * narrow<S> + j, narrow<S>);
  }
  __syncthreads();
  int const row = each * (t % groups), column = each * (t / groups);
  Product<S>(solve.modes.backward[0] + row, between + column, narrow<S>, n)
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
  fill_turned(solve, plane, 0);
  __syncthreads();
  Product<S>(forward[0] + row, plane + column, wide<S>, n)
      .store_turned(between + column * wide<S> + row, wide<S>);
  __syncthreads();
  Product<S> of_modes(forward[1] + row, between + column, wide<S>, m);
  of_modes.for_each(row, column, [&](int y, int x, S& value) {
    if (x < n && y < m)
      value *= reciprocal(eigenvalues[0][x], eigenvalues[1][y], eigenvalues[2][0], level.reaction);
  });
  of_modes.store(plane + row * wide<S> + column, wide<S>);
  __syncthreads();
  Product<S>(backward[1] + row, plane + column, wide<S>, m)
      .store_turned(between + column * wide<S> + row, wide<S>);
  __syncthreads();
  Product<S>(backward[0] + row, between + column, wide<S>, n)
      .for_each(row, column, [&](int i, int j, S value) {
        if (i < n && j < m) level.u[level.place(i, j, 0)] = value;
      });
}

}  // namespace

template <class S>
void march(Stream& stream, SolveByModes<S> const& solve) {
  auto const launch = [&](auto* kernel, dim3 grid, int threads, int places) {
    int const bytes = places * static_cast<int>(sizeof(S));
    GRIDSTRIDE_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<grid, threads, bytes, native(stream)>>>(solve);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "multigrid modes");
  };
  auto const& count = solve.level.count;
  if (count[2] == 1) return launch(plane_kernel<S>, 1, threads_of_plane, 2 * most * wide<S>);
  auto const planes = static_cast<unsigned>(count[2]);
  constexpr int of_planes = most * (wide<S> + narrow<S>), of_columns = 2 * most * narrow<S>;
  launch(planes_kernel<S>, {blocks_for(count[0], half), planes}, threads_of_half, of_planes);
  launch(columns_kernel<S>, blocks_for(count[0] * count[1], half), threads_of_half, of_columns);
  launch(planes_back_kernel<S>, {blocks_for(count[1], half), planes}, threads_of_half, of_planes);
}

template void march(Stream&, SolveByModes<float> const&);
template void march(Stream&, SolveByModes<double> const&);

}  // namespace gridstride::multigrid
