#include "core/rank_links.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"
#include "core/nccl.hpp"
#include "support/link_cases.hpp"

namespace gridstride {
namespace {

TEST(RankLinks, BringWhatIsSent) {
  for (int const count : {2, 3, 5})
    for (bool const around : {false, true})
      test::expect_messages(count, Backend::cpu, around, [](OpenedLinks const& opened) {
        EXPECT_EQ(opened.links->name(), "mpi");
        EXPECT_EQ(opened.remark, "");
      });
}

TEST(RankLinks, NcclIsThereOrSaysWhyNot) {
  try {
    Nccl::require();
  } catch (Error const& error) {
    EXPECT_NE(std::string(error.what()).find("libnccl.so.2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace gridstride
