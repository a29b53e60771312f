#include "core/rank_sums.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

namespace gridstride {

void share_bytes(Ranks& ranks, std::span<std::byte> all, std::size_t element_bytes,
                 RankCuts const& cuts) {
  auto const count = static_cast<std::size_t>(ranks.count());
  if (cuts.size() != count + 1) throw std::invalid_argument("parts of another number of ranks");
  auto const part = [&](std::size_t rank) {
    auto const begin = static_cast<std::size_t>(cuts[rank]) * element_bytes;
    return all.subspan(begin, static_cast<std::size_t>(cuts[rank + 1]) * element_bytes - begin);
  };
  constexpr int tag = 0;
  auto const own = static_cast<std::size_t>(ranks.rank());
  std::vector<RankMessage> sent, received;
  for (std::size_t rank = 0; rank < count; ++rank) {
    if (rank == own) continue;
    int const other = static_cast<int>(rank);
    if (!part(own).empty()) sent.push_back({other, tag, part(own)});
    if (!part(rank).empty()) received.push_back({other, tag, part(rank)});
  }
  ranks.exchange(sent, received);
}

std::vector<std::byte> bytes_to_first(Ranks& ranks, std::span<std::byte const> own) {
  auto const counts = of_all_ranks(ranks, std::ssize(own));
  auto const writable = std::span(const_cast<std::byte*>(own.data()), own.size());
  if (!ranks.is_first()) {
    RankMessage const sent{0, 0, writable};
    ranks.exchange({&sent, 1}, {});
    return {};
  }
  std::vector<std::byte> all(
      static_cast<std::size_t>(std::reduce(counts.begin(), counts.end(), std::int64_t{0})));
  std::ranges::copy(own, all.begin());
  std::vector<RankMessage> received;
  auto rest = std::span(all).subspan(own.size());
  for (int rank = 1; rank < ranks.count(); ++rank) {
    auto const size = static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]);
    received.push_back({rank, 0, rest.first(size)});
    rest = rest.subspan(size);
  }
  ranks.exchange({}, received);
  return all;
}

void add_counts(Ranks& ranks, std::span<std::int64_t> counts) {
  auto const own = static_cast<std::size_t>(ranks.rank());
  std::vector<std::int64_t> all(counts.size() * static_cast<std::size_t>(ranks.count()));
  std::ranges::copy(counts, all.begin() + static_cast<std::ptrdiff_t>(own * counts.size()));
  RankCuts cuts;
  for (std::int64_t rank = 0; rank <= ranks.count(); ++rank)
    cuts.push_back(rank * std::ssize(counts));
  share_parts(ranks, std::span(all), cuts);
  std::ranges::fill(counts, 0);
  for (std::size_t i = 0; i < all.size(); ++i) counts[i % counts.size()] += all[i];
}

std::string first_text(Ranks& ranks, std::string const& own) {
  using Words = std::array<char, 256>;
  Words words{};
  std::copy_n(own.begin(), std::min(own.size(), words.size() - 1), words.begin());
  auto const texts = of_all_ranks(ranks, words);
  for (Words const& text : texts)
    if (text[0] != '\0') return text.data();
  return {};
}

}  // namespace gridstride
