#include <algorithm>
#include <limits>
#include <numbers>

#include "config/run_file.hpp"
#include "run_reading.hpp"

namespace gridstride::config {
namespace {

std::string const swept_heat =
    "simulation: heat\n"
    "grid: {points: [8, 8]}\n"
    "initial: {u: 0}\n"
    "time: {end: 1}\n"
    "parameters: {diffusivity: D}\n";

class SweepSection : public RunReading {
 protected:
  RunFile read_file(std::string const& text, std::vector<Override> const& overrides = {}) {
    return read_run_file(write(text), overrides, fake_simulations());
  }
  std::string fault_of(std::string const& sweep,
                       std::string const& constants = "{D: 1, width: 2}") {
    return faults(swept_heat + "constants: " + constants + "\nsweep: " + sweep + "\n");
  }
  std::string fault_of_members(std::string const& text) {
    try {
      read_file(text);
    } catch (ConfigError const& error) {
      return error.what();
    }
    return "";
  }
};

std::vector<std::string> names_of(RunFile const& file) {
  std::vector<std::string> names;
  for (auto const& member : file.members) names.push_back(member_name(member.swept));
  return names;
}

TEST_F(SweepSection, IsARunForEachValue) {
  auto const file =
      read_file(swept_heat + "constants: {D: 1, twice: 2*D}\nsweep: {D: [0.5, 1e-3]}\n");
  EXPECT_TRUE(file.is_sweep());
  EXPECT_EQ(names_of(file), (std::vector<std::string>{"D=0.5", "D=0.001"}));
  EXPECT_EQ(file.runs().size(), 2U);
  auto const& second = file.members[1];
  EXPECT_EQ(second.constants.at("D"), 1e-3);
  EXPECT_EQ(second.constants.at("twice"), 2e-3);
  EXPECT_TRUE(second.sweep.empty());
  EXPECT_EQ(second.output.directory, "outputs/run/D=0.001");
  EXPECT_EQ(second.name, "run");
}

/// Each run is the one that --set makes of the file, in all that a restart looks at.
TEST_F(SweepSection, IsWhatSettingTheConstantMakes) {
  auto const text = swept_heat + "constants: {D: 1}\nsweep: {D: {from: 0.1, to: 0.3, count: 3}}\n";
  auto const file = read_file(text);
  for (auto const& member : file.members) {
    auto const alone = read_run_config(
        folder_ / "run.yaml",
        std::vector<Override>{{"sweep", "{}"},
                              {"constants.D", fmt::format("{}", member.swept[0].value)},
                              {"output.directory", member.output.directory.string()}},
        fake_simulations());
    EXPECT_EQ(resolved_yaml(alone), resolved_yaml(member));
    EXPECT_EQ(problem_yaml(alone), problem_yaml(member));
    EXPECT_EQ(problem_yaml(member).find("sweep"), std::string::npos);
  }
}

TEST_F(SweepSection, ValuesAreSpacedEvenlyAndEndWhereTheFileSays) {
  auto const values = [&](std::string const& range) {
    return read(swept_heat + "constants: {D: 1}\nsweep: {D: " + range + "}\n").sweep.at(0).second;
  };
  auto const five = values("{from: 0.02, to: 0.06, count: 5}");
  for (int i = 0; i < 5; ++i)
    EXPECT_NEAR(five.at(static_cast<std::size_t>(i)), 0.02 + 0.01 * i, 1e-17) << i;
  EXPECT_EQ(values("{from: 3, to: 1, count: 3}"), (std::vector<double>{3, 2, 1}));
  EXPECT_EQ(values("{from: 7, to: 9, count: 1}"), std::vector<double>{7});
  auto const eight = values("{from: 0.02, to: 0.06, count: 8}");
  EXPECT_EQ(eight.size(), 8U);
  EXPECT_EQ(eight.front(), 0.02);
  EXPECT_EQ(eight.back(), 0.06);
  EXPECT_TRUE(std::ranges::is_sorted(eight));
  EXPECT_EQ(values("[2 cm, 3 mm, 2*pi]"), (std::vector<double>{0.02, 0.003, 2 * std::numbers::pi}));
  EXPECT_EQ(values("0.25"), std::vector<double>{0.25});
}

/// Values of all lengths come back as they are.
TEST_F(SweepSection, ValuesReachTheRunsExactly) {
  auto const file = read_file(swept_heat +
                              "constants: {D: 1}\n"
                              "sweep: {D: [0.1, 1e-300, 1.7976931348623157e308, "
                              "0.30000000000000004, 5e-324, 123456789.125]}\n");
  for (auto const& member : file.members)
    EXPECT_EQ(member.constants.at("D"), member.swept[0].value) << member.swept[0].value;
  EXPECT_EQ(file.members[4].constants.at("D"), std::numeric_limits<double>::denorm_min());
}

TEST_F(SweepSection, SeveralConstantsMakeAllCombinationsInTheFilesOrder) {
  auto const text = swept_heat + "constants: {D: 1, width: 2}\nsweep: {width: [1, 2], D: [3, 4]}\n";
  EXPECT_EQ(names_of(read_file(text)),
            (std::vector<std::string>{"width=1,D=3", "width=1,D=4", "width=2,D=3", "width=2,D=4"}));
  auto const resolved = resolved_yaml(read_file(text).run);
  EXPECT_EQ(names_of(read_file(resolved)), names_of(read_file(text)));
}

TEST_F(SweepSection, CanBeSetAndLeftOut) {
  auto const text = swept_heat + "constants: {D: 1}\nsweep: {D: [1, 2]}\n";
  EXPECT_EQ(names_of(read_file(text, {{"sweep.D", "[5, 6]"}})),
            (std::vector<std::string>{"D=5", "D=6"}));
  auto const one = read_file(text, {{"sweep", "{}"}, {"constants.D", "3"}});
  EXPECT_FALSE(one.is_sweep());
  EXPECT_EQ(one.runs().size(), 1U);
  EXPECT_EQ(one.runs()[0].constants.at("D"), 3);
}

TEST_F(SweepSection, FaultsAreMetAtTheDoor) {
  EXPECT_EQ(fault_of("{widht: [1, 2]}"),
            "run:7:9: sweep.widht: unknown key; did you mean 'width'?\n");
  EXPECT_EQ(fault_of("{Q: [1, 2]}"), "run:7:9: sweep.Q: unknown key ('D' or 'width' expected)\n");
}

/// What is wrong in one run alone is said with its name.
TEST_F(SweepSection, FaultsOfOneRunNameIt) {
  auto const message = fault_of_members(swept_heat + "constants: {D: 1}\nsweep: {D: [1, -2, 3]}\n");
  EXPECT_TRUE(
      message.ends_with(": parameters.diffusivity: 'D' is out of range (must be > 0) (in "
                        "the sweep's run D=-2)"))
      << message;
}

}  // namespace
}  // namespace gridstride::config
