#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "driver/prepare.hpp"
#include "support/memory_checkpoint.hpp"
#include "support/slab_cases.hpp"
#include "support/wave_cases.hpp"

namespace gridstride {
namespace {

using test::WaveRun;

/// A formula in `parameters`, sides and a time step; u = 0 at the start.
std::string wave(std::string const& parameters, std::string const& sides = "periodic",
                 std::string const& time = "end: 1", std::string const& points = "50") {
  return "simulation: wave\ngrid: {points: " + points + "}\nboundary: {x: " + sides +
         "}\ninitial: {u: 0}\nparameters: {" + parameters + "}\ntime: {" + time + "}\n";
}

double largest(test::HostField const& host) {
  auto const* values = static_cast<double const*>(host.field.data);
  double result = 0;
  for (std::int64_t i = 0; i < host.field.grid.size(); ++i)
    result = std::max(result, std::abs(values[i]));
  return result;
}

TEST(Wave, ConservesEnergyOverTenThousandSteps) {
  for (auto const* order : {"2", "8"}) {
    WaveRun run(wave(std::string("speed: \"2 + sin(2*pi*x)\", initial_velocity: "
                                 "\"exp(-100*(x - 0.5)^2)\", order: ") +
                         order,
                     "periodic", "end: 90, step: 0.0045"));
    double const start = run.energy();
    EXPECT_GT(start, 0);
    // At the start half of v² stands for half of the energy of a wave that is well resolved.
    double worst = 0;
    for (int moment = 1; moment <= 20; ++moment) {
      run.go(2.25 * moment);
      worst = std::max(worst, std::abs(run.energy() / start - 1));
    }
    EXPECT_EQ(run.simulation->clock().step, 10000);
    EXPECT_LT(worst, 1e-10) << order;
  }
}

/// Where steps are shorter than the one that is given, so that outputs are met, that before the first is, too.
TEST(Wave, EnergyAtTheStartIsThatOfTheSteps) {
  WaveRun run(
      "simulation: wave\ngrid: {points: 33}\nboundary: {x: periodic}\n"
      "initial: {u: \"sin(2*pi*x)\"}\n"
      "parameters: {speed: 1, order: 2, initial_velocity: \"cos(6*pi*x)\"}\n"
      "time: {end: 2.99, step: 0.027}\noutput: {every: {time: 0.0299}}\n");
  double const start = run.energy();
  for (int moment = 1; moment <= 20; ++moment) {
    run.go(0.0299 * moment);
    EXPECT_NEAR(run.energy() / start, 1, 1e-12) << moment;
  }
  EXPECT_EQ(run.simulation->clock().step, 40);
}

TEST(Wave, EnergyIsThatOfTheContinuousWave) {
  // u = sin(2πx)·cos(2πt): ½∫(u_t² + u_x²) = π².
  WaveRun run(
      "simulation: wave\ngrid: {points: 200}\nboundary: {x: periodic}\n"
      "initial: {u: \"sin(2*pi*x)\"}\nparameters: {speed: 1, order: 8}\n"
      "time: {end: 1}\n");
  EXPECT_NEAR(run.energy(), std::pow(3.141592653589793, 2), 1e-2);
}

/// Pulses, half of each to either side, whose wavelengths are from a fifth to half of the layer.
TEST(Wave, AbsorbingSidesReflectLessThanHalfAPercent) {
  auto const left_after = [](std::string const& wavelength) {
    std::string const shape = "exp(-(x/" + wavelength + ")^2/2)*cos(2*pi*x/" + wavelength + ")";
    WaveRun run("simulation: wave\nconstants: {w: " + wavelength +
                "}\ngrid: {points: 501, lower: -250, upper: 250}\nboundary: {x: absorbing}\n"
                "initial: {u: \"" +
                shape +
                "\"}\nparameters: {speed: 1, order: 8}\n"
                "time: {end: 500, safety: 0.5}\n");
    run.go(500);
    return largest(run.field());
  };
  for (auto const* wavelength : {"8", "12", "20"}) EXPECT_LT(left_after(wavelength), 0.005 / 2);
}

TEST(Wave, NothingIsLeftOfAWaveThatHasLeft) {
  std::string const start =
      "simulation: wave\ngrid: {points: [101, 101], upper: [2, 2]}\nboundary: {x: absorbing, y: "
      "absorbing}\ninitial: {u: \"exp(-200*((x - 1)^2 + (y - 1)^2))\"}\n";
  WaveRun run(start +
              "parameters: {speed: 1, order: 4, absorbing: {thickness: 30}}\n"
              "time: {end: 4}\n");
  double const energy = run.energy();
  run.go(4);
  EXPECT_LT(run.energy(), 1e-4 * energy);
}

/// A point source on a line radiates half of the wavelet's integral to each side.
TEST(Wave, PointSourceOnALineIsThatOfTheExactSolution) {
  auto const error = [](int cells) {
    WaveRun run(
        fmt::format("simulation: wave\ngrid: {{points: {}, lower: -2, upper: 2}}\n"
                    "boundary: {{x: fixed}}\ninitial: {{u: 0}}\n"
                    "parameters: {{speed: 2, order: 2, ricker: {{at: 0.1, frequency: 4, "
                    "amplitude: 3}}}}\n"
                    "time: {{end: 0.8}}\n"
                    "verify: {{exact: {{u: \"0.75*(t - 0.3 - abs(x - 0.1)/2)*exp(-(4*pi*(t - 0.3 - "
                    "abs(x - 0.1)/2))^2)\"}}, tolerance: {{max: 1}}}}\n",
                    cells + 1));
    run.go(0.8);
    return run.error().maximum;
  };
  // The source is a kink in the solution, on a point in one grid and between two in the other.
  double const coarse = error(800), fine = error(1600);
  EXPECT_LT(coarse, 1e-3);
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.25) << coarse << ", " << fine;
}

TEST(Wave, BitsDependNotOnHowStepsAreQueued) {
  for (auto const* precision : {"float32", "float64"}) {
    auto const result = [&](std::int64_t slice) {
      WaveRun run(test::everything(precision));
      for (double const until : {0.1, 0.33, 0.75}) run.go(until, slice);
      return run.field().memory;
    };
    auto const once = result(std::int64_t{1} << 40);
    for (std::int64_t const slice : {1, 7}) EXPECT_EQ(result(slice), once) << slice;
  }
}

TEST(Wave, GoesOnFromACheckpointWithTheSameBits) {
  for (auto const* precision : {"float32", "float64"}) {
    WaveRun whole(test::everything(precision));
    for (double const until : {0.1, 0.33, 0.75}) whole.go(until);
    for (std::int64_t const before : {0, 17}) {
      WaveRun first(test::everything(precision));
      first.go(0.1);
      if (before > 0) first.simulation->advance(before, 0.33);
      test::MemoryCheckpoint checkpoint;
      first.simulation->save(checkpoint);
      WaveRun second(test::everything(precision));
      second.simulation->load(checkpoint);
      EXPECT_EQ(second.simulation->clock().step, first.simulation->clock().step);
      EXPECT_EQ(second.simulation->clock().time, first.simulation->clock().time);
      second.go(0.33);
      second.go(0.75);
      EXPECT_EQ(second.field().memory, whole.field().memory) << before;
      EXPECT_EQ(second.energy(), whole.energy());
    }
  }
}

TEST(Wave, AutoStepsDivideTheTimeBetweenOutputs) {
  auto const step = [](std::string const& more) {
    auto const config = test::config_of(wave("speed: 1, order: 2", "periodic", "end: 1") + more);
    return entry_of(config).time_step(config, {}, Device::open(Backend::cpu));
  };
  double const longest = 0.9 / 50;  // Courant number 1 is the limit of order 2 on a line
  for (auto const& [more, interval] : {std::pair("output: {every: {time: 0.1}}\n", 0.1),
                                       std::pair("output: {every: {count: 3}}\n", 1.0 / 3),
                                       std::pair("output: {every: {steps: 7}}\n", 1.0),
                                       std::pair("output: {every: {time: 5}}\n", 1.0)}) {
    double const taken = step(more), steps = interval / taken;
    EXPECT_LE(taken, longest * (1 + 1e-12)) << more;
    EXPECT_NEAR(steps, std::round(steps), 1e-9) << more;
    EXPECT_GT(taken, interval / (std::ceil(interval / longest) + 0.5)) << more;
  }
}

TEST(Wave, TellsWhatItChose) {
  WaveRun const run(wave("speed: 1"));
  auto const chosen = run.simulation->chosen();
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].name, "star");
  EXPECT_EQ(chosen[0].text, "threads");
}

