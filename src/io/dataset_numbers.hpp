#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/number_source.hpp"
#include "io/hdf5.hpp"

namespace gridstride::io {

/// The numbers of an HDF5 dataset called `name`, whose values are all there (io/storage), or with
/// `layer` those at that index of its slowest axis. What lies in one stretch of the file, and what
/// is stored in chunks that HDF5 did not pack or packed by deflate, shuffle and fletcher32, is read
/// without HDF5, by any number of threads at once; all else by HDF5, which converts it to float64,
/// by one at a time.
std::unique_ptr<NumberSource> numbers_of(hdf5::Object const& dataset, std::string const& name,
                                         std::optional<hsize_t> layer = std::nullopt);

}  // namespace gridstride::io
