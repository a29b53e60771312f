#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/number_source.hpp"
#include "io/input_file.hpp"

/// Numbers that lie one after the other in a file.
namespace gridstride::io {

/// `size()` numbers from byte `offset` of `file` on, in C order, or with the first axis fastest.
std::unique_ptr<NumberSource> plain_numbers(InputFile file, std::int64_t offset, NumberType type,
                                            std::vector<std::int64_t> shape, bool reversed = false);

/// The bytes that an array needs. Throws `IoError` when they are more than a file can have.
std::int64_t bytes_of(std::filesystem::path const& path, NumberType type,
                      std::vector<std::int64_t> const& shape);

/// What a file of bare numbers holds: `rest` bytes follow them.
struct RawLayout {
  NumberType type;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;
  std::int64_t rest = 0;
};

/// Throws `IoError` unless the file has exactly as many bytes as the layout says.
std::unique_ptr<NumberSource> open_raw(std::filesystem::path const& path, RawLayout const& layout);

/// A file that `numpy.save` wrote: format versions 1 to 3, of integers or floating-point numbers,
/// in C or Fortran order (up to 3 axes longer than 1). Throws `IoError` for anything else, and for
/// a file that is shorter or longer than its header says.
std::unique_ptr<NumberSource> open_npy(std::filesystem::path const& path);

}  // namespace gridstride::io
