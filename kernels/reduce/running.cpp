#include "kernels/reduce/running.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/reduce/lanes.hpp"
#include "kernels/reduce/running_rows.hpp"
#include "kernels/support/arguments.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::reduce {

template <class Operation>
RunningReduction<Operation>::RunningReduction(Stream const& stream, std::int64_t size,
                                              Stretch const& here, Operation const& operation)
    : operation_(operation),
      size_(size),
      here_(here),
      done_(here.first + head_of(here)),
      partials_(stream, MemorySpace::device, tiles_of(size)),
      pending_(stream, MemorySpace::device, inputs * pending_of(size)),
      head_(stream, MemorySpace::device, inputs * static_cast<std::size_t>(head_of(here))) {}

template <class Operation>
void RunningReduction<Operation>::combine(Stream& stream, T const* x, T const* y,
                                          std::int64_t count) {
  if (count == 0) return;
  Tiles<Operation> const tiles{operation_, x,     y,
                               done_,      count, partials_.data() + done_ / running_tile};
  done_ += count;
  find_tiles(stream, tiles);
}

/// Each input has an equal part of the buffer.
template <class Operation>
void RunningReduction<Operation>::append(Stream& stream, Buffer<T>& kept, std::int64_t at,
                                         std::span<T const> x, std::span<T const> y) {
  auto const place = static_cast<std::size_t>(at);
  copy_async(kept.span().subspan(place, x.size()), x, stream);
  if (Operation::two_inputs)
    copy_async(kept.span().subspan(kept.size() / inputs + place, y.size()), y, stream);
}

template <class Operation>
void RunningReduction<Operation>::keep(Stream& stream, std::span<T const> x, std::span<T const> y) {
  append(stream, pending_, kept_, x, y);
  kept_ += std::ssize(x);
}

template <class Operation>
void RunningReduction<Operation>::add(Stream& stream, std::span<T const> x, std::span<T const> y) {
  if (Operation::two_inputs || !y.empty())
    require_same_size("running reduction", named("x", x), named("y", y));
  if (!Operation::two_inputs && !y.empty())
    throw std::invalid_argument("running reduction: there is no second factor");
  std::int64_t const heads = head_of(here_) - heads_, left = heads + here_.last - done_ - kept_;
  if (std::ssize(x) > left)
    throw std::invalid_argument(
        fmt::format("running reduction: {} elements more than the {} that "
                    "there are",
                    std::ssize(x) - left, here_.last - here_.first));
  auto const take = [&](std::int64_t count) {
    auto const number = static_cast<std::size_t>(count);
    auto const first = std::pair(x.first(number), y.first(Operation::two_inputs ? number : 0));
    x = x.subspan(number);
    y = y.subspan(first.second.size());
    return first;
  };
  if (heads > 0) {
    auto const [head, second] = take(std::min(heads, std::ssize(x)));
    append(stream, head_, heads_, head, second);
    heads_ += std::ssize(head);
  }
  if (kept_ > 0) {
    auto const [head, second] = take(std::min(running_tile - kept_, std::ssize(x)));
    keep(stream, head, second);
    if (kept_ < running_tile) return;
    combine(stream, kept(0), kept(inputs - 1), running_tile);
    kept_ = 0;
  }
  auto const [whole, second] = take(std::ssize(x) / running_tile * running_tile);
  combine(stream, whole.data(), second.data(), std::ssize(whole));
  keep(stream, x, y);
}

/// The rank that has the first element of a tile combines it; those after it have the others.
template <class Operation>
void RunningReduction<Operation>::share(Stream& stream, Ranks& ranks, RankCuts const& cuts) {
  if (heads_ < head_of(here_) || done_ + kept_ != here_.last)
    throw std::logic_error("running reduction: shared before all elements of a rank have come");
  complete_last_tile(stream, ranks, cuts);
  share_partials(stream, ranks, cuts);
  done_ = size_;
}

template <class Operation>
void RunningReduction<Operation>::complete_last_tile(Stream& stream, Ranks& ranks,
                                                     RankCuts const& cuts) {
  RankCuts heads = {0};
  for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank)
    heads.push_back(heads.back() + head_of({cuts[rank], cuts[rank + 1]}));
  auto const own = static_cast<std::size_t>(ranks.rank());
  // Those of later ranks follow each other without a gap as long as they are of the same tile.
  std::int64_t const more = kept_ > 0 ? std::min(running_tile - kept_, size_ - here_.last) : 0;
  for (std::size_t input = 0; input < inputs; ++input) {
    std::vector<T> all(static_cast<std::size_t>(heads.back()));
    std::size_t const size = head_.size() / inputs;
    copy_async(std::span(all).subspan(static_cast<std::size_t>(heads[own]), size),
               std::as_const(head_).span().subspan(input * size, size), stream);
    stream.synchronize();
    share_parts(ranks, std::span(all), heads);
    copy_async(pending_.span().subspan(input * pending_of(size_) + static_cast<std::size_t>(kept_),
                                       static_cast<std::size_t>(more)),
               std::span<T const>(all).subspan(static_cast<std::size_t>(heads[own + 1]),
                                               static_cast<std::size_t>(more)),
               stream);
    stream.synchronize();
  }
  combine(stream, kept(0), kept(inputs - 1), std::exchange(kept_, 0) + more);
}

template <class Operation>
void RunningReduction<Operation>::share_partials(Stream& stream, Ranks& ranks,
                                                 RankCuts const& cuts) {
  RankCuts tiles;
  for (std::int64_t const cut : cuts) tiles.push_back(static_cast<std::int64_t>(tiles_of(cut)));
  auto const own = static_cast<std::size_t>(ranks.rank());
  auto const first = static_cast<std::size_t>(tiles[own]);
  std::size_t const count = static_cast<std::size_t>(tiles[own + 1]) - first;
  std::vector<Value> all(partials_.size());
  copy_async(std::span(all).subspan(first, count),
             std::as_const(partials_).span().subspan(first, count), stream);
  stream.synchronize();
  share_parts(ranks, std::span(all), tiles);
  copy_async(partials_.span(), std::span<Value const>(all), stream);
  stream.synchronize();
}

template <class Operation>
void RunningReduction<Operation>::finish(Stream& stream, std::span<Value> result) {
  if (done_ + kept_ != size_)
    throw std::logic_error(
        fmt::format("running reduction: {} of {} elements have come", done_ + kept_, size_));
  require_size("running reduction", named("result", result), 1);
  combine(stream, kept(0), kept(inputs - 1), std::exchange(kept_, 0));
  auto const count = std::ssize(partials_.span());
  combine_tiles(stream, operation_, partials_.data(), count, result.data());
}

template <class Operation>
void host_tiles(Tiles<Operation> const& tiles) {
  parallel_for(tiles.count(), tiles.cuts.tile, [&](std::int64_t tile) {
    tiles.partials[tile] = reduce_block(tiles.operation, tiles.x, tiles.y, tiles.cuts.first(tile),
                                        tiles.cuts.last(tile, tiles.size), tiles.first);
  });
}

#define GRIDSTRIDE_INSTANTIATE(Operation) template class RunningReduction<Operation>
GRIDSTRIDE_FOR_RUNNING_OPERATIONS(GRIDSTRIDE_INSTANTIATE);
#undef GRIDSTRIDE_INSTANTIATE
#define GRIDSTRIDE_INSTANTIATE(Operation) template void host_tiles(Tiles<Operation> const&)
GRIDSTRIDE_FOR_TILED_OPERATIONS(GRIDSTRIDE_INSTANTIATE);

}  // namespace gridstride::reduce
