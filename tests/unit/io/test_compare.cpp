#include "io/compare.hpp"

#include "support.hpp"

namespace gridstride::io {
namespace {

using namespace test;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two results to compare, alike but for what a test changes.
class Compare : public testing::Test {
 protected:
  void write(std::string const& name, std::vector<double> const& values, double time = 0.5,
             std::int64_t steps = 1) {
    Field const field = {"u", "K", grid, Precision::float64, values.data()};
    ResultWriter writer(folder / name, {grid, {{"u", "K", Precision::float64}}, {}, Provenance{}});
    writer.append(0, 0, std::span(&field, 1), {});
    writer.append(steps, time, std::span(&field, 1), {});
  }
  Comparison compare_values(std::vector<double> const& a, std::vector<double> const& b,
                            double rtol = 0, double atol = 0) {
    write("a.h5", a);
    write("b.h5", b);
    return compare(folder / "a.h5", folder / "b.h5", rtol, atol);
  }
  Comparison compare_contents(ResultContents const& a, ResultContents const& b) {
    for (auto const& [name, contents] : {std::pair("a.h5", a), std::pair("b.h5", b)}) {
      std::vector<double> const zeros(1000);
      std::vector<Field> fields;
      for (auto const& [field, unit, precision, components, own_grid] : contents.fields)
        fields.push_back(
            {field, unit, own_grid.value_or(contents.grid), precision, zeros.data(), components});
      std::vector<Table> tables;
      for (auto const& [table, columns] : contents.tables) {
        tables.push_back({table, {}});
        for (auto const& [column, column_unit, whole] : columns)
          tables.back().columns.push_back(
              {column, column_unit,
               whole ? Numbers(std::vector<std::int64_t>(5)) : Numbers(std::vector<double>(5))});
      }
      ResultWriter(folder / name, contents).append(0, 0, fields, {}, {}, tables);
    }
    return compare(folder / "a.h5", folder / "b.h5", 1, 1);
  }

  TemporaryFolder const folder;
  Grid const grid = [] {
    Grid made;
    made.dims = 2;
    made.points = {2, 2, 1};
    return made;
  }();
};

TEST_F(Compare, EqualValuesAreEqual) {
  auto const result = compare_values({1, nan, infinity, -infinity}, {1, nan, infinity, -infinity});
  EXPECT_TRUE(result.equal());
  EXPECT_EQ(result.fields.at(0).max_absolute, 0);
  EXPECT_NE(result.table().find("equal within tolerance"), std::string::npos);
}

TEST_F(Compare, MeasuresTheDifference) {
  auto const result = compare_values({1, 2.5, 4, 0}, {1, 2, 5, 0}, 0.1, 0.0);
  EXPECT_FALSE(result.equal());
  auto const& field = result.fields.at(0);
  EXPECT_EQ(field.max_absolute, 1);
  EXPECT_EQ(field.max_relative, 0.25);
  EXPECT_DOUBLE_EQ(field.l2, std::sqrt((0.25 + 1) / 4));
  EXPECT_EQ(field.violations, 4);  // two points at two steps
  EXPECT_EQ(field.indices, (std::array<std::int64_t, 3>{1, 0, 0}));
  EXPECT_EQ(field.time_index, 0U);
  EXPECT_EQ(field.value_a, 2.5);
  EXPECT_EQ(field.value_b, 2);
  EXPECT_NE(result.table().find("DIFFERENT"), std::string::npos);
}

TEST_F(Compare, TellsThePointAndTheComponentOfAVector) {
  std::vector<double> values(12);
  Field const field = {"w", "m/s", grid, Precision::float64, values.data(), 3};
  for (auto const* name : {"a.h5", "b.h5"}) {
    ResultWriter(folder / name, {grid, {{"w", "m/s", Precision::float64, 3}}, {}, Provenance{}})
        .append(0, 0, std::span(&field, 1), {});
    values[10] = 2;
  }
  auto const comparison = compare(folder / "a.h5", folder / "b.h5", 0, 1);
  EXPECT_NE(comparison.table().find("at (1, 1, 0), component 1: 0 and 2"), std::string::npos);
  auto const& difference = comparison.fields.at(0);
  EXPECT_EQ(difference.violations, 1);
  EXPECT_EQ(difference.indices, (std::array<std::int64_t, 3>{1, 1, 0}));
  EXPECT_EQ(difference.component, 1);
  EXPECT_EQ(difference.value_b, 2);
  EXPECT_DOUBLE_EQ(difference.l2, 2 / std::sqrt(12));
}

/// Results with a table alone, whose rows are given for each of two steps.
class CompareTables : public Compare {
 protected:
  using Rows = std::vector<std::pair<std::int64_t, double>>;

