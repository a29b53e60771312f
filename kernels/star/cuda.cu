// Steps of waves on the GPU, as a ladder. Every rung must read u at two moments and write it once:
// 3·sizeof(T) bytes a point, 4·sizeof(T) with a field of speeds. Radius r in d dimensions costs
// 3·d·r + 4 operations a point, at most 40 for 12 bytes in float32, where a GPU has time for about
// 80: memory is the roof. What separates the rungs is how often a value is fetched again, and from
// where: each is needed by 2·d·r + 1 points.
//
//   naive           One thread per point reads all its neighbours. The caches turn the repeated
//                   reads into hits, but each costs a load instruction and 4 bytes of L1's rate.
//   register_queue  A warp owns 32 vectors of 16 bytes along x and walks along the last axis. The
//                   2r + 1 lines within reach live in registers. In a file of its own:
//                   cuda_register_queue.cu.
//   temporal        Several steps of a plane in one pass: 4·sizeof(T) bytes for all of them. In a
//                   file of its own: cuda_temporal_plane.cu.
//
// A tile in shared memory was slower than `naive`, whose loads hit L1. Beyond the sides of the grid
// the array goes on by a map of indices (`neighbour`), for the points near a side.
//
// Beside the ladder: the energy, a block for each piece of the array, and point sources, a thread
// for each point that has some.

#include <cuda_runtime_api.h>

#include <stdexcept>

#include "kernels/star/rows.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

namespace gridstride::star {

namespace {

/// Points of a block's tile along each axis; each has a thread.
template <int dims>
GRIDSTRIDE_HOST_DEVICE constexpr int3 tile_of() {
  return dims == 1 ? int3{256, 1, 1} : dims == 2 ? int3{32, 16, 1} : int3{32, 4, 4};
}

/// The tiles of a grid, numbered in one dimension, x fastest, so that no axis meets the limit of
/// 65,535 blocks; in 32 bits, for a 64-bit division costs more than a point.
template <int dims>
struct Tiles {
  unsigned along[3];

