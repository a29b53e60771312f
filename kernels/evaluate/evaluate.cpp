#include "kernels/evaluate/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "expression/evaluate.hpp"
#include "kernels/evaluate/rows.hpp"

namespace gridstride::evaluate {

namespace {

template <class T>
constexpr Variant<EvaluateFunction<T>> table[] = {
    {"reference", Backend::cpu, host::reference<T>, "point by point"},
    {"threads", Backend::cpu, host::threads<T>,
     "each instruction runs over a block of points; the blocks are shared among the threads"},
    {"separated", Backend::cpu, host::separated<T>,
     "parts of one axis alone are found once for a tile's rows, those of the others once a row"},
    {"interpreter", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda::interpreter<T>),
     "a thread per point runs the stack machine; a warp takes every branch together"},
    {"compiled", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda::compiled<T>),
     "the formula is compiled into the kernel; for formulas that are evaluated again and again"},
};

}  // namespace

template <class T>
std::span<Variant<EvaluateFunction<T>> const> variants() {
  return table<T>;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "separated" : "interpreter";
}

Points points_of(Grid const& grid) {
  Points points;
  points.size = grid.size();
  std::ranges::copy(grid.points, points.count);
  std::ranges::copy(grid.origin, points.origin);
  std::ranges::copy(grid.spacing, points.spacing);
  return points;
}

Program::Program(Stream& stream, expression::Expression const& expression, std::string_view variant)
    : formula_(expression),
      code_(stream, MemorySpace::device, expression.nodes().size()),
      depends_on_time_(expression.depends_on(expression::time_variable)),
      variant_(variant) {
  // A copy from pageable memory has read its source when it returns.
  auto const code = expression::to_instructions(expression);
  copy_async(code_.span(), code, stream);
  bool const again = stream.backend() == Backend::cuda && depends_on_time_;
  if (variant == "auto") variant_ = again ? "compiled" : default_variant(stream.backend());
  if (variant_ == "separated")
    for (int axis = 0; axis < 3; ++axis) separated_[axis] = separate(code, axis);
  if (variant_ != "compiled") return;
  try {
    module(stream.device());
  } catch (RuntimeCompilerMissing const& missing) {
    if (variant != "auto") throw;
    variant_ = "interpreter";
    fallback_ = fallback_text(missing);
  }
}

std::string fallback_text(RuntimeCompilerMissing const& missing) {
  return fmt::format("evaluate: compiled gave way to interpreter ({})", missing.what());
}

RuntimeModule const& Program::module(Device const& device) const {
  if (module_ == nullptr) module_ = compile(device, source_of(formula_));
  return *module_;
}

int Program::array_count() const {
  return std::max(0, formula_.variable_count() - expression::first_array);
}

static_assert(expression::first_array + Arrays::most == expression::max_variables);

Arrays arrays_of(std::span<ArrayView const> views) {
  Arrays arrays = {};
  for (std::size_t i = 0; i < views.size(); ++i) {
    arrays.data[i] = views[i].data;
    if (views[i].precision == Precision::float32) arrays.singles |= 1U << i;
  }
  return arrays;
}

namespace {

/// Those of the arrays that the program needs.
std::span<ArrayView const> needed(Program const& program, std::span<ArrayView const> views) {
  auto const count = static_cast<std::size_t>(program.array_count());
  if (views.size() < count)
    throw std::invalid_argument(
        fmt::format("evaluate: the formula is of {} arrays, {} are given", count, views.size()));
  return views.first(count);
}

}  // namespace

template <class T>
void evaluate(Stream& stream, Program const& program, Grid const& grid, DeviceClock const* clock,
              double fraction, std::span<T> result, std::span<ArrayView const> arrays) {
  if (std::ranges::any_of(grid.points, [](std::int64_t points) { return points < 0; }))
    throw std::invalid_argument("evaluate: the grid has a negative number of points");
  if (static_cast<std::size_t>(grid.size()) > result.size())
    throw std::invalid_argument("evaluate: the result is smaller than the grid");
  if (clock == nullptr && program.depends_on_time())
    throw std::invalid_argument("evaluate: the formula depends on t and there is no clock");
  find_variant<EvaluateFunction<T>>("evaluate", table<T>, stream.device(), program.variant())
      .run(stream, {.program = &program,
                    .grid = grid,
                    .clock = clock,
                    .fraction = fraction,
                    .result = result.data(),
                    .arrays = arrays_of(needed(program, arrays))});
}

void set_clock([[maybe_unused]] Stream& stream, DeviceClock* clock, DeviceClock const& value) {
  if (clock == nullptr) throw std::invalid_argument("set_clock: there is no clock");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda::set_clock(stream, clock, value);
#endif
  *clock = value;
}

void advance_clock([[maybe_unused]] Stream& stream, DeviceClock* clock) {
  if (clock == nullptr) throw std::invalid_argument("advance_clock: there is no clock");
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() == Backend::cuda) return cuda::advance_clock(stream, clock);
#endif
  ++clock->steps;
}

template std::span<Variant<EvaluateFunction<float>> const> variants();
template std::span<Variant<EvaluateFunction<double>> const> variants();
template void evaluate(Stream&, Program const&, Grid const&, DeviceClock const*, double,
                       std::span<float>, std::span<ArrayView const>);
template void evaluate(Stream&, Program const&, Grid const&, DeviceClock const*, double,
                       std::span<double>, std::span<ArrayView const>);

}  // namespace gridstride::evaluate
