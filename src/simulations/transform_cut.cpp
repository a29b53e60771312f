#include <algorithm>
#include <cmath>

#include "simulations/transform_engine.hpp"

namespace gridstride::transform {

namespace {

/// Notes what a chunk takes, if it is more than what others do.
void note(Chain const& chain, Load const& load, Layout const& layout, Cut& cut) {
  cut.values = std::max(cut.values, layout.values);
  std::size_t bytes = 0, read = 0, written = 0, pieces = 0;
  for (std::size_t l = 0; l < layout.arrays.size(); ++l) {
    auto const width = chain.width(static_cast<int>(l));
    bool const is_scan = std::holds_alternative<ByScan>(chain.links()[l].work);
    bool const is_stored = !load.stored_bytes.empty() && load.stored_bytes[l] > 0;
    for (Placed const& piece : layout.arrays[l]) {
      if (is_scan) cut.kept[l] = std::max(cut.kept[l], layout.scanned[l] - piece.rows.first);
      if (!is_stored) continue;
      auto const numbers = static_cast<std::size_t>(piece.rows.count() * width);
      bytes += numbers * static_cast<std::size_t>(load.stored_bytes[l]) + slab_alignment;
      read = layout.read_values;
      ++pieces;
    }
  }
  for (int const place : load.written)
    written +=
        static_cast<std::size_t>(chain.own(place, layout.chunk).count() * chain.width(place));
  cut.read_bytes = std::max(cut.read_bytes, bytes);
  cut.read_values = std::max(cut.read_values, read);
  cut.written_values = std::max(cut.written_values, written);
  cut.pieces = std::max(cut.pieces, pieces);
}

void measure(Chain const& chain, Load const& load, Cut& cut) {
  cut.values = cut.read_values = cut.read_bytes = cut.written_values = cut.pieces = 0;
  cut.kept.assign(chain.links().size(), 0);
  Rows before;
  for (Rows const& chunk : cut.chunks(chain)) {
    note(chain, load, layout_of(chain, load.places, before, chunk), cut);
    before = chunk;
  }
}

std::int64_t first_rows(Chain const& chain, config::Limits const& limits, std::size_t value_bytes) {
  double const row = static_cast<double>(chain.grid().face_size(chain.slowest())) *
                     static_cast<double>(value_bytes);
  double const bytes = limits.chunk.value_or(static_cast<double>(Pipeline::chunk_bytes));
  double const all = static_cast<double>(chain.grid().points[chain.slowest()]);
  return static_cast<std::int64_t>(std::clamp(std::floor(bytes / row), 1.0, all));
}

}  // namespace

std::size_t Cut::device_bytes(std::size_t value_bytes) const {
  return ((values + read_values) * value_bytes + read_bytes) * static_cast<std::size_t>(lanes);
}

std::size_t Cut::host_bytes(std::size_t value_bytes) const {
  return (written_values * value_bytes + read_bytes) * static_cast<std::size_t>(lanes);
}

Cut cut_for(Chain const& chain, config::Limits const& limits, Load const& load) {
  Cut cut;
  cut.rows = first_rows(chain, limits, load.value_bytes);
  std::int64_t const all = chain.grid().points[chain.slowest()];
  auto const chunks = (all + cut.rows - 1) / cut.rows;
  bool const files = !load.stored_bytes.empty() || !load.written.empty();
  cut.lanes = limits.streams ? static_cast<int>(*limits.streams)
                             : Pipeline::lanes_for(files ? LaneUse::files : LaneUse::bus, chunks);
  auto const fits = [&] {
    measure(chain, load, cut);
    return static_cast<double>(cut.device_bytes(load.value_bytes)) <= load.device_bytes &&
           static_cast<double>(cut.host_bytes(load.value_bytes)) <= load.host_bytes;
  };
  while (!fits() && (cut.rows > 1 || cut.lanes > 1)) {
    if (cut.lanes > 2 || cut.rows == 1)
      --cut.lanes;
    else
      cut.rows = (cut.rows + 1) / 2;
  }
  return cut;
}

}  // namespace gridstride::transform
