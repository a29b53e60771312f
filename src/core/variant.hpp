#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/device.hpp"

/// The function of a GPU row: none in a build without CUDA, where the row still has its name.
#ifdef GRIDSTRIDE_WITH_CUDA
#define GRIDSTRIDE_CUDA_ROW(function) function
#else
#define GRIDSTRIDE_CUDA_ROW(function) nullptr
#endif

namespace gridstride {

/// One row of a ladder: a way to do a kernel family's work, and the one idea it adds.
template <class Function>
struct Variant {
  std::string_view name;
  Backend backend;
  Function* run;
  std::string_view idea;
};

/// The row called `name` of the backend. Throws `std::invalid_argument` when the backend, in this
/// build, has no such row.
template <class Function>
Variant<Function> const& find_variant(std::string_view family,
                                      std::span<Variant<Function> const> rows, Backend backend,
                                      std::string_view name) {
  for (auto const& row : rows)
    if (row.name == name && row.backend == backend && row.run != nullptr) return row;
  throw std::invalid_argument(std::string(family) + ": " + std::string(name_of(backend)) +
                              " has no variant '" + std::string(name) + "'");
}

}  // namespace gridstride
