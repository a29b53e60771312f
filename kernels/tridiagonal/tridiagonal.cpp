#include "kernels/tridiagonal/tridiagonal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "kernels/support/arguments.hpp"
#include "kernels/tridiagonal/rows.hpp"

namespace gridstride::tridiagonal {

template <class T>
std::span<Variant<Function<T>> const> variants() {
  static Variant<Function<T>> const rows[] = {
      {"reference", Backend::cpu, host_reference<T>,
       "Thomas's elimination, one system after the other, on one thread"},
      {"threads", Backend::cpu, host_threads<T>,
       "sixteen systems at a time, each in a lane of vectors; long ones in pieces of a fixed size"},
      {"pivoted", Backend::cpu, host_pivoted<T>,
       "elimination with exchanges of neighbouring rows, as LAPACK's gtsv"},
      {"thomas_batch", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_thomas_batch<T>),
       "a thread for each system; what is eliminated goes to memory and comes back"},
      {"cyclic_reduction", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cyclic_reduction<T>),
       "a block for each system in shared memory; every other row goes, level by level"},
      {"parallel_cyclic_reduction", Backend::cuda,
       GRIDSTRIDE_CUDA_ROW(cuda_parallel_cyclic_reduction<T>),
       "a thread for each row; all rows reach twice as far in each step, and none goes back"},
      {"hybrid", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_hybrid<T>),
       "nine rows in a thread's registers, one of them for the block; long systems in tiles, whose "
       "last unknowns are a system again"},
      {"constant", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_constant<T>),
       "systems that share coefficients: factors stay in registers, right-hand sides come by"},
      {"pivoted", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_pivoted<T>),
       "scaled partial pivoting: 34 rows of two threads become two equations of what is at their "
       "ends; rows are judged on the way"},
      {"cusparse", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cusparse<T>),
       "cuSPARSE without exchanges of rows, to compare with; copies, and no word of pivots and "
       "rows"},
      {"cusparse_pivoted", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda_cusparse_pivoted<T>),
       "cuSPARSE with pivots from other rows, to compare with; likewise"},
  };
  return rows;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "hybrid";
}

Shape contiguous(std::int64_t size, std::int64_t systems) {
  Strides const strides{1, {size, 0, 0}};
  return {size, {systems, 1, 1}, strides, strides, false};
}

Shape interleaved(std::int64_t size, std::int64_t systems) {
  Strides const strides{systems, {1, 0, 0}};
  return {size, {systems, 1, 1}, strides, strides, false};
}

std::int64_t extent(Shape const& shape, Strides const& strides) {
  if (shape.size <= 0 || shape.count() <= 0) return 0;
  std::int64_t last = (shape.size - 1) * strides.element;
  for (std::size_t axis = 0; axis < 3; ++axis) last += (shape.systems[axis] - 1) * strides.of[axis];
  return last + 1;
}

void require_open(std::string_view variant, Shape const& shape) {
  if (shape.periodic)
    throw std::invalid_argument(
        fmt::format("tridiagonal: '{}' takes no periodic systems", variant));
}

void require_at_most(std::string_view variant, Shape const& shape, std::int64_t most) {
  if (shape.size > most)
    throw std::invalid_argument(
        fmt::format("tridiagonal: '{}' takes systems of at most {} unknowns here, not of {}",
                    variant, most, shape.size));
}

void require_shape(std::string_view family, Shape const& shape) {
  bool negative = shape.size < 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    negative = negative || shape.systems[axis] < 0 || shape.values.of[axis] < 0 ||
               shape.coefficients.of[axis] < 0;
  if (negative || shape.values.element < 0 || shape.coefficients.element < 0)
    throw std::invalid_argument(fmt::format("{}: sizes and strides cannot be negative", family));
  if (extent(shape, shape.values) == 0) return;
  // Axes by their strides: each has to step over all that the ones before it reach.
  std::vector<std::pair<std::int64_t, std::int64_t>> axes = {{shape.values.element, shape.size}};
  for (std::size_t axis = 0; axis < 3; ++axis)
    axes.emplace_back(shape.values.of[axis], shape.systems[axis]);
  std::ranges::sort(axes);
  std::int64_t reach = 1;
  for (auto const& [stride, count] : axes) {
    if (count <= 1) continue;
    if (stride < reach)
      throw std::invalid_argument(
          fmt::format("{}: a stride of {} lets values share memory (it must be at least {})",
                      family, stride, reach));
    reach += (count - 1) * stride;
  }
}

