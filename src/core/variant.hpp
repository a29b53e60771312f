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

/// One row of a ladder: a way to do a kernel family's work, the one idea it adds, and what it needs
/// of a GPU. It runs that way or refuses: no row hands work that it does not take to another.
template <class Function>
struct Variant {
  std::string_view name;
  Backend backend;
  Function* run;
  std::string_view idea;
  Capabilities needs = {};
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

/// The same for a device; throws, too, when it lacks what the row needs.
template <class Function>
Variant<Function> const& find_variant(std::string_view family,
                                      std::span<Variant<Function> const> rows, Device const& device,
                                      std::string_view name) {
  auto const& row = find_variant(family, rows, device.backend(), name);
  if (device.backend() == Backend::cpu) return row;
  if (std::string const lacking = missing(device.capabilities(), row.needs); !lacking.empty())
    throw std::invalid_argument(std::string(family) + ": '" + std::string(name) + "' needs " +
                                lacking);
  return row;
}

}  // namespace gridstride
