#include "core/rank_sums.hpp"

#include <algorithm>
#include <array>
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
