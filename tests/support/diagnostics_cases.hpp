#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/diagnostics_section.hpp"
#include "config/document.hpp"
#include "config/reader.hpp"
#include "config/run_fields.hpp"
#include "core/buffer.hpp"
#include "core/error.hpp"
#include "driver/diagnostics.hpp"
#include "kernels/families.hpp"

/// What the driver's diagnostics must find, on either backend and in either precision.
namespace gridstride::test {

inline Grid line_of(std::size_t points) {
  return {.dims = 1, .points = {static_cast<std::int64_t>(points), 1, 1}};
}

/// A simulation with such fields.
inline config::SimulationInfo info_of(std::vector<config::FieldInfo> fields) {
  return {.name = "fields",
          .summary = "",
          .fields = std::move(fields),
          .schemes = {},
          .kernels = {},
          .make_parameters = nullptr,
          .diagnostics = diagnostic_kinds()};
}

/// A run of a simulation whose file says this of `diagnostics`. Throws `ConfigError`.
inline config::RunOptions run_with(std::string const& diagnostics, Grid const& grid,
                                   Precision precision, config::SimulationInfo const& simulation) {
  config::RunOptions run;
  run.simulation = &simulation;
  run.precision = precision;
  run.grid = grid;
  config::take_fields(run, simulation.fields);
  for (int axis = 0; axis < grid.dims; ++axis) {
    run.grid_options.points.push_back(grid.points[axis]);
    run.grid_options.lower.push_back(grid.origin[axis]);
    run.grid_options.upper.push_back(grid.coordinate(axis, grid.points[axis]));
  }
  config::Faults faults("run");
  auto const root = config::parse_document("diagnostics: " + diagnostics, 0, "", faults);
  faults.throw_if_any();
  config::Reader reader(*root, {}, faults);
  reader.axes(grid.dims);
  config::declare_diagnostics(reader, run);
  reader.finish();
  faults.throw_if_any();
  return run;
}

/// The diagnostics of a run whose field `u` has these values.
template <class T>
Measurement measure_as(config::RunOptions const& run, Backend backend, Grid const& grid,
                       std::vector<T> const& values) {
  Stream stream(Device::open(backend));
  Buffer<T> memory(stream, MemorySpace::device, values.size());
  copy_async(memory.span(), values, stream);
  Field const field{"u", "1", grid, precision_of<T>(), memory.data()};
  return Diagnostics(run, std::span(&field, 1), stream).measure(std::span(&field, 1), {3, 0.5});
}

/// The same where the file says this of `diagnostics`.
template <class T>
Measurement measure(Backend backend, std::string const& diagnostics, Grid const& grid,
                    std::vector<T> const& values,
                    std::map<std::string, std::string, std::less<>> const& kernels = {}) {
  static config::SimulationInfo const info = info_of({{"u", "1", ""}});
  config::RunOptions run = run_with(diagnostics, grid, precision_of<T>(), info);
  run.kernels = kernels;
  return measure_as(run, backend, grid, values);
}

inline std::vector<double> numbers(Measurement const& measured) {
  std::vector<double> all;
  for (auto const& found : measured.values) all.push_back(found.value);
  return all;
}

inline std::vector<std::string> names(Measurement const& measured) {
  std::vector<std::string> all;
  for (auto const& found : measured.values) all.push_back(found.name);
  return all;
}

template <class T>
void expect_norms_by_hand(Backend backend) {
  std::vector<T> const values = {3, -4, 0, 1};
  Grid const grid{.dims = 2, .points = {2, 2, 1}};
  auto const measured = measure(backend, "norms", grid, values);
  EXPECT_EQ(names(measured), (std::vector<std::string>{"u.min", "u.max", "u.mean", "u.l2"}));
  EXPECT_EQ(numbers(measured), (std::vector<double>{-4, 3, 0, std::sqrt(26.0 / 4)}));
  EXPECT_TRUE(measured.histograms.empty());
}

/// Squares of these values, or their sum, overflow or vanish.
inline void expect_norms_of_any_magnitude(Backend backend) {
  for (double const unit : {0x1p-1060, 1e-200, 1e-155, 1e155, 1e200, 0x1p1020}) {
    std::vector<double> const values = {3 * unit, -4 * unit, 0, unit};
    auto const found = numbers(measure(backend, "norms", line_of(4), values));
    EXPECT_NEAR(found[2] / unit, 0, 4e-15) << unit;  // a rounding of each sum
    EXPECT_NEAR(found[3] / unit, std::sqrt(26.0 / 4), 1e-3) << unit;
    std::vector<double> const alike(2'500'001, unit);
    auto const same = numbers(measure(backend, "norms", line_of(alike.size()), alike));
    EXPECT_NEAR(same[2] / unit, 1, 1e-12) << unit;
    EXPECT_NEAR(same[3] / unit, 1, 1e-12) << unit;
  }
}

template <class T>
void expect_probes_interpolate(Backend backend) {
  // u = x + 10 y + 100 z is linear, so that the interpolation is exact.
  Grid const grid{.dims = 3, .points = {3, 3, 3}, .origin = {1, 0, 0}, .spacing = {0.5, 1, 2}};
  std::vector<T> values;
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    auto const at = grid.indices(i);
    values.push_back(static_cast<T>(grid.coordinate(0, at[0]) + 10 * grid.coordinate(1, at[1]) +
                                    100 * grid.coordinate(2, at[2])));
  }
  auto const measured = measure(
      backend,
      "[{probe: {at: [1.3, 0.7, 3.9]}}, {probe: {at: [2, 2, 4]}}, {probe: {at: [1, 0, 0]}}]", grid,
      values);
  EXPECT_EQ(names(measured),
            (std::vector<std::string>{"u(1.3, 0.7, 3.9)", "u(2, 2, 4)", "u(1, 0, 0)"}));
  auto const found = numbers(measured);
  EXPECT_NEAR(found[0], 1.3 + 7 + 390, 1e-11);  // the values at the points are exact in float too
  EXPECT_EQ(found[1], 2 + 20 + 400);
  EXPECT_EQ(found[2], 1);
}

