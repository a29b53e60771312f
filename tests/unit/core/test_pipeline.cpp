#include "core/pipeline.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/timer.hpp"

namespace gridstride {
namespace {

constexpr auto queued = StageKind::queued;

Stream host() { return Stream(Device::open(Backend::cpu)); }

constexpr std::int64_t chunk_counts[] = {0, 1, 2, 3, 7, 8, 9, 13, 97};

/// Work that takes long enough for other lanes to come between.
void dawdle(std::int64_t chunk) {
  for (std::int64_t i = 0; i < 3 + chunk * 7 % 5; ++i) std::this_thread::yield();
}

TEST(Pipeline, TakesEachChunkOnceThroughAllStagesInTheirOrder) {
  for (int lanes = 1; lanes <= 8; ++lanes)
    for (auto const chunks : chunk_counts) {
      Pipeline pipeline(host(), lanes);
      std::vector<std::atomic<int>> passed(static_cast<std::size_t>(chunks));
      std::vector<PipelineStage> stages;
      for (int s = 0; s < 4; ++s)
        stages.push_back(
            {"stage", s % 2 == 0 ? StageKind::host : queued, [&, s](Lane& lane, std::int64_t n) {
               EXPECT_LT(lane.index(), static_cast<std::size_t>(lanes));
               if (n < lanes) {
                 EXPECT_EQ(lane.index(), static_cast<std::size_t>(n));
               }
               EXPECT_EQ(passed[static_cast<std::size_t>(n)]++, s);
               dawdle(n + s);
             }});
      auto const report = pipeline.run(chunks, stages);
      for (auto const& times : passed) EXPECT_EQ(times, 4);
      EXPECT_EQ(report.stages.size(), 4u);
      EXPECT_TRUE(report.timeline.empty());
    }
}

TEST(Pipeline, LanesWorkAtTheSameTime) {
  Pipeline pipeline(host(), 3);
  std::atomic<int> there = 0;
  pipeline.run(3, {{"meet", StageKind::host, [&](Lane&, std::int64_t) {
                      ++there;
                      while (there < 3) std::this_thread::yield();
                    }}});
  EXPECT_EQ(there, 3);
}

/// A lane that is held up does not hold up the chunks that follow.
TEST(Pipeline, ChunksGoToTheLaneThatIsFree) {
  Pipeline pipeline(host(), 2);
  constexpr std::int64_t chunks = 9;
  std::atomic<int> others = 0;
  auto const report = pipeline.run(chunks,
                                   {{"work", StageKind::host,
                                     [&](Lane&, std::int64_t n) {
                                       while (n == 1 && others < chunks - 1)
                                         std::this_thread::yield();
                                       if (n != 1) ++others;
                                     }}},
                                   true);
  for (auto const& interval : report.timeline)
    EXPECT_EQ(interval.lane, interval.chunk == 1 ? 1u : 0u);
}

/// A thread's chunks are in its lanes in turn, and a lane has a chunk until all is done with it.
TEST(Pipeline, LanesOfAThreadAreUsedInTurn) {
  for (int threads = 1; threads <= 4; ++threads)
    for (auto const chunks : chunk_counts) {
      Pipeline pipeline(host(), threads, 2);
      ASSERT_EQ(pipeline.lanes().size(), 2 * static_cast<std::size_t>(threads));
      std::vector<std::vector<std::size_t>> used(static_cast<std::size_t>(threads));
      std::vector<std::int64_t> holds(2 * used.size(), -1);
      std::vector<std::atomic<int>> right(static_cast<std::size_t>(chunks));
      pipeline.run(chunks, {{"fill", StageKind::host,
                             [&](Lane& lane, std::int64_t n) {
                               used[lane.index() / 2].push_back(lane.index());
                               holds.at(lane.index()) = n;
                               dawdle(n);
                             }},
                            {"look", queued,
                             [&](Lane& lane, std::int64_t n) {
                               right[static_cast<std::size_t>(n)] += holds[lane.index()] == n;
                             }},
                            {"empty", StageKind::host, [&](Lane& lane, std::int64_t n) {
                               right[static_cast<std::size_t>(n)] += holds[lane.index()] == n;
                             }}});
      for (auto const& count : right) EXPECT_EQ(count, 2);
      for (std::size_t t = 0; t < used.size(); ++t)
        for (std::size_t k = 0; k < used[t].size(); ++k) EXPECT_EQ(used[t][k], 2 * t + k % 2);
    }
}

/// A thread with two lanes reads its next chunk before what the host does last with the one before.
TEST(Pipeline, WhatComesAfterQueuedStagesIsPutOff) {
  Pipeline pipeline(host(), 1, 2);
  std::vector<std::string> order;
  auto const note = [&](char const* what) {
    return [&order, what](Lane&, std::int64_t n) { order.push_back(what + std::to_string(n)); };
  };
  pipeline.run(3, {{"", StageKind::host, note("read")},
                   {"", queued, note("go")},
                   {"", StageKind::host, note("write")}});
  EXPECT_EQ(order, (std::vector<std::string>{"read0", "go0", "read1", "go1", "write0", "read2",
                                             "go2", "write1", "write2"}));
}

/// Chunks that are ready before their turn keep no thread waiting: the first chunk's thread, which
/// reads until others have read all they have room for, queues them.
TEST(Pipeline, WhoHasTheTurnQueuesThoseThatWaitForIt) {
  constexpr int threads = 3;
  Pipeline pipeline(host(), threads, 2);
  std::atomic<int> read = 0;
  std::vector<std::thread::id> by(9);
  pipeline.run(9, {{"read", StageKind::host,
                    [&](Lane&, std::int64_t n) {
                      if (n > 0) ++read;
                      while (n == 0 && read < 2 * (threads - 1)) std::this_thread::yield();
                    }},
                   {"queue", queued,
                    [&](Lane&, std::int64_t n) {
                      by[static_cast<std::size_t>(n)] = std::this_thread::get_id();
                    },
                    true}});
  EXPECT_EQ(by[0], std::this_thread::get_id());
  for (std::size_t n = 1; n < 3; ++n) EXPECT_EQ(by[n], by[0]) << n;
}

TEST(Pipeline, OneLaneIsTheCallersThread) {
  auto const here = std::this_thread::get_id();
  auto const stay = [&](Lane&, std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), here); };
  Pipeline(host(), 1).run(5, {{"stay", StageKind::host, stay}});
  Pipeline(host(), 4).run(1, {{"stay", StageKind::host, stay}});
}

