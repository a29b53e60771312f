#include "bench/kernel_figures.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "bench/workloads.hpp"
#include "kernels/families.hpp"

namespace gridstride::bench {

namespace {

/// Enough that every variant goes the way that it goes for large sizes.
constexpr std::int64_t elements = std::int64_t{1} << 20;

/// The first workload that has the row: some rows take one type alone.
Workload const* find_workload(std::vector<Workload> const& all, std::string_view family,
                              std::string_view variant) {
  for (auto const& workload : all)
    if (workload.family == family &&
        std::ranges::find(workload.rows, variant, &Row::name) != workload.rows.end())
      return &workload;
  return nullptr;
}

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
  std::map<Workload const*, Problem> problems;
  std::vector<KernelFigures> figures;
  for (auto const name : variant_names(family)) {
    auto const* const workload = find_workload(all, family, name);
    if (workload == nullptr) continue;
    if (!problems.contains(workload))
      problems[workload] = workload->make(stream, size_of_elements(*workload, elements), 1);
    auto const& problem = problems[workload];
    problem.prepare(0);
    figures.push_back(figures_of(stream, problem, name));
  }
  return figures;
}

}  // namespace gridstride::bench