template <class T>
void expect_probes_close_a_periodic_axis(Backend backend) {
  Grid const grid{.dims = 1, .points = {4, 1, 1}, .origin = {0, 0, 0}, .spacing = {0.25, 1, 1}};
  auto const info = info_of({{"u", "1", ""}});
  auto run = run_with("[{probe: {at: 0.875}}, {probe: {at: 1}}]", grid, precision_of<T>(), info);
  for (auto const& [kind, found] :
       {std::pair{SideKind::periodic, std::vector<double>{6, 8}},
        std::pair{SideKind::antiperiodic, std::vector<double>{-2, -8}}}) {
    run.boundary[0][0][0].kind = run.boundary[0][0][1].kind = kind;
    EXPECT_EQ(numbers(measure_as<T>(run, backend, grid, {8, 1, 2, 4})), found);
  }
}

/// The end of an axis with ends, whose place is beyond the last point by rounding, is that point.
template <class T>
void expect_probes_at_an_end(Backend backend) {
  std::vector<T> values(50, 1000);
  values.back() = 3;
  Grid const grid{.dims = 1, .points = {50, 1, 1}, .spacing = {1.0 / 49, 1, 1}};
  EXPECT_GT(1 / grid.spacing[0], 49);
  EXPECT_EQ(numbers(measure<T>(backend, "{probe: {at: 1}}", grid, values)), std::vector<double>{3});
}