/// A sum that rounds differently in another order.
TEST(Pipeline, OrderedStagesGoOnFromChunkToChunk) {
  for (auto const kind : {StageKind::host, queued})
    for (int k = 0; k < 16; ++k)
      for (auto const chunks : chunk_counts) {
        Pipeline pipeline(host(), 1 + k / 2, k % 2 == 0 ? 1 : 2 + static_cast<std::size_t>(k) % 3);
        std::vector<std::int64_t> order, again, written;  // which no two lanes touch at a time
        float sum = 0, expected = 0;
        for (std::int64_t n = 0; n < chunks; ++n) expected = expected * 0.7f + 1.0f / (n + 3);
        pipeline.run(chunks,
                     {{"work", StageKind::host, [](Lane&, std::int64_t n) { dawdle(n); }},
                      {"add", kind,
                       [&](Lane&, std::int64_t n) {
                         order.push_back(n);
                         dawdle(n);
                         sum = sum * 0.7f + 1.0f / (n + 3);
                       },
                       true},
                      {"after", kind, [](Lane&, std::int64_t n) { dawdle(n + 1); }},
                      {"once more", kind, [&](Lane&, std::int64_t n) { again.push_back(n); }, true},
                      {"write", StageKind::host,
                       [&](Lane&, std::int64_t n) { written.push_back(n); }, true}});
        std::vector<std::int64_t> ascending(static_cast<std::size_t>(chunks));
        std::iota(ascending.begin(), ascending.end(), 0);
        EXPECT_EQ(order, ascending);
        EXPECT_EQ(again, ascending);
        EXPECT_EQ(written, ascending);
        EXPECT_EQ(sum, expected);
      }
}

