#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "io/plain_numbers.hpp"
#include "support/transform_memory.hpp"

namespace gridstride::test {
namespace {

using TransformResidency = TransformMemory;
using Shape = std::vector<std::int64_t>;

/// All, a part and nothing of the data stays for later passes: the same bits.
TEST_F(TransformResidency, BitsDoNotDependOnWhatStays) {
  write_data(60060);
  for (std::string const precision : {"float32", "float64"})
    for (Shape const& shape : {Shape{60060}, Shape{260, 231}, Shape{77, 60, 13}})
      for (bool const steps : {true, false})
        expect_bits_of_what_stays(shape, precision, steps, cpu);
}

/// Rows that wrap around are at both ends, of which one may stay and the other may not.
TEST_F(TransformResidency, BitsDoNotDependOnWhatStaysOfDataThatGoRound) {
  write_data(3003);
  auto const yaml = [&](std::string const& limits) {
    return fmt::format(
        "simulation: transform\ninput: {{a: {{file: {}, type: float64, shape: [3003]}}}}\n"
        "steps: [{{filter: {{a: [{{gaussian: {{sigma: 9}}}}]}}, mode: wrap}}]\n"
        "reduce: [{{moments: a}}, {{quantiles: {{of: a, at: [0.3]}}}}]\n"
        "output: {{fields: [a]}}\nlimits: {{{}}}\n",
        (folder_ / "a.bin").string(), limits);
  };
  auto const whole = transform(yaml("chunk: 1 GiB"), cpu);
  std::set<int> seen;
  for (int bytes = 235000; bytes < 290000; bytes += 3000) {
    auto const limited = yaml(fmt::format("chunk: 640 B, streams: 2, device_memory: {} B", bytes));
    OneShot const done(limited, cpu);
    seen.insert(kept(*done.simulation));
    expect_same_bits(whole, transform(limited, cpu));
  }
  EXPECT_TRUE(seen.contains(1) && seen.contains(2));
}

/// A file that changes between passes ends the run, also where its data stay.
TEST_F(TransformResidency, AFileThatChangesMeanwhileIsAnError) {
  for (std::string const limits :
       {"chunk: 9 kB", "chunk: 9 kB, streams: 1, device_memory: 1400 kB"}) {
    write_data(60060);
    auto const run = config_of(config({60060}, "float32", limits));
    Stream stream(Device::open(cpu));
    auto const simulation = entry_of(run).make(run, stream, inputs_of(run));
    EXPECT_EQ(kept(*simulation) == 2, limits == "chunk: 9 kB");
    simulation->tell_headway([&](Headway const& now) {
      if (now.part.starts_with("pass 2"))
        std::ofstream(folder_ / "b.bin", std::ios::app | std::ios::binary) << "more";
    });
    EXPECT_THROW(simulation->advance(1, 0), Error);
  }
}

/// Each pass tells how far it is, and how many there will be.
TEST_F(TransformResidency, TellsHowFarItIs) {
  write_data(5005);
  auto const run = config_of(config({5005}, "float32", "chunk: 1 kB, streams: 1"));
  Stream stream(Device::open(cpu));
  auto const simulation = entry_of(run).make(run, stream, inputs_of(run));
  std::vector<std::string> parts;
  Headway last;
  simulation->tell_headway([&](Headway const& now) {
    if (now.part == last.part) {
      EXPECT_GT(now.share, last.share);
    } else {
      EXPECT_TRUE(parts.empty() || last.share == 1);
      parts.push_back(now.part);
    }
    EXPECT_DOUBLE_EQ(now.bytes, now.share * 5005 * (8 + 2));
    last = now;
  });
  simulation->advance(1, 0);
  EXPECT_EQ(last.share, 1);
  EXPECT_EQ(parts,
            (std::vector<std::string>{"pass 1 of 3", "pass 2 of 3", "pass 3 of 4", "pass 4 of 4"}));
}

/// Never more than the limits say, of which as much as serves is taken.
TEST_F(TransformResidency, StaysWithinItsLimits) {
  write_data(60060);
  int runs = 0;
  for (std::string const precision : {"float32", "float64"})
    for (bool const steps : {true, false})
      for (int kilobytes = 700; kilobytes < 5000; kilobytes += kilobytes / 6) {
        constexpr double host = 100e3;
        auto const yaml =
            config({260, 231}, precision,
                   fmt::format("chunk: 9 kB, device_memory: {} kB, host_memory: {} kB", kilobytes,
                               host / 1e3),
                   steps);
        try {
          check_on_device(config_of(yaml), Device::open(cpu));
          EXPECT_LE(most_used(yaml, cpu).device, kilobytes * 1e3 + host) << yaml;
          ++runs;
        } catch (ConfigError const&) {
        }
      }
  EXPECT_GT(runs, 20);
}

/// A limit beyond the memory there is bounds nothing, and asks for nothing.
TEST_F(TransformResidency, TakesNoMoreThanThereIs) {
  write_data(60060);
  auto const run = config_of(config({60060}, "float32", "device_memory: 1000000 GiB"));
  Device const device = Device::open(cpu);
  EXPECT_LT(forecast(run, device).device_bytes, device.free_memory());
}

TEST_F(TransformResidency, TakesWhatIsForecast) {
  write_data(600600);
  for (std::string const limits : {"", "device_memory: 8 MiB, chunk: 64 kB", "chunk: 256 kB"})
    for (Shape const& shape : {Shape{600600}, Shape{2600, 231}})
      expect_forecast({"transform of files", config(shape, "float64", limits), false, "hdf5"}, cpu);
}

// ---------------------------------------------------------------------------------- Fortran order

class TransformFortran : public TransformMemory {
 protected:
  /// The values of `a_`, of that shape in C order, in Fortran order.
  void write_npy(std::string const& name, Shape const& shape) {
    std::vector<double> turned(a_.size());
    std::size_t const slow = static_cast<std::size_t>(shape.size() == 3 ? shape[0] : 1);
    std::size_t const middle = static_cast<std::size_t>(shape[shape.size() - 2]);
    std::size_t const fast = static_cast<std::size_t>(shape.back());
    for (std::size_t i = 0; i < turned.size(); ++i) {
      std::size_t const x = i % fast, y = i / fast % middle, z = i / fast / middle;
      turned[(x * middle + y) * slow + z] = a_[i];
    }
    std::string header = fmt::format("{{'descr': '<f8', 'fortran_order': True, 'shape': ({}), }}",
                                     fmt::join(shape, ", "));
    header.resize((header.size() + 10 + 64) / 64 * 64 - 11, ' ');
    header += '\n';
    std::ofstream file(folder_ / name, std::ios::binary);
    file << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size() % 256)
         << static_cast<char>(header.size() / 256) << header;
    file.write(reinterpret_cast<char const*>(turned.data()),
               static_cast<std::streamsize>(turned.size() * sizeof(double)));
  }
};

/// Brought in as a whole where there is room, else row by row: the bits of C order.
TEST_F(TransformFortran, HasTheBitsOfCOrder) {
  write_data(6006);
  for (Shape const& shape : {Shape{77, 78}, Shape{13, 42, 11}, Shape{6006, 1}, Shape{2, 77, 39}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(shape, ", ")));
    write_npy("a.npy", shape);
    auto const yaml = [&](std::string const& source, std::string const& limits) {
      return fmt::format(
          "simulation: transform\ninput: {{a: {{file: {}}}}}\n"
          "steps: [{{filter: {{a: [{{box: {{size: 3, axis: y}}}}]}}}}, {{scan: {{s: {{of: "
          "a}}}}}}]\n"
          "reduce: [{{quantiles: {{of: a, at: [0.3]}}}}]\noutput: {{fields: [a, s]}}\n"
          "limits: {{{}}}\n",
          source, limits);
    };
    auto const whole =
        transform(yaml(fmt::format("{}, type: float64, shape: [{}]", (folder_ / "a.bin").string(),
                                   fmt::join(shape, ", ")),
                       "chunk: 1 GiB"),
                  cpu);
    for (std::string const limits :
         {"", "chunk: 5 kB", "chunk: 1 B, streams: 2, device_memory: 500 kB",
          "chunk: 5 kB, host_memory: 25 kB"})
      expect_same_bits(whole, transform(yaml((folder_ / "a.npy").string(), limits), cpu));
  }
}

}  // namespace
}  // namespace gridstride::test
