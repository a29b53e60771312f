#include "support/extremes_cases.hpp"

namespace gridstride {
namespace {

TEST(Extremes, AreThoseOfTheValues) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_extremes_of_all_grids<float>(stream);
  test::expect_extremes_of_all_grids<double>(stream);
}

TEST(Extremes, OfSeveralLooksAreJoined) {
  Stream stream(Device::open(Backend::cpu));
  for (char const* variant : {"reference", "threads"}) {
    test::expect_joined_extremes<float>(stream, variant);
    test::expect_joined_extremes<double>(stream, variant);
  }
}

TEST(Extremes, OfNothingAreNone) {
  Stream stream(Device::open(Backend::cpu));
  system::ExtremesFinder<double> finder(stream, {}, {}, {});
  EXPECT_EQ(finder.size(), 0);
  EXPECT_TRUE(finder.find({}, {}).empty());
}

TEST(Extremes, OfPlanesArePartsOfTheWhole) {
  Stream stream(Device::open(Backend::cpu));
  for (char const* variant : {"reference", "threads"})
    for (std::int64_t const at : {-1, 0, 62, 63, 179}) {
      test::expect_extremes_of_planes<float>(stream, variant, at);
      test::expect_extremes_of_planes<double>(stream, variant, at);
      for (int const dims : {2, 3}) {
        test::expect_extremes_of_bricks<float>(stream, variant, at, dims);
        test::expect_extremes_of_bricks<double>(stream, variant, at, dims);
      }
    }
}

}  // namespace
}  // namespace gridstride
