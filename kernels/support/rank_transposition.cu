// What a transposition between ranks needs of a GPU: rows by the copy engines, which leave the
// multiprocessors to what is made meanwhile, and flags. Who sends says after its copies, in the
// memory of the one who waits, how many pieces it has sent; one block waits until all others have.

#include <cuda_runtime_api.h>

#include "kernels/support/flags.cuh"
#include "kernels/support/launch.cuh"
#include "kernels/support/rank_transposition.hpp"

namespace gridstride {

namespace {

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

}  // namespace

void cuda_copy_rows(Stream& stream, CopiedRows const& copy) {
  constexpr std::size_t most_pitch = 0x7fffffff;
  if (copy.width == 0 || copy.rows == 0) return;
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
