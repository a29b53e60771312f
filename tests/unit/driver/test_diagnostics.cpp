#include "driver/diagnostics.hpp"

#include "config/value.hpp"
#include "driver/error_norms.hpp"
#include "support/diagnostics_cases.hpp"
#include "support/diagnostics_runs.hpp"
#include "support/formula_diagnostics_cases.hpp"
#include "support/histogram_edges_cases.hpp"

namespace gridstride {
namespace {

constexpr Backend cpu = Backend::cpu;

template <class T>
class DiagnosticsHost : public testing::Test {};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(DiagnosticsHost, Types);

TYPED_TEST(DiagnosticsHost, NormsByHand) { test::expect_norms_by_hand<TypeParam>(cpu); }

TEST(DiagnosticsHostFloat64, NormsOfAnyMagnitude) { test::expect_norms_of_any_magnitude(cpu); }

// An error that a tolerance of its own size must show: its square is 0, or infinite.
TEST(DiagnosticsHostFloat64, ErrorNormsOfAnyMagnitude) {
  expression::Expression const zero = config::parse_formula("0", "", {});
  for (double const unit : {1e-320, 1e-200, 1e-155, 1.0, 1e155, 1e300}) {
    std::vector<double> const values = {unit, -2 * unit, 4 * unit, 2 * unit};
    Field const field{"u", "1", test::line_of(4), Precision::float64, values.data()};
    auto const error = test::host_error_norms(field, zero, 0);
    EXPECT_NEAR(error.l2 / unit, 2.5, 1e-3) << unit;
    EXPECT_EQ(error.maximum, 4 * unit);
  }
}

// Blocks have units of their own: what vanishes beside others does so wherever it lies.
TEST(DiagnosticsHostFloat64, ErrorNormsOfBlocksOfAnyMagnitude) {
  expression::Expression const zero = config::parse_formula("0", "", {});
  constexpr std::size_t block = 65536, points = 3 * block + 7;
  for (std::size_t large = 0; large < 4; ++large) {
    std::vector<double> values(points, -1e-200);
    auto const count = std::min(block, points - large * block);
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(large * block), count, 1e200);
    Field const field{"u", "1", test::line_of(points), Precision::float64, values.data()};
    auto const error = test::host_error_norms(field, zero, 0);
    double const rounding = static_cast<double>(block) * std::numeric_limits<double>::epsilon();
    EXPECT_NEAR(error.l2 / 1e200, std::sqrt(static_cast<double>(count) / points), rounding);
    EXPECT_EQ(error.maximum, 1e200);
  }
}

// Of more points than are looked at together, which ends within a block.
TEST(DiagnosticsHostFloat64, ErrorNormsAreThoseOfBlocksInTheirOrder) {
  constexpr std::size_t block = 65536;
  Grid const grid{.dims = 2, .points = {1100, 1000, 1}, .spacing = {0.1, 0.25, 1}};
  std::vector<double> values(static_cast<std::size_t>(grid.size()));
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = std::sin(1e-3 * static_cast<double>(k));
  Field const field{"u", "1", grid, Precision::float64, values.data()};
  BlockErrors all, part;
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto const [i, j, l] = grid.indices(static_cast<std::int64_t>(k));
    part.add(std::abs(values[k] - grid.coordinate(0, i) * grid.coordinate(1, j)));
    if ((k + 1) % block != 0 && k + 1 < values.size()) continue;
    all.add(part);
    part = {};
  }
  auto const error = test::host_error_norms(field, expression::Expression::parse("x*y"), 0);
  EXPECT_EQ(error.l2, all.squares.value());
  EXPECT_EQ(error.maximum, all.maximum);
}

TYPED_TEST(DiagnosticsHost, SumsOverManyBlocks) {
  std::vector<TypeParam> values(1000003);
  std::iota(values.begin(), values.end(), TypeParam(0));
  auto const found =
      test::numbers(test::measure(cpu, "norms", test::line_of(values.size()), values));
  EXPECT_EQ(found[1], 1000002);
  EXPECT_DOUBLE_EQ(found[2], 500001);
}

TYPED_TEST(DiagnosticsHost, ProbesInterpolate) { test::expect_probes_interpolate<TypeParam>(cpu); }

TYPED_TEST(DiagnosticsHost, ProbesCloseAPeriodicAxis) {
  test::expect_probes_close_a_periodic_axis<TypeParam>(cpu);
}

TYPED_TEST(DiagnosticsHost, ProbesAtAnEnd) { test::expect_probes_at_an_end<TypeParam>(cpu); }

