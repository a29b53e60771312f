#include "driver/launch.hpp"

#include <gtest/gtest.h>

#include <map>

namespace gridstride {
namespace {

TEST(Launch, GivesTheWordsAsTheyAre) {
  std::vector<std::string> const words = {"/opt/gridstride", "run", "a b.yaml",    "--restart",
                                          "--ranks",         "3",   "--set=name='"};
  auto const launch = compose_launch("/usr/bin/mpirun", words, 3, {.processors = 8});
  std::vector<std::string> expected = {"/usr/bin/mpirun", "-n", "3"};
  expected.insert(expected.end(), words.begin(), words.end());
  EXPECT_EQ(launch.words, expected);
}

TEST(Launch, ProcessesShareTheProcessors) {
  auto const variables = [](int count, LaunchPlace const& place) {
    auto const launch = compose_launch("mpirun", {"gridstride"}, count, place);
    return std::map<std::string, std::string>(launch.environment.begin(), launch.environment.end());
  };
  auto found = variables(3, {.processors = 8});
  EXPECT_EQ(found.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(found.at("OMPI_MCA_hwloc_base_binding_policy"), "none");
  EXPECT_EQ(found.at("OMPI_MCA_rmaps_base_oversubscribe"), "1");
  EXPECT_EQ(found.at("OMPI_MCA_pml"), "ob1");
  EXPECT_EQ(found.at("OMPI_MCA_btl"), "self,vader");
  EXPECT_EQ(found.at("HWLOC_COMPONENTS"), "-opencl");
  EXPECT_FALSE(found.contains("OMPI_MCA_mpi_yield_when_idle"));
  EXPECT_FALSE(found.contains("OMPI_MCA_btl_vader_single_copy_mechanism"));
  EXPECT_FALSE(found.contains("OMPI_ALLOW_RUN_AS_ROOT"));
  found = variables(5, {.processors = 2, .is_root = true, .reads_processes = false});
  EXPECT_EQ(found.at("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(found.at("OMPI_MCA_mpi_yield_when_idle"), "1");
  EXPECT_EQ(found.at("OMPI_MCA_btl_vader_single_copy_mechanism"), "none");
  EXPECT_EQ(found.at("OMPI_ALLOW_RUN_AS_ROOT"), "1");
  EXPECT_EQ(found.at("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
}

TEST(Launch, FindsProgramsOnPath) {
  EXPECT_TRUE(find_program("sh").ends_with("/sh"));
  EXPECT_EQ(find_program("no_program_has_this_name"), "");
}

TEST(Launch, EndsAsTheFirstProcessSays) {
  auto const code_of = [](std::string const& script) {
    return run_launch({.words = {"/bin/sh", "-c", script}, .environment = {}});
  };
  EXPECT_EQ(code_of("echo 3 > \"$GRIDSTRIDE_EXIT_CODE\""), 3);
  EXPECT_EQ(code_of("echo 0 > \"$GRIDSTRIDE_EXIT_CODE\""), 0);
  EXPECT_EQ(code_of("echo 3 > \"$GRIDSTRIDE_EXIT_CODE\"; exit 9"), 9);
  EXPECT_EQ(code_of("kill -KILL $$"), 137);
  EXPECT_THROW(code_of("true"), std::exception);
}

}  // namespace
}  // namespace gridstride
