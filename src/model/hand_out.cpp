#include "model/hand_out.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "kernels/evaluate/evaluate.hpp"
#include "kernels/evaluate/slabs.hpp"
#include "model/bricks.hpp"
#include "model/values.hpp"

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

namespace {

/// What evaluates a formula at some planes of a grid; none where that is too long or too deep, or is for the
/// first rank alone: a number, and on a GPU, which evaluates as fast as its values come to the host.
std::optional<evaluate::Program> program_of_planes(Stream& stream,
                                                   expression::Expression const& formula,
                                                   Grid const& grid, std::string_view variant) {
  if (stream.backend() == Backend::cuda || formula.is_constant()) return {};
  try {
    return evaluate::Program(stream, evaluate::by_index(formula, grid, grid.dims - 1), variant);
  } catch (Error const&) {
    return {};
  }
}

}  // namespace

/// Some planes after others, of each of which every rank has its part, so that they need little memory.
template <class T>
void fill_by_ranks(Stream& stream, Ranks& ranks, config::FieldSource const& source,
                   Grid const& grid, Inputs const& inputs, std::span<T> whole,
                   std::string_view variant) {
  std::optional<evaluate::Program> program;
  if (ranks.count() > 1 && source.file.empty())
    program = program_of_planes(stream, source.formula.expression, grid, variant);
  if (!program) {
    if (ranks.is_first()) fill(stream, source, grid, inputs, whole, nullptr, variant);
    return;
  }
  constexpr std::size_t most_bytes = std::size_t{8} << 20;  // of a rank's part, or one plane
  auto const slowest = static_cast<std::size_t>(grid.dims - 1);
  std::int64_t const planes = grid.points[slowest], plane = grid.size() / planes;
  std::int64_t const most = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(most_bytes / sizeof(T)) / plane, 1, planes);
  auto const values = [&](std::int64_t some) { return static_cast<std::size_t>(some * plane); };
  Buffer<T> here(stream, MemorySpace::device, values(most));
  auto const own = static_cast<std::size_t>(ranks.rank());
  for (std::int64_t first = 0; first < planes; first += most * ranks.count()) {
    std::int64_t const some = std::min(planes - first, most * ranks.count());
    RankCuts cuts;
    for (int rank = 0; rank <= ranks.count(); ++rank) cuts.push_back(some * rank / ranks.count());
    Grid part = grid;
    part.points[slowest] = cuts[own + 1] - cuts[own];
    part.origin[slowest] = static_cast<double>(first + cuts[own]);
    part.spacing[slowest] = 1;
    auto const made = here.span().first(values(part.points[slowest]));
    if (!made.empty()) evaluate::evaluate(stream, *program, part, nullptr, 0, made);
    gather_planes<T>(stream, ranks, cuts, plane, made,
                     ranks.is_first() ? whole.subspan(values(first), values(some)) : whole);
  }
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                                 \
  template void gather_planes(Stream&, Ranks&, RankCuts const&, std::int64_t, std::span<T const>, \
                              std::span<T>);                                                      \
  template void hand_out(Stream&, Ranks&, Grid const&, std::span<T const>, Brick const&,          \
                         std::span<T>);                                                           \
  template void fill_by_ranks(Stream&, Ranks&, config::FieldSource const&, Grid const&,           \
                              Inputs const&, std::span<T>, std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride
