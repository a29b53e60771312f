// Two kernels of gridstride in a program of its own: the sum of many numbers, and their order. The
// memory is the program's: that of cudaMalloc on a GPU, a std::vector on the host.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/device.hpp"
#include "core/stream.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/sort/sort.hpp"

#ifdef WITH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace {

using gridstride::Backend;
using gridstride::Device;
using gridstride::Stream;

constexpr std::int64_t count = 1'000'003;

/// count − 1, count − 2, …, 0
std::vector<double> falling() {
  std::vector<double> values;
  for (std::int64_t i = count; i > 0; --i) values.push_back(static_cast<double>(i - 1));
  return values;
}

/// Queues both kernels: `result` becomes the sum of `values`, which come to stand in order.
void sum_and_sort(Stream& stream, std::span<double> values, std::span<double> result) {
  gridstride::reduce::sum<double>(stream, values, result);
  gridstride::sort::keys(stream, values);
}

void run_on_host(Device const& device, std::vector<double>& values, double& sum) {
  Stream stream(device);
  sum_and_sort(stream, values, {&sum, 1});
}

#ifdef WITH_CUDA
void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

std::shared_ptr<double> allocate(std::size_t size) {
  void* data = nullptr;
  check(cudaMalloc(&data, size * sizeof(double)));
  return {static_cast<double*>(data), cudaFree};
}

void run_on_gpu(Device const& device, std::vector<double>& values, double& sum) {
  check(cudaSetDevice(device.ordinal()));
  Stream stream(device);
  auto* const queue = static_cast<cudaStream_t>(stream.native());
  auto const bytes = values.size() * sizeof(double);
  auto const keys = allocate(values.size()), result = allocate(1);
  check(cudaMemcpyAsync(keys.get(), values.data(), bytes, cudaMemcpyHostToDevice, queue));
  sum_and_sort(stream, {keys.get(), values.size()}, {result.get(), 1});
  check(cudaMemcpyAsync(values.data(), keys.get(), bytes, cudaMemcpyDeviceToHost, queue));
  check(cudaMemcpyAsync(&sum, result.get(), sizeof sum, cudaMemcpyDeviceToHost, queue));
  stream.synchronize();
}
#endif

/// Whether the sum is right to the last digit, which these numbers allow, and the order too.
bool is_right(std::vector<double> const& values, double sum) {
  for (std::int64_t i = 0; i < count; ++i)
    if (values[static_cast<std::size_t>(i)] != static_cast<double>(i)) return false;
  return sum == 0.5 * static_cast<double>(count * (count - 1));
}

bool run_on(Device const& device) {
  auto values = falling();
  double sum = 0;
#ifdef WITH_CUDA
  if (device.backend() == Backend::cuda)
    run_on_gpu(device, values, sum);
  else
#endif
    run_on_host(device, values, sum);
  bool const right = is_right(values, sum);
  std::printf("%s: %s, the sum is %.0f\n", device.name().c_str(), right ? "right" : "WRONG", sum);
  return right;
}

}  // namespace

int main() try {
  bool right = true;
  for (Device const& device : Device::available()) right = run_on(device) && right;
  if (auto const reason = Device::cuda_unavailable_reason(); !reason.empty())
    std::printf("no GPU: %s\n", reason.c_str());
  return right ? 0 : 1;
} catch (std::exception const& error) {
  std::fprintf(stderr, "sum_and_sort: %s\n", error.what());
  return 1;
}
