#include "kernels/reduce/running.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/reduce/lanes.hpp"
#include "kernels/reduce/running_rows.hpp"
#include "kernels/support/arguments.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride::reduce {

template <class Operation>
RunningReduction<Operation>::RunningReduction(Stream const& stream, std::int64_t size,
                                              Operation const& operation)
    : operation_(operation),
      size_(size),
      partials_(stream, MemorySpace::device, tiles_of(size)),
      pending_(stream, MemorySpace::device, inputs * pending_of(size)) {}

template <class Operation>
void RunningReduction<Operation>::combine(Stream& stream, T const* x, T const* y,
                                          std::int64_t count) {
  if (count == 0) return;
  Tiles<Operation> const tiles{operation_, x,     y,
                               done_,      count, partials_.data() + done_ / running_tile};
  done_ += count;
  find_tiles(stream, tiles);
}

template <class Operation>
void RunningReduction<Operation>::keep(Stream& stream, std::span<T const> x, std::span<T const> y) {
  auto const place = static_cast<std::size_t>(kept_);
  copy_async(pending_.span().subspan(place, x.size()), x, stream);
  if (Operation::two_inputs)
    copy_async(pending_.span().subspan(pending_of(size_) + place, y.size()), y, stream);
  kept_ += std::ssize(x);
}

template <class Operation>
void RunningReduction<Operation>::add(Stream& stream, std::span<T const> x, std::span<T const> y) {
  if (Operation::two_inputs || !y.empty())
    require_same_size("running reduction", named("x", x), named("y", y));
  if (!Operation::two_inputs && !y.empty())
    throw std::invalid_argument("running reduction: there is no second factor");
  if (std::ssize(x) > size_ - done_ - kept_)
    throw std::invalid_argument(
        fmt::format("running reduction: {} elements more than the {} that "
                    "there are",
                    std::ssize(x) - (size_ - done_ - kept_), size_));
  auto const take = [&](std::int64_t count) {
    auto const number = static_cast<std::size_t>(count);
    auto const first = std::pair(x.first(number), y.first(Operation::two_inputs ? number : 0));
    x = x.subspan(number);
    y = y.subspan(first.second.size());
    return first;
  };
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
