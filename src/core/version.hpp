#pragma once

#include <string_view>

namespace gridstride {

std::string_view version();   ///< `0.1.0`
std::string_view git_hash();  ///< of the commit that was configured; `unknown` outside a clone
bool built_with_cuda();

}  // namespace gridstride
