#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "support/transform_files.hpp"

namespace gridstride::test {
namespace {

constexpr Backend cpu = Backend::cpu;

class TransformModes : public ::testing::TestWithParam<std::string> {};

/// One chunk, chunks of a row that are smaller than every halo, and sizes that divide nothing.
TEST_P(TransformModes, BitsDoNotDependOnTheCut) {
  for (std::string const precision : {"float32", "float64"})
    for (std::string const points : {"211", "13, 17", "5, 11, 4", "7, 12, 3"}) {
      bool const line = points.find(',') == std::string::npos;
      // A scan's end is not known at its beginning.
      std::string const mode = GetParam();
      auto const yaml = [&](std::string const& more) {
        return every_step(points, mode, line, precision, more);
      };
      auto const whole = transform(yaml("limits: {chunk: 1 GiB, streams: 1}"), cpu);
      for (std::string const limits : {"chunk: 1 B, streams: 3", "chunk: 56 B, streams: 2",
                                       "chunk: 500 B", "chunk: 1008 B", "device_memory: 400 kB"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", precision, points, limits));
        expect_same_bits(whole, transform(yaml("limits: {" + limits + "}"), cpu));
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Transform, TransformModes,
                         ::testing::Values("reflect", "mirror", "nearest", "wrap", "constant"));

/// More than one tile of every reduction and scan, and chunks across their borders.
TEST(Transform, BitsDoNotDependOnTheCutOfManyValues) {
  auto const yaml = [](std::string const& more) {
    return every_step("300001", "reflect", true, "float32", more);
  };
  auto const whole = transform(yaml("limits: {chunk: 1 GiB, streams: 1}"), cpu);
  for (std::string const limits : {"chunk: 400000 B, streams: 3", "chunk: 131072 B"})
    expect_same_bits(whole, transform(yaml("limits: {" + limits + "}"), cpu));
}

void expect_near(std::vector<double> const& found, std::vector<double> const& expected,
                 double bound, std::string const& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], bound) << what << " at " << i;
}

/// Values of numpy and scipy: tools/make_transform_reference.py. All are below 1; sums of n of them,
/// and of their products with weights of at most 4/3, differ by the order alone: n·n·2^-52.
TEST_F(TransformFiles, EqualsNumpyAndScipy) {
  std::ifstream file(GRIDSTRIDE_SOURCE_DIR "/tests/data/transform_reference.json");
  auto const stored = nlohmann::json::parse(file);
  int compared = 0;
  for (auto const& entry : stored.at("cases")) {
    auto const points = entry.at("points").get<std::vector<std::int64_t>>();
    auto const values = entry.at("a").get<std::vector<double>>();
    auto const n = static_cast<double>(values.size());
    double const bound = 2 * n * n * 0x1p-52;
    std::vector<std::int64_t> const shape(points.rbegin(), points.rend());
    auto const source = [&](std::string const& name) {
      auto const path = write(name, entry.at(name).get<std::vector<double>>());
      return fmt::format("{{file: {}, type: float64, shape: [{}]}}", path, fmt::join(shape, ", "));
    };
    std::string differences;
    for (auto const& [key, ignored] : entry.at("difference").items())
      differences += fmt::format("- difference: {{d{0}: {{of: a, axis: {1}, order: {2}}}}}\n", key,
                                 key[0], key[1]);
    std::vector<double> const steps(points.size(), entry.at("spacing").get<double>());
    auto const result = transform(
        fmt::format(
            "simulation: transform\ngrid: {{spacing: [{}]}}\ninput: {{a: {}, b: {}}}\nsteps:\n"
            "- scan: {{sum: {{of: a}}, maximum: {{of: a, operation: maximum}}{}}}\n{}"
            "- sort: {{sorted: {{of: a}}}}\n"
            "reduce: [{{moments: a}}, {{norms: a}}, {{dot: [a, b]}}, {{integral: {{of: a}}}},\n"
            "  {{integral: {{of: a, rule: simpson}}}}, {{where_max: a}}, {{where_min: a}},\n"
            "  {{quantiles: {{of: a, at: [{}]}}}}, {{histogram: {{of: a, bins: {}}}}},\n"
            "  {{histogram: {{of: b, bins: {}, range: [-0.5, 0.5]}}}}]\nlimits: {{chunk: 64 B}}\n",
            fmt::join(steps, ", "), source("a"), source("b"),
            points.size() == 1 ? ", integral: {of: a, operation: integral}" : "", differences,
            fmt::join(entry.at("fractions").get<std::vector<double>>(), ", "),
            entry.at("bins").get<int>(), entry.at("bins").get<int>()),
        cpu);
    expect_near(result.fields.at("sum"), entry.at("sum"), bound, "sum");
    expect_near(result.fields.at("maximum"), entry.at("maximum"), 0, "maximum");
    expect_near(result.fields.at("sorted"), entry.at("sorted"), 0, "sorted");
    if (points.size() == 1)
      expect_near(result.fields.at("integral"), entry.at("integral"), bound, "integral");
    for (auto const& [key, expected] : entry.at("difference").items())
      expect_near(result.fields.at("d" + key), expected, 0, key);
    for (auto const& [name, expected] : entry.at("numbers").items())
      EXPECT_NEAR(result.numbers.at(name), expected.get<double>(), bound) << name;
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(result.tables.at(0).columns.at(2).numbers),
              entry.at("counts").get<std::vector<std::int64_t>>());
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(result.tables.at(1).columns.at(2).numbers),
              entry.at("ranged_counts").get<std::vector<std::int64_t>>());
    ++compared;
  }
  EXPECT_EQ(compared, 9);
}

/// Of whole numbers sums are exact.
TEST_F(TransformFiles, AnArrayTimesItselfIsItsSumOfSquares) {
  std::vector<double> values(100);
  std::iota(values.begin(), values.end(), -40.0);
  double squares = 0;
  for (double const value : values) squares += value * value;
  auto const result =
      transform(fmt::format("simulation: transform\n"
                            "input: {{a: {{file: {}, type: float64, shape: [100]}}}}\n"
                            "reduce: [{{dot: [a, a]}}]\nlimits: {{chunk: 64 B}}\n",
                            write("a.bin", values)),
                cpu);
  EXPECT_EQ(result.numbers.at("a.dot.a"), squares);
}

/// What only the files show.
TEST_F(TransformFiles, ThatDoNotFitAreRefused) {
  std::vector<float> const values(24, 1);
  auto const a = write("a.bin", values);
  auto const with = [&](std::string const& shape, std::string const& more) {
    return fmt::format(
        "simulation: transform\ninput: {{a: {{file: {}, type: float32, shape: [{}]}}}}\n{}", a,
        shape, more);
  };
  auto const expect = [&](std::string const& yaml, std::string const& part) {
    auto const problem = problem_of(yaml);
    EXPECT_NE(problem.find(part), std::string::npos) << problem << "\nnot: " << part;
  };
  expect(with("4, 6", "grid: {points: [6, 5]}\n"), "all data have the same shape");
  expect(with("2, 2, 2, 3", ""), "1 to 3 axes");
  expect(with("4, 6", "steps: [{filter: {a: {box: {size: 3}}}}]\n"), "an axis is missing");
  expect(with("4, 6", "steps: [{filter: {a: {box: {size: 3, axis: z}}}}]\n"), "there are 2 axes");
  expect(with("4, 6", "steps: [{filter: {a: {box: {size: 5, axis: y}}}}]\n"), "needs 5 taps");
  expect(with("4, 6", "steps: [{difference: {g: {of: a}}}]\n"), "an axis is missing");
  expect(with("4, 6", "steps: [{difference: {g: {of: a, axis: z}}}]\n"), "there is no axis z");
  expect(with("4, 6", "steps: [{difference: {g: {of: a, axis: y, order: 4}}}]\n"),
         "nothing is left of 'g'");
  expect(with("4, 6", "steps: [{scan: {s: {of: a, operation: integral}}}]\n"), "one axis");
  expect(with("4, 6", "steps: [{formula: {c: a*z}}]\n"), "depends on 'z'");
  expect(with("24", "steps: [{select: {p: {of: a, where: y > 0}}}]\n"),
         "steps.0.select.p.where: depends on 'y', but the data have 1 axis");
  expect(with("24", "verify: {exact: {a: 1 + z}}\n"), "depends on 'z', but the data have 1 axis");
  expect(with("4, 6", "steps: [{filter: {a: {box: {size: 3, axis: x}}}, mode: {z: wrap}}]\n"),
         "steps.0.mode.z: there is no axis z (the data have 2)");
  expect(with("4, 6", "grid: {spacing: 0.5}\n"),
         "grid.spacing: 2 values expected, here is 1 (the data have 2 axes)");
  expect(with("24", "grid: {spacing: [2, 3], lower: [2, 3, 4]}\n"),
         "grid.lower: 1 value expected, here are 3 (the data have 1 axis)");
  expect(with("24", "grid: {spacing: [2, 3]}\n"), "grid.spacing: 1 value expected, here are 2");
  expect(with("4, 6", "steps: [{spectrum: {p: {of: a, segment: 2}}}]\n"),
         "steps.0.spectrum.p: spectra are of data along one axis (the data have 2)");
  expect(with("24", "steps: [{difference: {d: {of: a}}}, {spectrum: {p: {of: d, segment: 24}}}]\n"),
         "a segment has 24 samples, which are more than the 23 of 'd'");
  expect(with("24", "steps: [{scan: {s: {of: a}}}, {filter: {s: {box: {size: 3}}}, mode: wrap}]\n"),
         "cannot come after a scan");
  EXPECT_EQ(
      problem_of(with("24", "steps: [{scan: {s: {of: a}}}, {filter: {s: {box: {size: 3}}}}]\n")),
      "");
}

/// Also where no file has to be looked into.
TEST(Transform, RefusesAxesThatTheDataDoNotHave) {
  auto const with = [](std::string const& points, std::string const& formula) {
    return problem_of("simulation: transform\ngrid: {points: " + points + "}\ninput: {a: \"" +
                      formula + "\"}\n");
  };
  EXPECT_NE(with("4", "x + y + 1").find("input.a: depends on 'y', but the data have 1 axis"),
            std::string::npos);
  EXPECT_NE(with("[4, 3]", "x + z + 1").find("input.a: depends on 'z', but the data have 2 axes"),
            std::string::npos);
  EXPECT_EQ(with("[4, 3]", "x + y + 1"), "");
}

TEST_F(TransformFiles, ThatAreNotFiniteAreRefused) {
  std::vector<double> values(100, 1);
  values[57] = std::numeric_limits<double>::quiet_NaN();
  auto const yaml = fmt::format(
      "simulation: transform\ninput: {{a: {{file: {}, type: float64, shape: [100]}}}}\n"
      "limits: {{chunk: 64 B}}\n",
      write("a.bin", values));
  EXPECT_NE(problem_of(yaml).find("57"), std::string::npos) << problem_of(yaml);
}

/// A value that is not finite on the way ends the run where something looks at it.
TEST(Transform, InfiniteValuesAreTold) {
  std::string const yaml =
      "simulation: transform\ngrid: {points: 50, lower: -10}\ninput: {a: x}\n"
      "steps: [{formula: {c: \"1/(a - 3)\"}}]\nreduce: [{moments: c}]\n";
  EXPECT_NE(problem_of(yaml).find("c is infinite or not a number at x = 3"), std::string::npos)
      << problem_of(yaml);
}

/// So does one that a reduction could count as if it were not there.
TEST(Transform, NothingReducesValuesThatAreNotFinite) {
  for (std::string const formula : {"log(x)", "1/x", "sqrt(x - 0.5)"})
    for (std::string const reduction :
         {"moments: a", "norms: a", "where_max: a", "where_min: a", "dot: [b, a]", "dot: [a, b]",
          "integral: {of: a}", "histogram: {of: a, bins: 3}",
          "histogram: {of: a, bins: 3, range: [0, 9]}", "quantiles: {of: a, at: [0.5]}"}) {
      auto const problem =
          problem_of(fmt::format("simulation: transform\ngrid: {{points: 6}}\ninput: {{b: 0}}\n"
                                 "steps: [{{formula: {{a: \"{}\"}}}}]\nreduce: [{{{}}}]\n"
                                 "output: {{fields: [b]}}\nlimits: {{chunk: 8 B}}\n",
                                 formula, reduction));
      EXPECT_EQ(problem, "a is infinite or not a number at x = 0") << formula << " " << reduction;
    }
}

/// Of the values of an array that are not finite, those that are picked out.
TEST(Transform, SelectedValuesAreFinite) {
  auto const with = [](std::string const& where) {
    return fmt::format(
        "simulation: transform\ngrid: {{points: 6}}\ninput: {{b: x}}\n"
        "steps: [{{formula: {{a: sqrt(b - 1.5)}}}}, {{select: {{p: {{of: a, where: \"{}\"}}}}}}]\n"
        "output: {{fields: [p]}}\nlimits: {{chunk: 8 B}}\n",
        where);
  };
  EXPECT_EQ(problem_of(with("b > 0.5")),
            "a is infinite or not a number at x = 1, which is selected for p");
  auto const result = transform(with("a == a"), cpu);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(result.tables.at(0).columns.at(0).numbers),
            (std::vector<std::int64_t>{2, 3, 4, 5}));
}

