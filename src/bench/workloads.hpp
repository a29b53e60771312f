#pragma once

#include <string_view>
#include <vector>

#include "bench/workload.hpp"

namespace gridstride::bench {

// One function per family, each in its file; what it needs is there in a namespace of_FAMILY, for
// several files may be one to the compiler.
std::vector<Workload> adaptive_workloads(Backend backend);
std::vector<Workload> advect_workloads(Backend backend);
std::vector<Workload> amg_workloads(Backend backend);
std::vector<Workload> convert_workloads(Backend backend);
std::vector<Workload> convolve_workloads(Backend backend);
std::vector<Workload> cubature_workloads(Backend backend);
std::vector<Workload> difference_workloads(Backend backend);
std::vector<Workload> eigen_workloads(Backend backend);
std::vector<Workload> elementwise_workloads(Backend backend);
std::vector<Workload> evaluate_workloads(Backend backend);
std::vector<Workload> factorize_workloads(Backend backend);
std::vector<Workload> fft_workloads(Backend backend);
std::vector<Workload> histogram_workloads(Backend backend);
std::vector<Workload> krylov_workloads(Backend backend);
std::vector<Workload> hpcg_workloads(Backend backend);
std::vector<Workload> lattice_workloads(Backend backend);
std::vector<Workload> matmul_workloads(Backend backend);
std::vector<Workload> modes_workloads(Backend backend);
std::vector<Workload> multigrid_workloads(Backend backend);
std::vector<Workload> pentadiagonal_workloads(Backend backend);
std::vector<Workload> pipeline_workloads(Backend backend);
std::vector<Workload> poisson_workloads(Backend backend);
std::vector<Workload> reduce_workloads(Backend backend);
std::vector<Workload> riemann_workloads(Backend backend);
std::vector<Workload> running_workloads(Backend backend);  // of reduce and scan
std::vector<Workload> sampling_workloads(Backend backend);
std::vector<Workload> scan_workloads(Backend backend);
std::vector<Workload> select_workloads(Backend backend);
std::vector<Workload> sort_workloads(Backend backend);
std::vector<Workload> sparse_workloads(Backend backend);
std::vector<Workload> spectrum_workloads(Backend backend);
std::vector<Workload> star_workloads(Backend backend);
std::vector<Workload> stencil_workloads(Backend backend);
std::vector<Workload> system_workloads(Backend backend);
std::vector<Workload> transfer_workloads(Backend backend);
std::vector<Workload> tridiagonal_workloads(Backend backend);

/// Everything there is to measure on a backend, family by family.
std::vector<Workload> workloads(Backend backend);

}  // namespace gridstride::bench
