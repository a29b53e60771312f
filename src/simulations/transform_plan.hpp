#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "simulations/transform_endings.hpp"
#include "simulations/transform_engine.hpp"
#include "simulations/transform_reductions.hpp"

namespace gridstride::transform {

/// What a run does to its data, and what it takes of a device, before any is taken.
struct Plan {
  Chain chain;
  Sought sought;
  std::vector<std::string> names;        ///< of what is written or compared
  Endings endings;                       ///< those of them
  std::vector<std::string> wanted = {};  ///< those that are arrays
  bool keeps = true;  ///< whether these stay in device memory; else they go to files chunk by chunk
  std::vector<Picked> picked = {};  ///< tables that are written
  Files files = {};                 ///< of each array that comes from one
  Load load = {};
  Cut cut = {};
  /// Of each array that comes from a file, the rows that stay in device memory for passes after the
  /// first one.
  std::vector<Rows> resident = {};
  std::vector<int> whole = {};  ///< arrays of files that are read as a whole before the first pass
  double table_bytes = 0;       ///< of host memory that tables may take

  /// Throws `ConfigError` where one line does not fit into the limits.
  Plan(config::RunConfig const& run, Inputs const& inputs, Device const& device);

  std::size_t device_bytes() const { return device_bytes_; }
  /// In pinned memory.
  std::size_t host_bytes() const { return host_bytes_; }
  /// The most values that a table can take out of a chunk.
  std::size_t most_picked(Picked const& table) const;
  /// `3.0 GiB of 4.0 GiB`, of what is read again where it does not stay; empty where nothing is.
  std::string kept_text() const;

 private:
  void want(config::RunConfig const& run);
  void open_files(Inputs const& inputs);
  void choose_resident();

  Backend backend_;
  std::size_t fixed_bytes_ = 0;   ///< of device memory: what is kept, and what finders take
  std::size_t device_bytes_ = 0;  ///< in all
  std::size_t host_bytes_ = 0;
  std::size_t handed_bytes_ = 0;  ///< of the host's, what the first rank gets from others
  std::vector<int> later_ = {};   ///< arrays of files that later passes need
};

}  // namespace gridstride::transform
