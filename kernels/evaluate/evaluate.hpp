#pragma once

#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "core/host_device.hpp"
#include "core/variant.hpp"
#include "expression/expression.hpp"
#include "expression/operations.hpp"
#include "grid/grid.hpp"

/// Kernel family `evaluate`: a formula at every point of a grid.
namespace gridstride::evaluate {

using expression::Instruction;

/// a + b·c with both roundings, on host and device alike.
GRIDSTRIDE_HOST_DEVICE inline double add_product(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, __dmul_rn(b, c));
#else
  return a + b * c;
#endif
}

/// Where a run is in time, kept in the memory of its device so that queued steps can read and
/// advance it without the host: t = origin + (steps + fraction)·step_size, with the fraction
/// chosen by each reader (0 the present, 1 the end of the step, 1/2 a middle stage).
struct DeviceClock {
  double origin = 0;
  double step_size = 0;
  std::int64_t steps = 0;

  GRIDSTRIDE_HOST_DEVICE double time(double fraction) const {
    return add_product(origin, static_cast<double>(steps) + fraction, step_size);
  }
};

/// A formula made ready for one device. The stream must be the one that evaluates it.
class Program {
 public:
  Program(Stream& stream, expression::Expression const& expression);

  std::span<Instruction const> code() const { return code_.span(); }  // in device memory
  int stack_depth() const { return stack_depth_; }
  bool depends_on_time() const { return depends_on_time_; }

 private:
  Buffer<Instruction> code_;
  int stack_depth_;
  bool depends_on_time_;
};

/// Arguments of one evaluation: result[i] = f(x_i, y_i, z_i, t), computed in float64 and rounded
/// to T. `clock` (device memory) gives t; it may be null for formulas that do not depend on t.
template <class T>
struct Evaluation {
  std::span<Instruction const> code;
  int stack_depth = 1;
  Grid grid;  ///< an axis with one point evaluates at its origin; faces of a grid are such grids
  DeviceClock const* clock = nullptr;
  double fraction = 0;
  T* result = nullptr;  ///< grid.size() values in device memory
};

template <class T>
using EvaluateFunction = void(Stream&, Evaluation<T> const&);

/// Every variant of the family, from the plainest to the fastest of each backend. GPU rows of a
/// build without CUDA have no function.
template <class T>
std::span<Variant<EvaluateFunction<T>> const> variants();

/// The variant that is used: the fastest measured.
std::string_view default_variant(Backend backend);

/// Queues an evaluation. Throws `std::invalid_argument` when `result` is smaller than the grid or
/// a clock is needed and missing. Never synchronises.
template <class T>
void evaluate(Stream& stream, Program const& program, Grid const& grid, DeviceClock const* clock,
              double fraction, std::span<T> result);

/// Queues an assignment to a clock in device memory, without waiting for the device as a copy from
/// the host would. Throws `std::invalid_argument` when it is null.
void set_clock(Stream& stream, DeviceClock* clock, DeviceClock const& value);

/// Queues steps += 1 on a clock in device memory. Throws `std::invalid_argument` when it is null.
void advance_clock(Stream& stream, DeviceClock* clock);

}  // namespace gridstride::evaluate
