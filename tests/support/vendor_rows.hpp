#pragma once

#include <string_view>

#include "kernels/support/vendor_library.hpp"

namespace gridstride::test {

/// Whether this machine has the library behind a row of a ladder; true for rows that need none.
inline bool has_library_of(std::string_view row) {
  if (row.starts_with("cublas")) return VendorLibrary("libcublas.so.13").available();
  if (row == "openblas" || row == "lapack") return VendorLibrary("libopenblas.so.0").available();
  if (row == "cusolver") return VendorLibrary("libcusolver.so.12").available();
  return true;
}

}  // namespace gridstride::test
