#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "core/memory_use.hpp"
#include "kernels/histogram/histogram.hpp"
#include "kernels/histogram/order_statistics.hpp"
#include "kernels/reduce/field.hpp"
#include "kernels/reduce/running.hpp"
#include "kernels/scan/running.hpp"
#include "support/scan_cases.hpp"
#include "support/thread_ranks.hpp"

/// Data that come piece by piece: the same bits however they are cut, on any device.
namespace gridstride::test {

/// Calls `body(first, count)` for pieces of `piece` elements.
template <class Body>
void for_pieces(std::size_t size, std::size_t piece, Body const& body) {
  for (std::size_t first = 0; first < size; first += piece)
    body(first, std::min(piece, size - first));
}

template <class T>
Buffer<T> on_device(Stream& stream, std::vector<T> const& values) {
  Buffer<T> buffer(stream, MemorySpace::device, values.size());
  copy_async(buffer.span(), std::span(values), stream);
  return buffer;
}

// ------------------------------------------------------------------------------------ reductions

template <class Operation>
typename Operation::Value reduced_in_pieces(
    Stream& stream, Operation const& operation, std::vector<typename Operation::Element> const& x,
    std::size_t piece, std::vector<typename Operation::Element> const& y = {}) {
  using Value = typename Operation::Value;
  auto const first_input = on_device(stream, x), second_input = on_device(stream, y);
  reduce::RunningReduction<Operation> running(stream, std::ssize(x), operation);
  for_pieces(x.size(), piece, [&](std::size_t first, std::size_t count) {
    if (y.empty())
      running.add(stream, first_input.span().subspan(first, count));
    else
      running.add(stream, first_input.span().subspan(first, count),
                  second_input.span().subspan(first, count));
  });
  Buffer<Value> result(stream, MemorySpace::device, 1);
  running.finish(stream, result.span());
  Value value;
  copy_async(std::span(&value, 1), std::as_const(result).span(), stream);
  stream.synchronize();
  return value;
}

/// What each of several ranks finds, with the elements from its cut to the next one.
template <class Operation>
std::vector<typename Operation::Value> reduced_on_ranks(
    Device const& device, Operation const& operation,
    std::vector<typename Operation::Element> const& x, RankCuts const& cuts, std::size_t piece,
    std::vector<typename Operation::Element> const& y = {}) {
  std::vector<typename Operation::Value> results(cuts.size() - 1);
  auto const work = [&](Ranks& ranks) {
    Stream stream(device);
    auto const own = static_cast<std::size_t>(ranks.rank());
    auto const begin = static_cast<std::size_t>(cuts[own]);
    std::size_t const size = static_cast<std::size_t>(cuts[own + 1]) - begin;
    auto const first_input = on_device(stream, x), second_input = on_device(stream, y);
    reduce::RunningReduction<Operation> running(stream, std::ssize(x), {cuts[own], cuts[own + 1]},
                                                operation);
    for_pieces(size, piece, [&](std::size_t first, std::size_t count) {
      if (y.empty())
        running.add(stream, first_input.span().subspan(begin + first, count));
      else
        running.add(stream, first_input.span().subspan(begin + first, count),
                    second_input.span().subspan(begin + first, count));
    });
    running.share(stream, ranks, cuts);
    Buffer<typename Operation::Value> result(stream, MemorySpace::device, 1);
    running.finish(stream, result.span());
    copy_async(std::span(&results[own], 1), std::as_const(result).span(), stream);
    stream.synchronize();
  };
  EXPECT_TRUE(on_ranks(static_cast<int>(results.size()), work));
  return results;
}

inline bool same_value(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
template <class T>
bool same_value(reduce::Extreme<T> const& a, reduce::Extreme<T> const& b) {
  return a.index == b.index && std::memcmp(&a.value, &b.value, sizeof(T)) == 0;
}
template <class T>
bool same_value(reduce::Moments<T> const& a, reduce::Moments<T> const& b) {
  return same_value(static_cast<double>(a.minimum), static_cast<double>(b.minimum)) &&
         same_value(static_cast<double>(a.maximum), static_cast<double>(b.maximum)) &&
         same_value(a.sum, b.sum) && same_value(a.sum_of_squares, b.sum_of_squares) &&
         a.first_non_finite == b.first_non_finite;
}

/// What one piece gives, after pieces of all kinds have given the same.
template <class Operation>
typename Operation::Value reduced_alike(Stream& stream, Operation const& operation,
                                        std::vector<typename Operation::Element> const& x,
                                        std::vector<typename Operation::Element> const& y = {}) {
  std::size_t const size = std::max<std::size_t>(x.size(), 1);
  auto const whole = reduced_in_pieces(stream, operation, x, size, y);
  for (std::size_t const piece :
       {std::size_t{reduce::running_tile}, std::size_t{2 * reduce::running_tile},
        std::size_t{reduce::running_tile + 4}, size / 5 + 1, size / 37 + 1})
    EXPECT_TRUE(same_value(reduced_in_pieces(stream, operation, x, piece, y), whole))
        << size << " elements in pieces of " << piece;
  return whole;
}

/// Cuts of so many elements: inside tiles, at their ends, several in one tile, and parts of nothing.
inline std::vector<RankCuts> cuts_of_elements(std::int64_t size) {
  constexpr std::int64_t tile = reduce::running_tile;
  std::vector<RankCuts> all = {{0, size / 2, size},
                               {0, std::min<std::int64_t>(1, size), size},
                               {0, 0, size / 3, size / 3, size},
                               {0, size / 5, 2 * size / 5, 3 * size / 5, 4 * size / 5, size}};
  if (size > 4 * tile)
    all.insert(all.end(), {{0, tile, 3 * tile, size},
                           {0, tile + 7, tile + 9, tile + 1000, 2 * tile, size},
                           {0, tile - 1, tile + 1, size - 1, size}});
  return all;
}

/// All ranks have what one process has.
template <class Operation>
void expect_shared_alike(Device const& device, Operation const& operation,
                         std::vector<typename Operation::Element> const& x,
                         std::vector<typename Operation::Element> const& y = {}) {
  Stream stream(device);
  std::size_t const size = std::max<std::size_t>(x.size(), 1);
  auto const whole = reduced_in_pieces(stream, operation, x, size, y);
  for (auto const& cuts : cuts_of_elements(std::ssize(x)))
    for (std::size_t const piece : {size, size / 37 + 1})
      for (auto const& value : reduced_on_ranks(device, operation, x, cuts, piece, y))
        EXPECT_TRUE(same_value(value, whole)) << x.size() << " on " << cuts.size() - 1;
}

/// Sizes about a tile, and of several.
inline constexpr std::size_t running_sizes[] = {0,
                                                1,
                                                2,
                                                1023,
                                                reduce::running_tile - 1,
                                                reduce::running_tile,
                                                reduce::running_tile + 1,
                                                5 * reduce::running_tile + 4321};

template <class T>
void expect_shared_sums(Device const& device) {
  for (std::size_t const size : running_sizes) {
    auto const x = scan_data<T>(ScanData::random, size), y = scan_data<T>(ScanData::random, size);
    expect_shared_alike(device, reduce::SumOperation<T>{}, x);
    if (size > 0) expect_shared_alike(device, reduce::DotOperation<T>{}, x, y);
    expect_shared_alike(device, reduce::MomentsOperation<T>{}, x);
    expect_shared_alike(device, reduce::MaximumPlace<T>{}, x);
    auto const points = static_cast<std::int64_t>(size);
    expect_shared_alike(device,
                        reduce::IntegralOperation<T>{reduce::Rule::simpson, 1, {points, 1, 1}}, x);
  }
}

template <class T>
void expect_running_sums(Stream& stream) {
  for (std::size_t const size : running_sizes) {
    auto const x = scan_data<T>(ScanData::random, size), y = scan_data<T>(ScanData::random, size);
    long double sum = 0, product = 0, squares = 0, magnitude = 0, weight = 0;
    for (std::size_t i = 0; i < size; ++i) {
      auto const a = static_cast<long double>(x[i]), b = static_cast<long double>(y[i]);
      sum += a, product += a * b, squares += a * a, magnitude += std::fabs(a),
          weight += std::fabs(a * b);
    }
    // n·ε·Σ|x| with ε = 2^-53; each product is rounded too.
    long double const bound = static_cast<long double>(size + 1) * std::ldexp(1.0L, -53);
    EXPECT_NEAR(reduced_alike(stream, reduce::SumOperation<T>{}, x), sum, bound * magnitude);
    EXPECT_NEAR(reduced_alike(stream, reduce::DotOperation<T>{}, x, y), product, bound * weight);
    // Differences from 1 round, too.
    auto const shift = on_device(stream, std::vector<double>{1});
    EXPECT_NEAR(reduced_alike(stream, reduce::SquaresOperation<T>{shift.data()}, x),
                squares - 2 * sum + static_cast<long double>(size), 4 * bound * (size + squares));
    auto const moments = reduced_alike(stream, reduce::MomentsOperation<T>{}, x);
    EXPECT_NEAR(moments.sum, sum, bound * magnitude);
    EXPECT_NEAR(moments.sum_of_squares, squares, bound * squares);
    EXPECT_EQ(moments.first_non_finite, -1);
    if (size == 0) continue;
    EXPECT_EQ(moments.minimum, *std::ranges::min_element(x));
    EXPECT_EQ(moments.maximum, *std::ranges::max_element(x));
  }
}

/// Grids with parts of one plane and of several, of several tiles, and with vectors that lie anywhere.
inline constexpr struct {
  int dims;
  std::array<std::int64_t, 3> points;
} field_sizes[] = {{1, {1, 1, 1}},   {1, {67, 1, 1}},     {1, {300'007, 1, 1}}, {2, {5, 7, 1}},
                   {2, {11, 34, 1}}, {2, {301, 1203, 1}}, {2, {2, 9001, 1}},    {3, {7, 5, 31}},
                   {3, {64, 3, 65}}, {3, {257, 129, 5}},  {3, {200, 331, 9}}};

/// The numbers of a field have the same bits in whatever order its parts are found, and are right; what
/// finds them takes as much memory as it says.
template <class T>
void expect_field_parts(Stream& stream) {
  for (auto const& [dims, points] : field_sizes) {
    std::int64_t const planes = points[static_cast<std::size_t>(dims - 1)];
    std::int64_t const line = points[0] * points[1] * points[2] / planes;
    std::int64_t const together = reduce::planes_of_part(stream.backend(), dims, points);
    EXPECT_LE(together, planes);
    if (planes >= 32 && line * planes < 1 << 16) {
      EXPECT_LE(together, planes / 8);
    }
    auto const values = scan_data<T>(ScanData::random, static_cast<std::size_t>(line * planes));
    auto const field = on_device(stream, values);
    for (bool const wraps : {true, false}) {
      if (!wraps && points == std::array<std::int64_t, 3>{1, 1, 1}) continue;
      reduce::FieldOperation<T> const operation{
          .dims = dims, .points = points, .wraps = {wraps, true, wraps}};
      Buffer<reduce::FieldNumbers> result(stream, MemorySpace::device, 1);
      auto const found = [&] {
        reduce::FieldNumbers numbers{};
        copy_async(std::span(&numbers, 1), std::as_const(result).span(), stream);
        stream.synchronize();
        return numbers;
      };
      std::size_t const before = memory_use(stream.backend()).now;
      reduce::FieldReduction<T> reduction(stream, operation);
      EXPECT_EQ(memory_use(stream.backend()).now - before,
                reduce::FieldReduction<T>::bytes(stream.backend(), operation));
      reduction.find(stream, field.span(), result.span());
      auto const whole = found();
      double sum = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        sum += operation.weight(static_cast<std::int64_t>(i)) * static_cast<double>(values[i]);
      EXPECT_NEAR(whole.integral, sum, 1e-12 * static_cast<double>(values.size()));
      EXPECT_EQ(whole.least, static_cast<double>(*std::ranges::min_element(values)));
      EXPECT_EQ(whole.greatest, static_cast<double>(*std::ranges::max_element(values)));
      // The last part comes first, then two at a time from the first one on, from copies elsewhere.
      reduce::FieldReduction<T> parts(stream, operation);
      auto const find = [&](std::int64_t lower, std::int64_t upper) {
        std::vector<T> const some(values.begin() + lower * line - (lower > 0 ? 1 : 0),
                                  values.begin() + upper * line);
        auto const there = on_device(stream, some);
        parts.find_parts(stream, lower, there.span().subspan(lower > 0 ? 1 : 0));
        stream.synchronize();
      };
      std::int64_t const last = (planes - 1) / together * together;
      find(last, planes);
      for (std::int64_t plane = 0; plane < last; plane += 2 * together)
        find(plane, std::min(plane + 2 * together, last));
      parts.finish(stream, result.span());
      auto const again = found();
      EXPECT_EQ(std::memcmp(&whole, &again, sizeof(whole)), 0) << dims << "D, " << planes;
    }
  }
}

/// Where the extremes are, of values that are met several times, and of a NaN.
template <class T>
void expect_running_extremes(Stream& stream) {
  for (std::size_t const size : running_sizes) {
    auto x = scan_data<T>(ScanData::whole, size);
    auto const place = [&](auto found) { return size == 0 ? -1 : found - x.begin(); };
    auto const least = reduced_alike(stream, reduce::MinimumPlace<T>{}, x);
    auto const greatest = reduced_alike(stream, reduce::MaximumPlace<T>{}, x);
    EXPECT_EQ(least.index, place(std::ranges::min_element(x)));
    EXPECT_EQ(greatest.index, place(std::ranges::max_element(x)));
    if (size < 3) continue;
    for (std::size_t const i : {size / 3, size - 1}) x[i] = std::numeric_limits<T>::quiet_NaN();
    EXPECT_EQ(reduced_alike(stream, reduce::MinimumPlace<T>{}, x).index, size / 3);
    auto const nan = reduced_alike(stream, reduce::MaximumPlace<T>{}, x);
    EXPECT_EQ(nan.index, size / 3);
    EXPECT_TRUE(std::isnan(nan.value));
    EXPECT_EQ(reduced_alike(stream, reduce::MomentsOperation<T>{}, x).first_non_finite, size / 3);
  }
}

/// ∫ (1 + 2s + 3s² [+ 4s³]) ds over (n − 1)·h along one axis, times the lengths of the others. Rules
/// that are exact for the polynomial may err by rounding alone.
template <class T>
void expect_running_integrals(Stream& stream) {
  using Operation = reduce::IntegralOperation<T>;
  auto const integral = [&](reduce::Rule rule, int dims, std::array<std::int64_t, 3> points,
                            int axis, std::array<double, 4> const& factors) {
    constexpr double h = 0.125;  // so that coordinates are exact
    std::vector<T> values(static_cast<std::size_t>(points[0] * points[1] * points[2]));
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto const n = static_cast<std::int64_t>(i);
      std::int64_t const place = axis == 0   ? n % points[0]
                                 : axis == 1 ? n / points[0] % points[1]
                                             : n / points[0] / points[1];
      double const s = h * static_cast<double>(place);
      values[i] = static_cast<T>(factors[0] + s * (factors[1] + s * (factors[2] + s * factors[3])));
    }
    double const end = h * static_cast<double>(points[static_cast<std::size_t>(axis)] - 1);
    double exact = 0, power = end;
    for (int k = 0; k < 4; ++k, power *= end)
      exact += factors[static_cast<std::size_t>(k)] * power / (k + 1);
    for (int other = 0; other < dims; ++other)
      if (other != axis)
        exact *= h * static_cast<double>(points[static_cast<std::size_t>(other)] - 1);
    Operation operation{rule, dims, points, {h, h, h}};
    std::vector<double> tables;
    for (std::size_t a = 0; rule == reduce::Rule::romberg && a < static_cast<std::size_t>(dims);
         ++a)
      std::ranges::copy(reduce::romberg_weights(points[a]), std::back_inserter(tables));
    auto const device_tables = on_device(stream, tables);
    operation.romberg = device_tables.data();
    // Of positive values: n roundings of the sum, and one of each value.
    double const bound = static_cast<double>(values.size()) * 0x1p-52 +
                         2 * static_cast<double>(std::numeric_limits<T>::epsilon());
    EXPECT_NEAR(reduced_alike(stream, operation, values), exact, bound * exact)
        << static_cast<int>(rule) << ", " << points[0] << " x " << points[1] << " x " << points[2];
  };
  using enum reduce::Rule;
  for (std::int64_t const n : {1, 2, 3, 4, 5, 6, 41, 42, 1000})
    integral(trapezoid, 1, {n, 1, 1}, 0, {1, 2, 0, 0});
  for (std::int64_t const n : {1, 3, 5, 41, 1001}) integral(simpson, 1, {n, 1, 1}, 0, {1, 2, 3, 4});
  for (std::int64_t const n : {4, 6, 42, 1000}) integral(simpson, 1, {n, 1, 1}, 0, {1, 2, 3, 0});
  integral(simpson, 1, {2, 1, 1}, 0, {1, 2, 0, 0});
  for (int axis = 0; axis < 3; ++axis) {
    integral(simpson, 3, {33, 35, 41}, axis, {1, 2, 3, 4});
    integral(simpson, 3, {4, 6, 8}, axis, {1, 2, 3, 0});
    integral(trapezoid, 3, {32, 21, 50}, axis, {1, 2, 0, 0});
    integral(romberg, 3, {33, 5, 65}, axis, {1, 2, 3, 4});
  }
  for (std::int64_t const n : {3, 5, 9, 1025}) integral(romberg, 1, {n, 1, 1}, 0, {1, 2, 3, 4});
  integral(trapezoid, 2, {300, 301, 1}, 1, {1, 2, 0, 0});
  integral(simpson, 2, {300, 1, 1}, 0, {1, 2, 3, 0});
}

// ----------------------------------------------------------------------------------------- scans

/// `in_place`: each piece is scanned where it lies.
template <class T>
std::vector<T> scanned_in_pieces(Stream& stream, scan::Running what, std::vector<T> const& values,
                                 std::size_t piece, bool in_place = false) {
  auto input = on_device(stream, values);
  Buffer<T> apart(stream, MemorySpace::device, values.size());
  Buffer<T>& output = in_place ? input : apart;
  scan::RunningScan<T> running(stream, what, 0.25);
  for_pieces(values.size(), piece, [&](std::size_t first, std::size_t count) {
    running.add(stream, std::as_const(input).span().subspan(first, count),
                output.span().subspan(first, count));
  });
  std::vector<T> result(values.size());
  copy_async(std::span(result), std::as_const(output).span(), stream);
  stream.synchronize();
  return result;
}

/// The increments of an integral with steps of 0.25, as numpy rounds them.
template <class T>
std::vector<T> increments_of(std::vector<T> const& values) {
  std::vector<T> increments(values.size());
  for (std::size_t i = 1; i < values.size(); ++i)
    increments[i] = T(0.25) * (values[i - 1] + values[i]) / 2;
  return increments;
}

/// Pieces of all kinds give the bits of one piece, which is within the bounds of a scan.
template <class T>
void expect_running_scans(Stream& stream, scan::Running what, ScanData kind) {
  auto const group =
      static_cast<std::size_t>(scan::RunningScan<T>(stream, scan::Running::sum).group());
  Stream host(Device::open(Backend::cpu));
  bool const maximum = what == scan::Running::maximum;
  ScanCase const one{maximum ? scan::Operation::maximum : scan::Operation::sum,
                     scan::Kind::inclusive};
  for (std::size_t const size : {std::size_t{1}, group - 1, group, group + 1, 3 * group + 1234}) {
    auto const values = scan_data<T>(kind, size);
    auto terms = values;
    if constexpr (std::is_floating_point_v<T>)
      if (what == scan::Running::integral) terms = increments_of(values);
    auto const whole = scanned_in_pieces(stream, what, values, size);
    EXPECT_TRUE(is_scan(one, terms, scanned(host, one, terms, "reference"), whole)) << size;
    for (std::size_t const piece :
         {group, 2 * group, group / 2, group + 4, group * 3 / 4 + 1, size / 5 + 1})
      for (bool const in_place : {false, true}) {
        if (in_place && what == scan::Running::integral) continue;
        EXPECT_TRUE(same_bits(scanned_in_pieces(stream, what, values, piece, in_place), whole))
            << size << " elements in pieces of " << piece << (in_place ? ", in place" : "");
      }
  }
}

// ------------------------------------------------------------------------------ order statistics

/// The values of these ranks by counting in passes, between edges or by numbers; `passes` tells how
/// many it took.
template <class T>
std::vector<T> order_statistics(Stream& stream, std::vector<T> const& values,
                                std::vector<std::int64_t> const& ranks, bool by_numbers,
                                int& passes) {
  auto const data = on_device(stream, values);
  auto const [least, greatest] = std::ranges::minmax(values);
  histogram::OrderStatistics<T> statistics(ranks, std::ssize(values), least, greatest);
  EXPECT_EQ(statistics.done(), statistics.passes() == 0);
  for (passes = 0; !statistics.done(); ++passes) {
    auto const edges =
        on_device(stream, std::vector<T>(statistics.edges().begin(), statistics.edges().end()));
    auto const ranges = statistics.ranges();
    std::size_t stretches = 0;
    for (auto const& range : ranges) stretches += static_cast<std::size_t>(range.count);
    Buffer<std::int64_t> counts(stream, MemorySpace::device,
                                by_numbers ? stretches : edges.size() - 1);
    zero_async(counts.span(), stream);
    for_pieces(values.size(), values.size() / 3 + 1, [&](std::size_t first, std::size_t count) {
      auto const part = data.span().subspan(first, count);
      if (by_numbers)
        histogram::count_numbers<T>(stream, part, ranges, counts.span(), "auto",
                                    histogram::Before::added_to);
      else
        histogram::count_edges<T>(stream, part, edges.span(), counts.span(), "auto",
                                  histogram::Before::added_to);
    });
    std::vector<std::int64_t> host(counts.size());
    copy_async(std::span(host), std::as_const(counts).span(), stream);
    stream.synchronize();
    if (by_numbers)
      statistics.narrow_numbers(host);
    else
      statistics.narrow(host);
  }
  return statistics.values();
}

/// Against sorting, on data that are hard to tell apart and on such that are far apart.
template <class T>
void expect_order_statistics(Stream& stream, int most_passes) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 generator(5);
  std::vector<std::vector<T>> sets = {{3}, {2, 1}, {-0.0, 0.0, -0.0}, std::vector<T>(1000, T(0.1))};
  sets.push_back(scan_data<T>(ScanData::random, 20011));
  sets.push_back(scan_data<T>(ScanData::whole, 5000));
  sets.push_back({Limits::lowest(), Limits::max(), Limits::infinity(), -Limits::infinity(),
                  Limits::denorm_min(), -Limits::denorm_min(), 0, 1, -1, Limits::min()});
  auto& close = sets.emplace_back();
  for (int i = 0; i < 3000; ++i)
    close.push_back(T(1) + static_cast<T>(generator() % 50) * Limits::epsilon());
  for (auto const& values : sets) {
    auto sorted = values;
    std::ranges::sort(sorted);
    std::int64_t const size = std::ssize(values);
    std::vector<std::int64_t> const ranks = {size / 2, 0, size - 1, size / 3, size / 2};
    for (bool const by_numbers : {false, true}) {
      int passes = 0;
      auto const found = order_statistics(stream, values, ranks, by_numbers, passes);
      for (std::size_t r = 0; r < ranks.size(); ++r)
        EXPECT_EQ(found[r], sorted[static_cast<std::size_t>(ranks[r])]) << "rank " << ranks[r];
      EXPECT_LE(passes, most_passes);
    }
  }
}

}  // namespace gridstride::test
