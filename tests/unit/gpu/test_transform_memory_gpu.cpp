#include <gtest/gtest.h>

#include "support/transform_memory.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::test {
namespace {

using TransformMemoryGpu = TransformMemory;

TEST_F(TransformMemoryGpu, BitsDoNotDependOnWhatStays) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  write_data(600600);
  for (std::string const precision : {"float32", "float64"})
    for (std::vector<std::int64_t> const& shape :
         {std::vector<std::int64_t>{600600}, std::vector<std::int64_t>{2600, 231}})
      for (bool const steps : {true, false})
        if (precision == "float32" || (shape.size() == 2 && steps))
          expect_bits_of_what_stays(shape, precision, steps, Backend::cuda);
}

TEST_F(TransformMemoryGpu, StaysWithinItsLimits) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  write_data(600600);
  int runs = 0;
  for (std::string const precision : {"float32", "float64"})
    for (bool const steps : {true, false})
      for (int kilobytes = 4000; kilobytes < 30000; kilobytes += kilobytes / 2) {
        constexpr double host = 1e6;
        auto const yaml =
            config({2600, 231}, precision,
                   fmt::format("chunk: 90 kB, device_memory: {} kB, host_memory: {} kB", kilobytes,
                               host / 1e3),
                   steps);
        try {
          check_on_device(config_of(yaml), Device::open(Backend::cuda));
          auto const most = most_used(yaml, Backend::cuda);
          EXPECT_LE(most.device, kilobytes * 1e3) << yaml;
          EXPECT_LE(most.host, host) << yaml;
          ++runs;
        } catch (ConfigError const&) {
          // Too little for one line.
        }
      }
  EXPECT_GT(runs, 8);
}

TEST_F(TransformMemoryGpu, TakesWhatIsForecast) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  write_data(6006000);
  for (std::string const limits : {"", "device_memory: 64 MiB, chunk: 640 kB", "chunk: 2 MiB"})
    expect_forecast(
        {"transform of files", config({26000, 231}, "float64", limits), false, "hdf5", "", true},
        Backend::cuda);
}

}  // namespace
}  // namespace gridstride::test