  void write_rows(std::string const& name, std::vector<Rows> const& steps) {
    ResultWriter writer(
        folder / name,
        {grid, {}, {}, Provenance{}, {}, {{"peaks", {{"index", "1", true}, {"value", "K"}}}}});
    for (std::size_t step = 0; step < steps.size(); ++step) {
      std::vector<std::int64_t> index;
      std::vector<double> value;
      for (auto const& [i, x] : steps[step]) {
        index.push_back(i);
        value.push_back(x);
      }
      Table const table{"peaks", {{"index", "1", index}, {"value", "K", value}}};
      writer.append(static_cast<std::int64_t>(step), static_cast<double>(step), {}, {}, {},
                    std::span(&table, 1));
    }
  }
  Comparison compare_rows(std::vector<Rows> const& a, std::vector<Rows> const& b, double rtol = 0,
                          double atol = 0) {
    write_rows("a.h5", a);
    write_rows("b.h5", b);
    return compare(folder / "a.h5", folder / "b.h5", rtol, atol);
  }
};

TEST_F(CompareTables, TellsTheRow) {
  auto const result =
      compare_rows({{{1, 2}}, {{3, 4}, {7, 8}}}, {{{1, 2}}, {{3, 4}, {7, 6}}}, 0, 1);
  EXPECT_FALSE(result.equal());
  EXPECT_TRUE(result.mismatches.empty());
  ASSERT_EQ(result.columns.size(), 2U);
  EXPECT_EQ(result.columns[0].name, "peaks.index");
  EXPECT_EQ(result.columns[0].violations, 0);
  EXPECT_EQ(result.columns[1].violations, 1);
  EXPECT_EQ(result.columns[1].max_absolute, 2);
  EXPECT_EQ(result.columns[1].indices[0], 1);
  EXPECT_NE(result.table().find("step 1 (t = 1) at row 1: 8 and 6"), std::string::npos);
  EXPECT_TRUE(compare_rows({{{1, 2}}}, {{{1, 2.5}}}, 0, 0.5).equal());
}

TEST_F(CompareTables, WholeNumbersAreTheSameOrDiffer) {
  EXPECT_FALSE(compare_rows({{{1, 2}}}, {{{2, 2}}}, 10, 10).equal());
  // float64 does not tell these apart.
  std::int64_t const large = (std::int64_t{1} << 53) + 1;
  EXPECT_FALSE(compare_rows({{{large, 2}}}, {{{large - 1, 2}}}, 10, 10).equal());
}

TEST_F(CompareTables, NanAgreesWithItselfAlone) {
  EXPECT_TRUE(compare_rows({{{1, nan}}}, {{{1, nan}}}).equal());
  EXPECT_FALSE(compare_rows({{{1, nan}}}, {{{1, 2}}}, 1e30, 1e30).equal());
  EXPECT_FALSE(compare_rows({{{1, 2}}}, {{{1, nan}}}, 1e30, 1e30).equal());
  EXPECT_FALSE(compare_rows({{{1, infinity}}}, {{{1, -infinity}}}, 1e30, 1e30).equal());
}

TEST_F(CompareTables, NumbersOfRowsMustAgree) {
  EXPECT_TRUE(compare_rows({{}, {}}, {{}, {}}).equal());
  for (auto const& [a, b] : std::vector<std::pair<std::vector<Rows>, std::vector<Rows>>>{
           {{{{1, 2}}}, {{}}}, {{{{1, 2}}, {}}, {{}, {{1, 2}}}}}) {
    auto const result = compare_rows(a, b, 1, 1);
    EXPECT_FALSE(result.equal());
    EXPECT_NE(result.table().find("table 'peaks' has 1 rows at step 0 in A, 0 in B"),
              std::string::npos);
  }
}

TEST_F(Compare, TellsThePointOnAGridOfItsOwn) {
  Grid const line{.points = {6, 1, 1}};
  std::vector<double> values(6);
  Field const field = {"p", "W", line, Precision::float64, values.data()};
  for (auto const* name : {"a.h5", "b.h5"}) {
    ResultWriter(folder / name, {grid, {info_of(field, grid)}, {}, Provenance{}})
        .append(0, 0, std::span(&field, 1), {});
    values[5] = 2;
  }
  auto const difference = compare(folder / "a.h5", folder / "b.h5", 0, 1).fields.at(0);
  EXPECT_EQ(difference.violations, 1);
  EXPECT_EQ(difference.indices, (std::array<std::int64_t, 3>{5, 0, 0}));
}

TEST_F(Compare, HoldsToItsTolerance) {
  EXPECT_TRUE(compare_values({1.5, 0, 0, 0}, {1, 0, 0, 0}, 0.0, 0.5).equal());
  EXPECT_FALSE(compare_values({1.5, 0, 0, 0}, {1, 0, 0, 0}, 0.0, 0.49).equal());
  EXPECT_TRUE(compare_values({1.5, 0, 0, 0}, {1, 0, 0, 0}, 0.5, 0).equal());
  EXPECT_FALSE(compare_values({1.5, 0, 0, 0}, {1, 0, 0, 0}, 0.49, 0).equal());
  EXPECT_FALSE(compare_values({1e-300, 0, 0, 0}, {0, 0, 0, 0}, 1e9, 0).equal());
}

TEST_F(Compare, NanAndInfinityAgreeWithThemselvesAlone) {
  for (auto const& [a, b] : std::vector<std::pair<double, double>>{{nan, 1},
                                                                   {1, nan},
                                                                   {infinity, 1},
                                                                   {1, infinity},
                                                                   {infinity, -infinity},
                                                                   {nan, infinity}}) {
    auto const result = compare_values({1, 1, a, 1}, {1, 1, b, 1}, 1e30, 1e30);
    EXPECT_FALSE(result.equal()) << a << " " << b;
    EXPECT_EQ(result.fields.at(0).violations, 2);
    EXPECT_EQ(result.fields.at(0).indices, (std::array<std::int64_t, 3>{0, 1, 0}));
  }
}

TEST_F(Compare, TimesMustAgree) {
  write("a.h5", {1, 2, 3, 4}, 0.5);
  EXPECT_TRUE(compare(folder / "a.h5", folder / "a.h5", 0, 0).equal());
  write("b.h5", {1, 2, 3, 4}, 0.5 * (1 + 1e-13));
  EXPECT_TRUE(compare(folder / "a.h5", folder / "b.h5", 0, 1e-300).equal());
  auto const exactly = compare(folder / "a.h5", folder / "b.h5", 0, 0);
  EXPECT_FALSE(exactly.equal());
  EXPECT_NE(exactly.table().find("step 1 is at time 0.5 in A, 0.50000000000005 in B"),
            std::string::npos)
      << exactly.table();
  write("b.h5", {1, 2, 3, 4}, 0.5 * (1 + 1e-11));
  EXPECT_FALSE(compare(folder / "a.h5", folder / "b.h5", 1, 1).equal());
}

TEST_F(Compare, StepsOfTheRunAreToldWhereTheyDiffer) {
  write("a.h5", {1, 2, 3, 4}, 0.5, 7);
  write("b.h5", {1, 2, 3, 4}, 0.5, 8);
  std::string const what = "output 1 comes after 7 steps of the run in A, 8 in B";
  auto const within = compare(folder / "a.h5", folder / "b.h5", 0, 1e-300);
  EXPECT_TRUE(within.equal());
  EXPECT_NE(within.table().find("note: " + what), std::string::npos) << within.table();
  auto const exactly = compare(folder / "a.h5", folder / "b.h5", 0, 0);
  EXPECT_FALSE(exactly.equal());
  EXPECT_NE(exactly.table().find("mismatch: " + what), std::string::npos) << exactly.table();
}

TEST_F(Compare, LayoutsMustAgree) {
  auto base = sample_contents(make_grid(2));
  base.tables = {{"peaks", {{"index", "1", true}, {"value", "K"}}}};
  base.fields.push_back({"p", "W", Precision::float64, 1, make_grid(1)});
  EXPECT_TRUE(compare_contents(base, base).equal());
  for (auto const& change : std::vector<std::function<void(ResultContents&)>>{
           [](auto& contents) { contents.fields[0].name = "w"; },
           [](auto& contents) { contents.fields[0].unit = "m"; },
           [](auto& contents) { contents.fields[0].components = 2; },
           [](auto& contents) { contents.fields.pop_back(); },
           [](auto& contents) { contents.grid.points[0] += 1; },
           [](auto& contents) { contents.grid.origin[1] += 1e-6; },
           [](auto& contents) { contents.grid.spacing[0] *= 1 + 1e-6; },
           [](auto& contents) { contents.grid = make_grid(3); },
           [](auto& contents) { contents.fields[0].own_grid = make_grid(1); },
           [](auto& contents) { contents.tables.pop_back(); },
           [](auto& contents) { contents.tables[0].name = "other"; },
           [](auto& contents) { contents.tables[0].columns[0].name = "other"; },
           [](auto& contents) { contents.tables[0].columns[0].unit = "m"; },
           [](auto& contents) { contents.tables[0].columns[0].whole = false; },
           [](auto& contents) { contents.tables[0].columns.pop_back(); },
           [](auto& contents) { contents.fields.back().own_grid->points[0] += 1; },
           [](auto& contents) { contents.fields.back().own_grid->origin[0] += 1e-6; },
           [](auto& contents) { contents.fields.back().own_grid->spacing[0] *= 1 + 1e-6; }}) {
    auto other = base;
    change(other);
    EXPECT_FALSE(compare_contents(base, other).equal());
    auto const result = compare_contents(other, base);
    EXPECT_FALSE(result.equal());
    EXPECT_FALSE(result.mismatches.empty());
  }
}

// What holds nothing agrees with nothing: exit code 0 would say that something was compared.
TEST_F(Compare, NothingIsNotEqual) {
  ResultContents contents = sample_contents(grid);
  auto const compared = [&] {
    ResultWriter(folder / "a.h5", contents);
    ResultWriter(folder / "b.h5", contents);
    return compare(folder / "a.h5", folder / "b.h5", 1, 1);
  };
  EXPECT_FALSE(compared().equal());
  EXPECT_NE(compared().table().find("no step in A or B"), std::string::npos);
  contents.tables = {{"peaks", {{"value"}}}};
  EXPECT_EQ(compared().table().find("no field in A or B"), std::string::npos);
  contents.tables.clear();
  contents.fields.clear();
  EXPECT_NE(compared().table().find("no field in A or B"), std::string::npos);
}

TEST_F(Compare, TypesMayDifferWithinATolerance) {
  std::array<double, 4> const wide = {1, 0.1, nan, -3e38};
  std::array<float, 4> narrow{};
  std::copy(wide.begin(), wide.end(), narrow.begin());
  write("wide.h5", {wide.begin(), wide.end()});
  {
    Field const field = {"u", "K", grid, Precision::float32, narrow.data()};
    ResultWriter writer(folder / "narrow.h5",
                        {grid, {{"u", "K", Precision::float32}}, {}, Provenance{}});
    writer.append(0, 0, std::span(&field, 1), {});
    writer.append(1, 0.5, std::span(&field, 1), {});
  }
  auto const compared = [&](double rtol) {
    return compare(folder / "narrow.h5", folder / "wide.h5", rtol, 0);
  };
  EXPECT_TRUE(compared(1e-7).equal());
  EXPECT_NE(compared(1e-7).table().find("note: field 'u' is float32 in A, float64 in B"),
            std::string::npos);
  EXPECT_FALSE(compared(1e-9).equal());
  EXPECT_EQ(compared(1e-9).fields.at(0).violations, 4);  // 0.1 and -3e38 at two steps
  EXPECT_FALSE(compared(0).equal());
  EXPECT_NE(compared(0).table().find("mismatch: field 'u' is float32 in A"), std::string::npos);
}

TEST_F(Compare, TolerancesAreNumbers) {
  write("a.h5", {1, 2, 3, 4});
  for (double const bad : {nan, infinity, -infinity, -1e-3}) {
    EXPECT_THROW(compare(folder / "a.h5", folder / "a.h5", bad, 0), std::invalid_argument) << bad;
    EXPECT_THROW(compare(folder / "a.h5", folder / "a.h5", 0, bad), std::invalid_argument) << bad;
  }
}

TEST_F(Compare, AnInfiniteTimeIsNoOther) {
  write("a.h5", {1, 2, 3, 4}, infinity);
  write("b.h5", {1, 2, 3, 4}, 0.5);
  EXPECT_FALSE(compare(folder / "a.h5", folder / "b.h5", 1, 1).equal());
  EXPECT_FALSE(compare(folder / "b.h5", folder / "a.h5", 1, 1).equal());
}

// Squares of these differences overflow, or vanish.
TEST_F(Compare, MeasuresDifferencesOfAnyMagnitude) {
  for (double const unit : {1e-320, 1e-200, 1e155, 1e300}) {
    auto const result = compare_values({2 * unit, 0, 0, 0}, {0, 0, 0, 0});
    EXPECT_NEAR(result.fields.at(0).l2 / unit, 1, 1e-3) << unit;
  }
}

TEST_F(Compare, NumbersOfStepsMustAgree) {
  write_sample(folder / "a.h5", grid, 3);
  write_sample(folder / "b.h5", grid, 2);
  auto const result = compare(folder / "a.h5", folder / "b.h5", 1, 1);
  EXPECT_FALSE(result.equal());
  EXPECT_NE(result.table().find("there are 3 steps in A, 2 in B"), std::string::npos);
}

TEST_F(Compare, DiagnosticsMayDiffer) {
  std::array<double, 4> const values = {1, 2, 3, 4};
  Field const field = {"u", "K", grid, Precision::float64, values.data()};
  auto const write_with = [&](std::string const& name, std::int64_t bins) {
    ResultWriter writer(
        folder / name,
        {grid, {{"u", "K", Precision::float64}}, {}, Provenance{}, {{"u.histogram", bins}}});
    writer.append(0, 0, std::span(&field, 1), {});
  };
  write_with("a.h5", 3);
  write_with("b.h5", 4);
  EXPECT_TRUE(compare(folder / "a.h5", folder / "b.h5", 0, 0).equal());
}

TEST_F(Compare, TakesDirectories) {
  std::filesystem::create_directory(folder / "run");
  write_sample(folder / "run" / "case.h5", grid, 2);
  EXPECT_TRUE(compare(folder / "run", folder / "run" / "case.h5", 0, 0).equal());
  expect_io_error([&] { compare(folder / "none", folder / "run", 0, 0); }, {"no such file"});
}

}  // namespace
}  // namespace gridstride::io
