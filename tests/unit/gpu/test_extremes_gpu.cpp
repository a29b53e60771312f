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

}  // namespace
}  // namespace gridstride