/// Numbers and histograms of components and the magnitude, which are left out where a component is
/// called so; v = (3i, −4i) and w = (i, 0, 2).
template <class T>
void expect_vectors_by_hand(Backend backend) {
  std::vector<T> v, w;
  for (int i = 0; i < 5; ++i) {
    v.insert(v.end(), {static_cast<T>(3 * i), static_cast<T>(-4 * i)});
    w.insert(w.end(), {static_cast<T>(i), T(0), T(2)});
  }
  auto const info = info_of(
      {{"v", "m/s", "", {"x", "y"}}, {"w", "1", "", {"a", "b", "magnitude"}}, {"u", "1", ""}});
  auto const run = run_with(
      "[norms, {probe: {at: 2.5, field: v.magnitude}}, {probe: {at: 1, field: w.magnitude}}, "
      "{histogram: {field: v.y, bins: 2, range: [-16, 0]}}, {quantiles: {field: v.x, at: 0.5}}, "
      "{integral: v_x + w_magnitude*u}, {minimum: {of: v_y*w_a, where: true}}]",
      line_of(5), precision_of<T>(), info);
  Stream stream(Device::open(backend));
  Buffer<T> v_memory(stream, MemorySpace::device, 10), w_memory(stream, MemorySpace::device, 15);
  copy_async(v_memory.span(), v, stream);
  copy_async(w_memory.span(), w, stream);
  std::vector<Field> const fields = {
      {"w", "1", line_of(5), precision_of<T>(), w_memory.data(), 3},
      {"u", "1", line_of(5), precision_of<T>(), w_memory.data()},  // the first five numbers of w
      {"v", "m/s", line_of(5), precision_of<T>(), v_memory.data(), 2}};
  auto const measured = Diagnostics(run, fields, stream).measure(fields, {});
  EXPECT_EQ(names(measured), diagnostic_names(run, fields));
  std::map<std::string, double> found;
  for (auto const& value : measured.values) found[value.name] = value.value;
  EXPECT_EQ(found.size(), measured.values.size());
  EXPECT_EQ(found.at("v.x.max"), 12);
  EXPECT_EQ(found.at("v.y.min"), -16);
  EXPECT_EQ(found.at("v.y.mean"), -8);
  EXPECT_EQ(found.at("v.magnitude.max"), 20);
  EXPECT_EQ(found.at("v.magnitude.l2"), std::sqrt(25 * 30 / 5.0));
  EXPECT_EQ(found.at("w.b.l2"), 0);
  EXPECT_EQ(found.at("w.magnitude.min"), 2);
  EXPECT_EQ(found.at("w.magnitude.max"), 2);
  EXPECT_EQ(found.at("v.magnitude(2.5)"), 12.5);
  EXPECT_EQ(found.at("w.magnitude(1)"), 2);
  EXPECT_NEAR(found.at("v.x.q0.5"), 6, 1e-6);
  // u = 0, 0, 2, 1, 0
  EXPECT_EQ(found.at("integral(v_x + w_magnitude*u)"), 24 + 6);
  EXPECT_EQ(found.at("minimum(v_y*w_a)"), -64);
  EXPECT_EQ(found.at("minimum(v_y*w_a).x"), 4);
  ASSERT_EQ(measured.histograms.size(), 1U);
  EXPECT_EQ(measured.histograms[0].name, "v.y.histogram");
  EXPECT_EQ(measured.histograms[0].counts, (std::vector<std::int64_t>{2, 3}));
}

/// A component that is missing somewhere takes the others not with it, but the magnitude.
inline void expect_gaps_in_components(Backend backend) {
  auto info = info_of({{"v", "m/s", "", {"x", "y"}}});
  info.has_gaps = true;
  auto const run = run_with("norms", line_of(2), Precision::float64, info);
  Stream stream(Device::open(backend));
  std::vector<double> const values = {1, std::nan(""), 2, 3};
  Buffer<double> memory(stream, MemorySpace::device, 4);
  copy_async(memory.span(), values, stream);
  Field const field{"v", "m/s", line_of(2), Precision::float64, memory.data(), 2};
  auto const found =
      numbers(Diagnostics(run, std::span(&field, 1), stream).measure(std::span(&field, 1), {}));
  ASSERT_EQ(found.size(), 12U);
  EXPECT_EQ(found[1], 2);
  for (std::size_t i = 4; i < 12; ++i) EXPECT_TRUE(std::isnan(found[i])) << i;
}

/// The counts and edges of a histogram with such keys.
template <class T>
Histogram histogram_of(Backend backend, std::string const& keys, std::vector<T> const& values) {
  auto const measured = measure<T>(backend, fmt::format("{{histogram: {{{}}}}}", keys),
                                   line_of(values.size()), values);
  EXPECT_TRUE(measured.values.empty());
  EXPECT_EQ(measured.histograms.size(), 1U);
  EXPECT_EQ(measured.histograms.front().name, "u.histogram");
  return measured.histograms.front();
}

inline std::int64_t total(Histogram const& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0});
}

