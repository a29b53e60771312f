#include "bench/workloads.hpp"

namespace gridstride::bench {

std::vector<Workload> workloads(Backend backend) {
  static constexpr std::vector<Workload> (*families[])(Backend) = {
      adaptive_workloads,    advect_workloads,   amg_workloads,        convert_workloads,
      convolve_workloads,    cubature_workloads, difference_workloads, eigen_workloads,
      elementwise_workloads, evaluate_workloads, factorize_workloads,  fft_workloads,
      histogram_workloads,   krylov_workloads,   hpcg_workloads,       lattice_workloads,
      matmul_workloads,      modes_workloads,    multigrid_workloads,  pentadiagonal_workloads,
      pipeline_workloads,    poisson_workloads,  reduce_workloads,     riemann_workloads,
      running_workloads,     sampling_workloads, scan_workloads,       select_workloads,
      sort_workloads,        sparse_workloads,   spectrum_workloads,   star_workloads,
      stencil_workloads,     system_workloads,   transfer_workloads,   tridiagonal_workloads};
  std::vector<Workload> all;
  for (auto const family : families)
    for (auto& workload : family(backend)) all.push_back(std::move(workload));
  return all;
}

}  // namespace gridstride::bench
