#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/visitor.hpp"
#include "core/buffer.hpp"
#include "driver/simulation_infos.hpp"
#include "kernels/families.hpp"
#include "model/entry.hpp"
#include "model/one_shot.hpp"
#include "model/reading.hpp"

/// Simulations for tests of what the six real ones do not have: vector fields, fields on grids of
/// their own, tables that have other rows at each output, and no field at all.
namespace gridstride::test {

struct SwirlParameters final : config::ParameterSet {
  double break_at = 1e9;

  void fields(config::Visitor& visitor, config::RunOptions const&) override {
    visitor.visit({.name = "break_at", .unit = "s", .documentation = "When q.y is NaN somewhere."},
                  break_at);
  }
};

/// q turns: q_x = a·cos t − b·sin t, q_y = a·sin t + b·cos t with its first values a and b. On a
/// line from 0 to 2 with 5 points, w = (x·t, t). The table `peaks` has step % 4 rows, i = 0, 1, …
/// and value = i·t.
template <class T>
class Swirl final : public Simulation {
 public:
  static constexpr std::int64_t line_points = 5;
  static Grid line() { return {.points = {line_points, 1, 1}, .spacing = {0.5, 1, 1}}; }

  Swirl(config::RunConfig const& run, Stream const& stream, Inputs const& inputs)
      : run_(run),
        stream_(stream),
        break_at_(parameters_as<SwirlParameters>(run).break_at),
        first_(static_cast<std::size_t>(2 * run.grid.size())),
        kept_(stream_, MemorySpace::device, first_.size()),
        q_(stream_, MemorySpace::device, first_.size()),
        w_(stream_, MemorySpace::device, 2 * line_points) {
    auto const& source = run.initial.at("q");
    if (!source.file.empty()) {
      first_ = read_numbers(source, inputs);
    } else {
      for (std::size_t i = 0; i < first_.size(); ++i) {
        auto const at = run.grid.indices(static_cast<std::int64_t>(i / 2));
        first_[i] = source.components[i % 2].expression.evaluate(
            run.grid.coordinate(0, at[0]), run.grid.coordinate(1, at[1]), 0, 0);
      }
    }
    copy_async(kept_.span(), std::span<double const>(first_), stream_);
    stream_.synchronize();
    place();
  }

  Clock clock() const override { return clock_; }
  bool finished() const override { return clock_.time >= run_.time.end; }
  void advance(std::int64_t max_steps, double until) override {
    for (std::int64_t i = 0; i < max_steps && clock_.time < until; ++i)
      clock_ = {clock_.step + 1, std::min(until, clock_.time + run_.time.step.value_or(0.25))};
    place();
  }
  std::vector<Field> fields() const override {
    return {{"q", "m/s", run_.grid, precision_of<T>(), q_.data(), 2},
            {"w", "1", line(), precision_of<T>(), w_.data(), 2}};
  }
  std::vector<Table> tables() const override {
    std::vector<std::int64_t> index;
    std::vector<double> value;
    for (std::int64_t i = 0; i < clock_.step % 4; ++i) {
      index.push_back(i);
      value.push_back(static_cast<double>(i) * clock_.time);
    }
    return {{"peaks", {{"value", "m/s", value}, {"index", "1", index}}}};
  }

  void save(CheckpointSink& sink) const override {
    sink.put_integer("step", clock_.step);
    sink.put_real("time", clock_.time);
    sink.put_array("first", kept_.span(), stream_);
  }
  void load(CheckpointSource const& source) override {
    clock_ = {source.get_integer("step"), source.get_real("time")};
    source.get_array("first", kept_.span(), stream_);
    copy_async(std::span(first_), std::as_const(kept_).span(), stream_);
    stream_.synchronize();
    place();
  }

 private:
  /// The values at the present time.
  void place() {
    double const cosine = std::cos(clock_.time), sine = std::sin(clock_.time);
    std::vector<T> q(first_.size()), w(w_.size());
    for (std::size_t i = 0; i < q.size(); i += 2) {
      q[i] = static_cast<T>(first_[i] * cosine - first_[i + 1] * sine);
      q[i + 1] = static_cast<T>(first_[i] * sine + first_[i + 1] * cosine);
    }
    if (clock_.time >= break_at_)
      q[static_cast<std::size_t>(2 * (1 + run_.grid.points[0] * 2) + 1)] =
          std::numeric_limits<T>::quiet_NaN();
    for (std::size_t i = 0; i < w.size(); i += 2) {
      w[i] = static_cast<T>(0.25 * static_cast<double>(i) * clock_.time);
      w[i + 1] = static_cast<T>(clock_.time);
    }
    copy_async(q_.span(), std::span<T const>(q), stream_);
    copy_async(w_.span(), std::span<T const>(w), stream_);
    stream_.synchronize();
  }

