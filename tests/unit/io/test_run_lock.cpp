#include "io/run_lock.hpp"

#include <signal.h>

#include <memory>

#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

TEST(RunLock, IsHeldOnceForEachNameAndFolder) {
  TemporaryFolder const folder;
  auto const first = std::make_unique<RunLock>(folder.path(), "a");
  EXPECT_EQ(first->missing(), "");
  std::string const self = "process " + std::to_string(getpid()) + " on ";
  EXPECT_TRUE(first->holder().starts_with(self));
  expect_io_error([&] { RunLock(folder.path(), "a"); },
                  {folder.path().string(), "another run of 'a' writes there (" + first->holder()});
  EXPECT_EQ(lock_holder(folder.path(), "a"), first->holder());
  RunLock const other(folder.path(), "b");
  EXPECT_EQ(folder.files(), 2U);
}

TEST(RunLock, LeavesNothingBehind) {
  TemporaryFolder const folder;
  {
    RunLock const lock(folder / "deep/er", "a");
    EXPECT_TRUE(std::filesystem::exists(folder / "deep/er"));
  }
  EXPECT_EQ(folder.files(), 0U);
  {
    RunLock const lock(folder / "deep/er", "a");
    write_bytes(folder / "deep/er/result", "text");
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "deep/er/result"));
  EXPECT_EQ(lock_holder(folder / "deep/er", "a"), std::nullopt);
  EXPECT_EQ(lock_holder(folder / "nowhere", "a"), std::nullopt);
}

TEST(RunLock, GoesWithItsProcess) {
  TemporaryFolder const folder;
  int const status = run_in_child([&] {
    RunLock const lock(folder.path(), "a");
    kill(getpid(), SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(folder.files(), 1U);
  EXPECT_EQ(lock_holder(folder.path(), "a"), std::nullopt);
  { RunLock const lock(folder.path(), "a"); }
  EXPECT_EQ(folder.files(), 0U);
}

/// Processes that take and free it all the time never have it together.
TEST(RunLock, IsNeverHeldTwice) {
  TemporaryFolder const folder;
  SharedCount inside, taken, together;
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    pid_t const pid = fork();
    if (pid == 0) {
      for (int round = 0; round < 500; ++round) {
        try {
          RunLock const lock(folder.path(), "a");
          if (__atomic_add_fetch(&*inside, 1, __ATOMIC_SEQ_CST) != 1)
            __atomic_add_fetch(&*together, 1, __ATOMIC_SEQ_CST);
          __atomic_add_fetch(&*taken, 1, __ATOMIC_SEQ_CST);
          __atomic_sub_fetch(&*inside, 1, __ATOMIC_SEQ_CST);
        } catch (IoError const&) {  // another one has it
        }
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (pid_t const pid : children) {
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(*together, 0);
  EXPECT_GT(*taken, 100);
}

}  // namespace
}  // namespace gridstride::io
