#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
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

/// What passes work with: for each of some right-hand sides, whose vectors lie one after the other, a
/// state and memory for the tiles' sums, on the stream's device.
class Scratch {
 public:
  Scratch(Stream& stream, std::int64_t size, std::int64_t columns = 1)
      : Scratch(stream, Tiles::of(size), nullptr, 0, columns) {}
  /// Of one right-hand side whose vectors are cut into planes, which ranks may share.
  Scratch(Stream& stream, Tiles tiles, RankPlanes* ranks, std::int64_t plane)
      : Scratch(stream, tiles, ranks, plane, 1) {}

  std::int64_t columns() const { return static_cast<std::int64_t>(state_.size()); }
  /// Calls `work(first, count)` for stretches of right-hand sides that run, as the states tell that were
  /// read or written last. Products of a few more in one go take less than another go.
  template <class Work>
  void for_each_stretch(Work const& work) const {
    constexpr std::int64_t few = 2;
    auto const runs = [&](std::int64_t column) {
      return columns() == 1 || home_.span()[static_cast<std::size_t>(column)].stop == Stop::running;
    };
    std::int64_t first = -1, last = -1;  // of a stretch
    for (std::int64_t column = 0; column < columns(); ++column) {
      if (!runs(column)) continue;
      if (first >= 0 && column - last > few + 1) {
        work(first, last + 1 - first);
        first = -1;
      }
      if (first < 0) first = column;
      last = column;
    }
    if (first >= 0) work(first, last + 1 - first);
  }

  RankPlanes* ranks() const { return ranks_; }
  /// Of several ranks, queues that each has the sums of all.
  void share(int sets) { ranks_->share(stream_, sums_.data(), sets, cuts_); }
  Stream& stream() { return stream_; }
  Tiles const& tiles() const { return tiles_; }
  State* state() { return state_.data(); }
  double* sums() { return sums_.data(); }

  unsigned* tickets() { return tickets_.data(); }

  /// The states as they are once all queued work is done; waits.
  std::span<State const> read() {
    copy_async(home_.span(), state_.span(), stream_);
    stream_.synchronize();
    return home_.span();
  }
  /// Queues new ones; waits for what is queued.
  void write(std::span<State const> states) {
    stream_.synchronize();
    std::copy(states.begin(), states.end(), home_.span().begin());
    copy_async(state_.span(), std::as_const(home_).span(), stream_);
  }
  /// The same of one right-hand side, while all others rest.
  void write(State const& state, std::int64_t column = 0) {
    std::vector<State> states(state_.size(), State{.stop = Stop::resting});
    states[static_cast<std::size_t>(column)] = state;
    write(states);
  }

 private:
  Scratch(Stream& stream, Tiles tiles, RankPlanes* ranks, std::int64_t plane, std::int64_t columns)
      : stream_(stream),
        tiles_(tiles),
        ranks_(ranks),
        state_(stream, MemorySpace::device, static_cast<std::size_t>(columns)),
        home_(stream, MemorySpace::pinned, state_.size()),
        sums_(stream, MemorySpace::device,
              static_cast<std::size_t>(most_sums * tiles_.count * columns)),
        tickets_(stream, MemorySpace::device, state_.size()) {
    zero_async(tickets_.span(), stream);
    if (ranks == nullptr) return;
    cuts_ = ranks->cuts_of([&](std::int64_t planes) { return tiles.of_first(planes, plane); });
    tiles_.first = tiles.of_first(ranks->lower(), plane);
    tiles_.own = tiles.of_first(ranks->upper(), plane) - tiles_.first;
    tiles_.shift = (1 - ranks->lower()) * plane;
  }

  Stream& stream_;
  Tiles tiles_;
  RankPlanes* ranks_;
  RankCuts cuts_;
  Buffer<State> state_, home_;
  Buffer<double> sums_;
  Buffer<unsigned> tickets_;  // of blocks that are done with a right-hand side
};

/// Element i of a vector that begins at `begin`.
template <class Pass, class Factors>
GRIDSTRIDE_HOST_DEVICE void do_element(Pass const& pass, Factors const& factors, std::int64_t begin,
                                       std::int64_t i, double* sums) {
  if constexpr (requires { pass.each(factors, i, i, sums); })
    pass.each(factors, begin + i, i, sums);
  else
    pass.each(factors, begin + i, sums);
}

template <class Pass>
void host_run_column(Scratch& scratch, Pass const& pass, State& state, std::int64_t column) {
  if (state.stop != Stop::running) return;
  Tiles const tiles = scratch.tiles();
  auto const factors = pass.begin(state);
  double* const sums = scratch.sums();
  parallel_for(tiles.own, 8 * tiles.length, [&](std::int64_t number) {
    std::int64_t const tile = tiles.first + number, last = tiles.end(tile);
    double own[Pass::sums + 1] = {};
    for (std::int64_t i = tiles.begin(tile); i < last; ++i)
      do_element(pass, factors, column * tiles.size, i, own);
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

template <class Pass>
void host_run(Scratch& scratch, Pass const& pass, std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; ++column)
    host_run_column(scratch, pass, scratch.state()[scratch.columns() > 1 ? column : 0], column);
}

/// What follows of `count` sums in device memory, which are put together in their order.
template <class Finish>
void host_finish(Scratch& scratch, Finish const& finish, double const* sums, std::int64_t count) {
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) total += sums[i];
  for (std::int64_t column = 0; column < scratch.columns(); ++column)
    if (State& state = scratch.state()[column]; state.stop == Stop::running)
      finish.finish(&total, state);
}

#ifdef GRIDSTRIDE_WITH_CUDA
/// The same on a GPU, queued.
template <class Pass>
void cuda_run(Scratch& scratch, Pass const& pass, std::int64_t columns);
template <class Finish>
void cuda_finish(Scratch& scratch, Finish const& finish, double const* sums, std::int64_t count);
#endif

/// On the vectors of so many right-hand sides. A scratch of one state has it for all of them, in passes
/// without sums.
template <class Pass>
void run(Scratch& scratch, Pass const& pass, std::int64_t columns) {
  if (scratch.stream().backend() == Backend::cpu) return host_run(scratch, pass, columns);
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_run(scratch, pass, columns);
#endif
}

template <class Pass>
void run(Scratch& scratch, Pass const& pass) {
  run(scratch, pass, scratch.columns());
}

template <class Finish>
void finish(Scratch& scratch, Finish const& finish, double const* sums, std::int64_t count) {
  if (scratch.stream().backend() == Backend::cpu) return host_finish(scratch, finish, sums, count);
#ifdef GRIDSTRIDE_WITH_CUDA
  cuda_finish(scratch, finish, sums, count);
#endif
}

}  // namespace gridstride::krylov
