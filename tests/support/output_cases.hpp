#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "driver/output_files.hpp"
#include "driver/output_pipeline.hpp"
#include "driver/prepare.hpp"
#include "io/checkpoint.hpp"
#include "support/heat_cases.hpp"

/// Outputs and checkpoints on their way from any device to files.
namespace gridstride::test {

/// A simulation with an output pipeline in a folder of its own.
struct OutputRun {
  OutputRun(std::string const& yaml, Backend backend, OutputRoom const& room, char const* name,
            int compression = 0)
      : folder(std::filesystem::temp_directory_path() /
               fmt::format("gridstride_output_{}_{}", getpid(), name)),
        config(config_of(yaml + fmt::format("output: {{directory: {}, every: {{count: 1}}, "
                                            "fields: [u], compression: {}}}\n",
                                            folder.string(), compression))),
        stream(Device::open(backend)),
        simulation(entry_of(config).make(config, stream, {})) {
    std::filesystem::create_directories(folder);
    io::Provenance provenance;
    provenance.created = "2026-01-02T03:04:05Z";
    auto const first = snapshot();
    files.emplace(config, first, provenance, std::nullopt);
    pipeline = std::make_unique<OutputPipeline>(config, stream, first, *files, room);
    files->begin();
  }
  OutputRun(OutputRun const&) = delete;
  OutputRun& operator=(OutputRun const&) = delete;
  ~OutputRun() {
    pipeline.reset();
    std::filesystem::remove_all(folder);
  }

  Snapshot snapshot() const {
    return {simulation->clock(), simulation->fields(), simulation->diagnostics(),
            simulation->measure()};
  }
  /// The bytes of all files by name.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (auto const& entry : std::filesystem::directory_iterator(folder)) {
      std::string text(entry.file_size(), ' ');
      std::ifstream(entry.path(), std::ios::binary)
          .read(text.data(), static_cast<std::streamsize>(text.size()));
      all[entry.path().filename().string()] = std::move(text);
    }
    return all;
  }

  std::filesystem::path folder;
  config::RunConfig config;
  Stream stream;
  std::unique_ptr<Simulation> simulation;
  std::optional<OutputFiles> files;
  std::unique_ptr<OutputPipeline> pipeline;
};

/// Each field and its state have several slabs.
inline std::string output_case(char const* simulation) {
  return fmt::format(
      "simulation: {}\ngrid: {{points: [1500, 1201]}}\ninitial: {{u: \"exp(-9*(x^2 + y^2))\"}}\n"
      "parameters: {{{}: 1}}\ntime: {{end: 1, step: 5e-8}}\ncheckpoint: {{every: {{steps: 5}}}}\n",
      simulation, std::string(simulation) == "heat" ? "diffusivity" : "speed");
}

/// With a place aside in the device's memory or without one, the same bits reach the files, though
/// the simulation goes on at once.
inline void expect_same_files_with_and_without_room(Backend backend) {
  for (char const* simulation : {"heat", "wave"}) {
    SCOPED_TRACE(simulation);
    auto const yaml = output_case(simulation);
    std::size_t const bytes = std::size_t{1500} * 1201 * sizeof(double) + 4096;
    std::map<std::string, std::string> expected;
    for (bool const snapshots : {false, true})
      for (bool const states : {false, true}) {
        OutputRoom room;
        room.snapshots = snapshots;
        room.states = states;
        room.bytes = states ? 4 * bytes : snapshots ? bytes : 0;
        OutputRun run(yaml, backend, room, "room");
        for (int i = 0; i < 4; ++i) {
          run.pipeline->submit(run.snapshot());
          if (i % 2 == 1) run.pipeline->submit_state(*run.simulation);
          run.simulation->advance(5, 1);
        }
        run.pipeline->drain();
        run.files->finish({});
        auto const found = run.contents();
        EXPECT_EQ(found.size(), 4U + 1 + 1 + 1 + 2);  // .vti; .pvd, .h5, .log, checkpoints
        if (expected.empty()) expected = found;
        for (auto const& [name, text] : found)
          EXPECT_TRUE(text == expected[name]) << name << ", room " << snapshots << states;
        for (auto const& [name, text] : found) {
          if (!name.ends_with(".checkpoint")) continue;
          EXPECT_NO_THROW(io::CheckpointFile(run.folder / name).inspect());
        }
      }
  }
}

