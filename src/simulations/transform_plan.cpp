#include "simulations/transform_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/error.hpp"
#include "core/text.hpp"
#include "model/out_of_core.hpp"
#include "model/reading.hpp"
#include "simulations/transform_ranks.hpp"

namespace gridstride::transform {

namespace {

/// Names of what is written or compared.
std::vector<std::string> wanted_names(config::RunConfig const& run) {
  std::vector<std::string> names;
  if (!run.output.formats.empty()) names = run.output.fields;
  for (auto const& [name, formula] : run.verify.exact)
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

template <class T>
std::size_t finders_and_scans(Plan const& plan, Device const& device) {
  std::size_t bytes = finder_bytes<T>(plan.chain, plan.sought);
  for (std::size_t l = 0; l < plan.chain.links().size(); ++l)
    if (std::holds_alternative<ByScan>(plan.chain.links()[l].work))
      bytes += ScanState<T>::bytes(device, plan.chain, static_cast<int>(l), 0);
  return bytes;
}

}  // namespace

Plan::Plan(config::RunConfig const& run, Inputs const& inputs, Device const& device)
    : chain(run, inputs),
      sought(chain, parameters_of(run).reductions),
      names(wanted_names(run)),
      endings(chain, names),
      backend_(device.backend()) {
  auto const& limits = parameters_of(run).limits;
  bool const is_float = run.precision == Precision::float32;
  load.value_bytes = size_of(run.precision);
  load.processes = ranks_here(run);
  auto const [device_limit, host_limit] =
      room_of(limits, device, ranks_together(run, device), load.processes);
  load.device_bytes = device_limit;
  want(run);
  chain.fuse(load.places);
  open_files(inputs);
  fixed_bytes_ +=
      is_float ? finders_and_scans<float>(*this, device) : finders_and_scans<double>(*this, device);
  load.lane_bytes = is_float ? Worker<float>::bytes(chain) : Worker<double>::bytes(chain);
  load.device_bytes = device_limit - static_cast<double>(fixed_bytes_);
  load.host_bytes = host_limit - static_cast<double>(endings.host_bytes + handed_bytes_);
  cut = cut_for(chain, limits, load, backend_);
  if (static_cast<double>(endings.host_bytes) > host_limit)
    throw ConfigError({run.problem(
        run.location("limits.host_memory"),
        fmt::format("{} are too little for the {} of values that are sorted, which wait on the "
                    "host",
                    format_bytes(host_limit),
                    format_bytes(static_cast<double>(endings.host_bytes))))});
  require_room(run, cut, load, backend_);
  device_bytes_ = fixed_bytes_ + cut.device_bytes(load, backend_);
  host_bytes_ = cut.host_bytes(load);
  choose_resident();
  host_bytes_ += endings.host_bytes + handed_bytes_;
  table_bytes = host_limit - static_cast<double>(host_bytes_);
}

/// What is written, and whether it stays in device memory until the end.
void Plan::want(config::RunConfig const& run) {
  std::size_t arrays = 0, largest = 0;
  for (auto const& name : names) {
    if (!chain.has(name)) continue;
    int const place = chain.place_of(name);
    wanted.push_back(name);
    load.written.push_back(place);
    std::size_t const bytes =
        static_cast<std::size_t>(chain.link(place).grid.size()) * load.value_bytes;
    arrays += bytes;
    largest = std::max(largest, bytes);
  }
  // Where all is small, there is little to gain by writing it while it is made.
  constexpr double small = 256 << 20;
  endings.settle(true, run.precision, load.device_bytes);
  // Of several ranks, all do the same, whatever their devices have free.
  double const room = chain.shares().several()
                          ? parameters_of(run).limits.device_memory.value_or(2 * small)
                          : load.device_bytes;
  keeps = !run.verify.exact.empty() ||
          static_cast<double>(arrays + endings.device_bytes) <= std::min(small, room / 2);
  if (!keeps) endings.settle(false, run.precision, load.device_bytes);
  fixed_bytes_ += endings.device_bytes + (keeps ? arrays : 0);
  if (chain.shares().several()) handed_bytes_ = keeps ? largest : HandOver::parcel_bytes;
  sought.finite = endings.places();
  if (!keeps) sought.finite.insert(sought.finite.end(), load.written.begin(), load.written.end());
  load.places = sought.places(chain);
  load.places.insert(load.places.end(), load.written.begin(), load.written.end());
  if (keeps) load.written.clear();
  std::ranges::copy(endings.brought(), std::back_inserter(load.written));
  for (auto const& table : chain.picked()) {
    if (std::ranges::find(names, table.name) == names.end()) continue;
    picked.push_back(table);
    load.picked.push_back(table.of);
    fixed_bytes_ += sizeof(std::int64_t);
    load.places.insert(load.places.end(), {table.of, table.where});
  }
}

void Plan::open_files(Inputs const& inputs) {
  auto const later = chain.ends(sought.later_places(), {0, chain.grid().points[chain.slowest()]});
  for (std::size_t l = 0; l < chain.links().size(); ++l) {
    auto const* file = std::get_if<FromFile>(&chain.links()[l].work);
    files.emplace_back(file != nullptr ? inputs.open(*file->source) : nullptr);
    load.stored_bytes.push_back(file != nullptr ? files.back()->type().bytes : 0);
    if (file != nullptr && later[l] > 0) later_.push_back(static_cast<int>(l));
  }
  load.in_pieces = std::ranges::all_of(
      files, [](auto const& file) { return !file || (file->granule() == 1 && !file->order()); });
}

/// First whole arrays whose rows are scattered over their file, which reading row by row would read
/// many times; then as many rows of those that later passes need as there is room for.
void Plan::choose_resident() {
  resident.assign(chain.links().size(), {});
  auto const bytes_of = [&](int place, std::int64_t rows) {
    return static_cast<double>(rows) * static_cast<double>(chain.width(place)) *
           static_cast<double>(load.value_bytes);
  };
  std::int64_t const all = chain.grid().points[chain.slowest()];
  Rows const share = chain.share();
  double room =
      load.device_bytes + static_cast<double>(fixed_bytes_) - static_cast<double>(device_bytes_);
  auto const needed = chain.ends(load.places, {0, all});
  auto const keep = [&](int place, Rows const& rows) {
    resident[static_cast<std::size_t>(place)] = rows;
    device_bytes_ += static_cast<std::size_t>(bytes_of(place, rows.count()));
    room -= bytes_of(place, rows.count());
  };
  auto const is_kept = [&](int place) {
    return !resident[static_cast<std::size_t>(place)].empty();
  };
  std::size_t const lanes_device = cut.device_bytes(load, backend_);
  std::size_t const lanes_host = host_bytes_;
  for (std::size_t l = 0; l < files.size(); ++l) {
    auto const place = static_cast<int>(l);
    auto const order = files[l] && needed[l] > 0 ? files[l]->order() : std::nullopt;
    if (!order || !order->reversed) continue;
    // Its reader is gone before there are lanes.
    MemoryForecast reading;
    note_reading(reading, *std::get<FromFile>(chain.links()[l].work).source,
                 static_cast<std::size_t>(files[l]->size()));
    std::size_t const slabs = reading.slab_bytes;
    bool const fits = bytes_of(place, all) <= room &&
                      (backend_ == Backend::cpu || slabs <= lanes_device) &&
                      static_cast<double>(slabs) <= load.host_bytes;
    if (!fits) continue;
    keep(place, {0, all});
    whole.push_back(place);
    host_bytes_ = std::max({host_bytes_, lanes_host, slabs});
  }
  // A rank may need no row of what differences along the slowest axis are made of.
  auto const needed_here = chain.ends(load.places, share);
  auto const is_wanted = [&](int place) {
    return !is_kept(place) && needed_here[static_cast<std::size_t>(place)] > 0;
  };
  double row = 0;
  for (int const place : later_)
    if (is_wanted(place)) row += bytes_of(place, 1);
  if (row == 0) return;
  auto rows = static_cast<std::int64_t>(
      std::min(std::floor(std::max(room, 0.0) / row), static_cast<double>(share.count())));
  if (rows < share.count()) rows = rows / cut.rows * cut.rows;
  for (int const place : later_)
    if (is_wanted(place)) keep(place, {share.first, share.first + rows});
}

std::size_t Plan::most_picked(Picked const& table) const {
  return static_cast<std::size_t>(std::min(cut.rows, chain.rows(table.of)) * chain.width(table.of));
}

std::string Plan::kept_text() const {
  double kept = 0, all = 0;
  Rows const own = chain.share();
  for (int const place : later_) {
    double const row =
        static_cast<double>(chain.width(place) * static_cast<std::int64_t>(load.value_bytes));
    auto const rows = std::min(resident[static_cast<std::size_t>(place)].count(), own.count());
    kept += row * static_cast<double>(rows);
    all += row * static_cast<double>(own.count());
  }
  return later_.empty() ? "" : fmt::format("{} of {}", format_bytes(kept), format_bytes(all));
}

}  // namespace gridstride::transform
