#include <gtest/gtest.h>

#include <cstdlib>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/support/rank_pieces.hpp"
#include "support/thread_ranks.hpp"
#include "unit/order/queues.hpp"

/// Whether pieces of arrays come after what makes them, and before what looks at them.
namespace gridstride {
namespace {

constexpr std::int64_t own_count = 6, beside = 2;

double made(int round, std::int64_t place) { return 1000.0 * round + static_cast<double>(place); }

/// Places of all ranks one after the other; each rank holds two more on each side, in two arrays.
void expect_pieces(Ranks& ranks, bool around) {
  Stream stream(Device::open(Backend::cuda));
  int const count = ranks.count(), rank = ranks.rank();
  std::int64_t const all = own_count * count;
  RankCuts cuts;
  for (int of = 0; of <= count; ++of) cuts.push_back(of * own_count);
  RankPlanes const planes(ranks, stream, cuts, around, sizeof(double), 8);
  RankPieces ways(planes, stream, 2 * beside * sizeof(double),
                  static_cast<std::size_t>(all) * sizeof(double));
  constexpr auto size = static_cast<std::size_t>(own_count + 2 * beside);
  Buffer<double> first(stream, MemorySpace::device, size),
      second(stream, MemorySpace::device, size),
      whole(stream, MemorySpace::device, static_cast<std::size_t>(all));
  std::int64_t const before = rank * own_count - beside;
  auto const pieces = [&](std::size_t at) {
    RankPieces::Pieces both;
    for (auto* const array : {&first, &second})
      both.push_back(std::as_writable_bytes(array->span().subspan(at, beside)));
    return both;
  };
  bool const has[] = {planes.beside()[0] >= 0, planes.beside()[1] >= 0};
  std::array<RankPieces::Pieces, 2> sent, received;
  if (has[0]) sent[0] = pieces(beside), received[0] = pieces(0);
  if (has[1]) sent[1] = pieces(own_count), received[1] = pieces(own_count + beside);
  std::vector<RankPieces::Pieces> of_ranks;
  for (int of = 0; of < count; ++of)
    of_ranks.push_back({std::as_writable_bytes(whole.span().subspan(
        static_cast<std::size_t>(of * own_count), static_cast<std::size_t>(own_count)))});
  int wrong = 0;
  auto const queue = [&](auto const& work) { test::queue_work(stream.native(), work); };
  for (int round = 0; round < 12; ++round) {
    queue([&, round] {
      for (std::int64_t i = beside; i < beside + own_count; ++i) {
        first.data()[i] = made(round, before + i);
        second.data()[i] = -made(round, before + i);
      }
    });
    ways.exchange(stream, sent, received);
    queue([&, round] {
      for (std::int64_t i = has[0] ? 0 : beside; i < (has[1] ? 2 : 1) * beside + own_count; ++i) {
        double const expected = made(round, (before + i + all) % all);
        wrong += first.data()[i] != expected || second.data()[i] != -expected;
      }
      for (std::int64_t i = 0; i < own_count; ++i)
        whole.data()[before + beside + i] = made(-round, before + beside + i);
    });
    ways.gather(stream, of_ranks);
    queue([&, round] {
      for (std::int64_t i = 0; i < all; ++i) wrong += whole.data()[i] != made(-round, i);
    });
  }
  stream.synchronize();
  EXPECT_EQ(wrong, 0);
}

TEST(RankOrder, OfPieces) {
  unsigned seed = 0;
  for (char const* const transport : {"p2p", "staged"})
    for (unsigned const pause : {30, 300})
      for (int const ranks : {2, 3})
        for (bool const around : {false, true}) {
          setenv("GRIDSTRIDE_TRANSPORT", transport, 1);
          test::set_pauses(++seed, pause);
          EXPECT_TRUE(test::on_ranks(ranks, [&](Ranks& all) { expect_pieces(all, around); }));
        }
  unsetenv("GRIDSTRIDE_TRANSPORT");
}

}  // namespace
}  // namespace gridstride
