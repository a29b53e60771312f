#include "driver/job_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <vector>

namespace gridstride {

namespace {

/// Whole numbers between colons; empty where there is something else, or more than three.
std::vector<std::int64_t> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (true) {
    auto const word = text.substr(0, text.find(':'));
    std::int64_t number = -1;
    auto const [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
    bool const is_whole = fault == std::errc() && end == word.data() + word.size();
    if (!is_whole || number < 0 || number > 1'000'000 || numbers.size() == 3) return {};
    numbers.push_back(number);
    if (word.size() == text.size()) return numbers;
    text.remove_prefix(word.size() + 1);
  }
}

/// What a name may have without quotes in a line of sbatch.
std::string plain_name(std::string name) {
  constexpr std::string_view others = "._-";
  std::ranges::replace_if(
      name,
      [&](char c) {
        bool const is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || others.find(c) != std::string_view::npos;
        return !is_plain;
      },
      '_');
  return name;
}

}  // namespace

std::optional<std::int64_t> slurm_seconds(std::string_view limit) {
  std::int64_t days = 0;
  auto const dash = limit.find('-');
  bool const has_days = dash != std::string_view::npos;
  if (has_days) {
    auto const number = numbers_of(limit.substr(0, dash));
    if (number.size() != 1) return std::nullopt;
    days = number.front();
    limit.remove_prefix(dash + 1);
  }
  auto numbers = numbers_of(limit);
  if (numbers.empty()) return std::nullopt;
  // The first number is hours after days and where there are three, else minutes.
  if (!has_days && numbers.size() < 3) numbers.insert(numbers.begin(), 0);
  numbers.resize(3);
  return ((days * 24 + numbers[0]) * 60 + numbers[1]) * 60 + numbers[2];
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=+-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (char const c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string job_script(Job const& job) {
  bool const several = job.nodes * job.tasks > 1;
  std::string text = "#!/bin/bash\n";
  auto const ask = [&](std::string_view option, auto const& value) {
    text += fmt::format("#SBATCH --{}={}\n", option, value);
  };
  ask("job-name", plain_name(job.name));
  ask("output", plain_name(job.name) + ".%j.out");
  text += "#SBATCH --open-mode=append\n";
  ask("nodes", job.nodes);
  ask("ntasks-per-node", job.tasks);
  ask("cpus-per-task", job.cpus);
  if (job.gpus > 0) ask("gpus-per-node", job.gpus);
  if (!job.time.empty()) ask("time", job.time);
  if (!job.partition.empty()) ask("partition", job.partition);
  // To the steps of the job, not to this script.
  text += fmt::format("#SBATCH --signal=USR1@{}\n#SBATCH --requeue\n\n", seconds_to_stop);
  text += "export OMP_NUM_THREADS=\"${SLURM_CPUS_PER_TASK:-1}\"\n\n";
  text += "# Goes on from the newest checkpoint; begins where there is none.\n";
  text += fmt::format(
      "srun {}--cpus-per-task=\"$OMP_NUM_THREADS\" \\\n  {} run {} --restart --quiet\ncode=$?\n\n",
      several ? "--mpi=pmix --kill-on-bad-exit=1 " : "", shell_word(job.program),
      shell_word(job.file.starts_with('-') ? "./" + job.file : job.file));
  text +=
      "# 138: it was told to stop by SIGUSR1 and has saved its state; the rest is for another "
      "turn.\n"
      "if [ \"$code\" -eq 138 ]; then\n"
      "  scontrol requeue \"$SLURM_JOB_ID\" && exit 0\n"
      "fi\n"
      "exit \"$code\"\n";
  return text;
}

}  // namespace gridstride
