#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "model/phase_times.hpp"

namespace gridstride {
namespace {

TEST(PhaseTimes, AddsUpEachPhaseByItself) {
  PhaseTimes times(Stream(Device::open(Backend::cpu)), {"read", "solve"});
  auto const wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  times.measure("solve", wait);
  times.measure("solve", wait);
  EXPECT_GE(times.seconds("solve"), 0.01);
  EXPECT_EQ(times.seconds("read"), 0);
  auto const values = times.values();
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].name, "seconds.read");
  EXPECT_EQ(values[0].value, 0);
  EXPECT_EQ(values[1].name, "seconds.solve");
  EXPECT_EQ(values[1].value, times.seconds("solve"));
}

TEST(PhaseTimes, RefusesAPhaseThatThereIsNot) {
  PhaseTimes times(Stream(Device::open(Backend::cpu)), {"read"});
  bool done = false;
  EXPECT_THROW(times.measure("solve", [&] { done = true; }), std::out_of_range);
  EXPECT_FALSE(done);
  EXPECT_THROW(times.seconds("solve"), std::out_of_range);
}

}  // namespace
}  // namespace gridstride
