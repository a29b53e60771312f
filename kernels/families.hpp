#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/device.hpp"

namespace gridstride {

/// A variant as people choose and list it.
struct KernelRow {
  std::string_view name;
  Backend backend;
  bool in_build;     ///< false for a GPU variant in a build without CUDA
  std::string idea;  ///< where a family has several functions, of each that does it in its own way
  Capabilities needs;
};

struct KernelFamily {
  std::string_view name;
  std::string_view summary;
  std::vector<KernelRow> rows;
  /// What `auto` means on a backend. A function, for the answer may need a look for a library.
  std::string_view (*default_variant)(Backend);
};

/// Every kernel family with its whole ladder, read from the families' own tables.
std::vector<KernelFamily> const& kernel_families();

/// The variants' names of one family, as configs may give them. Throws for an unknown family.
std::vector<std::string_view> variant_names(std::string_view family);

}  // namespace gridstride
