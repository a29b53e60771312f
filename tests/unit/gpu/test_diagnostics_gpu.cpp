#include <gtest/gtest.h>

#include "support/diagnostics_cases.hpp"
#include "support/diagnostics_runs.hpp"
#include "support/formula_diagnostics_cases.hpp"
#include "support/histogram_edges_cases.hpp"
#include "unit/gpu/gpu.hpp"

namespace gridstride {
namespace {

constexpr Backend gpu = Backend::cuda;

template <class T>
class DiagnosticsGpu : public testing::Test {
 protected:
  void SetUp() override { GRIDSTRIDE_SKIP_WITHOUT_GPU(); }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(DiagnosticsGpu, Types);

TYPED_TEST(DiagnosticsGpu, NormsByHand) { test::expect_norms_by_hand<TypeParam>(gpu); }

TEST(DiagnosticsGpuFloat64, NormsOfAnyMagnitude) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_norms_of_any_magnitude(gpu);
}

TYPED_TEST(DiagnosticsGpu, ProbesInterpolate) { test::expect_probes_interpolate<TypeParam>(gpu); }

TYPED_TEST(DiagnosticsGpu, ProbesCloseAPeriodicAxis) {
  test::expect_probes_close_a_periodic_axis<TypeParam>(gpu);
}

TYPED_TEST(DiagnosticsGpu, SeveralHistograms) { test::expect_several_histograms<TypeParam>(gpu); }

TYPED_TEST(DiagnosticsGpu, HistogramsByHand) { test::expect_histograms_by_hand<TypeParam>(gpu); }

TYPED_TEST(DiagnosticsGpu, EdgesAreExact) { test::expect_edges_to_be_exact<TypeParam>(gpu); }

TYPED_TEST(DiagnosticsGpu, OwnEdgesAreExact) { test::expect_own_edges_to_be_exact<TypeParam>(gpu); }

TYPED_TEST(DiagnosticsGpu, HistogramsOfOddRanges) {
  test::expect_histograms_of_odd_ranges<TypeParam>(gpu);
}

TYPED_TEST(DiagnosticsGpu, QuantilesByHand) { test::expect_quantiles_by_hand<TypeParam>(gpu); }

TYPED_TEST(DiagnosticsGpu, QuantilesAreTheValuesOfTheirRanks) {
  for (std::size_t const size : {1, 2, 33, 1025})
    for (auto const& field : test::quantile_fields<TypeParam>(size))
      test::expect_quantiles<TypeParam>(gpu, field);
}

TYPED_TEST(DiagnosticsGpu, LargeFieldsHaveTheSameQuantiles) {
  for (auto const& field : test::quantile_fields<TypeParam>(1000003))
    test::expect_quantiles<TypeParam>(gpu, field);
}

TYPED_TEST(DiagnosticsGpu, QuantilesOfOddRanges) {
  test::expect_quantiles_of_odd_ranges<TypeParam>(gpu);
}

TYPED_TEST(DiagnosticsGpu, VariantsAgree) { test::expect_variants_to_agree<TypeParam>(gpu); }

TYPED_TEST(DiagnosticsGpu, BadValuesAreNamed) {
  test::expect_bad_values_to_be_named<TypeParam>(gpu);
}

/// The host finds the same in the same field, with the same bits.
TYPED_TEST(DiagnosticsGpu, AgreesWithTheHost) {
  for (std::size_t const size : {33, 4099}) {
    auto const field = test::quantile_fields<TypeParam>(size)[0];
    auto const here = test::measure(gpu, test::every_diagnostic, test::line_of(size), field);
    auto const there =
        test::measure(Backend::cpu, test::every_diagnostic, test::line_of(size), field);
    EXPECT_EQ(test::names(here), test::names(there));
    EXPECT_EQ(test::numbers(here), test::numbers(there));
    EXPECT_EQ(here.histograms[0].counts, there.histograms[0].counts);
    EXPECT_EQ(here.histograms[0].edges, there.histograms[0].edges);
  }
}

TYPED_TEST(DiagnosticsGpu, TheSameBitsEachTime) {
  auto const field = test::quantile_fields<TypeParam>(4099)[2];
  auto const once = test::measure(gpu, test::every_diagnostic, test::line_of(4099), field);
  for (int i = 0; i < 100; ++i) {
    auto const again = test::measure(gpu, test::every_diagnostic, test::line_of(4099), field);
    ASSERT_EQ(test::numbers(again), test::numbers(once));
    ASSERT_EQ(again.histograms[0].counts, once.histograms[0].counts);
  }
}

TYPED_TEST(DiagnosticsGpu, FormulasByHand) { test::expect_formulas_by_hand<TypeParam>(gpu); }

TYPED_TEST(DiagnosticsGpu, IntegralsOverBoxes) {
  test::expect_integrals_over_boxes<TypeParam>(gpu);
}

TYPED_TEST(DiagnosticsGpu, ExtremesAnywhere) { test::expect_extremes_anywhere<TypeParam>(gpu); }

TYPED_TEST(DiagnosticsGpu, FormulasThatAreNotFinite) {
  test::expect_formulas_that_are_not_finite<TypeParam>(gpu);
}

TYPED_TEST(DiagnosticsGpu, FormulaVariantsAgree) {
  test::expect_formula_variants_to_agree<TypeParam>(gpu);
}

TEST(FormulaDiagnosticsGpu, AreInFloat64) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_formulas_in_float64(gpu);
}

TEST(FormulaDiagnosticsGpu, HaveTheCoordinatesOfTheGrid) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_coordinates_of_the_grid(gpu);
}

