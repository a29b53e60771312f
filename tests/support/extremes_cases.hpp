#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kernels/system/extremes.hpp"

/// Extremes of terms over grids of all kinds, beside those of the values that they have.
namespace gridstride::test {

/// More terms of u and v than a kernel takes at a time, with what lies beside a point along all axes; the last
/// is 1/u.
inline std::vector<equations::Term> terms_for_extremes(equations::Terms& terms, int dims) {
  using expression::Operation;
  auto const u = terms.unknown(0), v = terms.unknown(1);
  std::vector<equations::Term> of = {u,
                                     terms.negate(v),
                                     terms.multiply(u, v),
                                     terms.subtract(terms.unknown(0, {2, 0, 0}), u),
                                     terms.add(terms.unknown(1, {-1, 0, 0}), terms.coordinate(0)),
                                     terms.operation(Operation::abs, v),
                                     terms.operation(Operation::min, u, terms.number(-3)),
                                     terms.add(v, terms.number(1e6)),
                                     terms.operation(Operation::exp, u)};
  if (dims > 1) of.push_back(terms.subtract(terms.unknown(0, {0, -1, 0}), v));
  if (dims > 2) of.push_back(terms.subtract(terms.unknown(1, {0, 0, 1}), u));
  of.push_back(terms.divide(terms.number(1), u));
  return of;
}

/// The extremes that `values` have.
template <class T>
system::Extremes extremes_of(std::vector<T> const& values) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  system::Extremes found = {infinity, -infinity};
  for (std::size_t i = 0; i < values.size(); ++i) {
    double const value = values[i];
    if (!std::isfinite(value)) {
      if (found.first_non_finite < 0) found.first_non_finite = static_cast<std::int64_t>(i);
      continue;
    }
    found.least = std::min(found.least, value);
    found.greatest = std::max(found.greatest, value);
  }
  return found;
}

/// For a grid whose u is 0 at `zero`, where there is such a point: all terms have the extremes of
/// what an evaluation of theirs stores.
template <class T>
void expect_extremes(Stream& stream, std::array<std::int64_t, 3> const& points, SideKind kind,
                     std::int64_t zero) {
  Grid grid = {.dims = points[2] > 1 ? 3 : points[1] > 1 ? 2 : 1, .points = points};
  grid.origin = {-0.3, 0.2, 0.1};
  grid.spacing = {0.5, 0.25, 0.75};
  auto const size = static_cast<std::size_t>(grid.size());
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  system::Step<T> step;
  step.grid = grid;
  step.is_stage = false;
  std::vector<Buffer<T>> arrays;
  for (int c = 0; c < 2; ++c) {
    std::vector<T> values(size);
    for (T& value : values) value = static_cast<T>(uniform(random));
    if (c == 0 && zero >= 0) values[static_cast<std::size_t>(zero)] = 0;
    arrays.emplace_back(stream, MemorySpace::device, size);
    copy_async(arrays.back().span(), std::span<T const>(values), stream);
    stream.synchronize();
    system::Input<T> input;
    input.values = arrays.back().data();
    for (int axis = 0; axis < grid.dims; ++axis)
      for (int end = 0; end < 2; ++end)
        input.sides[axis][end] = system::side_of<T>(kind, 1, nullptr);
    step.inputs.push_back(input);
  }
  equations::Terms terms;
  auto const of = terms_for_extremes(terms, grid.dims);
  system::ExtremesFinder<T> finder(stream, grid, terms, of), prepared(stream, grid, terms, of);
  prepared.prepare(step.inputs);
  Buffer<T> scratch(stream, MemorySpace::device, size);
  for (int repeat = 0; repeat < 4; ++repeat) {
    auto const found = (repeat < 2 ? finder : prepared).find(step, scratch.span());
    ASSERT_EQ(found.size(), of.size());
    for (std::size_t i = 0; i < of.size(); ++i) {
      auto const program = equations::program_of(terms, std::array{of[i]}, grid.dims);
      step.program = &program;
      step.outputs = {{.values = scratch.data()}};
      system::advance(stream, step);
      std::vector<T> values(size);
      copy_async(std::span(values), std::as_const(scratch).span(), stream);
      stream.synchronize();
      auto const expected = extremes_of(values);
      EXPECT_EQ(found[i].first_non_finite, expected.first_non_finite) << format_points(grid) << i;
      if (expected.first_non_finite >= 0) continue;
      EXPECT_EQ(found[i].least, expected.least) << format_points(grid) << " term " << i;
      EXPECT_EQ(found[i].greatest, expected.greatest) << format_points(grid) << " term " << i;
    }
  }
}

