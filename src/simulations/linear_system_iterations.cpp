#include "simulations/linear_system_iterations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "kernels/factorize/factorize.hpp"
#include "model/reading.hpp"
#include "simulations/linear_system_filled.hpp"
#include "simulations/linear_system_parameters.hpp"
#include "simulations/linear_system_preconditioning.hpp"
#include "simulations/linear_system_right.hpp"
#include "simulations/linear_system_sparse.hpp"
#include "simulations/linear_system_stencil.hpp"

namespace gridstride::linear_system {

using krylov::Method;

namespace {

/// Whether a hierarchy may be made.
bool may_aggregate(config::RunConfig const& run, std::int64_t rows) {
  std::string const& asked = parameters_of(run).method;
  return asked == "amg_cg" || (asked == "auto" && rows >= least_aggregated);
}

constexpr Method iterative[] = {Method::cg, Method::minres, Method::bicgstab, Method::gmres};

}  // namespace

Method method_called(std::string const& name) {
  if (name == "amg_cg") return Method::cg;
  return *std::ranges::find_if(iterative, [&](Method method) { return name_of(method) == name; });
}

namespace {

/// Throws `ConfigError` where a method that was asked for does not take a matrix: `cg` and `minres` need a
/// symmetric one, `amg_cg` also a positive diagonal.
void require_method_fits(config::RunConfig const& run, Csr<double> const& matrix,
                         CsrFindings const& found) {
  std::string const& asked = parameters_of(run).method;
  auto const refuse = [&](std::string const& message) {
    throw ConfigError({run.problem(run.location("parameters.method"), message)});
  };
  if (needs_symmetry(method_called(asked)) && !found.symmetric()) {
    auto const i = found.row, j = found.column;
    refuse(
        fmt::format("{} needs a symmetric matrix (here A({}, {}) = {} and A({}, {}) = {}; gmres "
                    "and bicgstab take any)",
                    asked, i, j, element(matrix, i, j), j, i, element(matrix, j, i)));
  }
  if (auto const row = found.not_positive; asked == "amg_cg" && row >= 0)
    refuse(
        fmt::format("amg_cg needs a positive diagonal (here A({0}, {0}) = {1}; method: minres "
                    "takes any symmetric matrix)",
                    row, element(matrix, row, row)));
}

}  // namespace

FirstMethod first_method(config::RunConfig const& run, Csr<double> const& matrix,
                         CsrFindings const& found) {
  std::string const& asked = parameters_of(run).method;
  if (asked != "auto") {
    require_method_fits(run, matrix, found);
    return {.method = method_called(asked), .aggregates = asked == "amg_cg"};
  }
  std::string const& preconditioner = parameters_of(run).preconditioner;
  if (!found.symmetric() || preconditioner == "ilu0") return {.method = Method::bicgstab};
  if (found.not_positive >= 0) return {.method = Method::minres};
  return {.method = Method::cg,
          .may_aggregate = preconditioner == "auto" && suits_aggregation(matrix)};
}

krylov::Method method_without_rows(config::RunConfig const& run) {
  std::string const& method = parameters_of(run).method;
  return method == "auto" ? Method::cg : method_called(method);
}

krylov::Options options_of(config::RunConfig const& run) {
  auto const& parameters = parameters_of(run);
  return {.tolerance = parameters.tolerance.value_or(tolerance_of(run.precision)),
          .iterations = parameters.iterations,
          .restart = static_cast<int>(parameters.restart)};
}

namespace {

/// What b, x and a method's vectors take of a device for a right-hand side.
std::size_t bytes_of_column(config::RunConfig const& run, std::int64_t rows) {
  std::string const& asked = parameters_of(run).method;
  std::size_t const element = size_of(run.precision);
  // What `auto` takes is known when A is; gmres, which it may end with, asks for its vectors then.
  auto const vectors = krylov::work_bytes(asked == "auto" ? Method::bicgstab : method_called(asked),
                                          rows, element, options_of(run), true);
  auto bytes = vectors + 2 * static_cast<std::size_t>(rows) * element;
  if (parameters_of(run).preconditioner == "chebyshev")
    bytes += 2 * static_cast<std::size_t>(rows) * element;
  // A cycle's on the finest level, and on all coarser ones.
  if (may_aggregate(run, rows)) bytes += 4 * static_cast<std::size_t>(rows) * element;
  return bytes;
}

/// Where one right-hand side is solved at a time.
MemoryForecast memory_of_one(config::RunConfig const& run, Inputs const& inputs, Backend backend) {
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
  // Those of a column, the diagonal, and all of x.
  forecast.other_bytes = bytes_of_column(run, extents.rows) + n * element + forecast.field_bytes;
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
  if (may_aggregate(run, extents.rows)) forecast.other_bytes += 3 * rows_bytes + 8 * n * element;
  // What is read, in float64, and entries as they are parsed; then the rows that stay there.
  std::size_t const reading =
      elements * 12 + (n + 1) * 8 + static_cast<std::size_t>(sparse.entries) * 16;
  auto const sides = static_cast<std::size_t>(extents.size()) * sizeof(double);
  forecast.other_bytes += sides;
  forecast.host_bytes = rows_bytes + reading + forecast.field_bytes + sides + 12 * n * 8;
  forecast.host_bytes += blocks;
  if (has_factors) forecast.host_bytes += elements * (20 + 12 + element + 4) + n * 120;
  // The last resort of `auto`, which is filled up on the host.
  if (may_fill_up(run, extents.rows)) {
    forecast.other_bytes += n * n * element + n * sizeof(std::int32_t) +
                            factorize::factor_bytes(backend, extents.rows, element);
    forecast.host_bytes += n * n * element;
  }
  note_right(forecast, run, inputs);
  return forecast;
}

/// What can be allocated on the device that the run is for, as far as that is known before; 0 without one.
double free_memory(config::RunConfig const& run, Backend backend) {
  auto const devices = Device::available();
  auto const found = std::ranges::find_if(devices, [&](Device const& device) {
    return device.backend() == backend &&
           (!run.device.has_ordinal || device.ordinal() == run.device.ordinal);
  });
  return found == devices.end() ? 0 : static_cast<double>(found->free_memory());
}

}  // namespace

std::int64_t columns_together(config::RunConfig const& run, Inputs const& inputs, Backend backend) {
  auto const [rows, columns] = extents_of(run, inputs);
  if (columns == 1 || parameters_of(run).method == "gmres") return 1;
  constexpr std::int64_t of_one_read = 8, most = 32, elements = std::int64_t{1} << 20;
  std::int64_t const wanted =
      std::min(columns, std::clamp(elements / std::max<std::int64_t>(rows, 1), of_one_read, most));
  double const left = 0.75 * free_memory(run, backend) -
                      static_cast<double>(memory_of_one(run, inputs, backend).bytes());
  double const more = left / static_cast<double>(bytes_of_column(run, rows));
  return more >= static_cast<double>(wanted)
             ? wanted
             : std::max<std::int64_t>(1, 1 + static_cast<std::int64_t>(std::floor(more)));
}

MemoryForecast sparse_memory(config::RunConfig const& run, Inputs const& inputs, Backend backend) {
  if (goes_without_rows(run)) return stencil_memory(run, inputs, backend);
  auto forecast = memory_of_one(run, inputs, backend);
  auto const rows = extents_of(run, inputs).rows;
  auto const more = static_cast<std::size_t>(columns_together(run, inputs, backend) - 1);
  forecast.other_bytes += more * bytes_of_column(run, rows);
  forecast.host_bytes += 2 * more * static_cast<std::size_t>(rows) * size_of(run.precision);
  return forecast;
}

}  // namespace gridstride::linear_system
