#include "driver/signals.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace gridstride {
namespace {

/// The wait status of a process that does `work` under a watch.
int status_of(std::function<void(SignalWatch&)> const& work) {
  pid_t const child = fork();
  if (child == 0) {
    SignalWatch watch;
    work(watch);
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

void wait_more_than_a_second() { usleep(1'100'000); }

TEST(SignalWatch, NotesTheFirstOfThoseThatAskToEnd) {
  for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1}) {
    SignalWatch watch;
    EXPECT_EQ(watch.pending(), 0);
    raise(number);
    raise(number);
    raise(SIGTERM);
    EXPECT_EQ(watch.pending(), number);
    EXPECT_FALSE(watch.checkpoint_requested());
  }
  EXPECT_EQ(signal_name(SIGXCPU), "SIGXCPU");
}

TEST(SignalWatch, TellsAWishForACheckpointFromOneToEnd) {
  SignalWatch watch;
  raise(SIGUSR2);
  raise(SIGUSR2);
  EXPECT_EQ(watch.pending(), 0);
  EXPECT_TRUE(watch.checkpoint_requested());
  EXPECT_TRUE(watch.take_checkpoint_request());
  EXPECT_FALSE(watch.take_checkpoint_request());
}

TEST(SignalWatch, ASecondWishToEndEndsTheProgram) {
  for (int const number : {SIGINT, SIGTERM, SIGHUP}) {
    int const status = status_of([&](SignalWatch&) {
      raise(SIGUSR1);
      wait_more_than_a_second();
      raise(number);
      _exit(7);
    });
    ASSERT_TRUE(WIFSIGNALED(status)) << number;
    EXPECT_EQ(WTERMSIG(status), number);
  }
}

/// They come again and again, long before the limit that they announce.
TEST(SignalWatch, WarningsAreNoWishToEndAtOnce) {
  for (int const number : {SIGXCPU, SIGUSR1}) {
    int const status = status_of([&](SignalWatch& watch) {
      raise(number);
      wait_more_than_a_second();
      raise(number);
      _exit(watch.pending() == number ? 7 : 8);
    });
    EXPECT_EQ(WEXITSTATUS(status), 7);
  }
}

TEST(SignalWatch, LeavesAnIgnoredHangUpIgnoredAndAllAsItWas) {
  std::signal(SIGHUP, SIG_IGN);
  {
    SignalWatch const watch;
    raise(SIGHUP);
    EXPECT_EQ(watch.pending(), 0);
  }
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
  EXPECT_EQ(std::signal(SIGUSR1, SIG_DFL), SIG_DFL);
}

}  // namespace
}  // namespace gridstride