  config::RunConfig const& run_;
  mutable Stream stream_;
  Clock clock_;
  double break_at_;
  std::vector<double> first_;
  Buffer<double> kept_;  ///< the same, where checkpoints take it
  Buffer<T> q_, w_;
};

inline MemoryForecast swirl_memory(config::RunConfig const& run, Inputs const&, Backend) {
  std::size_t const field = static_cast<std::size_t>(run.grid.size()) * size_of(run.precision);
  std::size_t const line = 2 * Swirl<double>::line_points * size_of(run.precision);
  return {.array_bytes = 2 * field,
          .arrays = 1,
          .array_name = "q",
          .key = "grid.points",
          .field_bytes = field,
          .other_bytes = line + 2 * static_cast<std::size_t>(run.grid.size()) * sizeof(double),
          .own_field_bytes = {{"w", line}}};
}

inline config::SimulationInfo const& swirl() {
  static SimulationEntry const row = [] {
    config::SimulationInfo info;
    info.name = "swirl";
    info.summary = "a vector field that turns";
    info.fields = {{.name = "q", .unit = "m/s", .documentation = "turns", .components = {"x", "y"}},
                   {.name = "w", .components = {"a", "b"}, .own_grid = true}};
    info.kernels = {{"evaluate", variant_names("evaluate")}};
    info.sides = {SideKind::free, SideKind::periodic};
    return entry<Swirl, SwirlParameters>(
        {.info = info,
         .memory = swirl_memory,
         .time_step = [](config::RunConfig const& run, Inputs const&, Device const&) {
           return run.time.step.value_or(0.25);
         }});
  }();
  static config::SimulationInfo const info = info_of(row);
  return info;
}

struct PeaksParameters final : config::ParameterSet {
  std::int64_t lines = 2;

  void fields(config::Visitor& visitor, config::RunOptions const&) override {
    visitor.visit({.name = "lines", .documentation = "How many fields.", .maximum = 2}, lines);
  }
  std::vector<config::FieldInfo> fields_of(config::RunOptions const&) const override {
    std::vector<config::FieldInfo> all = {{.name = "a"}, {.name = "b", .own_grid = true}};
    all.resize(static_cast<std::size_t>(lines));
    return all;
  }
};

/// Without a grid and without time: up to two fields of 3 and 4 points, all 7, and three peaks.
template <class T>
class Peaks final : public OneShot {
 public:
  Peaks(config::RunConfig const& run, Stream const& stream, Inputs const&)
      : OneShot(stream, {"find"}), values_(stream_, MemorySpace::device, 4) {
    std::vector<T> const sevens(4, T(7));
    copy_async(values_.span(), std::span<T const>(sevens), stream_);
    stream_.synchronize();
    lines_ = parameters_as<PeaksParameters>(run).lines;
  }
  std::vector<Field> fields() const override {
    std::vector<Field> all = {{"a", "1", {.points = {3, 1, 1}}, precision_of<T>(), values_.data()},
                              {"b", "1", {.points = {4, 1, 1}}, precision_of<T>(), values_.data()}};
    all.resize(static_cast<std::size_t>(lines_));
    return all;
  }
  std::vector<Table> tables() const override { return {{"peaks", {{"index", "1", peaks_}}}}; }

 private:
  void compute() override { peaks_ = {2, 3, 5}; }

  Buffer<T> values_;
  std::int64_t lines_;
  std::vector<std::int64_t> peaks_;
};

inline config::SimulationInfo const& peaks() {
  static SimulationEntry const row = [] {
    config::SimulationInfo info;
    info.name = "peaks";
    info.summary = "three peaks";
    info.has_grid = false;
    info.has_time = false;
    return entry<Peaks, PeaksParameters>(
        {.info = info, .memory = [](config::RunConfig const& run, Inputs const&, Backend) {
           std::size_t const number = size_of(run.precision);
           return MemoryForecast{.array_bytes = 4 * number,
                                 .arrays = 1,
                                 .array_name = "values",
                                 .key = "parameters.lines",
                                 .field_bytes = 3 * number,
                                 .own_field_bytes = {{"b", 4 * number}}};
         }});
  }();
  static config::SimulationInfo const info = info_of(row);
  return info;
}

}  // namespace gridstride::test
