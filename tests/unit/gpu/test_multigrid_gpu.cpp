#include <gtest/gtest.h>

#include <algorithm>

#include "support/multigrid_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride::multigrid::test {
namespace {

class MultigridGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

TEST_F(MultigridGpu, KnownSolutionsComeBack) {
  Stream stream(Device::open(Backend::cuda));
  for (auto const& row : variants<double>())
    if (row.backend == Backend::cuda) expect_known_solutions(stream, row.name);
}

/// Levels that a block does, and larger ones.
TEST_F(MultigridGpu, FactorsAreThoseOfTheHost) {
  Stream stream(Device::open(Backend::cuda)), host(Device::open(Backend::cpu));
  for (auto const& row : variants<double>()) {
    if (row.backend != Backend::cuda) continue;
    for (Cycle const cycle : {Cycle::v, Cycle::w, Cycle::full})
      for (Trial const& trial : {Trial{{130, 129}, "ppnd"}, Trial{{33, 30, 31}, "pppppp", 1, 5},
                                 Trial{{40, 33, 35}, "dddnnn"}, Trial{{129, 100}, "nnnn", 30}}) {
        Options options;
        options.cycle = cycle;
        auto const found = cycles_for(stream, trial, options, row.name);
        auto const wanted = cycles_for(host, trial, options);
        EXPECT_TRUE(found.converged);
        EXPECT_NEAR(found.cycles, wanted.cycles, 1);
        // What the first cycle leaves is far above the roundings of float32 corrections.
        EXPECT_NEAR(found.residuals[1], wanted.residuals[1], 0.1 * wanted.residuals[1]);
        EXPECT_LE(found.factor(), std::max(0.1, 1.1 * wanted.factor()));
        EXPECT_EQ(cycles_for(stream, trial, options, row.name).residuals, found.residuals);
      }
  }
}

}  // namespace
}  // namespace gridstride::multigrid::test
