#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "core/buffer.hpp"
#include "core/slab_ring.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// From pinned slabs to slabs of the device and from there to an array, both of which are used again
/// while what was in them before may be under way.
TEST(SlabRingGpu, PiecesComeToTheirPlaces) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  constexpr std::size_t piece = 5000;
  for (std::size_t const size : {1u, 4999u, 2'000'003u})
    for (std::int64_t const each : {1, 7})
      for (std::int64_t const slabs : {1, 2, 4})
        for (int const threads : {1, 6}) {
          std::vector<std::int32_t> source(size), found(size, -1);
          std::iota(source.begin(), source.end(), 1);
          SlabRing ring(stream, {static_cast<std::int64_t>((size + piece - 1) / piece), each, slabs,
                                 threads});
          std::size_t const slab_size = piece * static_cast<std::size_t>(each);
          auto const all = static_cast<std::size_t>(slabs) * slab_size;
          Buffer<std::int32_t> host(stream, MemorySpace::pinned, all),
              device(stream, MemorySpace::device, all), target(stream, MemorySpace::device, size);
          auto const place = [&](std::int64_t first, std::int64_t last) {
            std::size_t const begin = static_cast<std::size_t>(first) * piece;
            return std::pair(begin, std::min(static_cast<std::size_t>(last) * piece, size) - begin);
          };
          SlabRing::Work work;
          work.fill = [&](std::int64_t n, std::size_t slab) {
            auto const [begin, count] = place(n, n + 1);
            std::copy_n(
                source.begin() + static_cast<std::ptrdiff_t>(begin), count,
                host.data() + slab * slab_size + static_cast<std::size_t>(n % each) * piece);
          };
          work.copy = [&](SlabRing::Filling const& filling, Stream& copies) {
            auto const count = place(filling.first, filling.last).second;
            copy_async(device.span().subspan(filling.slab * slab_size, count),
                       host.span().subspan(filling.slab * slab_size, count), copies);
          };
          work.take = [&](SlabRing::Filling const& filling, Stream& on) {
            auto const [begin, count] = place(filling.first, filling.last);
            copy_async(target.span().subspan(begin, count),
                       device.span().subspan(filling.slab * slab_size, count), on);
          };
          ring.run(work);
          copy_async(std::span(found), std::as_const(target).span(), stream);
          stream.synchronize();
          ASSERT_EQ(found, source) << size << " " << each << " " << slabs << " " << threads;
        }
}

TEST(SlabRingGpu, FailuresLeaveTheDeviceUsable) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  SlabRing ring(stream, {50, 2, 2, 4});
  SlabRing::Work work;
  work.fill = [](std::int64_t n, std::size_t) {
    if (n >= 20) throw std::runtime_error(std::to_string(n));
  };
  work.copy = [](SlabRing::Filling const&, Stream&) {};
  work.take = [](SlabRing::Filling const&, Stream&) {};
  try {
    ring.run(work);
    ADD_FAILURE() << "nothing is thrown";
  } catch (std::runtime_error const& error) {
    EXPECT_STREQ(error.what(), "20");
  }
  work.fill = [](std::int64_t, std::size_t) {};
  EXPECT_GE(ring.run(work), 0);
}

}  // namespace
}  // namespace gridstride
