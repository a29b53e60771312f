#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/error.hpp"
#include "support/link_cases.hpp"
#include "support/shared_memory.hpp"
#include "support/transposition_cases.hpp"
#include "unit/gpu/gpu.hpp"

/// Ranks that share one GPU, each a thread with a stream of its own.
namespace gridstride {
namespace {

/// As long as it lives, the transport that is wanted.
class WantedTransport {
 public:
  explicit WantedTransport(char const* name) { setenv("GRIDSTRIDE_TRANSPORT", name, 1); }
  WantedTransport(WantedTransport const&) = delete;
  WantedTransport& operator=(WantedTransport const&) = delete;
  ~WantedTransport() { unsetenv("GRIDSTRIDE_TRANSPORT"); }
};

TEST(RankLinksGpu, BringWhatIsSent) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (char const* const name : {"p2p", "staged"})
    for (int const count : {2, 3})
      for (bool const around : {false, true}) {
        WantedTransport const wanted(name);
        test::expect_messages(
            test::link_case(count, around, Backend::cuda),
            [&](OpenedLinks const& opened) { EXPECT_EQ(opened.transport, name); });
      }
}

/// As where ranks are on several machines: what is staged goes through MPI.
TEST(RankLinksGpu, BringWhatIsSentWhereNobodySeesTheOthersMemory) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  WantedTransport const wanted("staged");
  for (bool const around : {false, true}) {
    test::WithoutSharedMemory const without;
    test::expect_messages(test::link_case(2, around, Backend::cuda),
                          [](OpenedLinks const& opened) { EXPECT_EQ(opened.transport, "staged"); });
  }
}

TEST(RankLinksGpu, BringWhatIsSentWhereEachRankHasAGpu) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const gpus = static_cast<int>(Device::available().size()) - 1;
  if (gpus < 2) GTEST_SKIP() << "there is one GPU";
  for (char const* const name : {"nccl", "staged"}) {
    WantedTransport const wanted(name);
    for (bool const around : {false, true})
      test::expect_messages(test::link_case(gpus, around, Backend::cuda, gpus),
                            [&](OpenedLinks const& opened) { EXPECT_EQ(opened.transport, name); });
  }
}

TEST(RankLinksGpu, BringWhatIsSentWithinMachinesAndBetweenThem) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::vector<int> const& machines :
       {std::vector{0, 0, 1}, {0, 0, 1, 1}, {0, 1, 1, 0}, {0, 1}, {0, 0, 0, 1, 1}}) {
    bool const has_near = machines.size() > 2;
    for (bool const around : {false, true})
      test::expect_messages({machines, around, Backend::cuda}, [&](OpenedLinks const& opened) {
        EXPECT_EQ(opened.transport, has_near ? "p2p within machines, staged between them"
                                             : "staged between machines");
        EXPECT_NE(opened.remark.find("ranks share a GPU"), std::string::npos) << opened.remark;
      });
  }
}

/// Not with several on a machine: threads of one process with a GPU each cannot wait for the events that
/// p2p makes for other processes. Runs of processes have that (tests/regression/test_shared_machines.py).
TEST(RankLinksGpu, BringWhatIsSentBetweenMachinesWithAGpuForEachRank) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const gpus = static_cast<int>(Device::available().size()) - 1;
  if (gpus < 2) GTEST_SKIP() << "there is one GPU";
  for (bool const around : {false, true})
    test::expect_messages({test::machines_of(gpus, 1), around, Backend::cuda, gpus},
                          [](OpenedLinks const& opened) {
                            EXPECT_EQ(opened.transport, "nccl between machines");
                            EXPECT_EQ(opened.remark, "");
                          });
}

TEST(RankLinksGpu, OfSeveralMachinesAreRefusedWhereOneIsNeeded) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const name : {"stores", "p2p"}) {
    WantedTransport const wanted(name.c_str());
    EXPECT_TRUE(test::on_machines({0, 0, 1}, [&](Ranks& ranks) {
      Stream const stream(Device::open(Backend::cuda));
      int const rank = ranks.rank();
      try {
        test::open_soonest(ranks, stream, {rank - 1, rank < 2 ? rank + 1 : -1}, 64);
        ADD_FAILURE() << "ranks of two machines have links by " << name;
      } catch (Error const& error) {
        EXPECT_EQ(std::string(error.what()),
                  "GRIDSTRIDE_TRANSPORT is " + name +
                      ", which cannot be (the ranks are on several machines)");
      }
    }));
  }
}

TEST(RankLinksGpu, TransposeArrays) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_transpositions(Backend::cuda);
}

TEST(RankLinksGpu, AreRefusedWhereRanksShareAGpu) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const name : {"stores", "nccl"}) {
    WantedTransport const wanted(name.c_str());
    EXPECT_TRUE(test::on_ranks(2, [&](Ranks& ranks) {
      Stream const stream(Device::open(Backend::cuda));
      int const other = 1 - ranks.rank();
      try {
        open_gpu_links(ranks, stream, {other, other}, 64, Meanwhile::nothing);
        ADD_FAILURE() << "two ranks of a GPU have links by " << name;
      } catch (Error const& error) {
        EXPECT_NE(
            std::string(error.what()).find("GRIDSTRIDE_TRANSPORT is " + name + ", which cannot be"),
            std::string::npos)
            << error.what();
      }
    }));
  }
}

TEST(RankLinksGpu, AreThoseThatAreWanted) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const open = [](Ranks& ranks) {
    Stream const stream(Device::open(Backend::cuda));
    int const other = 1 - ranks.rank();
    return open_links(ranks, stream, {other, other}, 64);
  };
  EXPECT_TRUE(test::on_ranks(2, [&](Ranks& ranks) {
    auto const opened = open(ranks);
    EXPECT_EQ(opened.transport, "p2p");
    EXPECT_EQ(opened.remark, "");
  }));
  {
    WantedTransport const wanted("staged");
    EXPECT_TRUE(test::on_ranks(2, [&](Ranks& ranks) {
      auto const opened = open(ranks);
      EXPECT_EQ(opened.transport, "staged");
      EXPECT_EQ(opened.remark, "GRIDSTRIDE_TRANSPORT is staged");
    }));
  }
  WantedTransport const wanted("pigeons");
  EXPECT_TRUE(test::on_ranks(2, [&](Ranks& ranks) { EXPECT_THROW(open(ranks), Error); }));
}

}  // namespace
}  // namespace gridstride
