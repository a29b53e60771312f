#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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
};

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
};

}  // namespace gridstride
