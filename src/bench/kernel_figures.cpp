#include "bench/kernel_figures.hpp"

#include <algorithm>
#include <stdexcept>

#include "bench/workloads.hpp"

namespace gridstride::bench {

namespace {

/// Enough that every variant goes the way that it goes for large sizes.
constexpr std::int64_t size = std::int64_t{1} << 20;

KernelFigures figures_of(Stream& stream, Problem const& problem, std::string_view variant) {
  KernelFigures figures{variant, {}, {}};
  try {
    // Once for real: what is set up at the first call is not to be captured.
    problem.run(variant, 0);
    stream.synchronize();
    figures.kernels = captured_kernels(stream, [&] { problem.run(variant, 0); });
    if (figures.kernels.empty()) figures.remark = "it launches no kernel";
  } catch (std::exception const& error) {
    figures.remark = error.what();
  }
  return figures;
}

}  // namespace

std::vector<KernelFigures> kernel_figures(Stream& stream, std::string_view family) {
  auto const all = workloads(stream.backend());
  auto const workload = std::ranges::find(all, family, &Workload::family);
  if (workload == all.end()) return {};
  auto const problem = workload->make(stream, workload->rounded(size), 1);
  problem.prepare(0);
  std::vector<KernelFigures> figures;
  for (auto const& row : workload->rows) figures.push_back(figures_of(stream, problem, row.name));
  return figures;
}

}  // namespace gridstride::bench
