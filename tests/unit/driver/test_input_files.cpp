#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "core/memory_use.hpp"
#include "core/processors.hpp"
#include "driver/forecast.hpp"
#include "model/reading.hpp"
#include "support/file_cases.hpp"

namespace gridstride::test {
namespace {

constexpr Backend cpu = Backend::cpu;

class InputFiles : public testing::Test {
 protected:
  void TearDown() override { set_host_threads(threads_); }
  int const threads_ = host_threads();
};

TEST_F(InputFiles, EveryTypeGivesTheBitsOfAConversion) {
  expect_start<std::int8_t>(cpu, "int8", 31, 17);
  expect_start<std::uint8_t>(cpu, "uint8", 31, 17);
  expect_start<std::int16_t>(cpu, "int16", 31, 17);
  expect_start<std::uint16_t>(cpu, "uint16", 31, 17);
  expect_start<std::int32_t>(cpu, "int32", 31, 17);
  expect_start<std::uint32_t>(cpu, "uint32", 31, 17);
  expect_start<std::int64_t>(cpu, "int64", 31, 17);
  expect_start<std::uint64_t>(cpu, "uint64", 31, 17);
  expect_start<float>(cpu, "float32", 31, 17);
  expect_start<double>(cpu, "float64", 31, 17);
}

TEST_F(InputFiles, AreTheSameByAnyNumberOfThreads) {
  for (int const threads : {1, 5}) {
    set_host_threads(threads);
    expect_start<float>(cpu, "float32", 1031, 1021);
    expect_start<std::int64_t>(cpu, "int64", 1031, 1021);
  }
}

TEST_F(InputFiles, TheFirstNumberThatIsNotFiniteIsTold) { expect_first_non_finite(cpu); }

TEST_F(InputFiles, SpeedsFromAFileAreSquaredLikeAFormula) { expect_equal_waves(cpu); }

TEST_F(InputFiles, ASpeedThatIsNegativeIsTold) {
  std::vector<float> speeds(65, 1.0F);
  speeds[20] = speeds[33] = -1;
  NumberFile const file(speeds);
  auto const config = config_of(fmt::format(
      "simulation: wave\ngrid: {{points: 65}}\nboundary: {{x: fixed}}\ninitial: {{u: 0}}\n"
      "parameters: {{speed: {{file: {}, type: float32, shape: 65}}}}\ntime: {{end: 1}}\n",
      file.path.string()));
  Stream stream(Device::open(cpu));
  EXPECT_EQ(config_refusal([&] { start_of(config, stream); }),
            "is -1 at x = 0.3125 (a speed is not negative)");
  config::FieldSource source;
  source.file = file.path;
  source.raw.type = "float32";
  source.raw.shape = {65};
  LargestNumber const found = find_largest(source, inputs_of(config), [](double) { return true; });
  EXPECT_EQ(found.magnitude, 1);
  EXPECT_EQ(found.refused, -1);
}

TEST_F(InputFiles, AFileThatChangesAfterTheFirstLookIsNamed) {
  std::vector<float> const numbers(31 * 17, 1);
  NumberFile const file(numbers);
  auto const config = plane_from(file, 31, 17, "float32", "float64");
  auto const& source = config.initial.at("u");
  auto const inputs = inputs_of(config);
  EXPECT_EQ(inputs.shape(source), (std::vector<std::int64_t>{17, 31}));
  auto const numbers_of_file = inputs.open(source);
  auto const time = std::filesystem::last_write_time(file.path);
  std::filesystem::last_write_time(file.path, time + std::chrono::milliseconds(3));
  auto const changed = fmt::format(
      "{}: changed while it was in use (it was written to, or replaced)", file.path.string());
  EXPECT_EQ(config_refusal([&] { numbers_of_file->check_unchanged(); }), changed);
  EXPECT_EQ(config_refusal([&] { inputs_of(config).open(source); }), changed);
  EXPECT_EQ(config_refusal([&] { inputs_of(config).shape(source); }), changed);
  std::filesystem::resize_file(file.path, 100);
  EXPECT_EQ(config_refusal([&] { inputs_of(config).open(source); }),
            fmt::format("{}: changed while it was in use: it had 2108 bytes, now 100",
                        file.path.string()));
}

TEST_F(InputFiles, ShapesAndSizesAreCheckedBefore) {
  NumberFile const file(std::vector<float>(31 * 17, 1));
  auto const fault = [&](int nx, int ny, std::string const& type, std::string const& more) {
    auto const config = plane_from(file, nx, ny, type, "float64", more);
    return config_refusal([&] { check_on_device(config, Device::open(cpu)); });
  };
  EXPECT_EQ(fault(31, 17, "float32", ""), "nothing");
  EXPECT_EQ(fault(31, 17, "float64", ""),
            fmt::format("{}: has 2108 bytes, 2108 too few ([17][31] of float64 are 4216 bytes)",
                        file.path.string()));
  EXPECT_EQ(fault(31, 16, "float32", ", offset: 4"),
            fmt::format("{}: has 2108 bytes, 120 too many ([16][31] of float32 are 1984 bytes, 4 "
                        "before them); `rest: 120` leaves them out",
                        file.path.string()));
  auto config = plane_from(file, 17, 31, "float32", "float64");
  config.initial.at("u").raw.shape = {17, 31};
  EXPECT_EQ(config_refusal([&] { check_on_device(config, Device::open(cpu)); }),
            fmt::format("{} is [17][31], the grid needs [31][17] (the slowest axis first)",
                        file.path.string()));
}

/// A file is never in the host's memory as a whole.
TEST_F(InputFiles, ReadingTakesLittleMemory) {
  set_host_threads(4);
  MemoryForecast memory;
  config::FieldSource source;
  note_reading(memory, source, std::size_t{1} << 30);
  EXPECT_EQ(memory.reading_bytes, 0U);
  source.file = "a.h5";
  note_reading(memory, source, std::size_t{1} << 30);
  EXPECT_LE(memory.reading_bytes, std::size_t{64} << 20);
  EXPECT_EQ(memory.slab_bytes, memory.reading_bytes);
  source.file = "a.mtx";
  note_reading(memory, source, 1000);
  EXPECT_LE(memory.reading_bytes, std::size_t{64} << 20);

  NumberFile const file(std::vector<float>(4000 * 4001, 1));
  auto const config = plane_from(file, 4001, 4000, "float32", "float32");
  Stream stream(Device::open(cpu));
  auto const arrays = memory_of(entry_of(config), config, inputs_of(config), cpu).bytes();
  auto const before = memory_use(cpu).now;
  restart_peak(cpu);
  start_of(config, stream);
  EXPECT_LE(memory_use(cpu).peak - before, arrays + memory.slab_bytes + (std::size_t{1} << 20));
}

}  // namespace
}  // namespace gridstride::test
