#include "support/symmetry_cases.hpp"

namespace gridstride::factorize::test {
namespace {

TEST(Symmetry, FindsTheFirstPlaces) {
  Stream stream(Device::open(Backend::cpu));
  expect_what_is_there<float>(stream);
  expect_what_is_there<double>(stream);
}

}  // namespace
}  // namespace gridstride::factorize::test