/// Whatever stage fails, at whatever chunk, the first failing chunk's exception comes, chunks
/// before it are complete, and nobody waits for a turn that does not come.
TEST(Pipeline, ThrowsWhatTheFirstFailingChunkThrows) {
  constexpr std::int64_t chunks = 13;
  for (int k = 0; k < 16; ++k)
    for (std::size_t failing = 0; failing < 4; ++failing)
      for (std::int64_t first = 0; first < chunks; first += 3) {
        Pipeline pipeline(host(), 1 + k / 2, k % 2 == 0 ? 1 : 2 + static_cast<std::size_t>(k) % 3);
        std::vector<int> done(chunks, 0);
        std::vector<PipelineStage> stages;
        for (std::size_t s = 0; s < 4; ++s)
          stages.push_back({"stage", s % 2 == 0 ? StageKind::host : queued,
                            [&, s](Lane&, std::int64_t n) {
                              dawdle(n * 3 + static_cast<std::int64_t>(s));
                              // Later ones fail too, and may come to it sooner.
                              if (s == failing && n >= first)
                                throw std::runtime_error(std::to_string(n));
                              if (s == 3) done[static_cast<std::size_t>(n)] = 1;
                            },
                            k % 4 < 2 ? s >= 2 : s == 1 || s == 3});
        try {
          pipeline.run(chunks, stages);
          FAIL() << "nothing was thrown";
        } catch (std::runtime_error const& error) {
          EXPECT_EQ(error.what(), std::to_string(first));
        }
        for (std::int64_t n = 0; n < chunks; ++n)
          EXPECT_EQ(done[static_cast<std::size_t>(n)], n < first ? 1 : 0) << n;
        // It can be used again.
        auto const report =
            pipeline.run(2, {{"well", StageKind::host, [](Lane&, std::int64_t) {}}});
        EXPECT_EQ(report.stages.size(), 1u);
      }
}

TEST(Pipeline, ReportsBytesAndTimes) {
  for (int lanes : {1, 2, 3, 5}) {
    Pipeline pipeline(host(), lanes);
    auto const nap = [](Lane&, std::int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    };
    constexpr std::int64_t chunks = 7;
    auto const report = pipeline.run(chunks,
                                     {{"move", StageKind::host,
                                       [&](Lane& lane, std::int64_t n) {
                                         lane.moved(static_cast<std::size_t>(n));
                                         lane.moved(1000);
                                         nap(lane, n);
                                       }},
                                      {"one by one", queued, nap, true}},
                                     true);
    ASSERT_EQ(report.stages.size(), 2u);
    EXPECT_EQ(report.stages[0].name, "move");
    EXPECT_EQ(report.stages[0].bytes, 7000 + 21);
    EXPECT_EQ(report.stages[1].bytes, 0);
    EXPECT_EQ(report.stages[1].rate(), 0);
    EXPECT_GE(report.stages[0].busy_seconds, 0.002);
    EXPECT_GE(report.stages[1].busy_seconds, 0.002 * chunks);  // never two at the same time
    EXPECT_GT(report.stages[0].rate(), 0);
    ASSERT_EQ(report.timeline.size(), 2u * chunks);
    for (auto const& interval : report.timeline) {
      EXPECT_LT(interval.start, interval.end);
      EXPECT_LE(interval.end, report.seconds);
      EXPECT_LT(interval.lane, static_cast<std::size_t>(lanes));
    }
    for (std::size_t n = 1; n < chunks; ++n) {
      auto const& before = report.timeline[chunks + n - 1];
      auto const& after = report.timeline[chunks + n];
      EXPECT_LE(before.end, after.start);
      EXPECT_LE(report.timeline[n].end, after.start);
    }
    for (auto const& stage : report.stages) EXPECT_LE(stage.busy_seconds, report.seconds);
  }
}

TEST(Pipeline, AStageThatIsFedBeginsInTheOneBeforeIt) {
  Pipeline pipeline(host(), 2, 2);
  std::array<std::atomic<double>, 9> fed{};
  Timer const clock;
  auto const read = [&](Lane& lane, std::int64_t n) {
    auto const chunk = static_cast<std::size_t>(n);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (n % 3 == 0) return;  // feeds nothing
    lane.feed();
    fed[chunk] = clock.seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    lane.feed();
  };
  auto const nothing = [](Lane&, std::int64_t) {};
  for (int again = 0; again < 2; ++again) {
    double const began = clock.seconds();
    auto const report = pipeline.run(
        9, {{"read", StageKind::host, read}, {"copy", queued, nothing}, {"add", queued, nothing}},
        true);
    ASSERT_EQ(report.timeline.size(), 27u);
    for (std::size_t n = 0; n < 9; ++n) {
      auto const &whole = report.timeline[n], &copy = report.timeline[9 + n];
      EXPECT_GE(report.timeline[18 + n].start, copy.end);
      EXPECT_GE(copy.end, whole.end);
      if (n % 3 == 0) {
        EXPECT_GE(copy.start, whole.end);
        continue;
      }
      EXPECT_LE(copy.start, fed[n] - began);  // the run's clock began later
      EXPECT_GE(copy.start, whole.start + 0.001);
      EXPECT_LE(copy.start + 0.001, whole.end);
    }
  }
}