TEST(Wave, TellsHowManyValuesAStepMoves) {
  auto const values = [](std::string const& parameters) {
    return WaveRun(wave(parameters)).simulation->values_per_update();
  };
  EXPECT_EQ(values("speed: 1"), 3);
  EXPECT_EQ(values("speed: \"1 + x\", source: \"sin(t)\""), 5);
}

/// What `check_on_device` or the choice of the step say; empty when nothing.
std::string refusal(std::string const& yaml) {
  try {
    auto const config = test::config_of(yaml);
    check_on_device(config, Device::open(Backend::cpu));
    entry_of(config).time_step(config, {}, Device::open(Backend::cpu));
  } catch (ConfigError const& error) {
    return error.what();
  }
  return "";
}

TEST(Wave, RefusesWhatCannotBeComputed) {
  auto const refuses = [](std::string const& yaml, std::string const& message) {
    auto const said = refusal(yaml);
    EXPECT_NE(said.find(message), std::string::npos) << message << "\nis not in\n" << said;
  };
  EXPECT_EQ(refusal(wave("speed: 1")), "");
  refuses(wave("speed: 1, order: 5"), "there is no order 5 (2, 4, 6 or 8)");
  refuses(wave("speed: -1"), "parameters.speed");
  EXPECT_EQ(refusal(wave("speed: 0")), "");
  refuses(wave("speed: \"x - 0.5\""), "is -0.5 at x = 0 (a speed is not negative)");
  refuses(wave("speed: 1, order: 8", "periodic", "end: 1", "4"),
          "order 8 needs 5 points along x (here 4)");
  refuses(wave("speed: 2, order: 2", "periodic", "end: 1, step: 0.0101"),
          "0.0101 s is over the stability limit of 0.01 s (2/(c·√ρ), with c = 2 m/s");
  // Steps at the limit are not over it, whatever is rounded.
  for (auto const* points : {"30", "50", "84"})
    EXPECT_EQ(refusal(wave("speed: 1, order: 2", "fixed", "end: 1, safety: 1", points) +
                      "output: {every: {count: 1}}\n"),
              "");
  refuses(wave("speed: 1, absorbing: {thickness: 25}", "absorbing"),
          "2 layers of 25 points do not fit along x (50 points)");
  refuses(wave("speed: 1, absorbing: {thickness: 3, strength: 20}", "absorbing"),
          "stop a wave within");
  for (auto const* source : {"source: \"1e37*sin(x)\"", "source: 2"}) {
    std::string const brief = wave("speed: 1, " + std::string(source), "periodic", "end: 1e-19");
    EXPECT_EQ(refusal(brief), "");
    refuses("precision: float32\n" + brief,
            "parameters.source: goes into u by the square of a step, and that of 1e-20 s is too "
            "small for float32 (precision: float64, or another unit of time helps)");
  }
  EXPECT_EQ(refusal("precision: float32\n" + wave("speed: 1, source: 0", "periodic", "end: 1e-19")),
            "");
  refuses(wave("speed: 1, ricker: {at: 1.5, frequency: 1}"),
          "parameters.ricker.at: 1.5 is outside of the grid (x goes from 0 to 1)");
  refuses(wave("speed: 1, ricker: [{at: 0.5}]"), "parameters.ricker.0.frequency");
  refuses(wave("speed: 1, ricker: {at: 0, frequency: 1}", "fixed"),
          "parameters.ricker.at: 0 lies on the lower side of x, where u is held at 0, so that the "
          "source adds nothing");
  refuses(wave("speed: 1, absorbing: {thickness: 5}, ricker: [{at: 0, frequency: 1}, "
               "{at: 1, frequency: 1}]",
               "{lower: free, upper: absorbing}"),
          "parameters.ricker.1.at: 1 lies on the upper side of x, behind the layer that absorbs, "
          "where u is held at 0");
  EXPECT_EQ(refusal(wave("speed: 1, ricker: {at: 1, frequency: 1}", "free")), "");
  refuses(wave("speed: 1", "{dirichlet: 0}"), "boundary.x");
  refuses(wave("speed: 1") + "kernels: {fused_steps: 2}\n",
          "kernels.fused_steps: '2' is out of range (must be <= 1 with order 4 in 1D)");
}

