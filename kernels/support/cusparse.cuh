#pragma once

#include <cusparse.h>

#include <map>
#include <string>

#include "core/vendor_library.hpp"
#include "kernels/support/launch.cuh"

/// cuSPARSE, for the rows that compare with it.
namespace gridstride {

inline VendorLibrary const& cusparse() {
  static VendorLibrary const library("libcusparse.so.12");
  return library;
}

inline void check_cusparse(cusparseStatus_t status, char const* call, char const* file, int line) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw CudaError(call, file, line, "status " + std::to_string(static_cast<int>(status)));
}

#define GRIDSTRIDE_CUSPARSE_CALL(name, ...)                                                 \
  do {                                                                                      \
    static auto* const function = ::gridstride::cusparse().function<decltype(name)>(#name); \
    ::gridstride::check_cusparse(function(__VA_ARGS__), #name, __FILE__, __LINE__);         \
  } while (false)

/// The thread's own for the stream's device; its calls go to the stream.
inline cusparseHandle_t cusparse_handle(Stream& stream) {
  thread_local std::map<int, cusparseHandle_t> of_devices;
  auto& handle = of_devices[stream.device().ordinal()];
  if (handle == nullptr) GRIDSTRIDE_CUSPARSE_CALL(cusparseCreate, &handle);
  GRIDSTRIDE_CUSPARSE_CALL(cusparseSetStream, handle, native(stream));
  return handle;
}

}  // namespace gridstride
