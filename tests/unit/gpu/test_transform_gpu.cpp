#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/transform_endings.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::test {
namespace {

class TransformModesGpu : public ::testing::TestWithParam<std::string> {};

TEST_P(TransformModesGpu, BitsDoNotDependOnTheCut) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const precision : {"float32", "float64"})
    for (std::string const points : {"211", "13, 17", "5, 11, 4"}) {
      bool const line = points.find(',') == std::string::npos;
      auto const yaml = [&](std::string const& more) {
        return every_step(points, GetParam(), line, precision, more);
      };
      auto const whole = transform(yaml("limits: {chunk: 1 GiB, streams: 1}"), Backend::cuda);
      for (std::string const limits :
           {"chunk: 1 B, streams: 3", "chunk: 56 B, streams: 2", "chunk: 500 B"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", precision, points, limits));
        expect_same_bits(whole, transform(yaml("limits: {" + limits + "}"), Backend::cuda));
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Transform, TransformModesGpu,
                         ::testing::Values("reflect", "mirror", "nearest", "wrap", "constant"));

TEST(TransformGpu, BitsDoNotDependOnTheCutOfManyValues) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const precision : {"float32", "float64"}) {
    auto const yaml = [&](std::string const& more) {
      return every_step("3000001", "reflect", true, precision, more);
    };
    auto const whole = transform(yaml("limits: {chunk: 1 GiB, streams: 1}"), Backend::cuda);
    for (std::string const limits : {"chunk: 4000000 B, streams: 4", "chunk: 1 MiB, streams: 2"})
      expect_same_bits(whole, transform(yaml("limits: {" + limits + "}"), Backend::cuda));
  }
}

TEST(TransformGpu, BitsOfSortsDoNotDependOnTheCut) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_sorts_of_any_cut(Backend::cuda);
}

TEST(TransformGpu, BitsOfSpectraDoNotDependOnTheCut) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  expect_spectra_of_any_cut(Backend::cuda);
}

/// Formulas as one kernel, and each by itself.
TEST(TransformGpu, BitsDoNotDependOnTheCompiler) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  for (std::string const precision : {"float32", "float64"}) {
    auto const with = [&](std::string const& variant) {
      return transform(every_step("13, 17", "wrap", false, precision,
                                  "limits: {chunk: 500 B}\nkernels: {evaluate: " + variant + "}"),
                       Backend::cuda);
    };
    expect_same_bits(with("interpreter"), with("compiled"));
  }
}

/// Formulas, filters and sums differ by rounding alone: the values are below 10, and at most 211 of
/// them are added up.
TEST(TransformGpu, EqualsTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  auto const yaml = every_step("211", "mirror", true, "float64", "");
  auto const host = transform(yaml, Backend::cpu), device = transform(yaml, Backend::cuda);
  constexpr double bound = 211 * 211 * 10 * 0x1p-52;
  for (auto const& [name, values] : host.fields)
    EXPECT_LE(largest_difference(values, device.fields.at(name)), bound) << name;
  for (auto const& [name, value] : host.numbers)
    EXPECT_LE(std::abs(value - device.numbers.at(name)), 211 * 10 * bound) << name;
}

}  // namespace
}  // namespace gridstride::test
