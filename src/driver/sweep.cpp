#include "driver/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "core/console.hpp"
#include "core/error.hpp"
#include "core/host_limits.hpp"
#include "core/processors.hpp"
#include "core/text.hpp"
#include "driver/output_paths.hpp"
#include "driver/prepare.hpp"
#include "driver/progress.hpp"
#include "driver/restart.hpp"
#include "driver/signals.hpp"
#include "io/atomic_file.hpp"
#include "io/threads.hpp"

namespace gridstride {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view not_begun = "not begun";

/// How far all runs are; their threads tell it.
class SweepProgress {
 public:
  SweepProgress(std::size_t runs, bool quiet) : shares_(runs), progress_(1, 1, quiet) {
    now_.runs = static_cast<std::int64_t>(runs);
  }

  void note(std::size_t run, double share) {
    std::lock_guard const lock(mutex_);
    set(run, share);
  }
  void end(std::size_t run, bool failed) {
    std::lock_guard const lock(mutex_);
    ++now_.ended;
    now_.failed += failed ? 1 : 0;
    set(run, 1);
  }

 private:
  void set(std::size_t run, double share) {
    done_ += share - std::exchange(shares_[run], share);
    now_.share = std::clamp(done_ / static_cast<double>(now_.runs), 0.0, 1.0);
    progress_.update(now_);
  }

  std::mutex mutex_;
  std::vector<double> shares_;
  double done_ = 0;  // the sum of these
  SweepHeadway now_;
  Progress progress_;
};

/// The runs under way: threads that take one after the other.
class SweepRun {
 public:
  SweepRun(std::span<config::RunConfig const> members, RunOptions const& options)
      : members_(members),
        options_(options),
        progress_(members.size(), options.quiet),
        summaries_(members.size()) {}

  /// Returns when all have ended, or were stopped.
  void go(int at_once);

  std::vector<RunSummary> take_summaries() { return std::move(summaries_); }
  /// What tells of those without a result; null when all have one.
  std::exception_ptr failure() const;

 private:
  void work();
  void run_member(std::size_t place);
  std::exception_ptr failure_of_some() const;

  std::span<config::RunConfig const> members_;
  RunOptions const& options_;
  SignalWatch signals_;
  SweepProgress progress_;
  std::vector<RunSummary> summaries_;  // each run's is its thread's
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> stopped_ = 0, unverified_ = 0;
};

void SweepRun::go(int at_once) {
  int const each = std::max(1, host_threads() / at_once);
  std::vector<std::jthread> threads;
  for (int place = 0; place < at_once; ++place)
    threads.emplace_back([this, share = HostShare{place * each, each}] {
      set_host_share(share);
      work();
    });
}

void SweepRun::work() {
  for (std::size_t place = next_++; place < members_.size(); place = next_++) {
    auto& summary = summaries_[place];
    summary.config = members_[place].file;
    summary.swept = members_[place].swept;
    summary.directory = members_[place].output.directory;
    if (signals_.pending() != 0)
      summary.failure = not_begun;
    else
      run_member(place);
  }
}

void SweepRun::run_member(std::size_t place) {
  auto& summary = summaries_[place];
  RunOptions how = options_;
  how.quiet = true;
  how.tell_share = [this, place](double share) { progress_.note(place, share); };
  try {
    summary = run(members_[place], how);
    summary.failure = summary.shortfall;
  } catch (Interrupted const& stop) {
    summary.failure = stop.what();
    ++stopped_;
    return;
  } catch (SolutionMissed const& error) {
    summary.failure = error.what();
    summary.verified = error.errors();
    ++unverified_;
  } catch (std::exception const& error) {
    summary.failure = error.what();
  }
  progress_.end(place, !summary.failure.empty());
}

std::exception_ptr SweepRun::failure() const {
  auto const count = [&](auto const& is) { return std::ranges::count_if(summaries_, is); };
  auto const left = count([](RunSummary const& run) { return run.failure == not_begun; });
  auto const without = count([](RunSummary const& run) { return !run.failure.empty(); });
  auto const stopped = static_cast<std::ptrdiff_t>(stopped_.load());
  if (stopped + left == 0) return without == 0 ? nullptr : failure_of_some();
  auto const failed = without - stopped - left;
  return std::make_exception_ptr(Interrupted(
      signals_.pending(),
      fmt::format("stopped by {}: of {} runs {} came to their end{}, {} saved their state, {} did "
                  "not begin; `--restart` goes on with them",
                  signal_name(signals_.pending()), summaries_.size(), summaries_.size() - without,
                  failed > 0 ? fmt::format(", {} failed", failed) : "", stopped, left)));
}

std::exception_ptr SweepRun::failure_of_some() const {
  std::string text;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < summaries_.size(); ++i) {
    if (summaries_[i].failure.empty()) continue;
    text += fmt::format("\n{}: {}", config::member_name(members_[i].swept), summaries_[i].failure);
    ++failed;
  }
  text = fmt::format("{} of {} runs failed:{}", failed, summaries_.size(), text);
  return failed == unverified_ ? std::make_exception_ptr(VerificationError(text))
                               : std::make_exception_ptr(Error(text));
}

