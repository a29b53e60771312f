#pragma once

#include <filesystem>
#include <string>

#include "io/hdf5.hpp"

namespace gridstride::io::hdf5 {

/// Where the values of a dataset come from. HDF5 reads fill values, mostly zeros, without a word
/// where a file that it should take them from is missing or short, and where none were written.

/// Throws `IoError` unless this HDF5 has the filters of the dataset `name`, external files are
/// there and long enough, and the sources of a virtual dataset are there and give all of its
/// values.
void require_sources(Object const& dataset, std::string const& name);

/// The same, and throws `IoError` where values were never written.
void require_stored(Object const& dataset, std::string const& name);

/// The file that holds the dataset itself: a link may lead out of the one that was opened.
std::filesystem::path file_of(Object const& dataset);

}  // namespace gridstride::io::hdf5
