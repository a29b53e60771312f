#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/number_source.hpp"

namespace gridstride::io {

struct DatasetInfo {
  std::vector<std::int64_t> shape;  ///< slowest axis first: [nz][ny][nx]; empty for a single value
  bool numeric = false;             ///< integers or floating-point numbers
  std::string type;                 ///< for messages: `float32`, `int64`, `text`, `compound`, …
};

/// What `dataset` in the HDF5 file `path` holds. Throws `IoError` when `path` is no HDF5 file, or
/// holds no such dataset; the message then says which datasets there are. So it does when values
/// were never written, or are missing where the dataset takes them from.
DatasetInfo inspect_dataset(std::filesystem::path const& path, std::string const& dataset);

/// Throws `IoError` for a number of a dataset that stands for a place without a value, by an attribute
/// `_FillValue` or `missing_value`; so does `open_dataset`.
void require_values(std::filesystem::path const& path, std::string const& dataset);

/// Its numbers (io/dataset_numbers.hpp). Throws `IoError` as above, and when it is not numeric.
std::unique_ptr<NumberSource> open_dataset(std::filesystem::path const& path,
                                           std::string const& dataset);

}  // namespace gridstride::io