void require_extent(std::string_view family, std::string_view array, std::size_t elements,
                    std::int64_t least) {
  if (elements < static_cast<std::size_t>(least))
    throw std::invalid_argument(
        fmt::format("{}: {} has {} elements, it needs {}", family, array, elements, least));
}

template <class T>
void solve(Stream& stream, Shape const& shape, Coefficients<T> const& coefficients,
           std::type_identity_t<std::span<T const>> right, std::span<T> solution,
           std::span<Findings> findings, std::string_view variant) {
  require_shape("tridiagonal", shape);
  require_size("tridiagonal", named("findings", findings), 1);
  auto const x = named("solution", solution);
  require_disjoint_or_same("tridiagonal", named("right", right), x);
  for (auto const& array :
       {named("lower", coefficients.lower), named("diagonal", coefficients.diagonal),
        named("upper", coefficients.upper)}) {
    require_extent("tridiagonal", array.name, array.size, extent(shape, shape.coefficients));
    require_disjoint("tridiagonal", array, x);
  }
  require_extent("tridiagonal", "right", right.size(), extent(shape, shape.values));
  require_extent("tridiagonal", x.name, x.size, extent(shape, shape.values));
  if (variant == "auto") variant = default_variant(stream.backend());
  auto const& row = find_variant("tridiagonal", variants<T>(), stream.device(), variant);
  if (extent(shape, shape.values) == 0) return;
  Arguments<T> const work{shape,
                          coefficients.lower.data(),
                          coefficients.diagonal.data(),
                          coefficients.upper.data(),
                          right.data(),
                          solution.data(),
                          findings.data()};
  row.run(stream, work);
  if (stream.backend() == Backend::cpu) return host_measure(work);
#ifdef GRIDSTRIDE_WITH_CUDA
  // `pivoted` has judged rows while it had them, but where the solution takes their place.
  if (variant != "pivoted" || work.right == work.solution) cuda_measure(stream, work);
#endif
}

Report read(Stream& stream, Shape const& shape, std::span<Findings const> findings) {
  Findings found{};
  copy_async(std::span(&found, 1), findings, stream);
  stream.synchronize();
  Report report;
  if (found.bad_pivot != 0) {
    auto const place = static_cast<std::int64_t>(~found.bad_pivot);
    report.bad_pivot = {place / shape.size, place % shape.size};
  }
  if (found.measured != 0) report.backward_error = std::bit_cast<double>(found.backward_error);
  return report;
}

template <class T>
std::string Report::fault() const {
  if (bad_pivot)
    return fmt::format(
        "system {} has a zero pivot in row {} (it is singular, or needs pivots from other rows)",
        bad_pivot->system, bad_pivot->row);
  if (!backward_error) return {};
  if (std::isinf(*backward_error))
    return "rows are not diagonally dominant, and the solution cannot be judged (it is not finite, "
           "or has taken the place of the right-hand sides)";
  if (*backward_error > 1024 * std::numeric_limits<T>::epsilon())
    return fmt::format(
        "rows are not diagonally dominant, and the backward error of a row is {:.2g} (pivots from "
        "other rows may be needed)",
        *backward_error);
  return {};
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                        \
  template std::span<Variant<Function<T>> const> variants<T>();                          \
  template void solve(Stream&, Shape const&, Coefficients<T> const&, std::span<T const>, \
                      std::span<T>, std::span<Findings>, std::string_view);              \
  template std::string Report::fault<T>() const;
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::tridiagonal
