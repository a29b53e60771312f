#include "kernels/support/openblas.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/processors.hpp"

namespace gridstride {

namespace {

constexpr char const* soname = "libopenblas.so.0";

/// The core type whose kernels the processor can run, the best of those that every OpenBLAS of
/// today has; null where there is none to choose.
char const* core_of_flags() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

/// It chooses while it is opened, by tables of families and models that end with the processors of
/// its day. So it is opened once to see, and once more where it did not know this one.
void choose_core() {
  char const* const core = core_of_flags();
  if (core == nullptr || std::getenv("OPENBLAS_CORETYPE") != nullptr) return;
  void* const library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  using CoreName = char*();
  auto* const core_name = reinterpret_cast<CoreName*>(dlsym(library, "openblas_get_corename"));
  std::string_view const found = core_name == nullptr ? "" : core_name();
  bool const fell_back = found == "Prescott" || found == "Nehalem" || found == "Sandybridge";
  dlclose(library);
  if (fell_back) setenv("OPENBLAS_CORETYPE", core, 0);
}

}  // namespace

VendorLibrary const& openblas() {
  static VendorLibrary const library = [] {
    setenv("OPENBLAS_NUM_THREADS", std::to_string(host_threads()).c_str(), 0);
    choose_core();
    return VendorLibrary(soname);
  }();
  return library;
}

std::string openblas_core() {
  if (!openblas().available()) return {};
  using CoreName = char*();
  try {
    return openblas().function<CoreName>("openblas_get_corename")();
  } catch (Error const&) {
    return {};
  }
}

}  // namespace gridstride