TEST(FormulaDiagnosticsGpu, MayHaveGaps) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_gaps_in_formulas(gpu);
}

TEST(FormulaDiagnosticsGpu, AreOfSeveralFields) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_formulas_of_several_fields(gpu);
}

TEST(DiagnosticsOfFieldsGpu, FieldsAreToldApart) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_fields_to_be_told_apart(gpu);
}

TEST(DiagnosticsOfFieldsGpu, VariantsThatDoNotServeAreRefused) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  Device const device = Device::open(gpu);
  EXPECT_NE(diagnostics_refusal("reduce", "cub", device).find("moments"), std::string::npos);
  EXPECT_EQ(diagnostics_refusal("histogram", "cub", device), "");
  EXPECT_EQ(diagnostics_refusal("stencil", "naive", device), "");
}

TEST(DiagnosticsOfRunsGpu, AreThoseOfTheHost) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::RunDirectory const directory;
  auto const here = directory.run("here", "device: cuda\n" + test::diagnosed_heat);
  auto const there = directory.run("there", "device: cpu\n" + test::diagnosed_heat);
  test::expect_same_series(here, there, 1e-12);
}

TEST(DiagnosticsOfRunsGpu, ContinueAfterARestart) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_series_to_continue("device: cuda\n");
}

TEST(DiagnosticsOfRunsGpu, HoldTheNumbersOfSimulations) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_numbers_of_simulations(Backend::cuda);
}

/// A stream that is captured cannot be waited for.
TEST(DiagnosticsOfRunsGpu, NumbersOfSimulationsDoNotStopTheStream) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  std::string const rest = "initial: {u: \"sin(2*pi*x)\"}\ntime: {end: 1}\n";
  for (auto const* simulation :
       {"simulation: wave\ngrid: {points: 200}\nparameters: {speed: 1}\n",
        "simulation: advection\ngrid: {points: 200}\nparameters: {velocity: {x: 1}}\n"}) {
    test::WaveRun run(simulation + rest, Backend::cuda);
    run.simulation->advance(20, 1);
    EXPECT_EQ(run.simulation->measure().size(), 1U);
    Graph const graph = Graph::capture(run.stream, [&] { run.simulation->measure(); });
    graph.launch(run.stream);
    run.stream.synchronize();
  }
}

TEST(DiagnosticsOfRunsGpu, NeedNoFieldsInFiles) {
  GRIDSTRIDE_SKIP_WITHOUT_GPU();
  test::expect_diagnostics_without_fields("device: cuda\n");
}

}  // namespace
}  // namespace gridstride
