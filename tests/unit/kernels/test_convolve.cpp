#include <gtest/gtest.h>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/processors.hpp"
#include "kernels/convolve/convolve.hpp"
#include "support/convolve_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride {
namespace {

using convolve::Boundary;
using convolve::Filter;
using convolve::Shape;
using test::ConvolveCase;

template <class T>
std::vector<T> reference(ConvolveCase const& one, std::vector<double> const& taps,
                         std::vector<T> const& values) {
  Stream stream(Device::open(Backend::cpu));
  return test::convolved(stream, one, taps, values, "reference");
}

using Doubles = std::vector<double>;

TEST(ConvolveReference, ByHand) {
  Doubles const abcd = {1, 2, 4, 8};
  auto const filtered = [&](Doubles const& taps, std::int64_t center, Boundary boundary) {
    ConvolveCase const one{{{4, 1, 1}, 0}, std::ssize(taps), center, boundary, 100};
    return reference(one, taps, abcd);
  };
  // The first tap meets what comes after the point, as in a convolution.
  EXPECT_EQ(filtered({1, 0, 0}, 1, Boundary::constant), (Doubles{2, 4, 8, 100}));
  EXPECT_EQ(filtered({0, 0, 1}, 1, Boundary::constant), (Doubles{100, 1, 2, 4}));
  EXPECT_EQ(filtered({10, 1}, 0, Boundary::wrap), (Doubles{18, 21, 42, 84}));
  EXPECT_EQ(filtered({10, 1}, 1, Boundary::wrap), (Doubles{21, 42, 84, 18}));
  EXPECT_EQ(filtered({1, 1, 1}, 1, Boundary::constant), (Doubles{103, 7, 14, 112}));
  EXPECT_EQ(filtered({3}, 0, Boundary::mirror), (Doubles{3, 6, 12, 24}));
}

/// The signal a b c d as it goes on to both sides: one tap that is far from the center.
TEST(ConvolveReference, SignalsGoOnAsDocumented) {
  Doubles const abcd = {1, 2, 3, 4};
  auto const shifted = [&](std::int64_t by, Boundary boundary) {
    Doubles taps(2 * static_cast<std::size_t>(std::abs(by)) + 1, 0.0);
    auto const center = std::abs(by);
    taps[static_cast<std::size_t>(center - by)] = 1;  // out_i = in_{i + by}
    ConvolveCase const one{{{4, 1, 1}, 0}, std::ssize(taps), center, boundary, 9};
    return reference(one, taps, abcd);
  };
  EXPECT_EQ(shifted(-4, Boundary::reflect), (Doubles{4, 3, 2, 1}));
  EXPECT_EQ(shifted(4, Boundary::reflect), (Doubles{4, 3, 2, 1}));
  EXPECT_EQ(shifted(-3, Boundary::mirror), (Doubles{4, 3, 2, 1}));
  EXPECT_EQ(shifted(3, Boundary::mirror), (Doubles{4, 3, 2, 1}));
  EXPECT_EQ(shifted(-4, Boundary::nearest), (Doubles{1, 1, 1, 1}));
  EXPECT_EQ(shifted(4, Boundary::nearest), (Doubles{4, 4, 4, 4}));
  EXPECT_EQ(shifted(-4, Boundary::wrap), abcd);
  EXPECT_EQ(shifted(4, Boundary::constant), (Doubles{9, 9, 9, 9}));
  // Again and again: a reflected signal has period 8, a mirrored one 6.
  EXPECT_EQ(shifted(-9, Boundary::reflect), (Doubles{1, 1, 2, 3}));
  EXPECT_EQ(shifted(14, Boundary::reflect), (Doubles{2, 1, 1, 2}));
  EXPECT_EQ(shifted(-8, Boundary::mirror), (Doubles{3, 2, 1, 2}));
  EXPECT_EQ(shifted(13, Boundary::mirror), (Doubles{2, 3, 4, 3}));
  EXPECT_EQ(shifted(-10, Boundary::wrap), (Doubles{3, 4, 1, 2}));
}

TEST(ConvolveReference, EachAxisByItself) {
  Doubles values;
  for (int i = 0; i < 2 * 3 * 4; ++i) values.push_back(i);
  for (int axis = 0; axis < 3; ++axis) {
    ConvolveCase const one{{{2, 3, 4}, axis}, 3, 1, Boundary::nearest};
    double const stride[] = {1, 2, 6}, points[] = {2, 3, 4};
    auto const result =
        reference(one, {0.5, 0, -0.5}, values);  // half of what is beyond and before
    for (int i = 0; i < std::ssize(values); ++i) {
      int const along = i / static_cast<int>(stride[axis]) % static_cast<int>(points[axis]);
      bool const at_end = along == 0 || along == points[axis] - 1;
      EXPECT_EQ(result[static_cast<std::size_t>(i)], at_end ? stride[axis] / 2 : stride[axis]);
    }
  }
}

/// Values that scipy.ndimage.convolve1d made: tools/make_ndimage_reference.py.
TEST(ConvolveReference, EqualsStoredValuesOfScipy) {
  std::ifstream file(GRIDSTRIDE_SOURCE_DIR "/tests/data/ndimage_convolve1d.json");
  auto const stored = nlohmann::json::parse(file);
  int compared = 0;
  for (auto const& entry : stored.at("cases")) {
    auto const taps = entry.at("taps").get<Doubles>();
    auto const values = entry.at("in").get<Doubles>(), expected = entry.at("out").get<Doubles>();
    auto const name = entry.at("boundary").get<std::string>();
    auto const boundary = std::ranges::find(convolve::boundary_names, name);
    ASSERT_NE(boundary, convolve::boundary_names.end());
    ConvolveCase const one{
        {entry.at("points").get<std::array<std::int64_t, 3>>(), entry.at("axis").get<int>()},
        std::ssize(taps),
        entry.at("center").get<std::int64_t>(),
        static_cast<Boundary>(boundary - convolve::boundary_names.begin()),
        entry.at("value").get<double>()};
    EXPECT_TRUE(test::is_within(test::convolve_bounds(one, taps, values, "reference"), expected,
                                reference(one, taps, values)))
        << one.text();
    ++compared;
  }
  EXPECT_GE(compared, 100);
}

template <class T>
class ConvolveHost : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ConvolveHost, Types);

