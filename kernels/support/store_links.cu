// Messages that kernels store into the memory of another GPU. Threads copy words of the largest size
// that all pieces allow; the last block to end says that all is there, by a number that grows from
// message to message. Who takes it waits for that number, with a thread of each block.

#include <algorithm>

#include "kernels/support/flags.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/store_links.hpp"

namespace gridstride {

namespace {

constexpr int threads = 256;

template <class Word>
__device__ void copy_pieces(StoredPieces const& all) {
  for (int p = 0; p < all.count; ++p) {
    auto const [from, to, bytes] = all.pieces[p];
    std::size_t const words = bytes / sizeof(Word), stride = std::size_t{gridDim.x} * threads;
    for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < words; i += stride)
      reinterpret_cast<Word*>(to)[i] = __ldcv(reinterpret_cast<Word const*>(from) + i);
  }
}

template <class Word>
__global__ void __launch_bounds__(threads)
    put_kernel(__grid_constant__ StoredPieces const pieces, std::uint64_t* flag,
               std::uint64_t number, unsigned* ticket) {
  copy_pieces<Word>(pieces);
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (gridDim.x > 1) {
    if (atomicAdd(ticket, 1) + 1 < gridDim.x) return;
    *ticket = 0;
    __threadfence_system();
  }
  store_release(flag, number);
}

template <class Word>
__global__ void __launch_bounds__(threads)
    take_kernel(__grid_constant__ StoredPieces const pieces,
                __grid_constant__ AwaitedFlags const awaited) {
  int const thread = static_cast<int>(threadIdx.x);
  if (thread < awaited.count) {
    std::uint64_t const begin = nanoseconds();
    while (load_acquire(awaited.flags[thread]) < awaited.numbers[thread])
      if (awaited.patience != 0 && nanoseconds() - begin > awaited.patience) break;
  }
  __syncthreads();
  copy_pieces<Word>(pieces);
}

/// Calls `launch` with a word and a number of blocks. More blocks than that would not be faster over
/// NVLink, and leave less to kernels beside them.
template <class Launch>
void with_word(StoredPieces const& all, Launch const& launch) {
  constexpr unsigned most_blocks = 48;
  std::uintptr_t bits = 0;
  std::size_t bytes = 0;
  for (int i = 0; i < all.count; ++i) {
    auto const& piece = all.pieces[i];
    bits |= reinterpret_cast<std::uintptr_t>(piece.from) |
            reinterpret_cast<std::uintptr_t>(piece.to) | piece.bytes;
    bytes += piece.bytes;
  }
  auto const with = [&](auto word) {
    auto const words = static_cast<std::int64_t>(bytes / sizeof(word));
    launch(word, std::clamp(blocks_for(words, 2 * threads), 1u, most_blocks));
  };
  if (bits % sizeof(uint4) == 0)
    with(uint4{});
  else if (bits % sizeof(unsigned) == 0)
    with(0u);
  else
    with(static_cast<unsigned char>(0));
}

}  // namespace

void cuda_put(Stream& stream, StoredPieces const& pieces, std::uint64_t* flag,
              std::uint64_t number) {
  unsigned* const ticket = stream.scratch().ticket;
  with_word(pieces, [&](auto word, unsigned blocks) {
    put_kernel<decltype(word)>
        <<<blocks, threads, 0, native(stream)>>>(pieces, flag, number, ticket);
  });
  GRIDSTRIDE_CHECK_LAUNCH(stream, "put_kernel");
}

void cuda_take(Stream& stream, StoredPieces const& pieces, AwaitedFlags const& awaited) {
  with_word(pieces, [&](auto word, unsigned blocks) {
    take_kernel<decltype(word)><<<blocks, threads, 0, native(stream)>>>(pieces, awaited);
  });
  GRIDSTRIDE_CHECK_LAUNCH(stream, "take_kernel");
}

}  // namespace gridstride
