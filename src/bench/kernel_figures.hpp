#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/kernel_info.hpp"

namespace gridstride::bench {

/// The kernels that a variant launches for the first workload of its family that has it.
struct KernelFigures {
  std::string_view variant;
  std::vector<KernelInfo> kernels;
  std::string remark;  ///< why there are none; empty when there are
};

/// What the driver says about each variant of a family on a GPU's stream. Nothing for a family
/// without workloads.
std::vector<KernelFigures> kernel_figures(Stream& stream, std::string_view family);

}  // namespace gridstride::bench
