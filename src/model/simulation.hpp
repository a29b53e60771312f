#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.hpp"
#include "core/csr.hpp"
#include "core/field_sink.hpp"
#include "core/named_value.hpp"
#include "core/number_source.hpp"
#include "core/own_places.hpp"
#include "core/stream.hpp"
#include "grid/checkpoint.hpp"
#include "grid/grid.hpp"
#include "grid/histogram.hpp"
#include "grid/table.hpp"

namespace gridstride {

/// Where a simulation is: steps done, and the time they reached (s).
struct Clock {
  std::int64_t step = 0;
  double time = 0;
  std::int64_t rejected = 0;  ///< steps that were tried and had too large an error
};

/// A number that the device finds: `factor` times what lies at `data`, in its memory.
struct DeviceNumber {
  std::string name;
  double const* data = nullptr;
  double factor = 1;
};

/// Where all values of a field go that a simulation writes itself.
struct FieldTarget {
  std::string field;
  FieldSink* sink;
};

/// What is known of numbers at all points that nobody has as a whole; of `sum` and `sum_of_squares` those of its values
/// times 2^-exponent, and of `plain_sum` that of the values. `at` has those that were asked for (`NumberLook`).
struct FieldMoments {
  double minimum = 0, maximum = 0, sum = 0, sum_of_squares = 0;
  int exponent = 0;
  double plain_sum = 0;
  std::vector<double> at = {};
};

/// What a run's diagnostics found at one moment.
struct Measurement {
  std::vector<NamedValue> values;
  std::vector<Histogram> histograms;
};

/// What ranks find of fields that nobody has as a whole.
struct FoundByParts {
  std::vector<FieldMoments> moments =
      {};  ///< number by number; of a vector its components, then its length
  Measurement measured = {};
};

template <class T>
struct OwnParts;

/// Finds what a run's diagnostics ask for of fields of which each rank has a part. All ranks call it at
/// once; the first one then has what is found. Throws `NumericalError` on all of them.
class PartsFinder {
 public:
  virtual ~PartsFinder() = default;
  virtual void find(OwnParts<float> const& parts, FoundByParts& found) = 0;
  virtual void find(OwnParts<double> const& parts, FoundByParts& found) = 0;
};

/// What is asked of such numbers.
struct NumberLook {
  bool is_asked_for = false;              ///< anything
  std::vector<std::int64_t> places = {};  ///< points whose values are
};

/// How processes that share a run put what they have into files of the first one.
struct OwnFiles {
  /// Why they cannot, the same on all of them: the first one writes what the others send it; or empty.
  std::string lack;
  OwnPlaces::Open open;
  /// For each field what diagnostics ask of it; of a vector for each component, and then for its length.
  std::vector<NumberLook> looks = {};
  /// And what finds it; null where there are no diagnostics.
  std::shared_ptr<PartsFinder> finder = {};
};

/// How far a computation without time is.
struct Headway {
  std::string part;  ///< of the computation: "pass 2 of 4"
  double share = 0;  ///< of that part that is done, up to 1
  double bytes = 0;  ///< of data that went by in it so far
};

/// One simulation. Valid once constructed. Work is queued on the stream it was made with.
class Simulation {
 public:
  virtual ~Simulation() = default;

