#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench.hpp"
#include "bench/kernel_figures.hpp"
#include "bench/workloads.hpp"
#include "core/error.hpp"
#include "core/kernel_info.hpp"
#include "kernels/families.hpp"
#include "tests/support/bench_cases.hpp"
#include "tests/support/machine_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::bench {
namespace {

void ignore(std::string_view) {}

/// The same bits on the GPU as on the host, whatever the size and the alignment.
template <class T>
void compare_random(machine::Distribution const& distribution) {
  Stream host(Device::open(Backend::cpu)), stream(Device::open(Backend::cuda));
  for (std::int64_t const size : {0, 1, 31, 32, 33, 255, 1023, 1025, 100'003})
    EXPECT_EQ(test::filled<T>(stream, size, 5, distribution),
              test::filled<T>(host, size, 5, distribution))
        << size << " of " << sizeof(T) << " bytes";
}

TEST(MachineGpu, RandomValuesAreThoseOfTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  machine::Distribution bounded;
  bounded.below = 1001;
  compare_random<std::uint8_t>({.zeros = 0.9});
  compare_random<std::int32_t>({});
  compare_random<std::uint32_t>(bounded);
  compare_random<std::int64_t>({});
  compare_random<std::int64_t>(bounded);
  compare_random<float>({.bits = 24});
  compare_random<float>({.bits = 7});
  compare_random<double>({.bits = 53, .zeros = 0.1});
}

TEST(MachineGpu, LargeMeasureFindsEveryRoof) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::map<std::string_view, double> rate;
  for (auto const& roof : machine::measure(stream)) rate[roof.name] = roof.rate;
  for (auto const name :
       {machine::copy_roof, machine::read_roof, machine::to_device_roof, machine::to_host_roof,
        machine::duplex_roof, machine::float32_roof, machine::float64_roof})
    EXPECT_GT(rate[name], 1e8) << name;
  // The memory is faster than the link, float32 at least as fast as float64.
  EXPECT_GT(rate[machine::copy_roof], rate[machine::to_device_roof]);
  EXPECT_GT(rate[machine::read_roof], rate[machine::to_host_roof]);
  EXPECT_GT(rate[machine::duplex_roof], 0.9 * rate[machine::to_device_roof]);
  EXPECT_LT(rate[machine::duplex_roof],
            1.1 * (rate[machine::to_device_roof] + rate[machine::to_host_roof]));
  EXPECT_GT(rate[machine::float32_roof], 0.9 * rate[machine::float64_roof]);
  if (stream.device().compute_capability() >= 80) {
    EXPECT_GT(rate[machine::float16_tensor_roof], 1.5 * rate[machine::float32_roof]);
    EXPECT_GT(rate[machine::float16_tensor_roof], rate[machine::tf32_tensor_roof]);
    EXPECT_GT(rate[machine::float64_tensor_roof], 0);
  }
  // No GPU has a hundred times what an H200 has.
  for (auto const& [name, value] : rate) EXPECT_LT(value, 1e17) << name;
}

TEST(MachineGpu, LargeMeasureOfDetailsIsPlausible) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::map<std::string_view, double> rate;
  for (auto const& roof : machine::measure_details(stream)) rate[roof.name] = roof.rate;
  double read = 0;
  for (auto const& roof : machine::measure(stream))
    if (roof.name == machine::read_roof) read = roof.rate;
  EXPECT_GT(rate[machine::l2_roof], 0.9 * read);
  EXPECT_GT(rate[machine::shared_roof], read);
  // A multiprocessor reads at most 128 bytes of shared memory in a clock, and half as many of L2;
  // none has a clock of 3 GHz.
  double const clocks = 3e9 * stream.device().processors();
  EXPECT_LT(rate[machine::shared_roof], 128 * clocks);
  EXPECT_LT(rate[machine::l2_roof], 64 * clocks);
  EXPECT_GT(rate[machine::shared_latency], rate[machine::l2_latency]);
  EXPECT_GT(rate[machine::l2_latency], rate[machine::memory_latency]);
  EXPECT_GT(rate[machine::memory_latency], 1e5);
  EXPECT_GT(rate[machine::launch_latency], rate[machine::wait_latency]);
  EXPECT_GT(rate[machine::wait_latency], 1e3);
}

TEST(MachineGpu, OccupyTakesItsTime) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Event start(stream.device()), stop(stream.device());
  stream.record(start);
  machine::occupy(stream, 2e-3);
  stream.record(stop);
  EXPECT_GE(elapsed_seconds(start, stop), 1.9e-3);
  EXPECT_GT(machine::cache_bytes(stream.device()), 100'000u);
}

TEST(BenchGpu, TimesAreThoseOfTheDevice) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const workload = test::doubling({});
  Problem waiting;
  waiting.prepare = [](int) {};
  waiting.run = [&](std::string_view, int) { machine::occupy(stream, 1e-3); };
  auto const timing = time_variant(stream, workload, waiting, 1, "", 0.02);
  EXPECT_GE(timing.median, 0.95e-3);
  EXPECT_LE(timing.p10, timing.median);
  EXPECT_GE(timing.samples, 5);
  EXPECT_EQ(timing.runs_per_sample, 1);
}

