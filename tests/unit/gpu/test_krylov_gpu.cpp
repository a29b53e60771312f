#include <gtest/gtest.h>

#include "support/krylov_cases.hpp"
#include "support/krylov_together_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

class KrylovGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(KrylovGpu, EigenvectorsOnTheRightTakeAnIterationEach) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_few_iterations(stream);
}

TEST_F(KrylovGpu, MethodsAgreeWithElimination) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_agreement<double>(stream);
  test::expect_agreement<float>(stream);
}

TEST_F(KrylovGpu, WhatCannotBeSolvedIsTold) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_outcomes(stream);
}

TEST_F(KrylovGpu, WhatLooksAlikeIsSolved) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_solved(stream);
}

TEST_F(KrylovGpu, Preconditioned) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_preconditioned(stream);
}

TEST_F(KrylovGpu, ScalesAndStarts) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_scales_and_starts(stream);
}

TEST_F(KrylovGpu, TogetherAsAlone) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_together<double>(stream);
  test::expect_together<float>(stream);
  test::expect_ends_together(stream);
}

TEST_F(KrylovGpu, PreconditionedTogetherAsAlone) {
  Stream stream(Device::open(Backend::cuda));
  test::expect_preconditioned_together<double>(stream);
  test::expect_preconditioned_together<float>(stream);
}

/// Of several tiles; the number of iterations is about that of the host.
TEST_F(KrylovGpu, SeveralTiles) {
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  auto const matrix = sparse::stencil_matrix<double>(sparse::Neighbours::axes, {70, 60, 1});
  auto const b = test::random_vector<double>(matrix.rows, 6);
  for (auto const method : test::all_methods) {
    krylov::Options const options{.tolerance = 1e-6, .iterations = 4000, .restart = 40};
    auto const there =
        test::solve_krylov(stream, method, test::operator_of(stream, matrix), b, options);
    auto const here = test::solve_krylov(host, method, test::operator_of(host, matrix), b, options);
    EXPECT_TRUE(there.result.converged()) << name_of(method) << there.result.advice;
    EXPECT_NEAR(static_cast<double>(there.result.iterations),
                static_cast<double>(here.result.iterations),
                0.2 * static_cast<double>(here.result.iterations))
        << name_of(method);
    EXPECT_LE(test::residual_of(matrix, there.x, b), 1.001e-6);
  }
}

}  // namespace
}  // namespace gridstride