/// The arrays of another simulation in the host's memory, as the first of several ranks has them: they
/// change when they are gathered.
class Gathered final : public Simulation {
 public:
  Gathered(Simulation& of, Stream const& stream)
      : of_(of),
        stream_(stream),
        u_(stream_, MemorySpace::pinned,
           static_cast<std::size_t>(of.fields().front().grid.size())) {}

  void gather() {
    copy_async(u_.span(),
               std::span(static_cast<double const*>(of_.fields().front().data), u_.size()),
               stream_);
    stream_.synchronize();
  }
  Clock clock() const override { return of_.clock(); }
  bool finished() const override { return of_.finished(); }
  void advance(std::int64_t steps, double until) override { of_.advance(steps, until); }
  std::vector<Field> fields() const override {
    auto fields = of_.fields();
    fields.front().data = u_.data();
    return fields;
  }
  void save(CheckpointSink& sink) const override {
    StateRecord record;
    of_.save(record);
    record.for_each_array([&](std::string const&, StateRecord::Array& array) {
      array.data = reinterpret_cast<std::byte const*>(u_.data());
    });
    record.give(sink, stream_);
  }

 private:
  Simulation& of_;
  mutable Stream stream_;
  Buffer<double> u_;
};

/// Arrays that stay where they are change as soon as they are copied out, and files have what they were
/// before. They are packed, which takes long.
inline void expect_files_of_what_stays(Backend backend) {
  std::map<std::string, std::string> expected;
  for (bool const stays : {false, true}) {
    OutputRoom room;
    room.stays = stays;
    OutputRun run(output_case("heat"), backend, room, "stays", 9);
    Gathered gathered(*run.simulation, run.stream);
    for (int i = 0; i < 4; ++i) {
      gathered.gather();
      run.pipeline->submit({gathered.clock(), gathered.fields()});
      if (i % 2 == 1) run.pipeline->submit_state(gathered);
      gathered.advance(5, 1);
      run.pipeline->await_copies();
    }
    gathered.gather();
    run.pipeline->drain();
    run.files->finish({});
    auto const found = run.contents();
    EXPECT_EQ(found.size(), 4U + 1 + 1 + 1 + 2);  // .vti; .pvd, .h5, .log, checkpoints
    if (!stays) expected = found;
    for (auto const& [name, text] : found)
      EXPECT_TRUE(text == expected[name]) << name << ", stays " << stays;
  }
}

/// A state with a value that is not finite leaves the checkpoints before it alone.
inline void expect_no_checkpoint_of_what_is_not_finite(Backend backend) {
  OutputRun run(output_case("heat"), backend, {}, "finite");
  run.pipeline->submit_state(*run.simulation);
  run.simulation->advance(1, 1);
  auto const u = run.simulation->fields().front();
  double const nothing = std::numeric_limits<double>::quiet_NaN();
  auto* const place = static_cast<double*>(const_cast<void*>(u.data)) + 7 + 1500 * 250;
  copy_async(std::span(place, 1), std::span(&nothing, 1), run.stream);
  try {
    run.pipeline->submit_state(*run.simulation);
    run.pipeline->drain();
    FAIL();
  } catch (NumericalError const& error) {
    EXPECT_STREQ(error.what(), "NaN in field 'u' at cell (7, 250, 0), step 1, time 5e-08");
  }
  EXPECT_THROW(run.pipeline->submit_state(*run.simulation), NumericalError);
  auto const found = run.contents();
  EXPECT_EQ(std::ranges::count_if(
                found, [](auto const& file) { return file.first.ends_with(".checkpoint"); }),
            1);
  EXPECT_TRUE(
      std::ranges::none_of(found, [](auto const& file) { return file.first.ends_with(".part"); }));
}

}  // namespace gridstride::test
