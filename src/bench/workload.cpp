#include "bench/workload.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace gridstride::bench {

namespace detail {

std::vector<std::int64_t> window_starts(std::int64_t size, std::int64_t window) {
  if (size == 0) return {};
  if (size <= window) return {0};
  std::vector<std::int64_t> starts;
  auto const last = static_cast<long double>(size - window);
  for (std::int64_t k = 0; k < sample_windows; ++k)
    starts.push_back(static_cast<std::int64_t>(last * k / (sample_windows - 1)));
  return starts;
}

}  // namespace detail

std::function<Work(std::int64_t)> per_element(Work const& each) {
  return [each](std::int64_t size) {
    auto const count = static_cast<double>(size);
    Work work = each;
    for (double* const amount : {&work.bytes, &work.flops, &work.set_bytes, &work.elements})
      *amount *= count;
    for (auto& demand : work.asks) demand.amount *= count;
    return work;
  };
}

std::int64_t size_of_elements(Workload const& workload, std::int64_t elements) {
  switch (workload.size_of) {
    case SizeOf::array:
      return workload.rounded(elements);
    case SizeOf::matrix:
      return side_of(elements);
    case SizeOf::none:
      break;
  }
  return workload.size;
}

int exact_bits(std::int64_t size, int digits) {
  int const walk = static_cast<int>(std::ceil(std::log2(static_cast<double>(size)) / 2)) + 3;
  return std::max(1, digits - walk);
}

int exact_bits_of_squares(std::int64_t size, int digits) {
  int const count = static_cast<int>(std::ceil(std::log2(static_cast<double>(size))));
  return std::max(1, (digits - count) / 2);
}

std::int64_t side_of(std::int64_t size, std::int64_t least, int dims) {
  auto const all = static_cast<double>(size);
  double const root = dims == 2 ? std::sqrt(all) : std::pow(all, 1.0 / dims) * (1 + 1e-12);
  return std::max(least, static_cast<std::int64_t>(root));
}

std::array<std::int64_t, 3> cube_of(std::int64_t points) {
  std::int64_t const extent = side_of(points, 2, 3);
  return {extent, extent, extent};
}

bool is_vendor(std::string_view variant) {
  static constexpr std::array<std::string_view, 9> names = {
      "cub",      "cublas",           "cublas_tf32", "cufft",   "cusolver",
      "cusparse", "cusparse_pivoted", "lapack",      "openblas"};
  return std::ranges::find(names, variant) != names.end();
}

std::int64_t default_size(Backend backend, std::int64_t on_gpu) {
  return backend == Backend::cuda ? on_gpu : std::min(on_gpu, std::int64_t{1} << 24);
}

}  // namespace gridstride::bench
