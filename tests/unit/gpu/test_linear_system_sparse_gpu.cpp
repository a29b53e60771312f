#include <gtest/gtest.h>

#include "support/linear_system_filled_cases.hpp"
#include "support/linear_system_sparse_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::test {
namespace {

class LinearSystemSparseGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(LinearSystemSparseGpu, EveryMethodFindsTheParabola) { expect_parabolas(Backend::cuda); }

TEST_F(LinearSystemSparseGpu, SeveralRightHandSides) { expect_several_sides(Backend::cuda); }

TEST_F(LinearSystemSparseGpu, SolutionsAreAsAlone) { expect_solutions_as_alone(Backend::cuda); }

TEST_F(LinearSystemSparseGpu, GroupsAreAsAlone) { expect_groups_as_alone(Backend::cuda); }

TEST_F(LinearSystemSparseGpu, LaterColumnsGiveWay) { expect_later_columns_give_way(Backend::cuda); }

TEST_F(LinearSystemSparseGpu, AutoFactorizesWhereNoIterationConverges) {
  expect_last_resort(Backend::cuda);
}

TEST_F(LinearSystemSparseGpu, FactorsServeAllRightHandSides) {
  expect_factors_serve_all(Backend::cuda);
}

TEST_F(LinearSystemSparseGpu, SingularOnesEndAsBefore) { expect_singular_as_before(Backend::cuda); }

TEST_F(LinearSystemSparseGpu, UnitsOfEitherSideDoNotMatter) { expect_any_scale(Backend::cuda); }

TEST_F(LinearSystemSparseGpu, UnitsOfEquationsAndUnknownsDoNotMatter) {
  expect_any_units(Backend::cuda);
}

TEST_F(LinearSystemSparseGpu, Float32HoldsAnyMatrixButNotAnySolution) {
  expect_ranges_of_float32(Backend::cuda);
}

TEST_F(LinearSystemSparseGpu, AggregationTakesFewIterations) { expect_aggregation(Backend::cuda); }

TEST_F(LinearSystemSparseGpu, PolynomialsTakeFewerIterations) { expect_polynomials(Backend::cuda); }

TEST_F(LinearSystemSparseGpu, IncompleteFactorsTakeFewerIterations) {
  expect_incomplete_factors(Backend::cuda);
}

TEST_F(LinearSystemSparseGpu, BlocksTakeFewerIterations) { expect_blocks(Backend::cuda); }

TEST_F(LinearSystemSparseGpu, AutoAggregatesWhereItTakesLong) {
  expect_hierarchy_when_it_takes_long(Backend::cuda);
}

}  // namespace
}  // namespace gridstride::test
