#include "run_reading.hpp"

namespace gridstride::config {
namespace {

using Overrides = RunReading;

TEST_F(Overrides, ReplaceAndAddKeys) {
  RunConfig const run = read(minimal_heat, {{"grid.points.0", "64"},
                                            {"time", "{end: 3, scheme: rk4}"},
                                            {"output.every.time", "0.5"},
                                            {"boundary.x", "periodic"},
                                            {"initial.u", "if(x < 0.5, 1, 0)"},
                                            {"precision", "float32"}});
  EXPECT_EQ(run.grid.points[0], 64);
  EXPECT_EQ(run.time.end, 3);
  EXPECT_EQ(run.time.scheme, "rk4");
  EXPECT_EQ(run.output.every.time, 0.5);
  EXPECT_EQ(run.sides_of("u")[0][0].kind, SideKind::periodic);
  EXPECT_EQ(run.initial.at("u").formula.expression.evaluate(0.2), 1);
  EXPECT_EQ(run.precision, Precision::float32);
}

TEST_F(Overrides, ApplyInOrder) {
  EXPECT_EQ(read(minimal_heat, {{"time.end", "2"}, {"time.end", "3"}}).time.end, 3);
  EXPECT_EQ(read(minimal_heat, {{"time.end", "2"}, {"time", "{end: 5}"}}).time.end, 5);
}

TEST_F(Overrides, CompleteAFile) {
  EXPECT_EQ(read("simulation: heat\n", {{"grid.points", "[8]"},
                                        {"initial.u", "x"},
                                        {"parameters.diffusivity", "1e-2 m^2/s"},
                                        {"time.end", "20 min"}})
                .time.end,
            1200);
}

TEST_F(Overrides, HaveNoLine) {
  EXPECT_EQ(faults(minimal_heat, {{"time.end", "-1"}}),
            "--set time.end=-1: time.end: '-1' is out of range (must be > 0)\n");
  EXPECT_EQ(faults(minimal_heat, {{"time.edn", "1"}}),
            "--set time.edn=1: time.edn: unknown key; did you mean 'end'?\n");
  EXPECT_EQ(faults(minimal_heat, {{"initial.u", "1 + sine(x)"}}),
            "--set initial.u=1 + sine(x): initial.u: unknown function 'sine' (`gridstride list "
            "functions` shows all); did you mean 'sin'? [at character 5]\n");
  EXPECT_EQ(faults(minimal_heat, {{"grid.points", "[8, 2]"}}),
            "--set grid.points=[8, 2]: grid.points.1: '2' is out of range (must be >= 3)\n");
}

TEST_F(Overrides, HaveNoGroupsOfDigits) {
  EXPECT_NE(faults(minimal_heat, {{"grid.points", "[4,096]"}}), "");
  EXPECT_EQ(read(minimal_heat, {{"grid.points", "[4, 96]"}}).grid.points[1], 96);
  EXPECT_EQ(read(minimal_heat, {{"grid.points.0", "4"}, {"grid.points.1", "096"}}).grid.points[1],
            96);
}

TEST_F(Overrides, FollowTheFilesFaults) {
  EXPECT_EQ(
      faults(minimal_heat + "device: tpu\n", {{"time.end", "0"}}),
      "run:6:9: device: 'tpu' is not accepted ('auto', 'cpu', 'cuda' or 'cuda:N' expected); did "
      "you mean 'cpu'?\n"
      "--set time.end=0: time.end: '0' is out of range (must be > 0)\n");
}

TEST_F(Overrides, NeedAPathThatExists) {
  EXPECT_EQ(faults(minimal_heat, {{"grid.points.2", "8"}}),
            "--set grid.points.2=8: grid.points.2: no such element (the list 'grid.points' has 2, "
            "the first is 0)\n");
  EXPECT_EQ(faults(minimal_heat, {{"time.end.value", "8"}}),
            "--set time.end.value=8: time.end.value: 'time.end' is a single value and has no keys "
            "(set 'time.end' itself)\n");
  for (std::string const path : {"", ".", "time.", ".end", "time..end"})
    EXPECT_EQ(faults(minimal_heat, {{path, "8"}}),
              "--set " + path + "=8: is no path of a key (a path is written output.every.time)\n");
}

TEST_F(Overrides, NeedAValueThatIsYaml) {
  EXPECT_EQ(faults(minimal_heat, {{"time.end", ""}}), "--set time.end=: time.end: has no value\n");
  EXPECT_EQ(faults(minimal_heat, {{"grid.points", "[8, 8"}}),
            "--set grid.points=[8, 8: grid.points: this '[' is not closed (a ']' is missing)\n");
  EXPECT_EQ(faults(minimal_heat, {{"time", "{end: 1, end: 2}"}}),
            "--set time={end: 1, end: 2}: time.end: duplicate key\n");
  EXPECT_EQ(faults(minimal_heat, {{"time.end", "*a"}}),
            "--set time.end=*a: time.end: '*' and '&' begin aliases and anchors, which are not "
            "accepted (text that begins with one needs quotes)\n");
}

}  // namespace
}  // namespace gridstride::config
