#include "bench/bench.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "bench/report.hpp"
#include "bench/workloads.hpp"
#include "core/error.hpp"
#include "core/kernel_info.hpp"
#include "kernels/families.hpp"
#include "tests/support/bench_cases.hpp"

namespace gridstride::bench {
namespace {

constexpr double hurry = 1e-3;

Stream host() { return Stream(Device::open(Backend::cpu)); }
void ignore(std::string_view) {}

std::map<std::string_view, VariantResult> by_name(Measurement const& measurement) {
  std::map<std::string_view, VariantResult> result;
  for (auto const& variant : measurement.variants) result.emplace(variant.row.name, variant);
  return result;
}

TEST(BenchTiming, SummarizesSamples) {
  std::vector<double> samples(11);
  std::iota(samples.rbegin(), samples.rend(), 0.0);
  auto const timing = summarize(samples, 2);
  EXPECT_EQ(timing.median, 2.5);
  EXPECT_EQ(timing.p10, 0.5);
  EXPECT_EQ(timing.p90, 4.5);
  EXPECT_EQ(timing.samples, 11);
  EXPECT_EQ(timing.runs_per_sample, 2);
  auto const between = summarize({4, 1, 2, 3}, 1);
  EXPECT_EQ(between.median, 2.5);
  EXPECT_DOUBLE_EQ(between.p90, 3.7);
  EXPECT_EQ(summarize({7}, 1).p10, 7);
}

TEST(BenchTiming, TakesEnoughSamplesOfEnoughRuns) {
  Stream stream = host();
  auto const workload = test::doubling({});
  auto const problem = workload.make(stream, 100, 3);
  for (int set = 0; set < 3; ++set) problem.prepare(set);
  auto const quick = time_variant(stream, workload, problem, 3, "good", hurry);
  EXPECT_GT(quick.runs_per_sample, 5);
  EXPECT_GE(quick.samples, 5);
  auto const slow = time_variant(stream, workload, problem, 3, "slow", 0.16);
  EXPECT_EQ(slow.runs_per_sample, 1);
  EXPECT_GE(slow.samples, 5);
  EXPECT_LE(slow.samples, 8);
  EXPECT_GE(slow.median, 0.020);
  auto in_place = workload;
  in_place.in_place = true;
  EXPECT_LE(time_variant(stream, in_place, problem, 3, "good", hurry).runs_per_sample, 3);
}

TEST(BenchMeasure, TellsRightFromWrong) {
  Stream stream = host();
  auto const workload = test::doubling({{"good", "", true, false},
                                        {"vendor", "", false, true},
                                        {"wrong", "", false, false},
                                        {"idle", "", false, false},
                                        {"refuses", "", false, false},
                                        {"wrong_late", "", false, false}});
  auto const measurement = measure(stream, workload, 1000, test::simple_roofs(), ignore, hurry);
  auto const found = by_name(measurement);
  for (auto const* name : {"good", "vendor", "wrong_late"}) {
    EXPECT_TRUE(found.at(name).timing) << name;
    EXPECT_FALSE(found.at(name).wrong) << name;
  }
  EXPECT_TRUE(found.at("wrong").wrong);
  EXPECT_FALSE(found.at("wrong").timing);
  EXPECT_TRUE(found.at("wrong").remark.starts_with(
      "differs from the reference: 1 of 1000 values, the first at 333: "))
      << found.at("wrong").remark;
  EXPECT_TRUE(found.at("idle").wrong);  // it leaves what was there
  EXPECT_FALSE(found.at("refuses").wrong);
  EXPECT_FALSE(found.at("refuses").timing);
  EXPECT_EQ(found.at("refuses").remark, "doubling: 'refuses' refuses");
  EXPECT_EQ(measurement.vendor_seconds(), found.at("vendor").timing->median);
  EXPECT_EQ(measurement.checked, "checked: every value against the reference at 1000 elements");

  Report const report{stream.device(), test::simple_roofs(), {measurement}};
  EXPECT_EQ(report.wrong_variants(), 2);
}

TEST(BenchMeasure, ADefaultThatRefusesIsWrong) {
  Stream stream = host();
  auto const workload = test::doubling({{"refuses", "", true, false}});
  auto const measurement = measure(stream, workload, 10, test::simple_roofs(), ignore, hurry);
  EXPECT_TRUE(measurement.variants.at(0).wrong);
}

TEST(BenchMeasure, ComparesAtFullSizeToo) {
  Stream stream = host();
  auto const workload =
      test::doubling({{"wrong_late", "", false, false}, {"good", "", true, false}});
  auto const measurement =
      measure(stream, workload, 5'000'011, test::simple_roofs(), ignore, hurry);
  auto const found = by_name(measurement);
  EXPECT_TRUE(found.at("good").timing);
  EXPECT_TRUE(found.at("wrong_late").wrong);
  EXPECT_TRUE(found.at("wrong_late").remark.starts_with("differs from 'good' at full size: 1 of "))
      << found.at("wrong_late").remark;
  EXPECT_NE(
      measurement.checked.find("4194301 elements, and samples against each other at full size"),
      std::string::npos);
}

TEST(BenchMeasure, TheRoofIsTheOneThatTakesLongest) {
  Stream stream = host();
  auto workload = test::doubling({});
  auto const slow_units = measure(stream, workload, 1000, test::simple_roofs(), ignore, hurry);
  EXPECT_EQ(slow_units.roof, machine::float32_roof);
  EXPECT_DOUBLE_EQ(slow_units.roof_seconds, 2e-6);
  workload.asks = {{machine::copy_roof, 8}, {machine::float32_roof, 0.5}};
  auto const slow_memory = measure(stream, workload, 1000, test::simple_roofs(), ignore, hurry);
  EXPECT_EQ(slow_memory.roof, machine::copy_roof);
  EXPECT_DOUBLE_EQ(slow_memory.roof_seconds, 1e-6);
}

TEST(BenchMeasure, DifferencesAreCountedAndTheFirstIsTold) {
  long double const nan = std::numeric_limits<long double>::quiet_NaN();
  EXPECT_EQ(difference({1, nan, 0}, {1, nan, -0.0L}), "");
  EXPECT_EQ(difference({1, 2, 3, 4}, {1, 5, 3, 6}),
            "2 of 4 values, the first at 1: 5 instead of 2");
  EXPECT_EQ(difference({1, 2}, {1}), "1 values instead of 2");
  EXPECT_NE(difference({1}, {nan}), "");
  // The lowest bit of a large int64 counts, which float64 would lose.
  long double const large = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(difference({large}, {large - 1}), "");
}

TEST(BenchWorkloads, WindowsReachFromTheFirstToTheLastElement) {
  EXPECT_EQ(detail::window_starts(0, 8), (std::vector<std::int64_t>{}));
  EXPECT_EQ(detail::window_starts(8, 8), (std::vector<std::int64_t>{0}));
  auto const starts = detail::window_starts(1'000'000'000'007, 16384);
  ASSERT_EQ(starts.size(), 64u);
  EXPECT_EQ(starts.front(), 0);
  EXPECT_EQ(starts.back(), 1'000'000'000'007 - 16384);
}

TEST(BenchWorkloads, BitsMakeSumsExact) {
  Stream stream = host();
  constexpr std::int64_t size = 1'000'003;
  Arrays<float> const values(stream, size, 1);
  machine::fill_random(stream, values(0), 0, {.bits = exact_bits(size, 24)});
  float narrow = 0;
  double wide = 0;
  for (float const value : values(0)) {
    narrow += value;
    wide += value;
    ASSERT_EQ(narrow, wide);
  }
  machine::fill_random(stream, values(0), 0, {.bits = exact_bits_of_squares(size, 24)});
  narrow = 0;
  wide = 0;
  for (float const value : values(0)) {
    narrow += value * value;
    wide += static_cast<double>(value) * value;
  }
  EXPECT_EQ(narrow, wide);
  EXPECT_EQ(exact_bits(std::int64_t{1} << 30, 24), 6);
  EXPECT_EQ(exact_bits(std::int64_t{1} << 60, 24), 1);
}

TEST(BenchWorkloads, EveryFamilyHasSome) {
  for (auto const backend : {Backend::cpu, Backend::cuda}) {
    std::set<std::string_view> measured;
    for (auto const& workload : workloads(backend)) measured.insert(workload.family);
    for (auto const& family : kernel_families()) EXPECT_TRUE(measured.contains(family.name));
  }
}

TEST(BenchWorkloads, EveryHostVariantEqualsItsReference) {
  Stream stream = host();
  for (auto const& workload : workloads(Backend::cpu)) {
    auto const measurement = measure(stream, workload, 4099, test::simple_roofs(), ignore, hurry);
    EXPECT_GE(measurement.variants.size(), 2u) << workload.family;
    EXPECT_GT(measurement.roof_seconds, 0);
    for (auto const& variant : measurement.variants) {
      EXPECT_TRUE(variant.timing) << workload.family << ' ' << workload.operation << ' '
                                  << workload.type << ' ' << variant.row.name << ": "
                                  << variant.remark;
    }
  }
}

TEST(BenchSelect, KeepsWhatIsAskedFor) {
  for (auto const& workload : select({.family = "scan"}, Backend::cpu)) {
    EXPECT_EQ(workload.family, "scan");
    EXPECT_TRUE(workload.by_default);
  }
  auto const longs = select({.family = "scan", .type = "int64"}, Backend::cpu);
  ASSERT_EQ(longs.size(), 1u);
  EXPECT_FALSE(longs[0].by_default);
  auto const threads = select({.variant = "threads"}, Backend::cpu);
  EXPECT_GT(threads.size(), 10u);
  for (auto const& workload : threads) {
    ASSERT_EQ(workload.rows.size(), 1u);
    EXPECT_EQ(workload.rows[0].name, "threads");
  }
}

TEST(BenchSelect, NothingIsMeasuredTwice) {
  auto const sums = [](Selection const& selection) {
    int count = 0;
    for (auto const& workload : select(selection, Backend::cuda))
      count += workload.operation == "sum" && workload.type == "float32" ? 1 : 0;
    return count;
  };
  EXPECT_EQ(sums({.family = "reduce"}), 2);  // large and small
  EXPECT_EQ(sums({.family = "reduce", .size = 1000}), 1);
}

TEST(BenchSelect, UnknownNamesAreRefused) {
  auto const refusal = [](Selection const& selection) {
    try {
      select(selection, Backend::cpu);
    } catch (ConfigError const& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_NE(refusal({.family = "redcue"}).find("there is no kernel family 'redcue'"),
            std::string::npos);
  EXPECT_NE(refusal({.family = "redcue"}).find("did you mean 'reduce'?"), std::string::npos);
  EXPECT_NE(refusal({.type = "float23"}).find("there is no type 'float23'"), std::string::npos);
  EXPECT_NE(refusal({.family = "scan", .type = "uint8"}).find("(there is 'int32', 'float32', "),
            std::string::npos);
  EXPECT_NE(refusal({.variant = "thread"}).find("did you mean 'threads'?"), std::string::npos);
  EXPECT_NE(refusal({.family = "scan", .variant = "cub"}).find("no variant 'cub'"),
            std::string::npos);
}

TEST(BenchReport, JsonHoldsWhatWasMeasured) {
  Stream stream = host();
  auto const workload = test::doubling({{"good", "the plain way", true, false},
                                        {"vendor", "", false, true},
                                        {"wrong", "", false, false}});
  auto const measurement = measure(stream, workload, 1000, test::simple_roofs(), ignore, hurry);
  auto const parsed =
      nlohmann::json::parse(json({stream.device(), test::simple_roofs(), {measurement}}));
  EXPECT_EQ(parsed["device"]["id"], "cpu");
  EXPECT_EQ(parsed["roofs"].size(), test::simple_roofs().size());
  EXPECT_EQ(parsed["roofs"][0]["rate"], 8e9);
  auto const& entry = parsed["measurements"][0];
  EXPECT_EQ(entry["family"], "doubling");
  EXPECT_EQ(entry["bytes"], 8000);
  EXPECT_EQ(entry["roof"], "float32");
  auto const& good = entry["variants"][0];
  double const median = good["seconds"]["median"];
  EXPECT_DOUBLE_EQ(good["bytes_per_second"], 8000 / median);
  EXPECT_DOUBLE_EQ(good["elements_per_second"], 1000 / median);
  EXPECT_DOUBLE_EQ(good["roof_fraction"], 2e-6 / median);
  double const vendor = entry["variants"][1]["seconds"]["median"];
  EXPECT_DOUBLE_EQ(good["vendor_ratio"], vendor / median);
  EXPECT_EQ(entry["variants"][2]["wrong"], true);
  EXPECT_FALSE(entry["variants"][2].contains("seconds"));
}

TEST(BenchReport, TheTableShowsEveryVariant) {
  Workload const workload = test::doubling({});
  Timing const timing{2e-3, 1e-3, 4e-3, 5, 1};
  Measurement const measurement{
      .workload = workload,
      .size = 1'000'000,
      .sets = 1,
      .roof = machine::copy_roof,
      .roof_seconds = 1e-3,
      .checked = "looked at",
      .variants = {{{"mine", "", true, false}, timing, {}, false},
                   {{"cub", "", false, true}, Timing{1e-3, 1e-3, 1e-3, 5, 1}, {}, false},
                   {{"broken", "", false, false}, {}, "differs", true}}};
  EXPECT_EQ(table(measurement),
            "\ndoubling double, int32, 1000000 elements: at best 1.000 ms (roof: copy)\n"
            "  variant                     median          p10 .. p90              GB/s   G elem/s"
            "  of roof x vendor\n"
            "* mine                      2.000 ms     1.000 ms .. 4.000 ms          4.0        0.5"
            "   50.0 %     0.50\n"
            "  cub                       1.000 ms     1.000 ms .. 1.000 ms          8.0          1"
            "  100.0 %     1.00\n"
            "  broken                 WRONG: differs\n"
            "  looked at\n");
}

TEST(KernelInfo, NamesAreShort) {
  EXPECT_EQ(short_kernel_name("void gridstride::reduce::(anonymous namespace)::tree_kernel<float, "
                              "gridstride::Sum<int> >(float const*, long)"),
            "tree_kernel");
  EXPECT_EQ(short_kernel_name("_ZN10gridstride7machine11copy_kernelEP5uint4PKS1_"), "copy_kernel");
  EXPECT_EQ(short_kernel_name("plain"), "plain");
  EXPECT_EQ(short_kernel_name("void cub::V_300::DeviceReduceKernel<cub::Policy<(int)900>::Max, "
                              "(bool)1>(T1 *, T2)"),
            "DeviceReduceKernel");
}

}  // namespace
}  // namespace gridstride::bench
