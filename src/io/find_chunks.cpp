#include "io/find_chunks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.hpp"
#include "io/driver_callback.hpp"
#include "io/input_file.hpp"
#include "io/storage.hpp"

namespace gridstride::io {

namespace {

using hdf5::Handle;
using hdf5::Object;
using hdf5::Shape;

/// A file that tells where raw data lies in the place of reading it.
///
/// `H5Dget_chunk_info_by_coord` of HDF5 1.10 goes through the whole index for each chunk, and
/// numbers those of an extensible array wrongly where the axis that grows is not the slowest.
/// `H5Dread_chunk` looks each up, and rightly.
class ShownFile : public H5FD_t {
 public:
  explicit ShownFile(char const* name) : H5FD_t{}, file_(name) {}

  haddr_t end() const { return end_; }
  void set_end(haddr_t address) { end_ = address; }
  haddr_t size() const { return static_cast<haddr_t>(file_.bytes()); }

  void read(H5FD_mem_t kind, haddr_t address, std::span<std::byte> target) {
    if (is_asked_ && kind == H5FD_MEM_DRAW) {
      told_ = {static_cast<std::int64_t>(address), static_cast<std::int64_t>(target.size())};
      return;
    }
    haddr_t const there = std::min(std::max(address, size()) - address, haddr_t{target.size()});
    file_.read(static_cast<std::int64_t>(address), target.first(there));
    std::ranges::fill(target.subspan(there), std::byte{0});
  }

  /// Until `told` gives the place of raw data, it is not read.
  void ask() {
    is_asked_ = true;
    told_ = {};
  }
  StoredChunk told() {
    is_asked_ = false;
    return told_;
  }

 private:
  InputFile file_;
  haddr_t end_ = 0;  ///< of what HDF5 has allocated
  bool is_asked_ = false;
  StoredChunk told_;
};

ShownFile& shown(H5FD_t* file) { return *static_cast<ShownFile*>(file); }
ShownFile const& shown(H5FD_t const* file) { return *static_cast<ShownFile const*>(file); }

hid_t showing_driver() {
  static H5FD_class_t const driver = [] {
    H5FD_class_t made = {};
    made.name = "gridstride chunks";
    made.maxaddr = (haddr_t{1} << 62) - 1;
    made.fc_degree = H5F_CLOSE_WEAK;
    made.open = [](char const* name, unsigned, hid_t, haddr_t) {
      H5FD_t* file = nullptr;
      hdf5::guarded(H5E_READERROR, [&] { file = new ShownFile(name); });
      return file;
    };
    made.close = [](H5FD_t* file) {
      delete &shown(file);
      return herr_t{0};
    };
    made.query = [](H5FD_t const*, unsigned long* flags) {
      if (flags != nullptr) *flags = H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
      return herr_t{0};
    };
    made.get_eoa = [](H5FD_t const* file, H5FD_mem_t) { return shown(file).end(); };
    made.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t address) {
      shown(file).set_end(address);
      return herr_t{0};
    };
    made.get_eof = [](H5FD_t const* file, H5FD_mem_t) { return shown(file).size(); };
    made.get_handle = [](H5FD_t* file, hid_t, void** handle) {
      *handle = file;
      return herr_t{0};
    };
    made.read = [](H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, std::size_t size,
                   void* target) {
      return hdf5::guarded(H5E_READERROR, [&] {
        shown(file).read(kind, address, {static_cast<std::byte*>(target), size});
      });
    };
    made.write = [](H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, void const*) {
      return herr_t{-1};  // HDF5 takes no driver without it
    };
    H5FD_mem_t const pools[] = H5FD_FLMAP_DEFAULT;
    std::ranges::copy(pools, made.fl_map);
    return made;
  }();
  static hid_t const id = H5FDregister(&driver);
  return id;
}

/// A dataset once more, in a file of its own.
class ShownDataset {
 public:
  explicit ShownDataset(Object const& dataset) {
    constexpr auto what = "looking for chunks";
    Handle const access = hdf5::properties(H5P_FILE_ACCESS);
    dataset.check(H5Pset_driver(access.id(), showing_driver(), nullptr), what);
    auto const path = hdf5::file_of(dataset);
    file_ = dataset.own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose, what);
    H5O_info_t info = {};
    dataset.check(H5Oget_info2(dataset.id(), &info, H5O_INFO_BASIC), what);
    dataset_ = {dataset.path(),
                dataset.own(H5Oopen_by_addr(file_.id(), info.addr), H5Oclose, what)};
    void* handle = nullptr;
    dataset.check(H5Fget_vfd_handle(file_.id(), H5P_DEFAULT, &handle), what);
    driver_ = static_cast<ShownFile*>(handle);
  }

  /// The chunk that begins there; one that is missing has no bytes.
  StoredChunk find(Shape const& place) {
    constexpr auto what = "looking for a chunk";
    std::byte nothing{};  // the driver leaves it as it is
    std::uint32_t left_out = 0;
    driver_->ask();
    herr_t const status =
        H5Dread_chunk(dataset_.id(), H5P_DEFAULT, place.data(), &left_out, &nothing);
    StoredChunk found = driver_->told();
    found.left_out = left_out;
    if (status >= 0) return found;
    // An index that can be read through lacks the chunk.
    Handle const space = dataset_.own(H5Dget_space(dataset_.id()), H5Sclose, what);
    hsize_t there = 0;
    dataset_.check(H5Dget_num_chunks(dataset_.id(), space.id(), &there), what);
    return {};
  }

 private:
  Handle file_;
  Object dataset_;
  ShownFile* driver_;
};

}  // namespace

std::vector<StoredChunk> find_chunks(Object const& dataset, std::string const& name,
                                     Shape const& chunk, std::optional<hsize_t> layer) {
  ShownDataset shown(dataset);
  Shape const shape = dataset.shape();
  std::vector<StoredChunk> found;
  Shape place(shape.size(), 0);
  std::size_t const outer = layer ? 1 : 0;
  if (layer) place[0] = *layer;
  while (true) {
    found.push_back(shown.find(place));
    if (found.back().bytes == 0)
      throw IoError(dataset.path(), fmt::format("'{}' was written in part only: its chunk at [{}] "
                                                "is not there",
                                                name, fmt::join(place, "][")));
    std::size_t axis = shape.size();
    while (axis > outer) {
      place[axis - 1] += chunk[axis - 1];
      if (place[axis - 1] < shape[axis - 1]) break;
      place[--axis] = 0;
    }
    if (axis == outer) return found;
  }
}

}  // namespace gridstride::io
