#include <gtest/gtest.h>

#include <vector>

#include "core/graph.hpp"
#include "support/modal_cases.hpp"
#include "support/modes_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

using namespace test;

class ModalGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(ModalGpu, RowsAgree) {
  Stream stream(Device::open(Backend::cuda));
  check_rows<double>(stream, "reference", "each");
  check_rows<float>(stream, "reference", "each");
}

TEST_F(ModalGpu, DerivativesBetweenAllSides) {
  Stream stream(Device::open(Backend::cuda));
  check_derivatives<double>(stream);
  check_derivatives<float>(stream);
}

TEST_F(ModalGpu, Orders) {
  Stream stream(Device::open(Backend::cuda));
  check_orders<double>(stream);
}

TEST_F(ModalGpu, CoupledFieldsAreExact) {
  Stream stream(Device::open(Backend::cuda));
  check_coupled<double>(stream);
  check_coupled<float>(stream);
}

TEST_F(ModalGpu, SidesAreAsPeriodicGridsThatGoOn) {
  Stream stream(Device::open(Backend::cuda));
  for (auto const* const scheme : {"etdrk4", "ark3", "imex_bdf2", "rk4"})
    check_sides<double>(stream, scheme);
}

TEST_F(ModalGpu, DealiasedAsOnMorePoints) {
  Stream stream(Device::open(Backend::cuda));
  check_dealiased<double>(stream);
  check_dealiased<float>(stream);
}

TEST_F(ModalGpu, JoinedAsOneAfterTheOther) {
  Stream stream(Device::open(Backend::cuda));
  check_joined<double>(stream);
  check_joined<float>(stream);
}

// Chaos makes what roundings differ by e^(0.1·t) as large.
TEST_F(ModalGpu, AsOnTheHost) {
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  EXPECT_LE(farthest(kuramoto_sivashinsky_at<double>(20, stream, 80),
                     kuramoto_sivashinsky_at<double>(20, host, 80)),
            1e-11);
}

// A graph of steady steps has the bits of steps that are queued one by one.
TEST_F(ModalGpu, StepsInGraphs) {
  Stream stream(Device::open(Backend::cuda));
  Grid const grid = kuramoto_sivashinsky_grid();
  auto const start = sampled<float>(grid, kuramoto_sivashinsky_start);
  for (auto const* const scheme : {"etdrk4", "ark3", "imex_bdf2", "imex_euler", "rk4"}) {
    double const step = 1e-3;
    ModalRun<float> plain(stream, grid, kuramoto_sivashinsky(), scheme),
        graphs(stream, grid, kuramoto_sivashinsky(), scheme);
    plain.set(0, start);
    graphs.set(0, start);
    plain.steps(step, 14);
    graphs.steps(step, 2);
    ASSERT_TRUE(graphs.stepper().is_steady(step)) << scheme;
    auto const graph = Graph::capture(stream, [&] {
      for (int i = 0; i < 4; ++i) graphs.stepper().step(step, nullptr);
    });
    for (int i = 0; i < 3; ++i) graph.launch(stream);
    EXPECT_EQ(plain.get(0), graphs.get(0)) << scheme;
  }
}

}  // namespace
}  // namespace gridstride
