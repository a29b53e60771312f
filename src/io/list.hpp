#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/hdf5.hpp"

/// Datasets of one value, or one row of values, for each step; readers ask for as many as there are
/// steps, since the lists of a file that is growing may be longer.
namespace gridstride::io {

/// `first` in front of `rest`.
hdf5::Shape with_time(hsize_t first, hdf5::Shape const& rest);

/// Makes a list without any. What is written over and over again is at most `chunk_bytes`.
hdf5::Object create_list(hdf5::Object const& group, std::string const& name, hid_t type,
                         hdf5::Shape const& row = {}, std::size_t chunk_bytes = 512);

/// Sets the list's length and its last value.
template <class T>
void write_last(hdf5::Object const& list, hsize_t length, T value) {
  list.resize({length});
  list.write(&value, hdf5::native_type<T>(), {length - 1}, {1});
}

/// Sets the list's length and its last row.
template <class T>
void write_last_row(hdf5::Object const& list, hsize_t length, std::vector<T> const& row) {
  list.resize({length, row.size()});
  list.write(row.data(), hdf5::native_type<T>(), {length - 1, 0}, {1, row.size()});
}

/// The first `size` values. Throws `IoError` where there are fewer.
template <class T>
std::vector<T> read_list(hdf5::Object const& group, std::string const& name, std::size_t size) {
  hdf5::Object const list = group.open_dataset(name);
  hdf5::Shape const shape = list.shape();
  if (shape.size() != 1 || shape[0] < size)
    throw IoError(
        group.path(),
        fmt::format("is no gridstride result ('{}' is shorter than the {} steps)", name, size));
  std::vector<T> values(size);
  if (size > 0) list.read(values.data(), hdf5::native_type<T>(), {0}, {size});
  return values;
}

}  // namespace gridstride::io
