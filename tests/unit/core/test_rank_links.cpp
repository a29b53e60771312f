#include "core/rank_links.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/nccl.hpp"
#include "core/rank_memory.hpp"
#include "support/link_cases.hpp"

namespace gridstride {
namespace {

using Reach = Transport::Reach;
using Machines = std::vector<int>;

TEST(RankLinks, BringWhatIsSent) {
  for (int const count : {2, 3, 5})
    for (bool const around : {false, true})
      test::expect_messages(test::link_case(count, around, Backend::cpu),
                            [](OpenedLinks const& opened) {
                              EXPECT_EQ(opened.transport, "mpi");
                              EXPECT_EQ(opened.remark, "");
                            });
}

TEST(RankLinks, NcclIsThereOrSaysWhyNot) {
  try {
    Nccl::require();
  } catch (Error const& error) {
    EXPECT_NE(std::string(error.what()).find("libnccl.so.2"), std::string::npos) << error.what();
  }
}

/// Which it is not made with, wherever they are among the others.
TEST(RankLinks, KnowGpusThatRanksShare) {
  auto const gpu = [](int number) {
    return GpuIdentity{std::byte{7}, static_cast<std::byte>(number)};
  };
  EXPECT_FALSE(is_one_shared({gpu(3), gpu(1), gpu(2)}));
  EXPECT_TRUE(is_one_shared({gpu(3), gpu(1), gpu(2), gpu(3)}));
}

/// Transports of the host.
std::unique_ptr<RankLinks> make_plain(Ranks& ranks, Stream const& link, RanksBeside const& beside,
                                      std::size_t bytes, SideFaults&) {
  return open_links(ranks, link, beside, bytes).links;
}

/// Rank 1 finds that it does not go between it and the rank above it.
std::unique_ptr<RankLinks> make_halting(Ranks& ranks, Stream const& link, RanksBeside const& beside,
                                        std::size_t bytes, SideFaults& faults) {
  if (ranks.rank() == 1) faults[1] = "no bridge";
  return make_plain(ranks, link, beside, bytes, faults);
}

std::unique_ptr<RankLinks> make_none(Ranks&, Stream const&, RanksBeside const&, std::size_t,
                                     SideFaults& faults) {
  faults.fill("no bricks");
  return nullptr;
}

/// What goes between ranks 0 and 1 comes changed.
class Forging final : public RankLinks {
 public:
  Forging(std::unique_ptr<RankLinks> links, int rank) : links_(std::move(links)), rank_(rank) {}

  void start(int way, Pieces const& pieces, Stream& stream) override {
    links_->start(way, pieces, stream);
  }
  void let_go(Stream& stream) override { links_->let_go(stream); }
  void finish(std::span<Arrival const> arrivals) override {
    links_->finish(arrivals);
    for (Arrival const& arrival : arrivals)
      if (rank_ == 0 && arrival.way == down) arrival.pieces[0][3] ^= std::byte{1};
  }

 private:
  std::unique_ptr<RankLinks> links_;
  int rank_;
};

std::unique_ptr<RankLinks> make_forging(Ranks& ranks, Stream const& link, RanksBeside const& beside,
                                        std::size_t bytes, SideFaults& faults) {
  return std::make_unique<Forging>(make_plain(ranks, link, beside, bytes, faults), ranks.rank());
}

constexpr Transport near{"near", Reach::machine, make_plain}, far{"far", Reach::all, make_plain},
    last{"last", Reach::all, make_plain},
    lacking{"lacking", Reach::all, make_plain, [] { return std::string("no library"); }},
    halting{"halting", Reach::machine, make_halting}, nothing{"nothing", Reach::all, make_none},
    forging{"forging", Reach::all, make_forging};

/// What goes between the ranks of machines comes by these transports, which are told so.
void expect_pairs(Machines const& machines, std::vector<Transport> const& transports,
                  std::string const& transport, std::string const& remark) {
  for (bool const around : {false, true})
    test::expect_messages(
        {machines, around},
        [&](OpenedLinks const& opened) {
          EXPECT_EQ(opened.transport, transport);
          EXPECT_EQ(opened.remark, remark);
        },
        [&](Ranks& ranks, Stream const& stream, RanksBeside const& beside, std::size_t bytes) {
          return open_pairs(ranks, stream, beside, bytes, transports);
        });
}

TEST(RankLinks, OfOneMachineAreNotThoseBetweenMachines) {
  for (auto const& machines : {Machines{0, 0, 1, 1}, {0, 0, 1}, {3, 5, 5}, {0, 1, 1, 0, 0, 2}})
    expect_pairs(machines, {near, far, last}, "near within machines, far between them", "");
  expect_pairs({4, 4, 4}, {near, far, last}, "near", "");
  expect_pairs({0, 1, 2}, {near, far, last}, "far between machines", "");
  expect_pairs({0, 1, 0, 1}, {near, far, last}, "far between machines", "");
  expect_pairs({0, 0, 1, 1}, {far, near, last}, "far", "");
}

TEST(RankLinks, GoAnotherWayWhereOneIsNot) {
  expect_pairs({0, 0, 1, 1}, {near, lacking, last}, "near within machines, last between them",
               "no library");
  expect_pairs({0, 0, 1, 1}, {nothing, lacking, far}, "far", "no bricks; no library");
  expect_pairs({0, 0, 0, 0}, {halting, far}, "halting and far", "no bridge");
  expect_pairs({0, 0, 0, 1}, {halting, far, last},
               "halting and far within machines, far between them", "no bridge");
  expect_pairs({0, 0, 0, 1}, {forging, near, last},
               "forging and near within machines, forging between them",
               "what rank 1 sends does not come");
}

TEST(RankLinks, AreRefusedByAllRanksWhereSomeHaveNone) {
  std::atomic<int> refused = 0;
  EXPECT_TRUE(test::on_machines({0, 0, 1}, [&](Ranks& ranks) {
    int const rank = ranks.rank();
    try {
      open_pairs(ranks, Stream(Device::open(Backend::cpu)), {rank - 1, rank < 2 ? rank + 1 : -1}, 8,
                 std::vector{near, lacking});
    } catch (Error const& error) {
      EXPECT_STREQ(error.what(), "some ranks cannot reach each other (no library)");
      ++refused;
    }
  }));
  EXPECT_EQ(refused, 3);
}

TEST(RankLinks, OfRanksWithNobodyBesideThemAreNone) {
  EXPECT_TRUE(test::on_ranks(2, [](Ranks& ranks) {
    Stream stream(Device::open(Backend::cpu));
    auto const opened = open_pairs(ranks, stream, {-1, -1}, 8, std::vector{far});
    opened.links->finish(std::array{RankLinks::Arrival{RankLinks::up, {}, &stream},
                                    RankLinks::Arrival{RankLinks::down, {}, &stream}});
    opened.links->let_go(stream);
    EXPECT_EQ(opened.transport, "");
  }));
}

TEST(Ranks, KnowWhoIsOnTheirMachine) {
  EXPECT_TRUE(test::on_machines({2, 0, 2, 0, 2}, [](Ranks& ranks) {
    bool const is_even = ranks.rank() % 2 == 0;
    EXPECT_EQ(ranks.local_count(), is_even ? 3 : 2);
    EXPECT_EQ(ranks.local_rank(), ranks.rank() / 2);
    for (int other = 0; other < 5; ++other)
      EXPECT_EQ(ranks.is_here(other), (other % 2 == 0) == is_even);
  }));
}

}  // namespace
}  // namespace gridstride
