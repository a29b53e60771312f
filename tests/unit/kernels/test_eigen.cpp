#include <gtest/gtest.h>

#include "support/eigen_cases.hpp"

namespace gridstride::test {
namespace {

Stream host() { return Stream(Device::open(Backend::cpu)); }

TEST(Eigen, ProductsAndCombinationsOfBlocks) {
  Stream stream = host();
  expect_blocks(stream);
}

TEST(Eigen, EveryVariantTransformsDenseMatrices) {
  Stream stream = host();
  for (auto const& row : eigen::variants())
    if (row.backend == Backend::cpu &&
        (row.name != "lapack" || eigen::default_variant(Backend::cpu) == "lapack"))
      for (int const n : {1, 2, 3, 31, 64, 97}) expect_dense(stream, row.name, n);
}

TEST(Eigen, EigenvaluesThatAreOftenZeroComeToAnEnd) {
  Stream stream = host();
  // I − 2·v·vᵀ on both sides of a diagonal of −1, 0 and 1.
  constexpr int n = 320;
  auto const diagonal = [](int i) { return i % 3 - 1.0; };
  std::vector<double> v(n), matrix(n * n), values(n);
  double square = 0, curvature = 0;
  for (int i = 0; i < n; ++i) square += std::pow(v[i] = std::sin(i + 1.0), 2);
  for (double& value : v) value /= std::sqrt(square);
  for (int i = 0; i < n; ++i) curvature += diagonal(i) * v[i] * v[i];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      matrix[i * n + j] = (i == j ? diagonal(i) : 0) -
                          (2 * (diagonal(i) + diagonal(j)) - 4 * curvature) * v[i] * v[j];
  eigen::decompose(stream, n, matrix, values, "reference");
  for (int i = 0; i < n; ++i) EXPECT_NEAR(values[i], i < 107 ? -1 : i < 214 ? 0 : 1, 1e-13);
}

TEST(Eigen, DiagonalMatricesStayAsTheyAre) {
  Stream stream = host();
  std::vector<double> matrix = {3, 0, 0, 0, -1, 0, 0, 0, 3}, values(3);
  eigen::decompose(stream, 3, matrix, values, "reference");
  EXPECT_EQ(values, (std::vector<double>{-1, 3, 3}));
  EXPECT_EQ(matrix, (std::vector<double>{0, 1, 0, 1, 0, 0, 0, 0, 1}));
}

TEST(Eigen, ModesOfEveryKindOfSide) {
  Stream stream = host();
  for (std::string const sides : {"pp", "dd", "nn", "dn", "nd"}) {
    expect_grid_modes(stream, {101}, sides, 7);
    expect_grid_modes(stream, {64}, sides, 3);
  }
  expect_grid_modes(stream, {33, 33}, "dddd", 12);  // equal ones twice
  expect_grid_modes(stream, {24, 24}, "pppp", 9);   // and four times
  expect_grid_modes(stream, {33, 20}, "nndn", 6);
  expect_grid_modes(stream, {12, 12, 12}, "dddddd", 10);
  expect_grid_modes(stream, {9, 12, 10}, "nnppnd", 5);
}

TEST(Eigen, ModesThatLieCloseTogether) {
  Stream stream = host();
  expect_close_modes(stream);
}

TEST(Eigen, BlocksGrowWhereThereIsRoom) {
  EXPECT_EQ(eigen::block_size(6, 1000), 10);
  EXPECT_EQ(eigen::largest_block(6, 1000, 1000), 160);
  EXPECT_EQ(eigen::largest_block(6, 1000, 40), 40);
  EXPECT_EQ(eigen::largest_block(6, 65536, 65000), 85);  // of 6 vectors each
  EXPECT_EQ(eigen::largest_block(6, 1 << 24, 1 << 24), 10);
}

TEST(Eigen, LargestModes) {
  Stream stream = host();
  expect_grid_modes(stream, {20, 21}, "ddnn", 4, true);
  expect_grid_modes(stream, {16, 16}, "pppp", 3, true);
}

TEST(Eigen, LanczosFindsModesOfEveryKindOfSide) {
  Stream stream = host();
  expect_lanczos_modes(stream);
}

TEST(Eigen, LanczosMissesNoneOfEqualEigenvalues) {
  Stream stream = host();
  expect_every_copy(stream);
}

TEST(Eigen, LanczosNeedsFewerProductsThanConjugateGradients) {
  Stream stream = host();
  eigen::GridOperator<double> const a(stream, grid_equation({30, 40}, "dddd"), {1, 1, 0, 0});
  eigen::Options const options{.modes = 8, .largest = true};
  Modes const one(stream, a.get(), options, Iteration::lanczos),
      other(stream, a.get(), options, Iteration::lobpcg);
  EXPECT_LT(one.result.products, other.result.products);
}

TEST(Eigen, LanczosThatDoesNotEndSaysSo) {
  Stream stream = host();
  eigen::GridOperator<double> const a(stream, grid_equation({200}, "dd"), {1, 1, 0, 0});
  std::vector<double> rows(static_cast<std::size_t>(200 * eigen::lanczos_rows(3, 198)));
  auto const found = eigen::lanczos(stream, a.get(), {.modes = 3, .iterations = 2}, rows);
  EXPECT_FALSE(found.converged);
  EXPECT_EQ(found.history.size(), 3u);
  EXPECT_LT(found.history.back().found, 3);
}

TEST(Eigen, BlocksAsLargeAsTheSpace) {
  Stream stream = host();
  expect_grid_modes(stream, {5}, "dd", 3);
  expect_grid_modes(stream, {4}, "nn", 4);
  expect_grid_modes(stream, {3}, "dd", 1);
  expect_grid_modes(stream, {14}, "dd", 3);
}

TEST(Eigen, BoundsOfErrors) {
  // Two that cannot be told apart count as one.
  auto const bounds = eigen::error_bounds(std::vector<double>{1, 1.000001, 3},
                                          std::vector<double>{1e-3, 1e-3, 1e-3}, 5.0, 1e-16);
  EXPECT_NEAR(bounds[0], 2e-6 / 2, 1e-8);
  EXPECT_NEAR(bounds[2], 1e-6 / 2, 1e-8);
  EXPECT_DOUBLE_EQ(eigen::error_bounds(std::vector<double>{1}, std::vector<double>{1e-3}, {}, 0)[0],
                   1e-3);
}

TEST(Eigen, SizesAreChecked) {
  Stream stream = host();
  eigen::GridOperator<double> const a(stream, grid_equation({9}, "dd"), {1, 1, 0, 0});
  std::vector<double> rows(9 * 6);
  EXPECT_THROW(eigen::lobpcg(stream, a.get(), {.modes = 8}, rows), std::invalid_argument);
  EXPECT_THROW(eigen::lobpcg(stream, a.get(), {.modes = 0}, rows), std::invalid_argument);
  EXPECT_THROW(eigen::lobpcg(stream, a.get(), {.modes = 3}, rows), std::invalid_argument);
  EXPECT_THROW(eigen::lanczos(stream, a.get(), {.modes = 8}, rows), std::invalid_argument);
  EXPECT_THROW(eigen::lanczos(stream, a.get(), {.modes = 3}, rows), std::invalid_argument);
}

}  // namespace
}  // namespace gridstride::test
