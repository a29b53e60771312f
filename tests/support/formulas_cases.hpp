#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/evaluate/formulas.hpp"

/// Formulas that are evaluated together, on any device.
namespace gridstride::test {

inline expression::Expression formula_of_three(std::string_view text) {
  constexpr expression::Variable names[] = {{"x", 0}, {"y", 1}, {"z", 2},
                                            {"p", 4}, {"q", 5}, {"r", 6}};
  return expression::Expression::parse(text, {}, names);
}

/// Of the arrays 0 and 1, and of each other from 2 on.
inline std::vector<evaluate::Formula> five_formulas() {
  return {{formula_of_three("p*q - x"), {0, 1}},
          {formula_of_three("abs(p) + y"), {2}},
          {formula_of_three("p/3"), {0}},
          {formula_of_three("q - p/4"), {0, 4}},
          {formula_of_three("p*q + r"), {3, 2, 1}}};
}

/// Products are exact, so that there is one right value: only thirds are rounded, to T.
template <class T>
std::vector<double> five_values(double u, double v, double x, double y) {
  T const c = static_cast<T>(u * v - x), d = static_cast<T>(std::abs(double{c}) + y);
  T const third = static_cast<T>(u / 3), rest = static_cast<T>(double{third} - u / 4);
  return {double{c}, double{d}, double{third}, double{rest},
          static_cast<double>(static_cast<T>(double{d} * double{c} + v))};
}

/// Evaluates those that are wanted, and compares; the others' memory stays as it was.
template <class T>
void expect_five_values(Stream& stream, std::string_view variant, std::vector<bool> const& wanted) {
  Grid const grid{
      .dims = 3, .points = {131, 7, 5}, .origin = {-2, 1, 0}, .spacing = {0.5, 0.25, 1}};
  auto const size = static_cast<std::size_t>(grid.size());
  std::vector<float> u(size);
  std::vector<double> v(size);
  for (std::size_t i = 0; i < size; ++i) {
    u[i] = 0.25F * static_cast<float>(i % 97);
    v[i] = static_cast<double>(i % 13) - 6;
  }
  Buffer<float> us(stream, MemorySpace::device, size);
  Buffer<double> vs(stream, MemorySpace::device, size);
  Buffer<T> values(stream, MemorySpace::device, wanted.size() * size);
  std::vector<T> found(values.size(), T(-77));
  copy_async(us.span(), u, stream);
  copy_async(vs.span(), v, stream);
  copy_async(values.span(), found, stream);
  std::vector<T*> results;
  for (std::size_t k = 0; k < wanted.size(); ++k)
    results.push_back(wanted[k] ? values.data() + k * size : nullptr);
  evaluate::ArrayView const arrays[] = {{us.data(), Precision::float32},
                                        {vs.data(), Precision::float64}};
  evaluate::Formulas const formulas(stream, five_formulas(), 2, variant);
  evaluate::evaluate<T>(stream, formulas, grid, results, arrays);
  copy_async(std::span(found), std::as_const(values).span(), stream);
  stream.synchronize();
  for (std::size_t i = 0; i < size; ++i) {
    auto const at = grid.indices(static_cast<std::int64_t>(i));
    auto const expected =
        five_values<T>(u[i], v[i], grid.coordinate(0, at[0]), grid.coordinate(1, at[1]));
    for (std::size_t k = 0; k < wanted.size(); ++k)
      ASSERT_EQ(found[k * size + i], wanted[k] ? static_cast<T>(expected[k]) : T(-77))
          << "formula " << k << " at " << i;
  }
}

template <class T>
void expect_formulas_together(Stream& stream, std::string_view variant) {
  SCOPED_TRACE(variant);
  expect_five_values<T>(stream, variant, {true, true, true, true, true});
  expect_five_values<T>(stream, variant, {false, false, true, true, false});
  expect_five_values<T>(stream, variant, {true, false, false, false, false});
}

}  // namespace gridstride::test