  explicit Tiles(long long const (&points)[3]) {
    constexpr int3 tile = tile_of<dims>();
    int const size[3] = {tile.x, tile.y, tile.z};
    for (int axis = 0; axis < 3; ++axis)
      along[axis] = static_cast<unsigned>((points[axis] + size[axis] - 1) / size[axis]);
  }
  unsigned blocks() const {
    auto const count = static_cast<unsigned long long>(along[0]) * along[1] * along[2];
    if (count > 2147483647) throw std::invalid_argument("star: the grid needs too many blocks");
    return static_cast<unsigned>(count);
  }
  /// The point of the calling thread; it may lie outside of the grid.
  __device__ void place(long long (&at)[3]) const {
    constexpr int3 tile = tile_of<dims>();
    at[0] = static_cast<long long>(blockIdx.x % along[0]) * tile.x + threadIdx.x;
    at[1] = static_cast<long long>(blockIdx.x / along[0] % along[1]) * tile.y + threadIdx.y;
    at[2] = static_cast<long long>(blockIdx.x / along[0] / along[1]) * tile.z + threadIdx.z;
  }
};

template <int dims, class Kernel, class T>
void launch_tiles(Stream& stream, Kernel kernel, LeapfrogArguments<T> const& arguments) {
  constexpr int3 tile = tile_of<dims>();
  Tiles<dims> const tiles(arguments.points);
  kernel<<<tiles.blocks(), dim3(tile.x, tile.y, tile.z), 0, native(stream)>>>(arguments, tiles);
}

// ---------------------------------------------------------------------------------------- naive

template <int dims, int radius, class T>
__global__ void naive_kernel(__grid_constant__ LeapfrogArguments<T> const a,
                             __grid_constant__ Tiles<dims> const tiles) {
  long long at[3];
  tiles.place(at);
  if (at[0] >= a.points[0] || at[1] >= a.points[1] || at[2] >= a.points[2]) return;
  a.out[at[0] + a.points[0] * (at[1] + a.points[1] * at[2])] =
      update_point<dims, radius>(a, at[0], at[1], at[2]);
}

// --------------------------------------------------------------------------------------- energy

template <int dims, int radius, class T>
__global__ void __launch_bounds__(energy_threads)
    energy_kernel(__grid_constant__ EnergyArguments<T> const a, long long begin, long long size,
                  double* parts) {
  __shared__ double shared[energy_threads / warp_size];
  long long const first = begin + blockIdx.x * energy_piece;
  long long const next = first + energy_piece, last = begin + size;
  long long const end = next < last ? next : last;
  double sum = 0;
  for (long long offset = first + threadIdx.x; offset < end; offset += energy_threads)
    sum += energy_of_point<dims, radius>(a, offset);
  sum = block_reduce<energy_threads>(
      sum, [](double a, double b) { return a + b; }, shared);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

template <int dims, int radius, class T>
__global__ void __launch_bounds__(energy_threads)
    shares_kernel(__grid_constant__ EnergyArguments<T> const a,
                  __grid_constant__ PointsOfGrid const points, double* shares) {
  auto const& [first, count] = points;
  long long const n = blockIdx.x * static_cast<long long>(energy_threads) + threadIdx.x;
  if (n >= count[0] * count[1] * count[2]) return;
  long long const i = first[0] + n % count[0], j = first[1] + n / count[0] % count[1],
                  k = first[2] + n / count[0] / count[1];
  shares[n] = energy_of_point<dims, radius>(a, i + a.state.points[0] * (j + a.state.points[1] * k));
}

// -------------------------------------------------------------------------------- point sources

template <class T>
__global__ void ricker_kernel(RickerTerm const* terms, long long count,
                              evaluate::DeviceClock const* clock, double factor,
                              double damping_time, T* out) {
  long long const n = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (n < count) add_terms(terms, count, n, clock->time(0), factor, damping_time, out);
}

}  // namespace

template <class T>
void cuda_naive(Stream& stream, int dims, int radius, LeapfrogArguments<T> const& arguments) {
  with_shape(dims, radius, [&](auto rank, auto reach) {
    launch_tiles<rank()>(stream, naive_kernel<rank(), reach(), T>, arguments);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "star naive");
  });
}

template <class T>
void cuda_energy(Stream& stream, int dims, int radius, EnergyArguments<T> const& arguments,
                 PointsInOrder const& points, std::span<double> sums) {
  if (sums.size() > 2147483647) throw std::invalid_argument("star: too many points for an energy");
  if (sums.empty()) return;
  with_shape(dims, radius, [&](auto rank, auto reach) {
    energy_kernel<rank(), reach(), T>
        <<<static_cast<unsigned>(sums.size()), energy_threads, 0, native(stream)>>>(
            arguments, points.first, points.count, sums.data());
    GRIDSTRIDE_CHECK_LAUNCH(stream, "star energy");
  });
}

template <class T>
void cuda_energy_shares(Stream& stream, int dims, int radius, EnergyArguments<T> const& arguments,
                        PointsOfGrid const& points, double* shares) {
  auto const& count = points.count;
  std::int64_t const all = count[0] * count[1] * count[2];
  if (all == 0) return;
  with_shape(dims, radius, [&](auto rank, auto reach) {
    shares_kernel<rank(), reach(), T>
        <<<blocks_for(all, energy_threads), energy_threads, 0, native(stream)>>>(arguments, points,
                                                                                 shares);
    GRIDSTRIDE_CHECK_LAUNCH(stream, "star energy shares");
  });
}

template <class T>
void cuda_ricker(Stream& stream, std::span<RickerTerm const> terms,
                 evaluate::DeviceClock const* clock, double factor, double damping_time, T* out) {
  auto const count = static_cast<long long>(terms.size());
  constexpr int threads = 128;
  ricker_kernel<<<blocks_for(count, threads), threads, 0, native(stream)>>>(
      terms.data(), count, clock, factor, damping_time, out);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "star ricker");
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                               \
  template void cuda_naive(Stream&, int, int, LeapfrogArguments<T> const&);                     \
  template void cuda_energy(Stream&, int, int, EnergyArguments<T> const&, PointsInOrder const&, \
                            std::span<double>);                                                 \
  template void cuda_energy_shares(Stream&, int, int, EnergyArguments<T> const&,                \
                                   PointsOfGrid const&, double*);                               \
  template void cuda_ricker(Stream&, std::span<RickerTerm const>, evaluate::DeviceClock const*, \
                            double, double, T*);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::star
