#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace gridstride::io {

/// One file of a time series.
struct SeriesEntry {
  double time;
  std::string file;  ///< relative to the .pvd file's folder
};

/// A collection file (`.pvd`), the list of a time series that ParaView opens. It grows by an entry
/// at a time and is valid at every moment: it holds blank room before its end, which an entry takes
/// as text at first and becomes one by its last byte, the `<` before it. When the room is used up,
/// the file is written anew with a quarter of its size as room, so that n entries cost about 5n.
/// All functions throw `IoError`, also when another program took the file away or cut it.
class Collection {
 public:
  /// Writes the file anew, all of it or nothing.
  Collection(std::filesystem::path path, std::vector<SeriesEntry> entries);

  void append(SeriesEntry entry);
  /// Takes the room out of the file.
  void finish();
  std::size_t size() const { return entries_.size(); }

 private:
  void write(std::size_t room);

  std::filesystem::path path_;
  std::vector<SeriesEntry> entries_;
  std::size_t next_ = 0;  ///< where the room begins
  std::size_t end_ = 0;   ///< where it ends
};

/// The times of a collection that `Collection` wrote. Throws `IoError` when the file is missing,
/// cut or another program's.
std::vector<double> read_pvd_times(std::filesystem::path const& path);

}  // namespace gridstride::io