template <class T>
void expect_histograms_by_hand(Backend backend) {
  using Counts = std::vector<std::int64_t>;
  using Edges = std::vector<double>;
  std::vector<T> const values = {-1, 0, T(0.25), T(0.5), T(0.75), 1, 1, 2};
  auto const given = histogram_of<T>(backend, "bins: 4, range: [0, 1]", values);
  EXPECT_EQ(given.counts, (Counts{1, 1, 1, 3}));  // the last bin is closed
  EXPECT_EQ(given.edges, (Edges{0, 0.25, 0.5, 0.75, 1}));
  auto const beside = histogram_of<T>(backend, "bins: 2, range: [5, 6]", values);
  EXPECT_EQ(beside.counts, (Counts{0, 0}));
  auto const at_zero = histogram_of<T>(backend, "bins: 1, range: [-1, 0]", values);
  EXPECT_EQ(at_zero.counts, Counts{2});
  auto const own = histogram_of<T>(backend, "bins: 4", {0, 4, 1, 2, 3, 4});
  EXPECT_EQ(own.counts, (Counts{1, 1, 1, 3}));
  EXPECT_EQ(own.edges, (Edges{0, 1, 2, 3, 4}));
  auto const constant = histogram_of<T>(backend, "bins: 4", {3, 3, 3});
  EXPECT_EQ(constant.counts, (Counts{0, 0, 3, 0}));
  EXPECT_EQ(constant.edges, (Edges{2.5, 2.75, 3, 3.25, 3.5}));
}

/// Ranges that even bins cannot divide, or hardly can.
/// Several of one field do not get into each other's way.
template <class T>
void expect_several_histograms(Backend backend) {
  std::vector<T> const values = {0, 1, 2, 3, 4, 4};
  std::vector<std::string> const wanted = {"bins: 4", "bins: 2, range: [0, 4]",
                                           "bins: 4, range: [0, 2]", "bins: 1"};
  std::string all;
  for (auto const& keys : wanted)
    all += fmt::format("{}{{histogram: {{{}}}}}", all.empty() ? "[" : ", ", keys);
  auto const measured = measure<T>(backend, all + "]", line_of(values.size()), values);
  ASSERT_EQ(measured.histograms.size(), wanted.size());
  constexpr std::string_view names[] = {"u.histogram", "u.histogram.2", "u.histogram.3",
                                        "u.histogram.4"};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto const alone = histogram_of<T>(backend, wanted[i], values);
    EXPECT_EQ(measured.histograms[i].name, names[i]);
    EXPECT_EQ(measured.histograms[i].counts, alone.counts) << names[i];
    EXPECT_EQ(measured.histograms[i].edges, alone.edges) << names[i];
  }
  EXPECT_EQ(measured.histograms[1].counts, (std::vector<std::int64_t>{2, 4}));
}

template <class T>
void expect_histograms_of_odd_ranges(Backend backend) {
  using Limits = std::numeric_limits<T>;
  auto const below = [](T x) { return std::nextafter(x, -Limits::infinity()); };
  std::vector<std::vector<T>> const sound = {{0, Limits::denorm_min()},
                                             {0, Limits::min(), 2 * Limits::min()},
                                             {1, below(1), below(below(1))},
                                             {T(1e20), T(1e20)},
                                             {-Limits::max() / 4, 0, Limits::max() / 4},
                                             {-Limits::denorm_min()},
                                             {T(-0.0), T(0.0)}};
  for (auto const& values : sound)
    for (std::int64_t const bins : {1, 2, 64, 8192}) {
      auto const histogram = histogram_of<T>(backend, fmt::format("bins: {}", bins), values);
      EXPECT_EQ(total(histogram), std::ssize(values)) << values[0] << ' ' << bins;
      EXPECT_LE(histogram.edges.front(), *std::ranges::min_element(values));
      EXPECT_GE(histogram.edges.back(), *std::ranges::max_element(values));
    }
  std::vector<std::vector<T>> without = {{Limits::max()}};
  if (sizeof(T) == 8) without.push_back({-Limits::max(), Limits::max()});
  for (auto const& values : without) {
    auto const histogram = histogram_of<T>(backend, "bins: 3", values);
    EXPECT_EQ(histogram.counts, (std::vector<std::int64_t>{0, 0, 0}));
    EXPECT_EQ(histogram.edges.size(), 4U);
    for (double const edge : histogram.edges) EXPECT_TRUE(std::isnan(edge));
  }
}

/// Fields that are hard on bins of one width.
template <class T>
std::vector<std::vector<T>> quantile_fields(std::size_t size) {
  std::mt19937_64 random(size);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> lattice(0, 8192);
  std::vector<std::vector<T>> fields(7);
  for (std::size_t i = 0; i < size; ++i) {
    double const x = normal(random), position = static_cast<double>(i);
    fields[0].push_back(static_cast<T>(x));
    fields[1].push_back(static_cast<T>(position / static_cast<double>(size)));  // sorted
    fields[2].push_back(static_cast<T>(std::exp(8 * x)));                       // heavy tail
    fields[3].push_back(static_cast<T>(lattice(random)));  // on the edges of bins
    fields[4].push_back(static_cast<T>(i % 2));            // two values
    fields[5].push_back(T(-7.25));                         // one
    fields[6].push_back(static_cast<T>(1e6 + 0.25 * x));   // hardly told apart in float
  }
  return fields;
}

