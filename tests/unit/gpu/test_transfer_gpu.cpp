#include <gtest/gtest.h>

#include <array>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/error.hpp"
#include "kernels/transfer/transfer.hpp"
#include "support/transfer_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

constexpr std::array variants = {"pageable", "pinned",   "mapped",    "managed",
                                 "pitched",  "constant", "overlapped"};
/// Those that take pageable memory too.
constexpr std::array patient = {"pageable", "pitched", "constant", "overlapped"};

Stream gpu_stream() { return Stream(Device::open(Backend::cuda)); }

template <class T>
void compare(std::string_view variant, MemorySpace space, std::size_t size, std::size_t offset,
             int pieces = 4) {
  auto stream = gpu_stream();
  test::RoundTrip<T> trip(stream, space, size, offset);
  EXPECT_EQ(
      test::first_difference(test::expected_round_trip<T>(size, offset), trip.run(variant, pieces)),
      -1)
      << variant << ", " << size << " elements, offset " << offset << ", " << pieces << " pieces";
}

void compare_variants(std::size_t size) {
  for (auto const* variant : variants)
    for (std::size_t const offset : {0, 1}) {
      auto const space = transfer::host_space(Backend::cuda, variant);
      compare<float>(variant, space, size, offset);
      compare<double>(variant, space, size, offset);
    }
}

TEST(TransferGpu, TablesNameTheSameVariants) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::vector<std::string_view> names;
  for (auto const& row : transfer::variants<float>())
    if (row.backend == Backend::cuda) names.push_back(row.name);
  EXPECT_EQ(names, std::vector<std::string_view>(variants.begin(), variants.end()));
}

TEST(TransferGpu, VariantsEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::size_t const size : {0, 1, 31, 32, 33, 255, 1023, 1025}) compare_variants(size);
}

TEST(TransferGpu, WholeRowsAndPiecesEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  // Rows of 4000 elements; pieces of 64 KiB; pieces of 256 KiB.
  for (std::size_t const size : {3999, 4000, 4001, 8000, 8191, 8192, 8193, 16384, 16385, 65537})
    compare_variants(size);
}

TEST(TransferGpu, LargeArraysEqualTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  compare_variants(999983);
}

TEST(TransferGpu, TakesPageableMemoryWhereItSaysSo) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (auto const* variant : patient) {
    for (std::size_t const size : {1, 1025, 16385}) {
      compare<float>(variant, MemorySpace::host, size, 1);
      compare<double>(variant, MemorySpace::managed, size, 1);
    }
  }
}

TEST(TransferGpu, PageableMemoryMayBeOverwrittenAfterTheCall) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  constexpr std::size_t size = 300000;
  auto const expected = test::expected_round_trip<float>(size, 0);
  for (auto const* variant : patient) {
    test::RoundTrip<float> trip(stream, MemorySpace::host, size, 0);
    transfer::round_trip<float>(stream, trip.a, trip.b, trip.x(), trip.y(), variant);
    std::fill(trip.x().begin(), trip.x().end(), -1.0F);
    EXPECT_EQ(test::first_difference(expected, trip.result()), -1) << variant;
  }
}

TEST(TransferGpu, OverlappedGivesTheSameBitsOnAnyNumberOfStreams) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  // Fewer pieces than may be there at a time, and many rounds of them.
  for (std::size_t const size : {70001, 600011})
    for (int pieces = 1; pieces <= 8; ++pieces) {
      compare<float>("overlapped", MemorySpace::pinned, size, 0, pieces);
      compare<double>("overlapped", MemorySpace::pinned, size, 1, pieces);
    }
}

TEST(TransferGpu, RepeatsBitForBit) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  for (auto const* variant : variants) {
    auto const space = transfer::host_space(Backend::cuda, variant);
    test::RoundTrip<double> trip(stream, space, 70001, 0);
    auto const first = trip.run(variant);
    for (int repeat = 1; repeat < 100; ++repeat) {
      std::fill(trip.y().begin(), trip.y().end(), trip.poison);
      ASSERT_EQ(test::first_difference(first, trip.run(variant)), -1)
          << variant << ", run " << repeat;
    }
  }
}

