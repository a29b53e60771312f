#include <algorithm>
#include <mutex>

#include "core/buffer.hpp"
#include "io/slabs.hpp"
#include "support/output_cases.hpp"
#include "support/reduction_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

class MemorySink final : public FieldSink {
 public:
  explicit MemorySink(std::size_t size) : FieldSink(size), memory(size) {}
  std::vector<std::byte> memory;

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    std::ranges::copy(bytes, memory.begin() + static_cast<std::ptrdiff_t>(first_byte));
  }
};

/// There and back, with more slabs than lanes.
TEST(SlabsGpu, MoveEveryByte) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (std::size_t const size :
       {std::size_t{1}, io::Slabs::bytes - 1, io::Slabs::bytes + 1, 9 * io::Slabs::bytes + 12345}) {
    std::vector<std::byte> expected(size);
    for (std::size_t i = 0; i < size; ++i)
      expected[i] = static_cast<std::byte>(i * 2654435761U >> 9);
    Buffer<std::byte> array(stream, MemorySpace::device, size);
    io::Slabs slabs(stream, size);
    slabs.read(array.span(), [&](std::uint64_t first, std::span<std::byte> slab) {
      std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(first), slab.size(), slab.begin());
    });
    MemorySink one(size), other(size);
    io::Slabs::Output const output = {array.data(), size, {&one, &other}};
    slabs.write(std::span(&output, 1));
    EXPECT_TRUE(one.memory == expected) << size;
    EXPECT_TRUE(other.memory == expected) << size;
  }
}

TEST(OutputPipelineGpu, SameFilesWithAndWithoutRoom) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_same_files_with_and_without_room(Backend::cuda);
}

TEST(OutputPipelineGpu, FilesOfWhatStaysInTheHostsMemory) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_files_of_what_stays(Backend::cuda);
}

TEST(ReductionGpu, FilesHoldEveryNthPointRounded) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_reductions("cuda");
}

TEST(ReductionGpu, WhatFloat32DoesNotReachIsTold) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_reach("cuda");
}

TEST(OutputPipelineGpu, NoCheckpointOfWhatIsNotFinite) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_no_checkpoint_of_what_is_not_finite(Backend::cuda);
}

}  // namespace
}  // namespace gridstride
