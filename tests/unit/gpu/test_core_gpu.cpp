#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/upload.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

TEST(CoreGpu, DeviceTellsWhatItIs) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Device const device = Device::open(Backend::cuda);
  EXPECT_EQ(device.backend(), Backend::cuda);
  EXPECT_FALSE(device.name().empty());
  EXPECT_GE(device.compute_capability(), 75);
  EXPECT_GT(device.processors(), 0);
  EXPECT_LE(device.free_memory(), device.total_memory());
  EXPECT_GE(Device::available().size(), 2u);
  EXPECT_THROW(Device::open(Backend::cuda, 1000), Error);
}

/// What goes through slabs, and what is too little for them: the last piece is not whole.
TEST(CoreGpu, UploadsArriveWhole) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (std::size_t const size : {std::size_t{0}, std::size_t{100'003}, (std::size_t{1} << 25) + 7,
                                 (std::size_t{1} << 26) + 12'345}) {
    std::vector<int> values(size), back(size);
    std::iota(values.begin(), values.end(), 1);
    Buffer<int> there(stream, MemorySpace::device, size);
    zero_async(there.span(), stream);
    upload(there.span(), std::span<int const>(values), stream);
    copy_async(std::span(back), std::as_const(there).span(), stream);
    stream.synchronize();
    EXPECT_EQ(back, values) << size;
  }
}

/// Little pinned memory comes from the driver, much is our own.
TEST(CoreGpu, CopiesBetweenAllSpaces) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (std::size_t const size : {100003, 1500007}) {
    std::vector<int> values(size);
    std::iota(values.begin(), values.end(), 7);
    for (auto const from :
         {MemorySpace::host, MemorySpace::pinned, MemorySpace::device, MemorySpace::managed}) {
      for (auto const to :
           {MemorySpace::host, MemorySpace::pinned, MemorySpace::device, MemorySpace::managed}) {
        Buffer<int> source(stream, from, size), target(stream, to, size);
        copy_async(source.span(), std::span(values), stream);
        if (to != MemorySpace::host) zero_async(target.span(), stream);
        copy_async(target.span(), source.span(), stream);
        EXPECT_EQ(test::to_host(target.span(), stream), values);
      }
    }
  }
}

/// Copies that are under way come to their end.
TEST(CoreGpu, PinnedMemoryGoesAfterItsCopies) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (std::size_t const size : {std::size_t{1} << 18, std::size_t{1} << 26}) {
    std::vector<int> values(size);
    std::iota(values.begin(), values.end(), 7);
    Buffer<int> target(stream, MemorySpace::device, size);
    {
      Buffer<int> source(stream, MemorySpace::pinned, size);
      std::copy(values.begin(), values.end(), source.data());
      copy_async(target.span(), source.span(), stream);
    }
    EXPECT_EQ(test::to_host(target.span(), stream), values);
  }
}

TEST(CoreGpu, FreedMemoryIsFreeAgain) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::size_t const size = stream.device().free_memory() / 2;
  for (int i = 0; i < 4; ++i) Buffer<char>(stream, MemorySpace::device, size);
  stream.synchronize();
  EXPECT_GE(stream.device().free_memory(), size);
}

TEST(CoreGpu, TooMuchMemoryIsRefusedWithTheNumbers) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (auto const space : {MemorySpace::pinned, MemorySpace::device, MemorySpace::managed}) {
    try {
      Buffer<char>(stream, space, std::size_t{1} << 45);
      FAIL() << "32 TiB were given";
    } catch (Error const& error) {
      EXPECT_NE(std::string(error.what()).find("32.0 TiB"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("free"), std::string::npos) << error.what();
    }
  }
  Buffer<char> still_works(stream, MemorySpace::device, 1 << 20);
  EXPECT_NE(still_works.data(), nullptr);
}

TEST(CoreGpu, StreamsWaitForEvents) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Device const device = Device::open(Backend::cuda);
  Stream first(device), second(device);
  constexpr std::size_t size = 1 << 26;
  std::vector<int> const values(size, 5);
  Buffer<int> pinned(first, MemorySpace::pinned, size), middle(first, MemorySpace::device, size);
  Buffer<int> end(second, MemorySpace::device, size);
  std::copy(values.begin(), values.end(), pinned.data());
  zero_async(middle.span(), first);
  Event start(device), done(device);
  first.record(start);
  copy_async(middle.span(), pinned.span(), first);
  first.record(done);
  second.wait(done);
  copy_async(end.span(), middle.span(), second);
  EXPECT_EQ(test::to_host(end.span(), second), values);
  EXPECT_GT(elapsed_seconds(start, done), 0);
}

TEST(CoreGpu, CopiesOfAStreamShareAnUrgentOne) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Stream const copy = stream;
  Stream urgent = stream.urgent();
  EXPECT_NE(urgent.native(), stream.native());
  EXPECT_EQ(copy.urgent().native(), urgent.native());
  EXPECT_EQ(urgent.urgent().native(), urgent.native());
  std::vector<int> const values = {1, 2, 3};
  Buffer<int> memory(stream, MemorySpace::device, 3);
  Event done(stream.device());
  copy_async(memory.span(), std::span(values), stream);
  stream.record(done);
  urgent.wait(done);
  EXPECT_EQ(test::to_host(memory.span(), urgent), values);
}

TEST(CoreGpu, AGraphRepeatsItsWork) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Buffer<int> a(stream, MemorySpace::device, 3), b(stream, MemorySpace::device, 3);
  std::vector<int> const values = {1, 2, 3};
  auto const graph = Graph::capture(stream, [&] { copy_async(b.span(), a.span(), stream); });
  copy_async(a.span(), std::span(values), stream);
  zero_async(b.span(), stream);
  graph.launch(stream);
  EXPECT_EQ(test::to_host(b.span(), stream), values);
}

TEST(CoreGpu, AFailedCaptureLeavesTheStreamUsable) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Buffer<int> a(stream, MemorySpace::device, 3);
  EXPECT_THROW(Graph::capture(stream, [] { throw Error("on purpose"); }), Error);
  zero_async(a.span(), stream);
  EXPECT_EQ(test::to_host(a.span(), stream), (std::vector<int>{0, 0, 0}));
}

}  // namespace
}  // namespace gridstride
