#include <gtest/gtest.h>

#include <numeric>

#include "support/refusal.hpp"
#include "support/thin_cases.hpp"

namespace gridstride {
namespace {

using convert::all_fit;
using convert::Thinning;

template <class F, class T>
test::Thinned<F> by_reference(std::vector<T> const& field, Thinning const& thinning) {
  Stream stream(Device::open(Backend::cpu));
  return test::thinned<F>(stream, field, thinning, 0, thinning.kept_size(), "reference");
}

std::vector<double> counted(std::int64_t size) {
  std::vector<double> values(static_cast<std::size_t>(size));
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

TEST(ThinReference, EveryNthPointOfEachAxis) {
  EXPECT_EQ(by_reference<double>(counted(7), {{7, 1, 1}, {3, 1, 1}}).values,
            (std::vector<double>{0, 3, 6}));
  EXPECT_EQ(by_reference<float>(counted(20), {{5, 4, 1}, {2, 3, 1}}).values,
            (std::vector<float>{0, 2, 4, 15, 17, 19}));
  EXPECT_EQ(by_reference<double>(counted(24), {{2, 3, 4}, {1, 2, 3}}).values,
            (std::vector<double>{0, 1, 4, 5, 18, 19, 22, 23}));
  EXPECT_EQ(by_reference<double>(counted(4), {{4, 1, 1}, {9, 1, 1}}).values,
            (std::vector<double>{0}));
}

TEST(ThinReference, VectorsStayWhole) {
  EXPECT_EQ(by_reference<double>(counted(24), {{4, 3, 1}, {3, 2, 1}, 2}).values,
            (std::vector<double>{0, 1, 6, 7, 16, 17, 22, 23}));
}

TEST(ThinReference, RoundsToNearestAndTellsWhatIsBeyond) {
  double const infinity = std::numeric_limits<double>::infinity();
  std::vector<double> const field = {1 + 0x1p-25, 0.1, infinity, -1e39, 1e300, 1e-50};
  auto const found = by_reference<float>(field, {{6, 1, 1}});
  float const beyond = std::numeric_limits<float>::infinity();
  EXPECT_EQ(found.values, (std::vector<float>{1, 0.1F, beyond, -beyond, beyond, 0}));
  EXPECT_EQ(found.first_beyond, 3);
  EXPECT_EQ(by_reference<float>(field, {{6, 1, 1}, {4, 1, 1}}).first_beyond, 4);
  EXPECT_EQ(by_reference<float>(field, {{6, 1, 1}, {5, 1, 1}}).first_beyond, all_fit);
  EXPECT_EQ(by_reference<double>(field, {{6, 1, 1}}).first_beyond, all_fit);
}

template <class F, class T>
void compare_host_rows() {
  Stream stream(Device::open(Backend::cpu));
  test::for_each_part([&](Thinning const& thinning, std::int64_t first, std::int64_t count) {
    auto const field = test::random_field<T>(thinning.size());
    EXPECT_EQ(test::thinned<F>(stream, field, thinning, first, count, "reference"),
              test::thinned<F>(stream, field, thinning, first, count, "threads"))
        << thinning.size() << " from " << first;
  });
}

TEST(ThinHost, RowsEqualTheReference) {
  compare_host_rows<float, float>();
  compare_host_rows<double, double>();
  compare_host_rows<float, double>();
}

TEST(Thin, RefusesBadArguments) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> field(24), target(24);
  std::vector<std::int64_t> beyond(2);
  auto const call = [&](Thinning const& thinning, std::int64_t first, std::size_t count,
                        std::string_view variant = "auto", std::size_t places = 1) {
    return test::refusal([&] {
      convert::thin<double, double>(stream, field, thinning, first, std::span(target).first(count),
                                    std::span(beyond).first(places), variant);
    });
  };
  Thinning const good = {{4, 3, 2}, {2, 2, 1}};
  EXPECT_EQ(call(good, 0, 8), "nothing");
  EXPECT_EQ(call(good, 1, 8), "convert::thin: values 1 to 9 of 8 are wanted");
  EXPECT_EQ(call(good, -1, 2), "convert::thin: values -1 to 1 of 8 are wanted");
  EXPECT_EQ(call({{4, 3, 1}}, 0, 8), "convert::thin: field has 24 elements, it needs 12");
  EXPECT_EQ(call({{4, 3, 2}, {0, 1, 1}}, 0, 0),
            "convert::thin: an axis has no points, or every 0th is wanted");
  EXPECT_EQ(call({{4, 0, 2}}, 0, 0),
            "convert::thin: an axis has no points, or every 0th is wanted");
  EXPECT_EQ(call(good, 0, 8, "fastest"), "convert: cpu has no variant 'fastest'");
  EXPECT_EQ(call(good, 0, 8, "auto", 2), "convert::thin: first_beyond has 2 elements, it needs 1");
  EXPECT_EQ(test::refusal([&] {
              convert::thin<double, double>(stream, field, {{4, 3, 2}}, 0, std::span(field),
                                            std::span(beyond).first(1));
            }),
            "convert::thin: field (24 elements) and target (24 elements) overlap");
}

}  // namespace
}  // namespace gridstride
