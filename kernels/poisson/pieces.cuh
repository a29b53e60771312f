#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/poisson/point.hpp"
#include "kernels/support/collectives.cuh"
#include "kernels/support/launch.cuh"

/// Points of the grid on the GPU. For the family's own files only.
namespace gridstride::poisson {

inline constexpr int threads = 256;
inline constexpr std::int64_t most_blocks = 2048;

inline unsigned blocks_of(Pieces const& pieces) {
  return static_cast<unsigned>(std::min(pieces.count, most_blocks));
}

/// Calls `visit(at)` for the points of the block's pieces, each by one thread.
template <class T, class Visit>
__device__ void for_each_point(Operator<T> const& a, Visit const& visit) {
  Pieces const pieces = Pieces::of(a);
  for (std::int64_t piece = blockIdx.x; piece < pieces.count; piece += gridDim.x) {
    std::int64_t at[3];
    std::int64_t const end = pieces.place(a, piece, at);
    for (at[0] += threadIdx.x; at[0] < end; at[0] += threads) visit(at);
  }
}

/// The same for the points of the part that a block has among this rank's.
template <class T, class Visit>
__device__ void for_each_point_of(Operator<T> const& a, Parts const& parts, Visit const& visit) {
  Pieces const pieces = Pieces::of(a);
  auto const [first, last] = parts.range(parts.first + blockIdx.x);
  for (std::int64_t piece = first; piece < last; ++piece) {
    std::int64_t at[3];
    std::int64_t const end = pieces.place(a, piece, at);
    for (at[0] += threadIdx.x; at[0] < end; at[0] += threads) visit(at);
  }
}

/// What every block has left, on the host.
template <class Found, class Launch>
std::vector<Found> found_by_blocks(Stream& stream, unsigned blocks, Launch const& launch) {
  Buffer<Found> device(stream, MemorySpace::device, blocks);
  launch(device.data());
  std::vector<Found> found(blocks);
  copy_async(std::span(found), std::as_const(device).span(), stream);
  stream.synchronize();
  return found;
}

/// The larger of each, as block_reduce wants it.
struct LargerOf {
  __device__ Largest operator()(Largest a, Largest const& b) const {
    raise(a, b);
    return a;
  }
};

/// The largest of what blocks find by `launch(blocks, found)`.
template <class T, class Launch>
Largest largest_of_blocks(Stream& stream, Operator<T> const& a, Launch const& launch) {
  unsigned const blocks = blocks_of(Pieces::of(a));
  Largest all;
  if (blocks == 0) return all;
  for (Largest const& largest :
       found_by_blocks<Largest>(stream, blocks, [&](Largest* found) { launch(blocks, found); }))
    raise(all, largest);
  return all;
}

}  // namespace gridstride::poisson