TEST(Wave, InSlabsItHasTheBitsOfARunInCore) {
  std::string const layer = ", absorbing: {thickness: 2, strength: 0.3}";
  for (auto const* precision : {"precision: float32\n", ""}) {
    for (int const order : {2, 4, 8})
      for (auto const* sides : {"x: periodic", "x: fixed", "x: {lower: free, upper: fixed}"})
        test::expect_bits_in_slabs(precision + test::long_wave(1, sides, order), Backend::cpu);
    test::expect_bits_in_slabs(precision + test::long_wave(1, "x: absorbing", 2, layer),
                               Backend::cpu);
    test::expect_bits_in_slabs(
        precision +
            test::long_wave(2, "x: absorbing, y: {lower: free, upper: absorbing}", 4, layer),
        Backend::cpu);
    test::expect_bits_in_slabs(precision + test::long_wave(3, "x: free, y: fixed, z: periodic", 2),
                               Backend::cpu);
  }
}

TEST(Wave, RefusesLimitsThatItCannotKeep) {
  for (auto const& [more, needed] :
       {std::pair{", source: x", "without a source"},
        {", ricker: [{at: 0.5, frequency: 1, amplitude: 1}]", "without point sources"}}) {
    auto const config =
        test::config_of(test::long_wave(1, "x: fixed", 2, more) + "limits: {device_memory: 100}\n");
    try {
      memory_of(entry_of(config), config, {}, Backend::cpu);
      ADD_FAILURE() << more;
    } catch (ConfigError const& error) {
      EXPECT_NE(error.problems().front().message.find(needed), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace gridstride
