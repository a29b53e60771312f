#include "core/rank_failures.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/rank_sums.hpp"

namespace gridstride {

namespace {

constexpr char of_config = 'c', of_numbers = 'n', of_verification = 'v', of_others = 'o';

/// A failure as a text: its kind, then its words, or those of its problems, each with an end.
std::string written(std::exception_ptr const& failure) {
  std::string text;
  auto const append = [&](std::string_view words) { (text += words) += '\0'; };
  try {
    std::rethrow_exception(failure);
  } catch (ConfigError const& error) {
    text = of_config;
    for (Problem const& problem : error.problems()) {
      append(problem.file);
      append(std::to_string(problem.line));
      append(std::to_string(problem.column));
      append(problem.path);
      append(problem.message);
    }
  } catch (NumericalError const& error) {
    (text = of_numbers) += error.what();
  } catch (VerificationError const& error) {
    (text = of_verification) += error.what();
  } catch (std::exception const& error) {
    (text = of_others) += error.what();
  }
  return text;
}

std::vector<Problem> read_problems(std::string_view text) {
  auto const take = [&] {
    std::string_view const words = text.substr(0, text.find('\0'));
    text.remove_prefix(words.size() + 1);
    return std::string(words);
  };
  std::vector<Problem> problems;
  while (!text.empty()) {
    Problem& problem = problems.emplace_back();
    problem.file = take();
    problem.line = std::stoi(take());
    problem.column = std::stoi(take());
    problem.path = take();
    problem.message = take();
  }
  return problems;
}

[[noreturn]] void throw_written(std::string const& text) {
  std::string const words = text.substr(1);
  switch (text[0]) {
    case of_config:
      throw ConfigError(read_problems(words));
    case of_numbers:
      throw NumericalError(words);
    case of_verification:
      throw VerificationError(words);
    default:
      throw Error(words);
  }
}

}  // namespace

void share_failure(Ranks& ranks, std::exception_ptr const& own) {
  std::string const text = own ? written(own) : std::string();
  RankCuts cuts = {0};
  for (auto const bytes : of_all_ranks(ranks, std::ssize(text)))
    cuts.push_back(cuts.back() + bytes);
  if (cuts.back() == 0) return;
  std::string all(static_cast<std::size_t>(cuts.back()), ' ');
  all.replace(static_cast<std::size_t>(cuts[static_cast<std::size_t>(ranks.rank())]), text.size(),
              text);
  share_parts(ranks, std::span(all), cuts);
  for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank) {
    if (cuts[rank] == cuts[rank + 1]) continue;
    if (static_cast<int>(rank) == ranks.rank()) std::rethrow_exception(own);
    throw_written(all.substr(0, static_cast<std::size_t>(cuts[rank + 1])));
  }
}

}  // namespace gridstride
