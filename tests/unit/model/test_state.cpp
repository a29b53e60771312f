#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "model/state.hpp"
#include "model/values.hpp"
#include "support/heat_cases.hpp"
#include "support/memory_checkpoint.hpp"
#include "support/plane_cases.hpp"

namespace gridstride {
namespace {

/// A line of 5 points from 0 to 1 with values of their own on both sides.
config::RunConfig line() {
  return test::config_of(R"(
simulation: heat
grid: {points: 5, lower: 0, upper: 1}
boundary: {x: {lower: {dirichlet: "t^2"}, upper: {neumann: "3*t"}}}
initial: {u: 0}
parameters: {diffusivity: "1 + x", source: 0}
time: {end: 1}
)");
}

config::FieldSource formula(std::string const& text) {
  return source_of({text, expression::Expression::parse(text, {}, expression::space_and_time), {}});
}

std::vector<Row> rows_of(config::RunConfig const& run, Scheme const& scheme) {
  std::vector<Row> rows = {evolved(run, "u", scheme.buffers),
                           coefficient(run, "a", formula("x+t")),
                           coefficient(run, "number", formula("2.5")),
                           term(run, "none", formula("0")),
                           term(run, "one", formula("1")),
                           scratch(run, "elsewhere", 2)};
  add_sides(rows, run, "u", scheme);
  return rows;
}

/// A state at time 2, with steps of 0.5.
struct AtTwo {
  config::RunConfig run = line();
  Stream stream{Device::open(Backend::cpu)};
  evaluate::DeviceClock clock{2, 0.5, 0};
  State<double> state;

  explicit AtTwo(Scheme const& scheme) : state(stream, rows_of(run, scheme), run, {}, &clock) {}
};

TEST(State, HasAnArrayForWhatIsNoNumber) {
  AtTwo two(find_scheme("euler"));
  EXPECT_EQ(two.state["number"].data(), nullptr);
  EXPECT_EQ(two.state["number"].constant(), 2.5);
  EXPECT_EQ(two.state["none"].data(), nullptr);
  EXPECT_EQ(two.state["one"].span()[4], 1);
  EXPECT_EQ(two.state["elsewhere"].data(), nullptr);
  EXPECT_EQ(two.state.coefficient_arrays(), 2);
  EXPECT_THROW(two.state["missing"], std::out_of_range);
}

TEST(State, HasTheSameBitsOnSomePlanes) {
  test::expect_all_planes_bits<float>(Backend::cpu);
  test::expect_all_planes_bits<double>(Backend::cpu);
}

TEST(State, RefreshesEachArrayForTheTimeOfAStage) {
  AtTwo two(find_scheme("rk4"));
  EXPECT_TRUE(two.state.changes());
  two.state.refresh({.time = 0.5, .sides = {0, 0, 1}});
  EXPECT_EQ(two.state["a"].span()[4], 1 + 2.25);
  EXPECT_EQ(*two.state.side("u", 0, 0), 2.5 * 2.5);  // a value: at the end of the stage
  EXPECT_EQ(*two.state.side("u", 0, 1), 3 * 2.25);   // a derivative: at its time
  EXPECT_EQ(two.state.side("u", 1, 0), nullptr);
}

TEST(State, MixesTheValuesOnASideFromThreeMoments) {
  AtTwo two(find_scheme("ssp_rk3"));
  two.state.refresh({.sides = {-2, 4, -1}});
  EXPECT_DOUBLE_EQ(*two.state.side("u", 0, 0), -2 * 4.0 + 4 * 2.25 * 2.25 - 2.5 * 2.5);
}

TEST(State, WritesAndSavesWhatTheRowsSay) {
  AtTwo two(find_scheme("euler"));
  auto& u = two.state["u"];
  for (double& value : u.span()) value = 7;
  auto const fields = two.state.fields();
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].name, "u");
  EXPECT_EQ(fields[0].data, u.data());

  test::MemoryCheckpoint checkpoint;
  two.state.save(checkpoint);
  EXPECT_FALSE(checkpoint.contains("a"));
  AtTwo later(find_scheme("euler"));
  later.state["u"].place(later.state["u"].buffer(1));
  later.state.load(checkpoint);
  EXPECT_EQ(later.state["u"].buffer(1)[4], 7);
}

TEST(State, ForecastsItsArrays) {
  auto const run = line();
  auto const plain = forecast(run, rows_of(run, find_scheme("euler")));
  EXPECT_EQ(plain.array_bytes, 40U);
  EXPECT_EQ(plain.arrays, 2 + 1 + 1 + 2);
  EXPECT_EQ(plain.other_bytes, 2 * 8U);
  EXPECT_EQ(plain.saved_bytes, 40U);
  EXPECT_EQ(forecast(run, rows_of(run, find_scheme("ssp_rk3"))).other_bytes, 3 * 8U);
  EXPECT_EQ(forecast(run, rows_of(run, find_scheme("ssp_rk3"))).arrays, 3 + 1 + 1 + 2);
}

}  // namespace
}  // namespace gridstride
