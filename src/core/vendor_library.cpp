#include "core/vendor_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <utility>

#include "core/error.hpp"

namespace gridstride {

VendorLibrary::VendorLibrary(std::string soname) : soname_(std::move(soname)) {
  for (std::string const folder : {"", "/usr/local/cuda/lib64/"}) {
    handle_ = dlopen((folder + soname_).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      reason_.clear();
      return;
    }
    // What was said of the first place names the library as the user knows it.
    if (reason_.empty()) reason_ = dlerror();
  }
}

std::string VendorLibrary::file() const {
  link_map const* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) throw Error(soname_ + ": " + dlerror());
  return map->l_name;
}

void* VendorLibrary::find(char const* name) const {
  if (!available()) throw Error(soname_ + " cannot be used (" + reason_ + ")");
  if (void* const address = dlsym(handle_, name)) return address;
  throw Error(soname_ + " has no function " + name + " (" + dlerror() + ")");
}

}  // namespace gridstride
