#include "driver/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/host_limits.hpp"
#include "core/stream.hpp"
#include "core/text.hpp"
#include "driver/diagnostics.hpp"
#include "driver/formats/format.hpp"
#include "driver/prepare.hpp"
#include "driver/schedule.hpp"
#include "simulations/registry.hpp"

namespace gridstride {

namespace {

constexpr double most_moments = 1e9;

[[noreturn]] void refuse(config::RunConfig const& run, std::string_view key, std::string message) {
  throw ConfigError({run.problem(run.location(key), std::move(message))});
}

/// The step that the run will take; every one of them must bring the time forward.
double time_step_of(config::RunConfig const& run) {
  double const step = entry_of(run).time_step(run, inputs_of(run));
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
  return step;
}

void require_possible(config::RunConfig const& run, std::string_view key, std::string_view what,
                      double count) {
  if (count <= most_moments) return;
  refuse(run, key,
         fmt::format("makes {:.3g} {} (at most {:g} are possible)", count, what, most_moments));
}

void forecast_time(config::RunConfig const& run, Forecast& result) {
  if (!run.simulation->has_time) return;
  Schedule const outputs(run.output.every, run.time.end);
  Schedule const checkpoints(run.checkpoint.every, run.time.end);
  require_possible(run, "output.every", "outputs", outputs.moments());
  require_possible(run, "checkpoint.every", "checkpoints", checkpoints.moments());
  result.time_step = time_step_of(run);
  result.steps = count_steps(outputs, checkpoints, run.time.end, result.time_step);
  result.snapshots += outputs.count(result.steps);
  auto const& every = run.checkpoint.every;
  if (every.time || every.steps || every.count)
    result.checkpoints = checkpoints.count(result.steps);
  require_possible(run, "output.every", "outputs", result.snapshots - 1);
  require_possible(run, "checkpoint.every", "checkpoints", result.checkpoints);
}

/// Bytes of the fields of a snapshot: all, and those that files hold.
struct SnapshotBytes {
  std::size_t all = 0;
  std::size_t written = 0;
};

SnapshotBytes snapshot_bytes(config::RunConfig const& run, MemoryForecast const& memory) {
  SnapshotBytes bytes;
  for (config::FieldInfo const& field : run.fields) {
    bytes.all += memory.bytes_of(field);
    if (std::ranges::count(run.output.fields, field.name) > 0)
      bytes.written += memory.bytes_of(field);
  }
  return bytes;
}

/// What a run takes beside the arrays of the simulation.
struct OutputBytes {
  std::size_t aside;    ///< in the device's memory: of the snapshot that the device sets aside
  std::size_t on_host;  ///< for the files, the verification, and a checkpoint on its way
};

OutputBytes output_bytes(config::RunConfig const& run, MemoryForecast const& memory) {
  auto const [all, written] = snapshot_bytes(run, memory);
  std::size_t largest = 0;
  for (config::FieldInfo const& field : run.fields)
    largest = std::max(largest, memory.bytes_of(field));
  std::size_t const snapshot = !run.verify.exact.empty()     ? all
                               : !run.output.formats.empty() ? written
                                                             : 0;
  return {all, snapshot + (run.simulation->has_time ? largest : 0)};
}

[[noreturn]] void refuse_memory(config::RunConfig const& run, MemoryForecast const& memory,
                                std::string_view device, double free) {
  auto const others = static_cast<double>(memory.other_bytes);
  refuse(run, memory.key,
         fmt::format("{}: {} needs {} x {}{}, the {} has {} free", run.simulation->name,
                     memory.array_name, memory.arrays,
                     format_bytes(static_cast<double>(memory.array_bytes)),
                     others > 0 ? fmt::format(", all else {}", format_bytes(others)) : "", device,
                     format_bytes(free)));
}

double total(MemoryForecast const& memory) {
  return static_cast<double>(memory.array_bytes) * static_cast<double>(memory.arrays) +
         static_cast<double>(memory.other_bytes);
}

/// What the exact solution takes on the host, a piece at a time.
std::size_t verification_bytes(config::RunConfig const& run, MemoryForecast const& memory) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  if (run.verify.exact.empty()) return 0;
  return std::min(memory.field_bytes / size_of(run.precision), piece) * sizeof(double);
}

/// What the simulation needs and the bytes of some fields beside it.
MemoryForecast with_fields(MemoryForecast memory, std::size_t bytes) {
  if (memory.field_bytes == memory.array_bytes && bytes % memory.array_bytes == 0)
    memory.arrays += static_cast<std::int64_t>(bytes / memory.array_bytes);
  else
    memory.other_bytes += bytes;
  return memory;
}

void require_memory(config::RunConfig const& run, Device const& device,
                    MemoryForecast const& memory, Forecast const& expected) {
  auto const output = output_bytes(run, memory);
  bool const cuda = device.backend() == Backend::cuda;
  auto const needed = with_fields(memory, cuda ? output.aside : output.aside + output.on_host);
  auto const free = static_cast<double>(device.free_memory());
  if (total(needed) > free) refuse_memory(run, needed, cuda ? "device" : "host", free);
  auto const host = static_cast<double>(expected.host_bytes);
  auto const host_free = static_cast<double>(free_host_memory());
  if (cuda && host > host_free)
    refuse(run, memory.key,
           fmt::format("{}: {} of host memory are needed for what goes to and from the disk, the "
                       "host has {} free",
                       run.simulation->name, format_bytes(host), format_bytes(host_free)));
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

}  // namespace

Forecast forecast(config::RunConfig const& run, Device const& device) {
  Forecast result;
  auto memory = memory_of(entry_of(run), run, inputs_of(run), device.backend());
  memory.other_bytes += diagnostics_bytes(run);
  auto const output = output_bytes(run, memory);
  bool const cuda = device.backend() == Backend::cuda;
  result.device_bytes = memory.bytes() + (cuda ? output.aside : 0);
  result.host_bytes =
      std::max(output.on_host + (cuda ? 0 : output.aside) + verification_bytes(run, memory),
               memory.reading_bytes);
  // Before a step is looked for, which needs values at every point.
  require_memory(run, device, memory, result);
  forecast_time(run, result);
  forecast_disk(run, memory, result);
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
  return expected.steps * std::max(launch_seconds, static_cast<double>(memory.bytes()) / bandwidth);
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
