#include "core/rank_links.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gridstride