/// Each quantile is the value of its rank, to the accuracy that `Diagnostics` promises.
template <class T>
void expect_quantiles(Backend backend, std::vector<T> values) {
  // Exact in binary, so that q·n has no rounding.
  std::vector<double> const at = {0.5, 0, 0.015625, 0.25, 0.75, 0.9375, 1};
  auto const measured =
      measure<T>(backend, fmt::format("{{quantiles: {{at: [{}]}}}}", fmt::join(at, ", ")),
                 line_of(values.size()), values);
  auto const found = numbers(measured);
  ASSERT_EQ(found.size(), at.size());
  std::ranges::sort(values);
  double const lowest = values.front(), highest = values.back();
  T const largest = std::max(std::abs(values.front()), std::abs(values.back()));
  double const spacing = std::nextafter(largest, std::numeric_limits<T>::infinity()) - largest;
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto const rank = std::max(1.0, std::ceil(at[i] * static_cast<double>(values.size())));
    auto const exact = static_cast<double>(values[static_cast<std::size_t>(rank) - 1]);
    EXPECT_NEAR(found[i], exact, (highest - lowest) / 8192 / 8192 + 4 * spacing)
        << "q = " << at[i] << " of " << values.size();
  }
  EXPECT_EQ(found[1], lowest);
  EXPECT_EQ(found.back(), highest);
}

template <class T>
void expect_quantiles_by_hand(Backend backend) {
  std::vector<T> values(101);  // 0, 1, …, 100
  std::iota(values.begin(), values.end(), T(0));
  std::ranges::reverse(values);
  auto const measured =
      measure<T>(backend, "[{quantiles: {at: [0.05, 0.5]}}, {quantiles: {at: [0.95, 0, 1]}}]",
                 line_of(101), values);
  EXPECT_EQ(names(measured),
            (std::vector<std::string>{"u.q0.05", "u.q0.5", "u.q0.95", "u.q0", "u.q1"}));
  auto const found = numbers(measured);
  double const accuracy = 100.0 / 8192 / 8192 + 1e-5 * (sizeof(T) == sizeof(float) ? 1 : 0);
  EXPECT_NEAR(found[0], 5, accuracy);   // rank 6 of 101
  EXPECT_NEAR(found[1], 50, accuracy);  // rank 51
  EXPECT_NEAR(found[2], 95, accuracy);  // rank 96
  EXPECT_EQ(found[3], 0);
  EXPECT_EQ(found[4], 100);
}

template <class T>
void expect_quantiles_of_odd_ranges(Backend backend) {
  using Limits = std::numeric_limits<T>;
  std::string const median = "{quantiles: {at: 0.5}}";
  auto const of = [&](std::vector<T> const& values) {
    return numbers(measure<T>(backend, median, line_of(values.size()), values)).front();
  };
  EXPECT_EQ(of({4}), 4);
  EXPECT_EQ(of({0, Limits::denorm_min(), 0}), 0);
  EXPECT_EQ(of({-Limits::max(), 1, Limits::max()}), 1);
  // Closer than even bins can be.
  std::vector<T> values;
  for (int i = 0; i < 1000; ++i)
    values.push_back(static_cast<T>((37 * i) % 1000 - 500) * 8 * Limits::denorm_min());
  auto const found = numbers(measure<T>(backend, "{quantiles: {at: [0, 0.25, 0.5005, 1]}}",
                                        line_of(values.size()), values));
  std::ranges::sort(values);
  EXPECT_EQ(found, (std::vector<double>{values[0], values[249], values[500], values[999]}));
  // Whose bins are closer than that.
  T const unit = 1024 * std::ldexp(T(1), 1 - Limits::max_exponent);
  EXPECT_EQ(of({0, 1000 * unit, 2 * unit, 999 * unit, 3 * unit}), 3 * unit);
}

