#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gridstride {

/// Where a simulation puts its state, by name. Arrays are in host memory.
class CheckpointSink {
 public:
  virtual ~CheckpointSink() = default;
  virtual void put(std::string_view name, std::int64_t value) = 0;
  virtual void put(std::string_view name, double value) = 0;
  virtual void put(std::string_view name, std::span<float const> values) = 0;
  virtual void put(std::string_view name, std::span<double const> values) = 0;
};

/// Where a simulation gets it back. Each throws `IoError` when there is no such value, or an array
/// has another size or type.
class CheckpointSource {
 public:
  virtual ~CheckpointSource() = default;
  virtual void get(std::string_view name, std::int64_t& value) const = 0;
  virtual void get(std::string_view name, double& value) const = 0;
  virtual void get(std::string_view name, std::span<float> values) const = 0;
  virtual void get(std::string_view name, std::span<double> values) const = 0;
};

}  // namespace gridstride
