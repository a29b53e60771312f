#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "core/field_sink.hpp"
#include "io/hdf5.hpp"

namespace gridstride::io::hdf5 {

/// Creates (or replaces) an HDF5 file whose valid contents change only in `commit`.
///
/// HDF5 itself writes its metadata in any order: a kill or a full disk in the middle leaves a file
/// that may not open. This file driver keeps all metadata in memory until the commit. Raw data
/// goes to the disk at once, but only to space that the file on disk does not know of yet. A file
/// that is closed without a commit, or whose commit failed, stays as the last commit left it.
///
/// The result is an ordinary HDF5 file. It is not locked, so others may look at it while it grows.
/// Messages name it `shown`, which it may be called later.
Object create_transaction_file(std::filesystem::path const& path,
                               std::filesystem::path const& shown,
                               H5F_libver_t format = H5F_LIBVER_EARLIEST);

/// Brings all that was written to `file` onto the disk, durably, in an order in which every
/// prefix is a valid file: first new space, then the superblock, heaps, trees from their roots
/// down, and object headers, the latter in one write. Throws `IoError`; from then on the file
/// takes no more.
void commit(Object const& file);

class TransactionFile;

/// New space of a transaction file for raw data, which several threads write at the same time. First
/// all places are reserved, then the space is opened, then it is written. Like all raw data it
/// becomes part of the valid file with the next commit. Throws `IoError`.
class RawSpace {
 public:
  explicit RawSpace(Object const& file);

  /// Reserves a chunk of a dataset that has no filter, or the bytes that filters made of it. `first`
  /// is its first element.
  haddr_t reserve_chunk(Object const& dataset, Shape const& first, std::size_t bytes) const;
  /// The place of a contiguous dataset, which was allocated when it was made.
  static haddr_t place_of(Object const& dataset);
  /// Makes the file as long as what is reserved.
  void open() const;
  /// Reserves a chunk and writes it, any thread at a time: for bytes whose number is not known
  /// before.
  void add_chunk(Object const& dataset, Shape const& first, std::span<std::byte const> bytes) const;
  /// Any thread, without HDF5.
  void write(haddr_t place, std::span<std::byte const> bytes) const;
  /// The same for other processes, which write without this one: as long as they do, the file gets no
  /// shorter. Where one of them fails, it takes no more.
  FilePlaces share(std::vector<Stretch> stretches) const;
  void end_sharing(bool others_failed) const;

 private:
  Object const* file_;
  TransactionFile* transaction_;
};

/// Throws `IoError` when the file no longer has its name, or is shorter than at its last commit:
/// somebody else removed, replaced or cut it.
void require_whole(Object const& file);

}  // namespace gridstride::io::hdf5
