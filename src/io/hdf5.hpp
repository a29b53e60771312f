#pragma once

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// A thin layer over the HDF5 C API for the files of `io` alone: identifiers close themselves,
/// and every negative result becomes an `IoError`. No header that other rooms include needs it.
namespace gridstride::io::hdf5 {

using Shape = std::vector<hsize_t>;

/// Owns one HDF5 identifier of any kind.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }

  hid_t id() const { return id_; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// The HDF5 type of a value in memory.
template <class T>
hid_t native_type() {
  if constexpr (std::is_same_v<T, float>) {
    return H5T_NATIVE_FLOAT;
  } else if constexpr (std::is_same_v<T, double>) {
    return H5T_NATIVE_DOUBLE;
  } else {
    static_assert(std::is_same_v<T, std::int64_t>);
    return H5T_NATIVE_INT64;
  }
}

/// The one line of HDF5's error stack that says most: the innermost description, or the system's
/// own message where it quotes one.
std::string last_error();

/// An open file, group or dataset, together with the path of its file for messages.
class Object {
 public:
  Object() = default;
  Object(std::filesystem::path path, Handle handle)
      : path_(std::make_shared<std::filesystem::path const>(std::move(path))),
        handle_(std::move(handle)) {}

  hid_t id() const { return handle_.id(); }
  std::filesystem::path const& path() const { return *path_; }

  /// Throws `IoError`: `what` failed, and HDF5's own reason.
  [[noreturn]] void fail(std::string_view what) const;
  /// Returns `status` unless it is negative; then fails.
  hid_t check(hid_t status, std::string_view what) const;
  /// Owns `id` unless it is negative; then fails.
  Handle own(hid_t id, Handle::Close close, std::string_view what) const;

  /// Whether there is an object at `name`, which may be a path of several links.
  bool contains(std::string const& name) const;
  bool is_group(std::string const& name) const;
  Object open_group(std::string const& name) const;
  Object create_group(std::string const& name) const;
  Object open_dataset(std::string const& name) const;
  /// Creates intermediate groups as needed. `properties` is a dataset creation list.
  Object create_dataset(std::string const& name, hid_t type, Handle const& space,
                        hid_t properties = H5P_DEFAULT) const;
  /// The names of a group's links, in alphabetic order.
  std::vector<std::string> names() const;

  /// Attributes. Each is made once; texts have a fixed length, so that every reader takes them.
  void write_text_attribute(std::string const& name, std::string_view text) const;
  void write_attribute(std::string const& name, std::int64_t value) const;
  /// Of `std::int64_t` or `double`.
  template <class T>
  void write_list_attribute(std::string const& name, std::span<T const> values) const;
  /// Writes over the attribute that is there.
  void update_attribute(std::string const& name, std::int64_t value) const;
  bool has_attribute(std::string const& name) const;
  /// Whether there is one that is text.
  bool has_text_attribute(std::string const& name) const;
  std::string read_text_attribute(std::string const& name) const;
  template <class T>
  std::vector<T> read_attribute(std::string const& name) const;

  /// A scalar dataset of fixed length in UTF-8.
  Object write_text(std::string const& name, std::string_view text) const;
  std::string read_text(std::string const& name) const;

  /// Of a dataset: its extents, slowest first; empty for a scalar.
  Shape shape() const;
  /// Of a dataset: the type of its elements in the file.
  Handle type() const;
  /// Of a dataset: sets its extents.
  void resize(Shape const& shape) const;
  /// Of a dataset: all of it, or the block at `start` with extents `count`.
  void write(void const* data, hid_t memory_type) const;
  void write(void const* data, hid_t memory_type, Shape const& start, Shape const& count) const;
  void read(void* data, hid_t memory_type) const;
  void read(void* data, hid_t memory_type, Shape const& start, Shape const& count) const;

 private:
  template <class T>
  void write_attribute_values(std::string const& name, Handle const& space, T const* values) const;
  Handle select(Shape const& start, Shape const& count) const;

  std::shared_ptr<std::filesystem::path const> path_;
  Handle handle_;
};

/// Opens a file for reading. Throws `IoError` when it is missing, a folder, no HDF5 file, or cut.
Object open_file(std::filesystem::path const& path);

Handle simple_space(Shape const& shape);
/// A space whose first extent may grow without bound.
Handle growing_space(Shape const& shape);
Handle scalar_space();
/// Text of exactly `size` bytes (at least one), padded with zeros.
Handle text_type(std::size_t size, H5T_cset_t characters = H5T_CSET_UTF8);
Handle properties(hid_t list_class);
/// What is made with this list does not tell when: the same run makes the same file.
void keep_no_times(Handle const& creation);

/// Keeps HDF5 from printing its errors; the setting belongs to a thread, and each of this layer's
/// ways to get an `Object` calls it, as does whoever takes one to another thread.
void silence();

/// Whether this HDF5 library takes care itself that one thread at a time is in it.
bool is_safe_for_threads();

/// Where the library does not, keeps other threads that ask for it out of HDF5 while it is held:
/// from before the first identifier is made until the last one is closed. A run's files are written
/// by one thread, its checkpoints by another.
std::unique_lock<std::recursive_mutex> exclusive(bool library_is_safe = is_safe_for_threads());

}  // namespace gridstride::io::hdf5
