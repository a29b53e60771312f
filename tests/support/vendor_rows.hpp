#pragma once

#include <cstdlib>
#include <string_view>

#include "kernels/support/openblas.hpp"

namespace gridstride::test {

/// Whether this machine has the library behind a row of a ladder, and the tests may use it
/// (`GRIDSTRIDE_TESTS_WITHOUT_VENDORS` is not set); true for rows that need none.
inline bool has_library_of(std::string_view row) {
  char const* const soname = row.starts_with("cublas") ? "libcublas.so.13"
                             : row == "cufft"          ? "libcufft.so.12"
                             : row == "cusolver"       ? "libcusolver.so.12"
                             : row == "cusparse"       ? "libcusparse.so.12"
                                                       : nullptr;
  bool const host = row == "openblas" || row == "lapack";
  if (soname == nullptr && !host) return true;
  return std::getenv("GRIDSTRIDE_TESTS_WITHOUT_VENDORS") == nullptr &&
         (host ? openblas() : VendorLibrary(soname)).available();
}

}  // namespace gridstride::test
