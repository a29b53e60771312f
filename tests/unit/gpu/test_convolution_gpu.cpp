#include <gtest/gtest.h>

#include <string>

#include "support/convolution_cases.hpp"
#include "support/vendor_rows.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::test {
namespace {

class ConvolutionGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

std::string const signal = "sin(0.3*x + 0.7*y)*cos(0.1*x*z)";
std::string const filters =
    "[{gaussian: {axis: [x, y], sigma: 2}}, {derivative: {axis: z, accuracy: 4}},"
    " {savitzky_golay: {axis: x, window: 11, degree: 3}}]";

TEST_F(ConvolutionGpu, EqualsTheHost) {
  for (std::string const points : {"400, 30, 9", "33, 31, 5"})
    for (std::string const mode : {"reflect", "mirror", "nearest", "wrap", "constant"})
      for (std::string const precision : {"float64", "float32"}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", points, mode, precision));
        std::string const more =
            "  mode: " + mode + "\n" + (mode == "constant" ? "  value: 0.5\n" : "");
        auto const device = filter_signal(
            filter_yaml(points, signal, filters, precision, "auto", more), Backend::cuda);
        auto const host = filter_signal(
            filter_yaml(points, signal, filters, precision, "reference", more), Backend::cpu);
        // Four passes of at most 17 taps whose magnitudes sum to less than 3 in each, of values
        // below 3: k·ε·Σ|taps||in| of each, carried through the rest.
        double const epsilon = precision == "float64" ? 0x1p-52 : 0x1p-23;
        EXPECT_LE(largest_difference(device.u, host.u), 4 * 17 * epsilon * 3 * 3 * 3);
      }
}

/// More signals across memory than the rows `fft` and `overlap_save` have room for at a time.
TEST_F(ConvolutionGpu, ManySignals) {
  for (std::string const variant : {"fft", "overlap_save"}) {
    if (variant != "fft" && !has_library_of("cufft")) continue;
    auto const with = [&](std::string const& chosen, Backend backend) {
      return filter_signal(filter_yaml("90001, 24", "sin(0.3*x + 0.7*y)",
                                       "{gaussian: {axis: y, sigma: 2}}", "float32", chosen),
                           backend);
    };
    // What docs/simulations/convolution.md derives, for at most 512 points, ‖taps‖₂ < 1 and two
    // blocks of 40 values up to 1.
    double const bound = 10 * 0x1p-23 * 9 * std::sqrt(2.0 * 40);
    EXPECT_LE(largest_difference(with(variant, Backend::cuda).u, with("reference", Backend::cpu).u),
              bound)
        << variant;
  }
}

TEST_F(ConvolutionGpu, GivesTheSameBitsEveryTime) {
  for (std::string const variant : {"auto", "fft", "register"}) {
    auto const yaml =
        filter_yaml("3001", "sin(0.01*x^2)", "{gaussian: {sigma: 40}}", "float32", variant);
    EXPECT_EQ(filter_signal(yaml, Backend::cuda).u, filter_signal(yaml, Backend::cuda).u)
        << variant;
  }
}

}  // namespace
}  // namespace gridstride::test
