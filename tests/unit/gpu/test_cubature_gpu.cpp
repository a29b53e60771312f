#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cubature/cubature.hpp"
#include "kernels/cubature/list.hpp"
#include "support/cubature_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using quadrature::CubatureOptions;
using quadrature::Interval;
using quadrature::Outcome;
using test::Genz;

class CubatureGpu : public testing::Test {
 protected:
  void SetUp() override {
    GRIDSTRIDE_SKIP_WITHOUT_GPU();
    stream_.emplace(Device::open(Backend::cuda));
  }
  std::optional<Stream> stream_;
};

/// One generation is the same sums of the same samples on both. Each sample may differ by the
/// rounding of its coordinates and of the functions, some 20·ε of the largest that there is, and
/// the weights of a rule add to less than 200 in size up to 20 dimensions.
template <class T>
void compare_first_generation(Stream& stream, int dimensions) {
  auto const integrand = test::integrand_of(
      "exp(-p0*v0)*(2 + cos(v1 + v" + std::to_string(dimensions - 1) + "))", dimensions, 1);
  std::vector<Interval> box(dimensions, Interval{0.25, 1.5});
  std::array<double, 1> const parameters = {0.75};
  CubatureOptions const options{{0, 1e30}};
  Stream host(Device::open(Backend::cpu));
  auto const expected = quadrature::cubature<T>(host, integrand, box, parameters, options);
  auto const result = quadrature::cubature<T>(stream, integrand, box, parameters, options);
  EXPECT_EQ(result.boxes, expected.boxes);
  EXPECT_EQ(result.estimate.evaluations, expected.estimate.evaluations);
  EXPECT_NEAR(result.estimate.value, expected.estimate.value,
              200 * 20 * quadrature::rounding_of<T>() * 3 * std::pow(1.25, dimensions))
      << dimensions << " dimensions";
}

TEST_F(CubatureGpu, OneGenerationIsThatOfTheHost) {
  for (int d : {2, 3, 5, 8, 13, 20}) compare_first_generation<double>(*stream_, d);
  for (int d : {2, 4, 13}) compare_first_generation<float>(*stream_, d);
}

TEST_F(CubatureGpu, GenzFamiliesReachTheirTolerance) {
  for (int d : {2, 5, 8})
    for (Genz const family : test::genz_families) {
      if (family == Genz::continuous && d > 5) continue;
      double const relative = d == 5 && family == Genz::continuous ? 1e-4 : 1e-6;
      auto const one = test::genz_case(family, d, 3 + static_cast<unsigned>(d));
      auto const result = quadrature::cubature<double>(
          *stream_, one.integrand, std::vector<Interval>(d), {}, {{relative, 0}});
      double const error = std::fabs(result.estimate.value - one.value);
      EXPECT_EQ(result.estimate.outcome, Outcome::reached) << one.name;
      EXPECT_LE(error, relative * std::fabs(one.value)) << one.name;
      EXPECT_LE(error, result.estimate.error) << one.name;
    }
}

TEST_F(CubatureGpu, EstimatesHoldWhereverASingularityLies) {
  test::expect_estimates_hold(*stream_);
}

TEST_F(CubatureGpu, Float32ReachesWhatItsRoundingAllows) {
  for (int d : {3, 8}) {
    auto const one = test::genz_case(Genz::gaussian, d, 9);
    auto const result = quadrature::cubature<float>(*stream_, one.integrand,
                                                    std::vector<Interval>(d), {}, {{1e-4, 0}});
    EXPECT_EQ(result.estimate.outcome, Outcome::reached) << one.name;
    EXPECT_NEAR(result.estimate.value, one.value, 1e-4 * one.value) << one.name;
  }
}

TEST_F(CubatureGpu, TheSameBitsEveryTime) {
  auto const one = test::genz_case(Genz::discontinuous, 5, 8);
  std::vector<std::uint64_t> bits;
  for (int run = 0; run < 3; ++run) {
    auto const result = quadrature::cubature<double>(*stream_, one.integrand,
                                                     std::vector<Interval>(5), {}, {{1e-6, 0}});
    bits.push_back(std::bit_cast<std::uint64_t>(result.estimate.value));
    EXPECT_EQ(bits.back(), bits.front());
  }
}

TEST_F(CubatureGpu, WorksInLittleMemory) {
  auto const one = test::genz_case(Genz::continuous, 3, 2);
  std::vector<Interval> const box(3);
  auto const free = quadrature::cubature<double>(*stream_, one.integrand, box, {}, {{1e-7, 0}});
  ASSERT_GT(free.boxes, 6000);
  for (bool enough : {true, false}) {
    CubatureOptions options{{enough ? 1e-7 : 1e-11, 0}, 3'000'000};
    options.memory_bytes =
        enough ? quadrature::bytes_of_box(3) * static_cast<std::size_t>(free.boxes * 2 / 5) : 1;
    auto const result = quadrature::cubature<double>(*stream_, one.integrand, box, {}, options);
    EXPECT_EQ(result.estimate.outcome, enough ? Outcome::reached : Outcome::not_reached);
    double const error = std::fabs(result.estimate.value - one.value);
    EXPECT_LE(error, result.estimate.error);
    EXPECT_LE(error, 1e-6 * one.value);
  }
}

TEST_F(CubatureGpu, TellsASampleThatIsNotFinite) {
  for (char const* formula : {"1/(v0-v0)", "log(v1-0.3)", "sqrt(0.4-v0)*v1", "exp(2000*v0)"}) {
    auto const integrand = test::integrand_of(formula, 2);
    auto const result = quadrature::cubature<double>(*stream_, integrand, std::vector<Interval>(2),
                                                     {}, {{1e-6, 0}});
    EXPECT_EQ(result.estimate.outcome, Outcome::non_finite) << formula;
    ASSERT_EQ(result.non_finite_at.size(), 2u) << formula;
    EXPECT_FALSE(std::isfinite(integrand.formula.evaluate(result.non_finite_at))) << formula;
  }
}

}  // namespace
}  // namespace gridstride
