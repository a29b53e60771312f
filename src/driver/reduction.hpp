#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/run_config.hpp"
#include "core/buffer.hpp"
#include "core/field_sink.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "io/slabs.hpp"
#include "model/simulation.hpp"

/// What files hold of a run's fields: `output.precision` and `output.every_nth_point`.
namespace gridstride {

/// The points of the grid that are written.
Grid written_grid(config::RunOptions const& run);

/// A field as files hold it: where it lies on the grid of the file, the points that are written; in
/// the precision of output where that is less. Its data are those of the field.
Field written_form(config::RunOptions const& run, Field const& field);

/// Bytes of the same for a field that takes so many in memory.
std::size_t written_bytes(config::RunOptions const& run, config::FieldInfo const& field,
                          std::size_t bytes);

/// Makes written fields of one moment on their way to files.
class Reducer {
 public:
  /// For up to so many fields, in the memory of the stream's device. All outlives it.
  Reducer(config::RunOptions const& run, Stream& stream, std::size_t fields);

  /// What makes the slabs of a field that is written otherwise than it is; null for others, and for
  /// those without data.
  io::Slabs::Make make(Field const& field);
  /// To be called when all slabs are made. Throws `NumericalError` for the first value that the
  /// precision of output does not reach.
  void check(Clock const& clock);

 private:
  config::RunOptions const& run_;
  Stream& stream_;
  Buffer<std::int64_t> beyond_;
  std::vector<Field> fields_;
};

/// Rounds float64 values on their way to a sink of float32, for a field that a simulation writes
/// itself at the points that are written; throws `NumericalError` as above. Pieces hold whole values.
std::unique_ptr<FieldSink> rounding_sink(config::RunOptions const& run, FieldSink& target,
                                         Field const& field, Clock const& clock);

}  // namespace gridstride
