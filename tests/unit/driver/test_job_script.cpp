#include "driver/job_script.hpp"

#include <gtest/gtest.h>

namespace gridstride {
namespace {

TEST(JobScript, KnowsTheLimitsOfSlurm) {
  EXPECT_EQ(slurm_seconds("90"), 5400);
  EXPECT_EQ(slurm_seconds("90:30"), 5430);
  EXPECT_EQ(slurm_seconds("2:00:01"), 7201);
  EXPECT_EQ(slurm_seconds("1-12"), 36 * 3600);
  EXPECT_EQ(slurm_seconds("1-12:30"), 36 * 3600 + 1800);
  EXPECT_EQ(slurm_seconds("1-12:30:15"), 36 * 3600 + 1815);
  for (auto const* bad : {"", "x", "-1", "1:", ":1", "1:2:3:4", "1-", "1-2-3", "2h", "1.5", "1:-2",
                          "1:2-3", "99999999999999999999"})
    EXPECT_EQ(slurm_seconds(bad), std::nullopt) << bad;
}

TEST(JobScript, QuotesWhatBashWouldTakeApart) {
  EXPECT_EQ(shell_word("inputs/heat_2d.yaml"), "inputs/heat_2d.yaml");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b$c"), "'a b$c'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

TEST(JobScript, HasWhatIsAskedFor) {
  Job job{.program = "/opt/grid stride",
          .file = "-case.yaml",
          .name = "my case",
          .nodes = 2,
          .tasks = 4,
          .gpus = 4,
          .cpus = 6,
          .time = "2:00:00",
          .partition = "gpu"};
  auto const text = job_script(job);
  for (auto const* line :
       {"#SBATCH --job-name=my_case\n", "#SBATCH --nodes=2\n", "#SBATCH --ntasks-per-node=4\n",
        "#SBATCH --gpus-per-node=4\n", "#SBATCH --cpus-per-task=6\n", "#SBATCH --time=2:00:00\n",
        "#SBATCH --partition=gpu\n", "srun --mpi=pmix ", "'/opt/grid stride' run ./-case.yaml "})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  job = {.program = "gridstride", .file = "case.yaml", .name = "case", .time = "", .partition = ""};
  auto const alone = job_script(job);
  for (auto const* line : {"--gpus-per-node", "--time", "--partition", "--mpi"})
    EXPECT_EQ(alone.find(line), std::string::npos) << line << alone;
}

}  // namespace
}  // namespace gridstride