TEST(TransferGpu, KeepsTheOrderOfTheCallersStream) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  constexpr std::size_t size = 700001;
  std::mt19937_64 generator(5);
  auto const values = test::wild_values<float>(size, generator);
  auto const source = test::to_device(std::span(values), stream);
  std::vector<float> expected(size);
  Stream host(Device::open(Backend::cpu));
  transfer::round_trip<float>(host, 2, 1, values, expected, "reference");
  for (auto const* variant : {"pinned", "mapped", "pitched", "constant", "overlapped"}) {
    Buffer<float> x(stream, MemorySpace::pinned, size), y(stream, MemorySpace::pinned, size);
    Buffer<float> target(stream, MemorySpace::device, size);
    for (int repeat = 0; repeat < 5; ++repeat) {
      std::fill_n(x.data(), size, 0.0F);
      std::fill_n(y.data(), size, 0.0F);
      // Nothing waits on the host until all is queued: x comes from the device, y goes back there.
      copy_async(x.span(), source.span(), stream);
      transfer::round_trip<float>(stream, 2, 1, x.span(), y.span(), variant);
      copy_async(target.span(), y.span(), stream);
      ASSERT_EQ(test::first_difference(expected, test::to_host(target.span(), stream)), -1)
          << variant << ", run " << repeat;
    }
  }
}

TEST(TransferGpu, ConstantTakesTurnsBetweenStreams) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  constexpr std::size_t size = 100003;
  constexpr int callers = 4, repeats = 20;
  std::array<int, callers> wrong = {};
  std::vector<std::thread> threads;
  for (int caller = 0; caller < callers; ++caller)
    threads.emplace_back([caller, &wrong] {
      auto stream = gpu_stream();
      Buffer<float> x(stream, MemorySpace::pinned, size), y(stream, MemorySpace::pinned, size);
      for (int repeat = 0; repeat < repeats; ++repeat) {
        float const value = static_cast<float>(caller * repeats + repeat);
        std::fill_n(x.data(), size, value);
        transfer::round_trip<float>(stream, 1, 0.5F, x.span(), y.span(), "constant");
        stream.synchronize();
        for (float const found : y.span()) wrong[caller] += found != value + 0.5F;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, callers>{}));
}

TEST(TransferGpu, RefusesMemoryThatItCannotUse) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  auto const message = [&](char const* variant, MemorySpace x_space, MemorySpace y_space) {
    Buffer<float> x(stream, x_space, 8), y(stream, y_space, 8);
    try {
      transfer::round_trip<float>(stream, 1, 0, x.span(), y.span(), variant);
    } catch (std::invalid_argument const& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  using enum MemorySpace;
  EXPECT_EQ(message("pinned", host, pinned),
            "transfer: x lies in pageable memory (pinned needs pinned memory)");
  EXPECT_EQ(message("pinned", pinned, managed),
            "transfer: y lies in managed memory (pinned needs pinned memory)");
  EXPECT_EQ(message("mapped", pinned, host),
            "transfer: y lies in pageable memory (mapped needs pinned memory)");
  EXPECT_EQ(message("managed", managed, pinned),
            "transfer: y lies in pinned memory (managed needs managed memory)");
  for (std::string const variant : patient)
    EXPECT_EQ(message(variant.c_str(), device, host),
              "transfer: x lies in device memory (" + variant + " needs host memory)");
}

TEST(TransferGpu, LargeManagedArraysMustFitTheFreeMemory) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  // Each fits, both do not; nothing touches them, so that no page is made. A device that cannot
  // migrate pages refuses the second array.
  std::size_t const size = stream.device().free_memory() / 5 * 3;
  EXPECT_THROW(
      {
        Buffer<float> x(stream, MemorySpace::managed, size / sizeof(float));
        Buffer<float> y(stream, MemorySpace::managed, size / sizeof(float));
        transfer::round_trip<float>(stream, 1, 0, x.span(), y.span(), "managed");
      },
      Error);
}

TEST(TransferGpu, CanBeCapturedInAGraph) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto stream = gpu_stream();
  constexpr std::size_t size = 70001;
  auto const expected = test::expected_round_trip<float>(size, 0);
  for (auto const* variant : {"pinned", "mapped", "pitched", "overlapped"}) {
    auto const space = transfer::host_space(Backend::cuda, variant);
    test::RoundTrip<float> trip(stream, space, size, 0);
    auto const graph = Graph::capture(stream, [&] {
      transfer::round_trip<float>(stream, trip.a, trip.b, trip.x(), trip.y(), variant);
    });
    for (int launch = 0; launch < 2; ++launch) {
      std::fill(trip.y().begin(), trip.y().end(), trip.poison);
      graph.launch(stream);
      EXPECT_EQ(test::first_difference(expected, trip.result()), -1) << variant;
    }
  }
  for (auto const* variant : {"managed", "constant"}) {
    auto const space = transfer::host_space(Backend::cuda, variant);
    test::RoundTrip<float> trip(stream, space, size, 0);
    EXPECT_THROW(Graph::capture(stream,
                                [&] {
                                  transfer::round_trip<float>(stream, trip.a, trip.b, trip.x(),
                                                              trip.y(), variant);
                                }),
                 std::invalid_argument)
        << variant;
  }
}

}  // namespace
}  // namespace gridstride
