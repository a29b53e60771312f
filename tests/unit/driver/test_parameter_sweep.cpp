#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "core/processors.hpp"
#include "support/parameter_sweep_cases.hpp"

namespace gridstride {
namespace {

using test::sweep_of;

/// Five of the host's threads while it exists.
class FiveThreads {
 public:
  FiveThreads() : before_(host_threads()) { set_host_threads(5); }
  FiveThreads(FiveThreads const&) = delete;
  FiveThreads& operator=(FiveThreads const&) = delete;
  ~FiveThreads() { set_host_threads(before_); }

 private:
  int before_;
};

std::string text_of(std::filesystem::path const& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// u grows by g in each second, and leaves the numbers where g is huge.
std::string growing(std::string const& sweep) {
  return "simulation: pde\nprecision: float32\ngrid: {points: 9}\nboundary: {x: periodic}\n"
         "constants: {g: 1, w: 2}\nequations: {u: g}\ninitial: {u: w}\n"
         "time: {scheme: euler, end: 4, step: 1}\noutput: {every: {count: 1}, formats: hdf5}\n"
         "sweep: " +
         sweep + "\n";
}

TEST(ParameterSweep, RunsHaveTheBitsThatTheyHaveAlone) {
  FiveThreads const threads;
  test::expect_bits_of_runs_alone("device: cpu\n");
}

TEST(ParameterSweep, TheOthersGoOnWhereOneFails) {
  test::RunDirectory const directory;
  auto const file = sweep_of(directory, growing("{g: [1, 1e38, 3], w: [2, 5]}"));
  auto const summary = run_sweep(file, {.quiet = true, .checkpoint = {}});
  ASSERT_EQ(summary.runs.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    bool const fails = i / 2 == 1;
    EXPECT_EQ(summary.runs[i].failure.empty(), !fails) << i;
    EXPECT_EQ(summary.runs[i].clock.step, fails ? 0 : 4) << i;
  }
  try {
    std::rethrow_exception(summary.failure);
  } catch (Interrupted const&) {
    FAIL();
  } catch (Error const& error) {
    std::string const text = error.what();
    EXPECT_TRUE(text.starts_with("2 of 6 runs failed:\ng=1e+38,w=2: infinity in field")) << text;
    EXPECT_NE(text.find("\ng=1e+38,w=5: infinity in field"), std::string::npos) << text;
  }
  auto const table = text_of(summary.table);
  EXPECT_TRUE(
      table.starts_with("g,w,folder,ending\n1,2,\"g=1,w=2\",done\n1,5,\"g=1,w=5\",done\n"
                        "1e+38,2,\"g=1e+38,w=2\",\"infinity in field"))
      << table;
  EXPECT_EQ(std::ranges::count(table, '\n'), 7);
}

TEST(ParameterSweep, RunsThatAreNotVerifiedSaySo) {
  test::RunDirectory const directory;
  auto const file = sweep_of(
      directory, growing("{g: [1, 3]}") + "verify: {exact: {u: w + t}, tolerance: {max: 1e-6}}\n");
  auto const summary = run_sweep(file, {.quiet = true, .checkpoint = {}});
  EXPECT_EQ(summary.runs[0].failure, "");
  EXPECT_EQ(summary.runs[0].verified.size(), 2U);
  EXPECT_THROW(std::rethrow_exception(summary.failure), VerificationError);
}

/// One signal is for all, also for runs that have not begun; a restart goes on with each.
TEST(ParameterSweep, ASignalStopsAllAndARestartGoesOn) {
  test::RunDirectory const directory;
  std::string const yaml =
      "simulation: pde\ngrid: {points: 64}\nboundary: {x: periodic}\nconstants: {D: 0.1}\n"
      "equations: {u: D*laplace(u)}\ninitial: {u: \"sin(2*pi*x)\"}\n"
      "time: {scheme: euler, end: 1, step: 1e-5}\noutput: {every: {count: 1}, formats: hdf5}\n"
      "sweep: {D: {from: 0.1, to: 1, count: 12}}\n";
  auto const file = sweep_of(directory, "device: cpu\n" + yaml);
  RunOptions how{.quiet = true, .checkpoint = {}};
  std::jthread const interrupter([] {
    // The sweep notes signals from before its first run on.
    struct sigaction now = {};
    while (sigaction(SIGTERM, nullptr, &now), now.sa_handler == SIG_DFL) std::this_thread::yield();
    std::raise(SIGTERM);
  });
  auto const stopped = run_sweep(file, how);
  try {
    std::rethrow_exception(stopped.failure);
  } catch (Interrupted const& stop) {
    EXPECT_EQ(stop.signal(), SIGTERM);
    EXPECT_TRUE(std::string(stop.what()).starts_with("stopped by SIGTERM: of 12 runs"))
        << stop.what();
  }
  EXPECT_EQ(stopped.runs.back().failure, "not begun");
  EXPECT_EQ(std::ranges::count(text_of(stopped.table), '\n'), 13);
  how.restart = true;
  auto const whole = run_sweep(file, how);
  EXPECT_EQ(whole.failure, nullptr);
  for (auto const& run : whole.runs) EXPECT_EQ(run.clock.time, 1);
  // Those that left a checkpoint go on from it again.
  auto const again = run_sweep(file, how);
  for (std::size_t i = 0; i < again.runs.size(); ++i)
    EXPECT_EQ(again.runs[i].done_before, stopped.runs[i].failure == "not begun") << i;
}

TEST(ParameterSweep, GoesSideBySideAsFarAsThereAreThreads) {
  test::RunDirectory const directory;
  auto const file =
      sweep_of(directory, "device: cpu\n" + growing("{w: {from: 1, to: 9, count: 9}}"));
  Stream stream(Device::open(Backend::cpu));
  FiveThreads const threads;
  auto const all = forecast_sweep(file.members, stream);
  EXPECT_EQ(all.at_once, 5);
  EXPECT_EQ(all.bound, "there are 5 threads");
  EXPECT_EQ(all.together.device_bytes, 5 * all.runs[0].device_bytes);
  EXPECT_EQ(all.together.output_bytes, 9 * all.runs[0].output_bytes);
  auto const some = forecast_sweep(std::span(file.members).first(3), stream);
  EXPECT_EQ(some.at_once, 3);
  EXPECT_EQ(some.bound, "");
}

TEST(ParameterSweep, IsNoSingleRun) {
  test::RunDirectory const directory;
  auto const file = sweep_of(directory, growing("{w: [1, 2]}"));
  EXPECT_THROW(run(file.run, {.quiet = true, .checkpoint = {}}), std::invalid_argument);
  EXPECT_THROW(run_sweep(file, {.quiet = true, .restart = true, .checkpoint = "a.checkpoint"}),
               ConfigError);
}

}  // namespace
}  // namespace gridstride
