#pragma once

#include <hdf5.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "core/file_stamp.hpp"

/// The file under `io/transaction`, for that driver alone.
namespace gridstride::io::hdf5 {

/// Metadata that waits for the commit.
struct Piece {
  H5FD_mem_t kind;
  std::vector<std::byte> bytes;
};

using Pieces = std::map<haddr_t, Piece>;

/// While it is open, a byte that is not zero lies behind all that is written, the mark: another
/// process that cuts the file takes it away, and no later write brings it back.
///
/// Functions throw `std::runtime_error`.
class TransactionFile : public H5FD_t {
 public:
  /// `flags` are those of `H5Fcreate`.
  TransactionFile(char const* name, unsigned flags);
  ~TransactionFile();
  TransactionFile(TransactionFile const&) = delete;
  TransactionFile& operator=(TransactionFile const&) = delete;

  /// That it was opened by.
  std::filesystem::path const& name() const { return name_; }
  haddr_t end() const { return end_; }
  void set_end(haddr_t address) { end_ = address; }
  haddr_t size() const;

  void read(haddr_t address, std::size_t size, std::byte* target) const;
  void write(H5FD_mem_t kind, haddr_t address, std::size_t size, std::byte const* source);
  void commit();

  /// Until `reserved` tells where it would go, raw data is not written.
  void reserve() { reserving_ = true; }
  haddr_t reserved() {
    reserving_ = false;
    return reserved_;
  }
  /// The file gets as long as what is allocated, while other threads may write raw data.
  void extend();
  /// Several threads at a time, between `extend` and `commit`.
  void write_raw(haddr_t address, std::span<std::byte const> bytes);
  /// Other processes of the run write raw data, too, until `end_sharing`; which file this is.
  FileStamp share(std::filesystem::path const& path);
  void end_sharing(bool others_failed);
  /// What another process did to the file of that name; empty when nothing.
  std::string damage(std::filesystem::path const& path) const;

 private:
  void keep(H5FD_mem_t kind, haddr_t address, std::size_t size, std::byte const* source);
  bool is_new(Pieces::value_type const& piece) const;
  void remember(haddr_t start, haddr_t stop);
  void write_new_space();
  void write_in_place();
  void write_together(std::vector<Pieces::value_type const*> const& headers);
  void write_bytes(haddr_t address, std::size_t size, std::byte const* source);
  void require_uncut();
  void put(haddr_t address, std::size_t size, std::byte const* source);
  void synchronize();
  bool is_cut() const;
  int move_mark();
  int try_to_write(haddr_t address, std::span<std::byte const> bytes);
  [[noreturn]] void fail(std::string const& what);
  void give_back();

  std::filesystem::path name_;
  int descriptor_ = -1;
  haddr_t end_ = 0;            ///< of what HDF5 has allocated
  haddr_t committed_end_ = 0;  ///< of the valid file on disk
  haddr_t marked_end_ = 0;     ///< where the mark lies, behind all that is written; 0: nowhere
  Pieces pieces_;
  std::map<haddr_t, haddr_t> committed_;  ///< where metadata of the valid file begins and ends
  bool reserving_ = false;                ///< raw data gets a place and is not written
  haddr_t reserved_ = 0;                  ///< that place
  bool is_shared_ = false;                ///< other processes write: the file gets no shorter
  std::mutex failing_;                    ///< of threads that write raw data
  std::shared_mutex writing_;             ///< held by who writes, alone by who makes it shorter
  std::string failure_;                   ///< once set, nothing more reaches the disk
};

}  // namespace gridstride::io::hdf5
