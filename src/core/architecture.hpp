#pragma once

#include <string>
#include <string_view>

/// Which GPUs the program has code for. Architectures are named as for CMake, with spaces between
/// them: `90a-real` is code for compute capability 9.0 alone, `86-real` for 8.6 and later of the
/// same generation, `120-virtual` code that the driver translates for 12.0 and all later ones, and
/// `120` both.
namespace gridstride {

/// Those of this program; empty in a build without CUDA.
std::string_view built_architectures();

/// Whether code for the architectures runs on a GPU of a compute capability, as 10·major + minor.
bool has_code_for(std::string_view architectures, int compute_capability);

/// Why a GPU cannot be used, and the command that builds for it; empty when there is code for it.
std::string missing_code(std::string_view architectures, std::string_view gpu,
                         int compute_capability);

}  // namespace gridstride
