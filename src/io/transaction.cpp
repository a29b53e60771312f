#include "io/transaction.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace gridstride::io::hdf5 {

namespace {

/// Metadata that waits for the commit.
struct Piece {
  H5FD_mem_t kind;
  std::vector<std::byte> bytes;
};

using Pieces = std::map<haddr_t, Piece>;

haddr_t end_of(Pieces::value_type const& piece) { return piece.first + piece.second.bytes.size(); }

constexpr char const* cut_message = "was cut while the run wrote it";

class TransactionFile : public H5FD_t {
 public:
  TransactionFile(char const* name, unsigned flags);
  ~TransactionFile() { ::close(descriptor_); }
  TransactionFile(TransactionFile const&) = delete;
  TransactionFile& operator=(TransactionFile const&) = delete;

  haddr_t end() const { return end_; }
  void set_end(haddr_t address) { end_ = address; }
  haddr_t size() const;
  std::string const& failure() const { return failure_; }

  void read(haddr_t address, std::size_t size, std::byte* target) const;
  void write(H5FD_mem_t kind, haddr_t address, std::size_t size, std::byte const* source);
  void commit();
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
  void synchronize();
  bool is_cut() const;
  [[noreturn]] void fail(std::string const& what);

  int descriptor_ = -1;
  haddr_t end_ = 0;            ///< of what HDF5 has allocated
  haddr_t committed_end_ = 0;  ///< of the valid file on disk
  haddr_t written_end_ = 0;    ///< of all that was written so far
  Pieces pieces_;
  std::map<haddr_t, haddr_t> committed_;  ///< where metadata of the valid file begins and ends
  std::string failure_;                   ///< once set, nothing more reaches the disk
};

TransactionFile::TransactionFile(char const* name, unsigned flags) : H5FD_t{} {
  int const mode = O_RDWR | O_CLOEXEC | (flags & H5F_ACC_CREAT ? O_CREAT : 0) |
                   (flags & H5F_ACC_TRUNC ? O_TRUNC : 0);
  descriptor_ = ::open(name, mode, 0666);
  if (descriptor_ < 0) throw std::runtime_error(std::strerror(errno));
}

haddr_t TransactionFile::size() const {
  struct stat status = {};
  haddr_t const on_disk =
      fstat(descriptor_, &status) == 0 ? static_cast<haddr_t>(status.st_size) : 0;
  return pieces_.empty() ? on_disk : std::max(on_disk, end_of(*pieces_.rbegin()));
}

void TransactionFile::read(haddr_t address, std::size_t size, std::byte* target) const {
  std::size_t done = 0;
  while (done < size) {
    ssize_t const got =
        ::pread(descriptor_, target + done, size - done, static_cast<off_t>(address + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::runtime_error(std::strerror(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  std::fill(target + done, target + size, std::byte{0});
  auto piece = pieces_.upper_bound(address);
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end() && piece->first < address + size; ++piece) {
    haddr_t const start = std::max(address, piece->first);
    haddr_t const stop = std::min(address + size, end_of(*piece));
    if (start < stop)
      std::copy_n(piece->second.bytes.data() + (start - piece->first), stop - start,
                  target + (start - address));
  }
}

void TransactionFile::write(H5FD_mem_t kind, haddr_t address, std::size_t size,
                            std::byte const* source) {
  if (kind != H5FD_MEM_DRAW) {
    keep(kind, address, size, source);
  } else if (failure_.empty()) {
    write_bytes(address, size, source);
  }
}

/// Older pieces give way where the new one covers them.
void TransactionFile::keep(H5FD_mem_t kind, haddr_t address, std::size_t size,
                           std::byte const* source) {
  haddr_t const stop = address + size;
  auto old = pieces_.upper_bound(address);
  if (old != pieces_.begin()) --old;
  while (old != pieces_.end() && old->first < stop) {
    if (end_of(*old) <= address) {
      ++old;
      continue;
    }
    auto const begin = old->first;
    Piece const cut = std::move(old->second);
    old = pieces_.erase(old);
    auto const first = cut.bytes.begin();
    if (begin < address)
      pieces_[begin] = {cut.kind, {first, first + static_cast<std::ptrdiff_t>(address - begin)}};
    if (begin + cut.bytes.size() > stop)
      pieces_[stop] = {cut.kind,
                       {first + static_cast<std::ptrdiff_t>(stop - begin), cut.bytes.end()}};
  }
  pieces_[address] = {kind, {source, source + size}};
}

void TransactionFile::commit() {
  if (!failure_.empty()) throw std::runtime_error(failure_);
  write_new_space();
  synchronize();
  committed_end_ = end_;
  write_in_place();
  synchronize();
  for (auto const& piece : pieces_) remember(piece.first, end_of(piece));
  pieces_.clear();
}

std::string TransactionFile::damage(std::filesystem::path const& path) const {
  struct stat open = {};
  struct stat named = {};
  if (fstat(descriptor_, &open) != 0) return std::strerror(errno);
  if (::stat(path.c_str(), &named) != 0 || named.st_ino != open.st_ino ||
      named.st_dev != open.st_dev)
    return "was removed or replaced while the run wrote it";
  return is_cut() ? cut_message : "";
}

/// Adds to `committed_` and joins what touches.
void TransactionFile::remember(haddr_t start, haddr_t stop) {
  auto known = committed_.upper_bound(start);
  if (known != committed_.begin() && std::prev(known)->second >= start) --known;
  while (known != committed_.end() && known->first <= stop) {
    start = std::min(start, known->first);
    stop = std::max(stop, known->second);
    known = committed_.erase(known);
  }
  committed_[start] = stop;
}

/// Whether the file on disk holds no metadata there. HDF5 fills gaps before it appends.
bool TransactionFile::is_new(Pieces::value_type const& piece) const {
  auto const known = committed_.lower_bound(end_of(piece));
  return known == committed_.begin() || std::prev(known)->second <= piece.first;
}

void TransactionFile::write_new_space() {
  for (auto const& piece : pieces_)
    if (is_new(piece))
      write_bytes(piece.first, piece.second.bytes.size(), piece.second.bytes.data());
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0) fail("asking for the size");
  if (static_cast<haddr_t>(status.st_size) < end_ &&
      ftruncate(descriptor_, static_cast<off_t>(end_)) != 0)
    fail("extending the file");
  written_end_ = std::max(written_end_, end_);
}

/// In what order kinds of metadata are written over: what refers to new space comes after it, a
/// tree's upper levels before the lower ones that a split has shortened.
constexpr int leaf_rank = 300;
constexpr int header_rank = leaf_rank + 1;

int rank_of(Piece const& piece) {
  constexpr std::string_view tree = "TREE";
  constexpr std::size_t level_offset = 5;
  bool const has_level = piece.bytes.size() > level_offset &&
                         std::memcmp(piece.bytes.data(), tree.data(), tree.size()) == 0;
  switch (piece.kind) {
    case H5FD_MEM_SUPER:
      return 0;
    case H5FD_MEM_LHEAP:
    case H5FD_MEM_GHEAP:
      return 1;
    case H5FD_MEM_BTREE:
      return has_level ? leaf_rank - std::to_integer<int>(piece.bytes[level_offset]) : leaf_rank;
    default:
      return header_rank;
  }
}

void TransactionFile::write_in_place() {
  std::multimap<int, Pieces::value_type const*> ordered;
  for (auto const& piece : pieces_)
    if (!is_new(piece)) ordered.emplace(rank_of(piece.second), &piece);
  std::vector<Pieces::value_type const*> headers;
  for (auto const& [rank, piece] : ordered) {
    if (rank == header_rank) {
      headers.push_back(piece);
    } else {
      write_bytes(piece->first, piece->second.bytes.size(), piece->second.bytes.data());
    }
  }
  write_together(headers);
}

/// Object headers that stand close together go out in one write, with what lies between them:
/// the extents of two datasets that belong together then change together.
void TransactionFile::write_together(std::vector<Pieces::value_type const*> const& headers) {
  constexpr haddr_t largest_gap = 1 << 16;
  for (auto first = headers.begin(); first != headers.end();) {
    auto last = first;
    while (last + 1 != headers.end() && (*(last + 1))->first - end_of(**last) <= largest_gap)
      ++last;
    std::vector<std::byte> bytes(end_of(**last) - (*first)->first);
    read((*first)->first, bytes.size(), bytes.data());
    write_bytes((*first)->first, bytes.size(), bytes.data());
    first = last + 1;
  }
}

/// Whether another process took of the file what was written to it.
bool TransactionFile::is_cut() const {
  struct stat status = {};
  return fstat(descriptor_, &status) == 0 && static_cast<haddr_t>(status.st_size) < written_end_;
}

void TransactionFile::write_bytes(haddr_t address, std::size_t size, std::byte const* source) {
  // Looked at each time: a write beyond the end would fill the gap with zeros.
  if (is_cut()) {
    failure_ = cut_message;
    throw std::runtime_error(failure_);
  }
  written_end_ = std::max(written_end_, address + size);
  while (size > 0) {
    ssize_t const put = ::pwrite(descriptor_, source, size, static_cast<off_t>(address));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail("writing");
    source += put;
    address += static_cast<haddr_t>(put);
    size -= static_cast<std::size_t>(put);
  }
}

void TransactionFile::synchronize() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("fsync");
}

void TransactionFile::fail(std::string const& what) {
  failure_ = fmt::format("{}: {}", what, std::strerror(errno));
  // Gives a full disk its space back; what was committed ends before it.
  static_cast<void>(!ftruncate(descriptor_, static_cast<off_t>(committed_end_)));
  throw std::runtime_error(failure_);
}

/// Runs `work` for a callback of HDF5, which knows no exceptions.
template <class Work>
herr_t guarded(Work const& work) {
  try {
    work();
    return 0;
  } catch (std::exception const& error) {
    H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_VFL, H5E_WRITEERROR, "%s",
             error.what());
    return -1;
  }
}

TransactionFile* as_file(H5FD_t* file) { return static_cast<TransactionFile*>(file); }
TransactionFile const* as_file(H5FD_t const* file) {
  return static_cast<TransactionFile const*>(file);
}

H5FD_t* on_open(char const* name, unsigned flags, hid_t, haddr_t) {
  TransactionFile* file = nullptr;
  guarded([&] { file = new TransactionFile(name, flags); });
  return file;
}

herr_t on_close(H5FD_t* file) {
  delete as_file(file);
  return 0;
}

herr_t on_query(H5FD_t const*, unsigned long* flags) {
  if (flags != nullptr) *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t on_get_eoa(H5FD_t const* file, H5FD_mem_t) { return as_file(file)->end(); }

herr_t on_set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  as_file(file)->set_end(address);
  return 0;
}

haddr_t on_get_eof(H5FD_t const* file, H5FD_mem_t) { return as_file(file)->size(); }

herr_t on_get_handle(H5FD_t* file, hid_t, void** handle) {
  *handle = as_file(file);
  return 0;
}

herr_t on_read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* target) {
  return guarded([&] { as_file(file)->read(address, size, static_cast<std::byte*>(target)); });
}

herr_t on_write(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, std::size_t size,
                void const* source) {
  return guarded(
      [&] { as_file(file)->write(kind, address, size, static_cast<std::byte const*>(source)); });
}

H5FD_class_t const& driver_class() {
  static H5FD_class_t const driver = [] {
    H5FD_class_t made = {};
    made.name = "gridstride transaction";
    made.maxaddr = (haddr_t{1} << 62) - 1;
    made.fc_degree = H5F_CLOSE_WEAK;
    made.open = on_open;
    made.close = on_close;
    made.query = on_query;
    made.get_eoa = on_get_eoa;
    made.set_eoa = on_set_eoa;
    made.get_eof = on_get_eof;
    made.get_handle = on_get_handle;
    made.read = on_read;
    made.write = on_write;
    // Raw data never takes space that metadata gave back, which the file on disk may still use.
    H5FD_mem_t const pools[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(pools), std::end(pools), made.fl_map);
    return made;
  }();
  return driver;
}

hid_t driver_id() {
  static hid_t const id = H5FDregister(&driver_class());
  return id;
}

}  // namespace

