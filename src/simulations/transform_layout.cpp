#include "simulations/transform_layout.hpp"

#include <algorithm>
#include <stdexcept>

namespace gridstride::transform {

namespace {

/// Takes so many values from `used` on, which stay at multiples of 256 bytes.
std::size_t take(std::size_t& used, std::int64_t values) {
  constexpr std::size_t alignment = 64;
  std::size_t const place = used;
  used += (static_cast<std::size_t>(values) + alignment - 1) / alignment * alignment;
  return place;
}

Placed placed(Chain const& chain, int place, Rows const& rows, Rows const& resident,
              Layout& layout) {
  auto const& link = chain.link(place);
  std::int64_t const width = chain.width(place);
  Placed result;
  result.rows = rows;
  if (std::holds_alternative<FromFile>(link.work)) {
    result.resident = resident.holds(rows);
    if (result.resident) return result;
    result.offset = take(layout.read_values, rows.count() * width);
    ++layout.pieces;
    return result;
  }
  auto const* filter = std::get_if<ByFilter>(&link.work);
  if (filter == nullptr || filter->axis != chain.slowest()) {
    result.offset = take(layout.values, rows.count() * width);
    return result;
  }
  result.window = window_of(*filter, rows, chain.rows(place));
  auto const& window = result.window;
  result.made = take(layout.values, window.rows.count() * width);
  result.offset = result.made + static_cast<std::size_t>((rows.first - window.rows.first) * width);
  if (window.wraps) result.joined = take(layout.values, window.rows.count() * width);
  return result;
}

}  // namespace

Placed const& Layout::piece(int place, Rows const& rows) const {
  for (Placed const& piece : arrays[static_cast<std::size_t>(place)])
    if (piece.rows.holds(rows)) return piece;
  throw std::out_of_range("transform: rows that a chunk does not have");
}

Layout layout_of(Chain const& chain, std::vector<int> const& places, Rows const& before,
                 Rows const& chunk, std::vector<Rows> const& resident) {
  Layout layout;
  layout.chunk = chunk;
  // A chunk at the end may need less of a scan than those before it, which has gone on nevertheless.
  layout.scanned = chain.scans() ? chain.ends(places, {0, before.last})
                                 : std::vector<std::int64_t>(chain.links().size());
  auto const needs = chain.needs(places, chunk, layout.scanned);
  layout.arrays.resize(needs.size());
  for (std::size_t l = 0; l < needs.size(); ++l)
    for (Rows const& rows : needs[l])
      layout.arrays[l].push_back(placed(chain, static_cast<int>(l), rows,
                                        resident.empty() ? Rows() : resident[l], layout));
  return layout;
}

std::vector<Rows> chunks_of(Chain const& chain, std::int64_t rows) {
  std::vector<Rows> chunks;
  std::int64_t const all = chain.grid().points[chain.slowest()];
  for (std::int64_t first = 0; first < all; first += rows)
    chunks.push_back({first, std::min(first + rows, all)});
  return chunks;
}

}  // namespace gridstride::transform