TEST(Pipeline, ReportsAddUp) {
  PipelineReport sum;
  sum += {2, {{"a", 1, 10}, {"b", 2, 20}}, {{0, 0, 0, 0.5, 1}}};
  sum += {3, {{"a", 0.5, 1}, {"b", 1, 2}}, {{1, 0, 0, 1, 3}}};
  EXPECT_EQ(sum.seconds, 5);
  EXPECT_EQ(sum.stages[0].name, "a");
  EXPECT_EQ(sum.stages[0].busy_seconds, 1.5);
  EXPECT_EQ(sum.stages[1].bytes, 22);
  ASSERT_EQ(sum.timeline.size(), 2u);
  EXPECT_EQ(sum.timeline[1].start, 3);
  EXPECT_EQ(sum.timeline[1].end, 5);
  // Of other stages, those of the same name.
  sum += {1, {{"c", 1, 5}, {"b", 1, 1}}, {{1, 0, 0, 0, 1}, {0, 0, 0, 0, 1}}};
  ASSERT_EQ(sum.stages.size(), 3u);
  EXPECT_EQ(sum.stages[1].bytes, 23);
  EXPECT_EQ(sum.stages[2].name, "c");
  EXPECT_EQ(sum.stages[2].bytes, 5);
  EXPECT_EQ(sum.timeline[2].stage, 1u);
  EXPECT_EQ(sum.timeline[3].stage, 2u);
}

TEST(Pipeline, RefusesWhatIsNoNumberOfLanesOrChunks) {
  EXPECT_THROW(Pipeline(host(), 0), std::invalid_argument);
  EXPECT_THROW(Pipeline(host(), 1, 0), std::invalid_argument);
  EXPECT_THROW(Pipeline(host(), 1, Pipeline::most_each + 1), std::invalid_argument);
  EXPECT_THROW(Pipeline(host(), 1).run(-1, {}), std::invalid_argument);
  EXPECT_EQ(Pipeline(host(), 3).run(5, {}).stages.size(), 0u);
}

TEST(Pipeline, LanesByTheWork) {
  EXPECT_EQ(Pipeline::lanes_for(LaneUse::bus, 0), 1);
  EXPECT_EQ(Pipeline::lanes_for(LaneUse::bus, 3), 3);
  EXPECT_EQ(Pipeline::lanes_for(LaneUse::bus, 1'000'000), 4);
  EXPECT_EQ(Pipeline::lanes_for(LaneUse::files, 2), 2);
  EXPECT_GE(Pipeline::lanes_for(LaneUse::files, 1000), 4);
  EXPECT_LE(Pipeline::lanes_for(LaneUse::files, 1000), 16);
}

TEST(Slab, IsOneMemoryOnTheCpu) {
  auto stream = host();
  Slab slab(stream, 100);
  EXPECT_EQ(slab.bytes(), 100u);
  EXPECT_EQ(slab.host<float>(25).data(), slab.device<float>(25).data());
  slab.host<float>(25)[24] = 3;
  slab.to_device(100, stream);
  EXPECT_EQ(slab.device<float>(25)[24], 3);
  slab.device<float>(25)[0] = 4;
  slab.to_host(100, stream);
  EXPECT_EQ(slab.host<float>(1)[0], 4);
  EXPECT_THROW(slab.host<float>(26), std::out_of_range);
  EXPECT_THROW(slab.device<double>(13), std::out_of_range);
  EXPECT_EQ(Slab(stream, 0).host<float>(0).size(), 0u);
}

}  // namespace
}  // namespace gridstride