Object create_transaction_file(std::filesystem::path const& path,
                               std::filesystem::path const& shown, H5F_libver_t format) {
  silence();
  Handle const access = properties(H5P_FILE_ACCESS);
  H5F_libver_t const newest = format == H5F_LIBVER_EARLIEST ? H5F_LIBVER_LATEST : format;
  if (H5Pset_driver(access.id(), driver_id(), nullptr) < 0 ||
      H5Pset_libver_bounds(access.id(), format, newest) < 0)
    throw IoError(shown, fmt::format("cannot be created ({})", last_error()));
  hid_t const id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id());
  if (id < 0) throw IoError(shown, fmt::format("cannot be created ({})", last_error()));
  return {shown, Handle(id, H5Fclose)};
}

namespace {

TransactionFile& transaction_of(Object const& file) {
  void* handle = nullptr;
  file.check(H5Fget_vfd_handle(file.id(), H5P_DEFAULT, &handle), "finding the file driver");
  return *static_cast<TransactionFile*>(handle);
}

}  // namespace

void require_whole(Object const& file) {
  if (auto const damage = transaction_of(file).damage(file.path()); !damage.empty())
    throw IoError(file.path(), damage);
}

void commit(Object const& file) {
  file.check(H5Fflush(file.id(), H5F_SCOPE_LOCAL), "flushing");
  try {
    transaction_of(file).commit();
  } catch (std::runtime_error const& error) {
    throw IoError(file.path(), fmt::format("cannot be written ({})", error.what()));
  }
}

}  // namespace gridstride::io::hdf5
