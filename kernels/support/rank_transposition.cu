// What a transposition between ranks needs of a GPU: rows by the copy engines, which leave the
// multiprocessors to what is made meanwhile; those that stay by a kernel, which takes half the time
// of a copy engine within one memory; and flags. Who sends says after its copies, in the
// memory of the one who waits, how many pieces it has sent; one block waits until all others have.

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/support/flags.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/rank_transposition.hpp"

namespace gridstride {

namespace {

constexpr int copying_threads = 256, words_of_thread = 4;

/// A row of blocks for each row.
template <class Word>
__global__ void __launch_bounds__(copying_threads)
    copy_rows_kernel(__grid_constant__ CopiedRows const copy) {
  std::size_t const count = copy.width / sizeof(Word);
  std::size_t const first =
      std::size_t{blockIdx.x} * copying_threads * words_of_thread + threadIdx.x;
  for (std::size_t number = blockIdx.y; number < copy.rows * copy.planes; number += gridDim.y) {
    std::size_t const plane = number / copy.rows, row = number % copy.rows;
    auto const* const from = reinterpret_cast<Word const*>(copy.from_row(plane, row));
    auto* const to = reinterpret_cast<Word*>(copy.to_row(plane, row));
    Word words[words_of_thread];
#pragma unroll
    for (int i = 0; i < words_of_thread; ++i)
      if (first + i * copying_threads < count) words[i] = from[first + i * copying_threads];
#pragma unroll
    for (int i = 0; i < words_of_thread; ++i)
      if (first + i * copying_threads < count) to[first + i * copying_threads] = words[i];
  }
}

/// Rows that are shorter than what a block copies: its threads have words one after the other, of as many
/// rows as that takes, so that what lies side by side goes in whole lines of memory.
template <class Word, class Index>
__global__ void __launch_bounds__(copying_threads)
    copy_thin_rows_kernel(__grid_constant__ CopiedRows const copy) {
  Index const width = static_cast<Index>(copy.width / sizeof(Word)),
              rows = static_cast<Index>(copy.rows),
              count = width * rows * static_cast<Index>(copy.planes);
  Index const first = Index{blockIdx.x} * copying_threads * words_of_thread + threadIdx.x;
  Word words[words_of_thread];
  auto const at = [&](int i) { return first + static_cast<Index>(i) * copying_threads; };
#pragma unroll
  for (int i = 0; i < words_of_thread; ++i)
    if (Index const row = at(i) / width; at(i) < count)
      words[i] =
          reinterpret_cast<Word const*>(copy.from_row(row / rows, row % rows))[at(i) % width];
#pragma unroll
  for (int i = 0; i < words_of_thread; ++i)
    if (Index const row = at(i) / width; at(i) < count)
      reinterpret_cast<Word*>(copy.to_row(row / rows, row % rows))[at(i) % width] = words[i];
}

template <class Word>
void copy_thin_rows(Stream& stream, CopiedRows const& copy) {
  constexpr std::size_t most_of_index = std::size_t{1} << 31;
  std::size_t const count = copy.width / sizeof(Word) * copy.rows * copy.planes;
  auto* const kernel = count < most_of_index ? copy_thin_rows_kernel<Word, unsigned>
                                             : copy_thin_rows_kernel<Word, std::size_t>;
  auto const blocks =
      blocks_for(static_cast<std::int64_t>(count), copying_threads * words_of_thread);
  kernel<<<blocks, copying_threads, 0, native(stream)>>>(copy);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "copy_thin_rows_kernel");
}

template <class Word>
void copy_by_words(Stream& stream, CopiedRows const& copy) {
  constexpr std::size_t most_rows = 65535;
  if (copy.width / sizeof(Word) < copying_threads * words_of_thread)
    return copy_thin_rows<Word>(stream, copy);
  dim3 const blocks(blocks_for(static_cast<std::int64_t>(copy.width / sizeof(Word)),
                               copying_threads * words_of_thread),
                    static_cast<unsigned>(std::min(copy.rows * copy.planes, most_rows)));
  copy_rows_kernel<Word><<<blocks, copying_threads, 0, native(stream)>>>(copy);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "copy_rows_kernel");
}

