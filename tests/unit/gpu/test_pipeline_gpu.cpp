#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "core/pipeline.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

constexpr auto queued = StageKind::queued;

/// Chunks of a fixed size; the last one is smaller.
struct Chunks {
  std::size_t size, each;
  std::int64_t count() const { return static_cast<std::int64_t>((size + each - 1) / each); }
  std::size_t first(std::int64_t n) const { return static_cast<std::size_t>(n) * each; }
  std::size_t length(std::int64_t n) const { return std::min(each, size - first(n)); }
};

/// From one host array to another by way of slabs and the device: host, queued and host stages.
TEST(PipelineGpu, CarriesEveryChunkThere) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (int k = 0; k < 16; ++k)
    for (std::size_t const size : {1u, 1000u, 100'003u}) {
      int const threads = 1 + k / 2;
      std::size_t const each = 1 + k % 2;
      Chunks const chunks{size, 997};
      std::vector<float> source(size), target(size, -1);
      std::iota(source.begin(), source.end(), 1.0f);
      Pipeline pipeline(stream, threads, each, static_cast<std::size_t>(k) % 3);
      std::vector<Slab> slabs;
      std::vector<Buffer<float>> second;
      for (Lane& lane : pipeline.lanes()) {
        slabs.emplace_back(lane.stream(), chunks.each * sizeof(float));
        second.emplace_back(lane.stream(), MemorySpace::device, chunks.each);
      }
      auto const bytes = [&](std::int64_t n) { return chunks.length(n) * sizeof(float); };
      auto const report = pipeline.run(
          chunks.count(),
          {{"read", StageKind::host,
            [&](Lane& lane, std::int64_t n) {
              auto const slab = slabs[lane.index()].host<float>(chunks.length(n));
              std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(chunks.first(n)),
                          slab.size(), slab.begin());
              lane.moved(bytes(n));
            }},
           {"in", queued,
            [&](Lane& lane, std::int64_t n) {
              slabs[lane.index()].to_device(bytes(n), lane.stream());
              lane.moved(bytes(n));
            }},
           {"there and back", queued,
            [&](Lane& lane, std::int64_t n) {
              auto const values = slabs[lane.index()].device<float>(chunks.length(n));
              auto const other = second[lane.index()].span().first(values.size());
              copy_async(other, std::span<float const>(values), lane.stream());
              zero_async(values, lane.stream());
              copy_async(values, std::span<float const>(other), lane.stream());
            }},
           {"out", queued,
            [&](Lane& lane, std::int64_t n) {
              auto& slab = slabs[lane.index()];
              slab.to_host(bytes(n), lane.stream());
            },
            true},
           {"write", StageKind::host,
            [&](Lane& lane, std::int64_t n) {
              auto const slab = slabs[lane.index()].host<float>(chunks.length(n));
              std::copy(slab.begin(), slab.end(),
                        target.begin() + static_cast<std::ptrdiff_t>(chunks.first(n)));
            }}},
          true);
      EXPECT_EQ(target, source) << threads << " threads of " << each << ", " << size;
      EXPECT_EQ(report.stages[1].bytes, static_cast<double>(size * sizeof(float)));
      ASSERT_EQ(report.timeline.size(), 5 * static_cast<std::size_t>(chunks.count()));
      // One clock: a chunk's stages follow each other, though it is measured in two ways.
      constexpr double clocks_agree = 2e-3;
      auto const count = static_cast<std::size_t>(chunks.count());
      for (std::size_t i = count; i < report.timeline.size(); ++i)
        EXPECT_GE(report.timeline[i].start, report.timeline[i - count].end - clocks_agree);
    }
}

/// On the device an ordered stage begins when that of the chunk before has ended: all lanes add to
/// the same sum, s = 0.7·s + value, which rounds differently in any other order.
TEST(PipelineGpu, OrderedStagesGoOnFromChunkToChunk) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::size_t size = 1 << 20;
  constexpr std::int64_t chunks = 41;
  auto const value = [](std::int64_t n) { return 1.0f / static_cast<float>(n + 3); };
  float expected = 0;
  for (std::int64_t n = 0; n < chunks; ++n) expected = 0.7f * expected + value(n);
  for (int const k : {2, 3, 4, 5, 6, 7, 16, 17}) {
    Buffer<float> sum(stream, MemorySpace::device, size);
    zero_async(sum.span(), stream);  // which the lanes wait for
    Pipeline pipeline(stream, k / 2, k % 2 == 0 ? 1 : 2 + static_cast<std::size_t>(k) % 3);
    std::vector<Buffer<float>> own;
    for (Lane& lane : pipeline.lanes()) own.emplace_back(lane.stream(), MemorySpace::device, size);
    pipeline.run(chunks, {{"prepare", queued,
                           [&](Lane& lane, std::int64_t n) {
                             elementwise::fill(lane.stream(), value(n), own[lane.index()].span());
                           }},
                          {"add", queued,
                           [&](Lane& lane, std::int64_t) {
                             elementwise::scale(lane.stream(), 0.7f, sum.span());
                             elementwise::axpy<float>(lane.stream(), 1.0f, own[lane.index()].span(),
                                                      sum.span());
                           },
                           true}});
    EXPECT_EQ(test::to_host(sum.span(), stream), std::vector<float>(size, expected)) << k;
  }
}

TEST(PipelineGpu, ThrowsWhatTheFirstFailingChunkThrows) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::size_t size = 1 << 16;
  for (int const k : {2, 3, 4, 5, 10, 11})
    for (int failing = 0; failing < 3; ++failing) {
      Pipeline pipeline(stream, k / 2, 1 + static_cast<std::size_t>(k) % 2);
      std::vector<Slab> slabs;
      for (Lane& lane : pipeline.lanes()) slabs.emplace_back(lane.stream(), size);
      auto const stage = [&](int s, auto const& work) {
        return [&, s, work](Lane& lane, std::int64_t n) {
          work(lane);
          if (s == failing && n >= 6) throw std::runtime_error(std::to_string(n));
        };
      };
      auto const in = stage(0, [&](Lane& l) { slabs[l.index()].to_device(size, l.stream()); });
      auto const out = stage(1, [&](Lane& l) { slabs[l.index()].to_host(size, l.stream()); });
      auto const look = stage(2, [](Lane&) {});
      std::vector<PipelineStage> const stages = {
          {"in", queued, in}, {"out", queued, out, true}, {"look", StageKind::host, look, true}};
      try {
        pipeline.run(17, stages);
        FAIL() << "nothing was thrown";
      } catch (std::runtime_error const& error) {
        EXPECT_STREQ(error.what(), "6");
      }
      EXPECT_NO_THROW(pipeline.run(5, stages));  // which stops before it fails
    }
}

TEST(PipelineGpu, QueuesNoMoreThanItHasLanesFor) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Pipeline pipeline(stream, 2);
  Buffer<float> values(stream, MemorySpace::device, 1 << 22);
  std::atomic<std::int64_t> queued_chunks = 0, done = 0;
  pipeline.run(50, {{"queue", queued,
                     [&](Lane& lane, std::int64_t) {
                       ++queued_chunks;
                       elementwise::fill(lane.stream(), 1.0f, values.span());
                     },
                     true},
                    {"look", StageKind::host, [&](Lane&, std::int64_t) {
                       ++done;
                       EXPECT_LE(queued_chunks - done, 2);
                     }}});
  EXPECT_EQ(done, 50);
}

}  // namespace
}  // namespace gridstride
