#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/field_sink.hpp"
#include "core/precision.hpp"
#include "core/stream.hpp"

namespace gridstride {

/// Takes the named values from which a simulation can go on. Names are unique within a checkpoint;
/// a '/' in them groups. Throws `IoError`.
class CheckpointSink {
 public:
  virtual ~CheckpointSink() = default;

  virtual void put_integer(std::string_view name, std::int64_t value) = 0;
  virtual void put_real(std::string_view name, double value) = 0;
  virtual void put_text(std::string_view name, std::string_view text) = 0;
  /// Arrays lie in the memory of the stream's device, and are there when what is queued on it is
  /// done. They may be looked at until the simulation goes on.
  virtual void put_array(std::string_view name, std::span<float const> values, Stream& stream) = 0;
  virtual void put_array(std::string_view name, std::span<double const> values, Stream& stream) = 0;
  /// An array of at least one value, of which several processes have parts: all of them call it, the
  /// first one with a sink of files, and `write` has all of them put it there.
  using WriteParts = std::function<void(FieldSink* of_first)>;
  virtual void put_parts(std::string_view name, Precision precision, std::uint64_t values,
                         WriteParts const& write);
};

inline void CheckpointSink::put_parts(std::string_view, Precision, std::uint64_t,
                                      WriteParts const&) {
  throw std::logic_error("a sink that takes no parts of arrays");
}

/// Gives back, bit for bit, what a `CheckpointSink` took. Throws `IoError` when there is no value
/// of that name, type and size.
class CheckpointSource {
 public:
  virtual ~CheckpointSource() = default;

  virtual bool contains(std::string_view name) const = 0;
  virtual std::int64_t get_integer(std::string_view name) const = 0;
  virtual double get_real(std::string_view name) const = 0;
  virtual std::string get_text(std::string_view name) const = 0;
  /// Fills an array in the memory of the stream's device.
  virtual void get_array(std::string_view name, std::span<float> out, Stream& stream) const = 0;
  virtual void get_array(std::string_view name, std::span<double> out, Stream& stream) const = 0;
  /// Of an array of which several processes have parts, `fill` has all of them get theirs: by slabs of
  /// files, which on the first one `read` fills, each once; elsewhere that is null.
  using ReadSlab = std::function<void(std::uint64_t first_byte, std::span<std::byte> slab)>;
  using FillParts = std::function<void(ReadSlab const& read)>;
  virtual void get_parts(std::string_view name, Precision precision, std::uint64_t values,
                         FillParts const& fill) const;
};

inline void CheckpointSource::get_parts(std::string_view, Precision, std::uint64_t,
                                        FillParts const&) const {
  throw std::logic_error("a source that gives no parts of arrays");
}

}  // namespace gridstride
