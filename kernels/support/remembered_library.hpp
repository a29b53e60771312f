#pragma once

#include <filesystem>
#include <string>

namespace gridstride {

class RuntimeCache;

/// Remembers for later processes that a shared library could be opened, from which file: opening one
/// of a hundred megabytes takes longer than most of what is not compiled. A library is there as long
/// as that file is as it was, and this process would look for it in the same places.
void remember_library(RuntimeCache const& cache, std::string const& soname,
                      std::filesystem::path const& file);

/// Whether it is known to be there; false: it has to be tried.
bool is_remembered(RuntimeCache const& cache, std::string const& soname);

}  // namespace gridstride
