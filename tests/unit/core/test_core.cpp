#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/graph.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "grid/grid.hpp"

namespace gridstride {
namespace {

TEST(Text, FormatsBytes) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(64.0 * 1024 * 1024 * 1024), "64.0 GiB");
}

TEST(Text, FormatsSi) {
  EXPECT_EQ(format_si(0), "0.00");
  EXPECT_EQ(format_si(12), "12.0");
  EXPECT_EQ(format_si(999.6), "1.00 k");
  EXPECT_EQ(format_si(431.4e6), "431 M");
  EXPECT_EQ(format_si(1.25e9), "1.25 G");
}

TEST(Text, FormatsChoices) {
  std::array<std::string_view, 3> const names = {"a", "b", "c"};
  EXPECT_EQ(format_choices(std::span(names).first(1)), "'a'");
  EXPECT_EQ(format_choices(std::span(names).first(2)), "'a' or 'b'");
  EXPECT_EQ(format_choices(names), "'a', 'b' or 'c'");
}

TEST(Text, FindsTheNearestName) {
  std::array<std::string_view, 3> const names = {"diffusivity", "source", "safety"};
  EXPECT_EQ(nearest_name("difusivity", names), "diffusivity");
  EXPECT_EQ(nearest_name("soruce", names), "source");
  EXPECT_EQ(nearest_name("saftey", names), "safety");
  EXPECT_EQ(nearest_name("banana", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("SAFETY", names), "safety");
  EXPECT_EQ(nearest_name("Soruce", names), "source");
}

TEST(Problem, NamesItsPlace) {
  EXPECT_EQ((Problem{"a.yaml", 3, 14, "time.end", "is wrong"}.text()),
            "a.yaml:3:14: time.end: is wrong");
  EXPECT_EQ((Problem{"a.yaml", 0, 0, "", "cannot be read"}.text()), "a.yaml: cannot be read");
  ConfigError const both({{"a", 1, 2, "x", "bad"}, {"a", 3, 4, "y", "worse"}});
  EXPECT_STREQ(both.what(), "a:1:2: x: bad\na:3:4: y: worse");
}

TEST(NumericalError, NamesStepTimeFieldAndCell) {
  NumericalError const error("NaN", 12, 0.5, "u", {1, 2, 3});
  EXPECT_STREQ(error.what(), "NaN in field 'u' at cell (1, 2, 3), step 12, time 0.5");
}

TEST(Device, OpensTheHost) {
  Device const host = Device::open(Backend::cpu);
  EXPECT_EQ(host.backend(), Backend::cpu);
  EXPECT_FALSE(host.name().empty());
  EXPECT_GT(host.processors(), 0);
  EXPECT_GT(host.free_memory(), 0u);
  EXPECT_LE(host.free_memory(), host.total_memory());
  EXPECT_THROW(Device::open(Backend::cpu, 1), Error);
  EXPECT_EQ(Device::available().front().backend(), Backend::cpu);
}

TEST(Device, SaysWhyThereIsNoGpu) {
  std::string const reason = Device::cuda_unavailable_reason();
  if (reason.empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(reason == "this program was built without CUDA", !built_with_cuda());
  try {
    Device::open(Backend::cuda);
    FAIL();
  } catch (Error const& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos);
  }
}

TEST(Buffer, OwnsAlignedMemoryOnTheHost) {
  Stream stream(Device::open(Backend::cpu));
  for (auto const space :
       {MemorySpace::host, MemorySpace::pinned, MemorySpace::device, MemorySpace::managed}) {
    Buffer<double> buffer(stream, space, 5);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_EQ(buffer.size(), 5u);
    EXPECT_EQ(buffer.space(), space);
    zero_async(buffer.span(), stream);
    EXPECT_EQ(buffer.span()[4], 0);
  }
  EXPECT_EQ(Buffer<int>(stream, MemorySpace::host, 0).data(), nullptr);
}

TEST(Buffer, Moves) {
  Stream stream(Device::open(Backend::cpu));
  Buffer<int> a(stream, MemorySpace::host, 3);
  int* const memory = a.data();
  Buffer<int> b = std::move(a);
  EXPECT_EQ(b.data(), memory);
  b = Buffer<int>(stream, MemorySpace::host, 4);
  EXPECT_EQ(b.size(), 4u);
}

TEST(Buffer, RefusesWhatDoesNotFit) {
  Stream stream(Device::open(Backend::cpu));
  EXPECT_THROW(Buffer<char>(stream, MemorySpace::host, std::numeric_limits<std::size_t>::max()),
               Error);
  Buffer<int> a(stream, MemorySpace::host, 3), b(stream, MemorySpace::host, 4);
  EXPECT_THROW(copy_async(a.span(), b.span(), stream), std::invalid_argument);
}

TEST(Stream, HostWorkIsDoneWhenQueued) {
  Stream stream(Device::open(Backend::cpu));
  Event start(stream.device()), stop(stream.device());
  stream.record(start);
  int calls = 0;
  Graph const none;
  EXPECT_FALSE(static_cast<bool>(none));
  auto const graph = Graph::capture(stream, [&] { ++calls; });
  EXPECT_TRUE(static_cast<bool>(graph));
  graph.launch(stream);
  graph.launch(stream);
  EXPECT_EQ(calls, 2);
  stream.record(stop);
  stream.wait(stop);
  stream.synchronize();
  EXPECT_GE(elapsed_seconds(start, stop), 0);
}

TEST(Stream, TheUrgentOneOfTheHostRunsAtOnceToo) {
  Stream stream(Device::open(Backend::cpu));
  Stream urgent = stream.urgent();
  EXPECT_EQ(urgent.backend(), Backend::cpu);
  int calls = 0;
  Graph::capture(urgent, [&] { ++calls; }).launch(urgent);
  EXPECT_EQ(calls, 1);
}

TEST(Grid, NumbersItsPoints) {
  Grid const grid{.dims = 3, .points = {4, 5, 6}, .origin = {1, 2, 3}, .spacing = {0.5, 1, 2}};
  EXPECT_EQ(grid.size(), 120);
  EXPECT_EQ(grid.face_size(0), 30);
  EXPECT_EQ(grid.face_size(2), 20);
  EXPECT_EQ(grid.coordinate(0, 3), 2.5);
  EXPECT_EQ(grid.indices(3 + 4 * (2 + 5 * 4)), (std::array<std::int64_t, 3>{3, 2, 4}));
  EXPECT_EQ(format_points(grid), "4 x 5 x 6");
}

}  // namespace
}  // namespace gridstride
