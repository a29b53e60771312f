#include <gtest/gtest.h>

#include "support/line_integral_cases.hpp"
#include "support/running_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using scan::Running;
using test::ScanData;

template <class T>
class RunningGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(RunningGpu, Types);

TYPED_TEST(RunningGpu, SumsOfPieces) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_running_sums<TypeParam>(stream);
}

TYPED_TEST(RunningGpu, SumsOnRanks) {
  test::expect_shared_sums<TypeParam>(Device::open(Backend::cuda));
}

TYPED_TEST(RunningGpu, ExtremesOfPieces) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_running_extremes<TypeParam>(stream);
}

TYPED_TEST(RunningGpu, IntegralsOfPieces) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_running_integrals<TypeParam>(stream);
}

TYPED_TEST(RunningGpu, FieldsInParts) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_field_parts<TypeParam>(stream);
}

TYPED_TEST(RunningGpu, ScansOfPieces) {
  Stream stream(Device::open(Backend::cuda));
  for (Running const what : {Running::sum, Running::maximum, Running::integral})
    test::expect_running_scans<TypeParam>(stream, what, ScanData::random);
  test::expect_running_scans<TypeParam>(stream, Running::sum, ScanData::nan);
}

TYPED_TEST(RunningGpu, OrderStatistics) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_order_statistics<TypeParam>(stream, sizeof(TypeParam) == 4 ? 3 : 6);
}

TEST(LineIntegralsGpu, AreSumsOfProducts) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  test::expect_line_integrals(stream);
}

TEST(RunningGpuOfIntegers, ScansWrap) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  for (Running const what : {Running::sum, Running::maximum}) {
    test::expect_running_scans<std::int32_t>(stream, what, ScanData::random);
    test::expect_running_scans<std::int64_t>(stream, what, ScanData::random);
  }
}

TEST(HistogramGpuOfPieces, CountsAreAddedTo) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Stream stream(Device::open(Backend::cuda));
  auto const values = test::scan_data<float>(ScanData::random, 100003);
  auto const data = test::to_device(std::span(values), stream);
  for (auto const& row : histogram::variants<float>()) {
    if (row.backend != Backend::cuda) continue;
    Buffer<std::int64_t> whole(stream, MemorySpace::device, 64),
        pieces(stream, MemorySpace::device, 64);
    histogram::count_even<float>(stream, data.span(), -1, 1, whole.span(), row.name);
    histogram::count_even<float>(stream, data.span().first(777), -1, 1, pieces.span(), row.name);
    histogram::count_even<float>(stream, data.span().subspan(777), -1, 1, pieces.span(), row.name,
                                 histogram::Before::added_to);
    EXPECT_EQ(test::to_host(pieces.span(), stream), test::to_host(whole.span(), stream))
        << row.name;
  }
}

}  // namespace
}  // namespace gridstride