TYPED_TEST(DiagnosticsHost, HistogramsByHand) { test::expect_histograms_by_hand<TypeParam>(cpu); }

TYPED_TEST(DiagnosticsHost, SeveralHistograms) { test::expect_several_histograms<TypeParam>(cpu); }

TYPED_TEST(DiagnosticsHost, EdgesAreExact) { test::expect_edges_to_be_exact<TypeParam>(cpu); }

TYPED_TEST(DiagnosticsHost, OwnEdgesAreExact) {
  test::expect_own_edges_to_be_exact<TypeParam>(cpu);
}

TYPED_TEST(DiagnosticsHost, HistogramsOfOddRanges) {
  test::expect_histograms_of_odd_ranges<TypeParam>(cpu);
}

TYPED_TEST(DiagnosticsHost, HistogramsCountEveryPoint) {
  for (std::size_t const size : {1, 31, 1025, 100003})
    for (auto const& field : test::quantile_fields<TypeParam>(size))
      for (std::int64_t const bins : {1, 2, 63, 8192}) {
        auto const histogram =
            test::histogram_of<TypeParam>(cpu, fmt::format("bins: {}", bins), field);
        EXPECT_EQ(test::total(histogram), std::ssize(field));
        EXPECT_EQ(std::ssize(histogram.counts), bins);
        EXPECT_TRUE(std::ranges::is_sorted(histogram.edges));
      }
}

TYPED_TEST(DiagnosticsHost, QuantilesByHand) { test::expect_quantiles_by_hand<TypeParam>(cpu); }

TYPED_TEST(DiagnosticsHost, QuantilesAreTheValuesOfTheirRanks) {
  for (std::size_t const size : {1, 2, 3, 31, 32, 33, 255, 1025, 100003})
    for (auto const& field : test::quantile_fields<TypeParam>(size))
      test::expect_quantiles<TypeParam>(cpu, field);
}

TYPED_TEST(DiagnosticsHost, QuantilesOfOddRanges) {
  test::expect_quantiles_of_odd_ranges<TypeParam>(cpu);
}

TYPED_TEST(DiagnosticsHost, VariantsAgree) { test::expect_variants_to_agree<TypeParam>(cpu); }

TYPED_TEST(DiagnosticsHost, BadValuesAreNamed) {
  test::expect_bad_values_to_be_named<TypeParam>(cpu);
}

TYPED_TEST(DiagnosticsHost, FormulasByHand) { test::expect_formulas_by_hand<TypeParam>(cpu); }

TYPED_TEST(DiagnosticsHost, IntegralsOverBoxes) {
  test::expect_integrals_over_boxes<TypeParam>(cpu);
}

TYPED_TEST(DiagnosticsHost, ExtremesAnywhere) { test::expect_extremes_anywhere<TypeParam>(cpu); }

TYPED_TEST(DiagnosticsHost, FormulasThatAreNotFinite) {
  test::expect_formulas_that_are_not_finite<TypeParam>(cpu);
}

TYPED_TEST(DiagnosticsHost, FormulaVariantsAgree) {
  test::expect_formula_variants_to_agree<TypeParam>(cpu);
}

TEST(FormulaDiagnostics, AreInFloat64) { test::expect_formulas_in_float64(cpu); }

TEST(FormulaDiagnostics, HaveTheCoordinatesOfTheGrid) { test::expect_coordinates_of_the_grid(cpu); }

TEST(FormulaDiagnostics, MayHaveGaps) { test::expect_gaps_in_formulas(cpu); }

TEST(FormulaDiagnostics, AreOfSeveralFields) { test::expect_formulas_of_several_fields(cpu); }

TEST(DiagnosticsOfFields, AreToldApart) { test::expect_fields_to_be_told_apart(cpu); }

TEST(DiagnosticsOfFields, VariantsThatDoNotServeAreRefused) {
  Device const device = Device::open(cpu);
  for (auto const* family : {"reduce", "histogram", "scan"}) {
    EXPECT_EQ(diagnostics_refusal(family, "threads", device), "");
    EXPECT_NE(diagnostics_refusal(family, "none", device).find("no variant 'none'"),
              std::string::npos);
  }
  EXPECT_EQ(diagnostics_refusal("stencil", "threads", device), "");
}

