#include "core/rank_sums.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/thread_ranks.hpp"

namespace gridstride {
namespace {

TEST(RankSums, PartsComeToAllRanks) {
  for (int const count : {1, 2, 3, 5}) {
    RankCuts cuts = {0};
    for (int rank = 0; rank < count; ++rank)  // one has nothing
      cuts.push_back(cuts.back() + (rank == 1 ? 0 : 3 + rank));
    std::vector<double> expected(static_cast<std::size_t>(cuts.back()));
    std::iota(expected.begin(), expected.end(), 0.5);
    EXPECT_TRUE(test::on_ranks(count, [&](Ranks& ranks) {
      std::vector<double> all(expected.size(), -1);
      auto const rank = static_cast<std::size_t>(ranks.rank());
      for (auto i = cuts[rank]; i < cuts[rank + 1]; ++i)
        all[static_cast<std::size_t>(i)] = expected[static_cast<std::size_t>(i)];
      share_parts(ranks, std::span(all), cuts);
      EXPECT_EQ(all, expected);
    }));
  }
}

TEST(RankSums, Counts) {
  for (int const count : {1, 2, 5})
    EXPECT_TRUE(test::on_ranks(count, [count](Ranks& ranks) {
      std::vector<std::int64_t> counts = {ranks.rank(), 1, std::int64_t{1} << 40};
      add_counts(ranks, counts);
      EXPECT_EQ(counts, (std::vector<std::int64_t>{count * (count - 1) / 2, count,
                                                   count * (std::int64_t{1} << 40)}));
    }));
}

TEST(RankSums, NumbersAndTexts) {
  EXPECT_TRUE(test::on_ranks(4, [](Ranks& ranks) {
    EXPECT_EQ(of_all_ranks(ranks, 7 * ranks.rank()), (std::vector{0, 7, 14, 21}));
    EXPECT_EQ(first_text(ranks, ranks.rank() > 1 ? "rank " + std::to_string(ranks.rank()) : ""),
              "rank 2");
    EXPECT_EQ(first_text(ranks, ""), "");
    EXPECT_EQ(first_text(ranks, std::string(300, 'x')), std::string(255, 'x'));
  }));
}

TEST(RankSums, CutsOfOtherRanksAreRefused) {
  EXPECT_TRUE(test::on_ranks(2, [](Ranks& ranks) {
    std::vector<double> all(3);
    EXPECT_THROW(share_parts(ranks, std::span(all), {0, 3}), std::invalid_argument);
  }));
}

}  // namespace
}  // namespace gridstride
