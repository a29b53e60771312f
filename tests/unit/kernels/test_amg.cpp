#include <gtest/gtest.h>

#include "core/processors.hpp"
#include "support/amg_cases.hpp"
#include "support/refusal.hpp"

namespace gridstride::amg {
namespace {

TEST(Amg, HierarchiesAreGalerkins) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_hierarchies<double>(stream);
  test::expect_hierarchies<float>(stream);
}

TEST(Amg, CyclesAreSymmetric) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_symmetric_cycles(stream);
}

TEST(Amg, IterationsDoNotGrow) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_amg_solutions(stream);
}

TEST(Amg, GraphsOfAllKinds) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_odd_graphs(stream);
}

TEST(Amg, InFloat32) {
  Stream stream(Device::open(Backend::cpu));
  test::expect_amg_in_float32(stream);
}

TEST(Amg, BitsDoNotDependOnThreads) {
  Stream stream(Device::open(Backend::cpu));
  auto const matrix = sparse::stencil_matrix<double>(sparse::Neighbours::axes, {40, 40, 30});
  auto const b = test::random_vector<double>(matrix.rows, 3);
  int const before = host_threads();
  set_host_threads(1);
  auto const one = test::solve_amg(stream, matrix, b);
  set_host_threads(5);
  auto const five = test::solve_amg(stream, matrix, b);
  set_host_threads(before);
  EXPECT_EQ(five.x, one.x);
  EXPECT_EQ(five.result.history, one.result.history);
  EXPECT_EQ(five.unknowns, one.unknowns);
}

TEST(Amg, Refusals) {
  Stream stream(Device::open(Backend::cpu));
  auto const refused = [&](Csr<double> const& matrix) {
    return gridstride::test::refusal([&] { Hierarchy<double>(stream, on_device(stream, matrix)); });
  };
  EXPECT_EQ(refused(test::csr_of<double>(2, 3, {{{0, 0}, 1}})),
            "amg: a matrix of 2 x 3 is not square");
  EXPECT_EQ(refused(test::csr_of<double>(2, 2, {{{0, 0}, 1}, {{1, 1}, -1}})),
            "amg: the diagonal is not positive, or values are not finite");
  EXPECT_EQ(refused(test::csr_of<double>(2, 2, {{{0, 0}, 1}, {{1, 0}, 1}})),
            "amg: the diagonal is not positive, or values are not finite");
  Hierarchy<double> const hierarchy(
      stream, on_device(stream, test::csr_of<double>(2, 2, {{{0, 0}, 1}, {{1, 1}, 1}})));
  std::vector<double> three(3);
  EXPECT_EQ(gridstride::test::refusal(
                [&] { hierarchy.cycle(stream, std::span<double const>(three), std::span(three)); }),
            "amg: r has 3 elements, it needs 2");
}

}  // namespace
}  // namespace gridstride::amg