/// The memory of so many runs, whichever they are.
void add_largest(std::vector<Forecast> const& runs, int count, Forecast& together) {
  auto const most = [&](std::size_t Forecast::*bytes) {
    std::vector<std::size_t> sizes;
    for (auto const& run : runs) sizes.push_back(run.*bytes);
    std::ranges::sort(sizes, std::greater());
    std::size_t sum = 0;
    for (int i = 0; i < count; ++i) sum += sizes[static_cast<std::size_t>(i)];
    return sum;
  };
  together.device_bytes = most(&Forecast::device_bytes);
  together.host_bytes = most(&Forecast::host_bytes);
}

/// A value of a table of comma-separated values, on one line.
std::string table_value(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char const c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string ending_of(RunSummary const& run) {
  return !run.failure.empty() ? run.failure : run.ending.empty() ? "done" : run.ending;
}

std::string table_of(config::RunFile const& file, std::vector<RunSummary> const& runs) {
  std::string text;
  for (auto const& [name, values] : file.run.sweep) text += name + ',';
  text += "folder,ending\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (auto const& [name, value, digits] : file.members[i].swept)
      text += format_exact(value) + ',';
    text += fmt::format("{},{}\n", table_value(config::member_name(file.members[i].swept)),
                        table_value(ending_of(runs[i])));
  }
  return text;
}

}  // namespace

fs::path sweep_table(config::RunFile const& file) {
  return OutputPaths(file.run).file(".sweep.csv");
}

SweepForecast forecast_sweep(std::span<config::RunConfig const> members, Stream& stream) {
  SweepForecast result;
  auto& together = result.together;
  together.steps = together.snapshots = 0;
  for (auto const& member : members) {
    auto const& one = result.runs.emplace_back(config::for_member(
        member.swept, [&] { return check_before_run(member, stream).expected; }));
    together.steps += one.steps;
    together.snapshots += one.snapshots;
    together.checkpoints += one.checkpoints;
    together.output_bytes += one.output_bytes;
    together.checkpoint_bytes += one.checkpoint_bytes;
  }
  Device const& device = stream.device();
  bool const cuda = device.backend() == Backend::cuda;
  // Who waits for a GPU keeps a processor awake.
  int const threads = cuda ? available_processors() : host_threads();
  auto const all = static_cast<int>(members.size());
  result.at_once = std::min(all, threads);
  if (all > threads) result.bound = fmt::format("there are {} threads", threads);
  if (!io::serves_several_runs() && all > 1) {
    result.at_once = 1;
    result.bound = "this HDF5 library takes one run at a time";
  }
  auto const free = static_cast<double>(device.free_memory());
  auto const host_free = static_cast<double>(free_host_memory());
  auto const fits = [&] {
    add_largest(result.runs, result.at_once, together);
    auto const on_device = static_cast<double>(together.device_bytes);
    auto const on_host = static_cast<double>(together.host_bytes);
    return cuda ? on_device + spare_device_bytes <= free && on_host <= host_free
                : on_device + on_host <= free;
  };
  while (!fits() && result.at_once > 1) {
    --result.at_once;
    result.bound = "there is no memory for more";
  }
  return result;
}

SweepSummary run_sweep(config::RunFile const& file, RunOptions const& options) {
  if (!options.checkpoint.empty())
    throw ConfigError({file.run.problem(
        file.run.location("sweep"),
        fmt::format("the checkpoint {} is of one run (`--restart` without a name goes on with each "
                    "run of the sweep)",
                    options.checkpoint.string()))});
  SweepForecast expected;
  {
    std::vector<std::string> ignored;  // each run tells it
    Stream stream(choose_device(file.run, ignored));
    expected = forecast_sweep(file.members, stream);
  }
  for (auto const& member : file.members)
    config::for_member(member.swept,
                       [&] { choose_beginning(member, options, OutputPaths(member)); });
  if (auto const warning = disk_warning(file.run, expected.together); !warning.empty())
    tell("warning: " + warning + "\n");
  SweepSummary summary;
  summary.at_once = expected.at_once;
  {
    SweepRun sweep(file.members, options);
    sweep.go(expected.at_once);
    summary.failure = sweep.failure();
    summary.runs = sweep.take_summaries();
  }
  summary.table = sweep_table(file);
  std::error_code failed;  // the table tells
  fs::create_directories(summary.table.parent_path(), failed);
  io::write_text_file(summary.table, table_of(file, summary.runs));
  return summary;
}

std::string format_summary(SweepSummary const& summary) {
  constexpr std::size_t most_told = 20;
  auto const& runs = summary.runs;
  auto const without = [](RunSummary const& run) { return !run.failure.empty(); };
  auto text =
      fmt::format("{} runs, {} at a time: {} came to their end\n", runs.size(), summary.at_once,
                  runs.size() - static_cast<std::size_t>(std::ranges::count_if(runs, without)));
  std::size_t width = 0;
  for (auto const& run : runs) width = std::max(width, config::member_name(run.swept).size());
  for (std::size_t i = 0; i < runs.size() && runs.size() <= most_told; ++i)
    text += fmt::format("  {:<{}}  {}\n", config::member_name(runs[i].swept), width,
                        ending_of(runs[i]));
  return text + fmt::format("table {}", summary.table.string());
}

}  // namespace gridstride
