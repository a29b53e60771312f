#include "config/changes.hpp"

#include <gtest/gtest.h>

#include <array>

namespace gridstride::config {
namespace {

constexpr std::string_view before =
    "simulation: heat\ngrid:\n  points: [4, 5]\nparameters: {source: \"x + 1\"}\ntime: {end: 1}\n";

TEST(DescribeChanges, NamesTheKeysThatDiffer) {
  EXPECT_EQ(describe_changes(before,
                             "simulation: heat\ngrid: {points: [4, 6]}\n"
                             "parameters: {source: \"x + 1\", speed: 2}\ntime: {}\n"),
            "grid.points was [4, 5] and is [4, 6]; time.end was 1; parameters.speed is 2 and was "
            "not there; time is {} and was not there");
}

TEST(DescribeChanges, IsEmptyWhereTheLayoutAloneDiffers) {
  EXPECT_EQ(describe_changes(before,
                             "time:\n  end: \"1\"\nsimulation: heat\ngrid: {points: [4,5]}\n"
                             "parameters:\n  source: x + 1\n"),
            "");
}

TEST(DescribeChanges, LeavesOutWhatIsIgnored) {
  constexpr std::array<std::string_view, 2> ignored = {"time", "grid.points"};
  std::string after(before);
  after.replace(after.find("end: 1"), 6, "end: 2");
  after.replace(after.find("[4, 5]"), 6, "[4, 7]");
  EXPECT_EQ(describe_changes(before, after, ignored), "");
  EXPECT_NE(describe_changes(before, after + "timer: 1\n", ignored), "");
}

TEST(DescribeChanges, TellsTheFirstFew) {
  std::string many;
  for (int i = 0; i < 8; ++i) many += "k" + std::to_string(i) + ": " + std::string(100, 'a') + "\n";
  auto const text = describe_changes(many, "");
  EXPECT_EQ(text.find("k0 was " + std::string(60, 'a') + "..."), 0U);
  EXPECT_NE(text.find("; and 3 more"), std::string::npos);
}

TEST(DescribeOtherFormulas, OfFieldsThatBothHave) {
  EXPECT_EQ(
      describe_other_formulas("output: {derived: {a: u, b: 2*u, g: [u, v]}}\n",
                              "output: {fields: [u], derived: {b: 3*u, c: u, g: [u, 2*v]}}\n"),
      "output.derived.b was 2*u and is 3*u; output.derived.g was [u, v] and is [u, 2*v]");
  EXPECT_EQ(describe_other_formulas("output: {derived: {a: u}}\n", "time: {end: 1}\n"), "");
}

TEST(OtherNumbers, AreThoseOfOtherFormulasByOneName) {
  constexpr std::string_view before =
      "diagnostics: [norms, {integral: {of: u, name: I}}, {maximum: {of: u, name: M}}, "
      "{minimum: {of: v, name: m}}, {integral: u^2}, {integral: {of: v, name: J}}]\n";
  EXPECT_EQ(other_numbers(before, before).size(), 0U);
  constexpr std::string_view after =
      "diagnostics:\n- {integral: {of: u^2 + 100, name: I}}\n- {minimum: {of: u, name: M}}\n"
      "- {minimum: {of: v, where: true, name: m}}\n- {integral: {of: u, name: K}}\n";
  EXPECT_EQ(other_numbers(before, after), (std::set<std::string, std::less<>>{"I", "M"}));
  EXPECT_EQ(other_numbers(before, "diagnostics: {integral: {of: v, name: I}}\n").size(), 1U);
}

}  // namespace
}  // namespace gridstride::config
