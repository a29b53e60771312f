#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/ranks.hpp"

/// Sums that have the same bits for any number of ranks. A grid's sum is that of its parts, which are
/// the same however many ranks there are and none of which is cut by a rank. Each rank has the sums of
/// some parts; all of them come to all ranks, which add them in their order. Nothing is added on the
/// way.
namespace gridstride {

/// Where the part of each rank begins, and where the last one ends: one number more than ranks.
using RankCuts = std::vector<std::int64_t>;

/// All ranks call it with arrays of one size on the host, each with its own part of it, elements
/// [cuts[r], cuts[r + 1]): then each has all of them.
void share_bytes(Ranks& ranks, std::span<std::byte> all, std::size_t element_bytes,
                 RankCuts const& cuts);

template <class T>
void share_parts(Ranks& ranks, std::span<T> all, RankCuts const& cuts) {
  static_assert(std::is_trivially_copyable_v<T>);
  share_bytes(ranks, std::as_writable_bytes(all), sizeof(T), cuts);
}

/// What each rank has, in their order.
template <class T>
std::vector<T> of_all_ranks(Ranks& ranks, T const& own) {
  auto const count = static_cast<std::size_t>(ranks.count());
  std::vector<T> all(count);
  all[static_cast<std::size_t>(ranks.rank())] = own;
  RankCuts cuts;
  for (std::size_t rank = 0; rank <= count; ++rank) cuts.push_back(static_cast<std::int64_t>(rank));
  share_parts(ranks, std::span(all), cuts);
  return all;
}

/// What each rank has, however many they are, in the order of ranks, on the first one; nothing on others.
std::vector<std::byte> bytes_to_first(Ranks& ranks, std::span<std::byte const> own);

template <class T>
std::vector<T> to_first(Ranks& ranks, std::vector<T> const& own) {
  static_assert(std::is_trivially_copyable_v<T>);
  auto const bytes = bytes_to_first(ranks, std::as_bytes(std::span(own)));
  std::vector<T> all(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

/// Adds up what all ranks have counted, of as many things each: then all have the sums.
void add_counts(Ranks& ranks, std::span<std::int64_t> counts);

/// The first of the texts that ranks have which is not empty, on all of them; of 255 bytes at most.
std::string first_text(Ranks& ranks, std::string const& own);

}  // namespace gridstride
