#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/processors.hpp"
#include "support/difference_cases.hpp"
#include "support/refusal.hpp"
#include "support/spectrum_cases.hpp"

namespace gridstride {
namespace {

using spectrum::Detrend;
using spectrum::Options;
using spectrum::Window;

template <class T>
class Spectrum : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Spectrum, Types);

TYPED_TEST(Spectrum, VariantsEqualTheDefinition) {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  test::compare_spectra<TypeParam>(stream, compared);
  EXPECT_EQ(compared, 15 * 2);
}

TYPED_TEST(Spectrum, PiecesGiveTheSameBits) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_same_spectra_of_pieces<TypeParam>(
      stream, {{4096, 2048, Window::hann, Detrend::constant, 1}});
}

TEST(SpectrumOfFloats, BitsDoNotDependOnTheNumberOfThreads) {
  Stream stream(Device::open(Backend::cpu));
  auto const signal = test::scan_data<float>(test::ScanData::random, 300'007);
  auto const with = [&](int threads) {
    int const before = host_threads();
    set_host_threads(threads);
    auto const result = test::densities_of(stream, signal, {}, "threads", 100'000);
    set_host_threads(before);
    return result;
  };
  EXPECT_EQ(with(1), with(3));
}

TEST(SpectrumOfFloats, ANanIsInEveryDensity) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<float> signal(2000, 1);
  signal[700] = std::numeric_limits<float>::quiet_NaN();
  for (double const density : test::densities_of(stream, signal, {}, "threads", 500))
    EXPECT_TRUE(std::isnan(density));
}

TEST(SpectrumArguments, AreChecked) {
  Stream stream(Device::open(Backend::cpu));
  auto const refusal = [&](Options const& options, std::string_view variant = "auto") {
    return test::refusal([&] { spectrum::Welch<float>(stream, options, variant); });
  };
  EXPECT_EQ(refusal({.segment = 1, .overlap = 0}),
            "spectrum: a segment has 1 samples (from 2 to 1048576 are possible)");
  EXPECT_EQ(refusal({.segment = 64, .overlap = 64}),
            "spectrum: segments of 64 samples overlap by 64");
  EXPECT_EQ(refusal({.sampling_rate = 0}), "spectrum: the sampling rate is 0");
  EXPECT_EQ(refusal({}, "fused"), "spectrum: cpu has no variant 'fused'");
  std::vector<float> const samples(255, 1);
  std::vector<double> densities(129);
  spectrum::Welch<float> welch(stream, {});
  welch.add(stream, samples);
  EXPECT_EQ(test::refusal([&] { welch.finish(stream, std::span(densities).first(128)); }),
            "spectrum: densities has 128 elements, it needs 129");
  EXPECT_EQ(test::refusal([&] { welch.finish(stream, densities); }),
            "spectrum: there are fewer samples than a segment has");
}

/// What numpy and scipy make of a signal (tools/make_signal_reference.py).
class SignalReference : public testing::Test {
 protected:
  SignalReference() {
    std::ifstream file(GRIDSTRIDE_SOURCE_DIR "/tests/data/signal_reference.json");
    stored_ = nlohmann::json::parse(file);
    signal_ = stored_["signal"].get<std::vector<double>>();
  }
  std::vector<double> stored(char const* name) { return stored_[name].get<std::vector<double>>(); }

  nlohmann::json stored_;
  std::vector<double> signal_;
  Stream stream_{Device::open(Backend::cpu)};
};

TEST_F(SignalReference, Spectra) {
  std::map<std::string, Window> const windows = {{"boxcar", Window::boxcar},
                                                 {"hann", Window::hann},
                                                 {"hamming", Window::hamming},
                                                 {"blackman", Window::blackman}};
  std::map<std::string, Detrend> const trends = {
      {"none", Detrend::none}, {"constant", Detrend::constant}, {"linear", Detrend::linear}};
  for (auto const& one : stored_["welch"]) {
    Options const options{one["segment"], one["overlap"], windows.at(one["window"]),
                          trends.at(one["detrend"]), one["rate"]};
    for (auto const variant : {"reference", "threads"})
      EXPECT_TRUE(
          test::is_spectrum(signal_, options, one["density"].get<std::vector<double>>(),
                            test::densities_of(stream_, signal_, options, variant, signal_.size())))
          << variant << ", segments of " << options.segment;
  }
}

TEST_F(SignalReference, Scans) {
  test::ScanCase const sum{scan::Operation::sum, scan::Kind::inclusive};
  auto const in_pieces = [&](scan::Running what) {
    return test::scanned_in_pieces(stream_, what, signal_, 300);
  };
  EXPECT_TRUE(test::is_scan(sum, signal_, stored("cumsum"), in_pieces(scan::Running::sum)));
  EXPECT_EQ(in_pieces(scan::Running::maximum), stored("cummax"));
  ASSERT_EQ(stored_["spacing"], 0.25);
  EXPECT_TRUE(test::is_scan(sum, test::increments_of(signal_), stored("cumulative_trapezoid"),
                            in_pieces(scan::Running::integral)));
}

TEST_F(SignalReference, DifferencesAndRanks) {
  for (auto const& one : stored_["diff"]) {
    int const order = one["order"];
    auto result =
        test::differences(stream_, {{std::ssize(signal_), 1, 1}, 0}, order, signal_, "threads");
    result.resize(result.size() - 2);
    EXPECT_EQ(result, one["values"].get<std::vector<double>>()) << order;
  }
  for (auto const& one : stored_["sorted_at"]) {
    int passes = 0;
    EXPECT_EQ(
        test::order_statistics(stream_, signal_, {one["rank"].get<std::int64_t>()}, true, passes),
        (std::vector<double>{one["value"].get<double>()}));
  }
}

TEST_F(SignalReference, HistogramOfPieces) {
  auto const edges = stored_["histogram"]["edges"].get<std::vector<double>>();
  std::vector<std::int64_t> counts(edges.size() - 1);
  test::for_pieces(signal_.size(), 99, [&](std::size_t first, std::size_t count) {
    histogram::count_edges<double>(stream_, std::span(signal_).subspan(first, count), edges, counts,
                                   "auto", histogram::Before::added_to);
  });
  EXPECT_EQ(counts, stored_["histogram"]["counts"].get<std::vector<std::int64_t>>());
}

TEST_F(SignalReference, Integrals) {
  double const spacing = stored_["spacing"];
  for (auto const& [name, rule] : {std::pair("trapezoid", reduce::Rule::trapezoid),
                                   std::pair("simpson", reduce::Rule::simpson)})
    for (auto const& one : stored_[name]) {
      std::int64_t const points = one["points"];
      std::vector<double> const values(signal_.begin(), signal_.begin() + points);
      reduce::IntegralOperation<double> const operation{rule, 1, {points, 1, 1}, {spacing, 1, 1}};
      // Of positive values, but for one weight: n roundings of the sums of either.
      double const bound =
          2 * static_cast<double>(points) * 0x1p-52 * std::abs(one["value"].get<double>());
      EXPECT_NEAR(test::reduced_alike(stream_, operation, values), one["value"].get<double>(),
                  bound)
          << name << " of " << points;
    }
}

}  // namespace
}  // namespace gridstride
