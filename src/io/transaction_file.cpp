#include "io/transaction_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "io/write_at.hpp"

namespace gridstride::io::hdf5 {

namespace {

haddr_t end_of(Pieces::value_type const& piece) { return piece.first + piece.second.bytes.size(); }

constexpr char const* cut_message = "was cut while the run wrote it";
constexpr std::byte mark{0xff};

}  // namespace

TransactionFile::TransactionFile(char const* name, unsigned flags) : H5FD_t{}, name_(name) {
  int const mode = O_RDWR | O_CLOEXEC | (flags & H5F_ACC_CREAT ? O_CREAT : 0) |
                   (flags & H5F_ACC_TRUNC ? O_TRUNC : 0);
  descriptor_ = ::open(name, mode, 0666);
  if (descriptor_ < 0) throw std::runtime_error(std::strerror(errno));
}

TransactionFile::~TransactionFile() {
  // The mark, and what was written and not committed.
  give_back();
  ::close(descriptor_);
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
  } else if (reserving_) {
    reserved_ = address;
  } else if (failure_.empty()) {
    write_bytes(address, size, source);
  }
}

void TransactionFile::extend() {
  int failure = 0;
  {
    std::lock_guard const lock(failing_);
    if (!failure_.empty()) throw std::runtime_error(failure_);
    require_uncut();
    if (end_ > marked_end_) failure = move_mark();
  }
  if (failure == 0) return;
  errno = failure;
  fail("extending the file");
}

/// The new mark makes the file long again that another process has cut; the old one then tells.
int TransactionFile::move_mark() {
  constexpr std::byte none{};
  if (int const failure = try_to_write(end_, {&mark, 1}); failure != 0) return failure;
  require_uncut();
  haddr_t const old = std::exchange(marked_end_, end_);
  return old == 0 ? 0 : try_to_write(old, {&none, 1});
}

void TransactionFile::write_raw(haddr_t address, std::span<std::byte const> bytes) {
  {
    std::lock_guard const lock(failing_);
    if (!failure_.empty()) throw std::runtime_error(failure_);
    require_uncut();
  }
  put(address, bytes.size(), bytes.data());
}

FileStamp TransactionFile::share(std::filesystem::path const& path) {
  std::lock_guard const lock(failing_);
  is_shared_ = true;
  return stamp_of(descriptor_, path);
}

void TransactionFile::end_sharing(bool others_failed) {
  std::lock_guard const lock(failing_);
  is_shared_ = false;
  if (others_failed && failure_.empty()) failure_ = "another process failed in writing";
  if (!failure_.empty()) give_back();
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
  extend();  // fails where the file was cut meanwhile
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
  extend();
  for (auto const& piece : pieces_)
    if (is_new(piece))
      write_bytes(piece.first, piece.second.bytes.size(), piece.second.bytes.data());
}

namespace {

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

}  // namespace

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
  if (marked_end_ == 0) return false;
  std::byte found = mark;
  return ::pread(descriptor_, &found, 1, static_cast<off_t>(marked_end_)) == 0 || found != mark;
}

void TransactionFile::write_bytes(haddr_t address, std::size_t size, std::byte const* source) {
  extend();
  put(address, size, source);
}

void TransactionFile::require_uncut() {
  if (!is_cut()) return;
  failure_ = cut_message;
  throw std::runtime_error(failure_);
}

int TransactionFile::try_to_write(haddr_t address, std::span<std::byte const> bytes) {
  std::shared_lock const lock(writing_);
  return write_at(descriptor_, address, bytes);
}

void TransactionFile::put(haddr_t address, std::size_t size, std::byte const* source) {
  int const failure = try_to_write(address, {source, size});
  if (failure == 0) return;
  errno = failure;
  fail("writing");
}

void TransactionFile::synchronize() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("fsync");
}

void TransactionFile::fail(std::string const& what) {
  auto const message = fmt::format("{}: {}", what, std::strerror(errno));
  std::lock_guard const lock(failing_);
  if (failure_.empty()) failure_ = message;
  if (!is_shared_) give_back();
  throw std::runtime_error(failure_);
}

/// Gives a full disk its space back; what was committed ends before it.
void TransactionFile::give_back() {
  std::unique_lock const lock(writing_);
  struct stat status = {};
  if (fstat(descriptor_, &status) == 0 && static_cast<haddr_t>(status.st_size) > committed_end_)
    static_cast<void>(!ftruncate(descriptor_, static_cast<off_t>(committed_end_)));
}

}  // namespace gridstride::io::hdf5
