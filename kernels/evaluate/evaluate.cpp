#include "kernels/evaluate/evaluate.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "expression/evaluate.hpp"

namespace gridstride::evaluate {

namespace host {
template <class T>
EvaluateFunction<T> reference;
template <class T>
EvaluateFunction<T> threads;
}  // namespace host
namespace cuda {
template <class T>
EvaluateFunction<T> interpreter;
void set_clock(Stream& stream, DeviceClock* clock, DeviceClock const& value);
void advance_clock(Stream& stream, DeviceClock* clock);
}  // namespace cuda

namespace {

template <class T>
constexpr Variant<EvaluateFunction<T>> table[] = {
    {"reference", Backend::cpu, host::reference<T>, "point by point"},
    {"threads", Backend::cpu, host::threads<T>,
     "each instruction runs over a block of points; the blocks are shared among the threads"},
    {"interpreter", Backend::cuda, GRIDSTRIDE_CUDA_ROW(cuda::interpreter<T>),
     "a thread per point runs the stack machine; a warp takes every branch together"},
};

/// The row that `default_variant` names.
template <class T>
EvaluateFunction<T>* choose(Backend backend) {
  return std::ranges::find(table<T>, default_variant(backend), &Variant<EvaluateFunction<T>>::name)
      ->run;
}

}  // namespace

template <class T>
std::span<Variant<EvaluateFunction<T>> const> variants() {
  return table<T>;
}

std::string_view default_variant(Backend backend) {
  return backend == Backend::cpu ? "threads" : "interpreter";
}

Program::Program(Stream& stream, expression::Expression const& expression)
    : code_(stream, MemorySpace::device, expression.nodes().size()),
      stack_depth_(expression.stack_depth()),
      depends_on_time_(expression.depends_on(expression::Operation::t)) {
  // A copy from pageable memory has read its source when it returns.
  copy_async(code_.span(), expression::to_instructions(expression), stream);
}

template <class T>
void evaluate(Stream& stream, Program const& program, Grid const& grid, DeviceClock const* clock,
              double fraction, std::span<T> result) {
  if (std::ranges::any_of(grid.points, [](std::int64_t points) { return points < 0; }))
    throw std::invalid_argument("evaluate: the grid has a negative number of points");
  if (static_cast<std::size_t>(grid.size()) > result.size())
    throw std::invalid_argument("evaluate: the result is smaller than the grid");
  if (clock == nullptr && program.depends_on_time())
    throw std::invalid_argument("evaluate: the formula depends on t and there is no clock");
  choose<T>(stream.backend())(stream, {.code = program.code(),
                                       .stack_depth = program.stack_depth(),
                                       .grid = grid,
                                       .clock = clock,
                                       .fraction = fraction,
                                       .result = result.data()});
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
                       std::span<float>);
template void evaluate(Stream&, Program const&, Grid const&, DeviceClock const*, double,
                       std::span<double>);

}  // namespace gridstride::evaluate
