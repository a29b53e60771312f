#pragma once

#include <cstddef>
#include <string>

namespace gridstride {

/// What a GPU has that not all have; for a kernel, what it needs of it. A `Device` tells its own,
/// and the rows of the families' tables what they need.
struct Capabilities {
  std::size_t shared_bytes = 48 << 10;  ///< shared memory that a block has when it asks for it
  std::size_t shared_bytes_of_processor = 0;
  bool async_copies = false;      ///< to shared memory, past the registers (cp.async)
  bool clusters = false;          ///< blocks that reach each other's shared memory
  bool bulk_copies = false;       ///< of many bytes by one thread, on a barrier (TMA)
  bool float64_products = false;  ///< of 16 x 8 x 8 values by a warp, on tensor cores
  bool wgmma = false;             ///< products by four warps from shared memory
};

/// Those of an architecture, by its compute capability as 10·major + minor (CUDA C++ Programming
/// Guide, "Compute Capabilities"). Shared memory and clusters of a GPU that is there come from its
/// driver.
Capabilities capabilities_of(int compute_capability);

/// What is needed and not there, in words; empty if nothing.
std::string missing(Capabilities const& has, Capabilities const& needs);

}  // namespace gridstride