__global__ void set_flag_kernel(std::uint64_t* flag, std::uint64_t number) {
  __threadfence_system();
  store_release(flag, number);
}

__global__ void __launch_bounds__(PeerBoxes::most_ranks)
    await_flags_kernel(std::uint64_t const* flags, int own, std::uint64_t number) {
  int const thread = static_cast<int>(threadIdx.x);
  if (thread != own)
    while (load_acquire(flags + thread) < number) {
    }
}

/// All in one copy, where pitches are no larger than one takes.
void copy_planes(Stream& stream, CopiedRows const& copy, std::size_t most_pitch) {
  if (copy.from_pitch > most_pitch || copy.to_pitch > most_pitch) {
    for (std::size_t plane = 0; plane < copy.planes; ++plane)
      cuda_copy_rows(stream, {copy.from_row(plane, 0), copy.from_pitch, copy.to_row(plane, 0),
                              copy.to_pitch, copy.width, copy.rows});
    return;
  }
  cudaMemcpy3DParms all{};
  all.srcPtr = make_cudaPitchedPtr(const_cast<std::byte*>(copy.from), copy.from_pitch, copy.width,
                                   copy.from_plane / copy.from_pitch);
  all.dstPtr =
      make_cudaPitchedPtr(copy.to, copy.to_pitch, copy.width, copy.to_plane / copy.to_pitch);
  all.extent = make_cudaExtent(copy.width, copy.rows, copy.planes);
  all.kind = cudaMemcpyDefault;
  GRIDSTRIDE_CUDA(cudaMemcpy3DAsync(&all, native(stream)));
}

}  // namespace

void cuda_copy_rows(Stream& stream, CopiedRows const& copy) {
  constexpr std::size_t most_pitch = 0x7fffffff;
  if (copy.width == 0 || copy.rows == 0 || copy.planes == 0) return;
  if (copy.planes > 1) return copy_planes(stream, copy, most_pitch);
  if (copy.from_pitch <= most_pitch && copy.to_pitch <= most_pitch) {
    GRIDSTRIDE_CUDA(cudaMemcpy2DAsync(copy.to, copy.to_pitch, copy.from, copy.from_pitch,
                                      copy.width, copy.rows, cudaMemcpyDefault, native(stream)));
    return;
  }
  for (std::size_t row = 0; row < copy.rows; ++row)
    GRIDSTRIDE_CUDA(cudaMemcpyAsync(copy.to + row * copy.to_pitch,
                                    copy.from + row * copy.from_pitch, copy.width,
                                    cudaMemcpyDefault, native(stream)));
}

void cuda_copy_own_rows(Stream& stream, CopiedRows const& copy) {
  if (copy.width == 0 || copy.rows == 0 || copy.planes == 0) return;
  auto const all = reinterpret_cast<std::uintptr_t>(copy.from) |
                   reinterpret_cast<std::uintptr_t>(copy.to) | copy.from_pitch | copy.to_pitch |
                   copy.from_plane | copy.to_plane | copy.width;
  if (all % sizeof(uint4) == 0) return copy_by_words<uint4>(stream, copy);
  if (all % sizeof(double) == 0) return copy_by_words<double>(stream, copy);
  copy_by_words<float>(stream, copy);
}

void cuda_set_flag(Stream& stream, std::uint64_t* flag, std::uint64_t number) {
  set_flag_kernel<<<1, 1, 0, native(stream)>>>(flag, number);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "set_flag_kernel");
}

void cuda_await_flags(Stream& stream, std::uint64_t const* flags, int count, int own,
                      std::uint64_t number) {
  await_flags_kernel<<<1, static_cast<unsigned>(count), 0, native(stream)>>>(flags, own, number);
  GRIDSTRIDE_CHECK_LAUNCH(stream, "await_flags_kernel");
}

}  // namespace gridstride
