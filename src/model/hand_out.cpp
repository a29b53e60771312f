#include "model/hand_out.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/buffer.hpp"
#include "model/bricks.hpp"

namespace gridstride {

namespace {

template <class T>
RankMessage message(int rank, std::span<T> values) {
  return {rank, 0, std::as_writable_bytes(values)};
}

/// Asks the first rank for it.
template <class T>
void receive_brick(Stream& stream, Ranks& ranks, Brick brick, std::span<T> here) {
  Buffer<T> values(stream, MemorySpace::pinned, here.size());
  stream.synchronize();
  auto const asked = message(0, std::span(&brick, 1)), got = message(0, values.span());
  ranks.exchange({&asked, 1}, {});
  ranks.exchange({}, {&got, 1});
  copy_async(here, std::as_const(values).span(), stream);
  stream.synchronize();
}

template <class T>
void take_brick(Stream& stream, Grid const& grid, std::span<T const> whole, Brick const& brick,
                std::span<T> target) {
  copy_brick(stream, grid, const_cast<T*>(whole.data()), brick, target.data(),
             points_of(grid, brick), true);
  stream.synchronize();
}

}  // namespace

template <class T>
void hand_out(Stream& stream, Ranks& ranks, Grid const& grid, std::span<T const> whole,
              Brick const& brick, std::span<T> here) {
  if (!ranks.is_first()) return receive_brick(stream, ranks, brick, here);
  take_brick(stream, grid, whole, brick, here);
  for (int rank = 1; rank < ranks.count(); ++rank) {
    Brick theirs;
    auto const asked = message(rank, std::span(&theirs, 1));
    ranks.exchange({}, {&asked, 1});
    auto const size =
        static_cast<std::size_t>(theirs.planes.count() * plane_values(grid, theirs.strips));
    Buffer<T> values(stream, MemorySpace::pinned, size);
    take_brick(stream, grid, whole, theirs, values.span());
    auto const given = message(rank, values.span());
    ranks.exchange({&given, 1}, {});
  }
}

template <class T>
void gather_planes(Stream& stream, Ranks& ranks, RankCuts const& cuts, std::int64_t plane,
                   std::span<T const> here, std::span<T> whole) {
  constexpr std::size_t most = std::size_t{8} << 20;  // values that go at once
  bool const is_first = ranks.is_first();
  if (is_first) copy_async(whole.first(here.size()), here, stream);
  bool const is_staged = !is_first && stream.backend() == Backend::cuda;
  Buffer<T> staging(stream, MemorySpace::pinned, is_staged ? std::min(most, here.size()) : 0);
  for (int rank = 1; rank < ranks.count(); ++rank) {
    if (!is_first && rank != ranks.rank()) continue;
    auto const at = static_cast<std::size_t>(rank);
    auto const begin = static_cast<std::size_t>(cuts[at] * plane);
    std::size_t const size = static_cast<std::size_t>(cuts[at + 1] * plane) - begin;
    for (std::size_t done = 0; done < size; done += most) {
      std::size_t const some = std::min(most, size - done);
      if (is_first) {
        auto const got = message(rank, whole.subspan(begin + done, some));
        ranks.exchange({}, {&got, 1});
        continue;
      }
      std::span<T const> part = here.subspan(done, some);
      if (is_staged) {
        copy_async(staging.span().first(some), part, stream);
        part = std::as_const(staging).span().first(some);
      }
      stream.synchronize();
      auto const given = message(0, std::span(const_cast<T*>(part.data()), some));
      ranks.exchange({&given, 1}, {});
    }
  }
  stream.synchronize();
}

template void gather_planes(Stream&, Ranks&, RankCuts const&, std::int64_t, std::span<float const>,
                            std::span<float>);
template void gather_planes(Stream&, Ranks&, RankCuts const&, std::int64_t, std::span<double const>,
                            std::span<double>);
template void hand_out(Stream&, Ranks&, Grid const&, std::span<float const>, Brick const&,
                       std::span<float>);
template void hand_out(Stream&, Ranks&, Grid const&, std::span<double const>, Brick const&,
                       std::span<double>);

}  // namespace gridstride