TEST(DiagnosticsOfRuns, CountEveryPointOfEveryOutput) {
  test::RunDirectory const directory;
  io::ResultFile const result(directory.run(
      "run", "device: cpu\n" + test::heat_without_diagnostics +
                 "time: {end: 0.01}\noutput: {every: {count: 4}}\n"
                 "diagnostics: [{histogram: {bins: 10}}, {quantiles: {at: [0, 0.5, 1]}}]\n"));
  ASSERT_EQ(result.steps().size(), 5U);
  EXPECT_EQ(result.histograms(), (std::vector<io::HistogramInfo>{{"u.histogram", 10}}));
  std::vector<double> values;
  for (std::size_t step = 0; step < 5; ++step) {
    values = result.read("u", step);
    std::ranges::sort(values);
    auto const histogram = result.read_histogram("u.histogram", step);
    EXPECT_EQ(test::total(histogram), 33 * 32);
    EXPECT_EQ(histogram.edges.front(), values.front());
    EXPECT_EQ(histogram.edges.back(), values.back());
    for (auto const& series : result.diagnostics()) {
      std::size_t const place = series.name == "u.q0" ? 0 : series.name == "u.q1" ? 1055 : 527;
      EXPECT_NEAR(series.values[step], values[place],
                  (values.back() - values.front()) / 8192 / 8192)
          << series.name;
    }
  }
}

TEST(DiagnosticsOfRuns, ContinueAfterARestart) { test::expect_series_to_continue("device: cpu\n"); }

TEST(DiagnosticsOfRuns, HoldTheNumbersOfSimulations) { test::expect_numbers_of_simulations(cpu); }

TEST(DiagnosticsOfRuns, NeedNoFieldsInFiles) {
  test::expect_diagnostics_without_fields("device: cpu\n");
}

TEST(RequireFinite, NamesTheFirstCell) {
  Grid const grid{.dims = 2, .points = {300, 300, 1}};
  std::vector<double> values(90000, 1);
  Field const field{"u", "1", grid, Precision::float64, values.data()};
  Stream stream(Device::open(cpu));
  EXPECT_NO_THROW(require_finite(field, {3, 0.5}, stream));
  values[299 + 300 * 298] = std::numeric_limits<double>::infinity();
  values[7 + 300 * 250] = std::nan("");
  try {
    require_finite(field, {3, 0.5}, stream);
    FAIL();
  } catch (NumericalError const& error) {
    EXPECT_STREQ(error.what(), "NaN in field 'u' at cell (7, 250, 0), step 3, time 0.5");
  }
}

TEST(RequireFinite, NamesTheComponentOfAVector) {
  Grid const grid{.dims = 2, .points = {3, 2, 1}};
  std::vector<float> values(18, 1);
  Field const field{"v", "m/s", grid, Precision::float32, values.data(), 3};
  std::vector<config::FieldInfo> const infos = {{.name = "v", .components = {"a", "b", "c"}}};
  Stream stream(Device::open(cpu));
  EXPECT_NO_THROW(require_finite(field, {}, stream, infos));
  values[3 * 5 + 1] = std::numeric_limits<float>::infinity();
  for (auto const& [known, name] : {std::pair(std::span(infos), "v.b"),
                                    std::pair(std::span<config::FieldInfo const>(), "v.1")}) {
    try {
      require_finite(field, {3, 0.5}, stream, known);
      FAIL();
    } catch (NumericalError const& error) {
      EXPECT_EQ(error.what(),
                fmt::format("infinity in field '{}' at cell (2, 1, 0), step 3, time 0.5", name));
    }
  }
}

TEST(DiagnosticsHostFloat64, VectorsByHand) { test::expect_vectors_by_hand<double>(cpu); }
TEST(DiagnosticsHostFloat32, VectorsByHand) { test::expect_vectors_by_hand<float>(cpu); }

