#include <gtest/gtest.h>

#include "support/file_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::test {
namespace {

constexpr Backend cuda = Backend::cuda;

TEST(InputFilesGpu, EveryTypeGivesTheBitsOfAConversion) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_start<std::int8_t>(cuda, "int8", 31, 17);
  expect_start<std::uint16_t>(cuda, "uint16", 31, 17);
  expect_start<std::int32_t>(cuda, "int32", 31, 17);
  expect_start<std::uint64_t>(cuda, "uint64", 31, 17);
  expect_start<float>(cuda, "float32", 31, 17);
  expect_start<double>(cuda, "float64", 31, 17);
}

/// Parts for several times as many lanes as there are.
TEST(InputFilesGpu, LongFilesGiveTheBitsOfAConversion) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_start<float>(cuda, "float32", 8191, 8191);
  expect_start<std::int64_t>(cuda, "int64", 4099, 4093);
  expect_start<std::uint8_t>(cuda, "uint8", 4099, 4093);
}

TEST(InputFilesGpu, TheFirstNumberThatIsNotFiniteIsTold) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_first_non_finite(cuda);
}

TEST(InputFilesGpu, SpeedsFromAFileAreSquaredLikeAFormula) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_equal_waves(cuda);
}

}  // namespace
}  // namespace gridstride::test
