// The kernel `pair`: two passes, the second some slabs behind the first, so that what the first one
// writes is read before it has left the second level of cache for memory. For NVRTC, which finds the
// steps of blocks.cuh before this, in namespaces `first` and `second`, of as many threads.
//
// A block has a tile of either pass, some of the lines of a slab. Those of the second pass have numbers
// after all that they wait for, and so have those of the first that write where the second has read:
// blocks begin in the order of their numbers, so that who waits, waits for blocks that run or are
// done. What is done does not depend on who waits, and neither do the bits.

namespace gridstride::fft {

/// By one thread, whose block goes on when it does.
__device__ __forceinline__ void await(unsigned const* done, unsigned tiles) {
  while (*static_cast<unsigned const volatile*>(done) < tiles) __nanosleep(40);
  __threadfence();
}
__device__ __forceinline__ void report(unsigned* done) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  atomicAdd(done, 1U);
}

constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int pair_registers =
    larger(96, larger(first::thread_registers(), second::thread_registers()));
constexpr int pair_blocks = larger(1, 65536 / (32 * ((first::threads + 31) / 32) * pair_registers));

extern "C" __global__ void __launch_bounds__(first::threads, pair_blocks)
    pair(__grid_constant__ LineWork<Real> const one, __grid_constant__ LineWork<Real> const two,
         __grid_constant__ Slabs const slabs) {
  static_assert(first::threads == second::threads);
  extern __shared__ __align__(16) unsigned char memory[];
  unsigned const both = slabs.first_tiles + slabs.second_tiles;
  unsigned const round = blockIdx.x / both, place = blockIdx.x - round * both;
  // Tiles of the first pass before this place.
  unsigned const before =
      slabs.mixes ? place * slabs.first_tiles / both : min(place, slabs.first_tiles);
  bool const is_first =
      slabs.mixes ? (place + 1) * slabs.first_tiles / both > before : place < slabs.first_tiles;
  if (is_first ? round >= slabs.count : round < slabs.lag) return;
  unsigned const slab = is_first ? round : round - slabs.lag;
  unsigned* const first_done = slabs.counters;
  unsigned* const second_done = first_done + slabs.count;
  bool const has_ring = slabs.ring > 0;
  if (!is_first || (has_ring && slab >= slabs.ring)) {
    if (threadIdx.x == 0)
      await(is_first ? second_done + slab - slabs.ring : first_done + slab,
            is_first ? slabs.second_tiles : slabs.first_tiles);
    __syncthreads();
  }
  long long const between = (has_ring ? slab % slabs.ring : slab) * slabs.between;
  long long const left = slabs.size - slab * slabs.each;
  if (is_first)
    first::run_lines<true>(one, memory, static_cast<long long>(before) * first::block_lines,
                           {slab * slabs.first_in, between, left});
  else
    second::run_lines<true>(two, memory,
                            static_cast<long long>(place - before) * second::block_lines,
                            {between, slab * slabs.second_out, left});
  if (is_first)
    report(first_done + slab);
  else if (has_ring)
    report(second_done + slab);
}

}  // namespace gridstride::fft
