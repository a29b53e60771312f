#include "core/rank_failures.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "core/error.hpp"
#include "support/thread_ranks.hpp"

namespace gridstride {
namespace {

/// What each of three ranks throws where those in `failing` do, in words.
template <class Thrown>
void expect_thrown(std::vector<int> const& failing, std::string const& words, auto const& fail) {
  EXPECT_TRUE(test::on_ranks(3, [&](Ranks& ranks) {
    try {
      fail_together(ranks, [&] {
        if (std::ranges::count(failing, ranks.rank()) > 0) fail(ranks.rank());
      });
      FAIL() << "nothing is thrown";
    } catch (Thrown const& error) {
      EXPECT_EQ(error.what(), words);
    }
  }));
}

TEST(RankFailures, AllThrowWhatTheFirstDoes) {
  auto const number = [](int rank) {
    throw NumericalError("rank " + std::to_string(rank) + " has no number");
  };
  expect_thrown<NumericalError>({1}, "rank 1 has no number", number);
  expect_thrown<NumericalError>({0, 2}, "rank 0 has no number", number);
  expect_thrown<VerificationError>({2}, "holds not",
                                   [](int) { throw VerificationError("holds not"); });
  expect_thrown<Error>({1}, "a.h5: is short", [](int) { throw IoError("a.h5", "is short"); });
  expect_thrown<std::exception>({1, 2}, "a bug", [](int) { throw std::logic_error("a bug"); });
}

TEST(RankFailures, ProblemsStayWhatTheyAre) {
  std::vector<Problem> const problems = {{"case.yaml", 3, 7, "input.a", "has nan\nat [3]"},
                                         {"case.yaml", 0, 0, "", "is bad"}};
  EXPECT_TRUE(test::on_ranks(3, [&](Ranks& ranks) {
    try {
      fail_together(ranks, [&] {
        if (ranks.rank() == 1) throw ConfigError(problems);
      });
      FAIL() << "nothing is thrown";
    } catch (ConfigError const& error) {
      EXPECT_EQ(error.what(), std::string(ConfigError(problems).what()));
      ASSERT_EQ(error.problems().size(), 2u);
      EXPECT_EQ(error.problems()[0].line, 3);
      EXPECT_EQ(error.problems()[0].path, "input.a");
    }
  }));
}

TEST(RankFailures, WhereNoneFailsAllGoOn) {
  EXPECT_TRUE(test::on_ranks(3, [](Ranks& ranks) {
    bool done = false;
    fail_together(ranks, [&] { done = true; });
    EXPECT_TRUE(done);
  }));
}

}  // namespace
}  // namespace gridstride