TEST(Transform, QuantilesLieBetweenValuesHoweverFarApart) {
  auto const result = transform(
      "simulation: transform\ngrid: {points: 2}\ninput: {a: \"1.5e308*(2*x - 1)\"}\n"
      "reduce: [{quantiles: {of: a, at: [0, 0.25, 0.5, 1]}}]\n",
      cpu);
  EXPECT_EQ(result.numbers.at("a.q0"), -1.5e308);
  EXPECT_DOUBLE_EQ(result.numbers.at("a.q0.25"), -0.75e308);
  EXPECT_EQ(result.numbers.at("a.q0.5"), 0);
  EXPECT_EQ(result.numbers.at("a.q1"), 1.5e308);
}

/// Products that are 0 only because float64 has no place for them, and those that are.
TEST(Transform, ProductsThatLoseTheirDigitsAreRefused) {
  auto const with = [](std::string const& a, std::string const& b) {
    return fmt::format(
        "simulation: transform\ngrid: {{points: 2}}\ninput: {{a: \"{}\", b: \"{}\"}}\n"
        "reduce: [{{dot: [a, b]}}]\n",
        a, b);
  };
  for (std::string const size : {"1e-200", "1e-160"})
    EXPECT_NE(
        problem_of(with("(4 - x)*" + size, "(4 - x)*" + size)).find("products of values up to 4e-"),
        std::string::npos);
  EXPECT_EQ(transform(with("(4 - x)*1e-200", "(3 - 7*x)*1e200"), cpu).numbers.at("a.dot.b"), 0);
  EXPECT_EQ(transform(with("(4 - x)*1e-200", "0"), cpu).numbers.at("a.dot.b"), 0);
}

/// A table of the values where a formula holds, with their places.
TEST(Transform, SelectsValuesAndPlaces) {
  auto const result = transform(
      "simulation: transform\ngrid: {points: [5, 3], spacing: [1, 10]}\ninput: {a: x + y}\n"
      "steps: [{select: {p: {of: a, where: \"mod(a, 7) == 0\"}, none: {of: a, where: \"a < "
      "0\"}}}]\n"
      "limits: {chunk: 1 B}\n",
      cpu);
  ASSERT_EQ(result.tables.size(), 2);
  auto const& columns = result.tables[0].columns;
  using Whole = std::vector<std::int64_t>;
  using Real = std::vector<double>;
  EXPECT_EQ(std::get<Whole>(columns.at(0).numbers), (Whole{0, 9, 11}));
  EXPECT_EQ(std::get<Real>(columns.at(1).numbers), (Real{0, 14, 21}));
  EXPECT_EQ(std::get<Real>(columns.at(2).numbers), (Real{0, 4, 1}));
  EXPECT_EQ(std::get<Real>(columns.at(3).numbers), (Real{0, 10, 20}));
  EXPECT_EQ(result.tables[1].rows(), 0);
}

}  // namespace
}  // namespace gridstride::test
