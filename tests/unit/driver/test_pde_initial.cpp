#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/system/random.cuh"
#include "support/pde_cases.hpp"

namespace gridstride {
namespace {

/// All first values, field after field.
std::vector<std::vector<double>> first_values(std::string const& yaml) {
  auto const config = test::config_of(yaml);
  Stream stream(Device::open(Backend::cpu));
  auto const simulation = entry_of(config).make(config, stream, {});
  std::vector<std::vector<double>> fields;
  for (Field const& field : simulation->fields()) {
    auto const host = test::to_host(field, stream);
    auto& values = fields.emplace_back();
    for (std::int64_t i = 0; i < field.values(); ++i) values.push_back(test::value_at(host, i));
  }
  return fields;
}

std::string with_initial(std::string const& initial, std::string const& more = {}) {
  return "simulation: pde\ngrid: {points: [5, 4], upper: [5, 3]}\n"
         "boundary: {u: {x: periodic, y: {dirichlet: 2}}, v: {x: periodic, y: outflow}, "
         "q: {x: periodic, y: outflow}}\n"
         "constants: {k: 3}\nlet: {half: v/2}\nfields: {q: vector}\n"
         "equations: {u: 7*v, v: -u, q: [0, 0]}\ninitial: " +
         initial + "\ntime: {scheme: euler, end: 1}\n" + more;
}

/// In any order, through names under `let`, rates, differences and means; sides hold what they are
/// given.
TEST(PdeInitial, FieldsAreMadeOfOthers) {
  for (char const* variant : {"reference", "threads"}) {
    auto const found =
        first_values(with_initial("{u: half + mean(v), q: {x: dt(u) + u, y: d_dy(v)*k}, "
                                  "v: \"y^2 + x*0\"}",
                                  fmt::format("kernels: {{system: {}}}\n", variant)));
    // v = y² has the mean (0/2 + 1 + 4 + 9/2)/3 along y.
    double const mean = 9.5 / 3;
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t i = 0; i < 5; ++i) {
        auto const y = static_cast<double>(j);
        std::size_t const p = i + 5 * j;
        double const u = j == 0 || j == 3 ? 2 : y * y / 2 + mean;
        double const slope = j == 0 ? 1 : j == 3 ? 5 : 2 * y;  // a straight line beyond the side
        EXPECT_EQ(found[1][p], y * y);
        EXPECT_DOUBLE_EQ(found[0][p], u);
        EXPECT_DOUBLE_EQ(found[2][2 * p], 7 * y * y + u);
        EXPECT_DOUBLE_EQ(found[2][2 * p + 1], 3 * slope);
      }
  }
}

TEST(PdeInitial, RandomFieldsAreThose) {
  for (char const* precision : {"float64", "float32"}) {
    auto const found = first_values(
        fmt::format("simulation: pde\nprecision: {}\ngrid: {{points: [7, 5, 3]}}\n"
                    "equations: {{u: 0, v: 0, w: 0}}\n"
                    "initial: {{u: uniform(7), v: normal(3), w: \"if(x < 2, 1 - u, 0)\"}}\n"
                    "boundary: {{x: periodic, y: outflow, z: outflow}}\n"
                    "time: {{scheme: euler, end: 1}}\n",
                    precision));
    bool const single = std::string(precision) == "float32";
    for (std::size_t i = 0; i < 105; ++i) {
      auto const place = static_cast<long long>(i);
      EXPECT_EQ(found[0][i], single ? static_cast<double>(system::uniform_at<float>(7, place))
                                    : system::uniform_at<double>(7, place));
      EXPECT_EQ(found[1][i], single ? static_cast<double>(system::normal_at<float>(3, place))
                                    : system::normal_at<double>(3, place));
      EXPECT_NEAR(found[2][i], 1 - found[0][i], single ? 0x1p-24 : 0);
    }
  }
}

TEST(PdeInitial, WhatReachesTooFarIsRefused) {
  auto const config = test::config_of(
      "simulation: pde\ngrid: {points: 3}\nboundary: {x: periodic}\n"
      "equations: {u: 0, v: 0}\n"
      "initial: {u: x, v: laplace(laplace(laplace(laplace(u))))}\n"
      "time: {scheme: euler, end: 1}\n");
  auto const problems = entry_of(config).problems(config, {});
  ASSERT_EQ(problems.size(), 1);
  EXPECT_EQ(problems[0].path, "initial.v");
  EXPECT_EQ(problems[0].message,
            "reaches 4 points to each side along x, which has 3 (4 are the least)");
}

}  // namespace
}  // namespace gridstride
