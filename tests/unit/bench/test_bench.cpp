#include "bench/bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "bench/matrix_samples.hpp"
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
  auto const problem = workload.make(stream, 8, 3);
  for (int set = 0; set < 3; ++set) problem.prepare(set);
  int most_runs = 0;  // of several tries: what else the machine does makes a run look long
  for (int i = 0; i < 5; ++i) {
    auto const quick = time_variant(stream, workload, problem, 3, "good", hurry);
    most_runs = std::max(most_runs, quick.runs_per_sample);
    EXPECT_GE(quick.samples, 5);
  }
  EXPECT_GT(most_runs, 5);
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
  EXPECT_EQ(slow_units.bound.roof, machine::float32_roof);
  EXPECT_EQ(slow_units.bound.unit, "FLOP/s");
  EXPECT_DOUBLE_EQ(slow_units.bound.seconds, 2e-6);
  workload.work = per_element({.bytes = 8,
                               .flops = 1,
                               .asks = {{machine::copy_roof, 8}, {machine::float32_roof, 0.5}},
                               .set_bytes = 8});
  auto const slow_memory = measure(stream, workload, 1000, test::simple_roofs(), ignore, hurry);
  EXPECT_EQ(slow_memory.bound.roof, machine::copy_roof);
  EXPECT_DOUBLE_EQ(slow_memory.bound.seconds, 1e-6);
}

TEST(BenchMeasure, ARowMayHaveARoofOfItsOwn) {
  Stream stream = host();
  auto workload = test::doubling({{"good", "", true, false},
                                  {"vendor", "", false, true, machine::tf32_tensor_roof, 3},
                                  {"slow", "", false, false, machine::read_roof}});
  workload.work = per_element({.bytes = 8,
                               .flops = 1,
                               .asks = {{machine::float64_tensor_roof, 1, machine::float32_roof}},
                               .set_bytes = 8});
  auto roofs = test::simple_roofs();
  auto const without = by_name(measure(stream, workload, 1000, roofs, ignore, hurry));
  EXPECT_EQ(without.at("good").bound.roof, machine::float32_roof);
  EXPECT_EQ(without.at("vendor").bound.roof, machine::float32_roof);
  EXPECT_DOUBLE_EQ(without.at("vendor").bound.seconds, 3e-6);
  roofs.push_back({machine::float64_tensor_roof, "FLOP/s", 2e9, "a guess"});
  roofs.push_back({machine::tf32_tensor_roof, "FLOP/s", 1e10, "a guess"});
  auto const with = by_name(measure(stream, workload, 1000, roofs, ignore, hurry));
  EXPECT_EQ(with.at("good").bound.roof, machine::float64_tensor_roof);
  EXPECT_DOUBLE_EQ(with.at("good").bound.seconds, 0.5e-6);
  EXPECT_EQ(with.at("vendor").bound.roof, machine::tf32_tensor_roof);
  EXPECT_DOUBLE_EQ(with.at("vendor").bound.seconds, 0.3e-6);
}

