#include "simulations/linear_system_iterations.hpp"

#include <algorithm>

#include "model/reading.hpp"
#include "simulations/linear_system_parameters.hpp"
#include "simulations/linear_system_preconditioning.hpp"
#include "simulations/linear_system_right.hpp"
#include "simulations/linear_system_sparse.hpp"
#include "simulations/linear_system_stencil.hpp"

namespace gridstride::linear_system {

using krylov::Method;

namespace {

constexpr Method iterative[] = {Method::cg, Method::minres, Method::bicgstab, Method::gmres};

}  // namespace

Method method_called(std::string const& name) {
  if (name == "amg_cg") return Method::cg;
  return *std::ranges::find_if(iterative, [&](Method method) { return name_of(method) == name; });
}

krylov::Method method_without_rows(config::RunConfig const& run) {
  std::string const& method = parameters_of(run).method;
  return method == "auto" ? Method::cg : method_called(method);
}

krylov::Options options_of(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  return {.tolerance = parameters.tolerance,
          .iterations = parameters.iterations,
          .restart = static_cast<int>(parameters.restart)};
}

MemoryForecast sparse_memory(config::RunConfig const& run, Inputs const& inputs, Backend backend) {
  if (goes_without_rows(run)) return stencil_memory(run, inputs, backend);
  auto const extents = extents_of(run, inputs);
  auto const sparse = *sparse_extents(run, inputs);
  std::size_t const element = size_of(run.precision);
  auto const n = static_cast<std::size_t>(extents.rows);
  auto const elements = static_cast<std::size_t>(sparse.elements);
  std::size_t const rows_bytes = elements * (element + 4) + (n + 1) * 8;
  MemoryForecast forecast{.array_bytes = rows_bytes,
                          .arrays = 1,
                          .array_name = "the rows of A",
                          .key = "parameters.matrix"};
  forecast.field_bytes = static_cast<std::size_t>(extents.size()) * element;
  // The method's vectors, the diagonal, b and x of a column, and all of x. What `auto` takes is known
  // when A is; gmres, which it may end with, asks for its vectors then.
  std::string const& asked = parameters_of(run).method;
  auto const vectors = krylov::work_bytes(asked == "auto" ? Method::bicgstab : method_called(asked),
                                          extents.rows, element, options_of(run), true);
  forecast.other_bytes = vectors + 3 * n * element + forecast.field_bytes;
  if (parameters_of(run).preconditioner == "chebyshev") forecast.other_bytes += 2 * n * element;
  // Inverses of blocks, on the host meanwhile.
  auto const blocks =
      parameters_of(run).preconditioner == "block_jacobi"
          ? (n + 63) * static_cast<std::size_t>(parameters_of(run).block_size) * element
          : 0;
  forecast.other_bytes += blocks;
  // Factors: elements of A with what tells their places, rows twice; in float64 on the host meanwhile.
  bool const has_factors =
      parameters_of(run).preconditioner == "ic0" || parameters_of(run).preconditioner == "ilu0";
  if (has_factors) forecast.other_bytes += elements * (element + 4) + n * (2 * 16 + element + 24);
  // A hierarchy: the matrix once more, interpolation and its transpose, coarser matrices; vectors.
  if (asked == "amg_cg" || (asked == "auto" && extents.rows >= least_aggregated))
    forecast.other_bytes += 3 * rows_bytes + 12 * n * element;
  // What is read, in float64, and entries as they are parsed; then the rows that stay there.
  std::size_t const reading =
      elements * 12 + (n + 1) * 8 + static_cast<std::size_t>(sparse.entries) * 16;
  auto const sides = static_cast<std::size_t>(extents.size()) * sizeof(double);
  forecast.other_bytes += sides;
  forecast.host_bytes = rows_bytes + reading + forecast.field_bytes + sides + 12 * n * 8;
  forecast.host_bytes += blocks;
  if (has_factors) forecast.host_bytes += elements * (20 + 12 + element + 4) + n * 120;
  note_right(forecast, run, inputs);
  return forecast;
}

}  // namespace gridstride::linear_system
