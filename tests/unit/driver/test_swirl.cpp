#include "io/vtkhdf.hpp"
#include "support/swirl_cases.hpp"

namespace gridstride {
namespace {

TEST(Swirl, IsInTheFiles) { test::expect_swirl_in_files("cpu"); }

TEST(Swirl, HasDiagnostics) { test::expect_swirl_diagnostics("cpu"); }

TEST(Swirl, IsVerified) { test::expect_swirl_to_be_verified("cpu"); }

TEST(Swirl, IsFinite) { test::expect_swirl_to_be_finite("cpu"); }

TEST(Swirl, Continues) { test::expect_swirl_to_continue("cpu"); }

TEST(Swirl, StartsFromResults) { test::expect_swirl_to_start_from_results("cpu"); }

TEST(Swirl, TablesInOneGo) { test::expect_tables_in_one_go("cpu"); }

TEST(Swirl, IsForecast) { test::expect_swirl_forecast(Backend::cpu); }

/// A bad value in a file is named by its component.
TEST(Swirl, NamesTheComponentOfABadValueInAFile) {
  test::RunDirectory const directory;
  Grid const grid{.dims = 2, .points = {7, 5, 1}};
  std::vector<double> values(70, 1);
  values[2 * (3 + 7 * 2) + 1] = std::nan("");
  Field const q{"q", "m/s", grid, Precision::float64, values.data(), 2};
  auto const file = std::filesystem::temp_directory_path() / fmt::format("swirl_{}.h5", getpid());
  io::ResultWriter(file, {grid, {io::info_of(q, grid)}, {}, {}}).append(0, 0, {&q, 1}, {});
  auto text = test::swirl_case("cpu");
  std::string const initial = "{x: \"x - 3\", y: \"1 + y\"}";
  text.replace(text.find(initial), initial.size(),
               fmt::format("{{file: {}, dataset: q, time: 0}}", file.string()));
  EXPECT_NE(test::message_of([&] {
              directory.run("second", text, test::swirls());
            }).find("has nan at cell (3, 2, 0), component 1"),
            std::string::npos);
}

/// Files of an earlier run go when nothing takes their place, but not those of another run.
TEST(Swirl, RemovesItsOwnStaleSeries) {
  test::RunDirectory const directory;
  auto const text = test::swirl_case("cpu", test::swirl_output);
  auto const folder = directory.run("run", text, test::swirls());
  for (auto const* other : {"case.z.pvd", "case.z_000000.vti", "case.z.log", "case.y_1.txt"})
    std::ofstream(folder / other) << "another's";
  directory.run("run", test::swirl_case("cpu", "output: {every: {count: 1}}\n"), test::swirls());
  EXPECT_TRUE(std::filesystem::exists(folder / "case.w_000001.vti"));
  EXPECT_FALSE(std::filesystem::exists(folder / "case.w_000002.vti"));
  directory.run("run", test::swirl_case("cpu", "output: {formats: hdf5}\n"), test::swirls());
  EXPECT_FALSE(std::filesystem::exists(folder / "case.w.pvd"));
  EXPECT_FALSE(std::filesystem::exists(folder / "case.w_000000.vti"));
  EXPECT_FALSE(std::filesystem::exists(folder / "case.pvd"));
  for (auto const* other : {"case.z.pvd", "case.z_000000.vti", "case.z.log", "case.y_1.txt"})
    EXPECT_TRUE(std::filesystem::exists(folder / other)) << other;
}

/// With the one on the grid of its own alone there is no series of the main grid.
TEST(Swirl, WritesChosenFieldsAlone) {
  test::RunDirectory const directory;
  auto const folder =
      directory.run("run", test::swirl_case("cpu", "output: {fields: [w]}\n"), test::swirls());
  EXPECT_TRUE(std::filesystem::exists(folder / "case.w.pvd"));
  EXPECT_FALSE(std::filesystem::exists(folder / "case.pvd"));
  io::ResultFile const result(folder);
  ASSERT_EQ(result.fields().size(), 1U);
  EXPECT_EQ(result.fields()[0].name, "w");
  EXPECT_EQ(result.grid().points[0], 7);
}

}  // namespace
}  // namespace gridstride
