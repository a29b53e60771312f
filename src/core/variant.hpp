#pragma once

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

}  // namespace gridstride