TYPED_TEST(ConvolveHost, VariantsEqualTheReference) {
  Stream stream(Device::open(Backend::cpu));
  int compared = 0;
  test::compare_small_filters<TypeParam>(stream, compared);
  test::compare_filters<TypeParam>(stream, {{{30011, 1, 1}, 0}, 64, 13, Boundary::reflect},
                                   compared);
  test::compare_filters<TypeParam>(stream, {{{7, 1, 1}, 0}, 65535, 65000, Boundary::mirror},
                                   compared);
  EXPECT_GE(compared, 21 * 9 * 3 * 2);
}

TEST(Convolve, BitsDoNotDependOnTheNumberOfThreads) {
  Stream stream(Device::open(Backend::cpu));
  int const before = host_threads();
  auto const taps = test::random_values<double>(33, 1);
  auto const values = test::random_values<float>(3 * 5003, 2);
  for (int const axis : {0, 1}) {
    ConvolveCase const one{{{5003, 3, 1}, axis}, 33, 7, Boundary::mirror};
    set_host_threads(1);
    auto const alone = test::convolved(stream, one, taps, values, "threads");
    for (int const count : {2, 3, 7}) {
      set_host_threads(count);
      EXPECT_EQ(alone, test::convolved(stream, one, taps, values, "threads")) << axis << count;
    }
    set_host_threads(before);
  }
}

TEST(Convolve, ChoosesRowsOfTheTableAndTransformsForManyTaps) {
  for (auto const backend : {Backend::cpu, Backend::cuda})
    for (int const axis : {0, 1})
      for (std::int64_t const n : {1, 100, 5000, 100000})
        for (std::size_t const bytes : {4, 8}) {
          Shape const shape{{n, n, 1}, axis};
          for (std::int64_t taps = 1; taps <= convolve::most_taps; taps *= 2) {
            auto const choice = convolve::choose(backend, taps, shape, bytes);
            auto const names = [&](auto const& row) {
              return row.name == choice && row.backend == backend;
            };
            EXPECT_TRUE(std::ranges::any_of(convolve::variants<double>(), names)) << choice;
            EXPECT_FALSE(bytes == 4 && choice == "tensor_core");
            EXPECT_TRUE(taps >= 32 || choice == convolve::default_variant(backend)) << choice;
            EXPECT_TRUE(taps <= 512 || choice == "fft") << choice;
          }
        }
}

