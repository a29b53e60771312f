#include "io/transaction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "io/driver_callback.hpp"
#include "io/transaction_file.hpp"

namespace gridstride::io::hdf5 {

namespace {

TransactionFile* as_file(H5FD_t* file) { return static_cast<TransactionFile*>(file); }
TransactionFile const* as_file(H5FD_t const* file) {
  return static_cast<TransactionFile const*>(file);
}

H5FD_t* on_open(char const* name, unsigned flags, hid_t, haddr_t) {
  TransactionFile* file = nullptr;
  guarded(H5E_WRITEERROR, [&] { file = new TransactionFile(name, flags); });
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
  return guarded(H5E_WRITEERROR,
                 [&] { as_file(file)->read(address, size, static_cast<std::byte*>(target)); });
}

herr_t on_write(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, std::size_t size,
                void const* source) {
  return guarded(H5E_WRITEERROR, [&] {
    as_file(file)->write(kind, address, size, static_cast<std::byte const*>(source));
  });
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
  constexpr hsize_t large = 1 << 20, page = 4096;  // the system copies whole pages faster
  if (H5Pset_driver(access.id(), driver_id(), nullptr) < 0 ||
      H5Pset_alignment(access.id(), large, page) < 0 ||
      H5Pset_libver_bounds(access.id(), format, newest) < 0)
    throw IoError(shown, fmt::format("cannot be created ({})", last_error()));
  Handle const creation = properties(H5P_FILE_CREATE);
  keep_no_times(creation);
  hid_t const id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id());
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

namespace {

/// Runs `work` on the file; what it throws names the file.
template <class Work>
void during_write(Object const& file, Work const& work) {
  try {
    work();
  } catch (std::runtime_error const& error) {
    throw IoError(file.path(), fmt::format("cannot be written ({})", error.what()));
  }
}

}  // namespace

RawSpace::RawSpace(Object const& file) : file_(&file), transaction_(&transaction_of(file)) {}

haddr_t RawSpace::reserve_chunk(Object const& dataset, Shape const& first,
                                std::size_t bytes) const {
  constexpr std::byte none{};  // the driver does not read it
  transaction_->reserve();
  herr_t const status = H5Dwrite_chunk(dataset.id(), H5P_DEFAULT, 0, first.data(), bytes, &none);
  haddr_t const place = transaction_->reserved();
  dataset.check(status, "reserving space");
  return place;
}

void RawSpace::add_chunk(Object const& dataset, Shape const& first,
                         std::span<std::byte const> bytes) const {
  haddr_t place = HADDR_UNDEF;
  {
    // One thread at a time has a place reserved, also where the library takes care of itself.
    static std::mutex one_at_a_time;
    auto const alone = exclusive();
    std::lock_guard const lock(one_at_a_time);
    silence();
    place = reserve_chunk(dataset, first, bytes.size());
    open();
  }
  write(place, bytes);
}

haddr_t RawSpace::place_of(Object const& dataset) {
  haddr_t const place = H5Dget_offset(dataset.id());
  if (place == HADDR_UNDEF) dataset.fail("finding its place");
  return place;
}

void RawSpace::open() const {
  during_write(*file_, [&] { transaction_->extend(); });
}

void RawSpace::write(haddr_t place, std::span<std::byte const> bytes) const {
  during_write(*file_, [&] { transaction_->write_raw(place, bytes); });
}

/// The file has the name that it was made by, until it is complete enough for its own.
FilePlaces RawSpace::share(std::vector<Stretch> stretches) const {
  auto const stamp = transaction_->share(file_->path());
  auto const& first = transaction_->name();
  return {std::filesystem::exists(first) ? first : file_->path(), file_->path(), stamp.device,
          stamp.inode, std::move(stretches)};
}

void RawSpace::end_sharing(bool others_failed) const { transaction_->end_sharing(others_failed); }

void commit(Object const& file) {
  file.check(H5Fflush(file.id(), H5F_SCOPE_LOCAL), "flushing");
  during_write(file, [&] { transaction_of(file).commit(); });
}

}  // namespace gridstride::io::hdf5
