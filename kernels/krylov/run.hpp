#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/krylov/state.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/rank_planes.hpp"

/// How passes run, for the family's own files.
namespace gridstride::krylov {

/// The pieces in which vectors are summed: they depend on nothing but the size, and on the planes of
/// the grid whose values a vector has. Of several ranks each has some.
struct Tiles {
  std::int64_t size, length, count;  ///< of the whole vector
  std::int64_t stretch, of_stretch;  ///< elements that tiles lie within, and how many do
  std::int64_t first = 0, own = 0;   ///< those of this process
  std::int64_t shift = 0;            ///< from an element's number to its place in memory

  static Tiles of(std::int64_t size) {
    constexpr std::int64_t least = 2048;
    std::int64_t const length =
        std::max(least * ((size + least * most - 1) / (least * most)), least);
    std::int64_t const count = (size + length - 1) / length;
    return {size, length, count, size, count, 0, count};
  }
  /// Of a vector of so many planes: some tiles for each, or one for some.
  static Tiles of_planes(std::int64_t size, std::int64_t plane) {
    std::int64_t const planes = size / plane, together = planes_together(planes);
    if (together > 1) {
      std::int64_t const count = (planes + together - 1) / together;
      return {size, together * plane, count, together * plane, 1, 0, count};
    }
    Tiles tiles = of(size);
    tiles.length = std::min(tiles.length, plane);
    tiles.stretch = plane;
    tiles.of_stretch = (plane + tiles.length - 1) / tiles.length;
    tiles.own = tiles.count = planes * tiles.of_stretch;
    return tiles;
  }
  /// Planes that a tile takes where there are many; no rank cuts them.
  static std::int64_t planes_together(std::int64_t planes) {
    std::int64_t together = 1;
    while (together * most < planes) together *= 2;
    return together;
  }
  /// How many tiles such a number of planes has.
  std::int64_t of_first(std::int64_t planes, std::int64_t plane) const {
    return (planes * plane + stretch - 1) / stretch * of_stretch;
  }

  /// Places in memory.
  GRIDSTRIDE_HOST_DEVICE std::int64_t begin(std::int64_t tile) const {
    return tile / of_stretch * stretch + tile % of_stretch * length + shift;
  }
  GRIDSTRIDE_HOST_DEVICE std::int64_t end(std::int64_t tile) const {
    std::int64_t const here = begin(tile) - shift, next = (tile / of_stretch + 1) * stretch;
    std::int64_t const last = here + length < next ? here + length : next;
    return (last < size ? last : size) + shift;
  }

 private:
  static constexpr std::int64_t most = 4096;
};

/// The sums that most passes take at most.
inline constexpr int most_sums = 8;

/// What passes work with: the state and memory for the tiles' sums, on the stream's device.
class Scratch {
 public:
  Scratch(Stream& stream, std::int64_t size) : Scratch(stream, Tiles::of(size), nullptr, 0) {}
  /// Of vectors that are cut into planes, which ranks may share.
  Scratch(Stream& stream, Tiles tiles, RankPlanes* ranks, std::int64_t plane)
      : stream_(stream),
        tiles_(tiles),
        ranks_(ranks),
        state_(stream, MemorySpace::device, 1),
        home_(stream, MemorySpace::pinned, 1),
        sums_(stream, MemorySpace::device, static_cast<std::size_t>(most_sums * tiles_.count)) {
    if (ranks == nullptr) return;
    cuts_ = ranks->cuts_of([&](std::int64_t planes) { return tiles.of_first(planes, plane); });
    tiles_.first = tiles.of_first(ranks->lower(), plane);
    tiles_.own = tiles.of_first(ranks->upper(), plane) - tiles_.first;
    tiles_.shift = (1 - ranks->lower()) * plane;
  }

  RankPlanes* ranks() const { return ranks_; }
  /// Of several ranks, queues that each has the sums of all.
  void share(int sets) { ranks_->share(stream_, sums_.data(), sets, cuts_); }
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
  RankPlanes* ranks_;
  RankCuts cuts_;
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
  parallel_for(tiles.own, 8 * tiles.length, [&](std::int64_t number) {
    std::int64_t const tile = tiles.first + number, last = tiles.end(tile);
    double own[Pass::sums + 1] = {};
    for (std::int64_t i = tiles.begin(tile); i < last; ++i) pass.each(factors, i, own);
    for (int s = 0; s < Pass::sums; ++s) sums[s * tiles.count + tile] = own[s];
  });
  if constexpr (requires { pass.finish(sums, state); }) {
    if (scratch.ranks() != nullptr) scratch.share(Pass::sums);
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
