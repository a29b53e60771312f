#include <gtest/gtest.h>

#include "core/processors.hpp"
#include "kernels/multigrid/multigrid.hpp"
#include "support/lattice_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride::lattice {
namespace {

template <class T>
class LatticeProducts : public testing::Test {};
using LatticeTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(LatticeProducts, LatticeTypes);

TYPED_TEST(LatticeProducts, AreThoseOfRows) {
  Stream stream(Device::open(Backend::cpu));
  EXPECT_EQ(test::check_lattice_products<TypeParam>(stream),
            2 * 2 * static_cast<int>(test::awkward_grids().size()));
}

TYPED_TEST(LatticeProducts, DoNotDependOnThreads) {
  Stream stream(Device::open(Backend::cpu));
  GridPoints const points = {61, 53, 17};
  auto const x = test::random_vector<TypeParam>(61 * 53 * 17, 9);
  int const before = host_threads();
  for (auto const neighbours : {Neighbours::axes, Neighbours::all}) {
    set_host_threads(1);
    auto const one = test::lattice_product<TypeParam>(stream, neighbours, points, "threads", x);
    for (int const threads : {2, 7}) {
      set_host_threads(threads);
      EXPECT_EQ(test::lattice_product<TypeParam>(stream, neighbours, points, "threads", x), one);
    }
  }
  set_host_threads(before);
}

TEST(Lattice, NormsAreThoseOfRows) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_norms(stream);
}

TEST(Lattice, WhatIsNoGridOrVectorIsRefused) {
  Stream stream(Device::open(Backend::cpu));
  auto const grid = [&](GridPoints const& points, std::string_view variant = "auto") {
    return test::refusal([&] { Matrix<double>(stream, Neighbours::all, points, variant); });
  };
  EXPECT_EQ(grid({0, 1, 1}), "stencil_matrix: a grid has 1 to 2^31 - 1 points");
  EXPECT_EQ(grid({1 << 16, 1 << 15, 1}), "stencil_matrix: a grid has 1 to 2^31 - 1 points");
  EXPECT_EQ(grid({2, 2, 2}, "columns"), "lattice: cpu has no variant 'columns'");
  Matrix<double> const a(stream, Neighbours::all, {2, 2, 2});
  std::vector<double> x(8), y(7), both(15);
  EXPECT_EQ(test::refusal([&] { a.multiply(stream, x, y); }),
            "lattice: y has 7 elements, it needs 8");
  EXPECT_EQ(test::refusal([&] {
              a.multiply(stream, std::span<double const>(both).first(8), std::span(both).last(8));
            }),
            "lattice: x (8 elements) and y (8 elements) overlap");
  std::int64_t const most = multigrid::most_points_of_axis;
  EXPECT_TRUE(has_cycle({most - 2, 1, 1}));
  EXPECT_FALSE(has_cycle({1, most - 1, 1}));
  EXPECT_EQ(test::refusal([&] {
              cycle<double>(stream, {1, most - 1, 1});
            }),
            "lattice: a cycle is for axes of less than 2^24 points");
}

TEST(Lattice, CyclesTakeAsManyIterationsOnAnyGrid) {
  Stream stream(Device::open(Backend::cpu));
  std::vector<GridPoints> const grids = {{1, 1, 1},    {5, 1, 1},  {1, 100, 1}, {31, 33, 1},
                                         {2, 2, 2},    {3, 4, 5},  {2, 37, 40}, {13, 11, 7},
                                         {31, 32, 33}, {1, 20, 50}};
  test::expect_cycles<double>(stream, grids, 1e-10);
  test::expect_cycles<float>(stream, grids, 1e-4);
}

TEST(Lattice, CyclesDoNotDependOnThreads) {
  Stream stream(Device::open(Backend::cpu));
  GridPoints const points = {40, 30, 20};
  auto const b = test::random_vector<double>(40 * 30 * 20, 3);
  auto const a = test::lattice_operator<double>(stream, Neighbours::all, points);
  auto const cycle = lattice::cycle<double>(stream, points);
  krylov::Options const options{.tolerance = 1e-9, .flexible = true};
  int const before = host_threads();
  set_host_threads(1);
  auto const one = test::solve_krylov<double>(stream, krylov::Method::cg, a, b, options, cycle);
  set_host_threads(3);
  auto const three = test::solve_krylov<double>(stream, krylov::Method::cg, a, b, options, cycle);
  set_host_threads(before);
  EXPECT_EQ(one.x, three.x);
  EXPECT_EQ(one.result.history, three.result.history);
}

}  // namespace
}  // namespace gridstride::lattice
