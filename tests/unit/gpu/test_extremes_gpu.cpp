#include "support/extremes_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

/// Without an array, several terms at a time, and bit for bit.
TEST(ExtremesGpu, AreThoseOfTheValues) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::expect_extremes_of_all_grids<float>(stream);
  test::expect_extremes_of_all_grids<double>(stream);
}

TEST(ExtremesGpu, OfSeveralLooksAreJoined) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (char const* variant : {"points", "interpreter"}) {
    test::expect_joined_extremes<float>(stream, variant);
    test::expect_joined_extremes<double>(stream, variant);
  }
}

TEST(ExtremesGpu, OfPlanesArePartsOfTheWhole) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (char const* variant : {"points", "interpreter"})
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
