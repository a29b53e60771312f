#include <gtest/gtest.h>

#include "support/refusal.hpp"
#include "support/spectrum_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using spectrum::Detrend;
using spectrum::Window;

template <class T>
class SpectrumGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SpectrumGpu, Types);

TYPED_TEST(SpectrumGpu, VariantsEqualTheDefinition) {
  Stream stream(Device::open(Backend::cuda));
  int compared = 0;
  test::compare_spectra<TypeParam>(stream, compared);
  EXPECT_GE(compared, 8);
}

TYPED_TEST(SpectrumGpu, PiecesGiveTheSameBits) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_same_spectra_of_pieces<TypeParam>(stream,
                                                 {{4096, 2048, Window::hann, Detrend::constant, 1},
                                                  {256, 128, Window::hann, Detrend::linear, 1},
                                                  {1000, 250, Window::blackman, Detrend::none, 1}});
}

TEST(SpectrumGpuOfFloats, LengthsThatARowDoesNotTakeAreRefused) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  EXPECT_EQ(test::refusal([&] {
              spectrum::Welch<float>(stream, {1000, 500}, "fused");
            }),
            "spectrum: variant 'fused' does not take segments of 1000 samples");
}

}  // namespace
}  // namespace gridstride