TEST(BenchMeasure, JudgesByAccuracyWhereAProblemTellsIt) {
  Stream stream = host();
  auto workload = test::doubling({{"good", "", true, false}, {"wrong", "", false, false}});
  workload.error = "what is off by one";
  workload.make = [make = workload.make](Stream& s, std::int64_t size, int sets) {
    auto problem = make(s, size, sets);
    problem.accuracy = [result = std::exchange(problem.result, {})](std::string_view) {
      auto const values = result(0);
      return Accuracy{std::fmod(static_cast<double>(values[values.size() / 3]), 2), 0.5};
    };
    return problem;
  };
  auto const measurement = measure(stream, workload, 1000, test::simple_roofs(), ignore, hurry);
  EXPECT_EQ(measurement.checked, "checked: error is what is off by one");
  auto const found = by_name(measurement);
  EXPECT_TRUE(found.at("good").timing);
  EXPECT_EQ(found.at("good").error, 0);
  EXPECT_TRUE(found.at("wrong").wrong);
  EXPECT_EQ(found.at("wrong").error, 1);
  EXPECT_EQ(found.at("wrong").remark, "the error is 1, more than 0.5");
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

TEST(BenchWorkloads, SamplesOfMatricesReachTheirEdges) {
  EXPECT_EQ(spread(1), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(spread(3), (std::vector<std::int64_t>{0, 1, 2}));
  auto const chosen = spread(10'007);
  ASSERT_EQ(chosen.size(), 64u);
  EXPECT_EQ(chosen.front(), 0);
  EXPECT_EQ(chosen.back(), 10'006);
  Stream stream = host();
  std::vector<double> values(6);
  std::iota(values.begin(), values.end(), 0.0);
  Matrix<double const> const matrix(values.data(), 2, 3);
  std::vector<std::int64_t> const last_and_first = {1, 0}, outer = {0, 2};
  EXPECT_EQ(sampled_rows(stream, matrix, last_and_first), (std::vector<double>{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(sampled_columns(stream, matrix, outer), (std::vector<double>{0, 3, 2, 5}));
}

TEST(BenchWorkloads, SizesAreOfArraysOrOfMatrices) {
  auto workload = test::doubling({});
  EXPECT_EQ(size_of_elements(workload, 1000), 1000);
  workload.size_of = SizeOf::matrix;
  EXPECT_EQ(size_of_elements(workload, 1000), 31);
  workload.size_of = SizeOf::none;
  EXPECT_EQ(size_of_elements(workload, 5), workload.size);
  Stream stream = host();
  EXPECT_EQ(measure(stream, workload, 5, test::simple_roofs(), ignore, hurry).size, workload.size);
}

TEST(BenchWorkloads, EveryFamilyHasSome) {
  for (auto const backend : {Backend::cpu, Backend::cuda}) {
    std::set<std::string_view> measured;
    for (auto const& workload : workloads(backend)) measured.insert(workload.family);
    for (auto const& family : kernel_families()) EXPECT_TRUE(measured.contains(family.name));
  }
}

/// What a small problem tells after a run, or without one; of matrices, one with 70 x 70.
Accuracy accuracy_of(Workload const& workload, bool run) {
  Stream stream = host();
  auto const problem = workload.make(stream, workload.rounded(70), 1);
  auto const variant = workload.rows.front().name;
  problem.prepare(0);
  if (run) problem.run(variant, 0);
  return problem.accuracy(variant);
}

TEST(BenchWorkloads, WorkThatWasNotDoneIsInaccurate) {
  for (auto const& workload : workloads(Backend::cpu)) {
    if (workload.error.empty()) continue;
    auto const done = accuracy_of(workload, true);
    EXPECT_LE(done.error, done.allowed) << workload.family << ' ' << workload.operation;
    auto const idle = accuracy_of(workload, false);
    EXPECT_FALSE(idle.error <= idle.allowed) << workload.family << ' ' << workload.operation;
  }
}

TEST(BenchWorkloads, EveryHostVariantEqualsItsReference) {
  Stream stream = host();
  for (auto const& workload : workloads(Backend::cpu)) {
    auto const measurement = measure(stream, workload, size_of_elements(workload, 4099),
                                     test::simple_roofs(), ignore, hurry);
    EXPECT_GE(measurement.variants.size(), 2u) << workload.family;
    EXPECT_GT(measurement.bound.seconds, 0);
    for (auto const& variant : measurement.variants) {
      bool const missing_library = variant.remark.find("cannot be used") != std::string::npos;
      EXPECT_TRUE(variant.timing || missing_library)
          << workload.family << ' ' << workload.operation << ' ' << workload.type << ' '
          << variant.row.name << ": " << variant.remark;
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

TEST(BenchSelect, ASizeLeavesOutWhatHasButOne) {
  auto const without_size = [](Selection const& selection) {
    return std::ranges::count(select(selection, Backend::cuda), SizeOf::none, &Workload::size_of);
  };
  EXPECT_EQ(without_size({.family = "matmul"}), 2);
  EXPECT_EQ(without_size({.family = "matmul", .size = 1000}), 0);
}

TEST(BenchSelect, RoundedOperandsAreMeasuredApart) {
  for (auto const& workload : select({.family = "matmul"}, Backend::cuda))
    for (auto const& row : workload.rows)
      EXPECT_EQ(row.name == "tf32" || row.name == "cublas_tf32",
                workload.operation == "multiply in TF32")
          << row.name;
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
  EXPECT_NE(refusal({.family = "scan", .type = "uint8"}).find("(there is 'float32', 'float64', "),
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
  EXPECT_EQ(good["roof"], "float32");
  EXPECT_FALSE(good.contains("error"));
  EXPECT_EQ(entry["elements"], 1000);
  EXPECT_EQ(entry["variants"][2]["wrong"], true);
  EXPECT_FALSE(entry["variants"][2].contains("seconds"));
}

TEST(BenchReport, TheTableShowsEveryVariant) {
  Workload const workload = test::doubling({});
  Timing const timing{2e-3, 1e-3, 4e-3, 5, 1};
  Bound const copying{machine::copy_roof, "B/s", 1e-3};
  Measurement const measurement{
      .workload = workload,
      .size = 1'000'000,
      .work = workload.work(1'000'000),
      .sets = 1,
      .bound = copying,
      .checked = "looked at",
      .variants = {{{"mine", "", true, false}, timing, {}, false, copying},
                   {{"cub", "", false, true}, Timing{1e-3, 1e-3, 1e-3, 5, 1}, {}, false, copying},
                   {{"broken", "", false, false}, {}, "differs", true, copying}}};
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

TEST(BenchReport, TheTableOfMatricesShowsErrorsAndOtherRoofs) {
  Workload workload = test::doubling({});
  workload.size_of = SizeOf::matrix;
  workload.error = "far away";
  Row const own_roof{"own", "", false, false, machine::tf32_tensor_roof, 3};
  Bound const usual{machine::float32_roof, "FLOP/s", 1e-3};
  Timing const timing{2e-3, 1e-3, 4e-3, 5, 1};
  Measurement const measurement{
      .workload = workload,
      .size = 1000,
      .work = {.bytes = 1, .flops = 2e9, .asks = {}, .set_bytes = 1, .elements = 1e6},
      .sets = 1,
      .bound = usual,
      .checked = "looked at",
      .variants = {
          {{"mine", "", true, false}, timing, {}, false, usual, 1.23e-7},
          {own_roof, timing, {}, false, {machine::tf32_tensor_roof, "FLOP/s", 5e-4}, 2e-16}}};
  EXPECT_EQ(table(measurement),
            "\ndoubling double, int32, n = 1000: at best 1.000 ms (roof: float32)\n"
            "  variant                     median          p10 .. p90           TFLOP/s   G elem/s"
            "  of roof             error\n"
            "* mine                      2.000 ms     1.000 ms .. 4.000 ms         1.00        0.5"
            "   50.0 %           1.2e-07\n"
            "  own                       2.000 ms     1.000 ms .. 4.000 ms         1.00        0.5"
            "   25.0 %           2.0e-16  (of tf32_tensor)\n"
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
