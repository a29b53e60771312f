#pragma once

#include <string>

#include "core/vendor_library.hpp"

namespace gridstride {

/// OpenBLAS, opened when it is first asked for, with as many threads as the host has here. Where it
/// does not know the processor, and would take kernels without AVX, it is told which kernels the
/// processor's own flags allow. `OPENBLAS_CORETYPE` and `OPENBLAS_NUM_THREADS` say otherwise.
VendorLibrary const& openblas();

/// The kernels that it uses, in its own words: `Haswell`; empty where it is missing or does not
/// say.
std::string openblas_core();

}  // namespace gridstride