  virtual Clock clock() const = 0;
  virtual bool finished() const = 0;
  /// Why it is finished before the end of its time, in words; else empty.
  virtual std::string ending() const { return {}; }
  /// The step that it begins with (s), of one whose row in the table tells it not
  /// (`SimulationEntry::time_step`). Throws `ConfigError` where there is none.
  virtual double first_step() { return 0; }
  /// Queues up to `max_steps` steps, never past `until`; the step that would pass it is shortened
  /// to land on it. Does not wait for the device. Without time, the one step is the whole
  /// computation, which is done when this returns.
  virtual void advance(std::int64_t max_steps, double until) = 0;
  /// The same for who comes again until the moment is reached: fewer steps, at least one, where the
  /// last ones might be a part of what is best queued as a whole.
  virtual void advance_whole_batches(std::int64_t max_steps, double until) {
    advance(max_steps, until);
  }
  /// So many steps take no longer than one.
  virtual std::int64_t steps_at_once() const { return 1; }
  /// What is written: fields on the grid of the file, or where there is none on that of the first
  /// one, and those on grids of their own (`config::FieldInfo::own_grid`). The views hold until the
  /// next `advance`. Fields without data are those that the simulation writes itself, which it sees
  /// to be finite.
  virtual std::vector<Field> fields() const = 0;
  /// Whether the arrays of `fields` and `save` that lie in the host's memory stay as they are while
  /// steps go on: until `before_change` is called, in the thread that computes, by which they have to
  /// be free. It does not throw.
  virtual bool keeps_fields(std::function<void()> /*before_change*/) { return false; }
  /// Where such fields go, each perhaps to several places: they are there until the computation,
  /// which is one without time, is done.
  virtual void write_to(std::vector<FieldTarget> const&) {}
  /// Of one that several processes share: whether each puts its part of the fields and of what `save` gives
  /// into files. Then `fields_in_parts` are all that is written, without data, and nothing looks at the
  /// whole for that.
  virtual bool has_parts() const { return false; }
  virtual std::vector<Field> fields_in_parts() const { return {}; }
  /// All processes call it, once before any of what follows.
  virtual void share_files(OwnFiles) {}
  /// All processes call it, the first one with sinks of the fields, to have them written as they are now.
  /// Where they are `measured`, too, it returns on the first one what the run's diagnostics find, and what
  /// `measure` finds is found then. Throws `FailedTogether`, for a value that is not finite, too
  /// (`NumericalError`).
  virtual FoundByParts write_parts(std::vector<FieldTarget> const&, bool /*measured*/) {
    return {};
  }
  /// All processes call it, each with a finder, which finds what it looks for in the fields as they are now. Their
  /// extremes are not found for it (`OwnParts`).
  virtual void compare_parts(PartsFinder&) {}
  /// Whom a computation without time tells how far it is, now and then, in the thread that computes.
  virtual void tell_headway(std::function<void(Headway const&)>) {}
  /// What diagnostics look at beside the fields, in the simulation's own language
  /// (`config::Language`). The views hold as those of the fields do.
  virtual std::vector<Field> quantities() const { return {}; }
  /// Tables that are written too: the same ones with the same columns at every moment, with as many
  /// rows as there are then; none before anything is computed.
  virtual std::vector<Table> tables() const { return {}; }
  /// Where the formulas of `verify.exact` for a field are evaluated: as many points as it has.
  virtual Grid formula_grid(Field const& field) const { return field.grid; }

  /// Numbers that it found on the way, by the same names at every moment; NaN where unknown.
  virtual std::vector<NamedValue> diagnostics() const { return {}; }
  /// Numbers of the present state that the device finds, by the same names at every moment. Queues
  /// what finds them and does not wait; they are there once that is done, until the next call. Of one that
  /// `has_parts` those of the moment that `write_parts` was called at last.
  virtual std::vector<DeviceNumber> measure() { return {}; }
  /// Values of arrays of the whole grid that are read or written for each point and step, at least.
  virtual double values_per_update() const { return 2; }
  /// What the config left to it, and what it took.
  virtual std::vector<NamedText> chosen() const { return {}; }
  /// What it did otherwise than asked so far, a line each.
  virtual std::vector<std::string> fallbacks() const { return {}; }

  /// What the result lacks of what was asked for, a sentence; empty when nothing. The run writes
  /// the result all the same, and fails.
  virtual std::string shortfall() const { return {}; }

