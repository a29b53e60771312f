#include "core/process_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/processors.hpp"

namespace gridstride {
namespace {

TEST(ProcessMemory, IsReadAndWrittenByAnotherProcess) {
  constexpr std::size_t size = 100'003;
  std::vector<std::uint64_t> ours(size);
  std::iota(ours.begin(), ours.end(), 1);
  ProcessName const name = own_process();
  auto const place = std::bit_cast<std::uint64_t>(ours.data());
  pid_t const child = fork();
  if (child == 0) {
    set_host_share({0, 1});  // a forked process has no other threads
    std::vector<std::uint64_t> here(size);
    ProcessName parent = name;
    parent.process = getppid();
    if (!reaches(parent)) _exit(2);
    read_memory(parent, place, std::as_writable_bytes(std::span(here)));
    if (here.front() != 1 || here.back() != size) _exit(1);
    for (auto& value : here) value *= 3;
    write_memory(parent, place + sizeof(here[0]),
                 std::as_bytes(std::span(here)).subspan(sizeof(here[0])));
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
    GTEST_SKIP() << "processes may not look at each other's memory here";
  ASSERT_EQ(status, 0);
  EXPECT_EQ(ours[0], 1);
  for (std::size_t i = 1; i < size; ++i) ASSERT_EQ(ours[i], 3 * (i + 1));
}

/// Several pieces for the threads, and a part of one.
TEST(ProcessMemory, IsMovedByAllThreads) {
  constexpr std::size_t size = 300'007;
  std::vector<std::uint64_t> there(size), here(size);
  std::iota(there.begin(), there.end(), 5);
  auto const place = std::bit_cast<std::uint64_t>(there.data());
  read_memory(own_process(), place, std::as_writable_bytes(std::span(here)));
  EXPECT_EQ(here, there);
  for (auto& value : here) value += 7;
  write_memory(own_process(), place, std::as_bytes(std::span(here)));
  EXPECT_EQ(here, there);
}

/// More rows than the system takes at a time, and rows that are longer than what a thread has.
TEST(ProcessMemory, IsMovedRowByRow) {
  for (auto const& [width, rows] :
       {std::pair<std::size_t, std::size_t>{3, 5001}, {40'000, 5}, {7, 1}}) {
    std::size_t const there_pitch = width + 2, here_pitch = width + 1;
    std::vector<std::uint64_t> there(there_pitch * rows), here(here_pitch * rows);
    std::iota(there.begin(), there.end(), 5);
    MemoryRows const moved{std::bit_cast<std::uint64_t>(there.data()),
                           there_pitch * sizeof(there[0]),
                           reinterpret_cast<std::byte*>(here.data()),
                           here_pitch * sizeof(here[0]),
                           width * sizeof(here[0]),
                           rows};
    read_rows(own_process(), moved);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < here_pitch; ++i)
        ASSERT_EQ(here[row * here_pitch + i], i < width ? 5 + row * there_pitch + i : 0);
    for (auto& value : here) value += 7;
    auto const before = there;
    write_rows(own_process(), moved);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < there_pitch; ++i) {
        std::size_t const at = row * there_pitch + i;
        ASSERT_EQ(there[at], before[at] + (i < width ? 7 : 0));
      }
  }
}

TEST(ProcessMemory, WhatIsNotThere) {
  ProcessName other = own_process();
  EXPECT_TRUE(reaches(other));
  other.token[0] ^= 1;
  EXPECT_FALSE(reaches(other));
  other = own_process();
  other.process = 1 << 30;
  EXPECT_FALSE(reaches(other));
  std::byte byte{};
  EXPECT_THROW(read_memory(other, other.place, {&byte, 1}), Error);
  EXPECT_THROW(write_memory(own_process(), 0, {&byte, 1}), Error);
  EXPECT_THROW(read_rows(own_process(), {0, 8, &byte, 8, 1, 1}), Error);
}

}  // namespace
}  // namespace gridstride
