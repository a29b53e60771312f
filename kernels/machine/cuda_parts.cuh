#pragma once

#include "kernels/machine/parts.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::machine {

/// Adds the probes of the tensor cores, as far as the GPU has them.
void add_tensor_probes(std::vector<Probe>& probes, Stream& stream);

}  // namespace gridstride::machine