/// v has one component, and s none.
TEST(DiagnosticsHost, VectorsInOneDimensionByHand) {
  auto const info = test::info_of({{"v", "m/s", "", {"x"}}, {"s", "1", ""}});
  auto const run = test::run_with(
      "[norms, {probe: {at: 1.5, field: v.x}}, {probe: {at: 2, field: v.magnitude}}, "
      "{histogram: {field: v.x, bins: 2, range: [-4, 0]}}, "
      "{histogram: {field: v.magnitude, bins: 4, range: [0, 4]}}, "
      "{quantiles: {field: v.magnitude, at: 0.5}}, {integral: v_x}]",
      test::line_of(5), Precision::float64, info);
  Stream stream(Device::open(cpu));
  std::vector<double> const values = {0, -1, -2, -3, -4};
  std::vector<Field> const fields = {
      {"v", "m/s", test::line_of(5), Precision::float64, values.data(), 1},
      {"s", "1", test::line_of(5), Precision::float64, values.data(), 1}};
  auto const measured = Diagnostics(run, fields, stream).measure(fields, {});
  std::map<std::string, double> found;
  std::vector<std::string> names;
  for (auto const& value : measured.values) {
    found[value.name] = value.value;
    names.push_back(value.name);
  }
  EXPECT_EQ(names, diagnostic_names(run, fields));
  EXPECT_EQ(found.at("v.x.min"), -4);
  EXPECT_EQ(found.at("v.magnitude.max"), 4);
  EXPECT_EQ(found.at("v.x(1.5)"), -1.5);
  EXPECT_EQ(found.at("v.magnitude(2)"), 2);
  EXPECT_NEAR(found.at("v.magnitude.q0.5"), 2, 1e-6);
  EXPECT_EQ(found.at("integral(v_x)"), -8);
  EXPECT_EQ(found.at("s.mean"), -2);
  EXPECT_FALSE(found.contains("v.min"));
  EXPECT_FALSE(found.contains("s.magnitude.min"));
  ASSERT_EQ(measured.histograms.size(), 2U);
  EXPECT_EQ(measured.histograms[0].name, "v.x.histogram");
  EXPECT_EQ(measured.histograms[0].counts, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(measured.histograms[1].name, "v.magnitude.histogram");
  EXPECT_EQ(measured.histograms[1].counts, (std::vector<std::int64_t>{1, 1, 1, 2}));
}

TEST(DiagnosticsHost, GapsOfAComponentAreItsOwn) { test::expect_gaps_in_components(cpu); }

/// One with other components than the run knows of.
TEST(Diagnostics, RefuseVectorsOfOtherComponents) {
  auto const info = test::info_of({{"v", "m/s", "", {"x", "y"}}, {"u", "1", ""}});
  auto const run = test::run_with("[norms]", test::line_of(4), Precision::float64, info);
  Stream stream(Device::open(Backend::cpu));
  std::vector<double> const values(12, 1);
  for (auto const& [name, components] : {std::pair("v", 3), std::pair("u", 2), std::pair("w", 2)}) {
    Field const field{name, "1", test::line_of(4), Precision::float64, values.data(), components};
    EXPECT_THROW(Diagnostics(run, std::span(&field, 1), stream), std::invalid_argument) << name;
  }
}

/// What lies elsewhere has no place among the points of the file's grid.
TEST(DiagnosticsOfFields, OnOtherGridsAreRefusedWhereTheyHaveNoPlace) {
  auto const info =
      test::info_of({{"u", "1", ""}, {.name = "p", .components = {"a", "b"}, .own_grid = true}});
  auto const fault = [&](std::string const& diagnostics) -> std::string {
    try {
      test::run_with(diagnostics, test::line_of(4), Precision::float64, info);
    } catch (ConfigError const& error) {
      return error.problems().front().message;
    }
    return "no fault";
  };
  EXPECT_EQ(fault("[norms, {histogram: {field: p.a}}, {quantiles: {field: p.b, at: 0.5}}]"),
            "no fault");
  EXPECT_EQ(fault("{probe: {at: 1, field: p.magnitude}}"),
            "'p.magnitude' lies on a grid of its own (a probe is at a point of the grid that the "
            "file describes)");
  EXPECT_EQ(fault("{integral: u*p_b}"),
            "'p' lies on a grid of its own (a formula here is of fields on the grid that the file "
            "describes)");
  EXPECT_EQ(fault("{integral: u}"), "no fault");
  // A simulation that does not say so is not taken at its word.
  auto const silent = test::info_of({{"u", "1", ""}});
  std::vector<double> const values(5, 1);
  Field const field{"u", "1", test::line_of(5), Precision::float64, values.data()};
  Stream stream(Device::open(Backend::cpu));
  for (auto const* diagnostics : {"{probe: {at: 1}}", "{integral: u}"}) {
    auto const run = test::run_with(diagnostics, test::line_of(4), Precision::float64, silent);
    EXPECT_THROW(Diagnostics(run, std::span(&field, 1), stream), std::invalid_argument);
  }
}

TEST(ErrorNorms, ByHand) {
  Grid const grid{.dims = 1, .points = {4, 1, 1}};
  std::vector<float> values = {0, 1, 2, 7};
  Field const field{"u", "1", grid, Precision::float32, values.data()};
  auto const exact = expression::Expression::parse("x*t");
  auto const error = test::host_error_norms(field, exact, 1);
  EXPECT_EQ(error.maximum, 4);
  EXPECT_EQ(error.l2, 2);
  values = {0, 1, std::nanf(""), 3};
  EXPECT_TRUE(std::isnan(test::host_error_norms(field, exact, 1).maximum));
}

}  // namespace
}  // namespace gridstride
