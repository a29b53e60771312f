// What a rank finds of its own values where they lie, so that they need not come to its host.

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/elementwise/elementwise.hpp"
#include "kernels/reduce/operations.hpp"
#include "kernels/support/length.hpp"
#include "model/rank_files.hpp"
#include "model/vectors_of_slabs.hpp"

namespace gridstride {

/// On a GPU all that this rank alone has whole slabs of; on the host, where slabs are looked through on their way to
/// files, only what goes to none.
template <class T>
void RankFiles<T>::look_where_they_lie(typename RankArrays<T>::Skips const& skips,
                                       bool wants_moments) {
  std::vector<Seen> all;
  auto const queue = [&](Seen one, auto const& source) {
    auto const blocks = (one.values.front().size() + reduce::host_block - 1) / reduce::host_block;
    one.found = {stream_, MemorySpace::device, blocks};
    reduce::block_moments(stream_, source, one.first, one.found.span());
    all.push_back(std::move(one));
  };
  for (std::size_t field = 0; field < seen().size(); ++field) {
    if (stream_.backend() == Backend::cpu && !skips(field)) continue;
    auto const points = arrays_.alone(own_[field].size());
    if (points.first == points.last) continue;
    Together values;
    for (auto const& array : own_[field]) values.push_back(arrays_.own_values(array, points));
    for (std::size_t c = 0; c < values.size(); ++c)
      queue({field, c, points.first, values, {}}, values[c]);
    if (wants_moments && is_length_asked_for(field))
      queue({field, values.size(), points.first, values, {}},
            std::span<std::span<T const> const>(values));
  }
  stream_.synchronize();
  for (Seen const& one : all) note_seen(one, wants_moments, wants_moments && skips(one.field));
}

template <class T>
void RankFiles<T>::note_seen(Seen const& seen, bool wants_moments, bool wants_places) {
  std::size_t const number = first_number(seen.field) + seen.component;
  std::vector<Moments> blocks(seen.found.size());
  copy_async(std::span(blocks), seen.found.span(), stream_);
  stream_.synchronize();
  bool const is_length = seen.component == seen.values.size();
  auto const bad = std::ranges::find_if(
      blocks, [](Moments const& block) { return block.first_non_finite != reduce::no_index; });
  if (bad != blocks.end()) {
    std::int64_t const point = bad->first_non_finite;
    return note({.field = static_cast<std::int64_t>(seen.field),
                 .is_length = is_length,
                 .point = point,
                 .component = is_length ? 0 : static_cast<std::int64_t>(seen.component),
                 .value = static_cast<double>(values_at(seen, std::span(&point, 1)).front())});
  }
  if (!wants_moments) return;
  auto const first = static_cast<std::uint64_t>(seen.first / reduce::host_block);
  for (std::size_t b = 0; b < blocks.size(); ++b) blocks_.push_back({number, first + b, blocks[b]});
  if (!wants_places || number >= files_.looks.size()) return;
  std::vector<std::int64_t> points;
  std::vector<std::size_t> which;
  for (std::size_t n = 0; n < files_.looks[number].places.size(); ++n) {
    std::int64_t const point = files_.looks[number].places[n];
    if (point < seen.first || point >= seen.first + std::ssize(seen.values.front())) continue;
    points.push_back(point);
    which.push_back(n);
  }
  auto const values = values_at(seen, points);
  for (std::size_t n = 0; n < values.size(); ++n)
    values_.push_back({number, which[n], static_cast<double>(values[n])});
}

/// Of lengths, from components that have come to the host.
template <class T>
std::vector<T> RankFiles<T>::values_at(Seen const& seen, std::span<std::int64_t const> points) {
  if (points.empty()) return {};
  std::vector<std::int64_t> places;
  for (std::int64_t const point : points) places.push_back(point - seen.first);
  Buffer<std::int64_t> on_device(stream_, MemorySpace::device, places.size());
  copy_async(on_device.span(), std::span<std::int64_t const>(places), stream_);
  Buffer<T> gathered(stream_, MemorySpace::device, places.size());
  auto const come = [&](std::span<T const> array) {
    std::vector<T> values(places.size());
    elementwise::gather<T>(stream_, array, on_device.span(), gathered.span());
    copy_async(std::span(values), std::as_const(gathered).span(), stream_);
    stream_.synchronize();
    return values;
  };
  if (seen.component < seen.values.size()) return come(seen.values[seen.component]);
  std::vector<std::vector<T>> components;
  for (auto const& array : seen.values) components.push_back(come(array));
  std::vector<T> lengths;
  for (std::size_t n = 0; n < places.size(); ++n)
    lengths.push_back(
        length_of<T>([&](std::int64_t k) { return components[static_cast<std::size_t>(k)][n]; },
                     std::ssize(components)));
  return lengths;
}

/// Lengths are made of some points at a time.
template <class T>
void RankFiles<T>::for_own(std::size_t number, typename OwnParts<T>::Use const& use) {
  std::size_t field = 0;
  while (first_number(field + 1) <= number) ++field;
  Together const& arrays = own_[field];
  std::size_t const component = number - first_number(field);
  if (component < arrays.size())
    return arrays_.look_at_own({arrays[component]}, [&](auto const& some) { use(some.front()); });
  auto const most = static_cast<std::size_t>(4 * reduce::host_block);
  Buffer<T> vectors(stream_, MemorySpace::device, most * arrays.size());
  Buffer<T> lengths(stream_, MemorySpace::device, most);
  arrays_.look_at_own(arrays, [&](Together const& some) {
    std::size_t const all = some.front().size();
    for (std::size_t done = 0; done < all; done += most) {
      std::size_t const points = std::min(most, all - done);
      std::vector<T const*> from;
      for (auto const& array : some) from.push_back(array.data() + done);
      auto const side_by_side = vectors.span().first(points * some.size());
      auto const target = lengths.span().first(points);
      system::interleave<T>(stream_, from, side_by_side);
      elementwise::magnitude<T>(stream_, side_by_side, static_cast<int>(some.size()), target);
      use(target);
    }
  });
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                     \
  template void RankFiles<T>::look_where_they_lie(RankArrays<T>::Skips const&, bool); \
  template void RankFiles<T>::for_own(std::size_t, OwnParts<T>::Use const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride
