#include <gtest/gtest.h>

#include <set>

#include "kernels/system/sides.cuh"

namespace gridstride::system {
namespace {

/// All points of a margin, each once, in the order of its slabs.
TEST(Margins, HaveAPlaceForEachPoint) {
  long long const points[3] = {5, 4, 3};
  for (auto const& margin : {std::array{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {2, 1, 3}, {1, 1, 0}}) {
    int const far[3] = {margin[0], margin[1], margin[2]};
    std::set<long long> places;
    long long size = 0;
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side) size += margin_slab(points, far, axis, side).size();
    for (long long k = -far[2]; k < points[2] + far[2]; ++k)
      for (long long j = -far[1]; j < points[1] + far[1]; ++j)
        for (long long i = -far[0]; i < points[0] + far[0]; ++i) {
          bool const inside = i >= 0 && i < 5 && j >= 0 && j < 4 && k >= 0 && k < 3;
          long long const place = margin_place(points, far, {i, j, k});
          EXPECT_EQ(place < 0, inside);
          if (!inside) places.insert(place);
        }
    EXPECT_EQ(std::ssize(places), size);
    if (size > 0) {
      EXPECT_EQ(*places.begin(), 0);
      EXPECT_EQ(*places.rbegin(), size - 1);
    }
  }
}

/// Along x values are known, around y they go on.
TEST(Margins, AreReadBeyondAxesThatDoNotWrap) {
  long long const points[3] = {2, 3, 1};
  double const values[] = {0, 1, 10, 11, 20, 21}, beyond[] = {-1, 9, 19, 2, 12, 22};
  Input<double> input{.values = values, .beyond = beyond, .margin = {1, 0, 0}};
  for (auto& side : input.sides[0]) side.wraps = false;
  for (long long j = -3; j < 6; ++j)
    for (long long i = -1; i < 3; ++i)
      EXPECT_EQ(value_at<3>(input, points, i, j, 0), static_cast<double>(i + 10 * ((j + 3) % 3)))
          << i << ' ' << j;
}

}  // namespace
}  // namespace gridstride::system
