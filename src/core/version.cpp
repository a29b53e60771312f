#include "core/version.hpp"

namespace gridstride {

std::string_view version() { return GRIDSTRIDE_VERSION; }

std::string_view git_hash() { return GRIDSTRIDE_GIT_HASH; }

bool built_with_cuda() {
#ifdef GRIDSTRIDE_WITH_CUDA
  return true;
#else
  return false;
#endif
}

}  // namespace gridstride
