#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grid/checkpoint.hpp"
#include "io/slabs.hpp"

namespace gridstride::io {

/// What a checkpoint is of.
struct CheckpointOrigin {
  std::string problem;  ///< the text that decides the computation
  std::int64_t step = 0;
  double time = 0;
};

/// A value that a checkpoint holds.
struct CheckpointValue {
  std::string name;
  std::int64_t size = 0;  ///< how many numbers; 1 for a text
};

/// Writes what `save` puts, and what it belongs to; arrays go through the slabs, from the memory of
/// their device. The file is complete or absent; an older one of that name goes when the new one is
/// safe. Throws `IoError`.
void write_checkpoint(std::filesystem::path const& path, CheckpointOrigin const& origin,
                      std::function<void(CheckpointSink&)> const& save, Slabs& slabs);

/// Whether a path has the name of a checkpoint.
bool is_checkpoint(std::filesystem::path const& path);

/// A checkpoint, opened for reading. Every value is checked against its checksum when it is got.
/// Throws `IoError` when the file is missing, damaged or no checkpoint.
class CheckpointFile {
 public:
  explicit CheckpointFile(std::filesystem::path const& path);
  CheckpointFile(CheckpointFile&&) noexcept;
  CheckpointFile& operator=(CheckpointFile&&) noexcept;
  ~CheckpointFile();

  std::filesystem::path const& path() const;
  CheckpointOrigin const& origin() const;
  /// Lets `load` get the values.
  void read(std::function<void(CheckpointSource const&)> const& load) const;
  /// Reads all values, and lists them in alphabetic order.
  std::vector<CheckpointValue> inspect() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gridstride::io
