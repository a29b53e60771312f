#include <gtest/gtest.h>

#include "core/architecture.hpp"
#include "core/version.hpp"

namespace gridstride {
namespace {

TEST(Architecture, MachineCodeRunsOnItsGenerationOnly) {
  EXPECT_TRUE(has_code_for("80-real", 80));
  EXPECT_TRUE(has_code_for("80-real", 86));
  EXPECT_TRUE(has_code_for("86-real", 89));
  EXPECT_FALSE(has_code_for("86-real", 80)) << "code for a later one";
  EXPECT_FALSE(has_code_for("80-real", 90));
  EXPECT_FALSE(has_code_for("75-real 80-real", 120));
}

TEST(Architecture, HoppersOwnCodeRunsOnHopperAlone) {
  EXPECT_TRUE(has_code_for("90a-real", 90));
  for (int const other : {75, 80, 86, 89, 100, 103, 120})
    EXPECT_FALSE(has_code_for("90a-real", other)) << other;
}

TEST(Architecture, TheDriverTranslatesForLaterOnes) {
  EXPECT_TRUE(has_code_for("120", 120));
  EXPECT_TRUE(has_code_for("120-virtual", 130));
  EXPECT_FALSE(has_code_for("120-virtual", 100));
  EXPECT_FALSE(has_code_for("120a-virtual", 130));
}

TEST(Architecture, ReleaseServesTuringToBlackwell) {
  constexpr std::string_view release = "75-real 80-real 86-real 89-real 90a-real 100-real 120";
  for (int const device : {75, 80, 86, 87, 89, 90, 100, 103, 120, 121})
    EXPECT_TRUE(has_code_for(release, device)) << device;
  EXPECT_FALSE(has_code_for(release, 70));
}

TEST(Architecture, RefusesAGpuByNameWithTheCommandThatBuildsForIt) {
  EXPECT_EQ(missing_code("90a-real", "NVIDIA H200", 90), "");
  EXPECT_EQ(missing_code("90a-real 120", "NVIDIA A100-SXM4-80GB", 80),
            "NVIDIA A100-SXM4-80GB has compute capability 8.0, this program has code for 9.0, 12.0 "
            "and later; build it with `cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=80-real && "
            "cmake --build build/cuda`");
  EXPECT_NE(missing_code("80-real", "NVIDIA H200", 90).find("ARCHITECTURES=90a-real"),
            std::string::npos);
}

TEST(Architecture, IsKnownOfThisProgram) {
  EXPECT_EQ(built_architectures().empty(), !built_with_cuda());
}

}  // namespace
}  // namespace gridstride
