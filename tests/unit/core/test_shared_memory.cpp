#include "core/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"
#include "support/shared_memory.hpp"

namespace gridstride {
namespace {

TEST(SharedMemory, AnotherProcessSeesIt) {
  constexpr std::size_t bytes = 12345;
  SharedMemory const memory(bytes);
  memory.data()[bytes - 1] = std::byte{7};
  pid_t const child = fork();
  if (child == 0) {
    auto const theirs = SharedMemory::open(memory.name());
    bool const is_right = theirs != nullptr && theirs.get()[bytes - 1] == std::byte{7};
    if (is_right) theirs.get()[0] = std::byte{9};
    _exit(is_right ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(memory.data()[0], std::byte{9});
}

TEST(SharedMemory, StaysForWhoHasOpenedIt) {
  std::shared_ptr<std::byte> theirs;
  {
    SharedMemory const memory(100);
    memory.data()[99] = std::byte{5};
    theirs = SharedMemory::open(memory.name());
  }
  ASSERT_NE(theirs, nullptr);
  EXPECT_EQ(theirs.get()[99], std::byte{5});
}

TEST(SharedMemory, IsNotTakenForAnother) {
  SharedMemory const memory(4096);
  auto other = memory.name();
  other.token[1] ^= 1;
  EXPECT_EQ(SharedMemory::open(other), nullptr);
  other = memory.name();
  other.bytes += 64;
  EXPECT_EQ(SharedMemory::open(other), nullptr);
  other = memory.name();
  other.file = 1 << 20;
  EXPECT_EQ(SharedMemory::open(other), nullptr);
  EXPECT_EQ(SharedMemory::open({}), nullptr);
}

TEST(SharedMemory, ThatTheSystemDoesNotGive) {
  test::WithoutSharedMemory const without;
  EXPECT_THROW(SharedMemory(1 << 20), Error);
}

}  // namespace
}  // namespace gridstride