  /// Everything needed to go on later with the same bits; not called without time.
  virtual void save(CheckpointSink&) const {}
  virtual void load(CheckpointSource const&) {}
};

/// What was read of files, and how long it took, until the values were in their place.
struct Reading {
  double bytes = 0, seconds = 0;
  double rate() const { return seconds > 0 ? bytes / seconds : 0; }
};

/// Where points lie along an axis.
struct AxisPlaces {
  double lower = 0;  ///< of the first one
  double spacing = 1;
};

/// The files that a config names. The driver provides these functions, so that simulations know
/// nothing of files. They throw `ConfigError` at the source's place in the config; so does what
/// `open` returns. model/reading.hpp is the way to use them.
struct Inputs {
  /// Extents, the slowest axis first.
  std::function<std::vector<std::int64_t>(config::FieldSource const&)> shape;
  std::function<std::unique_ptr<NumberSource>(config::FieldSource const&)> open;
  /// Throws for a number that is not finite, which tells its place.
  std::function<void(config::FieldSource const&, std::int64_t place, double value)> refuse;
  /// What is known of a sparse matrix: a Matrix Market file in the format `coordinate`, or a group
  /// of an HDF5 file. Nothing for any other source.
  std::function<std::optional<SparseExtents>(config::FieldSource const&)> sparse_extents;
  std::function<Csr<double>(config::FieldSource const&)> read_sparse;
  /// Where a rank puts bytes of a field that the first one writes (`FieldSink::share`). Throws
  /// `IoError` where it sees no such file, or another one.
  OwnPlaces::Open open_places;
  /// Of another run's result, where its points lie along each axis, from the fastest on; nothing
  /// along that of a vector's components. Empty for any other source.
  std::function<std::vector<std::optional<AxisPlaces>>(config::FieldSource const&)> places;
  std::shared_ptr<Reading> reading = std::make_shared<Reading>();
};

/// Device memory that a run will need, before any is taken.
struct MemoryForecast {
  std::size_t array_bytes = 0;    ///< one of the largest arrays
  std::int64_t arrays = 0;        ///< how many of them
  std::string array_name;         ///< what they hold: "u"
  std::string key;                ///< what of the config decides it: "grid.points"
  std::size_t field_bytes = 0;    ///< a field with one number at each point of the common grid
  std::size_t other_bytes = 0;    ///< all else
  std::size_t host_bytes = 0;     ///< on the host, as long as it runs
  std::size_t saved_bytes = 0;    ///< of a checkpoint
  std::size_t saved_arrays = 0;   ///< how many those are
  std::size_t reading_bytes = 0;  ///< on the host, while a file is read
  std::size_t slab_bytes = 0;     ///< of a GPU meanwhile
  std::size_t looking_bytes = 0;  ///< on the host, while values of a formula are looked at before
  std::vector<config::FieldSource> sources = {};  ///< the files that are read so
  /// Of the fields on grids of their own.
  std::map<std::string, std::size_t, std::less<>> own_field_bytes = {};
  /// Fields that go to files while they are made, through memory that is counted above.
  std::vector<std::string> streamed = {};
  /// Of a grid that is larger than the device, or shared by ranks: the most steps that are made for
  /// each trip there, or exchange; what those are called; how the grid is cut, in words. 0: it is
  /// not.
  std::int64_t trip_steps = 0;
  std::string trips = {};
  std::string slabs = {};
  /// Of ranks: what each takes of its device, and how many others are on that of the first.
  std::size_t rank_bytes = 0;
  int ranks_beside = 0;
  std::string beyond = {};  ///< why a grid could not go there so, were it larger

  std::size_t bytes() const { return array_bytes * static_cast<std::size_t>(arrays) + other_bytes; }
  /// What other ranks take of the same device.
  std::size_t bytes_beside() const { return rank_bytes * static_cast<std::size_t>(ranks_beside); }
  /// What one of the run's fields takes.
  std::size_t bytes_of(config::FieldInfo const& field) const {
    if (auto const own = own_field_bytes.find(field.name); own != own_field_bytes.end())
      return own->second;
    return field_bytes * std::max<std::size_t>(1, field.components.size());
  }
};

}  // namespace gridstride