TEST(BenchGpu, KernelsOfACaptureAreToldWithTheirFigures) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  Buffer<float> values(stream, MemorySpace::device, 1000);
  auto const fill = [&] { machine::fill_random(stream, values.span(), 1); };
  auto const kernels = captured_kernels(stream, [&] {
    fill();
    zero_async(values.span(), stream);
    fill();
  });
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "fill_kernel");
  EXPECT_EQ(kernels[0].launches, 2);
  EXPECT_EQ(kernels[0].block_threads, 256);
  EXPECT_GT(kernels[0].registers, 0);
  EXPECT_EQ(kernels[0].dynamic_shared_bytes, 0u);
  EXPECT_GT(kernels[0].occupancy, 0);
  EXPECT_LE(kernels[0].occupancy, 1);
}

TEST(BenchGpu, ACaptureThatFailsLeavesTheStreamUsable) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  EXPECT_THROW(captured_kernels(stream, [&] { stream.synchronize(); }), CudaError);
  EXPECT_THROW(captured_kernels(stream, [] { throw Error("on purpose"); }), Error);
  auto const values = test::filled<float>(stream, 1000, 1);
  EXPECT_NE(values.front(), values.back());
}

TEST(BenchGpu, EveryGpuRowHasFiguresOrAReason) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (auto const& family : kernel_families()) {
    auto const figures = kernel_figures(stream, family.name);
    std::size_t rows = 0;
    for (auto const& row : family.rows) rows += row.backend == Backend::cuda ? 1 : 0;
    EXPECT_EQ(figures.size(), rows) << family.name;
    bool any = false;
    for (auto const& one : figures) {
      EXPECT_NE(one.kernels.empty(), one.remark.empty()) << family.name << ' ' << one.variant;
      any = any || !one.kernels.empty();
    }
    // These wait for the device between their kernels, or for tables that they copy over first, as
    // no graph can.
    constexpr std::string_view waiting[] = {"cubature", "eigen", "multigrid", "sampling",
                                            "spectrum"};
    bool const waits = std::ranges::find(waiting, family.name) != std::end(waiting);
    EXPECT_NE(any, waits) << family.name;
  }
}

TEST(BenchGpu, LargeEveryVariantEqualsTheReference) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  std::map<std::string, int> timed;
  for (auto const& workload : workloads(Backend::cuda)) {
    auto const measurement = measure(stream, workload, size_of_elements(workload, 100'003),
                                     test::simple_roofs(), ignore, 1e-3);
    for (auto const& variant : measurement.variants) {
      EXPECT_FALSE(variant.wrong) << workload.family << ' ' << workload.operation << ' '
                                  << workload.type << ' ' << variant.row.name << ": "
                                  << variant.remark;
      timed[std::string(workload.family)] += variant.timing ? 1 : 0;
      EXPECT_TRUE(variant.timing || !variant.remark.empty());
    }
  }
  for (auto const& family : kernel_families())
    EXPECT_GT(timed[std::string(family.name)], 0) << family.name;
}

}  // namespace
}  // namespace gridstride::bench