/// Of several looks together: those of the fields, of the fields changed for each other, and of an
/// infinity that the second one meets before that of the third.
template <class T>
void expect_joined_extremes(Stream& stream, std::string_view variant) {
  Grid const grid{.dims = 2, .points = {37, 21, 1}, .spacing = {1, 1, 1}};
  auto const size = static_cast<std::size_t>(grid.size());
  std::vector<Buffer<T>> arrays;
  auto const input_of = [&](auto const& value) {
    std::vector<T> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<T>(value(i));
    arrays.emplace_back(stream, MemorySpace::device, size);
    copy_async(arrays.back().span(), std::span<T const>(values), stream);
    stream.synchronize();
    return system::Input<T>{.values = arrays.back().data()};
  };
  auto const rising = input_of([](std::size_t i) { return static_cast<double>(i); });
  auto const falling = input_of([](std::size_t i) { return -3 * static_cast<double>(i); });
  auto const infinite = [&](std::size_t at) {
    return input_of([=](std::size_t i) { return i == at ? 1 / 0.0 : 1.0; });
  };
  auto const late = infinite(700), early = infinite(40);
  equations::Terms terms;
  std::array const of = {terms.unknown(0), terms.negate(terms.unknown(0))};
  system::ExtremesFinder<T> finder(stream, grid, terms, of);
  Buffer<T> scratch(stream, MemorySpace::device, size);
  auto const add = [&](system::Input<T> const& input) {
    system::Step<T> step;
    step.inputs = {input};
    finder.add(step, scratch.span(), variant);
  };
  for (int repeat = 0; repeat < 2; ++repeat) {
    add(rising);
    add(falling);
    auto const both = finder.take();
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[0].least, -3.0 * static_cast<double>(size - 1));
    EXPECT_EQ(both[0].greatest, static_cast<double>(size - 1));
    EXPECT_EQ(both[1].least, -both[0].greatest);
    EXPECT_EQ(both[1].first_non_finite, -1);
    for (auto const& input : {rising, late, early, rising}) add(input);
    EXPECT_EQ(finder.take()[1].first_non_finite, 40);
    // Nothing of what was taken is left.
    add(rising);
    EXPECT_EQ(finder.take()[0].least, 0);
  }
}

template <class T>
void expect_extremes_of_all_grids(Stream& stream) {
  expect_extremes<T>(stream, {3, 1, 1}, SideKind::neumann, -1);
  expect_extremes<T>(stream, {1031, 1, 1}, SideKind::periodic, 0);
  expect_extremes<T>(stream, {263, 67, 1}, SideKind::outflow, 263 * 67 - 1);
  expect_extremes<T>(stream, {31, 33, 18}, SideKind::periodic, 7777);
  expect_extremes<T>(stream, {5, 4, 300}, SideKind::wall, -1);
}

/// Adds what a part of a grid has to what the parts before it have.
inline void join(std::vector<system::Extremes>& joined, std::vector<system::Extremes> const& part) {
  if (joined.empty()) joined = part;
  for (std::size_t i = 0; i < part.size(); ++i) {
    joined[i].least = std::min(joined[i].least, part[i].least);
    joined[i].greatest = std::max(joined[i].greatest, part[i].greatest);
    joined[i].first_non_finite = std::max(joined[i].first_non_finite, part[i].first_non_finite);
  }
}

/// Parts together have what the whole grid has; the third term alone is not finite somewhere, at `at`.
inline void expect_joined(std::vector<system::Extremes> const& joined,
                          std::vector<system::Extremes> const& whole, std::int64_t at) {
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(joined[i].first_non_finite, whole[i].first_non_finite) << i;
    EXPECT_EQ(whole[i].first_non_finite, i == 2 ? at : -1);
    if (whole[i].first_non_finite >= 0) continue;
    EXPECT_EQ(joined[i].least, whole[i].least) << i;
    EXPECT_EQ(joined[i].greatest, whole[i].greatest) << i;
  }
}

