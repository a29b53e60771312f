#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/commands.hpp"
#include "core/error.hpp"
#include "driver/job_script.hpp"
#include "driver/prepare.hpp"
#include "simulations/registry.hpp"

namespace gridstride::cli {

namespace {

struct SlurmArguments {
  std::string file;
  Job job;
  CLI::Option* tasks_given = nullptr;
};

[[noreturn]] void refuse_option(std::string option, std::string why) {
  throw ConfigError({{std::move(option), 0, 0, "", std::move(why)}});
}

void require_number(char const* option, int value, int least, int most) {
  if (value < least || value > most)
    refuse_option(fmt::format("{} {}", option, value),
                  fmt::format("{} to {} are possible", least, most));
}

void check_options(Job const& job) {
  require_number("--nodes", job.nodes, 1, 100'000);
  require_number("--gpus", job.gpus, 0, 64);
  require_number("--tasks", job.tasks, 1, 4096);
  require_number("--cpus", job.cpus, 1, 4096);
  if (!job.time.empty()) {
    auto const seconds = slurm_seconds(job.time);
    if (!seconds)
      refuse_option("--time " + job.time,
                    "is no limit as Slurm has it (as 90, which is minutes, 2:00:00 or 1-12:00:00)");
    if (*seconds <= 2 * seconds_to_stop)
      refuse_option("--time " + job.time,
                    fmt::format("is {} s, of which the last {} are for the end (a number alone is "
                                "minutes)",
                                *seconds, seconds_to_stop));
  }
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,-";
  if (job.partition.find_first_not_of(plain) != std::string::npos || job.partition.starts_with('-'))
    refuse_option("--partition " + job.partition, "is no name of a partition (`sinfo` lists them)");
}

/// What the file and the machines that it is to run on ask of each other.
void check_file(config::RunFile const& file, Job const& job) {
  auto const& run = file.run;
  auto const refuse = [&](std::string key, std::string why) {
    throw ConfigError({run.problem(run.location(key), std::move(why))});
  };
  auto const& device = run.device;
  int const processes = job.nodes * job.tasks;
  if (device.backend == Backend::cpu && job.gpus > 0)
    refuse("device", fmt::format("'cpu' takes no GPU (--gpus {})", job.gpus));
  if (device.backend == Backend::cuda && job.gpus == 0)
    refuse("device", "'cuda' needs GPUs (--gpus 1)");
  if (device.backend == Backend::cuda && device.has_ordinal && job.tasks > 1)
    refuse("device",
           fmt::format("all {} processes of a node would have this GPU ('cuda' gives each "
                       "its own)",
                       job.tasks));
  if (auto const wanted = run.wanted_ranks(); wanted && *wanted != processes)
    refuse("ranks",
           fmt::format("the run is for {} processes, the job has {} (--nodes {}, {} on each)",
                       *wanted, processes, job.nodes, job.tasks));
  if (file.is_sweep() && processes > 1)
    refuse("sweep", fmt::format("the runs of a sweep go in one process (--nodes {}, {} on each)",
                                job.nodes, job.tasks));
}

/// Whether so many processes can share the run. How GPUs of other machines would, nobody knows here.
void check_shares(config::RunConfig& run, Job const& job) {
  run.ranks = job.nodes * job.tasks;
  if (run.ranks == 1) return;
  if (!run.simulation->takes_ranks)
    throw ConfigError(
        {run.problem(run.location("simulation"),
                     fmt::format("{} is not computed by several processes (--nodes {}, {} on each)",
                                 run.simulation->name, job.nodes, job.tasks))});
  if (job.gpus > 0) return;
  check_on_device(run, Device::open(Backend::cpu));
  memory_of(entry_of(run), run, inputs_of(run), Backend::cpu);  // of each one's part
}

int print_script(SlurmArguments const& arguments) {
  Job job = arguments.job;
  if (arguments.file == "-") refuse_option("-", "a job has no standard input (a file is needed)");
  if (arguments.tasks_given->count() == 0) job.tasks = std::max(job.gpus, 1);
  check_options(job);
  auto files = read_files({arguments.file}, {});
  check_file(files.front(), job);
  check_shares(files.front().run, job);
  job.program = std::filesystem::read_symlink("/proc/self/exe");
  job.file = arguments.file;
  job.name = files.front().run.name;
  fmt::print("{}", job_script(job));
  return exit_code::done;
}

}  // namespace

void add_slurm(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<SlurmArguments>();
  auto* command = app.add_subcommand("slurm", "Print a job script that runs a file under Slurm");
  command->add_option("file", arguments->file, "YAML file")->required()->type_name("FILE");
  command->add_option("--nodes", arguments->job.nodes, "Nodes (1)")->type_name("N");
  command->add_option("--gpus", arguments->job.gpus, "GPUs of each node (0)")->type_name("G");
  arguments->tasks_given = command
                               ->add_option("--tasks", arguments->job.tasks,
                                            "Processes on each node; one for each GPU unless given")
                               ->type_name("K");
  command->add_option("--cpus", arguments->job.cpus, "Processors of each process (8)")
      ->type_name("C");
  command
      ->add_option("--time", arguments->job.time, "Limit, as 2:00:00; that of the partition else")
      ->type_name("T");
  command->add_option("--partition", arguments->job.partition, "The default one else")
      ->type_name("P");
  command->callback(
      [arguments, &action] { action = [arguments] { return print_script(*arguments); }; });
}

}  // namespace gridstride::cli
