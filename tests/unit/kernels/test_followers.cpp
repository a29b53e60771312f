#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

#include "kernels/system/followers.hpp"

namespace gridstride {
namespace {

using equations::Term;

/// What Gray and Scott's equations are linearised to.
TEST(Followers, ManyTermsFollowFewValues) {
  equations::Terms terms;
  auto const u = terms.unknown(0), v = terms.unknown(1);
  auto const square = terms.multiply(v, v);
  auto const product = terms.multiply(u, terms.multiply(terms.number(2), v));
  std::vector<Term> const of = {
      terms.add(terms.subtract(terms.number(-0.8), square), terms.number(0.4)),
      terms.negate(product), square, terms.subtract(product, terms.number(0.1))};
  auto const program = equations::program_of(terms, of, 2);
  auto const followed = system::without_followers(program);
  ASSERT_EQ(followed.program.results.size(), 2U);
  EXPECT_EQ(followed.program.code, program.code);
  EXPECT_EQ(followed.program.results[0], program.results[2]);  // the square
  using Both = std::pair<double, double>;
  auto const extremes = [&](std::size_t result, double least, double greatest) {
    return followed.results[result].extremes(least, greatest);
  };
  EXPECT_EQ(extremes(0, 1, 4), (Both{-0.8 - 4 + 0.4, -0.8 - 1 + 0.4}));
  EXPECT_EQ(extremes(1, -1, 4), (Both{-4, 1}));
  EXPECT_EQ(extremes(2, 1, 4), (Both{1, 4}));
  EXPECT_EQ(extremes(3, -1, 4), (Both{-1 - 0.1, 4 - 0.1}));
  EXPECT_EQ(followed.results[1].value, followed.results[3].value);
}

/// Also where nearly all of a value is rounded away.
TEST(Followers, ExtremesAreThoseOfAllValues) {
  equations::Terms terms;
  auto const u = terms.unknown(0);
  auto const scaled = terms.multiply(terms.number(-1.7), terms.subtract(terms.number(1e4), u));
  std::vector<Term> const of = {terms.negate(terms.subtract(terms.add(u, terms.number(1e6)), u)),
                                terms.multiply(terms.negate(scaled), terms.number(3)),
                                terms.subtract(u, terms.number(0.3))};
  auto const followed = system::without_followers(equations::program_of(terms, of, 1));
  EXPECT_TRUE(std::ranges::any_of(followed.results,
                                  [](auto const& result) { return result.links.size() >= 3; }));
  std::mt19937 random(4);
  for (float const size : {1e-6F, 1.0F, 1e5F})
    for (auto const& result : followed.results) {
      std::uniform_real_distribution<float> uniform(-size, size);
      std::vector<float> values(500), made;
      for (float& value : values) value = uniform(random);
      for (float const value : values) made.push_back(result.extremes(value, value).first);
      auto const [least, greatest] = std::ranges::minmax(values);
      auto const [least_made, greatest_made] = std::ranges::minmax(made);
      EXPECT_EQ(result.extremes(least, greatest), std::pair(least_made, greatest_made));
    }
}

/// A product that is fused with a sum is not rounded by itself.
TEST(Followers, WhatIsFusedIsLeftAsItIs) {
  equations::Terms terms;
  auto const u = terms.unknown(0), v = terms.unknown(1);
  auto const lone =
      equations::program_of(terms, std::array{terms.add(terms.multiply(u, v), terms.number(1))}, 1);
  EXPECT_EQ(system::without_followers(lone).program.results, lone.results);
  // Not asked for, twice u would be fused with the sum.
  auto const twice = terms.multiply(terms.number(2), u);
  auto const both = equations::program_of(terms, std::array{twice, terms.add(twice, v)}, 1);
  auto const left = system::without_followers(both);
  EXPECT_EQ(left.program.results, both.results);
  EXPECT_TRUE(left.results[0].links.empty());
}

}  // namespace
}  // namespace gridstride
