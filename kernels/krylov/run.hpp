#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/krylov/state.hpp"
#include "kernels/support/parallel_for.hpp"

/// How passes run, for the family's own files.
namespace gridstride::krylov {

/// The pieces in which vectors are summed: they depend on nothing but the size.
struct Tiles {
  std::int64_t size, length, count;

  static Tiles of(std::int64_t size) {
    constexpr std::int64_t least = 2048, most = 4096;
    std::int64_t const length = least * ((size + least * most - 1) / (least * most));
    return {size, std::max(length, least),
            (size + std::max(length, least) - 1) / std::max(length, least)};
  }
};

/// The sums that most passes take at most.
inline constexpr int most_sums = 8;

/// What passes work with: the state and memory for the tiles' sums, on the stream's device.
class Scratch {
 public:
  Scratch(Stream& stream, std::int64_t size)
      : stream_(stream),
        tiles_(Tiles::of(size)),
        state_(stream, MemorySpace::device, 1),
        home_(stream, MemorySpace::pinned, 1),
        sums_(stream, MemorySpace::device, static_cast<std::size_t>(most_sums * tiles_.count)) {}

  Stream& stream() { return stream_; }
  Tiles const& tiles() const { return tiles_; }
  State* state() { return state_.data(); }
  double* sums() { return sums_.data(); }

  /// The state as it is once all queued work is done; waits.
  State read() {
    copy_async(home_.span(), state_.span(), stream_);
    stream_.synchronize();
    return home_.span()[0];
  }
  /// Queues a new one; waits for what is queued.
  void write(State const& state) {
    stream_.synchronize();
    home_.span()[0] = state;
    copy_async(state_.span(), home_.span(), stream_);
  }

 private:
  Stream& stream_;
  Tiles tiles_;
  Buffer<State> state_, home_;
  Buffer<double> sums_;
};

template <class Pass>
void host_run(Scratch& scratch, Pass const& pass) {
  State& state = *scratch.state();
  if (state.stop != Stop::running) return;
  Tiles const tiles = scratch.tiles();
  auto const factors = pass.begin(state);
  double* const sums = scratch.sums();
  parallel_for(tiles.count, 8 * tiles.length, [&](std::int64_t tile) {
    double own[Pass::sums + 1] = {};
    std::int64_t const last = std::min(tiles.size, (tile + 1) * tiles.length);
    for (std::int64_t i = tile * tiles.length; i < last; ++i) pass.each(factors, i, own);
    for (int s = 0; s < Pass::sums; ++s) sums[s * tiles.count + tile] = own[s];
  });
  if constexpr (requires { pass.finish(sums, state); }) {
    double totals[Pass::sums + 1] = {};
    for (int s = 0; s < Pass::sums; ++s)
      for (std::int64_t tile = 0; tile < tiles.count; ++tile)
        totals[s] += sums[s * tiles.count + tile];
    pass.finish(totals, state);
  }
}

/// What follows of `count` sums in device memory, which are put together in their order.
template <class Finish>
void host_finish(Scratch& scratch, Finish const& finish, double const* sums, std::int64_t count) {
  State& state = *scratch.state();
  if (state.stop != Stop::running) return;
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) total += sums[i];
  finish.finish(&total, state);
}

#ifdef GRIDSTRIDE_WITH_CUDA
/// The same on a GPU, queued.
template <class Pass>
void cuda_run(Scratch& scratch, Pass const& pass);
template <class Finish>
void cuda_finish(Scratch& scratch, Finish const& finish, double const* sums, std::int64_t count);
#endif

template <class Pass>
void run(Scratch& scratch, Pass const& pass) {
  if (scratch.stream().backend() == Backend::cpu) return host_run(scratch, pass);
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_run(scratch, pass);
#endif
}

template <class Finish>
void finish(Scratch& scratch, Finish const& finish, double const* sums, std::int64_t count) {
  if (scratch.stream().backend() == Backend::cpu) return host_finish(scratch, finish, sums, count);
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_finish(scratch, finish, sums, count);
#endif
}

}  // namespace gridstride::krylov