/// Of the planes of three ranks around a periodic axis, each with one more at both ends: joined they are
/// those of the whole grid, places too. `at`: where u is 0 and 1/u is not finite.
template <class T>
void expect_extremes_of_planes(Stream& stream, std::string_view variant, std::int64_t at) {
  Grid const grid{.dims = 2, .points = {9, 20, 1}, .origin = {0.5, -1, 0}, .spacing = {1, 0.25, 1}};
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0.5, 1);
  std::vector<T> values(static_cast<std::size_t>(grid.size()));
  for (T& value : values) value = static_cast<T>(uniform(random));
  if (at >= 0) values[static_cast<std::size_t>(at)] = 0;
  equations::Terms terms;
  auto const u = terms.unknown(0);
  std::vector<equations::Term> const of = {terms.multiply(u, terms.coordinate(1)),
                                           terms.subtract(terms.unknown(0, {0, 1, 0}), u),
                                           terms.divide(terms.number(1), u)};
  system::ExtremesFinder<T> finder(stream, grid, terms, of);
  Buffer<T> array(stream, MemorySpace::device, values.size() + 18),
      scratch(stream, MemorySpace::device, values.size() + 18);
  auto const looked_at = [&](std::int64_t lower, std::int64_t upper, std::int64_t more) {
    system::Step<T> step;
    step.grid = grid;
    step.grid.points[1] = upper - lower + 2 * more;
    step.piece = system::Piece{{0, lower - more, 0}, grid.points};
    std::vector<T> rows;
    for (std::int64_t j = lower - more; j < upper + more; ++j)
      for (std::int64_t i = 0; i < 9; ++i)
        rows.push_back(values[static_cast<std::size_t>((j + 20) % 20 * 9 + i)]);
    copy_async(array.span().first(rows.size()), std::span<T const>(rows), stream);
    stream.synchronize();
    step.inputs = {{.values = array.data()}};
    finder.add(step, scratch.span().first(rows.size()), variant,
               system::Counted{{0, more, 0}, {9, more + upper - lower, 1}});
    return finder.take();
  };
  auto const whole = looked_at(0, 20, 0);
  std::vector<system::Extremes> joined;
  for (auto const& [lower, upper] : {std::pair{0, 7}, {7, 13}, {13, 20}})
    join(joined, looked_at(lower, upper, 1));
  expect_joined(joined, whole, at);
}

/// Of the bricks of ranks around all axes, each with one more point at all ends: joined they are those of
/// the whole grid. `at`: where 1/u is not finite.
template <class T>
void expect_extremes_of_bricks(Stream& stream, std::string_view variant, std::int64_t at,
                               int dims) {
  Grid const grid{.dims = dims,
                  .points = {12, 20, dims == 3 ? 7 : 1},
                  .origin = {0.5, -1, 0},
                  .spacing = {1, 0.25, 1}};
  std::mt19937 random(6);
  std::uniform_real_distribution<double> uniform(0.5, 1);
  std::vector<T> values(static_cast<std::size_t>(grid.size()));
  for (T& value : values) value = static_cast<T>(uniform(random));
  if (at >= 0) values[static_cast<std::size_t>(at)] = 0;
  equations::Terms terms;
  auto const u = terms.unknown(0);
  std::vector<equations::Term> const of = {terms.multiply(u, terms.coordinate(0)),
                                           terms.subtract(terms.unknown(0, {1, 0, 0}), u),
                                           terms.divide(terms.number(1), u)};
  system::ExtremesFinder<T> finder(stream, grid, terms, of);
  Buffer<T> array(stream, MemorySpace::device, 14 * 22 * 9),
      scratch(stream, MemorySpace::device, 14 * 22 * 9);
  using Parts = std::array<std::array<std::int64_t, 2>, 3>;
  auto const looked_at = [&](Parts const& part, std::int64_t more) {
    system::Step<T> step;
    step.grid = grid;
    step.piece = system::Piece{{}, grid.points};
    system::Counted counted;
    std::array<std::int64_t, 3> begin = {}, end = {1, 1, 1};
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims); ++axis) {
      auto const& [lower, upper] = part[axis];
      begin[axis] = step.piece->first[axis] = lower - more;
      end[axis] = upper + more;
      step.grid.points[axis] = upper - lower + 2 * more;
      counted.begin[axis] = more;
      counted.end[axis] = more + upper - lower;
    }
    std::vector<T> here;
    for (std::int64_t k = begin[2]; k < end[2]; ++k)
      for (std::int64_t j = begin[1]; j < end[1]; ++j)
        for (std::int64_t i = begin[0]; i < end[0]; ++i) {
          // What lies beyond what counts is by far the greatest, where it is no neighbour's.
          bool const counts = i >= part[0][0] && j >= part[1][0] && j < part[1][1] &&
                              (dims < 3 || (k >= part[2][0] && k < part[2][1]));
          std::int64_t const place = (i + 12) % 12 + 12 * ((j + 20) % 20 + 20 * ((k + 7) % 7));
          here.push_back(values[static_cast<std::size_t>(place)] * (counts ? 1 : 1000));
        }
    copy_async(array.span().first(here.size()), std::span<T const>(here), stream);
    stream.synchronize();
    step.inputs = {{.values = array.data()}};
    finder.add(step, scratch.span().first(here.size()), variant, counted);
    return finder.take();
  };
  std::vector<std::array<std::int64_t, 2>> planes = {{0, grid.points[2]}};
  auto const whole = looked_at({{{0, 12}, {0, 20}, planes[0]}}, 0);
  if (dims == 3) planes = {{0, 3}, {3, 7}};
  std::vector<system::Extremes> joined;
  for (auto const& x : {std::array<std::int64_t, 2>{0, 4}, {4, 9}, {9, 12}})
    for (auto const& y : {std::array<std::int64_t, 2>{0, 11}, {11, 20}})
      for (auto const& z : planes) join(joined, looked_at({x, y, z}, 1));
  expect_joined(joined, whole, at);
}

}  // namespace gridstride::test
