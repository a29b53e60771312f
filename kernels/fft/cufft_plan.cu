#include "kernels/fft/cufft_plan.cuh"

#include <string>

#include "core/error.hpp"
#include "core/vendor_library.hpp"
#include "kernels/support/preparation.cuh"

namespace gridstride::fft {

namespace {

constexpr char const* soname = "libcufft.so.12";

struct Cufft {
  VendorLibrary library{soname};
  decltype(cufftCreate)* create = of<decltype(cufftCreate)>("cufftCreate");
  decltype(cufftDestroy)* destroy = of<decltype(cufftDestroy)>("cufftDestroy");
  decltype(cufftSetAutoAllocation)* set_auto_allocation =
      of<decltype(cufftSetAutoAllocation)>("cufftSetAutoAllocation");
  decltype(cufftMakePlanMany64)* make_plan_many =
      of<decltype(cufftMakePlanMany64)>("cufftMakePlanMany64");
  decltype(cufftSetWorkArea)* set_work_area = of<decltype(cufftSetWorkArea)>("cufftSetWorkArea");
  decltype(cufftSetStream)* set_stream = of<decltype(cufftSetStream)>("cufftSetStream");
  decltype(cufftExecC2C)* exec_c2c = of<decltype(cufftExecC2C)>("cufftExecC2C");
  decltype(cufftExecZ2Z)* exec_z2z = of<decltype(cufftExecZ2Z)>("cufftExecZ2Z");
  decltype(cufftExecR2C)* exec_r2c = of<decltype(cufftExecR2C)>("cufftExecR2C");
  decltype(cufftExecC2R)* exec_c2r = of<decltype(cufftExecC2R)>("cufftExecC2R");
  decltype(cufftExecD2Z)* exec_d2z = of<decltype(cufftExecD2Z)>("cufftExecD2Z");
  decltype(cufftExecZ2D)* exec_z2d = of<decltype(cufftExecZ2D)>("cufftExecZ2D");

  template <class Signature>
  Signature* of(char const* name) const {
    return library.function<Signature>(name);
  }
};

Cufft const& cufft() {
  static Cufft const functions;
  return functions;
}

void check(cufftResult status, char const* call, int line) {
  if (status != CUFFT_SUCCESS)
    throw CudaError(call, __FILE__, line, "error " + std::to_string(status));
}
#define GRIDSTRIDE_CUFFT(function, ...) \
  check(cufft().function(__VA_ARGS__), "cuFFT: " #function, __LINE__)

}  // namespace

bool has_cufft() {
  static VendorLibrary const library(soname);
  return library.available();
}

Plan::Plan() {
  OutsideOfCapture const relaxed;
  GRIDSTRIDE_CUFFT(create, &handle_);
}

Plan::Plan(cufftType type, long long points, long long in_distance, long long out_distance,
           long long batch)
    : Plan() {
  OutsideOfCapture const relaxed;
  GRIDSTRIDE_CUFFT(set_auto_allocation, handle_, 0);
  GRIDSTRIDE_CUFFT(make_plan_many, handle_, 1, &points, &points, 1, in_distance, &points, 1,
                   out_distance, type, batch, &area_bytes_);
}

Plan::Plan(cufftType type, std::span<long long const> points, long long batch) : Plan() {
  OutsideOfCapture const relaxed;
  GRIDSTRIDE_CUFFT(set_auto_allocation, handle_, 0);
  GRIDSTRIDE_CUFFT(make_plan_many, handle_, static_cast<int>(points.size()),
                   const_cast<long long*>(points.data()), nullptr, 1, 0, nullptr, 1, 0, type, batch,
                   &area_bytes_);
}

Plan::~Plan() { cufft().destroy(handle_); }

std::unique_lock<std::mutex> Plan::prepare(Stream& stream, void* area) const {
  std::unique_lock lock(mutex_);
  GRIDSTRIDE_CUFFT(set_stream, handle_, native(stream));
  GRIDSTRIDE_CUFFT(set_work_area, handle_, area);
  return lock;
}

void Plan::forward(Stream& stream, void* area, float const* in, float* out) const {
  auto const lock = prepare(stream, area);
  GRIDSTRIDE_CUFFT(exec_r2c, handle_, const_cast<float*>(in), reinterpret_cast<cufftComplex*>(out));
}

void Plan::forward(Stream& stream, void* area, double const* in, double* out) const {
  auto const lock = prepare(stream, area);
  GRIDSTRIDE_CUFFT(exec_d2z, handle_, const_cast<double*>(in),
                   reinterpret_cast<cufftDoubleComplex*>(out));
}

void Plan::inverse(Stream& stream, void* area, float* data) const {
  inverse(stream, area, data, data);
}

void Plan::inverse(Stream& stream, void* area, double* data) const {
  inverse(stream, area, data, data);
}

void Plan::inverse(Stream& stream, void* area, float* in, float* out) const {
  auto const lock = prepare(stream, area);
  GRIDSTRIDE_CUFFT(exec_c2r, handle_, reinterpret_cast<cufftComplex*>(in), out);
}

void Plan::inverse(Stream& stream, void* area, double* in, double* out) const {
  auto const lock = prepare(stream, area);
  GRIDSTRIDE_CUFFT(exec_z2d, handle_, reinterpret_cast<cufftDoubleComplex*>(in), out);
}

void Plan::transform(Stream& stream, void* area, bool inverse, float const* in, float* out) const {
  auto const lock = prepare(stream, area);
  GRIDSTRIDE_CUFFT(exec_c2c, handle_, reinterpret_cast<cufftComplex*>(const_cast<float*>(in)),
                   reinterpret_cast<cufftComplex*>(out), inverse ? CUFFT_INVERSE : CUFFT_FORWARD);
}

void Plan::transform(Stream& stream, void* area, bool inverse, double const* in,
                     double* out) const {
  auto const lock = prepare(stream, area);
  GRIDSTRIDE_CUFFT(
      exec_z2z, handle_, reinterpret_cast<cufftDoubleComplex*>(const_cast<double*>(in)),
      reinterpret_cast<cufftDoubleComplex*>(out), inverse ? CUFFT_INVERSE : CUFFT_FORWARD);
}

}  // namespace gridstride::fft