TEST(Convolve, NothingToFilterIsNoError) {
  Stream stream(Device::open(Backend::cpu));
  Filter<float> const filter(stream, Doubles{1, 2}, 0);
  convolve::convolve<float>(stream, filter, {{5, 0, 1}, 1}, Boundary::reflect, {}, {});
}

TEST(Convolve, RefusesBadFilters) {
  Stream stream(Device::open(Backend::cpu));
  auto const made = [&](Doubles const& taps, std::int64_t center) {
    return test::refusal([&] { Filter<float>(stream, taps, center); });
  };
  EXPECT_EQ(made({}, 0), "convolve: a filter has 1 to 65535 taps, not 0");
  EXPECT_EQ(made(Doubles(65536, 1.0), 0), "convolve: a filter has 1 to 65535 taps, not 65536");
  EXPECT_EQ(made({1, 2, 3}, 3), "convolve: tap 3 is the center of a filter of 3 (counted from 0)");
  EXPECT_EQ(made({1, 2, 3}, -1),
            "convolve: tap -1 is the center of a filter of 3 (counted from 0)");
  EXPECT_EQ(made({1, NAN}, 0), "convolve: tap 1 is nan (taps have to be finite, also in float32)");
  EXPECT_EQ(made({1e39}, 0), "convolve: tap 0 is 1e+39 (taps have to be finite, also in float32)");
  EXPECT_EQ(test::refusal([&] { Filter<double>(stream, Doubles{1e39}, 0); }), "nothing");
}

TEST(Convolve, RefusesBadArguments) {
  Stream stream(Device::open(Backend::cpu));
  Filter<float> const filter(stream, Doubles{1, 2}, 0);
  std::vector<float> x(12, 1), y(12);
  auto const filtered = [&](Shape const& shape, std::span<float const> in, std::span<float> out,
                            std::string_view variant) {
    return test::refusal([&] {
      convolve::convolve<float>(stream, filter, shape, Boundary::reflect, in, out, 0, variant);
    });
  };
  EXPECT_EQ(filtered({{3, 4, 1}, 1}, x, y, "auto"), "nothing");
  EXPECT_EQ(filtered({{3, 5, 1}, 1}, x, y, "auto"),
            "convolve: in has 12 elements, 3 x 5 x 1 points are 15");
  EXPECT_EQ(filtered({{12, 1, 1}, 0}, x, std::span(y).first(11), "auto"),
            "convolve: out has 11 elements, 12 x 1 x 1 points are 12");
  std::int64_t const huge = std::int64_t{1} << 32;
  EXPECT_EQ(filtered({{huge, huge, 1}, 1}, x, y, "auto"),
            "convolve: in has 12 elements, 4294967296 x 4294967296 x 1 points are "
            "18446744073709551616");
  EXPECT_EQ(filtered({{3, -4, 1}, 1}, x, y, "auto"), "convolve: no array has 3 x -4 x 1 points");
  EXPECT_EQ(filtered({{3, 4, 1}, 3}, x, y, "auto"), "convolve: there is no axis 3");
  EXPECT_EQ(filtered({{12, 1, 1}, 0}, x, x, "auto"),
            "convolve: in (12 elements) and out (12 elements) overlap");
  EXPECT_EQ(filtered({{8, 1, 1}, 0}, std::span(x).first(8), std::span(x).last(8), "auto"),
            "convolve: in (8 elements) and out (8 elements) overlap");
  EXPECT_EQ(filtered({{12, 1, 1}, 0}, x, y, "fastest"), "convolve: cpu has no variant 'fastest'");
}

TEST(Convolve, FiltersCanBeMovedAndKeepTheirTaps) {
  Stream stream(Device::open(Backend::cpu));
  Filter<double> filter(stream, Doubles{1, 2, 3}, 2);
  Filter<double> moved(std::move(filter));
  Filter<double> assigned(stream, Doubles{5}, 0);
  assigned = std::move(moved);
  EXPECT_EQ(assigned.count(), 3);
  EXPECT_EQ(assigned.center(), 2);
  EXPECT_EQ(Doubles(assigned.taps().begin(), assigned.taps().end()), (Doubles{1, 2, 3}));
}

}  // namespace
}  // namespace gridstride
