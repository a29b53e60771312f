#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/processors.hpp"
#include "kernels/support/parallel_for.hpp"

namespace gridstride {
namespace {

/// So many threads while it exists.
class Threads {
 public:
  explicit Threads(int count) : before_(host_threads()) { set_host_threads(count); }
  Threads(Threads const&) = delete;
  Threads& operator=(Threads const&) = delete;
  ~Threads() { set_host_threads(before_); }

 private:
  int before_;
};

TEST(Processors, ThereIsOneAtLeast) {
  EXPECT_GE(available_processors(), 1);
  EXPECT_LE(available_processors(), static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)));
}

TEST(ParallelFor, ThreadsByTheWorkThereIs) {
  Threads const five(5);
  EXPECT_EQ(threads_for(0, worth_a_thread), 1);
  EXPECT_EQ(threads_for(1, 100 * worth_a_thread), 1);
  EXPECT_EQ(threads_for(17, 2 * 17), 1);
  EXPECT_EQ(threads_for(1'000'000, 0), 1);
  EXPECT_EQ(threads_for(2, worth_a_thread), 2);
  EXPECT_EQ(threads_for(3 * worth_a_thread, 1), 3);
  EXPECT_EQ(threads_for(1000, worth_a_thread), 5);
  EXPECT_EQ(threads_for(std::int64_t{1} << 62, std::int64_t{1} << 62), 5);
}

TEST(ParallelFor, TakesEachItemOnce) {
  for (int const threads : {1, 2, 3, 5, 16}) {
    Threads const scope(threads);
    for (std::int64_t const count : {0, 1, 2, 3, 15, 16, 17, 31, 997, 20'000}) {
      std::vector<std::atomic<int>> taken(static_cast<std::size_t>(count));
      parallel_for(count, [&](std::int64_t i) { ++taken[static_cast<std::size_t>(i)]; });
      for (auto const& times : taken) ASSERT_EQ(times, 1) << count << " on " << threads;
    }
  }
}

TEST(ParallelFor, SmallWorkStaysOnItsThread) {
  Threads const three(3);
  auto const here = std::this_thread::get_id();
  for (int k = 0; k < 100; ++k)
    parallel_for(289, 20, [&](std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), here); });
}

// A body that waits for another one's thread shows that there are several.
TEST(ParallelFor, LargeWorkIsShared) {
  Threads const three(3);
  std::atomic<int> there = 0;
  parallel_for(3, [&](std::int64_t) {
    ++there;
    while (there < 3) std::this_thread::yield();
  });
  EXPECT_EQ(there, 3);
}

TEST(ParallelFor, ThrowsWhatABodyThrows) {
  Threads const three(3);
  for (std::int64_t const bad : {0, 500, 999}) {
    auto const run = [&] {
      parallel_for(1000, [&](std::int64_t i) {
        if (i == bad) throw std::runtime_error("item " + std::to_string(i));
      });
    };
    try {
      run();
      FAIL();
    } catch (std::runtime_error const& error) {
      EXPECT_EQ(error.what(), "item " + std::to_string(bad));
    }
  }
  std::atomic<std::int64_t> sum = 0;
  parallel_for(1000, [&](std::int64_t i) { sum += i; });
  EXPECT_EQ(sum, 499'500);
}

TEST(ParallelFor, LoopsWithinLoops) {
  Threads const three(3);
  std::atomic<std::int64_t> sum = 0;
  parallel_for(40, [&](std::int64_t i) {
    auto const outer = std::this_thread::get_id();
    parallel_for(50, [&](std::int64_t j) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      sum += 50 * i + j;
    });
  });
  EXPECT_EQ(sum, 2000 * 1999 / 2);
}

TEST(ParallelFor, SeveralCallers) {
  Threads const three(3);
  auto const add_up = [](std::int64_t& total) {
    for (int k = 0; k < 200; ++k) {
      std::vector<std::int64_t> values(1000);
      parallel_for(1000, [&](std::int64_t i) { values[static_cast<std::size_t>(i)] = i; });
      total += std::accumulate(values.begin(), values.end(), std::int64_t{0});
    }
  };
  std::int64_t one = 0, other = 0;
  std::thread caller([&] { add_up(other); });
  add_up(one);
  caller.join();
  EXPECT_EQ(one, 200 * 499'500);
  EXPECT_EQ(other, one);
}

#ifndef __SANITIZE_ADDRESS__
/// Leaves room for some stacks only, then wants many threads.
[[noreturn]] void start_too_many() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlim_t const room = pages * static_cast<std::size_t>(getpagesize()) + (rlim_t{100} << 20);
  rlimit const limit{room, room};
  setrlimit(RLIMIT_AS, &limit);
  set_host_threads(200);
  try {
    parallel_for(1000, [](std::int64_t) {});
  } catch (Error const& error) {
    std::fputs(error.what(), stderr);
    std::exit(1);
  }
  std::exit(0);
}

TEST(ParallelForDeathTest, SaysThatAThreadCannotBeStarted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(start_too_many(), testing::ExitedWithCode(1),
              "thread [0-9]+ of 200 cannot be started .*OMP_NUM_THREADS");
}
#endif

}  // namespace
}  // namespace gridstride
