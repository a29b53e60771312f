#include "core/share_out.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace gridstride {
namespace {

TEST(ShareOut, OneProcessDoesAllInTheirOrder) {
  std::vector<std::pair<std::int64_t, std::string>> done;
  share_out({.pieces = 3,
             .work = [](std::int64_t piece) { return std::to_string(10 * piece); },
             .done =
                 [&](std::int64_t piece, int rank, std::string const& told) {
                   EXPECT_EQ(rank, 0);
                   done.emplace_back(piece, told);
                 },
             .is_over = [] { return false; }});
  std::vector<std::pair<std::int64_t, std::string>> const all = {{0, "0"}, {1, "10"}, {2, "20"}};
  EXPECT_EQ(done, all);
}

TEST(ShareOut, WhatIsOverBeginsNoMore) {
  int done = 0;
  share_out({.pieces = 9,
             .work = [](std::int64_t) { return std::string(); },
             .done = [&](std::int64_t, int, std::string const&) { ++done; },
             .is_over = [&] { return done == 2; }});
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace gridstride
