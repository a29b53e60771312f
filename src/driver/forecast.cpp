#include "driver/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/host_limits.hpp"
#include "core/stream.hpp"
#include "core/text.hpp"
#include "driver/diagnostics.hpp"
#include "driver/error_norms.hpp"
#include "driver/formats/format.hpp"
#include "driver/formulas.hpp"
#include "driver/prepare.hpp"
#include "driver/reduction.hpp"
#include "driver/schedule.hpp"
#include "io/packing.hpp"
#include "io/slabs.hpp"
#include "model/reading.hpp"
#include "simulations/registry.hpp"

namespace gridstride {

namespace {

constexpr double most_moments = 1e9;

[[noreturn]] void refuse(config::RunConfig const& run, std::string_view key, std::string message) {
  throw ConfigError({run.problem(run.location(key), std::move(message))});
}

/// Of a simulation, which is made where its row in the table does not tell its step.
double first_step_of(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
                     std::unique_ptr<Simulation>& made) {
  auto const& entry = entry_of(run);
  if (entry.time_step) return entry.time_step(run, inputs, stream.device());
  // No step follows from values that are no numbers: which formula has them says more.
  auto const refuse_formulas = [&] {
    Stream look(stream.device());
    if (auto problems = formula_problems(run, look); !problems.empty()) throw ConfigError(problems);
  };
  try {
    made = entry.make(run, stream, inputs);
    return made->first_step();
  } catch (ConfigError const&) {
    refuse_formulas();
    throw;
  } catch (NumericalError const&) {
    refuse_formulas();
    throw;
  }
}

/// Throws for a step that does not bring the time forward.
void check_step(config::RunConfig const& run, double step) {
  if (!std::isfinite(step) || step <= 0)
    refuse(run, "time.step",
           fmt::format("comes out as {} s (spacings or coefficients are beyond what float64 can "
                       "reckon with; other units may help)",
                       step));
  double const end = run.time.end;
  if (step < std::numeric_limits<double>::epsilon() * end)
    refuse(
        run, "time.step",
        fmt::format("{} s is too short for an end at {} s (float64 does not tell a time near the "
                    "end from that a step later, so that the run would not get there)",
                    format_exact(step), format_exact(end)));
}

void require_possible(config::RunConfig const& run, std::string_view key, std::string_view what,
                      double count) {
  if (count <= most_moments) return;
  refuse(run, key,
         fmt::format("makes {:.3g} {} (at most {:g} are possible)", count, what, most_moments));
}

bool is_periodic(config::Cadence const& every) { return every.time || every.steps || every.count; }

void forecast_time(config::RunConfig const& run, std::function<double()> const& first_step,
                   Forecast& result) {
  if (!run.simulation->has_time) return;
  Schedule const outputs(run.output.every, run.time.end);
  Schedule const checkpoints(run.checkpoint.every, run.time.end);
  require_possible(run, "output.every", "outputs", outputs.moments());
  require_possible(run, "checkpoint.every", "checkpoints", checkpoints.moments());
  result.time_step = first_step();
  check_step(run, result.time_step);
  bool const is_equal = keeps_steps_equal(run);
  Schedule const shortening = is_equal ? Schedule({}, run.time.end) : checkpoints;
  result.steps = count_steps(outputs, shortening, run.time.end, result.time_step);
  result.snapshots += outputs.count(result.steps);
  if (is_periodic(run.checkpoint.every))
    result.checkpoints =
        is_equal ? checkpoints.count_passed(result.steps) : checkpoints.count(result.steps);
  require_possible(run, "output.every", "outputs", result.snapshots - 1);
  require_possible(run, "checkpoint.every", "checkpoints", result.checkpoints);
}

/// Bytes of the fields of a snapshot.
struct SnapshotBytes {
  std::size_t written = 0;    ///< those that files hold, without compression
  std::size_t aside = 0;      ///< of a copy of these fields
  io::Slabs::Use slabs = {};  ///< what they go through
};

SnapshotBytes snapshot_bytes(config::RunConfig const& run, MemoryForecast const& memory) {
  SnapshotBytes bytes;
  bytes.slabs.packs = run.output.compression > 0;
  for (config::FieldInfo const& field : run.fields) {
    std::size_t const one = memory.bytes_of(field), written = written_bytes(run, field, one);
    bool const is_written =
        !run.output.formats.empty() && std::ranges::count(run.output.fields, field.name) > 0;
    bool const is_streamed = std::ranges::count(memory.streamed, field.name) > 0;
    if (!is_streamed && (run.simulation->has_time || !is_written || written == one))
      bytes.slabs.largest_array = std::max(bytes.slabs.largest_array, one);
    if (!is_written) continue;
    if (written != one) bytes.slabs.largest_made = std::max(bytes.slabs.largest_made, written);
    bytes.written += written;
    bytes.aside += OutputRoom::of_array(one);
  }
  return bytes;
}

double total(MemoryForecast const& memory) {
  return static_cast<double>(memory.array_bytes) * static_cast<double>(memory.arrays) +
         static_cast<double>(memory.other_bytes);
}

/// Whether steps go on in memory of ranks beside that which files take fields from. On the host both
/// would share processors.
bool steps_elsewhere(config::RunConfig const& run, Backend backend) {
  return run.simulation->has_time && run.ranks > 1 && backend == Backend::cuda;
}

/// Whether what is written are arrays of the state itself: vectors are brought side by side in the
/// device's memory, and what follows from fields is found there.
bool writes_state(config::RunConfig const& run) {
  return std::ranges::all_of(run.fields, [&](config::FieldInfo const& field) {
    bool const is_written = std::ranges::count(run.output.fields, field.name) > 0;
    return !is_written || (field.components.empty() && run.initial.contains(field.name));
  });
}

/// What is kept aside where there is room for it: there must be steps to go on with, and a signal's
/// checkpoint is mostly the last thing that happens.
OutputRoom room_for(config::RunConfig const& run, MemoryForecast const& memory, Backend backend,
                    double left) {
  OutputRoom room;
  if (!run.simulation->has_time) return room;
  std::size_t const snapshot = snapshot_bytes(run, memory).aside;
  std::size_t const state = is_periodic(run.checkpoint.every)
                                ? memory.saved_bytes + memory.saved_arrays * OutputRoom::of_array(1)
                                : 0;
  room.snapshots = snapshot > 0 && static_cast<double>(snapshot) <= left;
  room.states = state > 0 && static_cast<double>(state) <= left;
  room.bytes = std::max(room.snapshots ? snapshot : 0, room.states ? state : 0);
  room.stays = steps_elsewhere(run, backend);
  bool const waits_for_snapshots =
      snapshot > 0 && !room.snapshots && !(room.stays && writes_state(run));
  bool const waits_for_states = state > 0 && !room.states && !room.stays;
  if (waits_for_snapshots || waits_for_states)
    room.lack = fmt::format(
        "output: the computation waits while {} copied out (there is no memory for a copy aside)",
        !waits_for_states      ? "fields are"
        : !waits_for_snapshots ? "checkpoints are"
                               : "fields and checkpoints are");
  return room;
}

/// `host_bytes`: what is taken beside the arrays where the device is the host.
[[noreturn]] void refuse_memory(config::RunConfig const& run, MemoryForecast const& memory,
                                std::size_t host_bytes, std::string_view device, double free) {
  auto const part = [](std::string_view what, std::size_t bytes) {
    return bytes > 0 ? fmt::format("{} {}", what, format_bytes(static_cast<double>(bytes))) : "";
  };
  std::string const needed =
      memory.arrays > 0 ? fmt::format("{} needs {} x {}{}", memory.array_name, memory.arrays,
                                      format_bytes(static_cast<double>(memory.array_bytes)),
                                      part(", all else", memory.other_bytes))
                        : part(run.ranks > 1 ? "a rank's part needs" : "parts of the data need",
                               memory.other_bytes);
  refuse(run, memory.key,
         fmt::format(
             "{}: {}{}{}, the {} has {} free{}", run.simulation->name, needed,
             part(", the other ranks beside it", memory.bytes_beside()),
             part(", what goes to and from files and comparisons", host_bytes), device,
             format_bytes(free),
             memory.beyond.empty() || device == "host" ? "" : fmt::format(" ({})", memory.beyond)));
}

/// Host memory for the comparison of any field with an exact solution.
std::size_t verification_bytes(config::RunConfig const& run, MemoryForecast const& memory,
                               Backend backend) {
  if (run.verify.exact.empty()) return 0;
  std::size_t most = 0;
  for (config::FieldInfo const& info : run.fields) {
    if (memory.bytes_of(info) == 0) continue;  // no field: a table
    Field field{info.name, info.unit, run.grid, run.precision};
    field.components = std::max(1, static_cast<int>(info.components.size()));
    auto const numbers = static_cast<std::int64_t>(memory.bytes_of(info) / size_of(run.precision));
    if (field.values() != numbers) field.grid = {.points = {numbers / field.components, 1, 1}};
    most = std::max(most, error_norms_bytes(field, backend));
  }
  return most;
}

/// What results and states go through on their way to files.
io::Slabs::Memory slab_memory(config::RunConfig const& run, MemoryForecast const& memory,
                              Backend backend) {
  auto const [written, aside, use] = snapshot_bytes(run, memory);
  if (!run.simulation->has_time && written == 0) return {0, 0};
  auto slabs = io::Slabs::memory(backend, use);
  if (steps_elsewhere(run, backend)) slabs.host += io::Slabs::memory(Backend::cpu, use).host;
  return slabs;
}

/// What slabs grow by for arrays of checkpoints that are larger than all fields, as modes of several
/// components together are. On the host itself there are none.
std::size_t grown_slabs(config::RunConfig const& run, MemoryForecast const& memory,
                        io::Slabs::Use const& use, Backend backend) {
  if (backend == Backend::cpu || !is_periodic(run.checkpoint.every) || memory.saved_arrays == 0)
    return 0;
  std::size_t const held = std::min(io::Slabs::bytes, use.largest()),
                    saved = std::min(io::Slabs::bytes, memory.saved_bytes / memory.saved_arrays);
  return held > 0 && saved > held ? (saved - held) * static_cast<std::size_t>(io::Slabs::lanes(use))
                                  : 0;
}

/// On the host: slabs on the way to files and what packs them, then what the comparison with the
/// exact solution takes; before all that, what reading takes.
std::size_t host_bytes(config::RunConfig const& run, MemoryForecast const& memory,
                       Backend backend) {
  auto const [written, aside, use] = snapshot_bytes(run, memory);
  std::size_t const packing =
      written > 0 && use.packs ? io::packing_bytes(io::Slabs::lanes(use), use.largest()) : 0;
  std::size_t const slabs =
      slab_memory(run, memory, backend).host + grown_slabs(run, memory, use, backend);
  // On the host itself nothing else is there yet when formulas are looked at.
  std::size_t const looking = backend == Backend::cuda ? memory.looking_bytes : 0;
  return memory.host_bytes + std::max({slabs + packing + verification_bytes(run, memory, backend),
                                       memory.reading_bytes, looking});
}

void require_memory(config::RunConfig const& run, Device const& device,
                    MemoryForecast const& memory, Forecast const& expected) {
  bool const cuda = device.backend() == Backend::cuda;
  auto const free = static_cast<double>(device.free_memory());
  auto const host = static_cast<double>(expected.host_bytes);
  auto const beside = static_cast<double>(memory.bytes_beside());
  if (total(memory) + beside + (cuda ? 0 : host) > free)
    refuse_memory(run, memory, cuda ? 0 : expected.host_bytes, cuda ? "device" : "host", free);
  auto const host_free = static_cast<double>(free_host_memory());
  if (cuda && host > host_free)
    refuse(run, memory.key,
           fmt::format("{}: {} of host memory are needed for {}what goes to and from the disk, the "
                       "host has {} free",
                       run.simulation->name, format_bytes(host),
                       memory.trip_steps > 0 ? "the grid and " : "", format_bytes(host_free)));
}

void forecast_disk(config::RunConfig const& run, MemoryForecast const& memory, Forecast& result) {
  auto const fields = static_cast<double>(snapshot_bytes(run, memory).written);
  for (FormatRow const& row : format_rows())
    if (row.writes(run)) result.output_bytes += result.snapshots * (fields + row.overhead);
  // The oldest goes when the next one is complete.
  result.checkpoint_bytes =
      std::min(result.checkpoints, static_cast<double>(run.checkpoint.keep) + 1) *
      static_cast<double>(memory.saved_bytes);
}

/// Files of other formats are not packed.
void note_packed_files(MemoryForecast& memory, Inputs const& inputs) {
  for (config::FieldSource const& source : memory.sources)
    if (auto const format = source.format();
        format == config::FileFormat::hdf5 || format == config::FileFormat::result)
      note_packing(memory, *inputs.open(source));
}

}  // namespace

Forecast forecast(config::RunConfig const& run, Device const& device) {
  std::unique_ptr<Simulation> made;
  return forecast(run, Stream(device), inputs_of(run), made);
}

Forecast forecast(config::RunConfig const& run, Stream const& stream, Inputs const& inputs,
                  std::unique_ptr<Simulation>& made) {
  Forecast result;
  Device const& device = stream.device();
  auto memory = memory_of(entry_of(run), run, inputs, device.backend());
  note_packed_files(memory, inputs);
  memory.other_bytes += diagnostics_bytes(run, memory);
  std::size_t const made_slabs = slab_memory(run, memory, device.backend()).device;
  // Fields that are too large for the device have no copy aside there.
  double const left = memory.trip_steps > 0
                          ? 0
                          : static_cast<double>(device.free_memory()) - total(memory) -
                                static_cast<double>(made_slabs) - spare_device_bytes;
  result.room = room_for(run, memory, device.backend(), left);
  // What files are read through is gone before the first snapshot is set aside.
  if (device.backend() == Backend::cuda)
    memory.other_bytes +=
        std::max(memory.slab_bytes, result.room.bytes + made_slabs) - result.room.bytes;
  result.device_bytes = memory.bytes() + result.room.bytes;
  result.rank_bytes = memory.rank_bytes;
  result.host_bytes = host_bytes(run, memory, device.backend());
  // Before a step is looked for, which needs values at every point.
  require_memory(run, device, memory, result);
  if (auto problems = file_problems(run, memory.sources, inputs); !problems.empty())
    throw ConfigError(problems);
  forecast_time(
      run, [&] { return first_step_of(run, stream, inputs, made); }, result);
  forecast_disk(run, memory, result);
  if (memory.trip_steps > 0)
    result.slabs =
        memory.trips.empty()
            ? memory.slabs
            : fmt::format("{}, {:.0f} {} at least", memory.slabs,
                          std::ceil(result.steps / static_cast<double>(memory.trip_steps)),
                          memory.trips);
  return result;
}

double least_seconds(config::RunConfig const& run, Forecast const& expected, Device const& device) {
  constexpr double launch_seconds = 2e-6;
  constexpr std::size_t most_bytes = std::size_t{8} << 20;
  auto const memory = memory_of(entry_of(run), run, inputs_of(run), device.backend());
  Stream stream(device);
  std::size_t const bytes = std::clamp<std::size_t>(memory.array_bytes, 4096, most_bytes);
  Buffer<std::byte> source(stream, MemorySpace::device, bytes);
  Buffer<std::byte> target(stream, MemorySpace::device, bytes);
  zero_async(source.span(), stream);
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    Event start(device), stop(device);
    stream.record(start);
    copy_async(target.span(), std::as_const(source).span(), stream);
    stream.record(stop);
    fastest = std::min(fastest, elapsed_seconds(start, stop));
  }
  double const bandwidth = 2 * static_cast<double>(bytes) / std::max(fastest, 1e-9);
  // Of several ranks, only the parts are gone through.
  auto const bytes_of_step = static_cast<double>(
      memory.rank_bytes > 0 ? memory.rank_bytes : memory.bytes() + memory.host_bytes);
  return expected.steps * std::max(launch_seconds, bytes_of_step / bandwidth);
}

std::string disk_warning(config::RunConfig const& run, Forecast const& expected) {
  auto const room = disk_room(run.output.directory);
  double const needed = expected.output_bytes + expected.checkpoint_bytes;
  if (needed <= room.bytes) return {};
  return fmt::format("the results will take {} in {}, {} {}", format_bytes(needed),
                     run.output.directory.string(),
                     room.quota ? "the quota leaves" : "the disk has",
                     format_bytes(room.bytes) + (room.quota ? "" : " free"));
}

}  // namespace gridstride
