#include "simulations/transform_cut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/host_limits.hpp"
#include "core/pipeline.hpp"
#include "core/processors.hpp"
#include "core/text.hpp"

namespace gridstride::transform {

namespace {

/// Of stored numbers that go through a slab at once. All slabs together, those of other processes on the
/// machine too, stay in the cache of a processor, where the bus finds them.
constexpr std::size_t slab_piece = std::size_t{4} << 20, slab_piece_of_several = slab_piece / 2;

/// What a layout reads, as it is stored.
std::size_t stored_bytes(Chain const& chain, Load const& load, Layout const& layout) {
  std::size_t bytes = 0;
  for (std::size_t l = 0; l < load.stored_bytes.size(); ++l)
    for (Placed const& piece : layout.arrays[l])
      if (load.stored_bytes[l] > 0 && !piece.resident)
        bytes += slab_aligned(
            static_cast<std::size_t>(piece.rows.count() * chain.width(static_cast<int>(l))) *
            static_cast<std::size_t>(load.stored_bytes[l]));
  return bytes;
}

std::size_t own_values(Chain const& chain, std::vector<int> const& places, Rows const& chunk) {
  std::size_t values = 0;
  for (int const place : places)
    values += static_cast<std::size_t>(chain.own(place, chunk).count() * chain.width(place));
  return values;
}

/// Notes what a chunk takes, if it is more than what others do.
void note(Chain const& chain, Load const& load, Layout const& layout, Cut& cut) {
  cut.values = std::max(cut.values, layout.values);
  cut.read_values = std::max(cut.read_values, layout.read_values);
  cut.read_bytes = std::max(cut.read_bytes, stored_bytes(chain, load, layout));
  cut.pieces = std::max(cut.pieces, layout.pieces);
  cut.written_values = std::max(cut.written_values, own_values(chain, load.written, layout.chunk));
  cut.picked_values = std::max(cut.picked_values, own_values(chain, load.picked, layout.chunk));
  for (std::size_t l = 0; l < layout.arrays.size(); ++l)
    if (std::holds_alternative<ByScan>(chain.links()[l].work))
      for (Placed const& piece : layout.arrays[l])
        cut.kept[l] = std::max(cut.kept[l], layout.scanned[l] - piece.rows.first);
}

/// Whether a chunk needs no row at either end of any array, so that one beside it, which does not
/// either, takes as much.
bool is_inside(Chain const& chain, Layout const& layout) {
  for (std::size_t l = 0; l < layout.arrays.size(); ++l)
    for (Placed const& piece : layout.arrays[l]) {
      Rows const& rows = piece.window.rows.empty() ? piece.rows : piece.window.rows;
      if (rows.first <= 0 || rows.last >= chain.rows(static_cast<int>(l))) return false;
    }
  return true;
}

/// All chunks but those between two that are inside.
void measure(Chain const& chain, Load const& load, Cut& cut) {
  cut.values = cut.read_values = cut.read_bytes = cut.written_values = cut.pieces = 0;
  cut.picked_values = 0;
  cut.kept.assign(chain.links().size(), 0);
  Rows const all = chain.share();
  std::int64_t const count = (all.count() + cut.rows - 1) / cut.rows;
  auto const chunk = [&](std::int64_t number) -> Rows {
    if (number < 0) return {};
    return {all.first + number * cut.rows, std::min(all.first + (number + 1) * cut.rows, all.last)};
  };
  /// Returns whether it is inside.
  auto const look = [&](std::int64_t number) {
    auto const layout = layout_of(chain, load.places, chunk(number - 1), chunk(number));
    note(chain, load, layout, cut);
    return is_inside(chain, layout);
  };
  std::int64_t first = 0;
  for (int inside = 0; first < count && inside < 2; ++first) inside = look(first) ? inside + 1 : 0;
  std::int64_t last = count - 1;
  for (int inside = 0; last >= first && inside < 2; --last) inside = look(last) ? inside + 1 : 0;
  std::size_t const piece = load.processes > 1 ? slab_piece_of_several : slab_piece;
  cut.slab_bytes = load.in_pieces ? std::min(cut.read_bytes, piece) : cut.read_bytes;
  cut.slabs = load.in_pieces ? 2 : std::min(cut.each, 2);
  cut.kept_values = 0;
  for (std::size_t l = 0; l < cut.kept.size(); ++l)
    cut.kept_values += static_cast<std::size_t>(cut.kept[l] * chain.width(static_cast<int>(l)));
}

bool reads(Load const& load) {
  return std::ranges::any_of(load.stored_bytes, [](int bytes) { return bytes > 0; });
}

/// Whether all there is to do is to bring data to a GPU. What a chunk costs beside its bytes is then
/// what counts, some twenty calls of the driver, which takes one at a time; and a thread that waits
/// for it does not read.
bool only_brings(Load const& load, Backend backend) {
  return backend == Backend::cuda && load.in_pieces && load.written.empty() && reads(load);
}

std::int64_t first_rows(Chain const& chain, config::Limits const& limits, Load const& load,
                        Backend backend) {
  double const row = static_cast<double>(chain.grid().face_size(chain.slowest())) *
                     static_cast<double>(load.value_bytes);
  auto const all = static_cast<double>(chain.share().count());
  constexpr double usual = Pipeline::chunk_bytes, large = 2 * Pipeline::bus_chunk_bytes;
  // So many that all threads end at nearly the same time.
  constexpr double enough = 256;
  double const bytes = limits.chunk.value_or(
      only_brings(load, backend) ? std::clamp(all * row / enough, usual, large) : usual);
  return static_cast<std::int64_t>(std::clamp(std::floor(bytes / row), 1.0, all));
}

/// Threads, and the lanes of each. A thread that reads for a GPU has many: chunks are computed in
/// their order, and when one is late, because its thread had to leave its processor to somebody
/// else, the others go on reading until they have no lane.
void choose_lanes(config::Limits const& limits, Load const& load, Backend backend,
                  std::int64_t chunks, Cut& cut) {
  auto const use = reads(load) || !load.written.empty() ? LaneUse::files : LaneUse::bus;
  int threads = Pipeline::lanes_for(use, chunks);
  // Three quarters of the processors read faster than the bus carries; the others serve the driver.
  if (only_brings(load, backend)) threads = std::max(threads * 3 / 4, 1);
  // Each lane has room for what goes to files, or for a large chunk, too.
  int const most = load.written.empty() && !only_brings(load, backend) ? 4 : 2;
  cut.threads = threads;
  if (limits.streams) {
    auto const lanes = static_cast<int>(*limits.streams);
    cut.each = (lanes + threads - 1) / threads;
    if (cut.each > most || lanes % cut.each != 0) cut.each = 1;
    cut.threads = lanes / cut.each;
  } else if (reads(load) && backend == Backend::cuda) {
    cut.each = static_cast<int>(std::clamp<std::int64_t>(chunks / threads, 1, most));
  }
  // Who reads has little time beside that where the memory serves several buses.
  cut.stays_awake =
      only_brings(load, backend) && load.processes > 1 && cut.threads < host_threads();
}

}  // namespace

bool Cut::holds(Chain const& chain, Load const& load, Layout const& layout) const {
  return layout.values <= values && layout.read_values <= read_values && layout.pieces <= pieces &&
         stored_bytes(chain, load, layout) <= read_bytes;
}

/// What kernels take for themselves meanwhile, a word for each of their tiles, comes to less than a
/// 512th of what they work on.
std::size_t Cut::device_bytes(Load const& load, Backend backend) const {
  std::size_t const chunk = (values + read_values) * load.value_bytes;
  std::size_t lane = load.lane_bytes + chunk + chunk / 512;
  if (backend == Backend::cuda) lane += read_bytes + pieces * sizeof(std::int64_t);
  return lane * static_cast<std::size_t>(lanes()) + kept_values * load.value_bytes +
         picked_values * (load.value_bytes + sizeof(std::int64_t));
}

std::size_t Cut::host_bytes(Load const& load) const {
  std::size_t const lane = written_values * load.value_bytes + 2 * pieces * sizeof(std::int64_t);
  return lane * static_cast<std::size_t>(lanes()) +
         slab_bytes * static_cast<std::size_t>(threads * slabs);
}

Cut cut_for(Chain const& chain, config::Limits const& limits, Load const& load, Backend backend) {
  Cut cut;
  cut.rows = first_rows(chain, limits, load, backend);
  choose_lanes(limits, load, backend, (chain.share().count() + cut.rows - 1) / cut.rows, cut);
  auto const fits = [&] {
    measure(chain, load, cut);
    return static_cast<double>(cut.device_bytes(load, backend)) <= load.device_bytes &&
           static_cast<double>(cut.host_bytes(load)) <= load.host_bytes;
  };
  while (!fits() && (cut.rows > 1 || cut.lanes() > 1)) {
    if (cut.each > 2)
      --cut.each;
    else if (cut.threads > 2)
      --cut.threads;
    else if (cut.each > 1)
      cut.each = 1;
    else if (cut.rows == 1)
      --cut.threads;
    else
      cut.rows = (cut.rows + 1) / 2;
  }
  return cut;
}

Room room_of(config::Limits const& limits, Device const& device, int on_device, int on_host) {
  auto const free = static_cast<double>(device.free_memory()) / on_device;
  double const usual = device.backend() == Backend::cuda ? free * 15 / 16 : free / 2;
  // More than there is would let more of the data stay than there is room for.
  return {std::min(limits.device_memory.value_or(usual), usual),
          limits.host_memory.value_or(static_cast<double>(free_host_memory()) / 2 / on_host)};
}

void require_room(config::RunConfig const& run, Cut const& cut, Load const& load, Backend backend) {
  auto const require = [&](std::string_view key, std::size_t taken, double there) {
    if (static_cast<double>(taken) > there)
      throw ConfigError({run.problem(
          run.location(fmt::format("limits.{}", key)),
          fmt::format("{} are left for chunks, but one line of the data and all that it needs "
                      "takes {}",
                      format_bytes(std::max(there, 0.0)),
                      format_bytes(static_cast<double>(taken))))});
  };
  require("device_memory", cut.device_bytes(load, backend), load.device_bytes);
  require("host_memory", cut.host_bytes(load), load.host_bytes);
}

std::vector<Rows> chunks_of_pass(Chain const& chain, Load const& load, Cut const& cut,
                                 std::vector<int> const& places, std::vector<Rows> const& resident,
                                 Leaving const& leaving) {
  // Larger ones gain nothing, and progress is told after each.
  constexpr double most_bytes = 1 << 30;
  auto const [begin, all] = chain.share();
  double const row = static_cast<double>(chain.grid().face_size(chain.slowest())) *
                     static_cast<double>(load.value_bytes);
  auto const most = static_cast<std::int64_t>(most_bytes / row);
  bool const any = std::ranges::any_of(resident, [](Rows const& rows) { return !rows.empty(); });
  auto const leaves = [&](Rows const& chunk) {
    return (!leaving.written || own_values(chain, load.written, chunk) <= cut.written_values) &&
           (!leaving.picked || own_values(chain, load.picked, chunk) <= cut.picked_values);
  };
  std::vector<Rows> chunks;
  Rows before;
  for (std::int64_t first = begin; first < all; first = before.last) {
    Rows chunk{first, std::min(first + cut.rows, all)};
    for (std::int64_t rows = 2 * cut.rows; any && rows <= most && chunk.last < all; rows *= 2) {
      Rows const larger{first, std::min(first + rows, all)};
      if (!leaves(larger) ||
          !cut.holds(chain, load, layout_of(chain, places, before, larger, resident)))
        break;
      chunk = larger;
    }
    chunks.push_back(chunk);
    before = chunk;
  }
  return chunks;
}

}  // namespace gridstride::transform