/// The whole set, for the tests that compare variants.
inline std::string const every_diagnostic =
    "[norms, {probe: {at: 17.25}}, {histogram: {bins: 100}}, {quantiles: {at: [0.1, 0.5, 0.9]}}]";

/// All variants of the three families agree on what is exact, on the sums to their rounding.
template <class T>
void expect_variants_to_agree(Backend backend) {
  auto const values = quantile_fields<T>(4099)[0];
  auto const expected = measure<T>(backend, every_diagnostic, line_of(4099), values);
  int variants = 0;
  for (auto const& family : kernel_families()) {
    if (family.name != "reduce" && family.name != "histogram" && family.name != "scan") continue;
    for (auto const& row : family.rows) {
      if (row.backend != backend || !row.in_build) continue;
      Device const device = Device::open(backend);
      if (!diagnostics_refusal(family.name, row.name, device).empty()) continue;
      auto const measured = measure<T>(backend, every_diagnostic, line_of(4099), values,
                                       {{std::string(family.name), std::string(row.name)}});
      EXPECT_EQ(names(measured), names(expected));
      for (std::size_t i = 0; i < expected.values.size(); ++i) {
        // Mean and l2; Σ|x| ≤ n·max|x| bounds what the order of a sum changes.
        double const tolerance = i == 2 || i == 3 ? 4099 * 1.2e-16 * 5 : 0;
        EXPECT_NEAR(measured.values[i].value, expected.values[i].value, tolerance)
            << family.name << ' ' << row.name << ' ' << measured.values[i].name;
      }
      EXPECT_EQ(measured.histograms[0].counts, expected.histograms[0].counts);
      ++variants;
    }
  }
  EXPECT_GE(variants, 6);
}

template <class T>
void expect_bad_values_to_be_named(Backend backend) {
  Grid const grid{.dims = 2, .points = {300, 300, 1}};
  std::vector<T> values(90000, 1);
  EXPECT_NO_THROW(measure(backend, "[]", grid, values));
  auto const message = [&] {
    try {
      measure(backend, "[]", grid, values);
      return std::string("no error");
    } catch (NumericalError const& error) {
      return std::string(error.what());
    }
  };
  values[299 + 300 * 298] = std::numeric_limits<T>::quiet_NaN();
  EXPECT_EQ(message(), "NaN in field 'u' at cell (299, 298, 0), step 3, time 0.5");
  values[7 + 300 * 250] = -std::numeric_limits<T>::infinity();
  EXPECT_EQ(message(), "infinity in field 'u' at cell (7, 250, 0), step 3, time 0.5");
}

/// Two fields of different types, each with its own.
inline void expect_fields_to_be_told_apart(Backend backend) {
  Stream stream(Device::open(backend));
  std::vector<float> const first = {1, 2, 3, 4};
  std::vector<double> const second = {-1, 0, 0, 1};
  Buffer<float> a(stream, MemorySpace::device, 4);
  Buffer<double> b(stream, MemorySpace::device, 4);
  copy_async(a.span(), first, stream);
  copy_async(b.span(), second, stream);
  Grid const grid = line_of(4);
  std::vector<Field> const fields = {{"p", "Pa", grid, Precision::float32, a.data()},
                                     {"v", "m/s", grid, Precision::float64, b.data()}};
  auto const info = info_of({{"p", "Pa", ""}, {"v", "m/s", ""}});
  auto const run = run_with(
      "[{probe: {at: 1, field: v}}, {probe: {at: 0.5, field: p}}, {histogram: {field: v, bins: 2}},"
      " {histogram: {field: p, bins: 3}}, {quantiles: {field: v, at: 1}}]",
      grid, Precision::float64, info);
  auto const measured = Diagnostics(run, fields, stream).measure(fields, {});
  EXPECT_EQ(names(measured), (std::vector<std::string>{"p(0.5)", "v(1)", "v.q1"}));
  EXPECT_EQ(names(measured), diagnostic_names(run, fields));
  EXPECT_EQ(numbers(measured), (std::vector<double>{1.5, 0, 1}));
  std::vector<io::HistogramInfo> found;
  for (auto const& histogram : measured.histograms)
    found.push_back({histogram.name, std::ssize(histogram.counts)});
  EXPECT_EQ(found, (std::vector<io::HistogramInfo>{{"p.histogram", 3}, {"v.histogram", 2}}));
  EXPECT_EQ(found, histogram_infos(run, fields));
}

}  // namespace gridstride::test
