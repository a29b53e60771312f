#pragma once

#include <span>
#include <string_view>

namespace gridstride {

/// A file of this project as code that is compiled at run time may include it.
struct RuntimeFile {
  std::string_view path;  ///< as in `#include "expression/operations.hpp"`
  std::string_view text;
};

/// All of them. They are the `.cuh` files that kernels/CMakeLists.txt embeds, and what those
/// include.
std::span<RuntimeFile const> runtime_files();

}  // namespace gridstride
